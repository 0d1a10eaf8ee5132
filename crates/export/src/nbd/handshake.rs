//! The handshake: from the greeting to the choice of an export. Bytes in, bytes and a verdict out;
//! no I/O.
//!
//! ```text
//!   greeting ─> client's flags ─> option ─> reply ─┐
//!                                   ^──────────────┘ … until EXPORT_NAME or GO, STARTTLS, ABORT
//! ```
//!
//! Fixed newstyle only. One option is answered at a time, so a client that sends many without
//! reading answers makes nothing grow; data of an option longer than [`OPTION_MAX_BYTES`] are
//! passed over without being kept.

use super::shape::Shape;
use super::transmission::Session;
use nbd_wire::{
    ALLOCATION, ALLOCATION_ID, Cursor, GREETING_MAGIC, OPTION_BYTES, OPTION_MAGIC,
    OPTION_REPLY_MAGIC, REQUEST_MAX_BYTES, info, option, reply, server_flags,
};

/// The most data of one option that are looked at, in bytes.
pub const OPTION_MAX_BYTES: usize = 64 << 10;
/// The shortest request that is served, and what offsets are multiples of: any are, whatever the
/// device's block is.
const MINIMUM_BYTES: u32 = 1;

/// Whether clients talk in the clear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsRule {
    /// There is no TLS here.
    None,
    /// Clients may ask for it.
    Offered,
    /// Nothing is negotiated without it.
    Required,
}

/// What comes next after some bytes.
#[derive(Debug)]
pub enum Verdict {
    /// More bytes are needed.
    More,
    /// An option was answered; there may be another.
    Answered,
    /// The answer goes out in the clear; then TLS begins, with whatever else the client has sent.
    StartTls,
    /// The handshake is done.
    Transmission(Session),
    /// The connection ends when the answer is out; why.
    Close(&'static str),
}

/// The state of one handshake.
#[derive(Debug)]
pub struct Handshake {
    tls: TlsRule,
    secure: bool,
    greeted: bool,
    no_zeroes: bool,
    structured: bool,
    /// The export for which `base:allocation` was chosen.
    allocation_of: Option<usize>,
    /// Bytes of an overlong option that are still to come.
    skip_bytes: u64,
}

impl Handshake {
    /// A handshake that begins, and the greeting that goes out first.
    #[must_use]
    pub fn new(tls: TlsRule) -> (Handshake, [u8; 18]) {
        let mut greeting = [0; 18];
        greeting[..8].copy_from_slice(&GREETING_MAGIC.to_be_bytes());
        greeting[8..16].copy_from_slice(&OPTION_MAGIC.to_be_bytes());
        greeting[16..].copy_from_slice(
            &(server_flags::FIXED_NEWSTYLE | server_flags::NO_ZEROES).to_be_bytes(),
        );
        let handshake = Handshake {
            tls,
            secure: false,
            greeted: false,
            no_zeroes: false,
            structured: false,
            allocation_of: None,
            skip_bytes: 0,
        };
        (handshake, greeting)
    }

    /// The client's certificates were accepted: what was negotiated in the clear is forgotten.
    pub fn secured(&mut self) {
        self.secure = true;
        self.structured = false;
        self.allocation_of = None;
    }

