//! What a guest does with its disks before its work begins, as a shell script: pure text.
//!
//! ```text
//!   vda vdb …  ── scheduler, request size ──> md ── read-ahead ──> file system ── mounted at $DISK
//!                                                       └──> outer file system ── image ── loop0 ──┘
//! ```

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use block::{Error, ErrorKind};
use export::image::Image;
use words::{Text, statement};

use crate::catalogue;

/// The exit code of a job whose disks could not be set up.
pub const SETUP_FAILED: i32 = 125;

/// Requests that a scheduler has to sort at least: what Linux gave every disk before it had several
/// queues.
const SORTED: u32 = 128;

/// What is made of a guest's disks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Setup {
    /// How many disks there are.
    pub disks: usize,
    /// The array that the guest's own md makes of all of them: `raid5 chunk=64KiB`.
    pub md: Option<String>,
    /// Whether the array has all of its members when the work begins. Where it is not made inside,
    /// it is brought there outside.
    pub state: ArrayCompleteness,
    /// The array and the file system are there already: they are put together and mounted, and not
    /// made.
    pub is_there: bool,
    /// The scheduler of each disk; the kernel's own choice without it.
    pub scheduler: Option<String>,
    /// Read-ahead of what is worked on, in bytes.
    pub read_ahead_bytes: Option<u64>,
    /// The longest request to a disk, in bytes.
    pub request_max_bytes: Option<u64>,
    /// Linux is told that the disks have no cache: it flushes none of them, as with the barriers of
    /// a file system switched off.
    pub unflushed: bool,
    /// The file system on it; without one, work is on the device itself.
    pub format: Option<Format>,
    /// The image that carries that file system, and the outer one that the image is a file of.
    pub image: Option<(Image, Format)>,
}

/// Whether an array has all of its members.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArrayCompleteness {
    /// It has.
    #[default]
    Whole,
    /// The last one has failed and is gone.
    Degraded,
    /// In the place of the last one there is an empty one, which is being rebuilt.
    Rebuilding,
}

impl ArrayCompleteness {
    /// How they are called, in the same order.
    pub const NAMES: [&str; 3] = ["whole", "degraded", "rebuilding"];
}

impl fmt::Display for ArrayCompleteness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [whole, degraded, rebuilding] = ArrayCompleteness::NAMES;
        f.write_str(match self {
            ArrayCompleteness::Whole => whole,
            ArrayCompleteness::Degraded => degraded,
            ArrayCompleteness::Rebuilding => rebuilding,
        })
    }
}

impl FromStr for ArrayCompleteness {
    type Err = Text;

    fn from_str(text: &str) -> Result<ArrayCompleteness, Text> {
        match text {
            "whole" => Ok(ArrayCompleteness::Whole),
            "degraded" => Ok(ArrayCompleteness::Degraded),
            "rebuilding" => Ok(ArrayCompleteness::Rebuilding),
            _ => {
                let names = ArrayCompleteness::NAMES.join(", ");
                Err(statement!(catalogue::ONE_OF_NAMES, text = text, names = names))
            }
        }
    }
}

/// A file system that is made and mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// The program that makes it, with its options but for the device.
    pub make: Vec<String>,
    /// What `mount -t` calls it.
    pub kind: String,
    /// What `mount -o` is given.
    pub mount_options: Option<String>,
}

impl Format {
    /// The command that makes it on a device.
    fn maker(&self, device: &str) -> String {
        let words: Vec<String> = self.make.iter().map(|word| escape::shell(word)).collect();
        format!("try {} {device}", words.join(" "))
    }

    /// The command that mounts it.
    fn mounter(&self, device: &str, point: &str) -> String {
        let options = self.mount_options.as_ref();
        let options = options.map_or(String::new(), |text| format!(" -o {}", escape::shell(text)));
        format!("try mount -t {}{options} {device} {point}", escape::shell(&self.kind))
    }
}

/// Where the outer file system of an image is mounted, and the loop device over the image.
const OUTER: &str = "/mnt/outer";
const IMAGE: &str = "/dev/loop0";

/// Folders that are the guest's own inside, whatever the host has there.
const OWN_FOLDERS: [&str; 5] = ["/mnt", "/run", "/dev", "/proc", "/sys"];

