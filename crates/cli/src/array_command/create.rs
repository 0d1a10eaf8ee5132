//! `array create`: the superblocks of a new array.

use array::Raid0Layout;
use array::geometry::{ParityLayout, Raid10Layout};
use array::md::{Consistency, Layout, Level, Superblock, uuid_text};
use host::guard::Guard;
use mdtools::Create;
use serde_json::json;

use super::SECTOR_BYTES;
use crate::arguments::{BitmapArgument, ConsistencyArgument, CreateArguments};
use crate::failure::Failure;
use crate::output::Output;

/// Levels by the names that mdadm takes.
pub(super) fn level(text: &str) -> Result<Level, Failure> {
    match text.trim_start_matches("raid") {
        "linear" => Ok(Level::Linear),
        "0" | "stripe" => Ok(Level::Raid0),
        "1" | "mirror" => Ok(Level::Raid1),
        "4" => Ok(Level::Raid4),
        "5" => Ok(Level::Raid5),
        "6" => Ok(Level::Raid6),
        "10" => Ok(Level::Raid10),
        _ => Err(Failure::usage(format!("--level {text}: expected linear, 0, 1, 4, 5, 6 or 10"))),
    }
}

/// The layout of RAID 5 or 6 that mdadm means by a name, short or long; RAID 5 takes the names of
/// DDF for its own.
fn parity_name(level: Level, text: &str) -> &str {
    match (level, text) {
        (_, "la") => "left-asymmetric",
        (_, "ra") => "right-asymmetric",
        (_, "ls" | "default") => "left-symmetric",
        (_, "rs") => "right-symmetric",
        (Level::Raid5, "ddf-zero-restart") => "right-asymmetric",
        (Level::Raid5, "ddf-N-restart") => "left-asymmetric",
        (Level::Raid5, "ddf-N-continue") => "left-symmetric",
        (_, text) => text,
    }
}

fn layout(level: Level, text: Option<&str>) -> Result<Layout, Failure> {
    let wrong = |expected: &str| {
        Failure::usage(format!(
            "--layout {}: expected {expected} for {level}",
            text.unwrap_or_default()
        ))
    };
    match (level, text) {
        (Level::Raid0, None | Some("original" | "1")) => {
            Ok(Layout::Raid0(Some(Raid0Layout::Original)))
        }
        (Level::Raid0, Some("alternate" | "2")) => Ok(Layout::Raid0(Some(Raid0Layout::Alternate))),
        (Level::Raid0, Some(_)) => Err(wrong("original or alternate")),
        (Level::Raid5 | Level::Raid6, text) => {
            let known = ParityLayout::from_name(parity_name(level, text.unwrap_or("default")));
            let fits = known.map(Layout::Parity).filter(|layout| layout.fits(level));
            fits.ok_or_else(|| {
                wrong(
                    "left-symmetric (ls), left-asymmetric (la), right-symmetric (rs), \
                    right-asymmetric (ra) or another of md's layouts",
                )
            })
        }
        (Level::Raid10, text) => Raid10Layout::from_name(text.unwrap_or("n2"))
            .map(Layout::Raid10)
            .ok_or_else(|| wrong("n2, f2, o2 or the like")),
        (_, None) => Ok(Layout::Plain),
        (_, Some(_)) => Err(Failure::usage(format!(
            "--layout: {level} has only one layout; leave the flag out"
        ))),
    }
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
        (None, true) => 512 << 10,
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
    let members = arguments
        .member
        .iter()
        .map(|path| (path.as_os_str() != "missing").then(|| path.clone()))
        .collect();
    let wanted = Create {
        name: arguments.name.clone(),
        level,
        layout: layout(level, arguments.layout.as_deref())?,
        chunk_bytes,
        members,
        spares: arguments.spare.clone(),
        consistency: consistency(output, arguments)?,
        create_bytes: arguments
            .size
            .as_deref()
            .map(|text| output.size("--size", text))
            .transpose()?,
        assume_clean: arguments.assume_clean,
    };
    let guard = Guard::new(arguments.consent.clone().into());
    let superblocks = mdtools::create(&guard, &wanted)?;
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
            "members": arguments.member,
            "in_sync": first.is_clean(),
        }));
    }
    output.result(&created(first, size_bytes))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// "take all of mdadm's short names": each means what the long one does.
    #[test]
    fn the_short_names_of_mdadm_are_layouts() {
        let of = |level: Level, text: &str| {
            layout(level, Some(text)).unwrap_or_else(|error| panic!("{level} {text}: {error:?}"))
        };
        for level in [Level::Raid5, Level::Raid6] {
            for (short, long) in [
                ("la", "left-asymmetric"),
                ("ra", "right-asymmetric"),
                ("ls", "left-symmetric"),
                ("rs", "right-symmetric"),
                ("default", "left-symmetric"),
            ] {
                assert_eq!(of(level, short), of(level, long), "{level} {short}");
            }
            assert_ne!(of(level, "la"), of(level, "ra"));
        }
        assert_eq!(of(Level::Raid5, "ddf-zero-restart"), of(Level::Raid5, "ra"), "as mdadm has it");
        assert_ne!(of(Level::Raid6, "ddf-zero-restart"), of(Level::Raid6, "ra"));
        assert_eq!(
            (of(Level::Raid0, "1"), of(Level::Raid0, "2")),
            (of(Level::Raid0, "original"), of(Level::Raid0, "alternate"))
        );
        for name in ["n2", "f2", "o2"] {
            of(Level::Raid10, name);
        }
        assert!(
            layout(Level::Raid5, Some("lx")).is_err() && layout(Level::Raid0, Some("ls")).is_err()
        );
    }
}
