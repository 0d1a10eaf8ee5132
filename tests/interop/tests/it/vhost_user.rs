//! The vhost-user-blk server and the kernel's own driver, in user-mode Linux.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use export::vhost_user::{Options, Server};
use interop::{Machine, noise};
use stack::{BuildContext, NoFiles};

const SEED: u64 = 20_261_122;
const MIB: usize = 1 << 20;

/// "The same vhost-user-blk server without time travel serves real VMs", a whole Linux
/// among them: mkfs, mount, files, discard, zeroes, flushes.
#[test]
fn the_kernels_driver_makes_a_drive_of_it() {
    if !Machine::is_there("the kernel's virtio_blk over vhost-user") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("data"), noise(SEED, 9 * MIB)).expect("written");
    let context = BuildContext { seed: SEED, ..BuildContext::new(&NoFiles) };
    let text = "raid5(chunk=64KiB, metadata=none, ram:32MiB, ram:32MiB, ram:32MiB)";
    let device = stack::parse_and_build(text, &context).expect("a stack").device;
    let socket = folder.path().join("disk.sock");
    let options = Options { name: "tank".to_owned(), ..Options::default() };
    let server = Server::start(Arc::clone(&device), &socket, options).expect("a server");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut machine = Command::new(here.join("uml.sh"));
    machine.args(["-t", "300", "-w"]).arg(folder.path()).arg("-d").arg(&socket);
    machine.arg(here.join("vhost-user.sh")).arg("--").arg(folder.path());
    let output = machine.output().expect("bash runs");
    let (said, log) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let expected = [
        "size 67108864, cache write back, serial tank",
        "blocks 512 131072",
        "equal in pieces of 512",
        "equal in pieces of 3584",
        "equal in pieces of 65536",
        "equal in pieces of 1048576",
        "fsck clean",
        "zeroes",
        "read to the end",
        "done",
    ];
    let trouble = server.status().trouble;
    assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{log}\n{trouble:?}");
    assert_eq!(trouble, None);
}
