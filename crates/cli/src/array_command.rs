//! `raidloom array`: looking at the members of md arrays, and making new ones.

use std::fmt::Write;

use array::Raid0Layout;
use array::geometry::{ParityLayout, Raid10Layout};
use array::md::{
    AssembleOptions, Assembly, Candidate, ChecksumVerdict, Consistency, Features, Layout, Level, Role, Slot, Start, Superblock, TimeStamp,
    assemble, group, uuid_text,
};
use lab::arrays::{self, Create, Examined, Found};
use lab::guard::{Consent, Guard};
use serde_json::{Map, Value, json};

use crate::arguments::{ArrayVerb, ConsistencyArgument, CreateArguments};
use crate::failure::Failure;
use crate::output::Output;

const SECTOR_BYTES: u64 = block::SECTOR_BYTES;

/// Runs one of the verbs.
pub(crate) fn array(output: &Output, verb: &ArrayVerb) -> Result<(), Failure> {
    match verb {
        ArrayVerb::Examine { paths } => examine(output, paths),
        ArrayVerb::Scan { paths } => scan(output, paths),
        ArrayVerb::Create(arguments) => create(output, arguments),
    }
}

/// One field: name in JSON, name for people, value for people, value in JSON.
type Field = (&'static str, &'static str, String, Value);

/// Every field of a superblock, in the order in which people read it.
fn fields(found: &Found) -> Vec<Field> {
    let superblock = &found.superblock;
    let sectors =
        |sectors: u64| (format!("{sectors} sectors ({})", block::size_text(sectors * SECTOR_BYTES)), json!(sectors * SECTOR_BYTES));
    let (size, size_json) = sectors(superblock.size_sectors);
    let (chunk, chunk_json) = sectors(superblock.chunk_sectors.into());
    let (data_offset, data_offset_json) = sectors(superblock.data_offset_sectors);
    let (data_size, data_size_json) = sectors(superblock.data_size_sectors);
    let (super_offset, super_offset_json) = sectors(superblock.super_offset_sectors);
    let (checksum, checksum_json) = match found.checksum {
        ChecksumVerdict::Correct => (format!("{:08x}, correct", superblock.checksum), json!("correct")),
        ChecksumVerdict::Wrong { expected, .. } => {
            (format!("{:08x}, WRONG: its bytes give {expected:08x}", superblock.checksum), json!("wrong"))
        }
    };
    let state = if superblock.is_clean() { "clean" } else { "not in sync" };
    let time = |time: TimeStamp| lab::host::time_text(time.seconds);
    let unknown = superblock.features.unknown();
    let features = if unknown == Features::default() {
        format!("{:#x}", superblock.features.0)
    } else {
        format!("{:#x}, of which {:#x} is unknown here", superblock.features.0, unknown.0)
    };
    let plain = |key: &'static str, name: &'static str, text: String| -> Field { (key, name, text.clone(), json!(text)) };
    let number = |key: &'static str, name: &'static str, number: i64| -> Field { (key, name, number.to_string(), json!(number)) };
    let mut fields = vec![
        plain("version", "Version", found.version.to_string()),
        ("feature_map", "Feature Map", features, json!(superblock.features.0)),
        plain("array_uuid", "Array UUID", uuid_text(&superblock.set_uuid)),
        plain("name", "Name", superblock.name()),
        plain("created", "Creation Time", time(superblock.created)),
        plain("level", "Raid Level", superblock.level.to_string()),
        number("raid_devices", "Raid Devices", superblock.raid_disks.into()),
        plain("layout", "Layout", superblock.layout().to_string()),
        ("chunk_bytes", "Chunk Size", chunk, chunk_json),
        ("used_device_bytes", "Used Dev Size", size, size_json),
        ("data_offset_bytes", "Data Offset", data_offset, data_offset_json),
        ("data_size_bytes", "Data Size", data_size, data_size_json),
        ("super_offset_bytes", "Super Offset", super_offset, super_offset_json),
        plain("state", "State", state.to_owned()),
        plain("device_uuid", "Device UUID", uuid_text(&superblock.device_uuid)),
        number("device_number", "Device Number", superblock.member_number.into()),
        plain("role", "Device Role", superblock.role().to_string()),
        number("device_flags", "Device Flags", superblock.device_flags.into()),
        plain("updated", "Update Time", time(superblock.updated)),
        ("events", "Events", superblock.events.to_string(), json!(superblock.events)),
        ("checksum", "Checksum", checksum, checksum_json),
        number("corrected_reads", "Corrected Reads", superblock.corrected_reads.into()),
        number("bad_block_log_sectors", "Bad Block Log", superblock.bad_block_size_sectors.into()),
        number("bad_block_log_offset_sectors", "  its offset", superblock.bad_block_offset_sectors.into()),
        number("bad_block_log_shift", "  its shift", superblock.bad_block_shift.into()),
        number("max_devices", "Max Devices", superblock.roles.len() as i64),
        plain("device_roles", "Device Roles", roles_text(superblock)),
    ];
    if !superblock.is_clean() {
        let (resync, resync_json) = sectors(superblock.resync_offset_sectors);
        fields.push(("resync_offset_bytes", "Resync Offset", resync, resync_json));
    }
    if let Some(recovered) = superblock.recovering_from_sectors() {
        let (recovered, recovered_json) = sectors(recovered);
        fields.push(("recovery_offset_bytes", "Recovery Offset", recovered, recovered_json));
    }
    if let Some(area) = superblock.ppl_area() {
        fields.push(number("ppl_offset_sectors", "PPL Offset", area.offset_sectors.into()));
        fields.push(number("ppl_size_sectors", "PPL Size", area.size_sectors.into()));
    } else if superblock.features.contains(Features::BITMAP) {
        fields.push(number("bitmap_offset_sectors", "Bitmap Offset", superblock.bitmap_offset_sectors.into()));
        let bitmap = found.bitmap.as_ref().map_or_else(
            || "not readable".to_owned(),
            |bitmap| format!("version {}, events {}, {} a bit", bitmap.version, bitmap.events, block::size_text(bitmap.chunk_bytes.into())),
        );
        fields.push(plain("bitmap", "Bitmap", bitmap));
    }
    if superblock.features.contains(Features::RESHAPE_ACTIVE) {
        fields.push(plain("new_level", "New Level", superblock.new_level.to_string()));
        fields.push(number("delta_devices", "Delta Devices", superblock.delta_disks.into()));
        fields.push(number("new_layout_code", "New Layout", superblock.new_layout_code.into()));
        fields.push(number("new_chunk_sectors", "New Chunk", superblock.new_chunk_sectors.into()));
        fields.push(number("new_offset_sectors", "New Offset", superblock.new_offset_sectors.into()));
        fields.push((
            "reshape_position_sectors",
            "Reshape Position",
            superblock.reshape_position_sectors.to_string(),
            json!(superblock.reshape_position_sectors),
        ));
    }
    if superblock.logical_block_bytes != 0 {
        fields.push(number("logical_block_bytes", "Logical Block", superblock.logical_block_bytes.into()));
    }
    fields
}

