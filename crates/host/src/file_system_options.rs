//! What the programs that make and mount file systems may be told: options from a list for each,
//! and nothing that names a place of its own.
//!
//! ```text
//!   "-l lazy-count=1 -K"  ── words, as getopt takes them ──> each on its program's list, or refused
//! ```
//!
//! A plan's text is a stranger's: `-l logdev=/dev/sdb`, `-z undo-file` or a second device would be
//! written to by a program that the guard never hears of. So the list says what is taken, and not
//! what is refused; the lists are of the programs' manuals.

use words::{Text, statement};

use crate::catalogue;

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    /// Nothing.
    None,
    /// A number, a size, a name: anything but a path.
    Word,
    /// A name for people.
    Label,
    /// `key` or `key=word` between commas, of these keys.
    Keys(&'static [&'static str]),
}

use Argument::{Keys, Label, None as Nothing, Word};

/// An option by all its names, without the dashes in front: those of one letter are short.
type KnownOption = (&'static [&'static str], Argument);

const EXT: &[KnownOption] = &[
    (&["b"], Word),
    (&["C"], Word),
    (&["D"], Nothing),
    (&["e"], Word),
    (
        &["E"],
        Keys(&[
            "assume_storage_prezeroed",
            "discard",
            "encoding",
            "encoding_flags",
            "hash_seed",
            "lazy_itable_init",
            "lazy_journal_init",
            "mmp_update_interval",
            "no_copy_xattrs",
            "nodiscard",
            "num_backup_sb",
            "orphan_file_size",
            "packed_meta_blocks",
            "quotatype",
            "resize",
            "revision",
            "root_owner",
            "stride",
            "stripe-width",
            "stripe_width",
            "test_fs",
        ]),
    ),
    (&["F"], Nothing),
    (&["g"], Word),
    (&["G"], Word),
    (&["i"], Word),
    (&["I"], Word),
    (&["j"], Nothing),
    (&["J"], Keys(&["fast_commit_size", "location", "size"])),
    (&["K"], Nothing),
    (&["L"], Label),
    (&["m"], Word),
    (&["N"], Word),
    (&["o"], Word),
    (&["O"], Word),
    (&["q"], Nothing),
    (&["r"], Word),
    (&["t"], Word),
    (&["T"], Word),
    (&["U"], Word),
    (&["v"], Nothing),
];

const XFS: &[KnownOption] = &[
    (&["b"], Keys(&["size"])),
    (
        &["d"],
        Keys(&[
            "agcount",
            "agsize",
            "concurrency",
            "cowextsize",
            "daxinherit",
            "extszinherit",
            "noalign",
            "projinherit",
            "rtinherit",
            "sectsize",
            "size",
            "su",
            "sunit",
            "sw",
            "swidth",
        ]),
    ),
    (&["f"], Nothing),
    (
        &["i"],
        Keys(&[
            "align",
            "attr",
            "exchange",
            "log",
            "maxpct",
            "nrext64",
            "perblock",
            "projid32bit",
            "size",
            "sparse",
        ]),
    ),
    (&["K"], Nothing),
    (
        &["l"],
        Keys(&[
            "agnum",
            "concurrency",
            "internal",
            "lazy-count",
            "sectsize",
            "size",
            "su",
            "sunit",
            "version",
        ]),
    ),
    (&["L"], Label),
    (
        &["m"],
        Keys(&[
            "autofsck",
            "bigtime",
            "crc",
            "finobt",
            "inobtcount",
            "metadir",
            "reflink",
            "rmapbt",
            "uuid",
        ]),
    ),
    (&["n"], Keys(&["ftype", "log", "parent", "size", "version"])),
    (&["q"], Nothing),
    (&["s"], Keys(&["size", "sectsize"])),
];

const BTRFS: &[KnownOption] = &[
    (&["b", "byte-count"], Word),
    (&["csum", "checksum"], Word),
    (&["d", "data"], Word),
    (&["f", "force"], Nothing),
    (&["K", "nodiscard"], Nothing),
    (&["L", "label"], Label),
    (&["m", "metadata"], Word),
    (&["M", "mixed"], Nothing),
    (&["n", "nodesize"], Word),
    (&["O", "features"], Word),
    (&["q", "quiet"], Nothing),
    (&["R", "runtime-features"], Word),
    (&["s", "sectorsize"], Word),
    (&["U", "uuid"], Word),
    (&["v", "verbose"], Nothing),
];

