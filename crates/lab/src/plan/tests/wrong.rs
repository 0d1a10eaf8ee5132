//! What a user reads of a plan with a mistake in it.

use super::*;

#[test]
fn every_wrong_plan_has_its_line() {
    let mut wrong = Vec::new();
    for (from, to, message) in WRONG {
        assert!(GOOD.contains(from), "the table is wrong: {from}");
        let error = resolve("plan.toml", &GOOD.replacen(from, to, 1), &[]).expect_err(message);
        assert_eq!(error.exit_code(), 2);
        if error.to_string() != *message {
            wrong.push(format!("expected {message}\n   found {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A question that is too long to be a title is refused with its length; the longest one is not.
#[test]
fn a_question_of_500_characters_is_no_title() {
    let with = |letters: usize| {
        let question = format!("name = \"test\"\nquestion = \"{}\"", "é".repeat(letters));
        resolve("plan.toml", &GOOD.replacen("name = \"test\"", &question, 1), &[])
    };
    assert_eq!(
        with(500).unwrap_err().to_string(),
        "plan.toml:3:12: the question has 500 characters; at most 200 make a title"
    );
    assert_eq!(with(200).unwrap().plan.terms.question.unwrap().chars().count(), 200);
}

/// What is echoed of a value ends no line, and is no longer than one.
#[test]
fn a_value_is_echoed_within_its_line() {
    let of = |from: &str, to: &str| {
        let plan = GOOD.replacen(from, to, 1);
        resolve("plan.toml", &plan, &[]).expect_err(to).to_string()
    };
    let found = of("level = \"single\"", "level = \"single\"\nfile_system = \"a\\nb\"");
    assert!(found.contains(r"unknown file system `a\nb`; known: ext4"), "{found}");
    let long = "x".repeat(100_000);
    let range = "{ from = \"4KiB\", to = \"16KiB\" }";
    let found = of(range, &format!("\"{long}\""));
    assert!(found.contains(&format!("`{}…`", &long[..80])) && found.len() < 400, "{found}");
    let setting = format!("matrix.chunk={long}");
    let found = resolve("plan.toml", GOOD, &[setting]).expect_err("no size").to_string();
    assert!(found.starts_with("-s matrix.chunk=xxx") && found.len() < 500, "{found}");
}

/// Wrong plans, each made from the good one by one replacement, and the line that a user reads.
const WRONG: &[(&str, &str, &str)] = &[
    (
        "blocks = 2",
        "design = \"rase\"",
        "plan.toml:21:10: no design is called `rase`; did you mean `race`?",
    ),
    (
        "blocks = 2",
        "blocks = 2\ndesign = \"race\"",
        "plan.toml:22:10: a race drops nothing in its first 3 blocks: give it at least 4 \
        (trials.blocks), or say design = \"full\"",
    ),
    ("schema = 1\n", "", "plan.toml:1:1: the plan has no `schema` (the version of this format: 1)"),
    ("schema = 1", "schema = 2", "plan.toml:1:10: this raidloom reads plans of schema 1"),
    (
        "name = \"test\"",
        "nam = \"test\"",
        "plan.toml:1:1: the plan has no `name` (what people call the plan)",
    ),
    ("name = \"test\"", "name = \" \"", "plan.toml:2:8: a plan's name is one line, and not empty"),
    (
        "name = \"test\"",
        "name = \"test\"\nquestion = \" \"",
        "plan.toml:3:12: a plan's question is one line, and not empty",
    ),
    (
        "[trials]",
        "[trails]",
        "plan.toml:20:2: unknown key `trails` in the plan; did you mean `trials`?",
    ),
    (
        "blocks = 2",
        "bocks = 2",
        "plan.toml:21:1: unknown key `bocks` in [trials]; did you mean `blocks`?",
    ),
    (
        "blocks = 2",
        "zebra = 2",
        "plan.toml:21:1: unknown key `zebra` in [trials]; known: blocks, seed, design, rest, \
         interleave, real_time_limit, parameters",
    ),
    ("blocks = 2", "blocks = 0", "plan.toml:21:10: expected a whole number from 1 to 1000"),
    ("blocks = 2", "blocks = \"2\"", "plan.toml:21:10: expected a whole number from 1 to 1000"),
    ("seed = 7", "seed = -7", "plan.toml:22:8: expected a whole number of at least 0"),
    (
        "seed = 7\n",
        "seed = 7\n[report]\nmargin = \"two\"\n",
        "plan.toml:24:10: expected a share such as \"2%\" or 0.02",
    ),
    (
        "chunk = { from",
        "chnk = { from",
        "plan.toml:10:1: unknown key `chnk` in [matrix]; did you mean `chunk`?",
    ),
    (
        "chunk = { from = \"4KiB\", to = \"16KiB\" }\n",
        "",
        "plan.toml:9:10: raid0 needs the axis `chunk` in [matrix]",
    ),
    (
        "chunk = { from",
        "fs = \"xfs\"\nchunk = { from",
        "plan.toml:10:1: unknown key `fs` in [matrix]; known: members, level, \
            chunk, place, array, layout, metadata, consistency, bitmap, member_timeout, cache, \
            upkeep, file_system, make_options, mount_options, policy, image, image_size, image_io, \
            outer_file_system, outer_make_options, outer_mount_options, processors, kernel, memory, processor, \
            scheduler, read_ahead, max_request, queue_depth, write_cache, disk_size, state",
    ),
    (
        "level = [\"raid0\", \"linear\"]",
        "level = []",
        "plan.toml:9:9: the axis `level` is empty: it would leave no configuration",
    ),
    (
        "members = [\"memory\", \"nothing\"]\nlevel = [",
        "members = []\nlevel = [",
        "plan.toml:8:11: the axis `members` is empty: it would leave no configuration",
    ),
    (
        "{ from = \"4KiB\", to = \"16KiB\" }",
        "[]",
        "plan.toml:10:9: the axis `chunk` is empty: it would leave no configuration",
    ),
    (
        "to = \"16KiB\"",
        "to = \"2KiB\"",
        "plan.toml:10:31: `to` is smaller than `from`: the axis is empty",
    ),
    ("to = \"16KiB\"", "until = \"16KiB\"", "plan.toml:10:9: chunk has no `to` (the last size)"),
    ("\"linear\"", "\"raid00\"", "plan.toml:9:19: unknown level `raid00`; did you mean `raid0`?"),
    ("\"linear\"", "\"raid0\"", "plan.toml:9:19: raid0 is given twice"),
    (
        "{ from = \"4KiB\", to = \"16KiB\" }",
        "\"0\"",
        "plan.toml:10:9: a chunk of 0 is not possible: it has to be a multiple of 512 bytes, and \
        more than 0",
    ),
    (
        "{ from = \"4KiB\", to = \"16KiB\" }",
        "[\"4KiB\", \"1000\"]",
        "plan.toml:10:18: a chunk of 1000 is not possible: it has to be a multiple of 512 bytes, \
        and more than 0",
    ),
    (
        "{ from = \"4KiB\", to = \"16KiB\" }",
        "[\"4KiB\", \"2MiB\"]",
        "plan.toml:10:18: a chunk of 2MiB is larger than a member of [members.memory] (1MiB)",
    ),
    (
        "chunk = { from",
        "mount_options = \"noatime\"\nchunk = { from",
        "plan.toml:10:17: `mount_options` means nothing without a file system: give the axis \
        file_system",
    ),
    (
        "chunk = { from",
        "file_system = \"ext5\"\nchunk = { from",
        "plan.toml:10:15: unknown file system `ext5`; did you mean `ext4`?",
    ),
    (
        "chunk = { from",
        "processors = 0\nchunk = { from",
        "plan.toml:10:14: `0`: expected a number from 1 to 1024",
    ),
    (
        "chunk = { from",
        "memory = \"1GiB\"\nchunk = { from",
        "plan.toml:10:10: `memory` means nothing on this machine itself: give the axis place = \
        \"guest\"",
    ),
    (
        "chunk = { from",
        "image = \"raw\"\nchunk = { from",
        "plan.toml:10:9: `image` means nothing without a file system: give the axis file_system",
    ),
    (
        "chunk = { from",
        "image_size = \"1MiB\"\nchunk = { from",
        "plan.toml:10:14: `image_size` means nothing without an image: give the axis image = \
        \"raw\" or \"vhd\"",
    ),
    (
        "chunk = { from",
        "file_system = \"ext4\"\nimage = \"vdh\"\nchunk = { from",
        "plan.toml:11:9: `vdh`: expected one of raw, vhd; did you mean `vhd`?",
    ),
    (
        "level = [\"raid0\", \"linear\"]\n",
        "level = \"raid0\"\nfile_system = \"ext4\"\nimage = \"raw\"\n",
        "plan.toml:12:9: image = \"raw\" needs the axis image_size: the disk in the image",
    ),
    (
        "level = [\"raid0\", \"linear\"]\n",
        "level = \"raid0\"\nfile_system = \"ext4\"\nimage = \"raw\"\nimage_size = \"1MiB\"\n",
        "plan.toml:13:9: image = \"raw\" needs the axis outer_file_system: what the image is a file \
        of",
    ),
    (
        "level = [\"raid0\", \"linear\"]\n",
        "level = \"raid0\"\nfile_system = \"ext4\"\nimage = \"raw\"\nimage_size = \"2MiB\"\n\
        outer_file_system = \"vfat\"\n",
        "plan.toml:14:9: an image of 2MiB does not fit into vfat on a device of 2MiB: make it \
        smaller",
    ),
    (
        "chunk = { from",
        "outer_file_system = \"none\"\nchunk = { from",
        "plan.toml:10:21: unknown file system `none`; known: ext4, ext3, ext2, xfs, btrfs, ntfs, \
        vfat, exfat, udf, f2fs, jfs, nilfs2",
    ),
    (
        "chunk = { from",
        "cache = \"ram\"\nchunk = { from",
        "plan.toml:10:9: there is no `ram` in [caches]; known: none",
    ),
    (
        "chunk = { from",
        "file_system = \"ext4\"\npolicy = \"slow\"\nchunk = { from",
        "plan.toml:11:10: slow: expected quick or performance",
    ),
    (
        "{ from = \"4KiB\", to = \"16KiB\" }",
        "\"4 monkeys\"",
        "plan.toml:10:9: `4 monkeys` has the unknown unit `monkeys`; expected a size such as 4096, \
        64KiB (1024-based) or 64kB (1000-based)",
    ),
    (
        "members = [\"memory\", \"nothing\"]\nlevel = [",
        "members = [\"memry\", \"nothing\"]\nlevel = [",
        "plan.toml:8:12: there is no [members.memry]; did you mean `memory`?",
    ),
    (
        "[members.nothing]",
        "[members.\"not here\"]",
        "plan.toml:5:10: `not here`: a set's name consists of letters, digits, - and _, because \
        files are named after it",
    ),
    (
        "stacks = [\"null:4MiB\", \"null:2MiB\"]",
        "stacks = []",
        "plan.toml:6:10: [members.nothing] has no member",
    ),
    (
        "stacks = [\"null:4MiB\", \"null:2MiB\"]",
        "stack = []",
        "plan.toml:6:1: unknown key `stack` in [members.nothing]; did you mean `stacks`?",
    ),
    (
        "stacks = [\"null:4MiB\", \"null:2MiB\"]",
        "files = { size = \"1MiB\" }",
        "plan.toml:6:9: files has no `count` (how many files to make)",
    ),
    (
        "stacks = [\"null:4MiB\", \"null:2MiB\"]",
        "files = { count = 2, size = \"1000\" }",
        "plan.toml:6:29: a file's size has to be a multiple of 4KiB, and more than nothing",
    ),
    (
        "stacks = [\"null:4MiB\", \"null:2MiB\"]",
        "files = { count = 1, size = \"1MiB\", dir = \"/no/such\" }",
        "plan.toml:6:43: /no/such is no folder",
    ),
    (
        "stacks = [\"null:4MiB\", \"null:2MiB\"]",
        "",
        "plan.toml:5:10: [members.nothing] needs exactly one of files, models, devices, stacks, rbd",
    ),
    (
        "stacks = [\"null:4MiB\", \"null:2MiB\"]",
        "rbd = \"image\"",
        "plan.toml:6:7: stack text `rbd:image`, byte 4: found `image`, expected an image \
        (POOL/IMAGE)",
    ),
    (
        "stacks = [\"null:4MiB\", \"null:2MiB\"]",
        "rbd = \"pool/image\"\npool_size = 3",
        "plan.toml:7:13: pool_size and pool_min_size are said together",
    ),
    (
        "stacks = [\"null:4MiB\", \"null:2MiB\"]",
        "stacks = [\"null:4MiB\", \"null:2MiB\"]\npool_size = 3\npool_min_size = 2",
        "plan.toml:7:13: this belongs to images of a Ceph cluster (rbd)",
    ),
    (
        "level = \"single\"\nmembers = [\"memory\", \"nothing\"]",
        "level = \"linear\"\nmembers = \"memory\"",
        "plan.toml:12:9: [[add]] adds a configuration that is there already: members = memory, \
        level = linear",
    ),
    (
        "level = \"single\"\nmembers = [\"memory\", \"nothing\"]",
        "level = \"single\"\nmembers = \"memory\"\nchunk = \"4KiB\"",
        "plan.toml:14:9: `chunk` means nothing to the levels of [[add]]; only striped levels have \
        chunks",
    ),
    (
        "[baseline]\nlevel = \"single\"",
        "[baseline]\nlevel = \"raid0\"\nchunk = \"2KiB\"",
        "plan.toml:14:1: [baseline] is no configuration of this plan; add it with [[add]] or name \
        another",
    ),
    (
        "[baseline]\nlevel = \"single\"",
        "[baseline]",
        "plan.toml:14:1: [baseline] names nothing; give at least one axis, for example level",
    ),
    (
        "[baseline]\nlevel = \"single\"",
        "[baseline]\nlevle = \"single\"",
        "plan.toml:15:1: unknown key `levle` in [baseline]; did you mean `level`?",
    ),
    (
        "level = \"single\"\nmembers = [\"memory\", \"nothing\"]",
        "level = \"single\"\nmembers = \"memory\"",
        "plan.toml:14:1: [baseline] is no configuration for members = nothing, level = raid0, \
        chunk = 4KiB; add it with [[add]]",
    ),
    (
        "[baseline]\nlevel = \"single\"",
        "[baseline]\nlevel = \"raid0\"",
        "plan.toml:14:1: [baseline] is more than one configuration for members = memory, level = \
        linear: (members = memory, level = raid0, chunk = 4KiB) and (members = memory, level = \
        raid0, chunk = 8KiB); name more axes",
    ),
    (
        "[[workload]]",
        "[workload]",
        "plan.toml:16:1: `workload` has to be given as [[workload]] tables",
    ),
    (
        "\"devtest\"",
        "\"devtst\"",
        "plan.toml:17:9: unknown suite `devtst`; did you mean `devtest`?",
    ),
    (
        "\"random read 512\"",
        "\"random read 513\"",
        "plan.toml:18:10: the suite has no row `random read 513`; did you mean `random read 512`?",
    ),
    (
        "time_per_test = {",
        "depth = 0\ntime_per_test = {",
        "plan.toml:19:9: `0`: expected a whole number from 1 to 4096",
    ),
    (
        "wall = \"10ms\"",
        "wal = \"10ms\"",
        "plan.toml:19:19: unknown key `wal` in time; did you mean `wall`?",
    ),
    (
        "\"10ms\"",
        "\"10\"",
        "plan.toml:19:26: `10` has no unit; expected a duration such as 50ms, 2s or 10min",
    ),
    (
        "time_per_test = {",
        "verify = \"some\"\ntime_per_test = {",
        "plan.toml:19:10: `some`: expected off, words, full",
    ),
    (
        "seed = 7\n",
        "seed = 7\n[[skip]]\nchunk = \"1MiB\"\nwhy = \"x\"\n",
        "plan.toml:23:1: this [[skip]] matches no configuration",
    ),
    (
        "seed = 7\n",
        "seed = 7\n[[skip]]\nchunk = \"4KiB\"\n",
        "plan.toml:23:1: [[skip]] has no `why` (the reason, shown with the plan)",
    ),
];