/// The roles up to the last that is taken: a table of 128 is mostly empty.
fn roles_text(superblock: &Superblock) -> String {
    let taken = superblock.roles.iter().rposition(|role| *role != Role::Spare).map_or(0, |last| last + 1);
    superblock.roles[..taken].iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn examine(output: &Output, paths: &[std::path::PathBuf]) -> Result<(), Failure> {
    let guard = Guard::new(Consent::default());
    let examined: Vec<Examined> = paths.iter().map(|path| arrays::examine(&guard, path)).collect::<Result<_, _>>()?;
    if output.json {
        output.document(&examined.iter().map(examined_document).collect::<Vec<_>>())?;
    } else {
        output.result(&examined.iter().map(examined_text).collect::<Vec<_>>().join("\n"))?;
    }
    match examined.iter().find(|examined| examined.found.is_empty()) {
        Some(none) => Err(Failure::failed(format!("{}: no md superblock of version 1.0, 1.1 or 1.2 on it", none.path.display()))),
        None => Ok(()),
    }
}

fn examined_document(examined: &Examined) -> Value {
    let superblocks: Vec<Value> = examined
        .found
        .iter()
        .map(|found| {
            let mut document: Map<String, Value> = fields(found).into_iter().map(|(key, _, _, value)| (key.to_owned(), value)).collect();
            document.insert("problems".to_owned(), json!(found.problems));
            Value::Object(document)
        })
        .collect();
    json!({ "path": examined.path, "size_bytes": examined.size_bytes, "superblocks": superblocks })
}

fn examined_text(examined: &Examined) -> String {
    let mut text = format!("{}:\n", examined.path.display());
    if examined.found.is_empty() {
        text += "  no md superblock\n";
    }
    for found in &examined.found {
        for (_, name, value, _) in fields(found) {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name:>16} : {value}");
        }
        for problem in &found.problems {
            let _ = writeln!(text, "{:>16} : {problem}", "PROBLEM");
        }
    }
    text
}

