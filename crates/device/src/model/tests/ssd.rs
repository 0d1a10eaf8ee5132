//! SSDs: the region and the cliff behind it, flushes, garbage collection, power cuts.

use super::super::{Machine, Operation, Parameters};
use super::data_sheets::alone;

const MIB: u64 = 1 << 20;

/// An SSD of 16 GB whose region holds 2 GB.
fn small(change: impl FnOnce(&mut Parameters)) -> (Machine, Parameters) {
    let mut parameters = Parameters::load("samsung-970-evo-500gb").expect("built in");
    parameters.disk.capacity.value = 16 << 30;
    parameters.flash.as_mut().expect("an SSD").region.value = 2e9;
    change(&mut parameters);
    let mut machine = Machine::new(&parameters);
    machine.add_disk(&parameters, 1);
    (machine, parameters)
}

/// Writes so much from an offset on; MB/s, and when it was done.
fn write(machine: &mut Machine, began: u64, offset: u64, bytes: u64) -> (f64, u64) {
    let mut now = began;
    for place in 0..bytes / MIB {
        let offset = offset + place * MIB;
        now = alone(machine, now, Operation::Write { offset, length: MIB, fua: false });
    }
    (bytes as f64 / (now - began) as f64 * 1e3, now)
}

#[test]
fn behind_its_region_an_ssd_is_slower_and_idling_makes_room_again() {
    let (mut machine, _) = small(|_| ());
    let (fast, now) = write(&mut machine, 0, 0, 1 << 30);
    let (_, now) = write(&mut machine, now, 1 << 30, 1 << 30);
    let (slow, now) = write(&mut machine, now, 2 << 30, 1 << 30);
    assert!((fast / 2000.0 - 1.0).abs() < 0.15, "{fast}");
    assert!((slow / 600.0 - 1.0).abs() < 0.15, "{slow}");
    let (still, now) = write(&mut machine, now + 1_000_000, 3 << 30, 1 << 30);
    assert!((still / 600.0 - 1.0).abs() < 0.15, "a moment is no rest: {still}");
    let (again, _) = write(&mut machine, now + 20_000_000_000, 4 << 30, 1 << 30);
    assert!((again / fast - 1.0).abs() < 0.05, "{again} after a rest, {fast} at first");
}

#[test]
fn a_flush_waits_for_the_cells_unless_the_buffer_outlives_a_power_cut() {
    let flushed = |protected: bool| {
        let (mut machine, _) = small(|parameters| {
            parameters.flash.as_mut().expect("an SSD").power_loss_protection = protected;
        });
        let write = Operation::Write { offset: 0, length: 4096, fua: false };
        let written = alone(&mut machine, 0, write);
        let dirty = machine.dirty_ranges(0);
        let flushed = alone(&mut machine, written, Operation::Flush) - written;
        assert!(machine.dirty_ranges(0).is_empty(), "a flush leaves nothing behind");
        let fua = Operation::Write { offset: 4096, length: 4096, fua: true };
        let began = machine.now();
        (dirty, flushed, alone(&mut machine, began, fua) - began)
    };
    let (dirty, flush, fua) = flushed(false);
    assert_eq!(dirty, [(0, 4096)]);
    assert!(flush > 700_000 && fua > 700_000, "{flush} {fua}");
    let (dirty, flush, fua) = flushed(true);
    assert_eq!(dirty, []);
    assert!(flush < 50_000 && fua < 50_000, "{flush} {fua}");
}

#[test]
fn a_full_drive_written_at_random_collects_garbage() {
    let (mut machine, parameters) = small(|parameters| {
        parameters.disk.capacity.value = 1 << 30;
        parameters.flash.as_mut().expect("an SSD").region.value = 0.0;
    });
    let (fresh, mut now) = write(&mut machine, 0, 0, 1 << 30);
    let mut random = super::Random::new(3);
    let mut rate = |requests: u64| {
        let began = now;
        for _ in 0..requests {
            let offset = random.below(1 << 14) << 16;
            for part in 0..16 {
                let offset = offset + part * 4096;
                let write = Operation::Write { offset, length: 4096, fua: false };
                now = alone(&mut machine, now, write);
            }
        }
        (requests << 16) as f64 / (now - began) as f64 * 1e3
    };
    rate(6 << 14);
    let steady = rate(1 << 14);
    let spare = parameters.flash.expect("an SSD").spare.value;
    assert!(steady < fresh / 2.0, "{steady} of {fresh} MB/s with {spare} spare");
}

