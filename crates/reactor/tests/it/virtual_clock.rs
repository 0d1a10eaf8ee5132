//! The virtual clock: it moves only in `wait`, jumps to the next timer, and does the same on every
//! run.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use reactor::{
    Clock, Outcome, Random, Reactor, Source, Time, TimerAction, WakeReason, derive_seed,
};

fn tokens(source: &Source) -> Vec<u64> {
    std::iter::from_fn(|| source.take())
        .map(|event| {
            assert!(matches!(event.outcome, Outcome::Timer), "only timers were set");
            event.token
        })
        .collect()
}

#[test]
fn the_clock_jumps_to_the_next_timer_and_only_in_wait() {
    let reactor = Reactor::virtual_clock();
    assert_eq!((reactor.clock(), reactor.now()), (Clock::Virtual, Time::ZERO));
    let source = reactor.source();
    source.at(Time(3_600_000_000_000), 2);
    source.at(Time(5), 1);
    reactor.turn().unwrap();
    assert_eq!((reactor.now(), tokens(&source)), (Time::ZERO, vec![]));
    assert_eq!(reactor.wait(None).unwrap(), WakeReason::Events);
    assert_eq!((reactor.now(), tokens(&source)), (Time(5), vec![1]));
    assert_eq!(reactor.wait(None).unwrap(), WakeReason::Events);
    assert_eq!((reactor.now(), tokens(&source)), (Time(3_600_000_000_000), vec![2]));
    assert_eq!(reactor.wait(None).unwrap(), WakeReason::Idle);
}

#[test]
fn timers_of_one_moment_go_off_in_the_order_they_were_set_across_sources() {
    let reactor = Reactor::virtual_clock();
    let source = reactor.source();
    for token in [7, 3, 9, 1] {
        source.at(Time(100), token);
    }
    reactor.wait(None).unwrap();
    assert_eq!(tokens(&source), [7, 3, 9, 1]);
}

#[test]
fn a_thousand_random_timers_go_off_in_order_of_time_then_of_setting() {
    let seed = 20;
    let mut random = Random::with_seed(seed);
    let reactor = Reactor::virtual_clock();
    let source = reactor.source();
    let mut expected: Vec<(u64, u64)> = (0..1000).map(|token| (random.u64(0..50), token)).collect();
    expected.iter().for_each(|&(time, token)| source.at(Time(time), token));
    expected.sort_unstable();
    let mut seen = Vec::new();
    while reactor.wait(None).unwrap() == WakeReason::Events {
        seen.extend(tokens(&source).into_iter().map(|token| (reactor.now().nanoseconds(), token)));
    }
    assert_eq!(seen, expected, "seed {seed}");
}

#[test]
fn a_deadline_moves_the_clock_there_and_no_further() {
    let reactor = Reactor::virtual_clock();
    let source = reactor.source();
    source.at(Time(1000), 1);
    assert_eq!(reactor.wait(Some(Time(400))).unwrap(), WakeReason::Deadline);
    assert_eq!(reactor.now(), Time(400));
    // A deadline that has passed already does not turn the clock back.
    assert_eq!(reactor.wait(Some(Time(10))).unwrap(), WakeReason::Deadline);
    assert_eq!(reactor.now(), Time(400));
    // A timer at the deadline itself is in time.
    assert_eq!(reactor.wait(Some(Time(1000))).unwrap(), WakeReason::Events);
    assert_eq!(tokens(&source), [1]);
    // Without timers a deadline is still something to wait for.
    assert_eq!(reactor.wait(Some(Time(1500))).unwrap(), WakeReason::Deadline);
    assert_eq!(reactor.now(), Time(1500));
    // A timer of the past goes off now, whatever the deadline.
    source.at(Time(3), 2);
    assert_eq!(reactor.wait(Some(Time(1))).unwrap(), WakeReason::Events);
    assert_eq!((reactor.now(), tokens(&source)), (Time(1500), vec![2]));
}

#[test]
fn the_clock_stands_still_while_events_lie_in_a_mailbox() {
    let reactor = Reactor::virtual_clock();
    let (first, second) = (reactor.source(), reactor.source());
    for token in 1..=4 {
        first.at(Time(1), token);
    }
    second.at(Time(2), 2);
    for token in 1..=4 {
        assert_eq!(reactor.wait(None).unwrap(), WakeReason::Events);
        assert_eq!(reactor.now(), Time(1));
        assert_eq!(first.take().map(|event| event.token), Some(token));
    }
    reactor.wait(None).unwrap();
    assert_eq!((reactor.now(), tokens(&second)), (Time(2), vec![2]));
}

