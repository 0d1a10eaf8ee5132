//! An array that is there again after the machine was started anew: its configuration, and the unit
//! of the service manager that starts it.
//!
//! ```text
//!   settings ──> /etc/raidloom/NAME.toml ──> raidloom@NAME.service: enabled, and started
//!                                       └──> without systemd: a server now, and nothing at boot
//!   identity ──> mdadm.conf, and its copy in the initramfs: md does not take the drives first
//!   calendar ──> raidloom-scrub@NAME.timer: once a month
//! ```

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use array::md::uuid_text;
use block::Node;
use export::tool;
use host::files::{write_named, write_whole};
use host::{Error, facts, system};
use serde::Serialize;
use words::{Text, statement};

use crate::catalogue;
use crate::patience::Patience;
use crate::runtime::check_name;
use crate::settings::{Settings, configurations};
use crate::status::Status;

/// A unit as `make install` puts it there, for where none is installed.
struct UnitFile {
    name: &'static str,
    text: &'static str,
}

/// It starts the array of a configuration.
const UNIT: UnitFile = UnitFile {
    name: "raidloom@.service",
    text: include_str!("../../../packaging/raidloom@.service"),
};
/// They compare the members of a running array once a month.
const SCRUB_UNITS: [UnitFile; 2] = [
    UnitFile {
        name: "raidloom-scrub@.service",
        text: include_str!("../../../packaging/raidloom-scrub@.service"),
    },
    UnitFile {
        name: "raidloom-scrub@.timer",
        text: include_str!("../../../packaging/raidloom-scrub@.timer"),
    },
];
/// Where units name the program.
const UNIT_PROGRAM: &str = "/usr/local/bin/raidloom";
/// Where a unit that is enabled has a link of its name; see systemctl(1).
const ENABLED_FOLDERS: [&str; 2] = ["etc/systemd/system", "run/systemd/system"];
/// What the units' `[Install]` sections name.
const AT_BOOT: &str = "multi-user.target.wants";
const BY_TIME: &str = "timers.target.wants";
/// Where systemd looks for units, the first of which counts; see systemd.unit(5).
const UNIT_FOLDERS: [&str; 5] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
];

/// The rule of udev by which md assembles an array when its drives have come; mdadm brings it.
const MD_RULE: &str = "64-md-raid-assembly.rules";
/// Where udev looks for rules; see udev(7).
const RULE_FOLDERS: [&str; 5] = [
    "etc/udev/rules.d",
    "run/udev/rules.d",
    "usr/local/lib/udev/rules.d",
    "usr/lib/udev/rules.d",
    "lib/udev/rules.d",
];
/// md's configuration: Debian's place, and that of others; see mdadm.conf(5).
const MD_CONFIGURATIONS: [&str; 2] = ["etc/mdadm/mdadm.conf", "etc/mdadm.conf"];
/// What follows the array's name in the comment above a line that raidloom has added there.
const MD_NOTE: &str = ": raidloom serves it, from ";

/// Names the folder that stands for `/` where units, rules of udev and md's configuration are
/// looked for: tests have one of their own.
const ROOT_VARIABLE: &str = "RAIDLOOM_SYSTEM_ROOT";

/// Where configurations and units are, and what starts these.
#[derive(Clone, Debug)]
pub struct Boot {
    configurations: PathBuf,
    root: PathBuf,
    systemctl: PathBuf,
    /// Copies md's configuration, among others, to where the kernel starts from.
    update_initramfs: Option<PathBuf>,
    program: PathBuf,
}

/// Lines of md's configuration by which it leaves an array to raidloom.
#[derive(Clone, Debug)]
pub struct MdException {
    /// The configuration.
    pub file: PathBuf,
    lines: String,
    /// Whether the file was made for them.
    made: bool,
}

/// When the members of an array are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ScrubCalendar {
    /// Whether it is done once a month.
    pub is_monthly: bool,
    /// When the calendar has begun one last, in seconds since 1970.
    pub last_unix_seconds: Option<u64>,
    /// When it begins the next.
    pub next_unix_seconds: Option<u64>,
}

