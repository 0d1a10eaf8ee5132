//! `array examine`: every field of a member's superblocks.

use array::md::{ChecksumVerdict, Features, Role, Superblock, TimeStamp, uuid_text};
use escape::{Lines, add};
use host::guard::{Consent, Guard};
use mdtools::{ExaminedPath, FoundSuperblock, MemberSource};
use serde_json::{Map, Value, json};
use words::Text;

use crate::catalogue::{self, say};
use crate::failure::Failure;
use crate::output::Output;

/// One field: name in JSON, name for people, value for people, value in JSON.
type Field = (&'static str, &'static str, String, Value);

/// Every field of a superblock, in the order in which people read it.
fn fields(found: &FoundSuperblock) -> Vec<Field> {
    let superblock = &found.superblock;
    let (size, size_json) = sectors(superblock.size_sectors);
    let (chunk, chunk_json) = sectors(superblock.chunk_sectors.into());
    let (data_offset, data_offset_json) = sectors(superblock.data_offset_sectors);
    let (data_size, data_size_json) = sectors(superblock.data_size_sectors);
    let (super_offset, super_offset_json) = sectors(superblock.super_offset_sectors);
    let (checksum, checksum_json) = match found.checksum {
        ChecksumVerdict::Correct => {
            (format!("{:08x}, correct", superblock.checksum), json!("correct"))
        }
        ChecksumVerdict::Wrong { expected, .. } => (
            format!("{:08x}, WRONG: its bytes give {expected:08x}", superblock.checksum),
            json!("wrong"),
        ),
    };
    let state = if superblock.is_clean() { "clean" } else { "not in sync" };
    let time = |time: TimeStamp| host::facts::time_text(time.seconds);
    let unknown = superblock.features.unknown();
    let features = if unknown == Features::default() {
        format!("{:#x}", superblock.features.0)
    } else {
        format!("{:#x}, of which {:#x} is unknown here", superblock.features.0, unknown.0)
    };
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
        number(
            "bad_block_log_offset_sectors",
            "  its offset",
            superblock.bad_block_offset_sectors.into(),
        ),
        number("bad_block_log_shift", "  its shift", superblock.bad_block_shift.into()),
        number("max_devices", "Max Devices", superblock.roles.len() as i64),
        plain("device_roles", "Device Roles", roles_text(superblock)),
    ];
    fields.extend(progress_fields(superblock));
    fields.extend(log_fields(found));
    fields.extend(reshape_fields(superblock));
    if superblock.logical_block_bytes != 0 {
        fields.push(number(
            "logical_block_bytes",
            "Logical Block",
            superblock.logical_block_bytes.into(),
        ));
    }
    fields
}

/// A number of sectors for people, and as bytes in JSON. Nothing keeps a damaged superblock from
/// naming more than there are bytes.
fn sectors(sectors: u64) -> (String, Value) {
    let bytes = sectors.saturating_mul(block::SECTOR_BYTES);
    (format!("{sectors} sectors ({})", block::size_text(bytes)), json!(bytes))
}

fn plain(key: &'static str, name: &'static str, text: String) -> Field {
    let value = json!(text);
    (key, name, text, value)
}

fn number(key: &'static str, name: &'static str, number: i64) -> Field {
    (key, name, number.to_string(), json!(number))
}

/// How far a resync or a recovery has come.
fn progress_fields(superblock: &Superblock) -> Vec<Field> {
    let mut fields = Vec::new();
    if !superblock.is_clean() {
        let (resync, resync_json) = sectors(superblock.resync_offset_sectors);
        fields.push(("resync_offset_bytes", "Resync Offset", resync, resync_json));
    }
    if let Some(recovered) = superblock.recovering_from_sectors() {
        let (recovered, recovered_json) = sectors(recovered);
        fields.push(("recovery_offset_bytes", "Recovery Offset", recovered, recovered_json));
    }
    fields
}

