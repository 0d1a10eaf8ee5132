//! How a server that runs is shown.

use block::size_text;
use escape::{Lines, add};
use mdtools::ArrayCondition;
use serve::{CacheReport, Status};

use crate::catalogue::say;
use crate::output::about;

/// Adds one line to [`Lines`]: a message of the catalogue.
macro_rules! tell {
    ($lines:expr, $($message:tt)*) => { add!($lines, "{}", say!($($message)*)) };
}

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
    let state = match status.state() {
        ArrayCondition::Online => say!(STATE_ONLINE),
        ArrayCondition::Degraded => say!(STATE_DEGRADED),
        ArrayCondition::Unusable => say!(STATE_UNUSABLE),
        ArrayCondition::Failed => say!(STATE_FAILED),
    };
    match status.arrays.iter().find_map(|array| array.work.as_ref()) {
        Some(work) => {
            let share = work.done_bytes as f64 / work.total_bytes.max(1) as f64;
            let percent = format!("{:.0}", 100.0 * share);
            say!(STATE_WORKING, state = state, kind = work.kind_name(), percent = percent)
        }
        None => state,
    }
}

/// What a start has made, in a line.
pub(super) fn summary(status: &Status) -> String {
    say!(
        STARTED,
        name = status.name,
        size = size_text(status.size_bytes),
        address = address(status),
        process = status.process,
    )
}

/// All there is to say, in the layout of an array's status.
pub(crate) fn text(status: &Status) -> Lines {
    let mut text = Lines::new();
    let state = state(status);
    tell!(text, STATUS_SERVER, name = status.name, state = state, process = status.process);
    // What is wrong, and with which member, comes first.
    for array in &status.arrays {
        let called = match &status.arrays[..] {
            [_] => status.name.clone(),
            _ => format!("{} --array {}", status.name, array.name),
        };
        text.append(&array.text_of(&called));
    }
    add_missing(&mut text, status);
    tell!(text, STATUS_STACK, stack = status.stack);
    add_drive(&mut text, status);
    add_exports(&mut text, status);
    for note in &status.notes {
        tell!(text, STATUS_NOTE, note = note);
    }
    for member in &status.members {
        let (read, written) = (about(member.read_bytes), about(member.written_bytes));
        tell!(text, STATUS_LEAF, name = member.name, read = read, written = written);
    }
    status.caches.iter().for_each(|cache| add_cache(&mut text, cache));
    let older = status.events.len().saturating_sub(EVENTS_SHOWN);
    if older > 0 {
        tell!(text, STATUS_OLDER, older = older);
    }
    for event in &status.events[older..] {
        tell!(text, STATUS_EVENT, array = event.array, text = event.text);
    }
    text
}

/// What is missing where no array tells of it, and what may be done.
fn add_missing(text: &mut Lines, status: &Status) {
    for part in status.missing() {
        let cause = part.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
        tell!(text, STATUS_LOST, name = part.name, cause = cause);
    }
    if status.state() == ArrayCondition::Failed && status.arrays.is_empty() {
        tell!(text, STATUS_BRING_BACK, name = status.name);
    }
}

/// What the drive is like.
fn add_drive(text: &mut Lines, status: &Status) {
    let access = if status.read_only { say!(STATUS_READ_ONLY) } else { String::new() };
    let seeks = if status.rotational { say!(STATUS_ROTATIONAL) } else { String::new() };
    tell!(
        text,
        STATUS_SIZE,
        size = size_text(status.size_bytes),
        block = status.block_bytes,
        access = access,
        seeks = seeks,
    );
    match status.removal_policy.as_str() {
        "quick" => tell!(text, STATUS_POLICY_QUICK, policy = status.removal_policy),
        _ => tell!(text, STATUS_POLICY, policy = status.removal_policy),
    }
}

/// Where it appears, and who is there.
fn add_exports(text: &mut Lines, status: &Status) {
    if let Some(attached) = &status.attached {
        let places = attached.block_device.iter().chain(&attached.file);
        let places: Vec<String> = places.map(|place| place.display().to_string()).collect();
        tell!(text, STATUS_AT, place = places.join(", "));
    }
    for uri in &status.nbd {
        match status.nbd_clients {
            1 => tell!(text, STATUS_NBD_ONE, uri = uri),
            count => tell!(text, STATUS_NBD, uri = uri, count = count),
        }
    }
    if let Some(served) = &status.vhost_user {
        let socket = served.socket.display();
        match served.clients {
            1 => tell!(text, STATUS_VHOST_ONE, socket = socket),
            count => tell!(text, STATUS_VHOST, socket = socket, count = count),
        }
    }
    for point in &status.mounts {
        tell!(text, STATUS_MOUNT, point = point.display());
    }
}

fn add_cache(text: &mut Lines, cache: &CacheReport) {
    let (used, size, dirty) =
        (about(cache.used_bytes), about(cache.size_bytes), about(cache.dirty_bytes));
    tell!(
        text,
        STATUS_CACHE,
        mode = cache.mode,
        used = used,
        size = size,
        dirty = dirty,
        name = cache.name,
    );
    let hits = |hits: u64, misses: u64| {
        format!("{:.0} %", 100.0 * hits as f64 / (hits + misses).max(1) as f64)
    };
    let (reads, writes) =
        (hits(cache.read_hits, cache.read_misses), hits(cache.write_hits, cache.write_misses));
    let (evictions, rate) = (cache.evictions, about(cache.write_out_bytes_per_second));
    tell!(
        text,
        STATUS_CACHE_HITS,
        reads = reads,
        writes = writes,
        evictions = evictions,
        rate = rate,
    );
    if let Some(failure) = &cache.failure {
        add!(text, "        {failure}");
    }
}
