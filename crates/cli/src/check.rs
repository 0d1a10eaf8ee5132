//! `raidloom check`: what a user of this machine can do with raidloom, what is missing, and the
//! command that provides it. What raidloom's developers need is in `tools/packages.txt`.

use std::io::Write;
use std::path::Path;

use block::io_text;
use device::{Direct, FileDevice, FileOptions};
use host::mount::{FILE_SYSTEMS, FileSystem, MissingDriver};
use serde_json::json;

use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::{Output, table};

/// One thing that was looked at.
struct Finding {
    name: &'static str,
    /// Nothing works without it.
    needed: bool,
    /// What was found, or why it is missing.
    found: Result<String, String>,
    /// What it is for.
    purpose: &'static str,
    /// What to do when it is missing.
    remedy: String,
}

/// Checks everything; fails when something is missing without which nothing works.
pub(crate) fn check(output: &Output) -> Result<(), Failure> {
    let findings = findings();
    if output.json {
        let document: Vec<_> = findings
            .iter()
            .map(|finding| {
                json!({
                    "name": finding.name,
                    "works": finding.found.is_ok(),
                    "needed": finding.needed,
                    "found": finding.found.as_ref().map_or_else(String::as_str, String::as_str),
                    "purpose": finding.purpose,
                    "remedy": finding.found.is_err().then_some(&finding.remedy),
                })
            })
            .collect();
        output.document(&document)?;
    } else {
        let rows: Vec<Vec<String>> = findings
            .iter()
            .map(|finding| {
                let (state, found) = match &finding.found {
                    Ok(found) => (say!(CHECK_YES), found),
                    Err(reason) if finding.needed => (say!(CHECK_MISSING), reason),
                    Err(reason) => (say!(CHECK_NO), reason),
                };
                vec![finding.name.to_owned(), state, found.clone(), finding.purpose.to_owned()]
            })
            .collect();
        let head = [say!(CHECK_WHAT), say!(CHECK_HERE), say!(CHECK_FOUND), say!(CHECK_FOR)];
        let mut text = table(&head.each_ref().map(String::as_str), &rows, &[]);
        for finding in findings.iter().filter(|finding| finding.found.is_err()) {
            text += &format!("\n{}: {}", finding.name, finding.remedy);
        }
        output.result(&text)?;
    }
    match findings.iter().find(|finding| finding.needed && finding.found.is_err()) {
        Some(missing) => {
            let (name, remedy) = (missing.name, &missing.remedy);
            Err(Failure::failed(say!(CHECK_IS_MISSING, name = name, remedy = remedy)))
        }
        None => Ok(()),
    }
}

/// What a user may need, looked for.
#[expect(clippy::too_many_lines, reason = "a list")]
fn findings() -> Vec<Finding> {
    let findings = vec![
        io_uring(),
        Finding {
            name: catalogue::DIRECT_NAME.template(),
            needed: false,
            found: direct_io(Path::new(".")),
            purpose: catalogue::DIRECT_FOR.template(),
            remedy: say!(DIRECT_REMEDY),
        },
        Finding {
            name: catalogue::ROOT_NAME.template(),
            needed: false,
            found: match rustix::process::geteuid().is_root() {
                true => Ok(say!(ROOT_YES)),
                false => Err(say!(ROOT_NO)),
            },
            purpose: catalogue::ROOT_FOR.template(),
            remedy: "sudo raidloom ...".to_owned(),
        },
        fuse(),
        kernel_device(
            catalogue::LOOP_NAME.template(),
            "/dev/loop-control",
            "loop",
            catalogue::LOOP_FOR.template(),
        ),
        attaching(),
        Finding {
            name: catalogue::SPACE_NAME.template(),
            needed: false,
            found: free_space(Path::new(".")),
            purpose: catalogue::SPACE_FOR.template(),
            remedy: say!(SPACE_REMEDY),
        },
        Finding {
            name: catalogue::GOVERNOR_NAME.template(),
            needed: false,
            found: governor(),
            purpose: catalogue::GOVERNOR_FOR.template(),
            remedy: "cpupower frequency-set -g performance (apt-get install linux-cpupower)"
                .to_owned(),
        },
        Finding {
            name: catalogue::CGROUP_NAME.template(),
            needed: false,
            found: memory_cgroup(),
            purpose: "bench --memory",
            remedy: say!(CGROUP_REMEDY),
        },
        tool("nbdinfo", catalogue::NBDINFO_FOR.template(), "apt-get install libnbd-bin"),
        nbd_client(host::mount::has_module("nbd") || Path::new("/dev/nbd0").exists()),
        tool("qemu-img", catalogue::QEMU_FOR.template(), "apt-get install qemu-utils"),
        Finding {
            name: catalogue::CEPH_NAME.template(),
            needed: false,
            found: host::rbd::available()
                .map(|text| text.to_string())
                .map_err(|why| why.to_string()),
            purpose: catalogue::CEPH_FOR.template(),
            remedy: host::rbd::remedy(),
        },
        Finding {
            name: "Landlock",
            needed: false,
            found: confine::supported().map(|()| say!(LANDLOCK_YES)).map_err(|_| say!(LANDLOCK_NO)),
            purpose: catalogue::LANDLOCK_FOR.template(),
            remedy: say!(LANDLOCK_REMEDY),
        },
        Finding {
            name: catalogue::GUEST_NAME.template(),
            needed: false,
            found: guest::Kernel::find(guest::USUAL_KERNEL)
                .map(|kernel| format!("Linux {}", kernel.version()))
                .map_err(|_| say!(GUEST_NOT_BUILT)),
            purpose: catalogue::GUEST_FOR.template(),
            remedy: "raidloom guest build".to_owned(),
        },
    ];
    findings.into_iter().chain(FILE_SYSTEMS.iter().map(file_system)).collect()
}