impl Boot {
    /// Those of this machine; `program` is raidloom's own.
    #[must_use]
    pub fn here(program: &Path) -> Boot {
        Boot {
            configurations: configurations(),
            root: std::env::var_os(ROOT_VARIABLE).map_or_else(|| PathBuf::from("/"), PathBuf::from),
            systemctl: PathBuf::from("systemctl"),
            update_initramfs: system::program("update-initramfs"),
            program: program.to_owned(),
        }
    }

    /// Whether there is a service manager that starts units (sd_booted(3)), this user may add
    /// some, and configurations are where the units look for them.
    #[must_use]
    pub fn has_service_manager(&self) -> bool {
        self.root.join("run/systemd/system").is_dir()
            && rustix::process::geteuid().is_root()
            && self.configurations == self.root.join("etc/raidloom")
    }

    /// The configuration of an array of this name.
    ///
    /// # Errors
    /// When it is no name, or a configuration has it already.
    pub fn free_configuration(&self, name: &str) -> Result<PathBuf, Error> {
        check_name(name)?;
        let file = self.configurations.join(format!("{name}.toml"));
        match fs::symlink_metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(file),
            _ => {
                let message = statement!(catalogue::ARRAY_IS_THERE, name = escape::shell(name));
                Err(Error::refused(message).at(file.display()))
            }
        }
    }

    /// Writes the configuration of an array, by which `array start NAME` starts it.
    ///
    /// # Errors
    /// As [`Boot::free_configuration`], and what the system says.
    pub fn write_configuration(&self, name: &str, settings: &Settings) -> Result<PathBuf, Error> {
        let file = self.free_configuration(name)?;
        let text = settings.configuration_text()?;
        DirBuilder::new().recursive(true).mode(0o755).create(&self.configurations).map_err(
            |error| {
                Error::from_io(
                    statement!(
                        catalogue::MAKING_CONFIGURATIONS,
                        folder = self.configurations.display()
                    ),
                    &error,
                )
            },
        )?;
        write_whole(&file, text.as_bytes())?;
        Ok(file)
    }

    /// Has the service manager start the array of a configuration now, and whenever the machine
    /// starts. It is ready when this returns.
    ///
    /// # Errors
    /// What the service manager says, and that it was not waited for any longer. Then it is
    /// stopped, and not started at boot.
    pub fn enable(&self, name: &str, patience: &Patience<'_>) -> Result<(), Error> {
        let unit = unit_name(name);
        // Started by a call of its own: a quiet one does not say why it failed.
        let start = || run(&self.systemctl, &["start", &unit], &|| !patience.ends());
        self.start_at_boot(name).and_then(|()| start()).map_err(|error| {
            let undone = self.disable(name).err();
            let left = undone.map_or(String::new(), |undone| format!("; {undone}"));
            match patience.ends() {
                // `systemctl` hears of a Ctrl-C as well, and says that it was ended.
                true => patience.error().and_then_some(left),
                false => {
                    let advice = format!("`systemctl status {unit}` says more");
                    error.and_then_some(left).then(advice)
                }
            }
        })
    }

    /// Has the service manager start the array of a configuration whenever the machine starts.
    /// What runs now is left as it is.
    ///
    /// # Errors
    /// What the service manager says.
    pub fn start_at_boot(&self, name: &str) -> Result<(), Error> {
        self.install(&UNIT)?;
        self.tell(&["daemon-reload"])?;
        self.tell(&["enable", "--quiet", &unit_name(name)])
    }

    /// The opposite of [`Boot::start_at_boot`]: what runs now is left as it is.
    ///
    /// # Errors
    /// What the service manager says.
    pub fn start_no_more(&self, name: &str) -> Result<(), Error> {
        self.tell(&["disable", "--quiet", &unit_name(name)])
    }

    /// Whether the service manager starts the array of this name with the machine.
    #[must_use]
    pub fn starts_at_boot(&self, name: &str) -> bool {
        self.is_enabled(AT_BOOT, &unit_name(name))
    }

    /// Has the members of an array compared once a month, or no more.
    ///
    /// # Errors
    /// What the service manager says.
    pub fn set_scrub_calendar(&self, name: &str, is_monthly: bool) -> Result<(), Error> {
        let timer = timer_name(name);
        if !is_monthly {
            return self.tell(&["disable", "--quiet", "--now", &timer]);
        }
        SCRUB_UNITS.iter().try_for_each(|unit| self.install(unit))?;
        self.tell(&["daemon-reload"])?;
        self.tell(&["enable", "--quiet", "--now", &timer])
    }

    /// Whether the members of an array are compared once a month. Costs a look for a link.
    #[must_use]
    pub fn is_scrubbed_monthly(&self, name: &str) -> bool {
        self.is_enabled(BY_TIME, &timer_name(name))
    }

    /// When the members of an array are compared, as the service manager says.
    #[must_use]
    pub fn scrub_calendar(&self, name: &str) -> ScrubCalendar {
        let is_monthly = self.is_scrubbed_monthly(name);
        let asked = tool::command(&self.systemctl)
            .args(["show", "--property=LastTriggerUSec,NextElapseUSecRealtime"])
            .arg(timer_name(name))
            // Times of other zones would have names that mean nothing here.
            .env("TZ", "UTC")
            .output();
        let said = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let said = said.unwrap_or_default();
        let time = |key: &str| {
            let values = said.lines().filter_map(|line| line.split_once('='));
            values.filter(|(name, _)| *name == key).find_map(|(_, value)| time_of(value))
        };
        ScrubCalendar {
            is_monthly,
            last_unix_seconds: time("LastTriggerUSec"),
            next_unix_seconds: time("NextElapseUSecRealtime").filter(|_| is_monthly),
        }
    }

    fn is_enabled(&self, wanted_by: &str, unit: &str) -> bool {
        let link = |folder: &str| self.root.join(folder).join(wanted_by).join(unit);
        ENABLED_FOLDERS.iter().any(|folder| fs::symlink_metadata(link(folder)).is_ok())
    }

    /// Puts a unit where systemd looks, unless one of its name is there.
    fn install(&self, file: &UnitFile) -> Result<(), Error> {
        let is_there = |folder: &str| self.root.join(folder).join(file.name).exists();
        if UNIT_FOLDERS.iter().any(|folder| is_there(folder)) {
            return Ok(());
        }
        let text = file.text.replace(UNIT_PROGRAM, &self.program.display().to_string());
        write_whole(&self.root.join(UNIT_FOLDERS[0]).join(file.name), text.as_bytes())
    }

    /// Has an array that runs started with the machine from now on: its configuration is written
    /// where there is none, md is told to leave its drives alone, and the unit enabled. What was
    /// done is taken back where a step fails. The configuration.
    ///
    /// # Errors
    /// Where no service manager is there, or a configuration of its name is of another array; what
    /// the system says.
    pub fn take_on(&self, status: &Status, settings: &Settings) -> Result<PathBuf, Error> {
        let name = &status.name;
        self.need_service_manager()?;
        let (file, was_there) = self.configuration_of(name, settings)?;
        let mut exceptions = Vec::new();
        let told = self.except_all(status, settings, &mut exceptions);
        let renewed = told.and_then(|()| match exceptions.is_empty() {
            true => Ok(()),
            false => self.renew_initramfs(),
        });
        renewed.and_then(|()| self.start_at_boot(name)).map_err(|error| {
            let removed = exceptions.iter().filter_map(|one| self.remove_md_exception(one).err());
            let mut left: Vec<Error> = removed.collect();
            if !was_there && let Err(error) = fs::remove_file(&file) {
                left.push(Error::from_io(file.display().to_string(), &error));
            }
            left.into_iter().fold(error, |error, one| error.and_then_some("; ").and_then_some(one))
        })?;
        Ok(file)
    }

    /// Refuses where nothing starts units here.
    ///
    /// # Errors
    /// A refusal that says what it takes.
    pub fn need_service_manager(&self) -> Result<(), Error> {
        match self.has_service_manager() {
            true => Ok(()),
            false => Err(Error::refused(catalogue::NO_SERVICE_MANAGER)),
        }
    }

    /// The configuration of an array that runs, and whether it was there: one that says the same,
    /// or one that is written.
    fn configuration_of(&self, name: &str, settings: &Settings) -> Result<(PathBuf, bool), Error> {
        let file = self.configurations.join(format!("{name}.toml"));
        if !file.exists() {
            // What was for its first start alone is not for the next one.
            let settings = Settings {
                name: None,
                create: false,
                force: false,
                size: None,
                ..settings.clone()
            };
            return self.write_configuration(name, &settings).map(|file| (file, false));
        }
        let known = Settings::read(&file)?;
        let stack = |one: &Settings| stack::parse(&one.stack).ok().map(|node| node.to_string());
        if stack(&known) == stack(settings)
            && known.name.as_deref().is_none_or(|known| known == name)
        {
            return Ok((file, true));
        }
        Err(Error::refused(catalogue::CONFIGURATION_OF_ANOTHER).at(file.display()))
    }

    /// Tells md to leave the arrays of a stack alone whose members are drives, where it would take
    /// them.
    fn except_all(
        &self,
        status: &Status,
        settings: &Settings,
        exceptions: &mut Vec<MdException>,
    ) -> Result<(), Error> {
        let on_devices =
            settings.tree()?.leaves().into_iter().filter_map(Node::file_path).any(|path| {
                fs::metadata(path).is_ok_and(|data| data.file_type().is_block_device())
            });
        if !on_devices || !self.md_assembles() {
            return Ok(());
        }
        for array in &status.arrays {
            if !self.has_exception(&array.array_uuid) {
                exceptions.push(self.except(&status.name, &array.array_uuid)?);
            }
        }
        Ok(())
    }

    /// Whether md's configuration has it leave an array alone.
    #[must_use]
    pub fn is_excepted_from_md(&self, set_uuid: &[u8; 16]) -> bool {
        self.has_exception(&uuid_text(set_uuid))
    }

    fn has_exception(&self, uuid: &str) -> bool {
        let has = |file: &&str| {
            let text = fs::read_to_string(self.root.join(file)).unwrap_or_default();
            text.lines().any(|line| line == exception_line(uuid))
        };
        MD_CONFIGURATIONS.iter().any(has)
    }

    /// Whether md assembles an array by itself when its drives have come or their superblocks were
    /// written.
    #[must_use]
    pub fn md_assembles(&self) -> bool {
        RULE_FOLDERS.iter().any(|folder| self.root.join(folder).join(MD_RULE).exists())
    }

    /// Tells md, in its own configuration, to leave the array of this identity alone. It holds from
    /// now on, and while the machine starts once [`Boot::renew_initramfs`] was called.
    ///
    /// # Errors
    /// When the configuration cannot be written.
    pub fn except_from_md(&self, name: &str, set_uuid: &[u8; 16]) -> Result<MdException, Error> {
        self.except(name, &uuid_text(set_uuid))
    }

    fn except(&self, name: &str, uuid: &str) -> Result<MdException, Error> {
        let [debian, other] = MD_CONFIGURATIONS.map(|file| self.root.join(file));
        let is_debian = debian.parent().is_some_and(Path::is_dir);
        let file = if is_debian { debian } else { other };
        let failed = |error| Error::from_io(file.display(), &error);
        let (before, made) = match fs::read_to_string(&file) {
            Ok(text) => (text, false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (String::new(), true),
            Err(error) => return Err(failed(error)),
        };
        let begin = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
        let lines = format!(
            "{begin}# {name}{MD_NOTE}{}.\n{}\n",
            self.configurations.join(format!("{name}.toml")).display(),
            exception_line(uuid)
        );
        let mut end = OpenOptions::new().append(true).create(true).open(&file).map_err(failed)?;
        end.write_all(lines.as_bytes()).and_then(|()| end.sync_all()).map_err(failed)?;
        Ok(MdException { file, lines, made })
    }

    /// Takes away the line by which md leaves an array alone that is no more, with the comment
    /// above it, where raidloom has added them; what somebody else wrote about it stays. The files
    /// that they stood in.
    ///
    /// # Errors
    /// When a configuration cannot be read or written.
    pub fn forget_md_exception(&self, set_uuid: &[u8; 16]) -> Result<Vec<PathBuf>, Error> {
        let mut changed = Vec::new();
        for file in MD_CONFIGURATIONS.map(|file| self.root.join(file)) {
            let text = match fs::read_to_string(&file) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::from_io(file.display(), &error)),
            };
            if let Some(rest) = without_exception(&text, &uuid_text(set_uuid)) {
                write_named(&file, rest.as_bytes(), &[])?;
                changed.push(file);
            }
        }
        Ok(changed)
    }

    /// The arrays of lines that raidloom has added to md's configuration, where the configuration
    /// that stands above each is not there: of makings that were killed, and of arrays whose
    /// configuration was removed.
    #[must_use]
    pub fn unconfigured_exceptions(&self) -> Vec<[u8; 16]> {
        let text = |file| fs::read_to_string(self.root.join(file)).unwrap_or_default();
        MD_CONFIGURATIONS.into_iter().flat_map(|file| unconfigured(&text(file))).collect()
    }

    /// Takes the lines away again, and the file that was made for them.
    ///
    /// # Errors
    /// When the configuration cannot be read or written.
    pub fn remove_md_exception(&self, exception: &MdException) -> Result<(), Error> {
        let file = &exception.file;
        let text =
            fs::read_to_string(file).map_err(|error| Error::from_io(file.display(), &error))?;
        let rest = text.replacen(&exception.lines, "", 1);
        if exception.made && rest.is_empty() {
            return fs::remove_file(file).map_err(|error| Error::from_io(file.display(), &error));
        }
        write_named(file, rest.as_bytes(), &[])
    }

    /// Whether there is a program that makes the initramfs anew with md's configuration in it.
    #[must_use]
    pub fn renews_initramfs(&self) -> bool {
        self.update_initramfs.is_some()
    }

    /// Has the copy of md's configuration in the initramfs made anew, where there is a program for
    /// it.
    ///
    /// # Errors
    /// What that program says.
    pub fn renew_initramfs(&self) -> Result<(), Error> {
        self.update_initramfs.as_ref().map_or(Ok(()), |program| run(program, &["-u"], &|| true))
    }

    /// The opposite of [`Boot::enable`]: it is stopped, and not started any more.
    ///
    /// # Errors
    /// What the service manager says.
    pub fn disable(&self, name: &str) -> Result<(), Error> {
        self.tell(&["disable", "--now", &unit_name(name)])
    }

    fn tell(&self, words: &[&str]) -> Result<(), Error> {
        run(&self.systemctl, words, &|| true)
    }
}

