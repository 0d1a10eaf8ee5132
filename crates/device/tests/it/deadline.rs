//! A device that does not answer, and what becomes of the requests that wait for it.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::sync::Arc;
use std::time::Duration;

use block::{BufMut, Channel, Completion, Device, ErrorKind, Op, Reactor, Request, ReturnedBuffer};
use device::{DeadlineDevice, FaultDevice, FaultOptions, RamDevice};
use testkit::conformance;

const TIME: Duration = Duration::from_secs(30);

fn over(options: FaultOptions) -> DeadlineDevice {
    let ram = Arc::new(RamDevice::new(1 << 20, 512).unwrap());
    DeadlineDevice::new(Arc::new(FaultDevice::new(ram, options).unwrap()), TIME)
}

fn answers(channel: &mut dyn Channel, count: usize, reactor: &Reactor) -> Vec<Completion> {
    let mut done = Vec::new();
    loop {
        channel.poll(&mut done);
        if done.len() >= count {
            return done;
        }
        reactor.wait(None).unwrap();
    }
}

/// C29: A request that a deadline gives up hands back another buffer of the same length, for the
/// device below still has the first.
#[test]
fn silence_becomes_an_error_on_every_channel_and_stays_one() {
    let reactor = Reactor::virtual_clock();
    let device = over(FaultOptions { stuck_after: Some(1), ..FaultOptions::default() });
    let (mut one, mut other) =
        (device.open(4, &reactor).unwrap(), device.open(4, &reactor).unwrap());
    one.submit(Request::new(
        7,
        Op::Write { offset: 0, from: BufMut::zeroed(512).freeze(), fua: false },
    ));
    answers(&mut *one, 1, &reactor)[0].result.as_ref().unwrap();
    assert!(device.watch().failure().is_none());

    let began = reactor.now();
    let mut written = BufMut::zeroed(1024);
    written.fill(0x5a);
    let into = BufMut::zeroed(4096);
    let lent = into.as_slice().unwrap().as_ptr();
    one.submit(Request::new(1, Op::Read { offset: 0, into }));
    one.submit(Request::new(2, Op::Write { offset: 0, from: written.freeze(), fua: false }));
    other.submit(Request::new(1, Op::Flush));
    assert_eq!((one.in_flight(), other.in_flight()), (2, 1));
    let (mut done, mut others) = (Vec::new(), Vec::new());
    let mut late_after = None;
    while done.len() < 2 || others.is_empty() {
        reactor.wait(None).unwrap();
        one.poll(&mut done);
        other.poll(&mut others);
        if device.watch().is_late() {
            late_after.get_or_insert(reactor.now().since(began));
        }
    }
    // It is told long before.
    let late_after = late_after.unwrap();
    assert!(late_after > Duration::from_secs(2) && late_after <= TIME / 2, "{late_after:?}");
    assert!(!device.watch().is_late(), "nothing waits any more");
    assert!(
        device
            .watch()
            .late_text()
            .english()
            .contains("no answer for 2s; after 30s it counts as failed")
    );
    let took = reactor.now().since(began);
    assert!(took >= TIME && took <= TIME * 5 / 4, "{took:?}");
    done.sort_by_key(|completion| completion.tag);
    assert!(done.iter().all(|completion| {
        completion.result.as_ref().is_err_and(|error| error.kind() == ErrorKind::Gone)
    }));
    assert!(matches!(&done[0].buffer, ReturnedBuffer::Read(buffer) if buffer.len() == 4096
            && buffer.as_slice().unwrap().as_ptr() != lent));
    assert!(matches!(&done[1].buffer,
            ReturnedBuffer::Written(buffer) if buffer.slices().flatten().all(|byte| *byte == 0x5a)
                && buffer.len() == 1024));
    assert_eq!(others[0].tag, 1);
    assert_eq!((one.in_flight(), other.in_flight()), (0, 0));

    // Nothing waits a second time.
    let before = reactor.now();
    one.submit(Request::new(3, Op::Read { offset: 0, into: BufMut::zeroed(512) }));
    let error = answers(&mut *one, 1, &reactor).remove(0).result.unwrap_err();
    assert_eq!(reactor.now(), before);
    assert!(error.to_string().contains("no answer for 30s"), "{error}");
    assert_eq!(device.watch().failure(), Some(error.text()));
}

#[test]
fn slow_answers_are_answers() {
    let reactor = Reactor::virtual_clock();
    let device =
        over(FaultOptions { delay: TIME - Duration::from_millis(1), ..FaultOptions::default() });
    let mut channel = device.open(2, &reactor).unwrap();
    for tag in 0..5 {
        channel.submit(Request::new(tag, Op::Read { offset: 0, into: BufMut::zeroed(512) }));
        let done = answers(&mut *channel, 1, &reactor);
        assert!(done[0].result.is_ok() && done[0].tag == tag);
    }
}

#[test]
fn it_conforms() {
    let make = || Arc::new(over(FaultOptions::default())) as Arc<dyn Device>;
    conformance::run(make, Reactor::virtual_clock, 11)
        .unwrap_or_else(|violation| panic!("{violation}"));
    let wall = || Reactor::wall().unwrap();
    conformance::run(make, wall, 12).unwrap_or_else(|violation| panic!("{violation}"));
}
