//! `array create`: the superblocks of a new array.

use std::path::PathBuf;

use array::md::{Consistency, Layout, Level, Superblock, uuid_text};
use block::SECTOR_BYTES;
use clap::{Args, ValueEnum};
use host::guard::Guard;
use mdtools::{Create, CreateMember, CreatedArray, MemberSource};
use serde_json::{Value, json};

use crate::catalogue::{self, say, statement};
use crate::consent::Consent;
use crate::failure::Failure;
use crate::output::{Output, said};
use crate::signals;

/// `array create`.
#[derive(Args, Debug)]
pub(crate) struct CreateArguments {
    /// The array's name, at most 32 bytes
    pub name: String,

    /// linear, 0, 1, 4, 5, 6 or 10 (also raid0, stripe, mirror, ...)
    #[arg(short, long)]
    pub level: String,

    /// Chunk size; 512KiB where the level has chunks
    #[arg(short, long, value_name = "SIZE")]
    pub chunk: Option<String>,

    /// Layout as in mdadm: left-symmetric (ls), ..., n2, f2, o2; for level 0: original or alternate
    #[arg(long)]
    pub layout: Option<String>,

    /// The members in order: files, disks, or arrays of them that are made too
    /// (`raid1(a.img, b.img)`); `missing` leaves a slot empty
    #[arg(short, long, required = true, num_args = 1.., value_name = "PATH")]
    pub member: Vec<PathBuf>,

    /// Spare members, used when another fails
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub spare: Vec<PathBuf>,

    /// Number of members, checked against those that are named
    #[arg(short = 'n', long, value_name = "N")]
    pub raid_devices: Option<usize>,

    /// Number of spares, checked against those that are named
    #[arg(short = 'x', long, value_name = "N")]
    pub spare_devices: Option<usize>,

    /// Create missing member files with this size
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,

    /// How members are brought to agree after a crash
    #[arg(short = 'k', long, value_enum, default_value = "resync")]
    pub consistency_policy: ConsistencyArgument,

    /// Keep a write-intent bitmap on the members: the same as --consistency-policy bitmap
    #[arg(short, long, value_enum, value_name = "WHERE")]
    pub bitmap: Option<BitmapArgument>,

    /// What a bit of the bitmap covers: the least that is copied to a member that was detached
    /// [default: 64MiB, or more where the bitmap would not fit]
    #[arg(long, value_name = "SIZE")]
    pub bitmap_chunk: Option<String>,

    /// The members agree already: no first resync. On members that do not, parity is wrong until it
    /// is repaired
    #[arg(long)]
    pub assume_clean: bool,

    /// Encrypt what is in the array (LUKS2) with the passphrase that this file holds
    #[arg(long, value_name = "FILE")]
    pub encrypt: Option<PathBuf>,

    #[command(flatten)]
    #[allow(missing_docs)]
    pub consent: Consent,
}

/// How members are brought to agree after a crash.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum ConsistencyArgument {
    /// Going over all of them
    Resync,
    /// Going over the regions that a write-intent bitmap names
    Bitmap,
    /// The partial parity log (level 5)
    Ppl,
}

/// Where a bitmap is kept.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BitmapArgument {
    /// On the members
    Internal,
    /// Nowhere
    None,
}

/// What a bit of md's bitmap covers at least.
const BITMAP_CHUNK_MIN_BYTES: u64 = 4096;

/// Levels by the names that mdadm takes.
pub(super) fn level(text: &str) -> Result<Level, Failure> {
    mdtools::level(text)
        .ok_or_else(|| Failure::usage(catalogue::LEVEL_EXPECTED).at(said("--level", text)))
}

fn layout(level: Level, text: Option<&str>) -> Result<Layout, Failure> {
    mdtools::layout(level, text).map_err(|expected| match text {
        Some(_) if matches!(level, Level::Linear | Level::Raid1 | Level::Raid4) => {
            Failure::usage(statement!(ONE_LAYOUT, level = level.to_string()))
        }
        text => {
            let (expected, level) = (words::Text::from(expected), level.to_string());
            let text = text.unwrap_or_default();
            Failure::usage(statement!(LAYOUT_EXPECTED, expected = expected, level = level))
                .at(said("--layout", text))
        }
    })
}

fn consistency(output: &Output, arguments: &CreateArguments) -> Result<Consistency, Failure> {
    let chunk_bytes = match &arguments.bitmap_chunk {
        Some(text) => {
            let bytes = output.size("--bitmap-chunk", text)?;
            if !bytes.is_power_of_two() || bytes < BITMAP_CHUNK_MIN_BYTES {
                let least = block::size_text(BITMAP_CHUNK_MIN_BYTES);
                return Err(Failure::usage(statement!(BITMAP_CHUNK_EXPECTED, least = least))
                    .at(said("--bitmap-chunk", text)));
            }
            Some(u32::try_from(bytes).map_err(|_| {
                Failure::usage(catalogue::BITMAP_CHUNK_LARGE).at(said("--bitmap-chunk", text))
            })?)
        }
        None => None,
    };
    match (arguments.consistency_policy, arguments.bitmap) {
        (ConsistencyArgument::Ppl, Some(BitmapArgument::Internal)) => {
            Err(Failure::usage(catalogue::BITMAP_AND_LOG))
        }
        (ConsistencyArgument::Bitmap, Some(BitmapArgument::None)) => {
            Err(Failure::usage(catalogue::BITMAP_ASKED))
        }
        (ConsistencyArgument::Bitmap, _)
        | (ConsistencyArgument::Resync, Some(BitmapArgument::Internal)) => {
            Ok(Consistency::Bitmap { chunk_bytes })
        }
        (_, _) if chunk_bytes.is_some() => Err(Failure::usage(catalogue::NO_BITMAP)),
        (ConsistencyArgument::Ppl, _) => Ok(Consistency::Ppl),
        (ConsistencyArgument::Resync, _) => Ok(Consistency::Resync),
    }
}