/// The line of mdadm.conf(5) by which md leaves an array alone.
fn exception_line(uuid: &str) -> String {
    format!("ARRAY <ignore> UUID={uuid}")
}

/// A configuration of md without the lines that [`Boot::except_from_md`] has added for an array;
/// none where they do not stand in it.
fn without_exception(text: &str, uuid: &str) -> Option<String> {
    let own = exception_line(uuid);
    let mut lines = text.split_inclusive('\n').peekable();
    let (mut rest, mut found) = (String::new(), false);
    while let Some(line) = lines.next() {
        let follows = lines.peek().is_some_and(|next| next.trim_end_matches('\n') == own);
        if follows && line.starts_with("# ") && line.contains(MD_NOTE) {
            lines.next();
            found = true;
        } else {
            rest.push_str(line);
        }
    }
    found.then_some(rest)
}

/// The arrays of the lines that [`Boot::except_from_md`] has added, where the configuration that
/// the comment names is not there.
fn unconfigured(text: &str) -> Vec<[u8; 16]> {
    let lines: Vec<&str> = text.lines().collect();
    let of_pair = |pair: &[&str]| {
        let (_, file) = pair[0].strip_prefix("# ")?.split_once(MD_NOTE)?;
        let uuid = uuid_of(pair[1].strip_prefix(&exception_line(""))?)?;
        // A folder that cannot be looked into may have it, and so may one that is not named whole.
        let file = Path::new(file.strip_suffix('.')?);
        let is_gone = file.is_absolute() && file.try_exists().is_ok_and(|is_there| !is_there);
        is_gone.then_some(uuid)
    };
    lines.windows(2).filter_map(of_pair).collect()
}