const NTFS: &[KnownOption] = &[
    (&["c", "cluster-size"], Word),
    (&["C", "enable-compression"], Nothing),
    (&["f", "Q", "fast", "quick"], Nothing),
    (&["F", "force"], Nothing),
    (&["H", "heads"], Word),
    (&["I", "no-indexing"], Nothing),
    (&["L", "label"], Label),
    (&["p", "partition-start"], Word),
    (&["q", "quiet"], Nothing),
    (&["s", "sector-size"], Word),
    (&["S", "sectors-per-track"], Word),
    (&["T", "zero-time"], Nothing),
    (&["U", "with-uuid"], Nothing),
    (&["v", "verbose"], Nothing),
    (&["z", "mft-zone-multiplier"], Word),
];

const FAT: &[KnownOption] = &[
    (&["a"], Nothing),
    (&["b"], Word),
    (&["codepage"], Word),
    (&["D"], Word),
    (&["f"], Word),
    (&["F"], Word),
    (&["h"], Word),
    (&["i"], Word),
    (&["I"], Nothing),
    (&["invariant"], Nothing),
    (&["M"], Word),
    (&["n"], Label),
    (&["r"], Word),
    (&["R"], Word),
    (&["s"], Word),
    (&["S"], Word),
    (&["v"], Nothing),
];

const EXFAT: &[KnownOption] = &[
    (&["b", "boundary-align"], Word),
    (&["c", "cluster-size"], Word),
    (&["f", "full"], Nothing),
    (&["L", "volume-label"], Label),
    (&["pack-bitmap"], Nothing),
    (&["q", "quiet"], Nothing),
    (&["s", "sector-size"], Word),
    (&["U", "volume-guid"], Word),
    (&["v", "verbose"], Nothing),
];

const UDF: &[KnownOption] = &[
    (&["ad"], Word),
    (&["b", "blocksize"], Word),
    (&["closed"], Nothing),
    (&["fsid"], Label),
    (&["fullvsid"], Label),
    (&["gid"], Word),
    (&["l", "label"], Label),
    (&["lvid"], Label),
    (&["m", "media-type"], Word),
    (&["mode"], Word),
    (&["noefe"], Nothing),
    (&["novat"], Nothing),
    (&["packetlen"], Word),
    (&["r", "udfrev"], Word),
    (&["space"], Word),
    (&["spartable"], Word),
    (&["sparspace"], Word),
    (&["strategy"], Word),
    (&["u", "uuid"], Word),
    (&["uid"], Word),
    (&["utf8"], Nothing),
    (&["vid"], Label),
    (&["vsid"], Label),
];

const F2FS: &[KnownOption] = &[
    (&["a"], Word),
    (&["C"], Word),
    (&["e"], Word),
    (&["E"], Word),
    (&["f"], Nothing),
    (&["g"], Word),
    (&["i"], Nothing),
    (&["l"], Label),
    (&["o"], Word),
    (&["O"], Word),
    (&["q"], Nothing),
    (&["s"], Word),
    (&["t"], Word),
    (&["U"], Word),
    (&["w"], Word),
    (&["z"], Word),
];

/// Without `-j` and `-J`, which name another device.
const JFS: &[KnownOption] =
    &[(&["c"], Nothing), (&["L"], Label), (&["O"], Nothing), (&["q"], Nothing), (&["s"], Word)];

const NILFS2: &[KnownOption] = &[
    (&["b"], Word),
    (&["B"], Word),
    (&["c"], Nothing),
    (&["f"], Nothing),
    (&["K"], Nothing),
    (&["L"], Label),
    (&["m"], Word),
    (&["O"], Word),
    (&["q"], Nothing),
    (&["v"], Nothing),
];

