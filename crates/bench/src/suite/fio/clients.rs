//! Load from several clients on one target: fio's own client and server mode.
//!
//! ```text
//!   a: fio --server ◄──┐
//!   b: fio --server ◄──┴── fio --client=a JOB --client=b JOB    here
//!        │                       client_stats ── joined ──> the row
//!        └── jobs ──> the target, under the same path on each
//! ```

use std::fmt;
use std::time::Duration;

use serde_json::Value as Json;
use words::{Text, statement};

use crate::suite::catalogue;

/// The port that fio's server has where nothing is said.
const PORT: u16 = 8765;
/// What fio calls its own sum, which it leaves out at times.
const ALL: &str = "All clients";

/// A machine on which `fio --server` runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Client {
    host: String,
    port: u16,
}

impl Client {
    /// `HOST`, `HOST:PORT`; an IPv6 address stands in brackets.
    fn parse(text: &str) -> Result<Client, Text> {
        let wrong = || statement!(catalogue::CLIENT_EXPECTED, text = text);
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, rest) = rest.split_once(']').ok_or_else(wrong)?;
                (host, rest.strip_prefix(':').or(rest.is_empty().then_some("")))
            }
            None => match text.split_once(':') {
                Some((host, port)) => (host, Some(port).filter(|port| !port.is_empty())),
                None => (text, Some("")),
            },
        };
        let port = match port.ok_or_else(wrong)? {
            "" => PORT,
            port => port.parse().map_err(|_| wrong())?,
        };
        if host.is_empty() || host.starts_with('-') || host.contains([',', '\'']) {
            return Err(wrong());
        }
        Ok(Client { host: host.to_owned(), port })
    }

    /// The option of fio that names it.
    pub(super) fn option(&self) -> String {
        let kind = if self.host.contains(':') { "ip6:" } else { "" };
        format!("--client={kind}{},{}", self.host, self.port)
    }

    /// Whether fio's figures are of this one.
    fn is(&self, entry: &Json) -> bool {
        entry["hostname"] == *self.host && entry["port"] == self.port
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// The clients that a setting names, between commas or in lines of their own.
///
/// # Errors
/// What is no client, or is named twice.
pub(super) fn parse(text: &str) -> Result<Vec<Client>, Text> {
    let named = text.split([',', '\n']).map(str::trim).filter(|text| !text.is_empty());
    let clients = named.map(Client::parse).collect::<Result<Vec<_>, _>>()?;
    let mut sorted: Vec<&Client> = clients.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(twice) => {
            Err(statement!(catalogue::CLIENT_NAMED_TWICE, client = twice[0].to_string()))
        }
        None => Ok(clients),
    }
}

/// The version that a client's fio has: what it says when it is connected to.
pub(super) fn version(said: &str) -> Option<&str> {
    let line = said.lines().find(|line| line.starts_with("hostname="))?;
    line.split(", ").find_map(|word| word.strip_prefix("fio="))
}

/// Whether this is what fio says where it cannot reach a client. It has one exit status for all
/// that fails and tells which in words alone, which are English: programs run with LC_ALL=C.
pub(super) fn is_unreachable(said: &str) -> bool {
    said.contains("failed to connect")
}

/// Refuses clients whose programs are not this machine's: their figures would be of different
/// programs.
///
/// # Errors
/// Which ones have another version.
pub(super) fn same_version(own: &str, found: &[(&Client, Option<String>)]) -> Result<(), Text> {
    let others: Vec<Text> = found
        .iter()
        .filter(|(_, version)| version.as_deref() != Some(own))
        .map(|(client, version)| {
            let version = version.as_ref().map_or(catalogue::NO_FIO_SAYS_SO.into(), Text::from);
            statement!(catalogue::CLIENT_HAS, client = client.to_string(), version = version)
        })
        .collect();
    match others.is_empty() {
        true => Ok(()),
        false => {
            let others = Text::joined(others, ", ");
            Err(statement!(catalogue::FIO_VERSIONS_DIFFER, others = others, own = own))
        }
    }
}

/// What all clients did together, and when each had finished.
pub(super) struct ClientTotals {
    /// Their jobs, as if one fio had run them.
    pub(super) jobs: Vec<Json>,
    /// The one that finished first, and the one that finished last, with their times.
    pub(super) finished: [(Client, Duration); 2],
}

