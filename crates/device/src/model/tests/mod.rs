//! The model against physics, and against itself.

use super::parameters::{DestageRule, DiskParameters, Hold, LinkParameters, Origin, Quantity};
use super::random::Random;
use super::replay::{Pattern, Test, random, replay};
use super::*;

mod array;
mod data_sheets;
mod device;
mod lazy;
mod links;
mod prediction;
mod probe;
mod recorded;
mod ssd;
mod ssd_probe;
mod tree_cache;
mod validation;

fn quantity<T>(value: T, unit: &str) -> Quantity<T> {
    Quantity {
        value,
        unit: unit.to_owned(),
        origin: Origin::Assumed,
        interval: None,
        note: "planted".to_owned(),
    }
}

/// A disk of its own, so that no test depends on a fitted model.
pub(super) fn parameters() -> Parameters {
    Parameters {
        name: "planted".to_owned(),
        title: "A planted disk".to_owned(),
        sheet: None,
        flash: None,
        disk: DiskParameters {
            capacity: quantity(400 << 30, "bytes"),
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
            read_ahead_start: None,
            queue_depth: quantity(1, "requests"),
            rate_knots: None,
            seek_linear_from: None,
            destage_watermark: None,
            destage_idle_after: None,
            physical_block: None,
            page: None,
            command_limit: None,
            cache_entries: None,
            verify_after: None,
        },
        link: LinkParameters {
            name: "bus".to_owned(),
            hold: Hold::Burst,
            bandwidth: quantity(110e6, "bytes/s"),
            command_time: quantity(5.0, "us"),
            switch_penalty: quantity(0.0, "ms"),
            write_switch_penalty: None,
        },
    }
}

pub(super) fn with_knots() -> Parameters {
    let mut parameters = parameters();
    parameters.disk.rate_knots =
        Some(quantity(vec![[0.0, 60e6], [0.4, 55e6], [0.7, 55e6], [1.0, 30e6]], "bytes/s"));
    parameters
}

/// Bytes a second of random requests on one disk.
fn single(parameters: &Parameters, write: bool, request_bytes: u64) -> f64 {
    random(parameters, Test { pattern: Pattern::Random, write, request_bytes }, 10_000, 3)
        .bytes_per_second
}

/// A machine with some disks of these parameters, seeds 1, 2, ...
fn machine(parameters: &Parameters, disks: u64) -> Machine {
    let mut machine = Machine::new(parameters);
    for seed in 1..=disks {
        machine.add_disk(parameters, seed);
    }
    machine
}

fn read(offset: u64, length: u64) -> Operation {
    Operation::Read { offset, length }
}

fn write(offset: u64, length: u64) -> Operation {
    Operation::Write { offset, length, fua: false }
}

/// Lets time pass until nothing more will happen, and the caches are empty; all answers.
fn finish(machine: &mut Machine) -> Vec<Answer> {
    let mut answers = Vec::new();
    while let Some(next) = machine.next() {
        machine.advance(next, &mut |answer| answers.push(answer));
    }
    // What no request waits for goes on: a day is enough.
    machine.advance(machine.now() + 86_400_000_000_000, &mut |answer| answers.push(answer));
    answers
}

/// Submits one request at `now`; when it was answered.
fn answered(machine: &mut Machine, now: u64, operation: Operation) -> u64 {
    machine.submit(now, 0, 0, 0, operation);
    let mut time = None;
    while time.is_none() {
        let next = machine.next().expect("a request in flight has a next event");
        machine.advance(next, &mut |answer| time = Some(answer.time));
    }
    time.expect("answered")
}

/// Keeps `depth` requests in flight until `count` are answered: submission and answer of each, by
/// tag.
fn keep_busy(
    machine: &mut Machine,
    disks: u64,
    depth: u64,
    count: u64,
    mut next_operation: impl FnMut() -> Operation,
) -> Vec<(u64, Operation, u64)> {
    let mut trace: Vec<(u64, Operation, u64)> = Vec::new();
    let (mut now, mut in_flight) = (0, 0);
    let mut outstanding = 0;
    while outstanding < count {
        while in_flight < depth && (trace.len() as u64) < count {
            let (tag, operation) = (trace.len() as u64, next_operation());
            machine.submit(now, (tag % disks) as usize, (tag % disks) as u32, tag, operation);
            trace.push((now, operation, 0));
            in_flight += 1;
        }
        let next = machine.next().expect("requests in flight have a next event");
        machine.advance(next, &mut |answer| {
            let entry = &mut trace[answer.tag as usize];
            assert_eq!(entry.2, 0, "request {} was answered twice", answer.tag);
            assert_eq!(
                u64::from(answer.client),
                answer.tag % disks,
                "the answer goes to who asked"
            );
            entry.2 = answer.time;
            in_flight -= 1;
            outstanding += 1;
        });
        now = next;
    }
    trace
}

/// Any mix of operations, anywhere and of any size.
fn any_operation(random: &mut Random, capacity: u64) -> Operation {
    let length = 512 * (1 + random.below(128));
    // Half of them in a small region, so that the caches are hit.
    let places = if random.below(2) == 0 { 2000 } else { (capacity - length) / 512 };
    let offset = random.below(places) * 512;
    match random.below(20) {
        0..=9 => read(offset, length),
        10..=17 => write(offset, length),
        18 => Operation::Write { offset, length, fua: true },
        _ => Operation::Flush,
    }
}