/// The partial parity log or the bitmap.
fn log_fields(found: &FoundSuperblock) -> Vec<Field> {
    let superblock = &found.superblock;
    let mut fields = Vec::new();
    if let Some(area) = superblock.ppl_area() {
        fields.push(number("ppl_offset_sectors", "PPL Offset", area.offset_sectors.into()));
        fields.push(number("ppl_size_sectors", "PPL Size", area.size_sectors.into()));
    } else if superblock.features.contains(Features::BITMAP) {
        fields.push(number(
            "bitmap_offset_sectors",
            "Bitmap Offset",
            superblock.bitmap_offset_sectors.into(),
        ));
        let bitmap = found.bitmap.as_ref().map_or_else(
            || "not readable".to_owned(),
            |bitmap| {
                format!(
                    "version {}, events {}, {} a bit",
                    bitmap.version,
                    bitmap.events,
                    block::size_text(bitmap.chunk_bytes.into())
                )
            },
        );
        fields.push(plain("bitmap", "Bitmap", bitmap));
    }
    fields
}

/// The change of shape that is under way.
fn reshape_fields(superblock: &Superblock) -> Vec<Field> {
    let mut fields = Vec::new();
    if superblock.features.contains(Features::RESHAPE_ACTIVE) {
        fields.push(plain("new_level", "New Level", superblock.new_level.to_string()));
        fields.push(number("delta_devices", "Delta Devices", superblock.delta_disks.into()));
        fields.push(number("new_layout_code", "New Layout", superblock.new_layout_code.into()));
        fields.push(number("new_chunk_sectors", "New Chunk", superblock.new_chunk_sectors.into()));
        fields.push(number(
            "new_offset_sectors",
            "New Offset",
            superblock.new_offset_sectors.into(),
        ));
        fields.push((
            "reshape_position_sectors",
            "Reshape Position",
            superblock.reshape_position_sectors.to_string(),
            json!(superblock.reshape_position_sectors),
        ));
    }
    fields
}

/// The roles up to the last that is taken: a table of 128 is mostly empty.
fn roles_text(superblock: &Superblock) -> String {
    let taken =
        superblock.roles.iter().rposition(|role| *role != Role::Spare).map_or(0, |last| last + 1);
    superblock.roles[..taken].iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

pub(super) fn examine(output: &Output, paths: &[std::path::PathBuf]) -> Result<(), Failure> {
    let guard = Guard::new(Consent::default());
    let look = |path: &std::path::PathBuf| mdtools::look(&guard, &MemberSource::parse(path)?);
    let examined: Vec<Vec<ExaminedPath>> = paths.iter().map(look).collect::<Result<_, _>>()?;
    let examined: Vec<ExaminedPath> = examined.into_iter().flatten().collect();
    if output.json {
        output.document(&examined.iter().map(examined_document).collect::<Vec<_>>())?;
    } else {
        output.result(&examined.iter().map(examined_text).collect::<Vec<_>>().join("\n"))?;
    }
    match examined.iter().find(|examined| examined.found.is_empty()) {
        Some(none) => {
            let hint = catalogue::RESCUE_FINDS_OUT;
            Err(Failure::failed(none.no_superblock_text().and("; ").and(hint)))
        }
        None => Ok(()),
    }
}

fn examined_document(examined: &ExaminedPath) -> Value {
    let superblocks: Vec<Value> = examined
        .found
        .iter()
        .map(|found| {
            let mut document: Map<String, Value> = fields(found)
                .into_iter()
                .map(|(key, _, _, value)| (key.to_owned(), value))
                .collect();
            document.insert("problems".to_owned(), json!(found.problems));
            Value::Object(document)
        })
        .collect();
    let damaged: Vec<Value> = examined
        .damaged
        .iter()
        .map(|(version, problem)| {
            json!({ "version": version.to_string(), "problem": Text::from(problem).english() })
        })
        .collect();
    json!({
        "path": examined.source.to_string(),
        "size_bytes": examined.size_bytes,
        "superblocks": superblocks,
        "damaged": damaged,
    })
}

fn examined_text(examined: &ExaminedPath) -> String {
    let mut text = Lines::new();
    add!(text, "{}:", examined.source);
    if examined.found.is_empty() && examined.damaged.is_empty() {
        add!(text, "  {}", say!(NO_SUPERBLOCK_HERE));
    }
    for (version, problem) in &examined.damaged {
        let problem = Text::from(problem);
        let damage = say!(DAMAGE_OF_VERSION, version = version, problem = problem);
        add!(text, "{:>16} : {damage}", "DAMAGED");
    }
    for found in &examined.found {
        for (_, name, value, _) in fields(found) {
            add!(text, "{name:>16} : {value}");
        }
        for problem in &found.problems {
            add!(text, "{:>16} : {problem}", "PROBLEM");
        }
    }
    text.into_text()
}