    /// Takes at most one option off the front of `input` and appends its answer to `out`; how many
    /// bytes it took, and what comes next.
    pub fn advance(
        &mut self,
        input: &[u8],
        exports: &[Shape],
        out: &mut Vec<u8>,
    ) -> (usize, Verdict) {
        let mut cursor = Cursor(input);
        if !self.greeted {
            let Some(flags) = cursor.u32() else { return (0, Verdict::More) };
            let known = u32::from(server_flags::FIXED_NEWSTYLE | server_flags::NO_ZEROES);
            if flags & !known != 0 {
                return (4, Verdict::Close("the client sent flags that were not offered"));
            }
            self.no_zeroes = flags & u32::from(server_flags::NO_ZEROES) != 0;
            self.greeted = true;
            return (4, Verdict::Answered);
        }
        if self.skip_bytes > 0 {
            let now = self.skip_bytes.min(input.len() as u64);
            self.skip_bytes -= now;
            return (
                now as usize,
                if self.skip_bytes > 0 { Verdict::More } else { Verdict::Answered },
            );
        }
        // The magic is looked at as soon as it is there: a client of another protocol may never
        // send a whole head.
        match cursor.u64() {
            None => return (0, Verdict::More),
            Some(OPTION_MAGIC) => (),
            Some(_) => return (8, Verdict::Close("the client speaks another protocol")),
        }
        let (Some(option), Some(length)) = (cursor.u32(), cursor.u32()) else {
            return (0, Verdict::More);
        };
        if length as usize > OPTION_MAX_BYTES {
            if option == option::EXPORT_NAME {
                return (OPTION_BYTES, Verdict::Close("the export's name is too long"));
            }
            self.skip_bytes = u64::from(length);
            refuse(out, option, reply::TOO_BIG, "the option's data are too long");
            return (OPTION_BYTES, Verdict::Answered);
        }
        let Some(data) = cursor.bytes(length as usize) else { return (0, Verdict::More) };
        (OPTION_BYTES + data.len(), self.answer(option, data, exports, out))
    }

    fn answer(
        &mut self,
        option: u32,
        data: &[u8],
        exports: &[Shape],
        out: &mut Vec<u8>,
    ) -> Verdict {
        if self.tls == TlsRule::Required
            && !self.secure
            && !matches!(option, option::STARTTLS | option::ABORT)
        {
            if option == option::EXPORT_NAME {
                return Verdict::Close("TLS is required");
            }
            refuse(out, option, reply::TLS_REQUIRED, "TLS is required; start it first");
            return Verdict::Answered;
        }
        match option {
            option::EXPORT_NAME => return self.export_name(data, exports, out),
            option::GO | option::INFO => return self.go(option, data, exports, out),
            option::ABORT => {
                put_reply(out, option, reply::ACK, &[]);
                return Verdict::Close("the client gave up");
            }
            option::STARTTLS if !data.is_empty() => {
                refuse(out, option, reply::INVALID, "the option takes no data");
            }
            option::STARTTLS if self.secure => {
                refuse(out, option, reply::INVALID, "TLS is on already");
            }
            option::STARTTLS if self.tls == TlsRule::None => {
                refuse(out, option, reply::POLICY, "there is no TLS here");
            }
            option::STARTTLS => {
                put_reply(out, option, reply::ACK, &[]);
                return Verdict::StartTls;
            }
            option::LIST if !data.is_empty() => {
                refuse(out, option, reply::INVALID, "the option takes no data");
            }
            option::LIST => {
                for export in exports {
                    let mut entry = string(&export.name);
                    entry.extend_from_slice(export.description.as_bytes());
                    put_reply(out, option, reply::SERVER, &entry);
                }
                put_reply(out, option, reply::ACK, &[]);
            }
            option::STRUCTURED_REPLY if !data.is_empty() => {
                refuse(out, option, reply::INVALID, "the option takes no data");
            }
            option::STRUCTURED_REPLY => {
                self.structured = true;
                put_reply(out, option, reply::ACK, &[]);
            }
            option::LIST_META_CONTEXT | option::SET_META_CONTEXT => {
                self.contexts(option, data, exports, out);
            }
            _ => refuse(out, option, reply::UNSUPPORTED, "the option is not known here"),
        }
        Verdict::Answered
    }

