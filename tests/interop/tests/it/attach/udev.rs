//! Drives that come one after the other, in a machine of their own: udev with md's rules and ours,
//! mdadm, and the kernel's md beside raidloom.

use std::path::Path;
use std::process::Command;

use interop::{Machine, raidloom};
use serde_json::Value;

use super::room::{Room, is_possible, succeed};

/// "Nothing is ever assembled that the configuration does not name", "what md has taken is left to
/// md", and md cannot take what raidloom serves.
#[test]
fn configured_drives_are_assembled_when_the_last_has_come_and_those_of_md_are_left_to_it() {
    let test = "drives that come";
    if !Machine::is_there(test) || !is_possible(test, &[("udevadm", "udev")]) {
        return;
    }
    let room = Room::new();
    let image = |letter: char| room.path(&format!("{letter}.img")).display().to_string();
    let create = |name: &str, level: &str, letters: &str| {
        let members: Vec<String> = letters.chars().map(image).collect();
        let create = ["array", "create", name, "--level", level, "--size", "16MiB", "--member"];
        succeed(raidloom(), create.into_iter().map(str::to_owned).chain(members.clone()));
        let examined = succeed(raidloom(), ["array", "examine", "--json", &members[0]]);
        let examined: Value = serde_json::from_str(&examined).expect("JSON");
        let uuid = examined[0]["superblocks"][0]["array_uuid"].as_str().expect("a UUID");
        (members, uuid.to_owned())
    };
    let (tank, tank_uuid) = create("tank", "5", "abc");
    let (other, _) = create("other", "1", "de");
    let (idle, idle_uuid) = create("idle", "1", "fg");

    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut machine = Command::new(here.join("uml.sh"));
    machine.args(["-t", "900", "-m", "384M"]).arg(here.join("udev-uml.sh"));
    machine.args(tank).args(other).args(idle).arg("--").arg(raidloom());
    machine.arg(here.join("../../packaging")).args([tank_uuid, idle_uuid]);
    let output = machine.output().expect("bash runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = "\
ubda: tank: not started: waits for /dev/disk/by-id/drive-ubdb and 1 more: 1 of 3 are there
ubdb: tank: not started: waits for /dev/disk/by-id/drive-ubdc: 2 of 3 are there
ubdc: tank: complete; started as raidloom@tank.service
ubda: tank: it runs already
ubdd: other: not started: waits for /dev/disk/by-id/drive-ubde: 1 of 2 are there
ubde: other: not started: /dev/disk/by-id/drive-ubdd: it is in use by md127; stop that first
systemctl reset-failed raidloom@tank.service
systemctl --no-block start raidloom@tank.service
tank [UUU]
md has: raid1 ubde[1] ubdd[0]
servers: tank
tank is left alone
end
";
    let log = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, expected, "{}\n{log}", output.status);
}
