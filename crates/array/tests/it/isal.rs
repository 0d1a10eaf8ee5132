//! P and Q against another's: every kernel must make of the same blocks what ISA-L makes of them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use array::parity::available;
use reactor::Random;

/// The program that asks ISA-L, built; or what is missing.
fn isal() -> Result<PathBuf, String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/isal/isal.c");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("isal");
    let output =
        Command::new("cc").arg("-O2").arg(source).arg("-o").arg(&program).arg("-lisal").output();
    match output {
        Ok(output) if output.status.success() => Ok(program),
        Ok(output) => Err(format!(
            "libisal-dev is not there, or cannot be used: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => Err(format!("cc: {error}")),
    }
}

fn asked(program: &Path, data: &[Vec<u8>]) -> Vec<u8> {
    let (count, bytes) = (data.len().to_string(), data[0].len().to_string());
    let mut command = Command::new(program);
    let spawned = command
        .args(["check", &count, &bytes])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut child = spawned.expect("the program was just built");
    // It reads all before it writes, so neither waits for the other.
    child.stdin.take().expect("piped").write_all(&data.concat()).expect("it reads its blocks");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "isal check {count} {bytes}: {}", output.status);
    output.stdout
}

#[test]
fn every_kernel_agrees_with_isa_l() {
    let program = match isal() {
        Ok(program) => program,
        Err(missing) => {
            testkit::missing!("{missing}");
            return;
        }
    };
    for count in [2, 3, 4, 6, 8, 10, 17, 32] {
        for bytes in [4096, 65536] {
            let seed = (count * bytes) as u64;
            let mut random = Random::with_seed(seed);
            let data: Vec<Vec<u8>> =
                (0..count).map(|_| (0..bytes).map(|_| random.u8(..)).collect()).collect();
            let theirs = asked(&program, &data);
            let slices: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
            for kernel in available() {
                let (mut p, mut q) = (vec![0; bytes], vec![0; bytes]);
                (kernel.pq)(&slices, &mut p, &mut q);
                assert!(
                    theirs[..bytes] == p,
                    "P of {kernel:?}, {count} blocks of {bytes}, seed {seed}"
                );
                assert!(
                    theirs[bytes..] == q,
                    "Q of {kernel:?}, {count} blocks of {bytes}, seed {seed}"
                );
            }
            // The comparison notices blocks in another order, which P alone does not.
            let mut swapped = slices.clone();
            swapped.swap(0, 1);
            let (mut p, mut q) = (vec![0; bytes], vec![0; bytes]);
            (available()[0].pq)(&swapped, &mut p, &mut q);
            assert!(theirs[..bytes] == p && theirs[bytes..] != q, "two blocks swapped");
        }
    }
}