/// A program, also in the folders that only root has on the PATH.
fn program(name: &str) -> Result<String, String> {
    let found = host::system::program(name);
    found.map(|file| file.display().to_string()).ok_or_else(|| say!(NOT_ON_PATH, name = name))
}

fn tool(name: &'static str, purpose: &'static str, remedy: &str) -> Finding {
    Finding { name, needed: false, found: program(name), purpose, remedy: remedy.to_owned() }
}

fn io_uring() -> Finding {
    let missing = reactor::Reactor::wall().err();
    Finding {
        name: "io_uring",
        needed: true,
        found: missing.map_or_else(
            || Ok(say!(WORKS)),
            |missing| Err(std::io::Error::from(missing.errno()).to_string()),
        ),
        purpose: catalogue::RING_FOR.template(),
        remedy: missing.map_or_else(
            || say!(NOTHING_MISSING),
            |missing| block::ring_remedy(missing).to_string(),
        ),
    }
}

/// A client for NBD needs its program and the kernel's driver.
fn nbd_client(has_driver: bool) -> Finding {
    let found = program("nbd-client");
    let driver = say!(NBD_NO_MODULE);
    let (found, remedy) = match (found, has_driver) {
        (Ok(program), true) => (Ok(program), "modprobe nbd".to_owned()),
        (Err(missing), true) => (Err(missing), "apt-get install nbd-client".to_owned()),
        (Ok(_), false) => (Err(driver), say!(NBD_KERNEL_REMEDY)),
        (Err(missing), false) => (Err(format!("{missing}; {driver}")), say!(NBD_BOTH_REMEDY)),
    };
    Finding {
        name: "nbd-client",
        needed: false,
        found,
        purpose: catalogue::NBD_CLIENT_FOR.template(),
        remedy,
    }
}

/// A file system that arrays can be given: the program that makes it, and whether the kernel mounts
/// it.
fn file_system(kind: &FileSystem) -> Finding {
    made_and_mounted(kind, program(kind.maker()), kind.missing_driver())
}

fn made_and_mounted(
    kind: &FileSystem,
    maker: Result<String, String>,
    driver: Option<MissingDriver>,
) -> Finding {
    let install = format!("apt-get install {}", kind.package());
    let mends = driver.as_ref().map(|driver| driver.remedy(kind.package()).to_string());
    let (found, remedy) = match (maker, driver) {
        (Ok(maker), None) => (Ok(maker), install),
        (Err(missing), None) => (Err(missing), install),
        (Ok(maker), Some(driver)) => {
            (Err(say!(IS_THERE_TOO, driver = driver, maker = maker)), mends.unwrap_or_default())
        }
        // Both programs come in the same package.
        (Err(missing), Some(driver @ MissingDriver::Program(_))) => {
            (Err(format!("{missing}; {driver}")), install)
        }
        (Err(missing), Some(driver)) => (
            Err(format!("{missing}; {driver}")),
            say!(AND_REMEDY, one = install, other = mends.unwrap_or_default()),
        ),
    };
    Finding {
        name: kind.name,
        needed: false,
        found,
        purpose: catalogue::FILE_SYSTEM_FOR.template(),
        remedy,
    }
}

