//! `raidloom model fit --device`: a model of a drive from its own answers.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use block::{Blocking, Device, Node, Reactor, size_text};
use device::model::probe::{
    self, FitFailure, MeasureError, MissingReason, NotFound, Samples, Solution,
};
use host::guard::{Consent, Guard, find_signature};
use host::system::{DeviceNumber, block_number, sys_folder, whole_disk};
use serde_json::{Value, json};
use stack::BuildContext;
use words::{Message, Text};

use crate::catalogue::{self, say, statement};
use crate::consent::ScratchConsent;
use crate::failure::Failure;
use crate::output::{Output, said};
use crate::scratch_file;

/// Time of the noise probe, and the share of others' requests from which a device is in use.
const NOISE_TIME: Duration = Duration::from_secs(2);
const NOISE_MAX: f64 = 0.05;

/// Measures a device by reads, keeps the samples, and fits a model to them.
pub(crate) fn fit_device(
    output: &Output,
    device: &str,
    time: &str,
    scratch: Option<&str>,
    consent: ScratchConsent,
) -> Result<(), Failure> {
    let limit = stack::size::parse_duration(time)
        .map_err(|error| Failure::usage(error).at(said("--time", time)))?;
    let node = stack::parse(device).map_err(block::Error::from)?;
    let name = name_of(&node);
    let kept = PathBuf::from(format!("{name}.samples.csv"));
    if kept.exists() {
        let there = statement!(SAMPLES_THERE, path = kept.display());
        return Err(Failure::usage(there).at(kept.display()));
    }
    let consent = Consent::from(consent);
    let guard = Guard::new(consent.clone());
    // A file has a folder, if it is the one that this was called in.
    let (file, range) = match scratch {
        Some(text) if text.contains('/') => (Some(Path::new(text)), None),
        range => (None, range),
    };
    if let Some(path) = node.file_path().filter(|_| range.is_some()) {
        refuse_signature(&path, consent)?;
    }
    let context = BuildContext { read_only: range.is_none(), ..BuildContext::new(&guard) };
    let stack = stack::build(&node, &context)?;
    guard.refuse_stray_consent()?;
    let size_bytes = stack.device.info().size_bytes;
    let range = range
        .map(|text| {
            scratch_range(text, size_bytes)
                .map_err(|why| Failure::usage(why).at(said("--scratch", text)))
        })
        .transpose()?;
    let is_modelled = matches!(&node, Node::Leaf { scheme, .. } if scheme == "model");
    let reactor = if is_modelled { Reactor::virtual_clock() } else { Reactor::wall()? };
    if let Some(path) = node.file_path() {
        refuse_in_use(&*stack.device, &reactor, &path)?;
    }
    let deadline = reactor.now() + limit;
    let (measured_device, range) = match file {
        None => (stack.device, range),
        Some(path) => {
            let drive = node.file_path().unwrap_or_default();
            let clock = (&reactor, deadline);
            let made = scratch_file::make(&guard, path, &drive, stack.device, clock)?;
            (made.device, Some(made.range))
        }
    };
    let how = match &range {
        None => say!(MEASURED_BY_READS),
        Some(range) => {
            let length = size_text(range.end - range.start);
            say!(MEASURED_BY_WRITES, length = length, start = range.start)
        }
    };
    output.progress(&say!(MEASURING, device = device, how = how, time = time));
    let left = deadline.since(reactor.now());
    let measured = probe::measure(&*measured_device, &reactor, left, range);
    let measured = measured.map_err(|error| match error {
        MeasureError::Failed(error) => Failure::from(error).at(device),
        other => Failure::failed(Text::from(&other).at(device.to_string())).because(other),
    })?;
    host::files::write_named(&kept, measured.to_csv().as_bytes(), &[])?;
    output.progress(&say!(SAMPLES_IN, count = measured.all.len(), file = kept.display()));
    show(output, &measured, &name)
}

/// Refuses a drive that holds something: no consent to write over that is asked for here. Whoever
/// uses it is told before, for what is mounted must not be cleared.
fn refuse_signature(path: &Path, consent: Consent) -> Result<(), Failure> {
    // As it is, with what it holds: what may be erased is asked when it is opened.
    Guard::new(Consent { in_place: true, raw: true, ..consent }).check(path)?;
    let failed = |error: io::Error| Failure::from_io(path.display().to_string(), &error);
    let mut file = File::open(path).map_err(failed)?;
    let size_bytes = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let Some(signature) = find_signature(&file, size_bytes).map_err(failed)? else { return Ok(()) };
    let holds = statement!(SCRATCH_HOLDS, signature = signature, path = path.display());
    Err(Failure::refused(holds).at(path.display()))
}

