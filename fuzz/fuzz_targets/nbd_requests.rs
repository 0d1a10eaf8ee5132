//! Requests of NBD clients: whatever they ask, only what the export has and may do reaches the
//! device.
#![no_main]

use export::nbd::REQUEST_BYTES;
use export::nbd::transmission::{Command, Decision, Errno, Session, decide};
use libfuzzer_sys::fuzz_target;
use raidloom_fuzz::{Input, exports, within};

const REQUEST_MAGIC: [u8; 4] = 0x2560_9513_u32.to_be_bytes();
/// The longest read or write, in bytes.
const REQUEST_MAX_BYTES: u32 = 32 << 20;

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let (kind, session, size) = (input.byte(), input.byte(), input.number());
    let exports = exports(kind, size & !4095);
    let structured = session & 2 == 2;
    let session = Session {
        export: usize::from(session & 1),
        structured,
        allocation: structured && session & 4 == 4,
    };
    let shape = &exports[session.export];
    let guess = input.byte() & 1 == 0;
    while input.0.len() >= REQUEST_BYTES {
        let mut head = [0; REQUEST_BYTES];
        head.copy_from_slice(input.bytes(REQUEST_BYTES));
        if guess {
            head[..4].copy_from_slice(&REQUEST_MAGIC);
        }
        let (cookie, decision) = within(&head, 0, || decide(&head, shape, session));
        assert_eq!(cookie.to_be_bytes(), head[8..16]);
        let is_write = head[6..8] == [0, 1];
        let changes = |length: u32| assert!(!shape.read_only && length > 0, "{decision:?}");
        let within_device = |offset: u64, length: u32| {
            let end = offset.checked_add(u64::from(length));
            assert!(
                end.is_some_and(|end| end <= shape.size_bytes),
                "{decision:?} of {} bytes",
                shape.size_bytes
            );
        };
        match decision {
            Decision::Do(command) => match command {
                Command::Read { offset, length } => {
                    within_device(offset, length);
                    assert!(length <= REQUEST_MAX_BYTES);
                }
                Command::Write { offset, length, .. } => {
                    within_device(offset, length);
                    changes(length);
                    assert!(length <= REQUEST_MAX_BYTES && is_write);
                    input.bytes(length as usize);
                }
                Command::Zero { offset, length, .. } => {
                    within_device(offset, length);
                    changes(length);
                }
                Command::Discard { offset, length, .. } => {
                    within_device(offset, length);
                    changes(length);
                    assert!(shape.discards);
                }
                Command::Flush => (),
                Command::Status { .. } => assert!(session.allocation),
            },
            Decision::Refuse { errno, why, payload_bytes } => {
                assert!(
                    !why.is_empty()
                        && payload_bytes <= REQUEST_MAX_BYTES
                        && (payload_bytes == 0 || is_write)
                );
                assert!(errno != Errno::NotPermitted || shape.read_only);
                input.bytes(payload_bytes as usize);
            }
            Decision::Goodbye | Decision::Drop(_) => return,
        }
    }
});
