//! Arrays as block devices of the kernel's ublk driver, in a machine of their own: user-mode Linux
//! with the kernel of guests, which has the driver.

use std::path::Path;
use std::process::Command;

use interop::{Machine, raidloom};

use super::room::has_programs;

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
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    // It has no modules, and does not halt by itself.
    let modules = tempfile::tempdir().expect("a folder");
    let mut machine = Command::new(here.join("uml.sh"));
    machine.env("UML_KERNEL", kernel.linux()).env("UML_MODULES", modules.path());
    machine.args(["-c", "-t", "900", "-m", "640M"]).arg(here.join("ublk-uml.sh")).arg("--");
    let output = machine.arg(raidloom()).output().expect("bash runs");
    let (said, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let expected = "\
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
    assert_eq!(said, expected, "{}\n{log}", output.status);
}
