//! File systems that this machine's kernel may lack, in a machine of their own: user-mode Linux.

use std::path::Path;
use std::process::Command;

use interop::{Machine, raidloom};

use super::room::is_possible;

#[test]
fn fat_and_udf_inside_user_mode_linux() {
    let test = "FAT and UDF";
    let programs = [("mkfs.vfat", "dosfstools"), ("mkfs.udf", "udftools"), ("losetup", "mount")];
    if !Machine::is_there(test) || !is_possible(test, &programs) {
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut machine = Command::new(here.join("uml.sh"));
    machine.args(["-t", "900", "-m", "384M"]).arg(here.join("attach-uml.sh")).arg("--");
    machine.arg(raidloom()).arg(env!("CARGO_BIN_EXE_fsx")).arg(here.join("../../docs"));
    let output = machine.output().expect("bash runs");
    let (said, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for line in ["vfat equal", "vfat fsck clean", "udf equal", "left 0 loops, 0 mounts"] {
        assert!(
            said.lines().any(|found| found == line),
            "no line `{line}`: {}\n{said}\n{log}",
            output.status
        );
    }
}