    fn export_name(&self, data: &[u8], exports: &[Shape], out: &mut Vec<u8>) -> Verdict {
        let found = std::str::from_utf8(data).ok().and_then(|name| find(exports, name));
        let Some(index) = found else { return Verdict::Close("there is no such export") };
        out.extend_from_slice(&exports[index].size_bytes.to_be_bytes());
        out.extend_from_slice(&exports[index].flags(self.structured).to_be_bytes());
        if !self.no_zeroes {
            out.extend_from_slice(&[0; 124]);
        }
        Verdict::Transmission(self.session(index))
    }

    fn session(&self, export: usize) -> Session {
        Session {
            export,
            structured: self.structured,
            allocation: self.structured && self.allocation_of == Some(export),
        }
    }

    fn go(&mut self, option: u32, data: &[u8], exports: &[Shape], out: &mut Vec<u8>) -> Verdict {
        let Some((name, wanted)) = parse_go(data) else {
            refuse(out, option, reply::INVALID, "the option's data make no sense");
            return Verdict::Answered;
        };
        let Some(index) = find(exports, name) else {
            refuse(out, option, reply::UNKNOWN, "there is no such export");
            return Verdict::Answered;
        };
        let export = &exports[index];
        let mut send = |kind: u16, content: &[&[u8]]| {
            let mut data = kind.to_be_bytes().to_vec();
            content.iter().for_each(|bytes| data.extend_from_slice(bytes));
            put_reply(out, option, reply::INFO, &data);
        };
        send(
            info::EXPORT,
            &[&export.size_bytes.to_be_bytes(), &export.flags(self.structured).to_be_bytes()],
        );
        if wanted.contains(&info::NAME) {
            send(info::NAME, &[export.name.as_bytes()]);
        }
        if wanted.contains(&info::DESCRIPTION) && !export.description.is_empty() {
            send(info::DESCRIPTION, &[export.description.as_bytes()]);
        }
        // Also to clients that have not asked: it is binding for the server either way.
        let sizes =
            [MINIMUM_BYTES, export.preferred_bytes(), REQUEST_MAX_BYTES].map(u32::to_be_bytes);
        send(info::BLOCK_SIZE, &[&sizes.concat()]);
        put_reply(out, option, reply::ACK, &[]);
        if option == option::INFO {
            Verdict::Answered
        } else {
            Verdict::Transmission(self.session(index))
        }
    }

    fn contexts(&mut self, option: u32, data: &[u8], exports: &[Shape], out: &mut Vec<u8>) {
        let set = option == option::SET_META_CONTEXT;
        if set {
            // Whatever comes of this, an earlier choice does not survive it.
            self.allocation_of = None;
        }
        if !self.structured {
            return refuse(out, option, reply::INVALID, "structured replies come first");
        }
        let Some((name, queries)) = parse_contexts(data) else {
            return refuse(out, option, reply::INVALID, "the option's data make no sense");
        };
        let Some(index) = find(exports, name) else {
            return refuse(out, option, reply::UNKNOWN, "there is no such export");
        };
        let asked = |query: &&str| *query == ALLOCATION || (!set && *query == "base:");
        if queries.iter().any(asked) || (!set && queries.is_empty()) {
            let id = if set { ALLOCATION_ID } else { 0 };
            put_reply(
                out,
                option,
                reply::META_CONTEXT,
                &[&id.to_be_bytes()[..], ALLOCATION.as_bytes()].concat(),
            );
            if set {
                self.allocation_of = Some(index);
            }
        }
        put_reply(out, option, reply::ACK, &[]);
    }
}

fn find(exports: &[Shape], name: &str) -> Option<usize> {
    if name.is_empty() {
        // The first, even where another is called so: clients that name none mean the only one.
        return if exports.is_empty() { None } else { Some(0) };
    }
    exports.iter().position(|export| export.name == name)
}

/// Name of an export and the kinds of information that are asked for.
fn parse_go(data: &[u8]) -> Option<(&str, Vec<u16>)> {
    let mut cursor = Cursor(data);
    let name = cursor.string()?;
    let count = cursor.u16()?;
    let wanted: Option<Vec<u16>> = (0..count).map(|_| cursor.u16()).collect();
    wanted.filter(|_| cursor.0.is_empty()).map(|wanted| (name, wanted))
}

/// Name of an export and names of contexts.
fn parse_contexts(data: &[u8]) -> Option<(&str, Vec<&str>)> {
    let mut cursor = Cursor(data);
    let name = cursor.string()?;
    let count = cursor.u32()?;
    // An iterator that ends with the data: a count alone reserves no memory.
    let mut queries = Vec::new();
    for _ in 0..count {
        queries.push(cursor.string()?);
    }
    cursor.0.is_empty().then_some((name, queries))
}

fn string(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("names are short");
    [&length.to_be_bytes()[..], text.as_bytes()].concat()
}

fn refuse(out: &mut Vec<u8>, option: u32, kind: u32, why: &str) {
    put_reply(out, option, kind, why.as_bytes());
}

fn put_reply(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    out.extend_from_slice(&OPTION_REPLY_MAGIC.to_be_bytes());
    for number in [option, kind, u32::try_from(data.len()).expect("replies are short")] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(data);
}

#[cfg(test)]
mod tests {
    use nbd_wire::transmission_flags;

