//! Encrypted devices beside what AES-XTS of OpenSSL does on the same core.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::fio::RoundFigures;
use super::table::{Aim, Row, Section};
use super::{Bench, child};

/// What one request carries, and what a sector has.
const REQUEST_BYTES: u64 = 64 << 10;
const SECTOR_BYTES: u64 = 4096;

/// How fast a container over memory is read and written, beside OpenSSL.
///
/// # Errors
/// When the probe fails, or cryptsetup or openssl is not there.
pub(crate) fn measure(bench: &Bench) -> Result<Section, String> {
    let folder = bench.target.join("encryption");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let seconds = bench.effort.seconds;
    let mut rows = Vec::new();
    for key_bits in [256, 512] {
        let header = container(&folder, key_bits)?;
        let target = format!(
            "luks(passphrase_file=\"{}\", header=\"{}\", ram:64MiB)",
            folder.join("key").display(),
            header.display()
        );
        // XTS takes two keys of the cipher's.
        let cipher = format!("aes-{}-xts", key_bits / 2);
        for (what, pattern, way) in
            [("read", "sequential-read", Some("-decrypt")), ("write", "sequential-write", None)]
        {
            eprintln!("   {cipher}, {what}");
            let ours = [
                target.clone(),
                pattern.to_owned(),
                format!("--bytes={REQUEST_BYTES}"),
                "--depth=1".to_owned(),
                format!("--seconds={seconds}"),
                "--fill".to_owned(),
            ];
            let (a, b) = bench.rounds(|| bench.probe(&ours), || openssl(&cipher, way, seconds))?;
            let gigabytes = |done: &RoundFigures, bytes: u64| done.rate() * bytes as f64 / 1e9;
            rows.push(Row {
                load: format!("{cipher}, {what}"),
                measure: "GB/s",
                ours: a.iter().map(|done| gigabytes(done, REQUEST_BYTES)).collect(),
                other: Some(b.iter().map(|done| gigabytes(done, SECTOR_BYTES)).collect()),
                aim: Aim::AtLeast(0.5),
            });
        }
    }
    let _ = fs::remove_dir_all(&folder);
    let how = format!(
        "Containers of LUKS2 as cryptsetup makes them, sectors of {SECTOR_BYTES} bytes, over `ram:` of 64 \
        MiB, in requests of {} KiB at depth 1, on one core: with the copies from and to that \
        memory. Beside it `openssl speed` with the same cipher, pieces of a sector, over and over \
        in one place. `cryptsetup benchmark` asks the kernel (AF_ALG), which this one has not.",
        REQUEST_BYTES >> 10
    );
    Ok(Section { title: "Encryption", how, measured: None, sides: ("raidloom", "OpenSSL"), rows })
}

/// The header of a container with a volume key of so many bits.
fn container(folder: &Path, key_bits: u32) -> Result<std::path::PathBuf, String> {
    let header = folder.join(format!("header{key_bits}"));
    let line = format!(
        "printf secret > key; rm -f {0}; truncate -s 80M data; truncate -s 16M {0}; \
        cryptsetup luksFormat --batch-mode --type luks2 --key-file key --key-size {key_bits} \
        --cipher aes-xts-plain64 --sector-size {SECTOR_BYTES} --pbkdf pbkdf2 \
        --pbkdf-force-iterations 1000 --offset 0 --header {0} data; rm data",
        header.display()
    );
    child::succeed(Command::new("sh").args(["-ec", &line]).current_dir(folder))
        .map_err(|error| format!("{error}; it takes cryptsetup-bin"))?;
    Ok(header)
}

/// What `openssl speed` does, in pieces of a sector.
fn openssl(cipher: &str, way: Option<&str>, seconds: u32) -> Result<RoundFigures, String> {
    let mut command = Command::new("openssl");
    command.args(["speed", "-mr", "-elapsed", "-seconds", &seconds.to_string()]);
    command.args(["-bytes", &SECTOR_BYTES.to_string()]).args(way).args(["-evp", cipher]);
    let finished = child::succeed(&mut command)?;
    let rate = finished
        .output
        .lines()
        .find_map(|line| line.strip_prefix("+F:")?.rsplit(':').next()?.parse::<f64>().ok());
    let rate = rate.ok_or_else(|| format!("openssl printed {}", finished.output.trim()))?;
    let seconds = f64::from(seconds);
    Ok(RoundFigures {
        operations: rate * seconds / SECTOR_BYTES as f64,
        seconds,
        cpu_seconds: finished.cpu_seconds,
    })
}