/// What the program that makes a kind of file system may be told.
fn of_maker(file_system: &str) -> &'static [KnownOption] {
    match file_system {
        "ext4" | "ext3" | "ext2" => EXT,
        "xfs" => XFS,
        "btrfs" => BTRFS,
        "ntfs" => NTFS,
        "vfat" => FAT,
        "exfat" => EXFAT,
        "udf" => UDF,
        "f2fs" => F2FS,
        "jfs" => JFS,
        "nilfs2" => NILFS2,
        _ => &[],
    }
}

/// Options of `mount` for every kind of file system.
const MOUNT: &[&str] = &[
    "async",
    "atime",
    "auto",
    "defaults",
    "dev",
    "diratime",
    "dirsync",
    "exec",
    "iversion",
    "lazytime",
    "loop",
    "loud",
    "mand",
    "noatime",
    "noauto",
    "nodev",
    "nodiratime",
    "noexec",
    "noiversion",
    "nolazytime",
    "nomand",
    "norelatime",
    "nostrictatime",
    "nosuid",
    "nosymfollow",
    "relatime",
    "ro",
    "rw",
    "silent",
    "strictatime",
    "suid",
    "sync",
];

const MOUNT_EXT: &[&str] = &[
    "abort",
    "acl",
    "auto_da_alloc",
    "barrier",
    "block_validity",
    "bsddf",
    "bsdgroups",
    "check",
    "commit",
    "data",
    "data_err",
    "dax",
    "debug",
    "delalloc",
    "dioread_lock",
    "dioread_nolock",
    "discard",
    "errors",
    "fc_debug_force",
    "grpid",
    "grpquota",
    "i_version",
    "init_itable",
    "inode_readahead_blks",
    "inlinecrypt",
    "journal_async_commit",
    "journal_checksum",
    "journal_ioprio",
    "max_batch_time",
    "max_dir_size_kb",
    "mb_optimize_scan",
    "min_batch_time",
    "minixdf",
    "noacl",
    "noauto_da_alloc",
    "nobarrier",
    "noblock_validity",
    "nocheck",
    "nodelalloc",
    "nodiscard",
    "nogrpid",
    "noinit_itable",
    "nojournal_checksum",
    "noload",
    "nombcache",
    "no_mbcache",
    "no_prefetch_block_bitmaps",
    "noquota",
    "norecovery",
    "nouid32",
    "nouser_xattr",
    "nowarn_on_error",
    "oldalloc",
    "orlov",
    "prefetch_block_bitmaps",
    "prjquota",
    "quota",
    "resgid",
    "resuid",
    "sb",
    "stripe",
    "sysvgroups",
    "test_dummy_encryption",
    "user_xattr",
    "usrquota",
    "warn_on_error",
];

const MOUNT_XFS: &[&str] = &[
    "allocsize",
    "attr2",
    "barrier",
    "bsdgroups",
    "dax",
    "discard",
    "filestreams",
    "gqnoenforce",
    "gquota",
    "grpid",
    "grpquota",
    "ikeep",
    "inode32",
    "inode64",
    "largeio",
    "lifetime",
    "logbsize",
    "logbufs",
    "max_atomic_write",
    "noalign",
    "noattr2",
    "nobarrier",
    "nodiscard",
    "nogrpid",
    "noikeep",
    "nolargeio",
    "nolifetime",
    "noquota",
    "norecovery",
    "nouuid",
    "pqnoenforce",
    "pquota",
    "prjquota",
    "qnoenforce",
    "quota",
    "sunit",
    "swalloc",
    "swidth",
    "sysvgroups",
    "uqnoenforce",
    "uquota",
    "usrquota",
    "wsync",
];

const MOUNT_BTRFS: &[&str] = &[
    "acl",
    "autodefrag",
    "barrier",
    "clear_cache",
    "commit",
    "compress",
    "compress-force",
    "datacow",
    "datasum",
    "degraded",
    "discard",
    "enospc_debug",
    "fatal_errors",
    "flushoncommit",
    "ignorebadroots",
    "ignoredatacsums",
    "ignoremetacsums",
    "ignoresuperflags",
    "max_inline",
    "metadata_ratio",
    "noacl",
    "noautodefrag",
    "nobarrier",
    "nodatacow",
    "nodatasum",
    "nodiscard",
    "noenospc_debug",
    "noflushoncommit",
    "nologreplay",
    "nospace_cache",
    "nossd",
    "nossd_spread",
    "notreelog",
    "nouser_subvol_rm_allowed",
    "norecovery",
    "rescan_uuid_tree",
    "rescue",
    "skip_balance",
    "space_cache",
    "ssd",
    "ssd_spread",
    "subvolid",
    "thread_pool",
    "treelog",
    "usebackuproot",
    "user_subvol_rm_allowed",
];

