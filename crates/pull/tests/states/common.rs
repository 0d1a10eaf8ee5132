//! What the arrays' own bench needs.

use block::{Channel, Completion, Reactor};

pub(crate) fn finish(channel: &mut dyn Channel, reactor: &Reactor) -> Vec<Completion> {
    let mut done = Vec::new();
    loop {
        channel.poll(&mut done);
        if channel.in_flight() == 0 {
            return done;
        }
        reactor.wait(None).expect("the virtual clock does not fail");
    }
}
