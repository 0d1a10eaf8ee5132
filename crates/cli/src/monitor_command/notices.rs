//! What has happened since the last look: a function of two looks.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use host::Error;
use mdtools::ArrayCondition;
use serde::{Deserialize, Serialize};
use serve::{Event, Status};
use words::{Message, Text};

use crate::catalogue::{self, statement};

/// What is worth telling.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Notice {
    /// The name of the server.
    pub(super) server: String,
    /// What it is, for programs.
    pub(super) kind: Kind,
    /// What it is, for people: one line.
    pub(super) text: Text,
}

/// Kinds of notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// A server has begun.
    Started,
    /// A server has ended in order.
    Stopped,
    /// A server has ended otherwise.
    Died,
    /// An array goes on without some members.
    Degraded,
    /// An array has all of its members again.
    Online,
    /// An array is not written any more.
    Unusable,
    /// An array has lost too many members: it can be neither read nor written as a whole.
    Failed,
    /// A cache is in trouble.
    CacheFailing,
    /// What the server has written down itself: a member that failed, work that ended.
    Event,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Started => "started",
            Kind::Stopped => "stopped",
            Kind::Died => "died",
            Kind::Degraded => "degraded",
            Kind::Online => "online",
            Kind::Unusable => "unusable",
            Kind::Failed => "failed",
            Kind::CacheFailing => "cache-failing",
            Kind::Event => "event",
        }
    }
}

/// What was seen of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Server {
    started_unix_seconds: u64,
    state: ArrayCondition,
    events: Vec<Event>,
    failing: BTreeSet<String>,
    /// It had died, and that was told.
    has_died: bool,
}

/// What was seen at the last look, by the names of servers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LastLook {
    servers: BTreeMap<String, Server>,
}

impl LastLook {
    /// What another monitor has kept; nothing where there is no such file.
    ///
    /// # Errors
    /// When it cannot be read, or is something else.
    pub(super) fn read(path: &Path) -> Result<LastLook, Error> {
        let text = match host::files::read_named(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LastLook::default()),
            Err(error) => return Err(Error::from_io(path.display(), &error)),
        };
        serde_json::from_slice(&text).map_err(|error| {
            let why = Text::verbatim(&error);
            Error::usage(statement!(NO_MONITOR_STATE, why = why)).at(path.display())
        })
    }

    /// Keeps it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, path: &Path) -> Result<(), Error> {
        let mut text = serde_json::to_vec_pretty(self).expect("plain data");
        text.push(b'\n');
        host::files::write_whole(path, &text)
    }
}

/// What is new: the servers that answer now, those that have died, and those that run and do not
/// answer, beside what was seen. What had happened to a server before it was seen first is history;
/// how it is, is not. Of one that does not answer nothing is known, and nothing is told.
pub(super) fn since(
    before: &LastLook,
    now: &[Status],
    dead: &[String],
    silent: &[String],
) -> (Vec<Notice>, LastLook) {
    let mut notices = Vec::new();
    let mut seen = LastLook::default();
    for status in now {
        let server = of_one_that_answers(before, status, &mut notices);
        seen.servers.insert(status.name.clone(), server);
    }
    for (name, known) in &before.servers {
        if seen.servers.contains_key(name) {
            continue;
        }
        if silent.contains(name) {
            seen.servers.insert(name.clone(), known.clone());
            continue;
        }
        let mut tell = |kind, text: Message| {
            notices.push(Notice { server: name.clone(), kind, text: text.into() });
        };
        if !dead.contains(name) {
            if !known.has_died {
                tell(Kind::Stopped, catalogue::NOTICE_ENDED);
            }
            continue;
        }
        if !known.has_died {
            tell(Kind::Died, catalogue::NOTICE_DIED);
        }
        seen.servers.insert(name.clone(), Server { has_died: true, ..known.clone() });
    }
    (notices, seen)
}

