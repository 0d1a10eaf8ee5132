//! One request followed through the layers, at the level `trace` of the log.
//!
//! ```text
//!   submit   id=3:17 op="write" offset=4096 bytes=4096 device=raid5
//!   submit   id=5:0  for=3:17 op="read" offset=1052672 bytes=4096 device=file:b.img
//!   complete id=5:0  op="read" offset=1052672 bytes=4096 device=file:b.img
//!   …
//!   complete id=3:17 op="write" offset=4096 bytes=4096 device=raid5
//! ```
//!
//! An id is the number of a channel, which no other has while the program runs, and the request's
//! tag on it. `for` names the request above that a request was made for; where a layer does not say
//! ([`on_behalf_of`]), it names the channel alone.
//!
//! Every device wraps the channel that it opens in a [`TracedChannel`]. While the log is not at
//! `trace`, that is one branch on a number in memory for each call, which always goes the same way.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing::level_filters::LevelFilter;
use tracing::{Level, enabled, trace};

use crate::{Channel, Completion, Node, Request, Signal};

/// What the events of requests are called in a filter: `RAIDLOOM_LOG=request=trace`.
pub const TARGET: &str = "request";

/// The request that is worked on: its channel's number, and its tag where it is known.
type Cause = (u64, Option<u64>);

thread_local! {
    static CAUSE: Cell<Cause> = const { Cell::new((0, None)) };
}

/// Says for which request of its own owner a layer works now, by that owner's tag: what goes below
/// from here on is for it, until the layer says otherwise or returns.
#[inline]
pub fn on_behalf_of(tag: u64) {
    if is_on() {
        CAUSE.set((CAUSE.get().0, Some(tag)));
    }
}

#[inline]
fn is_on() -> bool {
    // One load and one comparison where nothing at all is at `trace`.
    LevelFilter::current() >= LevelFilter::TRACE && is_asked_for()
}

#[cold]
fn is_asked_for() -> bool {
    enabled!(target: TARGET, Level::TRACE)
}

/// A layer's channel whose requests can be followed.
pub struct TracedChannel<C> {
    channel: C,
    number: u64,
    device: String,
    /// Requests whose submission was told, by tag.
    open: HashMap<u64, TracedRequest>,
}

struct TracedRequest {
    op: &'static str,
    offset: u64,
    bytes: u64,
}

impl<C: Channel> TracedChannel<C> {
    /// Wraps the channel that a device opens; `node` is what the device describes itself as.
    #[must_use]
    pub fn new(channel: C, node: &Node) -> TracedChannel<C> {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let device = match node {
            Node::Leaf { scheme, address, .. } => format!("{scheme}:{address}"),
            Node::Layer { name, .. } => name.clone(),
            Node::Missing => "missing".to_owned(),
        };
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        TracedChannel { channel, number, device, open: HashMap::new() }
    }

    /// Tells of a request that comes in; what was worked on until then.
    #[cold]
    fn tell_submission(&mut self, request: &Request) -> Cause {
        let tag = request.tag;
        let (offset, bytes) = request.op.range().unwrap_or((0, 0));
        let op = request.op.name();
        let (id, device) = (format_args!("{}:{tag}", self.number), &self.device);
        match CAUSE.get() {
            (0, _) => trace!(target: TARGET, %id, op, offset, bytes, %device, "submit"),
            (channel, above) => {
                let above = above.map_or_else(String::new, |tag| tag.to_string());
                let above = format_args!("{channel}:{above}");
                trace!(target: TARGET, %id, r#for = %above, op, offset, bytes, %device, "submit");
            }
        }
        self.open.insert(tag, TracedRequest { op, offset, bytes });
        CAUSE.replace((self.number, Some(tag)))
    }

    /// Tells of requests that have ended.
    #[cold]
    fn tell_completions(&mut self, done: &[Completion]) {
        for Completion { tag, result, .. } in done {
            // One that came before the log was at `trace` is told with what is known.
            let told = self.open.remove(tag);
            let TracedRequest { op, offset, bytes } =
                told.unwrap_or(TracedRequest { op: "request", offset: 0, bytes: 0 });
            let (id, device) = (format_args!("{}:{tag}", self.number), &self.device);
            match result {
                Ok(()) => trace!(target: TARGET, %id, op, offset, bytes, %device, "complete"),
                Err(error) => {
                    trace!(target: TARGET, %id, op, offset, bytes, %device, %error, "complete");
                }
            }
        }
    }
}

impl<C: Channel> Channel for TracedChannel<C> {
    // Each calls the channel in one place only, where the compiler then puts the channel's code: a
    // second place would cost every request a call and a copy.
    #[inline]
    fn submit(&mut self, request: Request) {
        let above = is_on().then(|| self.tell_submission(&request));
        self.channel.submit(request);
        if let Some(above) = above {
            CAUSE.set(above);
        }
    }