fn variants() -> Vec<Parameters> {
    let plain = parameters();
    let mut queued = parameters();
    queued.disk.queue_depth.value = 8;
    let mut idle = parameters();
    idle.disk.destage_rule.value = DestageRule::WhenIdle;
    idle.disk.destage_idle_after = Some(quantity(5.0, "ms"));
    let mut entries = idle.clone();
    entries.disk.destage_idle_after = Some(quantity(0.1, "ms"));
    entries.disk.cache_entries = Some(quantity(16, "extents"));
    entries.disk.queue_depth.value = 4;
    let mut mark = queued.clone();
    mark.disk.destage_rule.value = DestageRule::AtWatermark;
    mark.disk.destage_idle_after = Some(quantity(5.0, "ms"));
    mark.disk.destage_watermark = Some(quantity(0.5, "share"));
    let mut held = queued.clone();
    held.link.hold = Hold::Command;
    held.link.switch_penalty.value = 0.2;
    let mut small = with_knots();
    small.disk.cache_size.value = 64 << 10;
    small.disk.read_ahead_length.value = 0;
    small.disk.read_ahead_hold.value = 3.0;
    let mut blocks = parameters();
    blocks.disk.physical_block = Some(quantity(32 << 10, "bytes"));
    blocks.disk.verify_after = Some(quantity(256 << 10, "bytes"));
    let mut flash = blocks.clone();
    flash.disk.revolution.value = 0.0;
    flash.disk.seek_root.value = 0.0;
    flash.disk.settle.value = 0.0;
    flash.disk.verify_after = None;
    vec![plain, queued, idle, entries, mark, held, small, blocks, flash]
}

#[test]
fn every_request_is_answered_once_and_never_before_its_physical_minimum() {
    for (variant, parameters) in variants().into_iter().enumerate() {
        for seed in 0..4 {
            let mut random = Random::new(seed);
            let mut machine = machine(&parameters, 2);
            let capacity = machine.capacity(0);
            let trace = keep_busy(&mut machine, 2, 1 + seed * 4, 1500, || {
                any_operation(&mut random, capacity)
            });
            let (disk, link) = (&parameters.disk, &parameters.link);
            for (tag, (from, operation, to)) in trace.iter().enumerate() {
                let (overhead, bytes, rate) = match operation {
                    Operation::Read { length, .. } => {
                        (disk.read_overhead.value, *length, disk.link_rate_read.value)
                    }
                    Operation::Write { length, .. } => {
                        (disk.write_overhead.value, *length, disk.link_rate_write.value)
                    }
                    Operation::Flush => (disk.write_overhead.value, 0, disk.link_rate_write.value),
                };
                let least = overhead * 1e3 + bytes as f64 * 1e9 / rate.min(link.bandwidth.value);
                let took = (to - from) as f64;
                assert!(
                    took >= least.floor(),
                    "variant {variant}, seed {seed}, request {tag} {operation:?}: {took} ns, at \
                    least {least} ns"
                );
            }
        }
    }
}

/// What no drive has is refused in one line; what is let through serves requests to the end.
#[test]
fn no_figure_of_a_model_file_is_past_what_the_model_can_count() {
    const FIGURES: [&str; 16] = [
        "0",
        "0.0",
        "1",
        "1e-308",
        "1e18",
        "1000000000000000000",
        "9223372036854775807",
        "nan",
        "inf",
        "-1",
        "-1.0",
        "0.1",
        "1e4",
        "3.6e6",
        "3.6e9",
        "1e12",
    ];
    let (mut refused, mut served) = (0, 0);
    for (name, text) in catalogue::built_in() {
        for line in text.lines() {
            let Some((key, rest)) = line.split_once("{ value = ") else { continue };
            let Some((_, rest)) = rest.split_once(", unit") else { continue };
            for figure in FIGURES {
                let planted = format!("{key}{{ value = {figure}, unit{rest}");
                match Parameters::parse(&text.replace(line, &planted)) {
                    Ok(parameters) => {
                        let mut machine = machine(&parameters, 2);
                        let capacity = machine.capacity(0);
                        let mut random = Random::new(7);
                        keep_busy(&mut machine, 2, 4, 60, || any_operation(&mut random, capacity));
                        finish(&mut machine);
                        served += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.to_string().lines().count(), 1, "{name}: {planted}");
                        refused += 1;
                    }
                }
            }
        }
    }
    assert!(refused > 300 && served > 300, "{refused} refused, {served} served");
}

#[test]
fn a_curve_changes_its_law_at_places_that_lie_apart() {
    let mut steep = parameters();
    steep.disk.seek_linear_from = Some(quantity(1e-308, "share"));
    let mut close = with_knots();
    close.disk.rate_knots.as_mut().expect("knots").value[1][0] = 1e-308;
    for (drive, named) in [(steep, "disk.seek_linear_from"), (close, "disk.rate_knots")] {
        let error = drive.check().expect_err(named).to_string();
        assert!(error.contains(named) && error.contains("0.001"), "{error}");
    }
}