#[test]
fn what_a_dropped_source_waited_for_does_not_exist_any_more() {
    let reactor = Reactor::virtual_clock();
    let source = reactor.source();
    source.at(Time(1), 1);
    source.at(Time(1_000_000), 2);
    reactor.wait(None).unwrap();
    // One event lies in its mailbox, one timer is still set.
    drop(source);
    assert_eq!(reactor.wait(None).unwrap(), WakeReason::Idle);
    assert_eq!(
        reactor.now(),
        Time(1),
        "nobody waits for the later timer, so the clock does not go there"
    );
}

#[test]
fn clones_are_the_same_reactor() {
    let reactor = Reactor::virtual_clock();
    let clone = reactor.clone();
    let source = clone.source();
    source.at(Time(9), 4);
    reactor.wait(None).unwrap();
    assert_eq!((clone.now(), tokens(&source)), (Time(9), vec![4]));
    assert_eq!(source.reactor().now(), Time(9));
}

#[test]
fn there_is_no_kernel_on_the_virtual_clock() {
    let reactor = Reactor::virtual_clock();
    let null = Arc::new(std::fs::File::open("/dev/null").unwrap().into());
    assert_eq!(reactor.register(null).err().unwrap().kind(), std::io::ErrorKind::Unsupported);
    assert_eq!(reactor.ringer().err().unwrap().kind(), std::io::ErrorKind::Unsupported);
    assert_eq!(reactor.allocate(8192).len(), 8192);
}

#[test]
fn time_saturates_instead_of_wrapping() {
    assert_eq!(Time(u64::MAX) + Duration::from_secs(1), Time(u64::MAX));
    assert_eq!(Time(3) - Time(5), Duration::ZERO);
    assert_eq!(Time(5).since(Time(3)), Duration::from_nanos(2));
    assert_eq!(Time(1) + Duration::MAX, Time(u64::MAX));
}

#[test]
fn derived_seeds_are_the_same_every_time_and_differ_by_label_and_number() {
    let mut seeds: Vec<u64> = ["member", "model", ""]
        .iter()
        .flat_map(|label| {
            (0..50).flat_map(move |number| {
                [derive_seed(1, label, number), derive_seed(2, label, number)]
            })
        })
        .collect();
    assert_eq!(derive_seed(1, "member", 0), seeds[0]);
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 300, "all different");
}

#[test]
fn one_who_waits_for_more_leaves_the_others_their_events() {
    let reactor = Reactor::virtual_clock();
    let (own, other) = (reactor.source(), reactor.source());
    other.at(Time(10), 1);
    own.at(Time(20), 2);
    assert_eq!(reactor.wait(None).expect("no kernel"), WakeReason::Events);
    assert_eq!(reactor.wait_for_more().expect("no kernel"), WakeReason::Events);
    assert_eq!((reactor.now(), own.take().map(|event| event.token)), (Time(20), Some(2)));
    assert_eq!(reactor.wait_for_more().expect("no kernel"), WakeReason::Idle);
    assert_eq!(
        reactor.wait(None).expect("no kernel"),
        WakeReason::Events,
        "the other's event still lies there"
    );
    assert_eq!(other.take().map(|event| event.token), Some(1));
}

#[test]
fn a_nudge_ends_the_next_wait_and_no_other() {
    let reactor = Reactor::virtual_clock();
    reactor.nudge();
    assert_eq!(
        reactor.wait_for_more().expect("no kernel"),
        WakeReason::Idle,
        "it is not for this one"
    );
    assert_eq!(reactor.wait(None).expect("no kernel"), WakeReason::Rung);
    assert_eq!(reactor.wait(None).expect("no kernel"), WakeReason::Idle);
}

#[test]
fn one_owner_of_several_is_not_kept_awake_by_the_others_events() {
    let reactor = Reactor::virtual_clock();
    let (own, other) = (reactor.source(), reactor.source());
    for time in [10, 20, 40] {
        other.at(Time(time), time);
    }
    own.at(Time(30), 30);
    let mut waits = Vec::new();
    let event = loop {
        if let Some(event) = own.take() {
            break event;
        }
        // Each of the other's events ends one wait, and then none any more.
        waits.push(reactor.wait_for_new(None).expect("no kernel"));
        assert!(waits.len() <= 3, "an event that lies there ends every wait");
    };
    assert_eq!(
        (event.token, reactor.now(), &waits[..]),
        (30, Time(30), &[WakeReason::Events; 3][..])
    );
    assert_eq!(reactor.wait_for_new(Some(Time(35))).expect("no kernel"), WakeReason::Deadline);
    assert_eq!(
        reactor.wait(None).expect("no kernel"),
        WakeReason::Events,
        "an owner of all hears of those that lie there"
    );
    assert_eq!(
        std::iter::from_fn(|| other.take()).map(|event| event.token).collect::<Vec<_>>(),
        [10, 20]
    );
    assert_eq!(reactor.wait_for_new(None).expect("no kernel"), WakeReason::Events);
    assert_eq!((other.take().map(|event| event.token), reactor.now()), (Some(40), Time(40)));
    assert_eq!(reactor.wait_for_new(None).expect("no kernel"), WakeReason::Idle);
}

