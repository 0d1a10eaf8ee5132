//! File systems that this machine's kernel may lack, in a machine of their own: user-mode Linux.

use std::path::Path;
use std::process::Command;

use interop::{Machine, raidloom};

use super::room::is_possible;

#[test]
fn fat_udf_and_discs_inside_user_mode_linux() {
    let test = "FAT, UDF and discs";
    let programs = [
        ("mkfs.vfat", "dosfstools"),
        ("mkfs.udf", "udftools"),
        ("losetup", "mount"),
        ("xorriso", "xorriso"),
    ];
    if !Machine::is_there(test) || !is_possible(test, &programs) {
        return;
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (source, folder) = (here.join("../../docs"), tempfile::tempdir().expect("a folder"));
    let disc = folder.path().join("disc.iso");
    let mut make = Command::new("xorriso");
    make.args(["-as", "mkisofs", "-quiet", "-J", "-R", "-o"]).arg(&disc).arg(&source);
    let made = make.output().expect("xorriso runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut machine = Command::new(here.join("uml.sh"));
    machine.args(["-t", "900", "-m", "384M"]).arg(here.join("attach-uml.sh")).arg("--");
    machine.arg(raidloom()).arg(env!("CARGO_BIN_EXE_fsx")).arg(source).arg(disc);
    let output = machine.output().expect("bash runs");
    let (said, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let of_a_disc = "\
disc: iso9660 ro
disc equal
disc takes no writes
disc stays while it is mounted
";
    let of_udf = of_a_disc.replace("iso9660", "udf");
    let expected = format!(
        "vfat fsck clean\nvfat equal\nudf equal\n{of_a_disc}{of_a_disc}{of_udf}\
        left 0 loops, 0 mounts\n"
    );
    assert_eq!(said, expected, "{}\n{log}", output.status);
}
