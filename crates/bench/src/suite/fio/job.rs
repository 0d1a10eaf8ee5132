//! The text of a job file: its lines, and which options of fio's it may have.
//!
//! A job file is a stranger's text. fio itself would write to whatever file or device it names, run
//! its commands, keep logs wherever it likes and change the scheduler of a disk. So the list says
//! what a job may have, and not what it may not: all else is refused with its line. The list is of
//! fio's manual, versions 2 to 3.

use words::statement;

use super::super::command::{DEVICE, FOLDER};
use crate::suite::catalogue;

/// A line that is longer would be two to fio, which reads 4 KiB at a time.
const LINE_BYTES_MAX: usize = 1000;

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// The head of a section: `[name]`.
    Section(&'a str),
    /// An option with its value; `1` where it has none.
    Option(&'a str, &'a str),
}

/// What an option is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionValue {
    /// Numbers, sizes and words, between commas or colons.
    Word,
    /// The same with shares of them: `4k/60:64k/40`.
    Shares,
    /// What data look like, as words and text in double quotes.
    Pattern,
    /// A text for people.
    Text,
    /// Files or folders of the target.
    Place,
    /// How files are called, of words and fio's own `$jobname`, `$jobnum` and `$filenum`.
    FileFormat,
    /// One of [`ENGINES`].
    Engine,
}

use OptionValue::{Engine, FileFormat, Pattern, Place, Shares, Text, Word};

/// Ways to do I/O on the files that a job has. Others bring places of their own: an export, a
/// cluster, a program that is run.
const ENGINES: [&str; 17] = [
    "cpuio",
    "falloc",
    "filecreate",
    "filedelete",
    "filestat",
    "ftruncate",
    "io_uring",
    "libaio",
    "mmap",
    "null",
    "posixaio",
    "psync",
    "pvsync",
    "pvsync2",
    "splice",
    "sync",
    "vsync",
];

