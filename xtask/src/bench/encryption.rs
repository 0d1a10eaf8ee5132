//! Encrypted devices beside what AES-XTS of OpenSSL does on the same core, and beside the kernel's
//! where it answers `cryptsetup benchmark`.

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
    let has_kernel = kernel_rates(256).is_ok();
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
            let row = |load: String, other: &dyn Fn() -> Result<RoundFigures, String>| {
                let (a, b) = bench.rounds(|| bench.probe(&ours), other)?;
                let rates = |side: &[RoundFigures], bytes: u64| {
                    side.iter().map(|done| done.rate() * bytes as f64 / 1e9).collect()
                };
                let (measure, aim) = ("GB/s", Aim::AtLeast(0.5));
                let (ours, other) = (rates(&a, REQUEST_BYTES), Some(rates(&b, SECTOR_BYTES)));
                Ok::<_, String>(Row { load, measure, ours, other, aim })
            };
            rows.push(row(format!("{cipher}, {what}"), &|| openssl(&cipher, way, seconds))?);
            if has_kernel {
                let load = format!("{cipher}, {what}, beside `cryptsetup benchmark`");
                rows.push(row(load, &|| cryptsetup(key_bits, what, seconds))?);
            }
        }
    }
    let _ = fs::remove_dir_all(&folder);
    let kernel = match has_kernel {
        true => {
            "`cryptsetup benchmark` asks the kernel (AF_ALG) for the same, in pieces of 64 KiB."
        }
        false => {
            "`cryptsetup benchmark` asks the kernel (AF_ALG), which has no ciphers for programs \
            here, so it has no rows."
        }
    };
    let how = format!(
        "Containers of LUKS2 as cryptsetup makes them, sectors of {SECTOR_BYTES} bytes, over \
        `ram:` of 64 MiB, in requests of {} KiB at depth 1, on one core: with the copies from and \
        to that memory. Beside it `openssl speed` with the same cipher, pieces of a sector, over \
        and over in one place. {kernel}",
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

/// What `cryptsetup benchmark` says of encrypting and decrypting, in MiB/s.
fn kernel_rates(key_bits: u32) -> Result<[f64; 2], String> {
    let mut command = Command::new("cryptsetup");
    command.args(["benchmark", "--cipher", "aes-xts-plain64", "--key-size", &key_bits.to_string()]);
    let finished = child::succeed(&mut command)?;
    rates_in(&finished.output).ok_or_else(|| format!("it printed {}", finished.output.trim()))
}

/// The two rates in the row of a cipher.
fn rates_in(output: &str) -> Option<[f64; 2]> {
    let row = output.lines().find(|line| line.trim_start().starts_with("aes-xts"))?;
    let mut rates = row.split_whitespace().filter_map(|word| word.parse().ok());
    Some([rates.next()?, rates.next()?])
}

fn cryptsetup(key_bits: u32, what: &str, seconds: u32) -> Result<RoundFigures, String> {
    let [encrypting, decrypting] = kernel_rates(key_bits)?;
    let rate = if what == "read" { decrypting } else { encrypting } * f64::from(1 << 20);
    let seconds = f64::from(seconds);
    Ok(RoundFigures {
        operations: rate * seconds / SECTOR_BYTES as f64,
        seconds,
        cpu_seconds: seconds,
    })
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_rates_are_read_where_cryptsetup_prints_them() {
        let output = "# Tests are approximate using memory only (no storage IO).\n\
            # Algorithm |       Key |      Encryption |      Decryption\n    \
            aes-xts        256b      2042.3 MiB/s      2051.9 MiB/s\n";
        assert_eq!(super::rates_in(output), Some([2042.3, 2051.9]));
        let refusal = "Cipher aes-xts-plain64 (with 256 bits key) is not available.\n";
        assert_eq!(super::rates_in(refusal), None);
    }
}
