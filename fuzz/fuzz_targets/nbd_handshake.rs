//! The handshake of the NBD server with clients that may send anything, in pieces of any size.
//!
//! What it answers does not depend on the pieces, no option is waited for longer than the longest,
//! and each costs little.
#![no_main]

use export::nbd::handshake::{Handshake, OPTION_MAX_BYTES, TlsRule, Verdict};
use export::nbd::shape::Shape;
use export::nbd::transmission::Session;
use libfuzzer_sys::fuzz_target;
use raidloom_fuzz::{Input, exports, within};

/// Before an option's data, in bytes.
const OPTION_HEAD_BYTES: usize = 16;
/// The most that one option is answered with, in bytes.
const ANSWER_MAX_BYTES: usize = 1024;

/// How a conversation ended.
#[derive(Debug, PartialEq)]
enum Ending {
    Waiting,
    Closed(&'static str),
    Done(Session),
}

fuzz_target!(|data: &[u8]| {
    let mut input = Input(data);
    let (kind, pieces) = (input.byte(), usize::from(input.byte()) + 1);
    let exports = exports(kind, 1 << 30);
    let tls = [TlsRule::None, TlsRule::Offered, TlsRule::Required][usize::from(kind >> 6) % 3];
    let whole = talk(input.0, input.0.len().max(1), &exports, tls);
    let in_pieces = talk(input.0, pieces, &exports, tls);
    assert_eq!(whole, in_pieces, "pieces of {pieces} bytes");
    if let Ending::Done(session) = whole.0 {
        assert!(
            session.export < exports.len() && (session.structured || !session.allocation),
            "{session:?}"
        );
    }
});

/// The server's side of a conversation in which `piece` more bytes come whenever it wants more.
fn talk(bytes: &[u8], piece: usize, exports: &[Shape], tls: TlsRule) -> (Ending, Vec<u8>) {
    let (mut handshake, greeting) = Handshake::new(tls);
    let mut said = greeting.to_vec();
    let (mut start, mut end) = (0, 0);
    loop {
        let waiting = &bytes[start..end];
        let mut out = Vec::new();
        let (taken, verdict) = within(waiting, 8, || handshake.advance(waiting, exports, &mut out));
        assert!(
            taken <= waiting.len() && out.len() <= ANSWER_MAX_BYTES,
            "{taken} of {}, {} out",
            waiting.len(),
            out.len()
        );
        start += taken;
        said.append(&mut out);
        match verdict {
            Verdict::More if taken > 0 => (),
            Verdict::More if end == bytes.len() => return (Ending::Waiting, said),
            Verdict::More => {
                assert!(
                    end - start < OPTION_HEAD_BYTES + OPTION_MAX_BYTES,
                    "it waits for more than an option can be"
                );
                end = (end + piece).min(bytes.len());
            }
            Verdict::Answered => assert!(taken > 0, "nothing was answered"),
            Verdict::StartTls => {
                assert_ne!(tls, TlsRule::None, "there is no TLS here");
                handshake.secured();
            }
            Verdict::Transmission(session) => return (Ending::Done(session), said),
            Verdict::Close(why) => return (Ending::Closed(why), said),
        }
    }
}