    #[inline]
    fn poll(&mut self, done: &mut Vec<Completion>) {
        let told = is_on().then(|| (done.len(), CAUSE.replace((self.number, None))));
        self.channel.poll(done);
        if let Some((from, above)) = told {
            CAUSE.set(above);
            self.tell_completions(&done[from..]);
        }
    }

    #[inline]
    fn in_flight(&self) -> u32 {
        self.channel.in_flight()
    }

    fn signal(&self) -> Option<Signal> {
        self.channel.signal()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::filter::Targets;
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;
    use crate::{BufMut, Error, ErrorKind, Op};

    /// Answers at the next poll, and fails what lies at 4096 or behind.
    #[derive(Default)]
    struct Leaf(Vec<Request>);

    impl Channel for Leaf {
        fn submit(&mut self, request: Request) {
            self.0.push(request);
        }
        fn poll(&mut self, done: &mut Vec<Completion>) {
            done.extend(self.0.drain(..).map(|request| {
                let fails = request.op.range().is_some_and(|(offset, _)| offset >= 4096);
                let error = || Error::new(ErrorKind::Media, "b.img: unreadable");
                let result = if fails { Err(error()) } else { Ok(()) };
                request.complete(result)
            }));
        }
        fn in_flight(&self) -> u32 {
            self.0.len() as u32
        }
    }

    /// Sends a request on at once, and a flush behind it once it has come back.
    struct Layer {
        below: TracedChannel<Leaf>,
        owners: u64,
    }

    impl Channel for Layer {
        fn submit(&mut self, request: Request) {
            self.owners = request.tag;
            self.below.submit(Request::new(0, request.op));
        }
        fn poll(&mut self, done: &mut Vec<Completion>) {
            let from = done.len();
            self.below.poll(done);
            if done.len() > from && done[from].tag == 0 {
                done.truncate(from);
                on_behalf_of(self.owners);
                self.below.submit(Request::new(1, Op::Flush));
            }
            done[from..].iter_mut().for_each(|completion| completion.tag = self.owners);
        }
        fn in_flight(&self) -> u32 {
            self.below.in_flight()
        }
    }

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn log_of(filter: &str, run: impl FnOnce()) -> Vec<String> {
        let lines = Lines::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt::layer()
            .with_writer(move || writer.clone())
            .without_time()
            .with_level(false)
            .with_target(false)
            .with_ansi(false);
        let filter: Targets = filter.parse().unwrap();
        let subscriber = tracing_subscriber::registry().with(filter).with(log);
        tracing::subscriber::with_default(subscriber, run);
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| line.trim().to_owned()).collect()
    }

    /// "at `trace` every request can be followed through the layers by its tag".
    #[test]
    fn a_request_is_followed_through_the_layers_by_its_tag() {
        let below = TracedChannel::new(Leaf::default(), &Node::leaf("file", "b.img"));
        let leaf = below.number;
        let layer = Node::layer("raid0", vec![Node::leaf("file", "b.img")]);
        let mut channel = TracedChannel::new(Layer { below, owners: 0 }, &layer);
        let top = channel.number;
        let mut run = |tag, offset| {
            let into = BufMut::zeroed(512);
            channel.submit(Request::new(tag, Op::Read { offset, into }));
            let mut done = Vec::new();
            while done.is_empty() {
                channel.poll(&mut done);
            }
            assert_eq!(done[0].tag, tag);
        };
        assert_eq!(log_of("request=debug", || run(3, 0)), [""; 0], "not at trace");
        assert_eq!(
            log_of("request=trace", || run(7, 512)),
            [
                format!(r#"submit id={top}:7 op="read" offset=512 bytes=512 device=raid0"#),
                format!(
                    r#"submit id={leaf}:0 for={top}:7 op="read" offset=512 bytes=512 device=file:b.img"#
                ),
                format!(r#"complete id={leaf}:0 op="read" offset=512 bytes=512 device=file:b.img"#),
                format!(
                    r#"submit id={leaf}:1 for={top}:7 op="flush" offset=0 bytes=0 device=file:b.img"#
                ),
                format!(r#"complete id={leaf}:1 op="flush" offset=0 bytes=0 device=file:b.img"#),
                format!(r#"complete id={top}:7 op="read" offset=512 bytes=512 device=raid0"#),
            ]
        );
        let failed = log_of("trace", || run(9, 4096));
        assert!(failed[2].ends_with("device=file:b.img error=b.img: unreadable"), "{failed:?}");
    }
}
