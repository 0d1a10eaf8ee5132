//! `array scan`: members that are found, grouped by array.

use std::fmt::Write;

use array::md::{AssembleOptions, Assembly, Candidate, Layout, Slot, Start, assemble, group, uuid_text};
use lab::arrays;
use lab::guard::{Consent, Guard};
use serde_json::{Value, json};

use super::SECTOR_BYTES;
use crate::failure::Failure;
use crate::output::Output;

pub(super) fn scan(output: &Output, paths: &[std::path::PathBuf]) -> Result<(), Failure> {
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