/// A kernel driver, by its control device.
fn kernel_device(name: &'static str, path: &str, module: &str, purpose: &'static str) -> Finding {
    let opened = std::fs::File::options().read(true).write(true).open(path);
    let remedy = match opened.as_ref().map_err(std::io::Error::kind) {
        Err(std::io::ErrorKind::PermissionDenied) => say!(AS_ROOT),
        _ => say!(MODPROBE_REMEDY, module = module, path = path),
    };
    let found =
        opened.map(|_| path.to_owned()).map_err(|error| io_text(&error).at(path).to_string());
    Finding { name, needed: false, found, purpose, remedy }
}

fn fuse() -> Finding {
    let purpose = catalogue::FUSE_FOR.template();
    let device = kernel_device("FUSE", "/dev/fuse", "fuse", purpose);
    match (&device.found, rustix::process::geteuid().is_root()) {
        (Ok(path), false) => Finding {
            found: program("fusermount3").map(|helper| format!("{path}, {helper}")),
            remedy: "apt-get install fuse3".to_owned(),
            ..device
        },
        _ => device,
    }
}

/// Which way `--attach` takes here, and why.
fn attaching() -> Finding {
    let opens = |path| std::fs::File::options().read(true).write(true).open(path).is_ok();
    let ublk = match (export::ublk::is_there(), Path::new(export::ublk::CONTROL).exists()) {
        (true, _) => Ublk::Usable,
        (false, true) => Ublk::NotOurs,
        (false, false) => Ublk::Missing,
    };
    Finding {
        name: catalogue::ATTACH_NAME.template(),
        needed: false,
        found: attaching_by(fuse().found.is_ok(), opens("/dev/loop-control"), ublk),
        purpose: catalogue::ATTACH_FOR.template(),
        remedy: say!(ATTACH_REMEDY),
    }
}

/// What there is of the kernel's ublk driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ublk {
    Usable,
    /// This user may not use it.
    NotOurs,
    Missing,
}

fn attaching_by(has_fuse: bool, has_loop: bool, ublk: Ublk) -> Result<String, String> {
    let besides = match ublk {
        Ublk::Usable => say!(ATTACH_UBLK),
        Ublk::NotOurs => say!(ATTACH_UBLK_ROOT),
        Ublk::Missing => say!(ATTACH_NO_UBLK),
    };
    match (has_fuse, has_loop) {
        (true, true) => Ok(say!(ATTACH_LOOP) + &besides),
        (true, false) => Ok(say!(ATTACH_FILE) + &besides),
        (false, _) if ublk == Ublk::Usable => Ok(say!(ATTACH_UBLK_ALONE)),
        (false, _) => Err(say!(ATTACH_NONE) + &besides),
    }
}

fn free_space(folder: &Path) -> Result<String, String> {
    let space = rustix::fs::statvfs(folder).map_err(|error| io_text(&error.into()).to_string())?;
    let bytes = space.f_bavail.saturating_mul(space.f_frsize);
    let text = format!("{} MiB", bytes >> 20);
    if bytes < 1 << 30 { Err(say!(SPACE_LITTLE, size = text)) } else { Ok(text) }
}

fn governor() -> Result<String, String> {
    match std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") {
        Ok(governor) if governor.trim() == "performance" => Ok("performance".to_owned()),
        Ok(governor) => Err(governor.trim().to_owned()),
        Err(_) => Ok(say!(GOVERNOR_NONE)),
    }
}