fn scan(output: &Output, paths: &[std::path::PathBuf]) -> Result<(), Failure> {
    let guard = Guard::new(Consent::default());
    let mut candidates = Vec::new();
    for path in arrays::members_in(paths)? {
        match arrays::examine(&guard, &path) {
            Ok(examined) => candidates.extend(examined.candidate()),
            Err(error) => output.note(&format!("passed over: {error}")),
        }
    }
    let mut documents = Vec::new();
    let mut text = String::new();
    let groups = group(&candidates);
    for members in &groups {
        let members: Vec<Candidate> = members.iter().map(|&index| candidates[index].clone()).collect();
        match assemble(&members, AssembleOptions::default()) {
            Ok(assembly) if output.json => documents.push(assembly_document(&assembly, &members)),
            Ok(assembly) => text += &format!("{}\n", assembly_text(&assembly, &members)),
            Err(reason) if output.json => documents.push(json!({ "error": reason })),
            Err(reason) => text += &format!("{reason}\n\n"),
        }
    }
    if output.json {
        output.document(&documents)?;
    } else {
        output.result(text.trim_end())?;
    }
    if groups.is_empty() { Err(Failure::failed("no member of an md array was found")) } else { Ok(()) }
}

fn state(assembly: &Assembly) -> &'static str {
    match (&assembly.start, assembly.degraded_count(), assembly.clean) {
        (Start::Refused(_), ..) => "UNUSABLE",
        (_, 0, true) => "ONLINE",
        (_, 0, false) => "ONLINE, not in sync",
        (_, _, true) => "DEGRADED",
        (_, _, false) => "DEGRADED, not in sync",
    }
}

/// State and path of a place.
fn slot_state(slot: &Slot, members: &[Candidate]) -> (&'static str, String) {
    let name = |candidate: usize| members[candidate].name.clone();
    match slot {
        Slot::Present(place) => ("ONLINE", name(place.candidate)),
        Slot::Rebuilding { place, .. } => ("REBUILD", name(place.candidate)),
        Slot::Stale { candidate, .. } => ("STALE", name(*candidate)),
        Slot::Missing => ("MISSING", "-".to_owned()),
    }
}

fn assembly_text(assembly: &Assembly, members: &[Candidate]) -> String {
    let chunk = match assembly.chunk_sectors {
        0 => String::new(),
        sectors => format!(", chunk {}", block::size_text(u64::from(sectors) * SECTOR_BYTES)),
    };
    let layout = match assembly.layout {
        Layout::Plain => String::new(),
        layout => format!(" {layout}"),
    };
    let size = assembly.array_sectors.map_or("unknown".to_owned(), |sectors| block::size_text(sectors * SECTOR_BYTES));
    let mut text = format!(
        " array: {}    state: {}    layout: {}{layout}, {} members{chunk}\n  uuid: {}\n  size: {size}\n start: {}\n",
        assembly.name,
        state(assembly),
        assembly.level,
        assembly.slots.len(),
        uuid_text(&assembly.set_uuid),
        assembly.start,
    );
    let _ = writeln!(text, "        {:<8}  {:<8} DEVICE  {}", "MEMBER", "STATE", assembly.places_text());
    for (number, slot) in assembly.slots.iter().enumerate() {
        let (state, name) = slot_state(slot, members);
        let _ = writeln!(text, "        {:<8}  {state:<8} {name}", format!("member{number}"));
    }
    for &spare in &assembly.spares {
        let _ = writeln!(text, "        {:<8}  {:<8} {}", "spare", "SPARE", members[spare].name);
    }
    for left_out in &assembly.left_out {
        let _ = writeln!(text, "  left out: {}", left_out.reason);
    }
    text
}