/// The path of one of the host's programs as a guest's shell finds it.
///
/// # Errors
/// Where it lies in a folder that a guest has of its own, or is not UTF-8.
pub fn program(path: &Path) -> Result<&str, Error> {
    if OWN_FOLDERS.iter().any(|folder| path.starts_with(folder)) {
        return Err(invalid(statement!(catalogue::GUEST_FOLDER_HIDES, path = path.display())));
    }
    path.to_str().ok_or_else(|| invalid(statement!(catalogue::NOT_UTF_8, path = path.display())))
}

fn invalid(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}

/// The name of a disk in the guest's `/dev`, by its number.
#[must_use]
pub fn disk_name(number: usize) -> String {
    let letter = |index: usize| char::from(b'a' + (index % 26) as u8);
    match number / 26 {
        0 => format!("vd{}", letter(number)),
        tens => format!("vd{}{}", letter(tens - 1), letter(number)),
    }
}

impl Setup {
    /// The device that is worked on, or that carries the file system.
    #[must_use]
    pub fn device(&self) -> &'static str {
        if self.md.is_some() { "/dev/md0" } else { "/dev/vda" }
    }

    /// A script that sets all up, does `work` in `$DISK`, writes the guest's clock at its begin and
    /// end to `$OUT/work`, and ends with the work's exit code, or with [`SETUP_FAILED`].
    ///
    /// # Errors
    /// What the settings contradict themselves in.
    pub fn job(&self, work: &str) -> Result<String, Error> {
        let mut lines = vec![
            format!("fail() {{ echo \"setting up: $1\" >&2; exit {SETUP_FAILED}; }}"),
            "try() { \"$@\" >&2 || fail \"$1 ended with $?\"; }".to_owned(),
            // An echo of the shell says nothing of the file when it fails.
            "set_to() { echo \"$1\" 2>/dev/null >\"$2\" || fail \"$2 does not take $1\"; }"
                .to_owned(),
        ];
        (0..self.disks).for_each(|number| self.set_queue(number, &mut lines));
        if let Some(md) = &self.md {
            let create = self.create(md)?;
            let assemble = assemble_array(0..self.disks, false);
            lines.push(format!("try {}", if self.is_there { assemble } else { create }));
            if !self.is_there {
                lines.extend(self.change_array().map(|command| format!("try {command}")));
            }
        } else if self.disks > 1 && self.format.is_some() {
            return Err(invalid(statement!(
                catalogue::ONE_DISK_FOR_FILE_SYSTEM,
                count = self.disks
            )));
        }
        let device = self.device();
        let name = device.trim_start_matches("/dev/");
        if let Some(bytes) = self.read_ahead_bytes {
            lines.push(read_ahead(name, bytes));
        }
        let mut device = device.to_owned();
        if let Some((image, outer)) = &self.image {
            lines.extend(self.attach_image(image, outer, &device));
            IMAGE.clone_into(&mut device);
            lines.extend(self.read_ahead_bytes.map(|bytes| read_ahead("loop0", bytes)));
        }
        if let Some(format) = &self.format {
            if !self.is_there {
                lines.push(format.maker(&device));
            }
            lines.push(format.mounter(&device, "$DISK"));
        }
        lines.push(format!("export DEVICE={device}"));
        // The work begins on a disk at rest.
        lines.push("sync".to_owned());
        lines.push("echo >$OUT/begun".to_owned());
        lines.push("begin=$(date +%s%N)".to_owned());
        // In a shell of its own, so that it may unmount the file system.
        let into = if self.format.is_some() { "cd $DISK || exit\n" } else { "" };
        lines.push(format!("({into}{work}\n)\nstatus=$?"));
        lines.push("echo $begin $(date +%s%N) >$OUT/work".to_owned());
        if self.format.is_some() {
            // The kernel lets go of a ring's files some time after the ring's owner has gone, and a
            // guest that is switched off with a file system in use may not end.
            lines.push("mountpoint -q $DISK && { umount $DISK 2>/dev/null ||".to_owned());
            lines.push("    { sleep 1; umount $DISK; }; }".to_owned());
        }
        if self.image.is_some() {
            lines.push(format!("losetup --detach {IMAGE}; umount {OUTER}"));
        }
        lines.push("exit $status\n".to_owned());
        Ok(lines.join("\n"))
    }

    /// How the kernel passes requests on to a disk.
    fn set_queue(&self, number: usize, lines: &mut Vec<String>) {
        let queue = format!("/sys/block/{}/queue", disk_name(number));
        if let Some(scheduler) = &self.scheduler {
            lines.push(format!("set_to {} {queue}/scheduler", escape::shell(scheduler)));
            // The kernel gives a scheduler twice what the disk takes. With a disk that takes one
            // request at a time it would have nothing to sort or join.
            if scheduler != "none" {
                let known = format!("$(cat {queue}/nr_requests)");
                lines.push(format!(
                    "[ \"{known}\" -ge {SORTED} ] || set_to {SORTED} {queue}/nr_requests"
                ));
            }
        }
        if self.unflushed {
            lines.push(format!("set_to 'write through' {}", write_cache(number)));
        }
        if let Some(bytes) = self.request_max_bytes {
            lines.push(format!("set_to {} {queue}/max_sectors_kb", bytes >> 10));
        }
    }

    /// The commands that mount the outer file system on a device, make the image in it, written
    /// whole, and put a loop device over the disk in it.
    fn attach_image(&self, image: &Image, outer: &Format, device: &str) -> Vec<String> {
        let file = format!("{OUTER}/{}", image.file_name());
        let mut lines = Vec::new();
        if !self.is_there {
            lines.push(outer.maker(device));
        }
        lines.push(format!("try mkdir {OUTER}"));
        lines.push(outer.mounter(device, OUTER));
        if !self.is_there {
            let size = image.size_bytes;
            lines.push(format!(
                "dd if=/dev/zero of={file} bs=1M count={size} iflag=count_bytes conv=fsync \
                status=none || fail 'an image of {} does not fit into its file system'",
                block::size_text(size)
            ));
            let footer = image.footer();
            if !footer.is_empty() {
                let bytes: String = footer.iter().map(|byte| format!("\\{byte:03o}")).collect();
                lines.push(format!("printf '{bytes}' >>{file} || fail 'the footer of {file}'"));
            }
            // What was written here is not to answer what is read later.
            lines.push("sync; echo 1 >/proc/sys/vm/drop_caches".to_owned());
        }
        let direct = if image.direct { " --direct-io=on" } else { "" };
        lines.push(format!("try losetup --sizelimit={}{direct} {IMAGE} {file}", image.size_bytes));
        // What makes a file system would punch holes into the image that was written whole.
        lines.push("set_to 0 /sys/block/loop0/queue/discard_max_bytes".to_owned());
        if image.direct {
            lines.push(
                "[ \"$(cat /sys/block/loop0/loop/dio)\" = 1 ] || \
                fail 'the outer file system refuses direct I/O for the image in it'"
                    .to_owned(),
            );
        }
        lines
    }

    /// The commands that say what Linux may think of the disks, make the array, where there is to
    /// be one, and bring it into its state.
    ///
    /// # Errors
    /// A text that describes no array.
    pub fn commands(&self) -> Result<Vec<String>, Error> {
        let disks = if self.unflushed { self.disks } else { 0 };
        let told = |number| format!("echo 'write through' >{}", write_cache(number));
        let mut commands: Vec<String> = (0..disks).map(told).collect();
        if let Some(md) = &self.md {
            commands.push(self.create(md)?);
            commands.extend(self.change_array());
        }
        Ok(commands)
    }

    /// The commands that bring an array that was just made into its state.
    fn change_array(&self) -> impl Iterator<Item = String> {
        let last = disk_name(self.disks.saturating_sub(1));
        let fail = ["--fail", "--remove"].map(|what| format!("/dev/md0 {what} /dev/{last}"));
        let add = [format!("--zero-superblock /dev/{last}"), format!("/dev/md0 --add /dev/{last}")];
        let (lacks, rebuilds) =
            (self.state != ArrayCompleteness::Whole, self.state == ArrayCompleteness::Rebuilding);
        let fail = fail.into_iter().filter(move |_| lacks);
        let add = add.into_iter().filter(move |_| rebuilds);
        fail.chain(add).map(|what| format!("mdadm --quiet {what}"))
    }

    /// The command that makes the array. All its disks are empty, so that nothing has to be synced.
    fn create(&self, text: &str) -> Result<String, Error> {
        let mut words = text.split([' ', ',']).filter(|word| !word.is_empty());
        let level = words.next().unwrap_or_default();
        let known = ["linear", "raid0", "raid1", "raid10", "raid4", "raid5", "raid6"];
        if !known.contains(&level) {
            return Err(invalid(statement!(
                catalogue::MD_NO_LEVEL,
                level = level,
                levels = known.join(", ")
            )));
        }
        let mut command = format!(
            "mdadm --create /dev/md0 --quiet --run --homehost=any --metadata=1.2 --level={level} \
            --raid-devices={}",
            self.disks
        );
        if !matches!(level, "linear" | "raid0") {
            command += " --assume-clean";
            command += match text {
                _ if text.contains("bitmap=internal") => " --bitmap=internal",
                // The log takes the bitmap's place, and mdadm will hear of one of them only.
                _ if text.contains(WITH_LOG) => " --consistency-policy=ppl",
                _ => " --bitmap=none",
            };
        }
        for word in words {
            match word.split_once('=') {
                Some(("chunk", size)) => command += &format!(" --chunk={}", chunk(size)?),
                Some(("layout", layout)) => {
                    command += &format!(" --layout={}", escape::shell(layout));
                }
                Some(("bitmap", "internal")) if text.contains(WITH_LOG) => {
                    return Err(invalid(statement!(
                        catalogue::MD_BITMAP_OR_LOG,
                        word = word,
                        with_log = WITH_LOG
                    )));
                }
                Some(("bitmap", "none" | "internal")) => (),
                _ if word == WITH_LOG && level == "raid5" => (),
                _ if word == WITH_LOG => {
                    return Err(invalid(statement!(
                        catalogue::MD_NO_LOG,
                        word = word,
                        level = level
                    )));
                }
                _ => {
                    return Err(invalid(statement!(
                        catalogue::MD_WORD,
                        word = word,
                        with_log = WITH_LOG
                    )));
                }
            }
        }
        for number in 0..self.disks {
            command += &format!(" /dev/{}", disk_name(number));
        }
        Ok(command)
    }
}