    use super::*;

    fn shapes() -> Vec<Shape> {
        let first = Shape {
            name: "first".to_owned(),
            description: "a drive".to_owned(),
            size_bytes: 1 << 20,
            block_bytes: 512,
            optimal_bytes: 100_000,
            read_only: false,
            rotational: true,
            needs_flush: true,
            discards: false,
            fast_zeroes: false,
        };
        vec![first.clone(), Shape { name: "second".to_owned(), read_only: true, ..first }]
    }

    fn option(number: u32, data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).expect("short");
        [&OPTION_MAGIC.to_be_bytes()[..], &number.to_be_bytes(), &length.to_be_bytes(), data]
            .concat()
    }

    /// A handshake after the client's flags.
    fn greeted(tls: TlsRule) -> Handshake {
        let (mut handshake, greeting) = Handshake::new(tls);
        assert_eq!(&greeting, b"NBDMAGICIHAVEOPT\0\x03");
        let (taken, verdict) = handshake.advance(&3_u32.to_be_bytes(), &shapes(), &mut Vec::new());
        assert!(taken == 4 && matches!(verdict, Verdict::Answered), "{verdict:?}");
        handshake
    }

    /// The replies to one option, as their types and data, and what comes next.
    fn ask(handshake: &mut Handshake, number: u32, data: &[u8]) -> (Vec<(u32, Vec<u8>)>, Verdict) {
        let (bytes, mut out) = (option(number, data), Vec::new());
        let (taken, verdict) = handshake.advance(&bytes, &shapes(), &mut out);
        assert_eq!(taken, bytes.len());
        let (mut cursor, mut replies) = (Cursor(&out), Vec::new());
        while let Some(magic) = cursor.u64() {
            assert_eq!((magic, cursor.u32()), (OPTION_REPLY_MAGIC, Some(number)));
            let (kind, length) = (cursor.u32().expect("a type"), cursor.u32().expect("a length"));
            replies.push((kind, cursor.bytes(length as usize).expect("its data").to_vec()));
        }
        (replies, verdict)
    }

    fn kinds(replies: &[(u32, Vec<u8>)]) -> Vec<u32> {
        replies.iter().map(|(kind, _)| *kind).collect()
    }