/// Whether a memory cgroup can be made: this process may make groups, and the memory controller is
/// enabled for them.
fn memory_cgroup() -> Result<String, String> {
    let controllers = std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers");
    let has_memory = match &controllers {
        Ok(controllers) => controllers.split_whitespace().any(|controller| controller == "memory"),
        Err(_) => Path::new("/sys/fs/cgroup/memory").is_dir(),
    };
    match (has_memory, rustix::process::geteuid().is_root()) {
        (false, _) => Err(say!(CGROUP_NONE)),
        (true, false) => Err(say!(CGROUP_ROOT)),
        (true, true) => Ok(say!(CGROUP_YES)),
    }
}

/// Whether a file in `folder` can be used with O_DIRECT, tried on one that has no name.
fn direct_io(folder: &Path) -> Result<String, String> {
    let mut file = tempfile::tempfile_in(folder)
        .map_err(|error| say!(NO_FILE_HERE, error = io_text(&error)))?;
    file.write_all(&[0; 1 << 16]).map_err(|error| io_text(&error).to_string())?;
    let options = FileOptions { direct: Direct::Yes, ..FileOptions::default() };
    let device = FileDevice::new(file, &folder.join("(trial)"), &options)
        .map_err(|error| error.text().to_string())?;
    Ok(say!(DIRECT_WORKS, bytes = block::Device::info(&device).block_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_told_of_what_a_user_needs_each_with_what_provides_it() {
        let findings = findings();
        for needed in [
            "root",
            "FUSE",
            "loop devices",
            "way of --attach",
            "ext4",
            "vfat",
            "free space here",
            "governor",
            "memory cgroup",
            "nbdinfo",
            "Ceph's images",
            "kernel of guests",
        ] {
            assert!(findings.iter().any(|finding| finding.name == needed), "{needed}");
        }
        assert!(
            findings
                .iter()
                .all(|finding| !finding.remedy.is_empty() && !finding.purpose.is_empty())
        );
        // What is for those who work on raidloom stands in tools/packages.txt.
        assert!(!findings.iter().any(|finding| ["fio", "chromium"].contains(&finding.name)));
    }

    #[test]
    fn the_way_of_attaching_is_told_with_its_reason() {
        let by = |has_fuse, has_loop, ublk| attaching_by(has_fuse, has_loop, ublk);
        let expected = "a loop device over a file by FUSE; this kernel has no ublk";
        assert_eq!(by(true, true, Ublk::Missing), Ok(expected.to_owned()));
        assert!(by(true, true, Ublk::Usable).unwrap().ends_with("--attach=ublk takes that"));
        assert!(by(true, false, Ublk::NotOurs).unwrap().contains("no loop devices"));
        assert!(by(false, true, Ublk::Missing).unwrap_err().contains("FUSE"));
        assert!(by(false, false, Ublk::NotOurs).unwrap_err().contains("not for you"));
        assert!(by(false, true, Ublk::Usable).unwrap().contains("--attach=ublk"));
    }

    /// "`check` says what is really missing (kernel or program)".
    #[test]
    fn what_is_missing_is_the_program_or_the_kernel_and_so_is_the_remedy() {
        let exfat = FileSystem::named("exfat").unwrap();
        let look = |maker: bool, driver: Option<MissingDriver>| {
            let maker = match maker {
                true => Ok("/sbin/mkfs.exfat".to_owned()),
                false => Err("mkfs.exfat is not on the PATH".to_owned()),
            };
            let finding = made_and_mounted(&exfat, maker, driver);
            (finding.found.err().unwrap_or_default(), finding.remedy)
        };
        let kernel = || Some(MissingDriver::Kernel("exfat".to_owned()));
        let (found, remedy) = look(true, kernel());
        assert!(found.starts_with("this kernel has neither exfat nor a module"), "{found}");
        assert!(remedy.contains("kernel") && !remedy.contains("apt-get"), "{remedy}");
        let (found, remedy) = look(false, None);
        assert_eq!(
            (&*found, &*remedy),
            ("mkfs.exfat is not on the PATH", "apt-get install exfatprogs")
        );
        let (found, remedy) = look(false, kernel());
        assert!(found.contains("PATH") && found.contains("kernel"), "{found}");
        assert!(remedy.contains("apt-get") && remedy.contains("a kernel with exfat"), "{remedy}");
        let found = |has_driver: bool| nbd_client(has_driver).found.err().unwrap_or_default();
        assert!(found(false).contains("no module nbd") && !found(true).contains("module"));
    }
}