/// Options that take a plain word.
const WORDS: &[&str] = &[
    "allow_file_create",
    "allrandrepeat",
    "atomic",
    "ba",
    "block_error_percentiles",
    "blockalign",
    "blocksize",
    "blocksize_range",
    "blocksize_unaligned",
    "bs",
    "bs_is_seq_rand",
    "bs_unaligned",
    "bsrange",
    "buffer_compress_chunk",
    "buffer_compress_percentage",
    "buffered",
    "bwavgtime",
    "clat_percentiles",
    "clocksource",
    "cmdprio",
    "cmdprio_class",
    "cmdprio_hint",
    "cmdprio_percentage",
    "continue_on_error",
    "cpuchunks",
    "cpuload",
    "cpumask",
    "cpumode",
    "cpus_allowed",
    "cpus_allowed_policy",
    "create_fsync",
    "create_on_open",
    "create_only",
    "create_serialize",
    "dedupe_global",
    "dedupe_mode",
    "dedupe_percentage",
    "dedupe_working_set_percentage",
    "direct",
    "disable_bw",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "disk_util",
    "do_verify",
    "end_fsync",
    "error_dump",
    "exit_on_io_done",
    "exit_what",
    "exitall",
    "exitall_on_error",
    "experimental_verify",
    "fadvise",
    "fadvise_hint",
    "fallocate",
    "fdatasync",
    "file_append",
    "file_service_type",
    "filesize",
    "fill_device",
    "fill_fs",
    "fixedbufs",
    "flow",
    "flow_id",
    "flow_sleep",
    "flow_watermark",
    "force_async",
    "fsync",
    "fsync_on_close",
    "group_reporting",
    "gtod_cpu",
    "gtod_reduce",
    "hipri",
    "hipri_percentage",
    "hugepage-size",
    "ignore_error",
    "ignore_zone_limits",
    "invalidate",
    "io_limit",
    "io_size",
    "io_submit_mode",
    "iodepth",
    "iodepth_batch",
    "iodepth_batch_complete",
    "iodepth_batch_complete_max",
    "iodepth_batch_complete_min",
    "iodepth_batch_submit",
    "iodepth_low",
    "iomem",
    "iomem_align",
    "iopsavgtime",
    "job_max_open_zones",
    "kb_base",
    "lat_percentiles",
    "latency_percentile",
    "latency_run",
    "latency_target",
    "latency_window",
    "lockfile",
    "lockmem",
    "loops",
    "max_latency",
    "max_open_zones",
    "mem",
    "mem_align",
    "mix_percentile",
    "name",
    "nice",
    "nonvectored",
    "norandommap",
    "nowait",
    "nr_files",
    "nrfiles",
    "num_range",
    "numa_cpu_nodes",
    "numa_mem_policy",
    "number_ios",
    "numjobs",
    "offset",
    "offset_align",
    "offset_increment",
    "openfiles",
    "overwrite",
    "percentage_random",
    "percentile_list",
    "pre_read",
    "prio",
    "prioclass",
    "priohint",
    "ramp_time",
    "random_generator",
    "randrepeat",
    "randseed",
    "rate",
    "rate_cycle",
    "rate_ignore_thinktime",
    "rate_iops",
    "rate_iops_min",
    "rate_min",
    "rate_process",
    "ratecycle",
    "ratemin",
    "read_beyond_wp",
    "readwrite",
    "refill_buffers",
    "registerfiles",
    "runtime",
    "rw",
    "rw_sequencer",
    "rwmixcycle",
    "rwmixread",
    "rwmixwrite",
    "scramble_buffers",
    "serialize_overlap",
    "significant_figures",
    "size",
    "slat_percentiles",
    "softrandommap",
    "sqthread_poll",
    "sqthread_poll_cpu",
    "start_delay",
    "startdelay",
    "stats",
    "steadystate",
    "steadystate_check_interval",
    "steadystate_duration",
    "steadystate_ramp_time",
    "stonewall",
    "sync",
    "sync_file_range",
    "thinkcycles",
    "thinktime",
    "thinktime_blocks",
    "thinktime_blocks_type",
    "thinktime_iotime",
    "thinktime_spin",
    "thread",
    "time_based",
    "timeout",
    "trim_backlog",
    "trim_backlog_batch",
    "trim_percentage",
    "trim_verify_zero",
    "uncached",
    "unified_rw_reporting",
    "unique_filename",
    "unit_base",
    "unlink",
    "unlink_each_loop",
    "use_os_rand",
    "userspace_reap",
    "verify",
    "verify_async",
    "verify_async_cpus",
    "verify_backlog",
    "verify_backlog_batch",
    "verify_dump",
    "verify_fatal",
    "verify_header_seed",
    "verify_interval",
    "verify_offset",
    "verify_only",
    "verify_write_sequence",
    "verifysort",
    "verifysort_nr",
    "wait_for",
    "wait_for_previous",
    "write_barrier",
    "write_hint",
    "write_mode",
    "zero_buffers",
    "zone_reset_frequency",
    "zone_reset_threshold",
    "zonecapacity",
    "zonemode",
    "zonerange",
    "zonesize",
    "zoneskip",
];

/// Options that take something else.
const OTHERS: &[(&str, OptionValue)] = &[
    ("bssplit", Shares),
    ("buffer_pattern", Pattern),
    ("cmdprio_bssplit", Shares),
    ("description", Text),
    ("directory", Place),
    ("filename", Place),
    ("filename_format", FileFormat),
    ("ioengine", Engine),
    ("random_distribution", Shares),
    ("verify_pattern", Pattern),
];

/// What fio puts for in the name of a file.
const OF_FILES: [&str; 4] = ["jobname", "jobnum", "filenum", "clientuid"];

/// The lines of a job file that say something, with their numbers.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Result<(usize, Line<'_>), words::Text>> {
    text.lines().zip(1..).filter_map(|(line, number)| {
        let read = read(line).map_err(|text| text.at(place(number)));
        read.transpose().map(|line| line.map(|line| (number, line)))
    })
}

