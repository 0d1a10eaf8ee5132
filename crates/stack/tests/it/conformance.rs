//! Built stacks against docs/contract.md: what a user gets, memory below, in both clocks' reactors.

use std::sync::Arc;

use block::{Device, Reactor, Support};
use stack::{BuildContext, NoFiles, parse_and_build};
use testkit::conformance;

fn build(text: &str, seed: u64) -> Arc<dyn Device> {
    let context = BuildContext { seed, emulate: true, ..BuildContext::new(&NoFiles) };
    parse_and_build(text, &context).expect(text).device
}

#[test]
fn stacks_keep_the_contract() {
    for text in [
        "linear(ram:96KiB, ram:1KiB, ram:64KiB)",
        "linear(offset=32KiB, ram:96KiB, ram:64KiB)",
        "linear(offset=5KiB, raid1(ram:96KiB, ram:96KiB))",
        "raid0(chunk=4KiB, ram:128KiB, ram:128KiB)",
        "raid0(chunk=1536, layout=alternate, ram:12KiB, ram:40KiB, ram:30KiB)",
        "raid0(chunk=8KiB, fault(volatile=yes, delay=100us, delay_probability=0.3, ram:64KiB), \
        ram:64KiB)",
        "raid0(chunk=512, linear(ram:8KiB, null:8KiB), model:st340015a)",
        "raid1(ram:96KiB, missing, fault(volatile=yes, delay=100us, delay_probability=0.3, \
        ram:100KiB))",
        "raid10(chunk=4KiB, layout=f2, ram:64KiB, ram:64KiB, missing)",
        "raid4(chunk=1KiB, ram:32KiB, ram:32KiB, ram:32KiB)",
        "raid5(chunk=4KiB, layout=right-asymmetric, ram:64KiB, ram:64KiB, ram:70KiB, missing)",
        "raid6(chunk=2KiB, layout=ddf-N-continue, ram:32KiB, missing, ram:32KiB, missing, \
        ram:32KiB)",
        "overlay(ram:4MiB, raid0(chunk=4KiB, ram:64KiB, ram:64KiB))",
        "overlay(keep=no, ram:4MiB, ram:96KiB)",
        "cache(mode=write-back, ram:24KiB, raid5(chunk=4KiB, ram:32KiB, ram:32KiB, ram:32KiB))",
        "cache(mode=write-through, policy=lru, ram:16KiB, fault(volatile=yes, ram:96KiB))",
        "raid0(chunk=4KiB, raid1(ram:64KiB, ram:64KiB), raid5(chunk=1KiB, ram:32KiB, ram:32KiB, \
        missing))",
    ] {
        for seed in 0..2 {
            if let Err(violation) =
                conformance::run(|| build(text, seed), Reactor::virtual_clock, seed)
            {
                panic!("{text}: {violation}");
            }
        }
    }
    for text in [
        "raid0(chunk=4KiB, ram:128KiB, ram:128KiB)",
        "raid5(chunk=4KiB, ram:128KiB, ram:128KiB, ram:128KiB)",
    ] {
        if let Err(violation) =
            conformance::run(|| build(text, 1), || Reactor::wall().expect("an io_uring"), 1)
        {
            panic!("{text} on the wall clock: {violation}");
        }
    }
}

#[test]
fn what_a_stack_lacks_is_emulated_on_top_and_said_so() {
    let device = build("fault(volatile=yes, ram:64KiB)", 1);
    assert_eq!((device.info().fua, device.info().zeroes), (Support::Native, Support::Emulated));
    assert_eq!(build("ram:64KiB", 1).info().zeroes, Support::Native);
}
