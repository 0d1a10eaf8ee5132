//! The model against physics, and against itself.

use super::parameters::{DestageRule, DiskParameters, Hold, LinkParameters, Origin, Quantity};
use super::random::Random;
use super::replay::{Pattern, Test, random, replay};
use super::*;

fn quantity<T>(value: T, unit: &str) -> Quantity<T> {
    Quantity { value, unit: unit.to_owned(), origin: Origin::Assumed, note: "planted".to_owned() }
}

/// A disk of its own, so that no test depends on a fitted model.
pub(super) fn parameters() -> Parameters {
    Parameters {
        name: "planted".to_owned(),
        title: "A planted disk".to_owned(),
        disk: DiskParameters {
            capacity: quantity(100 << 30, "bytes"),
            revolution: quantity(8.0, "ms"),
            spindle_tolerance: quantity(0.0005, "share"),
            rate_at_start: quantity(60e6, "bytes/s"),
            rate_at_end: quantity(32e6, "bytes/s"),
            seek_base: quantity(0.9, "ms"),
            seek_root: quantity(13.0, "ms"),
            read_overhead: quantity(130.0, "us"),
            write_overhead: quantity(160.0, "us"),
            link_rate_read: quantity(120e6, "bytes/s"),
            link_rate_write: quantity(90e6, "bytes/s"),
            cache_size: quantity(4 << 20, "bytes"),
            write_window: quantity(5, "extents"),
            settle: quantity(0.8, "ms"),
            destage_rule: quantity(DestageRule::AtOnce, "rule"),
            read_ahead_length: quantity(2 << 20, "bytes"),
            read_ahead_hold: quantity(0.0, "ms"),
            queue_depth: quantity(1, "requests"),
            rate_knots: None,
            seek_linear_from: None,
            destage_watermark: None,
            destage_idle_after: None,
        },
        link: LinkParameters {
            name: "bus".to_owned(),
            hold: Hold::Burst,
            bandwidth: quantity(110e6, "bytes/s"),
            command_time: quantity(5.0, "us"),
            switch_penalty: quantity(0.0, "ms"),
        },
    }
}

pub(super) fn with_knots() -> Parameters {
    let mut parameters = parameters();
    parameters.disk.rate_knots = Some(quantity(vec![[0.0, 60e6], [0.4, 55e6], [0.7, 55e6], [1.0, 30e6]], "bytes/s"));
    parameters
}

#[test]
#[ignore]
fn write_models() {
    for name in ["maxtor-6y200p0", "st340015a"] {
        let (csv, facts) = fit::built_in_data(name).unwrap();
        let t = std::time::Instant::now();
        let report = fit::fit_csv(csv, facts).unwrap();
        println!("{:?}", t.elapsed());
        std::fs::write(format!("/work/main/models/{name}.toml"), report.parameters.to_toml()).unwrap();
        for row in report.parameters.rows() {
            println!("{} {} {} {}", row.name, row.value, row.unit, row.origin);
        }
        for row in &report.rows {
            println!(
                "{:28} {:>10} {:10.1} {:10.1} {:+.1}% {}",
                row.test,
                row.request_bytes,
                row.published,
                row.model,
                row.relative_error * 100.,
                row.check
            );
        }
    }
}