/// Joins what fio says of its clients.
///
/// # Errors
/// Which of them did not come to the end.
pub(super) fn joined(document: &Json, clients: &[Client]) -> Result<ClientTotals, Text> {
    let entries = document["client_stats"].as_array().map_or(&[][..], Vec::as_slice);
    let jobs: Vec<Json> = entries.iter().filter(|entry| entry["jobname"] != ALL).cloned().collect();
    let time = |client: &Client| {
        let own = jobs.iter().filter(|entry| client.is(entry));
        let sides = own.flat_map(|job| ["read", "write", "trim"].map(|side| &job[side]["runtime"]));
        sides.filter_map(Json::as_u64).max().map(Duration::from_millis)
    };
    let mut times = Vec::new();
    for client in clients {
        let time = time(client).ok_or_else(|| {
            statement!(catalogue::CLIENT_DID_NOT_END, client = client.to_string())
        })?;
        times.push((client.clone(), time));
    }
    times.sort_by_key(|(_, time)| *time);
    match (times.first().cloned(), times.last().cloned()) {
        (Some(first), Some(last)) => Ok(ClientTotals { jobs, finished: [first, last] }),
        _ => Err(catalogue::NO_CLIENT_NAMED.into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn clients(text: &str) -> Vec<Client> {
        parse(text).unwrap()
    }

    #[test]
    fn clients_are_hosts_with_ports_or_fios_own() {
        let found = clients("a, b:7\n[fe80::1]:9\n[::1]");
        let shown: Vec<String> = found.iter().map(Client::to_string).collect();
        assert_eq!(shown, ["a:8765", "b:7", "[fe80::1]:9", "[::1]:8765"]);
        let options: Vec<String> = found.iter().map(Client::option).collect();
        assert_eq!(
            options,
            ["--client=a,8765", "--client=b,7", "--client=ip6:fe80::1,9", "--client=ip6:::1,8765"]
        );
        for wrong in ["a:", "a:b", "a:70000", ":7", "[::1", "--eta", "a'b:1"] {
            let error = parse(wrong).unwrap_err().to_string();
            assert!(error.contains("expected HOST"), "{wrong}: {error}");
        }
        assert_eq!(parse("a, b, a:8765").unwrap_err().to_string(), "a:8765 is named twice");
        assert!(clients(" \n").is_empty());
    }

    #[test]
    fn other_versions_are_named() {
        let said =
            "<x> hi\nhostname=x, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.33, flags=1\n";
        assert_eq!(version(said), Some("fio-3.33"));
        assert_eq!(version("nothing"), None);
        let all = clients("a,b");
        let found = |second: Option<&str>| {
            let versions = [Some("fio-3.33"), second].map(|version| version.map(str::to_owned));
            same_version("fio-3.33", &all.iter().zip(versions).collect::<Vec<_>>())
        };
        assert_eq!(found(Some("fio-3.33")), Ok(()));
        assert_eq!(
            found(Some("fio-3.36")).unwrap_err().to_string(),
            "b:8765 has fio-3.36, and this machine fio-3.33: install the same fio on all of them"
        );
        assert!(found(None).unwrap_err().to_string().contains("no fio that says so"));
    }

    #[test]
    fn figures_of_clients_are_joined_only_if_all_are_there() {
        let entry = |name: &str, port: u16, runtime: u64| {
            json!({ "jobname": name, "hostname": "a", "port": port,
                "read": { "runtime": 0 }, "write": { "runtime": runtime }, "trim": {} })
        };
        let document = json!({ "client_stats":
            [entry("x", 2, 900), entry("x", 1, 700), entry("y", 1, 800), entry(ALL, 1, 1700)] });
        let both = joined(&document, &clients("a:1, a:2")).unwrap();
        assert_eq!(both.jobs.len(), 3, "without fio's own sum");
        let finished = both.finished.map(|(client, time)| (client.to_string(), time.as_millis()));
        assert_eq!(finished, [("a:1".to_owned(), 800), ("a:2".to_owned(), 900)]);
        let error = joined(&document, &clients("a:1, a:3")).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("a:3 did not come to the end"), "{error}");
        assert!(joined(&json!({}), &clients("a")).is_err());
    }
}