const MOUNT_FAT: &[&str] = &[
    "allow_utime",
    "bsdgroups",
    "check",
    "codepage",
    "discard",
    "dmask",
    "dos1xfloppy",
    "dots",
    "errors",
    "fat",
    "flush",
    "fmask",
    "gid",
    "iocharset",
    "nfs",
    "nodots",
    "nodiscard",
    "nonumtail",
    "numtail",
    "obsolete",
    "quiet",
    "rodir",
    "shortname",
    "showexec",
    "sys_immutable",
    "time_offset",
    "tz",
    "uid",
    "umask",
    "uni_xlate",
    "usefree",
    "utf8",
];

const MOUNT_EXFAT: &[&str] = &[
    "allow_utime",
    "codepage",
    "discard",
    "dmask",
    "errors",
    "fmask",
    "gid",
    "iocharset",
    "keep_last_dots",
    "nodiscard",
    "sys_tz",
    "time_offset",
    "uid",
    "umask",
    "utf8",
    "zero_size_dir",
];

const MOUNT_NTFS: &[&str] = &[
    "acl",
    "allow_other",
    "attr_timeout",
    "big_writes",
    "compression",
    "default_permissions",
    "delay_mtime",
    "dmask",
    "efs_raw",
    "entry_timeout",
    "fmask",
    "force",
    "gid",
    "hide_dot_files",
    "hide_hid_files",
    "ignore_case",
    "inherit",
    "kernel_cache",
    "locale",
    "max_read",
    "no_def_opts",
    "nocompression",
    "norecover",
    "permissions",
    "posix_nlink",
    "recover",
    "remove_hiberfile",
    "show_sys_files",
    "silent",
    "special_files",
    "streams_interface",
    "uid",
    "umask",
    "windows_names",
];

const MOUNT_UDF: &[&str] = &[
    "adinicb",
    "anchor",
    "bs",
    "dmode",
    "gid",
    "iocharset",
    "lastblock",
    "longad",
    "mode",
    "noadinicb",
    "nostrict",
    "novrs",
    "session",
    "shortad",
    "uid",
    "umask",
    "undelete",
    "unhide",
    "utf8",
];

const MOUNT_F2FS: &[&str] = &[
    "acl",
    "active_logs",
    "age_extent_cache",
    "alloc_mode",
    "atgc",
    "background_gc",
    "barrier",
    "checkpoint",
    "checkpoint_merge",
    "compress_algorithm",
    "compress_cache",
    "compress_chksum",
    "compress_extension",
    "compress_log_size",
    "compress_mode",
    "data_flush",
    "disable_ext_identify",
    "disable_roll_forward",
    "discard",
    "discard_unit",
    "errors",
    "extent_cache",
    "fastboot",
    "flush_merge",
    "fsync_mode",
    "gc_merge",
    "grpquota",
    "heap",
    "inline_data",
    "inline_dentry",
    "inline_xattr",
    "inline_xattr_size",
    "inlinecrypt",
    "memory",
    "mode",
    "no_heap",
    "noacl",
    "nobarrier",
    "nocheckpoint_merge",
    "nocompress_extension",
    "nodiscard",
    "noextent_cache",
    "noflush_merge",
    "nogc_merge",
    "noinline_data",
    "noinline_dentry",
    "noinline_xattr",
    "noquota",
    "norecovery",
    "nouser_xattr",
    "prjquota",
    "quota",
    "reserve_root",
    "resgid",
    "resuid",
    "test_dummy_encryption",
    "user_xattr",
    "usrquota",
    "whint_mode",
];

const MOUNT_JFS: &[&str] = &[
    "discard",
    "errors",
    "gid",
    "grpquota",
    "integrity",
    "iocharset",
    "nodiscard",
    "nointegrity",
    "noquota",
    "quota",
    "resize",
    "uid",
    "umask",
    "usrquota",
];

