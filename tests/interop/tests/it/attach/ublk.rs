//! Arrays as block devices of the kernel's ublk driver, in machines of their own: user-mode Linux
//! with the kernel of guests, which has the driver, and a kernel of a distribution in QEMU.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use interop::{Machine, raidloom};

use super::room::has_programs;

/// Names a folder that Debian's package of a kernel was unpacked into (`dpkg-deb -x`).
const KERNEL: &str = "RAIDLOOM_UBLK_KERNEL";
const EXPECTED: &str = "\
check: ublk, and --attach=ublk takes that
size 132120576, blocks 512, read-only 0
cache write back, fua 1, least 65536, best 131072
discards 1073741824, zeroes 1073741824, longest 1024 KiB
\"attached\":{\"file\":null,\"block_device\":\"/dev/ublkb0\"},
equal in pieces of 512
equal in pieces of 3584
equal in pieces of 65536
equal in pieces of 1048576
it is mounted at /mnt/tank
fsck clean
still has it open
equal with a member missing
equal with the member back
zeroes
stopped: gone
it waits
other: refused
another server
before equal
during1 equal
during2 equal
during3 equal
during4 equal
mounted: 1
fsck clean
stopped after a kill: gone
an error
given up: gone
memory: gone
read-only 1
a write is refused
quick: cache write through
at the end: gone
done
";

const EXPECTED_OF_OTHERS: &str = "\
control is root's: Permission denied
no rule: /dev/ublkc0: it is root's: a rule of udev has to make it yours
left: root's: a rule of udev
with a rule: gone
owner 1000, cache write back
fsck clean
equal
discarded
still has it open
stopped: gone
killed: an error
equal after a kill
at the end: gone
done
";

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn assert_said(output: &Output, expected: &str) {
    let said = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, expected, "{}\n{log}", output.status);
}

#[test]
fn an_array_by_ublk_inside_user_mode_linux() {
    let test = "ublk";
    if !Machine::is_there(test) || !has_programs(test, &[("fstrim", "util-linux")]) {
        return;
    }
    let kernel = match guest::Kernel::find(guest::USUAL_KERNEL) {
        Ok(kernel) => kernel,
        Err(error) => {
            testkit::missing!("{test}: {error}");
            return;
        }
    };
    // It has no modules, and does not halt by itself.
    let modules = tempfile::tempdir().expect("a folder");
    let mut machine = Command::new(here().join("uml.sh"));
    machine.env("UML_KERNEL", kernel.linux()).env("UML_MODULES", modules.path());
    machine.args(["-c", "-t", "900", "-m", "640M"]).arg(here().join("ublk-uml.sh")).arg("--");
    assert_said(&machine.arg(raidloom()).output().expect("bash runs"), EXPECTED);
}

/// A kernel of today's distributions: commands are ioctls there, and whoever is not root may have
/// devices too.
#[test]
fn arrays_by_ublk_of_root_and_of_others_on_a_newer_kernel() {
    let test = "ublk on a newer kernel";
    let Some(kernel) = std::env::var_os(KERNEL).map(PathBuf::from) else {
        testkit::skipped!("{test}: {KERNEL} names no unpacked kernel package (Linux 6.5 or later)");
        return;
    };
    let programs =
        [("qemu-system-x86_64", "qemu-system-x86"), ("fstrim", "util-linux"), ("udevadm", "udev")];
    if !has_programs(test, &programs) {
        return;
    }
    let run = |script: &str| {
        let mut machine = Command::new(here().join("qemu.sh"));
        machine.args(["-t", "900"]).arg(&kernel).arg(here().join(script)).arg(raidloom());
        machine.arg(here().join("uml-must.sh")).output().expect("bash runs")
    };
    assert_said(&run("ublk-uml.sh"), EXPECTED);
    assert_said(&run("ublk-others-qemu.sh"), EXPECTED_OF_OTHERS);
}
