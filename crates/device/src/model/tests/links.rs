//! Hidden links: what drives that hang on one cost one another is found by reading.

use block::{Device, Reactor};

use super::super::parameters::Hold;
use super::super::probe::measure_links;
use super::super::random::Random;
use super::super::{Links, ModelDevice, ModelOptions, Parameters};

/// A drive whose buffer is faster than what it hangs on.
fn drive(random: &mut Random, hold: Hold, bandwidth: f64) -> Parameters {
    let mut parameters = super::parameters();
    parameters.disk.read_overhead.value = 50.0 + 100.0 * random.fraction();
    parameters.disk.link_rate_read.value = 400e6;
    parameters.disk.queue_depth.value = if random.fraction() < 0.5 { 1 } else { 32 };
    (parameters.link.hold, parameters.link.bandwidth.value) = (hold, bandwidth);
    parameters.link.switch_penalty.value = 0.0;
    parameters
}

/// Twenty links of two to four drives, of either hold: which it is, and of those that are held
/// while data move their rate; and drives that each have a link of their own.
#[test]
fn what_drives_on_one_link_share_is_found() {
    for seed in 1..=20_u64 {
        let mut random = Random::new(seed);
        let hold = if seed % 2 == 0 { Hold::Burst } else { Hold::Command };
        let bandwidth = 80e6 + 120e6 * random.fraction();
        let count = 2 + (seed % 3) as usize;
        let parameters = drive(&mut random, hold, bandwidth);
        let share = |links: &[Links]| {
            let options = ModelOptions::default();
            let drives: Vec<ModelDevice> = (0..count)
                .map(|place| {
                    let links = &links[place % links.len()];
                    ModelDevice::new("hidden", &parameters, &options, seed, links).expect("a disk")
                })
                .collect();
            let drives: Vec<&dyn Device> = drives.iter().map(|drive| drive as _).collect();
            measure_links(&drives, &Reactor::virtual_clock()).expect("they answer")
        };
        let shared = share(&[Links::default()]);
        assert!(shared.is_shared() && shared.hold() == hold, "seed {seed}, {hold:?}: {shared:?}");
        if hold == Hold::Burst {
            let error = shared.together / bandwidth - 1.0;
            assert!(error.abs() < 0.1, "seed {seed}: {error} of {bandwidth}, {shared:?}");
        }
        let apart: Vec<Links> = (0..count).map(|_| Links::default()).collect();
        let apart = share(&apart);
        assert!(!apart.is_shared(), "seed {seed}: {apart:?}");
    }
}