#[test]
fn reads_go_before_programs_and_pay_for_putting_them_aside() {
    let (mut machine, _) = small(|_| ());
    let read = |machine: &mut Machine, now| {
        alone(machine, now, Operation::Read { offset: 8 << 30, length: 4096 }) - now
    };
    let (_, now) = write(&mut machine, 0, 0, 64 * MIB);
    let busy = read(&mut machine, now);
    let (mut idle_machine, _) = small(|_| ());
    let idle = read(&mut idle_machine, now);
    assert!(busy >= idle && busy <= idle + 25_000, "{busy} beside writes, {idle} alone");
}

/// Requests of one size, so many at a time, each at the next of these places; how many a second.
fn rate(
    parameters: &Parameters,
    depth: u64,
    requests: u64,
    mut next: impl FnMut(u64) -> Operation,
) -> f64 {
    let mut machine = Machine::new(parameters);
    machine.add_disk(parameters, 1);
    let (mut sent, mut answered, mut now) = (0, 0, 0);
    while answered < requests {
        while sent < requests && sent - answered < depth {
            machine.submit(now, 0, 0, sent, next(sent));
            sent += 1;
        }
        let event = machine.next().expect("requests are under way");
        machine.advance(event, &mut |answer| {
            answered += 1;
            now = answer.time;
        });
    }
    requests as f64 / now as f64 * 1e9
}

/// Sixteen dies that read a page each at a time would give 4.8 GB/s.
#[test]
fn large_reads_are_read_from_all_planes_of_a_die_at_a_time() {
    let of = |planes: f64| {
        let mut parameters = Parameters::load("samsung-980-pro-1tb").expect("built in");
        let flash = parameters.flash.as_mut().expect("an SSD");
        flash.program_unit.value = planes * flash.page.value;
        let stated = parameters.disk.link_rate_read.value;
        let read = |place: u64| Operation::Read { offset: place * MIB, length: MIB };
        rate(&parameters, 8, 2000, read) * MIB as f64 / stated
    };
    let (one, four) = (of(1.0), of(4.0));
    assert!(one < 0.75 && four > 0.95 && four <= 1.001, "{one} and {four} of the stated rate");
}

/// "A curve over depth bends before the controller is busy all the time", and does not end
/// elsewhere: with exponential times a queue of one server behind a delay has the known mean value
/// analysis (Reiser and Lavenberg 1980).
#[test]
fn a_curve_over_depth_is_that_of_a_queueing_network() {
    let parameters = Parameters::load("samsung-860-pro-512gb").expect("built in");
    let busy = parameters.flash.as_ref().expect("an SSD").write_command_time.value * 1e3;
    let delay = parameters.disk.write_overhead.value * 1e3
        + 4096.0 / parameters.disk.link_rate_write.value * 1e9;
    let mut random = super::Random::new(5);
    let (mut waiting, mut deepest) = (0.0, 0.0);
    for depth in 1..=32_u32 {
        let response = busy * (1.0 + waiting);
        let expected = f64::from(depth) / (delay + response) * 1e9;
        waiting = expected * response / 1e9;
        if ![1, 2, 4, 8, 32].contains(&depth) {
            continue;
        }
        let write = |_| {
            let offset = random.below(100_000) * 4096;
            Operation::Write { offset, length: 4096, fua: false }
        };
        deepest = rate(&parameters, u64::from(depth), 40_000, write);
        println!("depth {depth}: {deepest:.0} for {expected:.0}");
        assert!((deepest / expected - 1.0).abs() < 0.03, "depth {depth}: {deepest}, {expected}");
    }
    assert!((deepest * busy / 1e9 - 1.0).abs() < 0.02, "the stated rate: {deepest}");
}