const MOUNT_NILFS2: &[&str] = &[
    "barrier",
    "cp",
    "discard",
    "errors",
    "nobarrier",
    "nodiscard",
    "nogc",
    "norecovery",
    "order",
    "pp",
];

/// Discs, which are mounted as they are found.
const MOUNT_DISC: &[&str] = &[
    "block",
    "check",
    "cruft",
    "dmode",
    "gid",
    "hide",
    "iocharset",
    "map",
    "mode",
    "nojoliet",
    "norock",
    "overriderockperm",
    "sbsector",
    "session",
    "showassoc",
    "uid",
    "unhide",
    "utf8",
];

/// What `mount -o` may be told for a kind of file system besides [`MOUNT`].
fn of_mount(file_system: &str) -> &'static [&'static str] {
    match file_system {
        "ext4" | "ext3" | "ext2" => MOUNT_EXT,
        "xfs" => MOUNT_XFS,
        "btrfs" => MOUNT_BTRFS,
        "ntfs" => MOUNT_NTFS,
        "vfat" => MOUNT_FAT,
        "exfat" => MOUNT_EXFAT,
        "udf" => MOUNT_UDF,
        "f2fs" => MOUNT_F2FS,
        "jfs" => MOUNT_JFS,
        "nilfs2" => MOUNT_NILFS2,
        _ => &[],
    }
}

/// Every kind that has options of its own, for a file system that is mounted as it is found.
const ALL_MOUNTS: [&[&str]; 11] = [
    MOUNT_EXT,
    MOUNT_XFS,
    MOUNT_BTRFS,
    MOUNT_NTFS,
    MOUNT_FAT,
    MOUNT_EXFAT,
    MOUNT_UDF,
    MOUNT_F2FS,
    MOUNT_JFS,
    MOUNT_NILFS2,
    MOUNT_DISC,
];

/// An option that is not passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefusedOption {
    /// A word that is no option: a second device, a size.
    NoOption(String),
    /// An option that is not on the list.
    Unknown(String),
    /// A key of an option that is not on the list.
    UnknownKey(String, String),
    /// An option, or a key of one, whose value is missing.
    NoValue(String),
    /// A value that is no plain word, such as a path.
    NoWord(String, String),
}

impl RefusedOption {
    /// What is said of it.
    pub(crate) fn text(&self) -> Text {
        match self {
            RefusedOption::NoOption(word) => statement!(catalogue::NO_OPTION_WORD, word = word),
            RefusedOption::Unknown(option) => {
                statement!(catalogue::OPTION_NOT_PASSED, option = option)
            }
            RefusedOption::UnknownKey(option, key) => {
                statement!(catalogue::KEY_NOT_PASSED, option = option, key = key)
            }
            RefusedOption::NoValue(option) => {
                statement!(catalogue::OPTION_NEEDS_VALUE, option = option)
            }
            RefusedOption::NoWord(option, value) => {
                statement!(catalogue::OPTION_NO_WORD, option = option, value = value)
            }
        }
    }
}

/// Whether a text is a number, a size, a name, or several between commas: no path, nothing that a
/// shell or a program reads anything else into.
fn is_word(text: &str) -> bool {
    !text.starts_with('-')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-:,=^%@".contains(&byte))
}

/// Whether a text is a name for people.
fn is_label(text: &str) -> bool {
    text.chars().all(|character| !character.is_control())
}

/// The words of a text of options for the program that makes a file system, all of which are on
/// its list.
///
/// # Errors
/// The first that is not.
pub(crate) fn make_words(file_system: &str, text: &str) -> Result<Vec<String>, RefusedOption> {
    let known = of_maker(file_system);
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let mut rest = words.iter().copied();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let argument = find(known, name, word)?;
            take(argument, &format!("--{name}"), value, &mut rest)?;
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            for (index, letter) in letters.char_indices() {
                let option = format!("-{letter}");
                let argument = find(known, &option[1..], &option)?;
                if argument != Nothing {
                    let value = &letters[index + letter.len_utf8()..];
                    take(
                        argument,
                        &option,
                        Some(value).filter(|value| !value.is_empty()),
                        &mut rest,
                    )?;
                    break;
                }
            }
        } else {
            return Err(RefusedOption::NoOption(word.to_owned()));
        }
    }
    Ok(words.into_iter().map(str::to_owned).collect())
}