/// The bytes that may be written over: `OFFSET+LENGTH`, or all there are.
fn scratch_range(text: &str, size_bytes: u64) -> Result<Range<u64>, Text> {
    /// Places are whole pages.
    const UNIT: u64 = 4096;
    if text == "all" {
        return Ok(0..size_bytes / UNIT * UNIT);
    }
    let size = |text: &str| stack::size::parse(text).map(|size| size.bytes);
    let parts = text.split_once('+').ok_or(catalogue::SCRATCH_EXPECTED)?;
    let (offset, length) = (size(parts.0)?, size(parts.1)?);
    let end = offset.checked_add(length).filter(|end| *end <= size_bytes);
    match end {
        None => Err(statement!(DEVICE_ENDS, size = size_bytes)),
        Some(_) if length < probe::SCRATCH_MIN => {
            Err(statement!(SCRATCH_LEAST, size = size_text(probe::SCRATCH_MIN)))
        }
        Some(end) if offset % UNIT != 0 || end % UNIT != 0 => Err(catalogue::SCRATCH_PAGES.into()),
        Some(end) => Ok(offset..end),
    }
}

/// Fits a model to samples that were kept.
pub(crate) fn fit_samples(output: &Output, path: &Path, text: &str) -> Result<(), Failure> {
    let samples = Samples::parse(text).map_err(|error| Failure::usage(error).at(path.display()))?;
    let stem = path.file_name().unwrap_or_default().to_string_lossy();
    show(output, &samples, stem.split('.').next().unwrap_or("disk"))
}

/// What the model of a device is called.
fn name_of(node: &Node) -> String {
    let address = match node {
        Node::Leaf { address, .. } => address.as_str(),
        _ => "",
    };
    let last = Path::new(address).file_stem().unwrap_or_default().to_string_lossy();
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    let name: String = last.chars().map(plain).collect();
    if name.is_empty() { "disk".to_owned() } else { name }
}

/// Requests that the system has sent to a disk so far.
fn requests(disk: DeviceNumber) -> Option<u64> {
    let text = fs::read_to_string(sys_folder(disk)?.join("stat")).ok()?;
    let fields: Vec<u64> = text.split_whitespace().filter_map(|one| one.parse().ok()).collect();
    Some(fields.first()? + fields.get(4)?)
}

/// Refuses a block device of whose requests too many are others', while this reads from it too.
pub(crate) fn refuse_in_use(
    device: &dyn Device,
    reactor: &Reactor,
    path: &Path,
) -> Result<(), Failure> {
    let Some(disk) = block_number(path).map(whole_disk) else { return Ok(()) };
    let Some(before) = requests(disk) else { return Ok(()) };
    let mut channel = Blocking::open(device, reactor)?;
    let mut buffer = vec![0; 4096];
    let places = (device.info().size_bytes / 4096).max(1);
    let (end, mut own) = (reactor.now() + NOISE_TIME, 0);
    while reactor.now() < end {
        // All over the disk, so that none comes from its buffer.
        let place = own * 7919 * 104_729 % places;
        channel.read_slice(place * 4096, &mut buffer)?;
        own += 1;
    }
    let all = requests(disk).unwrap_or(before).saturating_sub(before);
    refuse_noise(path, all, own)
}

/// Refuses a device that had so many requests while so many of them were this program's.
fn refuse_noise(path: &Path, all: u64, own: u64) -> Result<(), Failure> {
    let share = all.saturating_sub(own) as f64 / all.max(1) as f64;
    if share <= NOISE_MAX {
        return Ok(());
    }
    Err(Failure::refused(statement!(
        DRIVE_IN_USE,
        path = path.display(),
        others = format!("{:.0}", share * 100.0),
        time = format!("{NOISE_TIME:?}"),
        most = format!("{:.0}", NOISE_MAX * 100.0)
    )))
}

/// Why a parameter is assumed.
fn reason(why: MissingReason) -> Message {
    match why {
        MissingReason::Writes => catalogue::ONLY_WRITES_SHOW,
        MissingReason::OneDrive => catalogue::SEVERAL_DRIVES,
        MissingReason::Time => catalogue::TIME_WAS_OVER,
        MissingReason::TooShort => catalogue::SHORTER_THAN_COMMAND,
        MissingReason::TooMany => catalogue::READS_NEVER_WAITED,
        MissingReason::Order => catalogue::ORDER_OF_WRITES,
        MissingReason::Extents => catalogue::NO_ROOM_FOR_EXTENTS,
        MissingReason::Link => catalogue::LINK_TAKES_LONGER,
        MissingReason::Volume => catalogue::WRITTEN_OVER_AGAIN,
    }
}