#[test]
fn the_same_seed_gives_the_same_times_and_another_seed_others() {
    let run = |seed| {
        let parameters = parameters();
        let mut machine = Machine::new(&parameters);
        machine.add_disk(&parameters, seed);
        let mut random = Random::new(9);
        let capacity = machine.capacity(0);
        keep_busy(&mut machine, 1, 4, 2000, || any_operation(&mut random, capacity))
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn it_does_not_matter_how_often_the_machine_is_looked_at() {
    let parameters = parameters();
    let mut lazy = machine(&parameters, 2);
    let mut eager = lazy.clone();
    for tag in 0..50 {
        lazy.submit(
            tag * 1_000_000,
            (tag % 2) as usize,
            0,
            tag,
            if tag % 3 == 0 { read(tag << 30, 65536) } else { write(tag << 29, 4096) },
        );
        eager.submit(
            tag * 1_000_000,
            (tag % 2) as usize,
            0,
            tag,
            if tag % 3 == 0 { read(tag << 30, 65536) } else { write(tag << 29, 4096) },
        );
    }
    let mut seldom = Vec::new();
    lazy.advance(u64::MAX / 2, &mut |answer| seldom.push(answer));
    assert_eq!(seldom, finish(&mut eager));
}

/// Waiting by [`Machine::next_answer`] alone sees every answer at its time.
#[test]
fn no_answer_comes_before_it_was_to_be_expected() {
    for (variant, parameters) in variants().into_iter().enumerate() {
        let mut random = Random::new(variant as u64);
        let mut machine = machine(&parameters, 2);
        let capacity = machine.capacity(0);
        let (mut now, mut in_flight, mut looks) = (0, [0u32; 2], 0);
        for tag in 0..3000 {
            let disk = random.below(2) as usize;
            machine.submit(now, disk, disk as u32, tag, any_operation(&mut random, capacity));
            in_flight[disk] += 1;
            while in_flight.iter().sum::<u32>() >= 4 {
                let next = (0..2)
                    .filter(|&disk| in_flight[disk] > 0)
                    .map(|disk| machine.next_answer(disk))
                    .min()
                    .flatten();
                now = next.unwrap_or_else(|| {
                    panic!("variant {variant}: requests in flight, but no answer to be expected")
                });
                looks += 1;
                machine.advance(now, &mut |answer| {
                    assert_eq!(
                        answer.time, now,
                        "variant {variant}: an answer was not seen at its time"
                    );
                    in_flight[answer.client as usize] -= 1;
                });
            }
        }
        assert!(looks < 18_000, "variant {variant}: {looks} looks for 3000 answers");
    }
}

#[test]
fn random_reads_take_what_the_closed_form_says() {
    let parameters = parameters();
    let disk = &parameters.disk;
    for request in [512u64, 65536] {
        let measured_ms = request as f64 * 1e3 / single(&parameters, false, request);
        let media_ms = request as f64 * 2e3 / (disk.rate_at_start.value + disk.rate_at_end.value);
        let expected_ms = disk.read_overhead.value / 1e3
            + fit::mean_seek_ms(disk)
            + disk.revolution.value / 2.0
            + media_ms;
        assert!(
            (measured_ms / expected_ms - 1.0).abs() < 0.01,
            "{measured_ms} ms, expected {expected_ms} ms"
        );
    }
}

#[test]
fn streams_run_at_the_media_rate_and_lose_no_revolution() {
    let parameters = parameters();
    for write in [false, true] {
        for (pattern, rate) in [
            (Pattern::SequentialAtStart, parameters.disk.rate_at_start.value),
            (Pattern::SequentialAtEnd, parameters.disk.rate_at_end.value),
        ] {
            let measured =
                replay(&parameters, Test { pattern, write, request_bytes: 256 << 10 }, 1)
                    .bytes_per_second;
            assert!(
                (measured / rate - 1.0).abs() < 0.01,
                "{pattern:?}, write {write}: {measured} bytes/s, the media gives {rate}"
            );
        }
    }
}

#[test]
fn small_sequential_requests_are_bound_by_overhead_and_link() {
    let parameters = parameters();
    for (write, overhead_us, rate) in [
        (false, parameters.disk.read_overhead.value, 110e6),
        (true, parameters.disk.write_overhead.value, 90e6),
    ] {
        let test = Test { pattern: Pattern::SequentialAtStart, write, request_bytes: 512 };
        let measured_us = 1e6 / replay(&parameters, test, 1).io_per_second;
        let expected_us = overhead_us + parameters.link.command_time.value + 512.0 * 1e6 / rate;
        assert!(
            (measured_us / expected_us - 1.0).abs() < 0.002,
            "write {write}: {measured_us} us, expected {expected_us} us"
        );
    }
}

#[test]
fn two_drives_never_get_more_than_their_link_gives() {
    let parameters = parameters();
    let mut machine = machine(&parameters, 2);
    let request = 1 << 20;
    let mut count = 0;
    // Both disks read what is in their buffers: nothing but the link bounds them.
    let trace = keep_busy(&mut machine, 2, 2, 400, || {
        count += 1;
        read(0, request)
    });
    let end = trace.iter().map(|(_, _, to)| *to).max().expect("answers");
    let rate = (count * request) as f64 * 1e9 / end as f64;
    assert!(rate <= parameters.link.bandwidth.value, "{rate} bytes/s");
    assert!(
        rate > 0.95 * parameters.link.bandwidth.value,
        "{rate} bytes/s is less than two full buffers could send"
    );
    assert!(
        machine.link_used_nanoseconds() <= end as f64,
        "the link was used {} ns in {end} ns",
        machine.link_used_nanoseconds()
    );
}

#[test]
fn a_link_held_by_the_command_serves_one_drive_at_a_time() {
    let io_per_second = |hold| {
        let mut parameters = parameters();
        parameters.link.hold = hold;
        let mut machine = machine(&parameters, 2);
        let mut random = Random::new(5);
        let places = (machine.capacity(0) - 512) / 512;
        // Two in flight on each, so that neither is ever without a request.
        let trace = keep_busy(&mut machine, 2, 4, 2000, || read(random.below(places) * 512, 512));
        let end = trace.iter().map(|(_, _, to)| *to).max().expect("answers");
        2000.0 * 1e9 / end as f64
    };
    let alone = single(&parameters(), false, 512) / 512.0;
    let (held, shared) = (io_per_second(Hold::Command), io_per_second(Hold::Burst));
    assert!((held / alone - 1.0).abs() < 0.03, "held: {held} a second, one drive alone {alone}");
    assert!(shared / alone > 1.7, "shared: {shared} a second, one drive alone {alone}");
}

#[test]
fn what_was_just_written_is_read_from_the_cache() {
    let parameters = parameters();
    let mut machine = machine(&parameters, 1);
    let far = 50 << 30;
    // The first goes to the media at once; the second waits in the cache while the arm is away.
    let now = answered(&mut machine, 0, write(1 << 30, 4096));
    let now = answered(&mut machine, now, write(far, 65536));
    let hit = answered(&mut machine, now, read(far + 4096, 4096)) - now;
    let expected = parameters.disk.read_overhead.value * 1e3 + 5e3 + 4096.0 * 1e9 / 110e6;
    assert!((hit as f64 - expected).abs() < 10.0, "{hit} ns, expected {expected} ns");
    let mut fresh = self::machine(&parameters, 1);
    assert!(
        answered(&mut fresh, 0, read(far + 4096, 4096)) > 1_000_000,
        "without the write the platters must turn"
    );
}

#[test]
fn a_flush_ends_when_the_cache_is_empty_and_fua_when_its_write_is_on_the_media() {
    for parameters in variants() {
        let mut machine = machine(&parameters, 1);
        let mut random = Random::new(4);
        let mut now = 0;
        for _ in 0..40 {
            let place = random.below(1 << 20) << 16;
            now = answered(&mut machine, now, write(place, 4096));
        }
        let flushed = answered(&mut machine, now, Operation::Flush);
        assert_eq!(machine.dirty_bytes(0), 0);
        let again = answered(&mut machine, flushed, Operation::Flush) - flushed;
        assert!(
            (again as f64) < parameters.disk.write_overhead.value * 1e3 + 1e6,
            "an empty cache is flushed at once, not in {again} ns"
        );
        let cached =
            answered(&mut machine, flushed + again, write(70 << 30, 4096)) - flushed - again;
        let began = answered(&mut machine, flushed + again + cached, Operation::Flush);
        let durable = answered(
            &mut machine,
            began,
            Operation::Write { offset: 20 << 30, length: 4096, fua: true },
        ) - began;
        assert_eq!(machine.dirty_bytes(0), 0);
        assert!(
            cached < 1_000_000 && durable > 1_000_000,
            "cached in {cached} ns, durable in {durable} ns"
        );
    }
}

#[test]
fn the_cache_never_exceeds_its_size_and_empties_in_the_end() {
    for (variant, parameters) in variants().into_iter().enumerate() {
        let mut machine = machine(&parameters, 1);
        let mut random = Random::new(6);
        let (mut now, mut most) = (0, 0);
        for tag in 0..800 {
            // Some are larger than the whole cache of the smallest disk.
            let length = 512 * (1 + random.below(400));
            machine.submit(now, 0, 0, tag, write(random.below(1 << 20) << 16, length));
            for _ in 0..3 {
                let Some(next) = machine.next() else { break };
                machine.advance(next, &mut |_| ());
                now = next;
                most = most.max(machine.dirty_bytes(0));
            }
        }
        finish(&mut machine);
        assert!(most <= parameters.disk.cache_size.value, "variant {variant}: {most} bytes");
        assert!(
            most > parameters.disk.cache_size.value / 2,
            "variant {variant}: the cache was never put to the test ({most} bytes)"
        );
        assert_eq!(machine.dirty_bytes(0), 0, "variant {variant}");
    }
}

#[test]
fn choosing_among_queued_reads_beats_taking_them_in_order() {
    let io_per_second = |queue_depth| {
        let mut parameters = parameters();
        parameters.disk.queue_depth.value = queue_depth;
        let mut machine = machine(&parameters, 1);
        let mut random = Random::new(8);
        let places = (machine.capacity(0) - 512) / 512;
        let trace = keep_busy(&mut machine, 1, 32, 3000, || read(random.below(places) * 512, 512));
        3000.0 * 1e9 / trace.iter().map(|(_, _, to)| *to).max().expect("answers") as f64
    };
    let (in_order, four, many) = (io_per_second(1), io_per_second(4), io_per_second(32));
    assert!(
        four > 1.2 * in_order && many > 1.5 * four,
        "{in_order}, {four}, {many} a second at depths 1, 4, 32"
    );
}

#[test]
fn a_wider_window_and_less_settling_write_faster() {
    let rate = |window, settle| {
        let mut parameters = parameters();
        parameters.disk.write_window.value = window;
        parameters.disk.settle.value = settle;
        single(&parameters, true, 4096)
    };
    assert!(rate(1, 0.8) < rate(4, 0.8) && rate(4, 0.8) < rate(16, 0.8));
    assert!(rate(4, 0.0) > rate(4, 2.0));
}

#[test]
fn a_host_that_pauses_finds_more_read_ahead_and_one_that_jumps_finds_none() {
    let parameters = parameters();
    let mut machine = machine(&parameters, 1);
    let first = answered(&mut machine, 0, read(1 << 30, 4096));
    let pause = 20_000_000;
    let hit =
        answered(&mut machine, first + pause, read((1 << 30) + (512 << 10), 65536)) - first - pause;
    assert!(hit < 1_000_000, "read-ahead had 20 ms for half a MiB, yet it took {hit} ns");
    let beyond = first + 2 * pause;
    let miss = answered(&mut machine, beyond, read((1 << 30) + (8 << 20), 65536)) - beyond;
    assert!(miss > 1_000_000, "8 MiB on is beyond the read-ahead length, yet it took {miss} ns");
}

// ---- the fit
// -------------------------------------------------------------------------------------------------

const KILOBYTE: u64 = 1024;

/// A table of figures as a drive with these parameters would give them.
fn planted_csv(parameters: &Parameters) -> String {
    let mut text = String::from("test,request_bytes,kB_per_s,io_per_s\n");
    for (name, pattern, write) in [
        ("sequential read at start", Pattern::SequentialAtStart, false),
        ("sequential read at end", Pattern::SequentialAtEnd, false),
        ("random read", Pattern::Random, false),
        ("sequential write at start", Pattern::SequentialAtStart, true),
        ("sequential write at end", Pattern::SequentialAtEnd, true),
        ("random write", Pattern::Random, true),
    ] {
        for request_bytes in [512, 16384, 65536] {
            // Another seed than the fit's: another spindle, other places.
            let rate = replay(parameters, Test { pattern, write, request_bytes }, 77)
                .bytes_per_second
                / KILOBYTE as f64;
            text += &format!("{name},{request_bytes},{rate:.1},\n");
        }
    }
    text
}

/// Facts that leave out whatever the fit is to find.
fn planted_facts(parameters: &Parameters) -> fit::KnownFacts {
    let (_, facts) = fit::built_in_data("maxtor-6y200p0").expect("built in");
    let mut facts = fit::KnownFacts::parse(facts).expect("built in");
    let known = &parameters.disk;
    facts.disk = parameters::DiskFacts {
        capacity: Some(known.capacity.clone()),
        revolution: Some(known.revolution.clone()),
        spindle_tolerance: Some(known.spindle_tolerance.clone()),
        seek_base: Some(known.seek_base.clone()),
        link_rate_read: Some(known.link_rate_read.clone()),
        link_rate_write: Some(known.link_rate_read.clone()),
        cache_size: Some(known.cache_size.clone()),
        settle: Some(known.settle.clone()),
        destage_rule: Some(known.destage_rule.clone()),
        read_ahead_length: Some(known.read_ahead_length.clone()),
        read_ahead_hold: Some(known.read_ahead_hold.clone()),
        read_ahead_start: known.read_ahead_start.clone(),
        queue_depth: Some(known.queue_depth.clone()),
        ..parameters::DiskFacts::default()
    };
    facts.link = parameters.link.clone();
    facts
}

fn is_close(found: f64, planted: f64, share: f64) -> bool {
    (found / planted - 1.0).abs() <= share
}

/// "Read-ahead keeps the head only once it has run for a while": what comes sooner does not wait,
/// nor what comes when it is over.
#[test]
fn read_ahead_keeps_the_head_once_it_has_run_for_a_while() {
    let mut held = parameters();
    held.disk.read_ahead_start = Some(quantity(0.3, "ms"));
    held.disk.read_ahead_hold.value = held.disk.revolution.value;
    let geometry = Geometry::new(&held);
    let way = geometry.seek(geometry.revolutions(0), geometry.revolutions(200 << 30));
    // A read, a pause, and a read elsewhere.
    let read_after = |parameters: &Parameters, pause: u64| {
        let mut machine = machine(parameters, 1);
        let now = answered(&mut machine, 0, read(0, 512)) + pause;
        machine.advance(now, &mut |_| ());
        answered(&mut machine, now, read(200 << 30, 512)) - now
    };
    for (pause, waits) in [(0, false), (100_000, false), (1_000_000, true), (9_000_000, false)] {
        let (with, without) = (read_after(&held, pause), read_after(&parameters(), pause));
        let until = 300_000.0 + held.disk.revolution.value * 1e6 - pause as f64;
        let is_late = with as f64 >= until + way - 20_000.0;
        let is_as_ever = with == without;
        let found = if waits { is_late } else { is_as_ever };
        assert!(found, "{pause}: {with} ns, {without} without a hold");
    }
}

/// A hold that every random read pays is told from the seek.
#[test]
fn the_fit_finds_planted_parameters_and_notices_a_wrong_unit() {
    let mut held = parameters();
    held.disk.read_ahead_start = Some(quantity(0.1, "ms"));
    held.disk.read_ahead_hold.value = 3.0;
    for planted in [parameters(), held] {
        finds_what_was_planted(&planted);
    }
}

fn finds_what_was_planted(planted: &Parameters) {
    let facts = planted_facts(planted);
    let csv = planted_csv(planted);
    let rows = fit::DevtestTable::parse(&csv, KILOBYTE).expect("a table").rows;
    let found = fit::fit(&rows, &facts).expect("a fit").disk;
    let disk = &planted.disk;
    for (name, found, planted, share) in [
        ("rate_at_start", found.rate_at_start.value, disk.rate_at_start.value, 0.005),
        ("rate_at_end", found.rate_at_end.value, disk.rate_at_end.value, 0.005),
        ("read_overhead", found.read_overhead.value, disk.read_overhead.value, 0.01),
        ("write_overhead", found.write_overhead.value, disk.write_overhead.value, 0.01),
        ("link_rate_write", found.link_rate_write.value, disk.link_rate_write.value, 0.01),
        ("seek_root", found.seek_root.value, disk.seek_root.value, 0.02),
        ("settle", found.settle.value, disk.settle.value, 0.25),
    ] {
        assert!(is_close(found, planted, share), "{name}: found {found}, planted {planted}");
    }
    assert_eq!(found.write_window.value, disk.write_window.value);

    // The same table read as if its kB were 1000 bytes: every rate is off by more than the fit's
    // own error.
    let rows = fit::DevtestTable::parse(&csv, 1000).expect("a table").rows;
    let wrong = fit::fit(&rows, &facts).expect("a fit").disk;
    assert!(!is_close(wrong.rate_at_start.value, disk.rate_at_start.value, 0.02));
    assert!(!is_close(wrong.rate_at_end.value, disk.rate_at_end.value, 0.02));
    assert!(!is_close(wrong.read_overhead.value, disk.read_overhead.value, 0.02));
}

/// "Every sequential and random row is met within 2.5 %, but for sequential writes of 512 bytes,
/// within 11 %." (docs/models.md)
#[test]
fn the_maxtor_model_meets_the_rows_it_was_fitted_to() {
    let parameters = Parameters::load("maxtor-6y200p0").expect("built in");
    for row in fit::errors_built_in(&parameters).expect("built in").iter().filter(|row| !row.check)
    {
        let bound = match (row.test.starts_with("sequential write"), row.request_bytes.as_str()) {
            (true, "512") => 0.11,
            _ => 0.025,
        };
        assert!(
            row.relative_error.abs() <= bound,
            "{} {}: {:+.3}",
            row.test,
            row.request_bytes,
            row.relative_error
        );
    }
}

/// "The mixed rows, which no fit has read, are met within 10 %." (docs/models.md)
#[test]
fn the_maxtor_model_predicts_the_mixed_rows() {
    let parameters = Parameters::load("maxtor-6y200p0").expect("built in");
    let rows = fit::errors_built_in(&parameters).expect("built in");
    assert_eq!(rows.iter().filter(|row| row.check).count(), 6);
    for row in rows.iter().filter(|row| row.check) {
        assert!(row.relative_error.abs() <= 0.10, "{}: {:+.3}", row.test, row.relative_error);
    }
}

/// "Each model file is, byte for byte, what the fit writes." (docs/models.md) `RAIDLOOM_BLESS=1`
/// writes the files instead.
#[test]
fn the_model_files_are_what_the_fit_writes() {
    let fitted = Parameters::built_in_names()
        .into_iter()
        .filter_map(|name| fit::built_in_data(name).map(|data| (name, data)));
    for (name, (csv, facts)) in fitted {
        let fitted = fit::fit_csv(csv, facts).expect("a fit").parameters.to_toml();
        let path = format!("{}/../../models/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("RAIDLOOM_BLESS").is_some() {
            std::fs::write(&path, &fitted).expect("the model file can be written");
        } else {
            assert_eq!(
                std::fs::read_to_string(&path).expect("the model file"),
                fitted,
                "{path}: RAIDLOOM_BLESS=1 cargo test -p device model"
            );
        }
    }
}

#[test]
fn a_table_that_lacks_rows_or_holds_nonsense_is_refused_by_name() {
    let (csv, facts) = fit::built_in_data("maxtor-6y200p0").expect("built in");
    let without = |name: &str| {
        csv.lines().filter(|line| !line.starts_with(name)).collect::<Vec<_>>().join("\n")
    };
    let request = |bytes: &str| csv.replace("random write,512,", &format!("random write,{bytes},"));
    for (text, expected) in [
        (without("random read"), "random reads"),
        (without("random write"), "random writes"),
        (without("sequential read at end"), "at end"),
        (csv.replace("39.1", "-39.1"), "line 8"),
        (csv.replace("39.1", "1e308"), "kB_per_s is \"1e308\", it must be a number from 0.001"),
        (request("1e308"), "line 17 of the table: request_bytes is \"1e308\", it must be a whole"),
        (request("1e-308"), "line 17"),
        (request("99999999999999999999"), "line 17"),
        (request("9223372036854775807"), "line 17"),
        (request("250000000000"), "line 17 of the table: request_bytes is \"250000000000\""),
        (request("512.5"), "from 512 to 16777216"),
        (csv.replace("random read", "random glance"), "random glance"),
    ] {
        let error = fit::fit_csv(&text, facts).expect_err("a bad table").to_string();
        assert!(error.contains(expected), "{error:?} does not name {expected:?}");
    }
    let error = fit::fit_csv(csv, &facts.replace("seek_base", "seek_bass"))
        .expect_err("a bad key")
        .to_string();
    assert!(error.contains("seek_bass"), "{error}");
    let small = facts.replace("value = 203928109056", "value = 8388608");
    let error = fit::fit_csv(&request("16777216"), &small).expect_err("a small disk").to_string();
    assert!(error.contains("requests of 16777216 bytes"), "{error}");
    let (csv, facts) = fit::built_in_data("st340015a").expect("built in");
    for (from, to, expected) in [
        ("seek_bytes = { value = 8192", "seek_bytes = { value = 0", "bonnie.seek_bytes is 0 bytes"),
        ("file_size = { value = 1073741824", "file_size = { value = 0", "bonnie.file_size is 0"),
        ("kilobyte = { value = 1024", "kilobyte = { value = 0", "published.kilobyte is 0 bytes"),
        ("memory_share = { value = 0.85", "memory_share = { value = nan", "bonnie.memory_share"),
    ] {
        let changed = facts.replace(from, to);
        assert_ne!(changed, facts, "{from}");
        let error = fit::fit_csv(csv, &changed).expect_err(to).to_string();
        assert!(error.contains(expected), "{error:?} does not name {expected:?}");
    }
}

/// When a write of the first bytes is on the media of a disk that has just begun to turn.
fn on_media(parameters: &Parameters, bytes: u64) -> u64 {
    let mut machine = machine(parameters, 1);
    answered(&mut machine, 0, Operation::Write { offset: 0, length: bytes, fua: true })
}

#[test]
fn a_block_filled_in_part_costs_a_turn_and_so_does_reading_back() {
    let mut plain = parameters();
    plain.disk.spindle_tolerance.value = 0.0;
    let mut blocks = plain.clone();
    blocks.disk.physical_block = Some(quantity(32 << 10, "bytes"));
    let mut verifying = blocks.clone();
    verifying.disk.verify_after = Some(quantity(1 << 20, "bytes"));
    let turn = plain.disk.revolution.value * 1e6;
    let passing = |bytes: u64| Geometry::new(&plain).revolutions(bytes) * turn;
    let longer = |parameters: &Parameters, bytes: u64| {
        on_media(parameters, bytes) as f64 - on_media(&plain, bytes) as f64
    };
    let part = passing(32 << 10) - passing(4 << 10);
    for (parameters, bytes, expected) in [
        (&blocks, 32 << 10, 0.0),
        (&blocks, 4 << 10, turn + part),
        (&verifying, 32 << 10, turn),
        (&verifying, 4 << 10, 2.0 * turn + part),
    ] {
        let longer = longer(parameters, bytes);
        assert!((longer - expected).abs() < 10.0, "{bytes}: {longer} ns, not {expected}");
    }
    // The last block of three is filled in part: it is read, and the arm goes back.
    let longer = longer(&blocks, 68 << 10);
    assert!(longer > turn * 0.9 && longer < turn * 2.1, "{longer} ns");
}

#[test]
fn flash_waits_for_no_angle() {
    let mut flash = parameters();
    (flash.disk.revolution.value, flash.disk.seek_base.value) = (0.0, 0.1);
    (flash.disk.seek_root.value, flash.disk.settle.value) = (0.0, 0.0);
    flash.disk.rate_at_end.value = flash.disk.rate_at_start.value;
    flash.disk.physical_block = Some(quantity(64 << 10, "bytes"));
    flash.disk.write_window.value = 1;
    let (disk, link) = (&flash.disk, &flash.link);
    // 7 in 128 of the requests, which begin at any sector, lie in two blocks.
    let block = (1.0 + 7.0 / 128.0) * f64::from(64 << 10) / disk.rate_at_start.value;
    let access = disk.seek_base.value / 1e3;
    // A read takes the whole block from the media, and its last sector leaves over the link.
    let last = 512.0 / disk.link_rate_read.value.min(link.bandwidth.value);
    let read = disk.read_overhead.value / 1e6 + access + block + last;
    let rate = single(&flash, false, 4 << 10);
    assert!((rate / (4096.0 / read) - 1.0).abs() < 0.01, "{rate}, not {}", 4096.0 / read);
    // A small write reads its block and writes it; the way back costs nothing.
    let write = access + 2.0 * block;
    let rate = single(&flash, true, 4 << 10);
    assert!((rate / (4096.0 / write) - 1.0).abs() < 0.02, "{rate}, not {}", 4096.0 / write);
    // With pages a read takes only those that it needs, of which 7 in 8 requests lie in two; a
    // small write still programs its block.
    flash.disk.page = Some(quantity(4 << 10, "bytes"));
    let pages = (1.0 + 7.0 / 8.0) * f64::from(4 << 10) / flash.disk.rate_at_start.value;
    let read = read - block + pages;
    let rate = single(&flash, false, 4 << 10);
    assert!((rate / (4096.0 / read) - 1.0).abs() < 0.01, "{rate}, not {}", 4096.0 / read);
    let rate = single(&flash, true, 4 << 10);
    assert!((rate / (4096.0 / write) - 1.0).abs() < 0.02, "{rate}, not {}", 4096.0 / write);
}

/// The figures stand in docs/models.md.
#[test]
fn a_stick_of_2008_reads_small_requests_by_the_thousand_and_writes_them_by_the_dozen() {
    let stick = Parameters::load("stick-2008").expect("a built-in model");
    let [reads, writes] =
        [false, true].map(|writes| single(&stick, writes, 4 << 10) / f64::from(4 << 10));
    assert!((reads - 1034.0).abs() < 10.0, "{reads}");
    assert!((writes - 28.0).abs() < 1.0, "{writes}");
}

/// The figure stands in docs/models.md, beside the published one of bonnie++.
#[test]
fn an_ssd_of_2008_reads_at_thousands_of_places_a_second() {
    let ssd = Parameters::load("ssd-2008").expect("a built-in model");
    let seeks = single(&ssd, false, 8 << 10) / f64::from(8 << 10);
    assert!((seeks - 4_140.0).abs() < 5.0, "{seeks}");
}

#[test]
fn a_whole_dvd_ram_is_written_in_28_to_30_minutes() {
    let dvd_ram = Parameters::load("dvd-ram-5x").expect("a built-in model");
    for request_bytes in [64 << 10, 4 << 10] {
        let mut machine = machine(&dvd_ram, 1);
        // Of 64 parts the first quarter of each, and so the rates of all zones in less work.
        let mut now = 0;
        let part = machine.capacity(0) / 64 / (64 << 10) * (64 << 10);
        let mut sum = 0;
        for zone in 0..64 {
            let started = now;
            let mut offset = zone * part;
            while offset < zone * part + part / 4 {
                now = answered(&mut machine, now, write(offset, request_bytes));
                offset += request_bytes;
            }
            now = answered(&mut machine, now, Operation::Flush);
            sum += now - started;
        }
        let minutes = sum as f64 * 4.0 / 60e9;
        assert!((28.0..30.0).contains(&minutes), "{request_bytes}: {minutes} minutes");
    }
}

#[test]
fn a_cache_full_of_small_extents_takes_no_more_until_one_is_written() {
    let mut parameters = parameters();
    parameters.disk.cache_entries = Some(quantity(8, "extents"));
    parameters.disk.destage_rule.value = DestageRule::WhenIdle;
    parameters.disk.destage_idle_after = Some(quantity(1e6, "ms"));
    let mut machine = machine(&parameters, 1);
    let mut now = 0;
    let mut times = Vec::new();
    for index in 0..12 {
        let done = answered(&mut machine, now, write(index << 30, 512));
        times.push(done - now);
        now = done;
    }
    assert!(times[..8].iter().all(|&time| time < 1_000_000), "{times:?}");
    assert!(times[8..].iter().all(|&time| time > 500_000), "{times:?}");
    assert!(times[8..].iter().sum::<u64>() > 4_000_000, "{times:?}");
    // What joins an extent needs no other.
    let joined = answered(&mut machine, now, write((11 << 30) + 512, 512)) - now;
    assert!(joined < 1_000_000, "{joined}");
}

#[test]
fn a_read_stops_what_is_written_in_the_background_and_nothing_is_lost() {
    let mut parameters = parameters();
    parameters.disk.destage_rule.value = DestageRule::WhenIdle;
    parameters.disk.destage_idle_after = Some(quantity(1.0, "ms"));
    parameters.disk.read_ahead_length.value = 0;
    let far = 300 << 30;
    // A write far away, a pause in which its write-out begins, and a read where the arm was.
    let read_after = |pause: u64, written: bool| {
        let mut machine = machine(&parameters, 1);
        let mut now = answered(&mut machine, 0, read(0, 512));
        if written {
            now = answered(&mut machine, now, write(far, 512));
        }
        let mut begun = now + pause;
        machine.advance(begun, &mut |_| ());
        assert_eq!(machine.dirty_bytes(0), u64::from(written) * 512);
        begun = begun.max(machine.now());
        let read = answered(&mut machine, begun, read(8192, 512)) - begun;
        let dirty = machine.dirty_bytes(0);
        finish(&mut machine);
        assert_eq!(machine.dirty_bytes(0), 0, "it is written out in the end");
        (read, dirty)
    };
    // 1.2 ms after the write the arm has just left. The read does not wait for the write-out, but
    // the arm comes back only when it has been there.
    let (stopped, dirty) = read_after(1_200_000, true);
    assert_eq!(dirty, 512, "it went on waiting");
    let turn = parameters.disk.revolution.value * 1e6;
    let geometry = Geometry::new(&parameters);
    let way = geometry.seek(geometry.revolutions(8192), geometry.revolutions(far));
    let there_and_back = 2.0 * way - 400_000.0;
    let range = there_and_back..there_and_back + turn + 1_000_000.0;
    assert!(range.contains(&(stopped as f64)), "{stopped} ns, {range:?}");
}

/// A sheet in which one text takes the place of another is refused in one line that says this.
#[track_caller]
pub(super) fn assert_refused(sheet: &str, cases: &[(&str, &str, &str)]) {
    for &(from, to, said) in cases {
        let text = sheet.replacen(from, to, 1);
        assert_ne!(text, sheet);
        let error = Parameters::parse(&text).expect_err("no drive").to_string();
        assert!(error.contains(said) && error.lines().count() == 1, "{error}");
    }
}
