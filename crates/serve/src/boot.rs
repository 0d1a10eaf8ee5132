//! An array that is there again after the machine was started anew: its configuration, and the unit
//! of the service manager that starts it.
//!
//! ```text
//!   settings ──> /etc/raidloom/NAME.toml ──> raidloom@NAME.service: enabled, and started
//!                                       └──> without systemd: a server now, and nothing at boot
//!   identity ──> mdadm.conf, and its copy in the initramfs: md does not take the drives first
//! ```

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use array::md::uuid_text;
use export::tool;
use host::Error;
use host::files::{write_named, write_whole};
use host::system;

use crate::catalogue;
use crate::runtime::check_name;
use crate::settings::{Settings, configurations};

/// The unit that starts the array of a configuration, with the program where `make install` puts
/// it.
const UNIT: &str = include_str!("../../../packaging/raidloom@.service");
const UNIT_FILE: &str = "raidloom@.service";
/// Where the unit names the program.
const UNIT_PROGRAM: &str = "/usr/local/bin/raidloom";
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

impl Boot {
    /// Those of this machine; `program` is raidloom's own.
    #[must_use]
    pub fn here(program: &Path) -> Boot {
        Boot {
            configurations: configurations(),
            root: PathBuf::from("/"),
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
            _ => Err(Error::refused(catalogue::ARRAY_IS_THERE).at(file.display())),
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
                Error::from_io(format_args!("making {}", self.configurations.display()), &error)
            },
        )?;
        write_whole(&file, text.as_bytes())?;
        Ok(file)
    }

    /// Has the service manager start the array of a configuration now, and whenever the machine
    /// starts. It is ready when this returns.
    ///
    /// # Errors
    /// What the service manager says. Then it is not started at boot.
    pub fn enable(&self, name: &str) -> Result<(), Error> {
        let is_there = |folder: &str| self.root.join(folder).join(UNIT_FILE).exists();
        if !UNIT_FOLDERS.iter().any(|folder| is_there(folder)) {
            let unit = UNIT.replace(UNIT_PROGRAM, &self.program.display().to_string());
            write_whole(&self.root.join(UNIT_FOLDERS[0]).join(UNIT_FILE), unit.as_bytes())?;
        }
        let unit = unit_name(name);
        // Started by a call of its own: a quiet one does not say why it failed.
        let calls = [&["daemon-reload"][..], &["enable", "--quiet", &unit], &["start", &unit]];
        calls.into_iter().try_for_each(|words| self.tell(words)).map_err(|error| {
            let undone = self.disable(name).err();
            let left = undone.map_or(String::new(), |undone| format!("; {undone}"));
            error.and_then_some(left).then(format!("`systemctl status {unit}` says more"))
        })
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
            "{begin}# {name}: raidloom serves it, from {}.\nARRAY <ignore> UUID={}\n",
            self.configurations.join(format!("{name}.toml")).display(),
            uuid_text(set_uuid)
        );
        let mut end = OpenOptions::new().append(true).create(true).open(&file).map_err(failed)?;
        end.write_all(lines.as_bytes()).and_then(|()| end.sync_all()).map_err(failed)?;
        Ok(MdException { file, lines, made })
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
        write_named(file, rest.as_bytes())
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
        self.update_initramfs.as_ref().map_or(Ok(()), |program| run(program, &["-u"]))
    }

    /// The opposite of [`Boot::enable`]: it is stopped, and not started any more.
    ///
    /// # Errors
    /// What the service manager says.
    pub fn disable(&self, name: &str) -> Result<(), Error> {
        self.tell(&["disable", "--now", &unit_name(name)])
    }

    fn tell(&self, words: &[&str]) -> Result<(), Error> {
        run(&self.systemctl, words)
    }
}

/// Runs a program of the system's to its end.
fn run(program: &Path, words: &[&str]) -> Result<(), Error> {
    let called = || {
        let name = program.file_name().unwrap_or(program.as_os_str());
        format!("{} {}", name.to_string_lossy(), words.join(" "))
    };
    let output = tool::command(program)
        .args(words)
        .output()
        .map_err(|error| Error::from_io(format_args!("running `{}`", called()), &error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or("it does not say why");
    Err(Error::failed(format!("`{}` ended with {}: {said}", called(), output.status)))
}

/// The unit of an array's name.
#[must_use]
pub fn unit_name(name: &str) -> String {
    format!("raidloom@{name}.service")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::settings::{Attach, MountSettings};

    /// A machine in a folder, whose service manager writes down what it is told and then ends as
    /// it is told to.
    fn machine(folder: &Path, start_ends_with: u8) -> Boot {
        fs::create_dir_all(folder.join("run/systemd/system")).unwrap();
        fs::create_dir_all(folder.join("etc/systemd/system")).unwrap();
        let systemctl = folder.join("systemctl");
        let script = format!(
            "#!/bin/sh\necho \"$@\" >>{0}/told\ncase $1 in start) echo no luck >&2; \
             exit {start_ends_with};; esac\n",
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
        boot.enable("tank").unwrap();
        let unit = fs::read_to_string(folder.path().join("etc/systemd/system").join(UNIT_FILE));
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
        fs::write(other.join("usr/lib/systemd/system").join(UNIT_FILE), "packaged").unwrap();
        boot.enable("tank").unwrap();
        assert!(!other.join("etc/systemd/system").join(UNIT_FILE).exists());
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

    #[test]
    fn what_cannot_be_started_is_not_started_at_boot_either() {
        let folder = tempfile::tempdir().unwrap();
        let boot = machine(folder.path(), 5);
        let error = boot.enable("tank").unwrap_err().to_string();
        assert!(error.contains("no luck"), "{error}");
        let told = fs::read_to_string(folder.path().join("told")).unwrap();
        assert!(told.ends_with("disable --now raidloom@tank.service\n"), "{told}");
    }
}