/// What was said, as far as it can be checked without looking at a member.
fn wanted(output: &Output, arguments: &CreateArguments) -> Result<Create, Failure> {
    let level = level(&arguments.level)?;
    let chunk_bytes = match (&arguments.chunk, level.has_chunks()) {
        (Some(text), true) => output.size("--chunk", text)?,
        (Some(text), false) => {
            return Err(Failure::usage(statement!(NO_CHUNKS, level = level.to_string()))
                .at(said("--chunk", text)));
        }
        (None, true) => mdtools::CHUNK_BYTES,
        (None, false) => 0,
    };
    if chunk_bytes % SECTOR_BYTES != 0 {
        let said = statement!(CHUNK_SECTORS, count = chunk_bytes, sector = SECTOR_BYTES);
        return Err(Failure::usage(said));
    }
    for (flag, given, counted) in [
        ("--raid-devices", arguments.raid_devices, arguments.member.len()),
        ("--spare-devices", arguments.spare_devices, arguments.spare.len()),
    ] {
        if let Some(given) = given.filter(|given| *given != counted) {
            let said = statement!(OTHER_COUNT, flag = flag, given = given, count = counted);
            return Err(Failure::usage(said));
        }
    }
    let member = |path: &PathBuf| {
        (path.as_os_str() != "missing").then(|| CreateMember::parse(path)).transpose()
    };
    let members = arguments.member.iter().map(member).collect::<Result<_, _>>()?;
    let spare = |path: &PathBuf| MemberSource::parse(path);
    Ok(Create {
        name: arguments.name.clone(),
        level,
        layout: layout(level, arguments.layout.as_deref())?,
        chunk_bytes,
        members,
        spares: arguments.spare.iter().map(spare).collect::<Result<_, _>>()?,
        consistency: consistency(output, arguments)?,
        create_bytes: arguments
            .size
            .as_deref()
            .map(|text| output.size("--size", text))
            .transpose()?,
        assume_clean: arguments.assume_clean,
        // What the members hold may be an array whose superblocks were lost.
        blank: false,
        encrypt: arguments.encrypt.clone(),
    })
}

/// Whether it is no file that would have to be made.
fn is_there(source: &MemberSource) -> bool {
    source.path().is_none_or(|path| path.symlink_metadata().is_ok())
}

pub(super) fn create(output: &Output, arguments: &CreateArguments) -> Result<(), Failure> {
    let wanted = wanted(output, arguments)?;
    if let Some(text) =
        arguments.size.as_ref().filter(|_| wanted.sources().into_iter().all(is_there))
    {
        return Err(Failure::usage(catalogue::SIZE_FOR_MADE).at(said("--size", text)));
    }
    let guard = Guard::new(arguments.consent.clone().into());
    let stop = signals::stop_flag()?;
    let created = mdtools::create(&guard, &wanted, &stop)?;
    if output.json {
        let mut document = json_of(&created);
        document["members"] = json!(members_text(&wanted));
        return output.document(&document);
    }
    let mut lines = Vec::new();
    push_lines(&created, &mut lines);
    if !created.below.is_empty() || arguments.encrypt.is_some() {
        let stack = escape::shell(&created.stack.to_string());
        let name = escape::shell(&wanted.name);
        let command = format!("raidloom array start --name {name} {stack}");
        lines.push(say!(CREATED_START, command = command));
    }
    output.result(&lines.join("\n"))
}

fn members_text(wanted: &Create) -> Vec<String> {
    let text = |member: &Option<CreateMember>| {
        member.as_ref().map_or_else(|| "missing".to_owned(), ToString::to_string)
    };
    wanted.members.iter().map(text).collect()
}

fn json_of(created: &CreatedArray) -> Value {
    let first = created.superblocks.first();
    json!({
        "name": first.map(Superblock::name),
        "array_uuid": first.map(|first| uuid_text(&first.set_uuid)),
        "level": first.map(|first| first.level.to_string()),
        "size_bytes": created.size_bytes,
        "in_sync": first.map(Superblock::is_clean),
        "stack": created.stack.to_string(),
        "below": created.below.iter().map(json_of).collect::<Vec<_>>(),
    })
}

/// A line for each array, those below before those above, as they were made.
fn push_lines(created: &CreatedArray, lines: &mut Vec<String>) {
    created.below.iter().for_each(|below| push_lines(below, lines));
    let Some(superblock) = created.superblocks.first() else { return };
    let size = created.size_bytes.map_or_else(|| say!(UNKNOWN_SIZE), block::size_text);
    let sync = match (superblock.level.is_redundant(), superblock.is_clean()) {
        (true, false) => say!(CREATED_UNSYNCED),
        _ => String::new(),
    };
    lines.push(say!(
        CREATED,
        array = superblock.name(),
        level = superblock.level,
        count = superblock.raid_disks,
        size = size,
        uuid = uuid_text(&superblock.set_uuid),
        sync = sync,
    ));
}