/// What follows an option of this name.
fn find(known: &[KnownOption], name: &str, shown: &str) -> Result<Argument, RefusedOption> {
    let is_it = |(names, _): &&KnownOption| names.contains(&name);
    let found = known.iter().find(is_it).map(|(_, argument)| *argument);
    // A long option has two dashes, and one of a letter has one.
    found
        .filter(|_| (name.chars().count() > 1) == shown.starts_with("--"))
        .ok_or_else(|| RefusedOption::Unknown(shown.to_owned()))
}

/// Takes what follows an option: what was joined to it, or the next word.
fn take<'a>(
    argument: Argument,
    option: &str,
    joined: Option<&'a str>,
    rest: &mut impl Iterator<Item = &'a str>,
) -> Result<(), RefusedOption> {
    if argument == Nothing {
        return match joined {
            Some(value) => Err(RefusedOption::NoWord(option.to_owned(), value.to_owned())),
            None => Ok(()),
        };
    }
    let value =
        joined.or_else(|| rest.next()).ok_or_else(|| RefusedOption::NoValue(option.to_owned()))?;
    let no_word = |value: &str| RefusedOption::NoWord(option.to_owned(), value.to_owned());
    match argument {
        Nothing => Ok(()),
        Label => is_label(value).then_some(()).ok_or_else(|| no_word(value)),
        Word => is_word(value).then_some(()).ok_or_else(|| no_word(value)),
        Keys(keys) => value.split(',').try_for_each(|part| {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if !keys.contains(&key) {
                return Err(RefusedOption::UnknownKey(option.to_owned(), key.to_owned()));
            }
            is_word(value).then_some(()).ok_or_else(|| no_word(value))
        }),
    }
}