/// Where a line is.
pub(super) fn place(number: usize) -> words::Text {
    statement!(catalogue::LINE_OF_JOB, number = number)
}

fn read(whole: &str) -> Result<Option<Line<'_>>, words::Text> {
    let line = whole.trim();
    if whole.len() > LINE_BYTES_MAX {
        return Err(statement!(catalogue::LONG_LINE_OF_JOB, most = LINE_BYTES_MAX));
    }
    if line.is_empty() || line.starts_with([';', '#']) {
        return Ok(None);
    }
    if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        // Files have the names of their jobs.
        let is_plain = |character: char| !character.is_control() && !"/\\$`[]".contains(character);
        return match !name.is_empty() && name.len() <= 200 && name.chars().all(is_plain) {
            true => Ok(Some(Line::Section(name))),
            false => Err(statement!(catalogue::NO_NAME_OF_JOB, name = name)),
        };
    }
    if line.split_whitespace().next() == Some("include") {
        return Err(catalogue::INCLUDE_IN_JOB.into());
    }
    let (name, value) = line.split_once('=').unwrap_or((line, "1"));
    let (name, value) = (name.trim(), value.trim());
    check(name, value)?;
    Ok(Some(Line::Option(name, value)))
}

/// Whether a job may have this.
fn check(name: &str, value: &str) -> Result<(), words::Text> {
    if name == "new_group" {
        return Err(catalogue::NEW_GROUP_IN_JOB.into());
    }
    let takes = OTHERS.iter().find(|(known, _)| *known == name).map(|(_, takes)| *takes);
    let takes = takes
        .or_else(|| WORDS.contains(&name).then_some(Word))
        .ok_or_else(|| statement!(catalogue::NO_OPTION_OF_JOB, name = name))?;
    let wrong = |expected: words::Text| {
        let message = catalogue::VALUE_IN_JOB;
        Err(statement!(message, name = name, value = value, expected = expected))
    };
    match takes {
        Word if is_of(value, "") => Ok(()),
        Shares if is_of(value, "/") => Ok(()),
        Pattern if is_of(value, "\"") => Ok(()),
        Word | Shares => wrong(catalogue::JOB_WORDS.into()),
        Pattern => wrong(catalogue::JOB_PATTERN.into()),
        Text if !value.contains(['$', '`', '\\']) => Ok(()),
        Text => wrong(catalogue::JOB_TEXT.into()),
        Place if is_place(name, value) => Ok(()),
        Place if name == "directory" => wrong(statement!(catalogue::JOB_FOLDER, folder = FOLDER)),
        Place => wrong(statement!(catalogue::JOB_FILE, folder = FOLDER, device = DEVICE)),
        FileFormat if is_file_format(value) => Ok(()),
        FileFormat => wrong(catalogue::JOB_FILE_NAMES.into()),
        Engine if ENGINES.contains(&value) => Ok(()),
        Engine => wrong(statement!(catalogue::JOB_ENGINES, names = ENGINES.join(", "))),
    }
}

fn is_of(text: &str, more: &str) -> bool {
    text.chars().all(|character| {
        character.is_ascii_alphanumeric()
            || " ._+-:,^=%*".contains(character)
            || more.contains(character)
    })
}

/// Whether a value names nothing but what is put for [`FOLDER`] and [`DEVICE`], and files below.
fn is_place(name: &str, value: &str) -> bool {
    let is_file = |text: &str| {
        text.split('/').all(|name| {
            !matches!(name, "" | "." | "..")
                && name.chars().all(|character| {
                    character.is_ascii_alphanumeric() || "._-+".contains(character)
                })
        })
    };
    let is_one = |text: &str| match text.strip_prefix(FOLDER) {
        Some("") => name == "directory",
        Some(rest) => rest.strip_prefix('/').is_some_and(is_file),
        None => text == DEVICE && name == "filename",
    };
    value.split(':').all(is_one)
}