/// The identity of an array as [`uuid_text`] writes it.
fn uuid_of(text: &str) -> Option<[u8; 16]> {
    let digits: String = text.chars().filter(|letter| *letter != ':').collect();
    let uuid = u128::from_str_radix(&digits, 16).ok()?.to_be_bytes();
    (uuid_text(&uuid) == text).then_some(uuid)
}

/// A time as systemctl(1) shows it in UTC, `Tue 2026-12-01 03:12:44 UTC`, in seconds since 1970;
/// none for `n/a`.
fn time_of(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace().skip(1);
    let (date, time) = (words.next()?, words.next()?);
    facts::unix_seconds_of(&format!("{date}T{time}Z"))
}

/// Runs a program of the system's to its end, or for as long as it is wanted.
fn run(program: &Path, words: &[&str], is_wanted: &dyn Fn() -> bool) -> Result<(), Error> {
    let called = || {
        let name = program.file_name().unwrap_or(program.as_os_str());
        format!("{} {}", name.to_string_lossy(), words.join(" "))
    };
    let mut command = tool::command(program);
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output =
        command.spawn().and_then(|program| tool::output_while(program, is_wanted)).map_err(
            |error| Error::from_io(statement!(catalogue::RUNNING, command = called()), &error),
        )?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().map(Text::from);
    let said = said.unwrap_or_else(|| catalogue::SAYS_NOT_WHY.into());
    Err(Error::failed(statement!(
        catalogue::SERVICE_COMMAND_ENDED,
        command = called(),
        status = output.status.to_string(),
        said = said
    )))
}