/// What is to be known of a server that answers; tells what is new.
fn of_one_that_answers(before: &LastLook, status: &Status, notices: &mut Vec<Notice>) -> Server {
    let mut tell = |kind, text: Text| {
        notices.push(Notice { server: status.name.clone(), kind, text });
    };
    let known = before
        .servers
        .get(&status.name)
        .filter(|known| known.started_unix_seconds == status.started_unix_seconds);
    if let Some(known) = known {
        let new = status.events.iter().filter(|event| !known.events.contains(event));
        new.for_each(|event| tell(Kind::Event, event.text.clone().at(&event.array)));
    } else {
        tell(Kind::Started, statement!(NOTICE_RUNS, process = status.process));
    }
    let state = status.state();
    if state != known.map_or(ArrayCondition::Online, |known| known.state) {
        let (kind, what) = match state {
            ArrayCondition::Online => (Kind::Online, catalogue::NOTICE_ONLINE),
            ArrayCondition::Degraded => (Kind::Degraded, catalogue::NOTICE_DEGRADED),
            ArrayCondition::Unusable => (Kind::Unusable, catalogue::NOTICE_UNUSABLE),
            ArrayCondition::Failed => (Kind::Failed, catalogue::NOTICE_FAILED),
        };
        let slots = (status.arrays.iter())
            .map(|array| format!("{} {} {}", array.name, array.level, array.slots));
        let parts: Vec<String> =
            slots.chain(status.missing().map(|part| part.name.clone())).collect();
        let parts = if parts.is_empty() { status.stack.clone() } else { parts.join(", ") };
        tell(kind, Text::from(parts).at(what));
    }
    let mut failing = BTreeSet::new();
    for cache in &status.caches {
        let Some(failure) = &cache.failure else { continue };
        if !known.is_some_and(|known| known.failing.contains(&cache.name)) {
            tell(Kind::CacheFailing, failure.clone().at(&cache.name));
        }
        failing.insert(cache.name.clone());
    }
    Server {
        started_unix_seconds: status.started_unix_seconds,
        state,
        events: status.events.clone(),
        failing,
        has_died: false,
    }
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use serde_json::json;

    use super::*;

    /// A server with one array of two members.
    fn status(state: &str, events: &[(u64, &str)], failure: Option<&str>) -> Status {
        let events: Vec<_> = events
            .iter()
            .map(|(time, text)| json!({"unix_seconds": time, "array": "data", "text": text}))
            .collect();
        let slots = if state == "online" { "[UU]" } else { "[U_]" };
        let array = json!({
            "name": "data", "array_uuid": "0:0:0:0", "state": state, "is_running": true,
            "is_readable": state != "failed", "is_writable": state != "failed",
            "level": "raid1", "layout": null, "chunk_bytes": 0, "size_bytes": 1, "metadata": "1.2",
            "is_clean": true, "events": 1, "slots": slots, "members": [], "work": null, "notes": []
        });
        let cache = json!({
            "name": "ram:1MiB", "mode": "write-back", "policy": "lru", "kept": false,
            "block_bytes": 4096, "size_bytes": 1, "used_bytes": 0, "dirty_bytes": 0, "read_hits": 0,
            "read_misses": 0, "write_hits": 0, "write_misses": 0, "insertions": 0, "evictions": 0,
            "written_out_bytes": 0, "write_out_bytes_per_second": 0, "metadata_bytes": 0,
            "failure": failure
        });
        serde_json::from_value(json!({
            "name": "tank", "process": 7, "stack": "", "size_bytes": 1, "block_bytes": 512,
            "read_only": false, "removal_policy": "quick", "rotational": false,
            "started_unix_seconds": 5, "processor_seconds": 0.5, "attached": null, "nbd": [],
            "nbd_clients": 0, "vhost_user": null, "mounts": [], "members": [], "arrays": [array],
            "caches": [cache], "events": events, "notes": []
        }))
        .unwrap()
    }

    /// "Events of running arrays […], once each."
    #[test]
    fn what_happens_is_told_once() {
        let mut seen = LastLook::default();
        let mut look = |now: &[Status], dead: &[String]| -> Vec<String> {
            let (notices, after) = since(&seen, now, dead, &[]);
            seen = serde_json::from_slice(&serde_json::to_vec(&after).unwrap()).unwrap();
            let text = |one: &Notice| format!("{} {}", one.kind.name(), one.text);
            notices.iter().map(text).collect()
        };
        let old = (6, "resync has ended");
        let failed = (9, "b.img has failed: I/O error");
        let fine = status("online", &[old], None);
        assert_eq!(look(from_ref(&fine), &[]), ["started it runs as process 7"]);
        assert_eq!(look(from_ref(&fine), &[]), [""; 0]);
        let degraded = status("degraded", &[old, failed], None);
        let told = [
            "event data: b.img has failed: I/O error",
            "degraded it goes on without all of its members: data raid1 [U_]",
        ];
        assert_eq!(look(from_ref(&degraded), &[]), told);
        assert_eq!(look(from_ref(&degraded), &[]), [""; 0]);
        // Old events fall out of what a server keeps.
        let again = status("online", &[failed, (20, "rebuild has ended")], None);
        let told =
            ["event data: rebuild has ended", "online all members are there: data raid1 [UU]"];
        assert_eq!(look(from_ref(&again), &[]), told);
        let failing = status("online", &[failed], Some("its store is full of errors"));
        assert_eq!(
            look(from_ref(&failing), &[]),
            ["cache-failing ram:1MiB: its store is full of errors"]
        );
        assert_eq!(look(from_ref(&failing), &[]), [""; 0]);
        let dead = ["tank".to_owned()];
        let told = look(&[], &dead);
        assert!(told.len() == 1 && told[0].starts_with("died its server has died"), "{told:?}");
        assert_eq!(look(&[], &dead), [""; 0]);
        assert_eq!(look(&[], &[]), [""; 0], "cleaned up: it had ended before");
        look(from_ref(&again), &[]);
        assert_eq!(look(&[], &[]), ["stopped it has ended"]);
        assert_eq!(look(&[], &[]), [""; 0]);
    }

    #[test]
    fn a_server_that_is_degraded_when_it_is_seen_first_is_told_of() {
        for (state, kind) in
            [("degraded", Kind::Degraded), ("unusable", Kind::Unusable), ("failed", Kind::Failed)]
        {
            let (notices, _) = since(&LastLook::default(), &[status(state, &[], None)], &[], &[]);
            let kinds: Vec<Kind> = notices.iter().map(|one| one.kind).collect();
            assert_eq!(kinds, [Kind::Started, kind]);
        }
    }

    /// A server that is busy has not ended, and when it answers again nothing has happened.
    #[test]
    fn a_server_that_does_not_answer_is_not_said_to_have_ended() {
        let fine = [status("online", &[], None)];
        let (_, seen) = since(&LastLook::default(), &fine, &[], &[]);
        let (notices, after) = since(&seen, &[], &[], &["tank".to_owned()]);
        assert_eq!((notices, &after), (Vec::new(), &seen));
        assert_eq!(since(&after, &fine, &[], &[]).0, []);
    }

    #[test]
    fn what_was_kept_is_read_again_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("monitor.json");
        assert_eq!(LastLook::read(&path).unwrap(), LastLook::default());
        let (_, seen) =
            since(&LastLook::default(), &[status("degraded", &[(1, "x")], None)], &[], &[]);
        seen.write(&path).unwrap();
        assert_eq!(LastLook::read(&path).unwrap(), seen);
        std::fs::write(&path, "no JSON").unwrap();
        let error = LastLook::read(&path).unwrap_err();
        assert!(error.exit_code() == 2 && error.to_string().contains("name another file"));
    }
}