fn is_file_format(value: &str) -> bool {
    let mut parts = value.split('$');
    let is_plain = |text: &str| is_of(text, "") && !text.contains("..");
    parts.next().is_some_and(is_plain)
        && parts.all(|part| {
            let rest = OF_FILES.iter().find_map(|known| part.strip_prefix(known));
            rest.is_some_and(is_plain)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<usize, words::Text> {
        lines(text).collect::<Result<Vec<_>, _>>().map(|lines| lines.len())
    }

    #[test]
    fn what_jobs_are_made_of_is_read() {
        let text = "# a comment\n; another\n[global]\nbs = 4k\nrw=randrw:8\nsize=50%\n\
            bssplit=4k/60:64k/40,8k\npercentile_list=50:99.9\nioengine=io_uring\ndirect\n\
            sync_file_range=wait_before,write:8\nverify_pattern=0xdeadbeef\n\
            buffer_pattern=\"abcd\"-12\ndescription=What it does: all / nothing\n\
            random_distribution=zoned:60/10:30/20:8/30\n[a b]\ndirectory={dir}/sub\n\
            filename_format=$jobname.$jobnum-$filenum\n[c]\nfilename={dir}/x:{dir}/y.1\n\
            [d]\nfilename={device}\n";
        assert_eq!(all(text), Ok(20));
        assert_eq!(
            lines("[a]\nstonewall\n").collect::<Result<Vec<_>, _>>().unwrap(),
            [(1, Line::Section("a")), (2, Line::Option("stonewall", "1"))]
        );
    }

    #[test]
    fn what_leads_elsewhere_is_refused_with_its_line() {
        for line in [
            "filename=/dev/sda",
            "filename=precious.img",
            "filename={dir}/../x",
            "filename={dir}/./x",
            "filename={dir}/a:/etc/passwd",
            "filename={dir}/a\\:b",
            "filename={dir}x",
            "filename={dir}/..;x",
            "filename={dir}/..#x",
            "filename={dir}/${HOME}",
            "filename={dir}",
            "filename=-",
            "directory=/tmp",
            "directory={dir}/..",
            "directory={device}",
            "filename_format=../$jobname",
            "filename_format=/x/$jobname",
            "filename_format=$HOME",
            "opendir=/etc",
            "exec_prerun=touch x",
            "exec_postrun=touch x",
            "ioengine=external:/tmp/x.so",
            "ioengine=exec",
            "ioengine=net",
            "ioengine=rbd",
            "ioengine=nbd",
            "ioengine=sg",
            "ioscheduler=none",
            "cgroup=x",
            "uid=0",
            "write_bw_log=/tmp/x",
            "write_lat_log",
            "write_iolog=x",
            "read_iolog=x",
            "replay_redirect=/dev/sda",
            "merge_blktrace_file=x",
            "aux_path=/tmp",
            "mem=mmaphuge:/tmp/x",
            "iomem=mmap:/tmp/x",
            "buffer_pattern='/etc/shadow'",
            "size=$mb_memory'; touch x; '",
            "size=${SIZE}",
            "bs=`id`",
            "profile=x",
            "include x.fio",
            "new_group",
            "[a] filename=/x",
            "[../../x]",
            "[${X}]",
            "END OF JOB FILE",
            "Filename=/x",
            "program=/bin/sh",
        ] {
            let error = all(&format!("[a]\n{line}\n")).unwrap_err().to_string();
            let key = line.split(['=', ' ']).next().unwrap();
            assert!(error.starts_with("line 2: ") && error.contains(key), "{line}: {error}");
        }
    }

    /// fio reads lines of 4 KiB: the end of a longer one, a comment too, would be a line to it.
    #[test]
    fn a_line_that_fio_would_take_for_two_is_refused() {
        let long = format!("# {}\nfilename={{dir}}/x\n", "x".repeat(LINE_BYTES_MAX));
        let error = all(&long).unwrap_err().to_string();
        assert!(error.starts_with("line 1: a line of more than"), "{error}");
    }
}
