//! How a server that runs is shown.

use block::size_text;
use escape::{Lines, add};
use mdtools::ArrayCondition;
use serve::{CacheReport, Status};

use crate::output::about;

/// How many of the latest events are shown.
const EVENTS_SHOWN: usize = 8;

/// What programs are best pointed to.
pub(super) fn address(status: &Status) -> String {
    let attached = status.attached.as_ref().map(|attached| attached.path().display().to_string());
    let socket = || status.vhost_user.as_ref().map(|served| served.socket.display().to_string());
    attached.or_else(|| status.nbd.first().cloned()).or_else(socket).unwrap_or_default()
}

/// In one or two words.
pub(super) fn state(status: &Status) -> String {
    let state = status.state().name();
    match status.arrays.iter().find_map(|array| array.work.as_ref()) {
        Some(work) => format!(
            "{state}, {} {:.0} %",
            work.kind,
            100.0 * work.done_bytes as f64 / work.total_bytes.max(1) as f64
        ),
        None => state.to_owned(),
    }
}

/// What a start has made, in a line.
pub(super) fn summary(status: &Status) -> String {
    format!(
        "{}: {} at {}, process {}",
        status.name,
        size_text(status.size_bytes),
        address(status),
        status.process
    )
}

/// All there is to say, in the layout of an array's status.
pub(crate) fn text(status: &Status) -> Lines {
    let mut text = Lines::new();
    add!(
        text,
        "server: {}    state: {}    process: {}",
        status.name,
        state(status),
        status.process
    );
    // What is wrong, and with which member, comes first.
    for array in &status.arrays {
        let called = match &status.arrays[..] {
            [_] => status.name.clone(),
            _ => format!("{} --array {}", status.name, array.name),
        };
        text.append(&array.text_of(&called));
    }
    add_missing(&mut text, status);
    add!(text, " stack: {}", status.stack);
    add_drive(&mut text, status);
    add_exports(&mut text, status);
    for note in &status.notes {
        add!(text, "  note: {note}");
    }
    for member in &status.members {
        add!(
            text,
            "  leaf: {}, read {}, written {}",
            member.name,
            about(member.read_bytes),
            about(member.written_bytes)
        );
    }
    status.caches.iter().for_each(|cache| add_cache(&mut text, cache));
    let older = status.events.len().saturating_sub(EVENTS_SHOWN);
    if older > 0 {
        add!(text, " event: {older} older ones are in --json");
    }
    for event in &status.events[older..] {
        add!(text, " event: {}: {}", event.array, event.text);
    }
    text
}

/// What is missing where no array tells of it, and what may be done.
fn add_missing(text: &mut Lines, status: &Status) {
    for part in status.missing() {
        let cause = part.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
        add!(text, "  lost: {}{cause}", part.name);
    }
    if status.state() == ArrayCondition::Failed && status.arrays.is_empty() {
        let back = "bring back what is gone, stop it and start it again";
        add!(text, "action: {back}: raidloom array stop {}", status.name);
    }
}

/// What the drive is like.
fn add_drive(text: &mut Lines, status: &Status) {
    let access = if status.read_only { ", read-only" } else { "" };
    let seeks = if status.rotational { ", rotational" } else { "" };
    add!(
        text,
        "  size: {}, blocks of {} bytes{access}{seeks}",
        size_text(status.size_bytes),
        status.block_bytes
    );
    let durable = if status.removal_policy == "quick" {
        "what reaches the drive is durable at once; a file system on it keeps writes back unless \
        mounted with sync"
    } else {
        "durable after a flush"
    };
    add!(text, "policy: {}: {durable}", status.removal_policy);
}

/// Where it appears, and who is there.
fn add_exports(text: &mut Lines, status: &Status) {
    if let Some(attached) = &status.attached {
        let device = attached
            .block_device
            .iter()
            .map(|device| format!("{}, ", device.display()))
            .collect::<String>();
        add!(text, "    at: {device}{}", attached.file.display());
    }
    for uri in &status.nbd {
        let clients = if status.nbd_clients == 1 {
            "1 client".to_owned()
        } else {
            format!("{} clients", status.nbd_clients)
        };
        add!(text, "   nbd: {uri}  ({clients})");
    }
    if let Some(served) = &status.vhost_user {
        let machines = if served.clients == 1 {
            "1 machine".to_owned()
        } else {
            format!("{} machines", served.clients)
        };
        add!(text, " vhost: {}  ({machines})", served.socket.display());
    }
    for point in &status.mounts {
        add!(text, " mount: {}", point.display());
    }
}

fn add_cache(text: &mut Lines, cache: &CacheReport) {
    let (used, size, dirty) =
        (about(cache.used_bytes), about(cache.size_bytes), about(cache.dirty_bytes));
    add!(text, " cache: {}, {used} of {size} used, {dirty} dirty: {}", cache.mode, cache.name);
    let hits = |hits: u64, misses: u64| {
        format!("{:.0} %", 100.0 * hits as f64 / (hits + misses).max(1) as f64)
    };
    let (reads, writes) =
        (hits(cache.read_hits, cache.read_misses), hits(cache.write_hits, cache.write_misses));
    let (evictions, rate) = (cache.evictions, about(cache.write_out_bytes_per_second));
    add!(
        text,
        "        hits: {reads} of reads, {writes} of writes; {evictions} evictions; {rate}/s \
        written out"
    );
    if let Some(failure) = &cache.failure {
        add!(text, "        {failure}");
    }
}