    #[test]
    fn an_export_is_chosen_with_what_the_client_asks_about_it() {
        let mut handshake = greeted(TlsRule::None);
        let (replies, _) = ask(&mut handshake, option::LIST, &[]);
        assert_eq!(kinds(&replies), [reply::SERVER, reply::SERVER, reply::ACK]);
        assert_eq!(replies[1].1, b"\0\0\0\x06seconda drive");
        assert_eq!(kinds(&ask(&mut handshake, option::STRUCTURED_REPLY, &[]).0), [reply::ACK]);
        let query = [string("second"), 1_u32.to_be_bytes().to_vec(), string(ALLOCATION)].concat();
        let (replies, _) = ask(&mut handshake, option::SET_META_CONTEXT, &query);
        assert_eq!(kinds(&replies), [reply::META_CONTEXT, reply::ACK]);
        let wanted = [string("second"), vec![0, 2, 0, 1, 0, 2]].concat();
        let (replies, verdict) = ask(&mut handshake, option::INFO, &wanted);
        assert!(matches!(verdict, Verdict::Answered), "{verdict:?}");
        assert_eq!(
            kinds(&replies),
            [reply::INFO, reply::INFO, reply::INFO, reply::INFO, reply::ACK]
        );
        assert_eq!(replies[0].1[2..10], (1_u64 << 20).to_be_bytes());
        let flags = u16::from_be_bytes([replies[0].1[10], replies[0].1[11]]);
        assert_eq!(flags & transmission_flags::READ_ONLY, transmission_flags::READ_ONLY);
        assert_eq!(
            replies[3].1[2..],
            [1_u32, 65536, REQUEST_MAX_BYTES].map(u32::to_be_bytes).concat(),
            "powers of two"
        );
        let (_, verdict) = ask(&mut handshake, option::GO, &wanted);
        let Verdict::Transmission(session) = verdict else { panic!("{verdict:?}") };
        assert_eq!(session, Session { export: 1, structured: true, allocation: true });
    }

    #[test]
    fn a_context_counts_for_the_export_it_was_chosen_for() {
        let mut handshake = greeted(TlsRule::None);
        let query =
            |name: &str| [string(name), 1_u32.to_be_bytes().to_vec(), string(ALLOCATION)].concat();
        assert_eq!(
            kinds(&ask(&mut handshake, option::SET_META_CONTEXT, &query("first")).0),
            [reply::INVALID],
            "not structured"
        );
        ask(&mut handshake, option::STRUCTURED_REPLY, &[]);
        ask(&mut handshake, option::SET_META_CONTEXT, &query("first"));
        // A later choice takes the place of an earlier one, whatever comes of it.
        assert_eq!(
            kinds(&ask(&mut handshake, option::SET_META_CONTEXT, &query("third")).0),
            [reply::UNKNOWN]
        );
        let (_, verdict) = ask(&mut handshake, option::GO, &[string("first"), vec![0, 0]].concat());
        assert!(
            matches!(verdict, Verdict::Transmission(Session { export: 0, allocation: false, .. })),
            "{verdict:?}"
        );
    }

    #[test]
    fn where_tls_is_required_nothing_goes_before_it_and_nothing_is_kept_from_before() {
        let mut handshake = greeted(TlsRule::Required);
        assert_eq!(kinds(&ask(&mut handshake, option::LIST, &[]).0), [reply::TLS_REQUIRED]);
        assert_eq!(
            kinds(&ask(&mut handshake, option::GO, &[string(""), vec![0, 0]].concat()).0),
            [reply::TLS_REQUIRED]
        );
        assert!(matches!(
            ask(&mut greeted(TlsRule::Required), option::EXPORT_NAME, b"first").1,
            Verdict::Close(_)
        ));
        let (replies, verdict) = ask(&mut handshake, option::STARTTLS, &[]);
        assert!(
            kinds(&replies) == [reply::ACK] && matches!(verdict, Verdict::StartTls),
            "{verdict:?}"
        );
        handshake.secured();
        assert_eq!(kinds(&ask(&mut handshake, option::STARTTLS, &[]).0), [reply::INVALID], "once");
        assert_eq!(ask(&mut handshake, option::LIST, &[]).0.len(), 3);

        let mut handshake = greeted(TlsRule::Offered);
        ask(&mut handshake, option::STRUCTURED_REPLY, &[]);
        ask(&mut handshake, option::STARTTLS, &[]);
        handshake.secured();
        let (_, verdict) = ask(&mut handshake, option::GO, &[string(""), vec![0, 0]].concat());
        assert!(
            matches!(verdict, Verdict::Transmission(Session { structured: false, .. })),
            "{verdict:?}"
        );
        assert_eq!(
            kinds(&ask(&mut greeted(TlsRule::None), option::STARTTLS, &[]).0),
            [reply::POLICY]
        );
    }

