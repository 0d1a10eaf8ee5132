//! `array create`: the superblocks of a new array.

use std::path::PathBuf;

use array::md::{Consistency, Layout, Level, Superblock, uuid_text};
use host::guard::Guard;
use mdtools::{Create, MemberSource};
use serde_json::json;

use super::SECTOR_BYTES;
use crate::arguments::{BitmapArgument, ConsistencyArgument, CreateArguments};
use crate::failure::Failure;
use crate::output::Output;
use crate::signals;

/// Levels by the names that mdadm takes.
pub(super) fn level(text: &str) -> Result<Level, Failure> {
    mdtools::level(text).ok_or_else(|| {
        Failure::usage(format!("--level {text}: expected linear, 0, 1, 4, 5, 6 or 10"))
    })
}

fn layout(level: Level, text: Option<&str>) -> Result<Layout, Failure> {
    mdtools::layout(level, text).map_err(|expected| {
        Failure::usage(match text {
            Some(_) if matches!(level, Level::Linear | Level::Raid1 | Level::Raid4) => {
                format!("--layout: {level} has only one layout; leave the flag out")
            }
            text => {
                format!("--layout {}: expected {expected} for {level}", text.unwrap_or_default())
            }
        })
    })
}

fn consistency(output: &Output, arguments: &CreateArguments) -> Result<Consistency, Failure> {
    let chunk_bytes = match &arguments.bitmap_chunk {
        Some(text) => {
            let bytes = output.size("--bitmap-chunk", text)?;
            Some(u32::try_from(bytes).map_err(|_| {
                Failure::usage(format!("--bitmap-chunk {text}: a bit covers less than 4GiB"))
            })?)
        }
        None => None,
    };
    match (arguments.consistency_policy, arguments.bitmap) {
        (ConsistencyArgument::Ppl, Some(BitmapArgument::Internal)) => Err(Failure::usage(
            "--bitmap internal: an array has a bitmap or a partial parity log (-k ppl), not both",
        )),
        (ConsistencyArgument::Bitmap, Some(BitmapArgument::None)) => {
            Err(Failure::usage("--bitmap none: but -k bitmap asks for one"))
        }
        (ConsistencyArgument::Bitmap, _)
        | (ConsistencyArgument::Resync, Some(BitmapArgument::Internal)) => {
            Ok(Consistency::Bitmap { chunk_bytes })
        }
        (_, _) if chunk_bytes.is_some() => {
            Err(Failure::usage("--bitmap-chunk: there is no bitmap; --bitmap internal makes one"))
        }
        (ConsistencyArgument::Ppl, _) => Ok(Consistency::Ppl),
        (ConsistencyArgument::Resync, _) => Ok(Consistency::Resync),
    }
}

pub(super) fn create(output: &Output, arguments: &CreateArguments) -> Result<(), Failure> {
    let level = level(&arguments.level)?;
    let chunk_bytes = match (&arguments.chunk, level.has_chunks()) {
        (Some(text), true) => output.size("--chunk", text)?,
        (Some(text), false) => {
            return Err(Failure::usage(format!(
                "--chunk {text}: {level} has no chunks; leave the flag out"
            )));
        }
        (None, true) => mdtools::CHUNK_BYTES,
        (None, false) => 0,
    };
    if chunk_bytes % SECTOR_BYTES != 0 {
        return Err(Failure::usage(format!(
            "--chunk: {chunk_bytes} bytes are not whole sectors of {SECTOR_BYTES}"
        )));
    }
    for (flag, given, counted) in [
        ("--raid-devices", arguments.raid_devices, arguments.member.len()),
        ("--spare-devices", arguments.spare_devices, arguments.spare.len()),
    ] {
        if let Some(given) = given.filter(|given| *given != counted) {
            return Err(Failure::usage(format!("{flag} {given}: but {counted} are named")));
        }
    }
    let named = || arguments.member.iter().chain(&arguments.spare);
    if let Some(text) = arguments.size.as_ref().filter(|_| {
        named().all(|path| path.as_os_str() == "missing" || path.symlink_metadata().is_ok())
    }) {
        return Err(Failure::usage(format!(
            "--size {text}: it is for files that are made, and all that are named are there; they are \
            used as they are"
        )));
    }
    let member = |path: &PathBuf| {
        (path.as_os_str() != "missing").then(|| MemberSource::parse(path)).transpose()
    };
    let members = arguments.member.iter().map(member).collect::<Result<_, _>>()?;
    let spare = |path: &PathBuf| MemberSource::parse(path);
    let wanted = Create {
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
    };
    let guard = Guard::new(arguments.consent.clone().into());
    let stop = signals::stop_flag()?;
    let superblocks = mdtools::create(&guard, &wanted, &stop)?;
    let Some(first) = superblocks.first() else {
        return Err(Failure::usage("every member is missing; name at least one"));
    };
    let sizes: Vec<u64> =
        superblocks.iter().map(|superblock| superblock.data_size_sectors).collect();
    let size_bytes = first.array_sectors(&sizes).map(|sectors| sectors * SECTOR_BYTES);
    if output.json {
        return output.document(&json!({
            "name": first.name(),
            "array_uuid": uuid_text(&first.set_uuid),
            "level": level.to_string(),
            "size_bytes": size_bytes,
            "members": members_text(&wanted),
            "in_sync": first.is_clean(),
        }));
    }
    output.result(&created(first, size_bytes))
}

fn members_text(wanted: &Create) -> Vec<String> {
    let text = |member: &Option<MemberSource>| {
        member.as_ref().map_or_else(|| "missing".to_owned(), ToString::to_string)
    };
    wanted.members.iter().map(text).collect()
}

fn created(superblock: &Superblock, size_bytes: Option<u64>) -> String {
    let size = size_bytes.map_or("unknown size".to_owned(), block::size_text);
    let sync = match (superblock.level.is_redundant(), superblock.is_clean()) {
        (true, false) => "; Linux md resyncs it when it is first assembled",
        _ => "",
    };
    format!(
        "created {}: {} over {} members, {size}, uuid {}{sync}",
        superblock.name(),
        superblock.level,
        superblock.raid_disks,
        uuid_text(&superblock.set_uuid)
    )
}