fn show(output: &Output, samples: &Samples, name: &str) -> Result<(), Failure> {
    let solution = match probe::solve(samples, name, name) {
        Ok(solution) => solution,
        Err(FitFailure::NotTurning { overhead_us, link_rate }) => {
            return Err(Failure::failed(statement!(
                DOES_NOT_ROTATE,
                overhead_us = format!("{overhead_us:.0}"),
                rate = format!("{:.0}", link_rate / 1e6)
            )));
        }
        Err(FitFailure::Lacking(probe)) => {
            return Err(Failure::failed(statement!(TOO_FEW_SAMPLES, name = probe.name())));
        }
    };
    let toml = solution.file();
    if output.json {
        return output.document(&document(&solution, &toml));
    }
    output.progress(&remarks(&solution));
    output.result(&toml)
}

/// What could not be found out, and whether the model explains the drive.
fn remarks(solution: &Solution) -> String {
    let mut text = say!(ASSUMED) + "\n";
    for NotFound { parameter, why } in &solution.not_found {
        text += &format!("  {parameter}: {}\n", reason(*why).template());
    }
    let Some(check) = &solution.check else { return text + &say!(MODEL_NOT_CHECKED) };
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let signed = |share: f64| format!("{:+.1}", 100.0 * share);
    let rotates = solution.parameters.rotates();
    let verdict =
        if check.is_unexplained() { catalogue::UNEXPLAINED } else { catalogue::EXPLAINED };
    text += &say!(
        MODEL_CHECKED,
        verdict = verdict.template(),
        reads = check.reads,
        mean = signed(check.mean_error),
        distribution = percent(check.distribution_error),
        last = match rotates {
            true => say!(SEEK_CURVE_OFF, error = percent(check.seek_error)),
            false => say!(LARGE_READS_OFF, error = signed(check.runs_error)),
        },
    );
    if check.writes_error != 0.0 {
        let error = signed(check.writes_error);
        text += &match rotates {
            true => say!(DURABLE_WRITES_OFF, error = error),
            false => say!(BUFFERED_WRITES_OFF, error = error),
        };
    }
    if check.is_unexplained() {
        text += &format!("\n{}", say!(DRIVE_UNEXPLAINED));
    }
    text
}

fn document(solution: &Solution, toml: &str) -> Value {
    let not_found: Vec<Value> = solution
        .not_found
        .iter()
        .map(|one| json!({ "parameter": one.parameter, "why": reason(one.why).english }))
        .collect();
    let check = solution.check.map(|check| {
        json!({
            "reads": check.reads,
            "mean_error": check.mean_error,
            "distribution_error": check.distribution_error,
            "seek_error": check.seek_error,
            "runs_error": check.runs_error,
            "writes_error": check.writes_error,
            "unexplained": check.is_unexplained(),
        })
    });
    json!({ "name": solution.parameters.name, "toml": toml, "not_found": not_found,
        "check": check })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "More than 5 % of others' requests in the noise probe: refused with the figure."
    #[test]
    fn a_drive_in_use_is_refused_with_the_share_of_others() {
        let refused = |all, own| refuse_noise(Path::new("/dev/sdz"), all, own);
        for (all, own) in [(0, 0), (100, 100), (100, 95), (95, 100)] {
            assert!(refused(all, own).is_ok(), "{own} of {all}");
        }
        let error = refused(100, 94).expect_err("in use").to_string();
        assert!(error.contains("/dev/sdz: it is in use: 6 % of the requests of 2s"), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }

    #[test]
    fn a_scratch_range_lies_in_the_device() {
        let of = |text: &str| scratch_range(text, 4 << 30);
        assert_eq!(of("all"), Ok(0..4 << 30));
        assert_eq!(of("1GiB+2GiB"), Ok(1 << 30..3 << 30));
        for (text, why) in [
            ("2GiB", "expected OFFSET+LENGTH"),
            ("3GiB+2GiB", "ends at byte 4294967296"),
            ("0+128MiB", "at least 256MiB"),
            ("512+1GiB", "whole 4 KiB"),
            ("x+1GiB", "x"),
        ] {
            let error = of(text).expect_err(text).to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