/// The unit of an array's name.
#[must_use]
pub fn unit_name(name: &str) -> String {
    format!("raidloom@{name}.service")
}

/// The timer by which an array of this name is gone over.
fn timer_name(name: &str) -> String {
    format!("raidloom-scrub@{name}.timer")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::settings::{Attach, MountSettings};

    /// A machine in a folder, whose service manager writes down what it is told and then ends as
    /// it is told to.
    fn machine(folder: &Path, start_ends_with: u8) -> Boot {
        fs::create_dir_all(folder.join("run/systemd/system")).unwrap();
        fs::create_dir_all(folder.join("etc/systemd/system")).unwrap();
        let systemctl = folder.join("systemctl");
        let script = format!(
            "#!/bin/sh\ncase $1 in show) echo \"LastTriggerUSec=Sun 2026-11-01 03:12:44 $TZ\"; \
             echo NextElapseUSecRealtime=n/a; exit;; esac\necho \"$@\" >>{0}/told\n\
             case $1 in start) echo no luck >&2; exit {start_ends_with};; esac\n",
            folder.display()
        );
        fs::write(&systemctl, script).unwrap();
        fs::set_permissions(&systemctl, fs::Permissions::from_mode(0o755)).unwrap();
        Boot {
            configurations: folder.join("etc/raidloom"),
            root: folder.to_owned(),
            systemctl,
            update_initramfs: None,
            program: PathBuf::from("/opt/raidloom"),
        }
    }

    fn settings() -> Settings {
        Settings {
            stack: "raid1(metadata=1.2, file:/dev/disk/by-id/a, file:/dev/disk/by-id/b)".to_owned(),
            attach: Attach::Yes,
            mount: Some(MountSettings {
                folder: PathBuf::from("/srv/tank"),
                fs: "ext4".to_owned(),
                options: None,
                make_options: None,
                image: None,
            }),
            ..Settings::default()
        }
    }

    #[test]
    fn a_configuration_says_what_differs_and_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let boot = machine(folder.path(), 0);
        let file = boot.write_configuration("tank", &settings()).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(
            text,
            "attach = \"yes\"\n\
             stack = \"raid1(metadata=1.2, file:/dev/disk/by-id/a, file:/dev/disk/by-id/b)\"\n\n\
             [mount]\nfolder = \"/srv/tank\"\nfs = \"ext4\"\n"
        );
        let expected = Settings { name: Some("tank".to_owned()), ..settings() };
        assert_eq!(Settings::read(&file).unwrap(), expected);
        let error = boot.write_configuration("tank", &settings()).unwrap_err().to_string();
        assert!(error.contains("there is an array of this name"), "{error}");
        assert!(boot.free_configuration("a/b").is_err());
    }

    #[test]
    fn a_unit_is_enabled_and_made_where_none_is_installed() {
        let folder = tempfile::tempdir().unwrap();
        let boot = machine(folder.path(), 0);
        assert_eq!(boot.has_service_manager(), rustix::process::geteuid().is_root());
        let elsewhere = Boot { configurations: folder.path().to_owned(), ..boot.clone() };
        assert!(!elsewhere.has_service_manager(), "a unit would not find them");
        boot.enable("tank", &Patience::until(&AtomicBool::new(false))).unwrap();
        let unit = fs::read_to_string(folder.path().join("etc/systemd/system").join(UNIT.name));
        let unit = unit.unwrap();
        assert!(unit.contains("ExecStart=/opt/raidloom array start --foreground %i\n"), "{unit}");
        assert!(!unit.contains(UNIT_PROGRAM), "{unit}");
        let told = fs::read_to_string(folder.path().join("told")).unwrap();
        assert_eq!(
            told,
            "daemon-reload\nenable --quiet raidloom@tank.service\nstart raidloom@tank.service\n"
        );
        // A package's own is left as it is.
        let other = folder.path().join("other");
        let boot = machine(&other, 0);
        fs::create_dir_all(other.join("usr/lib/systemd/system")).unwrap();
        fs::write(other.join("usr/lib/systemd/system").join(UNIT.name), "packaged").unwrap();
        boot.enable("tank", &Patience::until(&AtomicBool::new(false))).unwrap();
        assert!(!other.join("etc/systemd/system").join(UNIT.name).exists());
    }

    #[test]
    fn md_is_told_to_leave_an_array_alone_and_hears_no_more_of_one_that_was_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let boot = machine(folder.path(), 0);
        assert!(!boot.md_assembles());
        fs::create_dir_all(folder.path().join("lib/udev/rules.d")).unwrap();
        fs::write(folder.path().join("lib/udev/rules.d").join(MD_RULE), "").unwrap();
        assert!(boot.md_assembles());

        let file = folder.path().join("etc/mdadm.conf");
        let exception = boot.except_from_md("tank", &[1; 16]).unwrap();
        assert_eq!(exception.file, file, "it is made where there is none");
        boot.remove_md_exception(&exception).unwrap();
        assert!(!file.exists(), "what was made for the lines goes with them");
        fs::write(&file, "HOMEHOST <system>").unwrap();
        let exception = boot.except_from_md("tank", &[0xab; 16]).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let (above, line) = text.trim_end().rsplit_once('\n').unwrap();
        assert_eq!(line, "ARRAY <ignore> UUID=abababab:abababab:abababab:abababab");
        assert!(above.starts_with("HOMEHOST <system>\n# tank: "), "{text}");
        boot.remove_md_exception(&exception).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "HOMEHOST <system>");

        // Debian's folder counts before the other place.
        fs::create_dir_all(folder.path().join("etc/mdadm")).unwrap();
        let exception = boot.except_from_md("tank", &[1; 16]).unwrap();
        assert_eq!(exception.file, folder.path().join("etc/mdadm/mdadm.conf"));
        boot.renew_initramfs().unwrap();
        assert!(!boot.renews_initramfs());
        let renewing = Boot { update_initramfs: Some(boot.systemctl.clone()), ..boot };
        renewing.renew_initramfs().unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("told")).unwrap(), "-u\n");
    }

    /// "exactly that line; a line of somebody else's with the same name stays".
    #[test]
    fn of_mds_configuration_only_the_line_that_was_added_is_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let boot = machine(folder.path(), 0);
        fs::create_dir_all(folder.path().join("etc/mdadm")).unwrap();
        let file = folder.path().join("etc/mdadm/mdadm.conf");
        // Somebody else's: of the same name, and of the same array without the comment.
        let others = format!(
            "HOMEHOST <system>\n# tank is mine\nARRAY /dev/md/tank UUID={0}\n{1}\n",
            uuid_text(&[9; 16]),
            exception_line(&uuid_text(&[1; 16])),
        );
        fs::write(&file, &others).unwrap();
        boot.except_from_md("tank", &[1; 16]).unwrap();
        boot.except_from_md("other", &[2; 16]).unwrap();
        let with_both = fs::read_to_string(&file).unwrap();
        assert_eq!(boot.forget_md_exception(&[3; 16]).unwrap(), [""; 0].map(PathBuf::from));
        assert_eq!(fs::read_to_string(&file).unwrap(), with_both);
        let changed = std::slice::from_ref(&file);
        assert_eq!(boot.forget_md_exception(&[1; 16]).unwrap(), changed);
        let rest = fs::read_to_string(&file).unwrap();
        assert!(rest.starts_with(&others) && !rest.contains("# tank:"), "{rest}");
        assert!(rest.contains("# other: "), "{rest}");
        // Those whose configuration is not there are known, and nothing but these.
        assert_eq!(boot.unconfigured_exceptions(), [[2; 16]]);
        boot.except_from_md("tank", &[0xab; 16]).unwrap();
        assert_eq!(boot.unconfigured_exceptions(), [[2; 16], [0xab; 16]]);
        fs::create_dir_all(&boot.configurations).unwrap();
        fs::write(boot.configurations.join("other.toml"), "").unwrap();
        assert_eq!(boot.unconfigured_exceptions(), [[0xab; 16]]);
        assert_eq!(boot.forget_md_exception(&[0xab; 16]).unwrap(), changed);
        assert_eq!(boot.forget_md_exception(&[2; 16]).unwrap(), changed);
        assert_eq!(fs::read_to_string(&file).unwrap(), others);
    }

    #[test]
    fn a_calendar_is_what_the_service_manager_says() {
        assert_eq!(time_of("Tue 2026-12-01 03:12:44 UTC"), Some(1_796_094_764));
        for none in ["n/a", "", "Tue 2026-13-01 03:12:44 UTC", "0"] {
            assert_eq!(time_of(none), None, "{none}");
        }
        let folder = tempfile::tempdir().unwrap();
        let boot = machine(folder.path(), 0);
        let last = ScrubCalendar {
            is_monthly: false,
            last_unix_seconds: Some(1_793_502_764),
            next_unix_seconds: None,
        };
        assert_eq!(boot.scrub_calendar("tank"), last);
        boot.set_scrub_calendar("tank", true).unwrap();
        let units = folder.path().join("etc/systemd/system");
        let unit = fs::read_to_string(units.join("raidloom-scrub@.service")).unwrap();
        assert!(unit.contains("ExecStart=/opt/raidloom array scrub --wait %i\n"), "{unit}");
        assert!(units.join("raidloom-scrub@.timer").exists());
        let told = fs::read_to_string(folder.path().join("told")).unwrap();
        assert!(told.ends_with("enable --quiet --now raidloom-scrub@tank.timer\n"), "{told}");
        assert!(!boot.starts_at_boot("tank") && !boot.is_scrubbed_monthly("tank"));
        for (wants, unit) in
            [(AT_BOOT, "raidloom@tank.service"), (BY_TIME, "raidloom-scrub@tank.timer")]
        {
            fs::create_dir(units.join(wants)).unwrap();
            // As systemctl makes it: it need not lead anywhere from here.
            std::os::unix::fs::symlink("/nowhere", units.join(wants).join(unit)).unwrap();
        }
        assert!(boot.starts_at_boot("tank") && boot.scrub_calendar("tank").is_monthly);
    }

    #[test]
    fn what_cannot_be_started_is_not_started_at_boot_either() {
        let folder = tempfile::tempdir().unwrap();
        let boot = machine(folder.path(), 5);
        let enable = |stop| {
            let stop = AtomicBool::new(stop);
            boot.enable("tank", &Patience::until(&stop)).unwrap_err().to_string()
        };
        let error = enable(false);
        assert!(error.contains("no luck"), "{error}");
        let told = fs::read_to_string(folder.path().join("told")).unwrap();
        assert!(told.ends_with("disable --now raidloom@tank.service\n"), "{told}");
        // One that comes to no end is left when that is asked for.
        let script = fs::read_to_string(&boot.systemctl).unwrap();
        let script = script.replace("exit 5", "exec sleep 1000");
        fs::write(&boot.systemctl, script.clone() + "\n").unwrap();
        fs::remove_file(folder.path().join("told")).unwrap();
        let error = enable(true);
        assert_eq!(error, "the start was ended on request");
        let told = fs::read_to_string(folder.path().join("told")).unwrap();
        assert!(told.ends_with("disable --now raidloom@tank.service\n"), "{told}");
    }

    /// A start by hand has the time that the unit has.
    #[test]
    fn a_start_has_its_time() {
        assert!(UNIT.text.contains("\nTimeoutStartSec=30min\n"));
        let (go_on, stop) = (AtomicBool::new(false), AtomicBool::new(true));
        let (in_time, stopped) = (Patience::until(&go_on), Patience::until(&stop));
        assert!(stopped.ends() && stopped.error().exit_code() == 130);
        let looks = 30 * 60 * 1000 / u32::try_from(tool::LOOK.as_millis()).unwrap();
        assert!((0..looks).all(|_| !in_time.ends()) && in_time.ends());
        assert!(in_time.error().to_string().contains("within 30min"), "{}", in_time.error());
    }
}
