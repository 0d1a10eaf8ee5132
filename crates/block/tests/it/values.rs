//! The plain values: what `Info` permits, what errors say, what a stack prints as, what requests
//! carry.

use crate::cases;

use std::collections::HashSet;
use std::error::Error as _;
use std::io;

use block::{
    BufMut, DiscardSupport, Error, ErrorKind, Info, Node, Op, Request, ReturnedBuffer, Support,
};

const BLOCK: u64 = 4096;

fn info() -> Info {
    Info { block_bytes: 4096, max_request_bytes: 65536, ..Info::plain(1 << 20) }
}

fn able() -> Info {
    Info {
        fua: Support::Native,
        zeroes: Support::Emulated,
        discard: DiscardSupport::Indeterminate,
        ..info()
    }
}

fn read(offset: u64, length: u64) -> Op {
    Op::Read { offset, into: BufMut::zeroed(length as usize) }
}

fn write(offset: u64, length: u64, fua: bool) -> Op {
    Op::Write { offset, from: BufMut::zeroed(length as usize).freeze(), fua }
}

#[test]
fn which_requests_a_device_takes() {
    use ErrorKind::{Invalid, Misaligned, OutOfRange, ReadOnly, Unsupported};
    let read_only = || Info { read_only: true, ..able() };
    let fua_only = || Info { fua: Support::Emulated, ..info() };
    let zeroes_only = || Info { zeroes: Support::Native, ..info() };
    let zeroes = |offset, length, fua| Op::WriteZeroes { offset, length, fua };
    let discard = |offset, length| Op::Discard { offset, length };
    for (line, info, op, expected) in [
        (line!(), info(), read(0, BLOCK), None),
        (line!(), info(), read((1 << 20) - BLOCK, BLOCK), None),
        (line!(), info(), write(0, 65536, false), None),
        (line!(), info(), Op::Flush, None),
        (line!(), info(), read(0, 0), Some(Misaligned)),
        (line!(), info(), read(512, BLOCK), Some(Misaligned)),
        (line!(), info(), read(0, 512), Some(Misaligned)),
        (line!(), info(), write(1, 1, false), Some(Misaligned)),
        (line!(), info(), read(1 << 20, BLOCK), Some(OutOfRange)),
        (line!(), info(), write((1 << 20) - BLOCK, 2 * BLOCK, false), Some(OutOfRange)),
        (line!(), info(), read(u64::MAX - BLOCK + 1, BLOCK), Some(OutOfRange)),
        (
            line!(),
            able(),
            zeroes(u64::MAX - BLOCK + 1, u64::MAX - BLOCK + 1, false),
            Some(OutOfRange),
        ),
        (line!(), info(), read(0, 65536 + BLOCK), Some(Invalid)),
        (line!(), info(), write(0, 65536 + BLOCK, false), Some(Invalid)),
        // What carries no data may be as long as the device.
        (line!(), able(), zeroes(0, 1 << 20, true), None),
        (line!(), able(), discard(0, 1 << 20), None),
        (line!(), able(), discard(512, BLOCK), Some(Misaligned)),
        (line!(), able(), discard(1 << 20, BLOCK), Some(OutOfRange)),
        (line!(), able(), write(0, BLOCK, true), None),
        (line!(), info(), write(0, BLOCK, true), Some(Unsupported)),
        (line!(), info(), zeroes(0, BLOCK, false), Some(Unsupported)),
        (line!(), info(), discard(0, BLOCK), Some(Unsupported)),
        (line!(), fua_only(), write(0, BLOCK, true), None),
        (line!(), fua_only(), zeroes(0, BLOCK, true), Some(Unsupported)),
        (line!(), zeroes_only(), zeroes(0, BLOCK, false), None),
        (line!(), zeroes_only(), zeroes(0, BLOCK, true), Some(Unsupported)),
        (line!(), read_only(), read(0, BLOCK), None),
        (line!(), read_only(), Op::Flush, None),
        (line!(), read_only(), write(0, BLOCK, false), Some(ReadOnly)),
        (line!(), read_only(), zeroes(0, BLOCK, false), Some(ReadOnly)),
        (line!(), read_only(), discard(0, BLOCK), Some(ReadOnly)),
        // The range comes first: it is wrong on any device.
        (line!(), read_only(), write(1, BLOCK, false), Some(Misaligned)),
    ] {
        assert_eq!(
            info.check(&op).err().map(|error| error.kind()),
            expected,
            "case of line {line}"
        );
    }
}

#[test]
fn refusals_name_the_numbers() {
    let text = |op| info().check(&op).unwrap_err().to_string();
    assert_eq!(text(read(512, BLOCK)), "4096 bytes at 512 are not whole blocks of 4096 bytes");
    assert_eq!(text(read(1 << 20, BLOCK)), "4096 bytes at 1048576 reach past the end at 1048576");
    assert_eq!(text(read(0, 69632)), "69632 bytes in one request; at most 65536");
    assert_eq!(text(write(0, BLOCK, true)), "the device does not know write with FUA");
}