#[test]
fn what_came_while_nobody_waited_is_new() {
    let reactor = Reactor::virtual_clock();
    let (own, other) = (reactor.source(), reactor.source());
    other.at(Time(0), 1);
    own.at(Time(0), 2);
    reactor.turn().expect("no kernel");
    assert_eq!(reactor.wait_for_new(Some(Time(5))).expect("no kernel"), WakeReason::Events);
    assert_eq!(own.take().map(|event| event.token), Some(2));
    // And so is what came while another source would not let go.
    own.at(Time(7), 3);
    assert_eq!(reactor.wait_for_more().expect("no kernel"), WakeReason::Events);
    assert_eq!(reactor.wait_for_new(Some(Time(9))).expect("no kernel"), WakeReason::Events);
    assert_eq!((own.take().map(|event| event.token), reactor.now()), (Some(3), Time(7)));
    reactor.nudge();
    assert_eq!(reactor.wait_for_new(None).expect("no kernel"), WakeReason::Rung);
    assert_eq!(
        reactor.wait_for_new(None).expect("no kernel"),
        WakeReason::Idle,
        "the other's event is old"
    );
    assert_eq!(other.take().map(|event| event.token), Some(1));
}

/// An event that its owner does not take within one round is a bug in tests.
#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "1 events that nobody takes"))]
fn an_event_that_nobody_takes_is_loud_and_keeps_nobody_awake() {
    let reactor = Reactor::virtual_clock();
    let (own, forgotten) = (reactor.source(), reactor.source());
    forgotten.at(Time(1), 1);
    own.at(Time(500), 2);
    assert_eq!(reactor.wait(None).expect("no kernel"), WakeReason::Events);
    assert!(own.take().is_none());
    // Only where assertions are off is this reached.
    assert_eq!(
        (reactor.wait(None).expect("no kernel"), reactor.now()),
        (WakeReason::Events, Time(500)),
        "what is new ends a wait"
    );
    assert_eq!(own.take().map(|event| event.token), Some(2));
    assert_eq!(
        reactor.wait(None).expect("no kernel"),
        WakeReason::Events,
        "it is told of once more"
    );
    assert_eq!(
        (reactor.wait(None).expect("no kernel"), reactor.now().since(Time(500))),
        (WakeReason::Events, Duration::from_secs(1))
    );
    assert_eq!(forgotten.take().map(|event| event.token), Some(1));
    assert_eq!((reactor.wait(None).expect("no kernel"), reactor.rounds()), (WakeReason::Idle, 5));
}

/// An owner that goes, or takes only some, has done its part.
#[test]
fn a_round_in_which_something_was_taken_is_none_for_nothing() {
    let reactor = Reactor::virtual_clock();
    let (own, other) = (reactor.source(), reactor.source());
    own.at(Time(1), 1);
    own.at(Time(1), 2);
    other.at(Time(1), 3);
    for token in [1, 2] {
        assert_eq!(reactor.wait(None).expect("no kernel"), WakeReason::Events);
        assert_eq!(own.take().map(|event| event.token), Some(token));
    }
    assert_eq!(reactor.wait(None).expect("no kernel"), WakeReason::Events);
    drop(other);
    assert_eq!(reactor.wait(None).expect("no kernel"), WakeReason::Idle);
}

/// An owner that is asked first is woken only where it says so: the clock goes on from bound to
/// bound.
#[test]
fn a_timer_is_set_again_where_its_time_has_not_come() {
    let reactor = Reactor::virtual_clock();
    let asked = Rc::new(RefCell::new(Vec::new()));
    let list = Rc::clone(&asked);
    let source = reactor.source_asked_first(move |now| {
        list.borrow_mut().push(now.nanoseconds());
        match now.nanoseconds() {
            10 => TimerAction::At(Time(25)),
            25 => TimerAction::At(Time(40)),
            30 => TimerAction::Never,
            // That would never end.
            50 => TimerAction::At(Time(50)),
            _ => TimerAction::Now,
        }
    });
    source.at(Time(10), 1);
    source.at(Time(30), 2);
    assert_eq!(reactor.wait(Some(Time(20))).unwrap(), WakeReason::Deadline);
    assert_eq!(reactor.next_event(), Some(Time(25)));
    assert_eq!(reactor.wait(None).unwrap(), WakeReason::Events);
    assert_eq!((reactor.now(), tokens(&source)), (Time(40), vec![1]));
    source.at(Time(50), 3);
    assert_eq!(reactor.wait(None).unwrap(), WakeReason::Events);
    assert_eq!((reactor.now(), tokens(&source)), (Time(50), vec![3]));
    source.at(Time(60), 4);
    drop(source);
    assert_eq!(reactor.wait(None).unwrap(), WakeReason::Idle);
    assert_eq!(*asked.borrow(), [10, 25, 30, 40, 50], "and not once it is gone");
}
