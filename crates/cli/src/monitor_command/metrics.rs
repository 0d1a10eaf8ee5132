//! Figures of running arrays as Prometheus reads them (text format 0.0.4).

use std::fmt::{Display, Write as _};

use mdtools::ArrayCondition;
use serve::Status;

/// Where they are, and of which type.
pub(super) const PLACE: (&str, &str) = ("/metrics", "text/plain; version=0.0.4");

/// What servers said when they were last asked.
#[derive(Clone, Default)]
pub(super) struct LatestStatuses {
    /// Of those that answered.
    pub(super) statuses: Vec<Status>,
    /// Names of those that did not: they have died, or hang.
    pub(super) silent: Vec<String>,
}

/// All figures of all servers.
pub(super) fn text(LatestStatuses { statuses, silent }: &LatestStatuses) -> String {
    let mut page = Page::default();
    page.family("raidloom_up", "gauge", "whether the server answers");
    for (name, up) in
        statuses.iter().map(|one| (&one.name, 1)).chain(silent.iter().map(|name| (name, 0)))
    {
        page.figure("raidloom_up", &[("array", name)], up);
    }
    page.family(
        "raidloom_degraded",
        "gauge",
        "0 all members, 1 without some, 2 unusable or failed",
    );
    for one in statuses {
        let worst = match one.state() {
            ArrayCondition::Online => 0,
            ArrayCondition::Degraded => 1,
            ArrayCondition::Unusable | ArrayCondition::Failed => 2,
        };
        page.figure("raidloom_degraded", &[("array", &one.name)], worst);
    }
    page.family("raidloom_size_bytes", "gauge", "size of what is served");
    for one in statuses {
        page.figure("raidloom_size_bytes", &[("array", &one.name)], one.size_bytes);
    }
    page.family("raidloom_processor_seconds_total", "counter", "processor time of the server");
    for one in statuses {
        let name = "raidloom_processor_seconds_total";
        page.figure(name, &[("array", &one.name)], one.processor_seconds);
    }
    page.members(statuses);
    page.sync(statuses);
    page.caches(statuses);
    page.0
}

impl Page {
    /// What each leaf of each stack was asked.
    fn members(&mut self, statuses: &[Status]) {
        let families = [
            ("raidloom_member_reads_total", "read requests of a leaf of the stack"),
            ("raidloom_member_read_bytes_total", "bytes read from it"),
            ("raidloom_member_writes_total", "write requests of it"),
            ("raidloom_member_written_bytes_total", "bytes written to it"),
        ];
        for (index, (name, help)) in families.into_iter().enumerate() {
            self.family(name, "counter", help);
            for one in statuses {
                for member in &one.members {
                    let figures =
                        [member.reads, member.read_bytes, member.writes, member.written_bytes];
                    let labels = [("array", &*one.name), ("member", &*member.name)];
                    self.figure(name, &labels, figures[index]);
                }
            }
        }
    }

    fn sync(&mut self, statuses: &[Status]) {
        self.family(
            "raidloom_sync_ratio",
            "gauge",
            "how much of the sync action under way is done",
        );
        for one in statuses {
            for array in &one.arrays {
                let Some(work) = &array.work else { continue };
                let done = work.done_bytes as f64 / work.total_bytes.max(1) as f64;
                let labels = [("array", &*one.name), ("md", &*array.name), ("action", &*work.kind)];
                self.figure("raidloom_sync_ratio", &labels, done);
            }
        }
    }

    fn caches(&mut self, statuses: &[Status]) {
        let caches = || {
            statuses.iter().flat_map(|one| {
                one.caches
                    .iter()
                    .map(|cache| ([("array", &*one.name), ("cache", &*cache.name)], cache))
            })
        };
        self.family("raidloom_cache_dirty_bytes", "gauge", "what the device below the cache lacks");
        for (labels, cache) in caches() {
            self.figure("raidloom_cache_dirty_bytes", &labels, cache.dirty_bytes);
        }
        self.family("raidloom_cache_failing", "gauge", "whether something is wrong with the cache");
        for (labels, cache) in caches() {
            self.figure("raidloom_cache_failing", &labels, u8::from(cache.failure.is_some()));
        }
    }
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn figure<S: AsRef<str>>(&mut self, name: &str, labels: &[(&str, S)], value: impl Display) {
        let label = |(name, value): &(&str, S)| {
            let value = value.as_ref();
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            format!("{name}=\"{value}\"")
        };
        let labels: Vec<String> = labels.iter().map(label).collect();
        let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_answer_is_not_up() {
        let page = text(&LatestStatuses { statuses: Vec::new(), silent: vec!["tank".to_owned()] });
        assert!(page.contains("\nraidloom_up{array=\"tank\"} 0\n"), "{page}");
    }

    #[test]
    fn labels_are_quoted() {
        let mut page = Page::default();
        page.family("x", "gauge", "a figure");
        page.figure("x", &[("member", "a\"b\\c\nd")], 0.5);
        assert_eq!(
            page.0,
            "# HELP x a figure\n# TYPE x gauge\nx{member=\"a\\\"b\\\\c\\nd\"} 0.5\n"
        );
    }
}