#[test]
fn a_plain_device_is_consistent_with_itself() {
    let plain = Info::plain(4096);
    assert_eq!((plain.block_bytes, plain.size_bytes, plain.stores_data), (512, 4096, true));
    assert!(
        plain.max_request_bytes.is_multiple_of(plain.block_bytes)
            && plain.optimal_bytes.is_multiple_of(plain.block_bytes)
    );
    assert_eq!(
        [Support::None, Support::Emulated, Support::Native].map(|value| value.to_string()),
        ["none", "emulated", "native"]
    );
    let discards = [DiscardSupport::None, DiscardSupport::Indeterminate, DiscardSupport::ReadsZero];
    assert_eq!(discards.map(|value| value.to_string()), ["none", "indeterminate", "reads zero"]);
}

#[test]
fn errors_tell_place_and_cause_in_one_line() {
    let error = Error::new(ErrorKind::Media, "4096 bytes at 0 cannot be read")
        .at("file:a.img")
        .at("member 2");
    assert_eq!(error.to_string(), "member 2: file:a.img: 4096 bytes at 0 cannot be read");
    assert_eq!(format!("{error:?}"), "Media(member 2: file:a.img: 4096 bytes at 0 cannot be read)");
    assert_eq!(error.kind(), ErrorKind::Media);
    assert!(error.source().is_none());
    let caused =
        Error::with_source(ErrorKind::Corrupt, "the superblock", io::Error::other("bad sum"))
            .at("file:b.img");
    assert_eq!(caused.to_string(), "file:b.img: the superblock: bad sum");
    assert_eq!(caused.source().unwrap().to_string(), "bad sum");
    let repeated = caused.repeat();
    assert_eq!((repeated.kind(), repeated.to_string()), (caused.kind(), caused.to_string()));
}

#[test]
fn what_the_system_says_becomes_a_kind() {
    use ErrorKind as K;
    for (errno, kind) in [
        (1, K::Permission),
        (2, K::NotFound),
        (5, K::Media),
        (6, K::Gone),
        (11, K::Busy),
        (13, K::Permission),
        (16, K::Busy),
        (19, K::Gone),
        (22, K::Invalid),
        (27, K::NoSpace),
        (28, K::NoSpace),
        (30, K::ReadOnly),
        (95, K::Unsupported),
        (110, K::TimedOut),
        (122, K::NoSpace),
        (71, K::Other),
    ] {
        let error = Error::from_io("opening a.img", io::Error::from_raw_os_error(errno));
        assert_eq!(error.kind(), kind, "errno {errno}");
        let source = error.source().unwrap().downcast_ref::<io::Error>().unwrap();
        assert_eq!(source.raw_os_error(), Some(errno), "the number is still there for the edge");
        assert!(error.to_string().starts_with("opening a.img: "), "{error}");
    }
}

#[test]
fn stacks_print_as_their_text() {
    for (node, text) in cases::cases() {
        assert_eq!(node.to_string(), text);
    }
}

#[test]
fn no_two_stacks_print_alike() {
    let texts: HashSet<String> = cases::cases().iter().map(|(node, _)| node.to_string()).collect();
    assert_eq!(texts.len(), cases::cases().len());
}

#[test]
fn leaves_from_left_to_right_without_the_missing() {
    let inner = Node::layer("linear", vec![Node::leaf("ram", "1"), Node::Missing]);
    let node = Node::layer("raid0", vec![inner, Node::leaf("ram", "2"), Node::Missing]);
    let texts: Vec<String> = node.leaves().iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["ram:1", "ram:2"]);
    assert!(Node::Missing.leaves().is_empty());
    assert_eq!(Node::Missing.with("option", 1), Node::Missing);
}

#[test]
fn operations_name_themselves_and_give_their_buffer_back() {
    let operations = [
        (read(512, 512), "read", Some((512, 512)), false),
        (write(0, 1024, false), "write", Some((0, 1024)), true),
        (write(0, 1024, true), "write with FUA", Some((0, 1024)), true),
        (Op::WriteZeroes { offset: 1, length: 2, fua: false }, "write zeroes", Some((1, 2)), true),
        (Op::Discard { offset: 3, length: 4 }, "discard", Some((3, 4)), true),
        (Op::Flush, "flush", None, false),
    ];
    for (op, name, range, changes) in operations {
        assert_eq!((op.name(), op.range(), op.changes_data()), (name, range, changes));
        let completion = Request::new(77, op).complete(Err(Error::new(ErrorKind::Other, "no")));
        let length = match &completion.buffer {
            ReturnedBuffer::Read(buffer) => Some(buffer.len()),
            ReturnedBuffer::Written(buffer) => Some(buffer.len()),
            ReturnedBuffer::Nothing => None,
        };
        let expected = range
            .map(|(_, length)| length as usize)
            .filter(|_| name.starts_with("read") || name == "write" || name.ends_with("FUA"));
        assert_eq!((completion.tag, length), (77, expected), "{name}");
    }
}

#[test]
#[should_panic(expected = "a read's completion hands its buffer back, not Nothing")]
fn a_flush_has_no_buffer_to_give() {
    let _ = Op::Flush.into_buffer().read();
}
