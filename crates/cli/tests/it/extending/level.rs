//! A level: chunks of 64 KiB in turns over equal members, as RAID 0 has them.

use std::sync::Arc;

use array::{
    ArrayDevice, Faults, Level, MemberSet, Part, Plan, PlanResult, Queues, Raid0Layout, Spot,
};
use block::{Blocking, Device, Info, Reactor};

const CHUNK_BYTES: u64 = 64 << 10;

struct Striped {
    members: u64,
    member_bytes: u64,
}

impl Striped {
    fn spot(&self, offset: u64) -> Spot {
        let (chunk, within) = (offset / CHUNK_BYTES, offset % CHUNK_BYTES);
        let member = (chunk % self.members) as usize;
        Spot { member, offset: chunk / self.members * CHUNK_BYTES + within }
    }
}

impl Level for Striped {
    fn name(&self) -> &'static str {
        "striped"
    }

    fn options(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn size_bytes(&self) -> u64 {
        self.members * self.member_bytes
    }

    fn refine(&self, info: &mut Info) {
        info.optimal_bytes = (self.members * CHUNK_BYTES) as u32;
    }

    fn whole(&self, part: Part, _missing: &MemberSet, _queues: &Queues) -> Option<Spot> {
        let is_one = part.length <= CHUNK_BYTES - part.offset % CHUNK_BYTES;
        is_one.then(|| self.spot(part.offset))
    }

    fn piece_bytes(&self, part: Part, _faults: &Faults) -> u64 {
        part.length.min(CHUNK_BYTES - part.offset % CHUNK_BYTES)
    }

    fn plan(&self, piece: Part, _faults: &Faults, _queues: &Queues, plan: &mut Plan) -> PlanResult {
        plan.add(piece.action, self.spot(piece.offset), piece.length, 0);
        Ok(())
    }
}

#[test]
fn a_level_keeps_the_contract_and_lays_data_out_as_raid0_does() {
    let members = || -> Vec<Arc<dyn Device>> {
        (0..3).map(|_| Arc::new(testkit::Memory::new(1 << 20)) as Arc<dyn Device>).collect()
    };
    let striped = |members: Vec<Arc<dyn Device>>| -> Arc<dyn Device> {
        let level = Striped { members: 3, member_bytes: 1 << 20 };
        let members = members.into_iter().map(Some).collect();
        Arc::new(ArrayDevice::assemble(level, members).expect("an array"))
    };
    testkit::conformance::run(|| striped(members()), Reactor::virtual_clock, 1)
        .expect("the contract");

    let shared = members();
    let reactor = Reactor::virtual_clock();
    let bytes: Vec<u8> = (0..1 << 20).map(|at: u32| (at / 512) as u8).collect();
    let array = striped(shared.clone());
    Blocking::open(&*array, &reactor).expect("a channel").write_slice(0, &bytes).expect("a write");
    let raid0 = ArrayDevice::raid0(shared, CHUNK_BYTES, Raid0Layout::Original).expect("an array");
    let mut found = vec![0; bytes.len()];
    Blocking::open(&raid0, &reactor).expect("a channel").read_slice(0, &mut found).expect("a read");
    assert!(found == bytes);
}