fn assembly_document(assembly: &Assembly, members: &[Candidate]) -> Value {
    let (verdict, reasons): (&str, &[String]) = match &assembly.start {
        Start::Ready => ("ready", &[]),
        Start::ReadOnly(reasons) => ("read-only", reasons),
        Start::NeedsForce(reasons) => ("needs-force", reasons),
        Start::Refused(reasons) => ("refused", reasons),
    };
    let slots: Vec<Value> = assembly
        .slots
        .iter()
        .map(|slot| {
            let (state, name) = slot_state(slot, members);
            json!({ "state": state.to_lowercase(), "path": if matches!(slot, Slot::Missing) { Value::Null } else { json!(name) } })
        })
        .collect();
    json!({
        "name": assembly.name,
        "array_uuid": uuid_text(&assembly.set_uuid),
        "level": assembly.level.to_string(),
        "layout": assembly.layout.to_string(),
        "chunk_bytes": u64::from(assembly.chunk_sectors) * SECTOR_BYTES,
        "size_bytes": assembly.array_sectors.map(|sectors| sectors * SECTOR_BYTES),
        "clean": assembly.clean,
        "places": assembly.places_text(),
        "members": slots,
        "spares": assembly.spares.iter().map(|&spare| &members[spare].name).collect::<Vec<_>>(),
        "left_out": assembly.left_out.iter().map(|left_out| &left_out.reason).collect::<Vec<_>>(),
        "start": { "verdict": verdict, "reasons": reasons },
    })
}

/// Levels by the names that mdadm takes.
fn level(text: &str) -> Result<Level, Failure> {
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

fn layout(level: Level, text: Option<&str>) -> Result<Layout, Failure> {
    let wrong = |expected: &str| Failure::usage(format!("--layout {}: expected {expected} for {level}", text.unwrap_or_default()));
    match (level, text) {
        (Level::Raid0, None | Some("original")) => Ok(Layout::Raid0(Some(Raid0Layout::Original))),
        (Level::Raid0, Some("alternate")) => Ok(Layout::Raid0(Some(Raid0Layout::Alternate))),
        (Level::Raid0, Some(_)) => Err(wrong("original or alternate")),
        (Level::Raid5 | Level::Raid6, text) => {
            let known = ParityLayout::from_name(text.unwrap_or("left-symmetric"));
            let fits = known.map(Layout::Parity).filter(|layout| layout.fits(level));
            fits.ok_or_else(|| wrong("left-symmetric, left-asymmetric, right-symmetric, right-asymmetric or another of md's layouts"))
        }
        (Level::Raid10, text) => {
            Raid10Layout::from_name(text.unwrap_or("n2")).map(Layout::Raid10).ok_or_else(|| wrong("n2, f2, o2 or the like"))
        }
        (_, None) => Ok(Layout::Plain),
        (_, Some(_)) => Err(Failure::usage(format!("--layout: {level} has only one layout; leave the flag out"))),
    }
}

fn create(output: &Output, arguments: &CreateArguments) -> Result<(), Failure> {
    let level = level(&arguments.level)?;
    let chunk_bytes = match (&arguments.chunk, level.has_chunks()) {
        (Some(text), true) => output.size("--chunk", text)?,
        (Some(text), false) => return Err(Failure::usage(format!("--chunk {text}: {level} has no chunks; leave the flag out"))),
        (None, true) => 512 << 10,
        (None, false) => 0,
    };
    if chunk_bytes % SECTOR_BYTES != 0 {
        return Err(Failure::usage(format!("--chunk: {chunk_bytes} bytes are not whole sectors of {SECTOR_BYTES}")));
    }
    for (flag, given, counted) in [
        ("--raid-devices", arguments.raid_devices, arguments.member.len()),
        ("--spare-devices", arguments.spare_devices, arguments.spare.len()),
    ] {
        if let Some(given) = given.filter(|given| *given != counted) {
            return Err(Failure::usage(format!("{flag} {given}: but {counted} are named")));
        }
    }
    let members = arguments.member.iter().map(|path| (path.as_os_str() != "missing").then(|| path.clone())).collect();
    let wanted = Create {
        name: arguments.name.clone(),
        level,
        layout: layout(level, arguments.layout.as_deref())?,
        chunk_bytes,
        members,
        spares: arguments.spare.clone(),
        consistency: match arguments.consistency_policy {
            ConsistencyArgument::Resync => Consistency::Resync,
            ConsistencyArgument::Bitmap => Consistency::Bitmap { chunk_bytes: None },
            ConsistencyArgument::Ppl => Consistency::Ppl,
        },
        create_bytes: arguments.size.as_deref().map(|text| output.size("--size", text)).transpose()?,
        assume_clean: arguments.assume_clean,
    };
    let guard = Guard::new(arguments.consent.clone().into());
    let superblocks = arrays::create(&guard, &wanted)?;
    let Some(first) = superblocks.first() else { return Err(Failure::usage("every member is missing; name at least one")) };
    let sizes: Vec<u64> = superblocks.iter().map(|superblock| superblock.data_size_sectors).collect();
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