/// Looks at options for `mount -o`; without a kind of file system whatever is on any list is taken.
///
/// # Errors
/// The first that is on no list.
pub(crate) fn check_mount(file_system: Option<&str>, text: &str) -> Result<(), RefusedOption> {
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let is_known = MOUNT.contains(&name)
            || match file_system {
                Some(kind) => of_mount(kind).contains(&name),
                None => ALL_MOUNTS.iter().any(|names| names.contains(&name)),
            };
        if !is_known {
            return Err(RefusedOption::Unknown(name.to_owned()));
        }
        if !is_word(value) {
            return Err(RefusedOption::NoWord(name.to_owned(), value.to_owned()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(kind: &str, text: &str) -> Result<usize, String> {
        make_words(kind, text).map(|words| words.len()).map_err(|error| error.text().to_string())
    }

    #[test]
    fn options_that_people_use_are_passed_on() {
        for (kind, text, count) in [
            ("ext4", "-m 0 -Elazy_itable_init=0,lazy_journal_init=0 -O ^has_journal,extent", 5),
            ("ext4", "-qFb4096 -L /srv/data -J size=4,location=0 -Enodiscard", 6),
            ("ext2", "", 0),
            ("xfs", "-l lazy-count=1 -d su=64k,sw=3 -K -mcrc=0", 6),
            ("btrfs", "-m single --data=single --csum xxhash -K", 6),
            ("vfat", "-F 32 -s8", 3),
            ("ntfs", "-c 65536 --label=x", 3),
            ("udf", "--blocksize=2048 -r 2.01", 3),
            ("exfat", "-c 128K --full", 3),
            ("f2fs", "-t0 -O extra_attr,compression", 3),
            ("jfs", "-s 8 -L /srv/data", 4),
            ("nilfs2", "-b 2048 -m5 -K", 4),
        ] {
            assert_eq!(make(kind, text), Ok(count), "{kind} {text}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_refused_however_it_is_written() {
        for (kind, text, expected) in [
            ("xfs", "-l logdev=/dev/loop4,size=64m", "`logdev` of `-l`"),
            ("xfs", "-llogdev=/dev/loop4", "`logdev` of `-l`"),
            ("xfs", "-l file,name=/var/tmp/x,size=64m", "`file` of `-l`"),
            ("xfs", "-l size=64m,name=x", "`name` of `-l`"),
            ("xfs", "-d file=1,name=x", "`file` of `-d`"),
            ("xfs", "-r rtdev=/dev/loop4", "`-r`"),
            ("xfs", "-p /etc/proto", "`-p`"),
            ("xfs", "-c options=/etc/x", "`-c`"),
            ("xfs", "-Kr rtdev=x", "`-r`"),
            ("ext4", "-z /var/tmp/undo", "`-z`"),
            ("ext4", "-qz undo", "`-z`"),
            ("ext4", "-J device=/dev/loop4", "`device` of `-J`"),
            ("ext4", "-Jdevice=UUID=0", "`device` of `-J`"),
            ("ext4", "-d /etc", "`-d`"),
            ("ext4", "-l /etc/passwd", "`-l`"),
            ("ext4", "-E stride=/x", "`/x` of `-E`"),
            ("ext4", "-E offset=1", "`offset` of `-E`"),
            ("btrfs", "/dev/loop5", "`/dev/loop5` is no option"),
            ("btrfs", "-K -- /dev/loop5", "`--`"),
            ("btrfs", "-f loop5", "`loop5` is no option"),
            ("btrfs", "-r /etc", "`-r`"),
            ("btrfs", "--rootdir=/etc", "`--rootdir=/etc`"),
            ("btrfs", "--root /etc", "`--root`"),
            ("btrfs", "--label", "`--label` needs a value"),
            ("btrfs", "--force=/x", "`/x` of `--force`"),
            ("vfat", "-C image 1000", "`-C`"),
            ("vfat", "-l /etc/passwd", "`-l`"),
            ("vfat", "-m /etc/shadow", "`-m`"),
            ("vfat", "1000", "`1000` is no option"),
            ("udf", "--new-file", "`--new-file`"),
            ("udf", "--b=2048", "`--b=2048`"),
            ("f2fs", "-c /dev/loop5", "`-c`"),
            ("jfs", "-j /dev/loop5", "`-j`"),
            ("jfs", "-J device=/dev/loop5", "`-J`"),
            ("nilfs2", "-n", "`-n`"),
            ("exfat", "-", "`-` is no option"),
            ("none", "-q", "`-q`"),
        ] {
            let error = make(kind, text).unwrap_err();
            assert!(error.contains(expected), "{kind} {text}: {error}");
        }
    }

    #[test]
    fn mount_is_told_nothing_that_names_another_device_or_a_program() {
        for (kind, text) in [
            (Some("ext4"), "data=writeback,noauto_da_alloc,barrier=0"),
            (Some("xfs"), "nobarrier,,logbsize=256k"),
            (Some("vfat"), "flush,async,umask=022,iocharset=utf8"),
            (Some("btrfs"), "compress=zstd:3,subvolid=5"),
            (Some("ntfs"), "big_writes,noatime"),
            (None, "ro,norock,compress=lzo"),
        ] {
            assert_eq!(check_mount(kind, text), Ok(()), "{text}");
        }
        for (kind, text, expected) in [
            (Some("ext4"), "noatime,journal_path=/dev/loop4", "journal_path"),
            (Some("ext4"), "journal_dev=0x701", "journal_dev"),
            (Some("xfs"), "logdev=/dev/loop4", "logdev"),
            (Some("btrfs"), "device=/dev/loop4", "device"),
            (Some("ext4"), "loop=/dev/loop4", "/dev/loop4"),
            (Some("ext4"), "bind", "bind"),
            (Some("ext4"), "remount", "remount"),
            (Some("ext4"), "X-mount.mkdir", "X-mount.mkdir"),
            (Some("ntfs"), "usermapping=/etc/x", "usermapping"),
            (Some("xfs"), "data=journal", "data"),
            (Some("ext4"), "data=/x", "/x"),
            (None, "helper=x", "helper"),
        ] {
            let error = check_mount(kind, text).unwrap_err().text().to_string();
            assert!(error.contains(&format!("`{expected}`")), "{text}: {error}");
        }
    }
}