    #[test]
    fn options_are_taken_when_they_are_whole() {
        let bytes = [
            3_u32.to_be_bytes().to_vec(),
            option(option::LIST, &[]),
            option(option::EXPORT_NAME, b"second"),
        ]
        .concat();
        let (mut handshake, _) = Handshake::new(TlsRule::None);
        let (mut start, mut out, mut ending) = (0, Vec::new(), None);
        for end in 1..=bytes.len() {
            let (taken, verdict) = handshake.advance(&bytes[start..end], &shapes(), &mut out);
            start += taken;
            if let Verdict::Transmission(session) = verdict {
                ending = Some((end, session.export));
            }
        }
        assert_eq!(ending, Some((bytes.len(), 1)));
        assert_eq!(
            out[out.len() - 10..][..8],
            (1_u64 << 20).to_be_bytes(),
            "without the 124 zeroes, which were declined"
        );
    }

    #[test]
    fn what_is_too_long_is_passed_over_without_being_kept() {
        let mut handshake = greeted(TlsRule::None);
        let long = option(option::GO, &vec![0; 3 * OPTION_MAX_BYTES]);
        let mut out = Vec::new();
        let (taken, verdict) = handshake.advance(&long[..OPTION_BYTES + 5], &shapes(), &mut out);
        assert!(
            taken == OPTION_BYTES && matches!(verdict, Verdict::Answered),
            "answered before its data are there"
        );
        let (mut start, mut verdicts) = (taken, Vec::new());
        while start < long.len() {
            let end = (start + 10_000).min(long.len());
            let (taken, verdict) = handshake.advance(&long[start..end], &shapes(), &mut out);
            assert_eq!(taken, end - start);
            start = end;
            verdicts.push(matches!(verdict, Verdict::Answered));
        }
        assert_eq!(verdicts.iter().filter(|answered| **answered).count(), 1, "at its end");
        assert_eq!(
            ask(&mut handshake, option::LIST, &[]).0.len(),
            3,
            "the next option is understood"
        );
    }

    #[test]
    fn counts_and_lengths_that_lie_are_refused() {
        let mut handshake = greeted(TlsRule::None);
        ask(&mut handshake, option::STRUCTURED_REPLY, &[]);
        for (number, data) in [
            (option::GO, &b"\xff\xff\xff\xff"[..]),
            (option::GO, b"\0\0\0\x05first\0\x02\0\x01"),
            (option::GO, b"\0\0\0\x05first\0\0more"),
            (option::INFO, b"\0\0\0\x02\xc3\x28\0\0"),
            (option::LIST_META_CONTEXT, b"\0\0\0\0\xff\xff\xff\xff"),
            (option::SET_META_CONTEXT, b"\0\0\0\0\0\0\0\x01\0\0\x10\x01"),
            (option::LIST, b"x"),
            (option::STRUCTURED_REPLY, b"x"),
        ] {
            let (replies, verdict) = ask(&mut handshake, number, data);
            assert!(
                kinds(&replies) == [reply::INVALID] && matches!(verdict, Verdict::Answered),
                "{number}: {data:?}"
            );
        }
        for bytes in [&b"GET / HTTP/1.1\r\n"[..], &[0; 8]] {
            let (_, verdict) = greeted(TlsRule::None).advance(bytes, &shapes(), &mut Vec::new());
            assert!(matches!(verdict, Verdict::Close(_)), "{verdict:?}");
        }
    }
}