/// The command that says how far Linux reads ahead on a device.
fn read_ahead(name: &str, bytes: u64) -> String {
    format!("set_to {} /sys/block/{name}/queue/read_ahead_kb", bytes >> 10)
}

/// Where Linux is told whether a disk has a cache.
fn write_cache(number: usize) -> String {
    format!("/sys/block/{}/queue/write_cache", disk_name(number))
}

/// The command that puts the array together that is on the disks of these numbers; with `force`
/// also where something may be lost by it.
#[must_use]
pub fn assemble_array(disks: impl Iterator<Item = usize>, force: bool) -> String {
    let mut command = "mdadm --assemble --quiet --run".to_owned();
    if force {
        command += " --force";
    }
    command += " /dev/md0";
    for number in disks {
        command += &format!(" /dev/{}", disk_name(number));
    }
    command
}

/// How the text of an array asks for md's partial parity log.
pub const WITH_LOG: &str = "consistency=ppl";

/// The command that lets go of the array's disks.
pub const STOP_ARRAY: &str = "mdadm --quiet --stop /dev/md0";

/// A chunk as mdadm takes it.
fn chunk(text: &str) -> Result<String, Error> {
    let size = text.strip_suffix("KiB").map(|size| (size, 'K'));
    let size = size.or_else(|| text.strip_suffix("MiB").map(|size| (size, 'M')));
    match size.map(|(number, unit)| (number.trim().parse::<u32>(), unit)) {
        Some((Ok(number), unit)) if number > 0 => Ok(format!("{number}{unit}")),
        _ => Err(invalid(statement!(catalogue::MD_CHUNK, text = text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_named_as_linux_names_them() {
        assert_eq!([0, 25, 26, 27, 52].map(disk_name), ["vda", "vdz", "vdaa", "vdab", "vdba"]);
    }

    #[test]
    fn what_linux_is_told_of_its_disks_comes_first() {
        let scheduler = Some("mq-deadline".to_owned());
        let setup = Setup { disks: 2, scheduler, unflushed: true, ..Setup::default() };
        let job = setup.job("true").unwrap();
        for disk in ["vda", "vdb"] {
            for line in [
                format!("set_to mq-deadline /sys/block/{disk}/queue/scheduler"),
                format!("|| set_to 128 /sys/block/{disk}/queue/nr_requests"),
                format!("set_to 'write through' /sys/block/{disk}/queue/write_cache"),
            ] {
                assert!(job.contains(&line), "{line}: {job}");
            }
        }
        assert!(!Setup { disks: 1, ..Setup::default() }.job("true").unwrap().contains("/queue/"));
    }

    #[test]
    fn an_image_lies_in_an_outer_file_system_and_its_footer_is_not_the_disks() {
        let format = |kind: &str, options: Option<&str>| Format {
            make: vec![format!("mkfs.{kind}")],
            kind: kind.to_owned(),
            mount_options: options.map(str::to_owned),
        };
        let image =
            |kind: &str, direct| Image { kind: kind.parse().unwrap(), size_bytes: 8 << 20, direct };
        let setup = Setup {
            disks: 1,
            read_ahead_bytes: Some(65536),
            format: Some(format("inner", None)),
            image: Some((image("vhd", true), format("outer", Some("sync")))),
            ..Setup::default()
        };
        let job = setup.job("true").unwrap();
        let steps = [
            "set_to 64 /sys/block/vda/queue/read_ahead_kb\n",
            "try mkfs.outer /dev/vda\n",
            "try mount -t outer -o sync /dev/vda /mnt/outer\n",
            "of=/mnt/outer/image.vhd bs=1M count=8388608 iflag=count_bytes",
            "printf '\\143\\157\\156\\145\\143\\164\\151\\170",
            "try losetup --sizelimit=8388608 --direct-io=on /dev/loop0 /mnt/outer/image.vhd\n",
            "set_to 0 /sys/block/loop0/queue/discard_max_bytes\n",
            "set_to 64 /sys/block/loop0/queue/read_ahead_kb\n",
            "try mkfs.inner /dev/loop0\n",
            "try mount -t inner /dev/loop0 $DISK\n",
            "export DEVICE=/dev/loop0\n",
            "losetup --detach /dev/loop0; umount /mnt/outer\n",
        ];
        let mut from = 0;
        for step in steps {
            let at = job[from..].find(step);
            from += at.unwrap_or_else(|| panic!("{step} after byte {from} of {job}")) + step.len();
        }
        // What is there is mounted, and not made.
        let there = Setup { is_there: true, ..setup.clone() }.job("true").unwrap();
        for made in ["mkfs", "dd if", "printf '"] {
            assert!(!there.contains(made), "{made}: {there}");
        }
        assert!(there.contains("try losetup --sizelimit"), "{there}");
        let raw = Setup { image: Some((image("raw", false), format("outer", None))), ..setup };
        let raw = raw.job("true").unwrap();
        assert!(!raw.contains("printf '\\") && !raw.contains("direct"), "{raw}");
    }

    #[test]
    fn an_array_is_made_of_all_disks() {
        let setup = |md: &str| Setup { disks: 3, md: Some(md.to_owned()), ..Setup::default() };
        let job = setup("raid5 chunk=64KiB layout=la").job("true").unwrap();
        assert!(
            job.contains("--level=raid5 --raid-devices=3 --assume-clean --bitmap=none --chunk=64K --layout=la /dev/vda /dev/vdb /dev/vdc"),
            "{job}"
        );
        assert!(!setup("raid0").job("true").unwrap().contains("assume-clean"));
        let job = setup("raid5 consistency=ppl").job("true").unwrap();
        assert!(job.contains("--assume-clean --consistency-policy=ppl /dev/vda"), "{job}");
        for (md, expected) in [
            ("raid7", "no level"),
            ("raid5 chunk=64", "a size such as"),
            ("raid5 chunks=64KiB", "not understood"),
            ("raid5 bitmap=internal consistency=ppl", "not both"),
            ("raid6 consistency=ppl", "raid6 has no partial parity log"),
        ] {
            let error = setup(md).job("true").unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn a_file_system_takes_one_disk() {
        let format =
            Format { make: vec!["mkfs.x".to_owned()], kind: "x".to_owned(), mount_options: None };
        let setup = |disks| Setup { disks, format: Some(format.clone()), ..Setup::default() };
        assert!(setup(2).job("true").is_err());
        let job = setup(1).job("true").unwrap();
        assert!(job.contains("try mkfs.x /dev/vda\ntry mount -t x /dev/vda $DISK"), "{job}");
    }
}
