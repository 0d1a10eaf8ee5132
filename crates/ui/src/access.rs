//! Which requests are answered at all: pure judgement over what their heads say.
//!
//! ```text
//!   Host      one of the page's own names, or a name that another site rebinds to 127.0.0.1 would do
//!   Origin    the page's own where there is one; a request that changes something has to have it
//!   token     the one that was printed when the page was started
//! ```

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;

use ::words::Message;

use crate::catalogue;

/// What a request may come with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RequestAccess<'a> {
    /// Whether it may change something: any method but `GET`.
    pub(crate) changes: bool,
    /// `Host`, or the authority of the request.
    pub(crate) host: Option<&'a str>,
    /// `Origin`.
    pub(crate) origin: Option<&'a str>,
    /// `Sec-Fetch-Site`, which browsers set and pages cannot.
    pub(crate) site: Option<&'a str>,
    /// The token in its query.
    pub(crate) token: Option<&'a str>,
}

/// Who may ask.
pub(crate) struct Access {
    /// `127.0.0.1:PORT` and `localhost:PORT`.
    hosts: Vec<String>,
    token: String,
}

/// Bytes of a secret: 128 bits, so that none is guessed.
const SECRET_BYTES: usize = 16;

/// Random letters that cannot be guessed.
pub(crate) fn secret() -> io::Result<String> {
    let mut bytes = [0_u8; SECRET_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}")))
}

impl Access {
    /// With a fresh token, for a page at this address.
    pub(crate) fn new(address: SocketAddr) -> io::Result<Access> {
        Ok(Access::with(address, secret()?))
    }

    fn with(address: SocketAddr, token: String) -> Access {
        Access { hosts: vec![address.to_string(), format!("localhost:{}", address.port())], token }
    }

    /// The address to open, token and all.
    pub(crate) fn page(&self) -> String {
        format!("http://{}/?token={}", self.hosts[0], self.token)
    }

    /// Whether a request is answered.
    ///
    /// # Errors
    /// Why it is not, in one line.
    pub(crate) fn judge(&self, asked: &RequestAccess<'_>) -> Result<(), Message> {
        let is_own = |host: &str| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        if !asked.host.is_some_and(is_own) {
            return Err(catalogue::OTHER_HOST);
        }
        let is_own_origin = |origin: &str| origin.strip_prefix("http://").is_some_and(is_own);
        let is_foreign = match asked.origin {
            Some(origin) => !is_own_origin(origin),
            None => asked.changes,
        };
        // A request that was typed or clicked in another program comes from no site.
        let is_cross = asked.site.is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if is_foreign || is_cross {
            return Err(catalogue::OTHER_ORIGIN);
        }
        if !asked.token.is_some_and(|token| same(token, &self.token)) {
            return Err(catalogue::WRONG_TOKEN);
        }
        Ok(())
    }
}

/// Equality that takes as long for a wrong first letter as for a wrong last one.
fn same(left: &str, right: &str) -> bool {
    let differing =
        left.bytes().zip(right.bytes()).fold(0, |sum, (left, right)| sum | left ^ right);
    left.len() == right.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access::with(([127, 0, 0, 1], 4711).into(), "0123abcd".to_owned())
    }

    fn right<'a>() -> RequestAccess<'a> {
        RequestAccess {
            host: Some("127.0.0.1:4711"),
            token: Some("0123abcd"),
            ..RequestAccess::default()
        }
    }

    #[test]
    fn the_pages_own_requests_are_answered() {
        let access = access();
        assert_eq!(access.judge(&right()), Ok(()));
        assert_eq!(
            access.judge(&RequestAccess { host: Some("LocalHost:4711"), ..right() }),
            Ok(())
        );
        assert_eq!(access.judge(&RequestAccess { site: Some("none"), ..right() }), Ok(()));
        for origin in ["http://127.0.0.1:4711", "http://localhost:4711"] {
            let asked = RequestAccess {
                changes: true,
                origin: Some(origin),
                site: Some("same-origin"),
                ..right()
            };
            assert_eq!(access.judge(&asked), Ok(()), "{origin}");
        }
        assert_eq!(access.page(), "http://127.0.0.1:4711/?token=0123abcd");
    }

    #[test]
    fn a_name_that_is_not_the_pages_own_is_refused() {
        for host in [
            None,
            Some("evil.example:4711"),
            Some("127.0.0.1"),
            Some("127.0.0.1:80"),
            Some("127.0.0.1:4711.evil.example"),
            Some(""),
        ] {
            let said = access().judge(&RequestAccess { host, ..right() });
            assert_eq!(said, Err(catalogue::OTHER_HOST), "{host:?}");
        }
    }

    #[test]
    fn another_sites_page_is_refused() {
        for origin in [
            "http://evil.example",
            "https://127.0.0.1:4711",
            "http://127.0.0.1:4712",
            "null",
            "http://127.0.0.1:4711.evil.example",
        ] {
            for changes in [false, true] {
                let said =
                    access().judge(&RequestAccess { changes, origin: Some(origin), ..right() });
                assert_eq!(said, Err(catalogue::OTHER_ORIGIN), "{origin}");
            }
        }
        let without = access().judge(&RequestAccess { changes: true, ..right() });
        assert_eq!(without, Err(catalogue::OTHER_ORIGIN));
        for site in ["cross-site", "same-site"] {
            assert!(
                access().judge(&RequestAccess { site: Some(site), ..right() }).is_err(),
                "{site}"
            );
        }
    }

    #[test]
    fn without_the_token_nothing_is_answered() {
        for token in [None, Some(""), Some("0123abc"), Some("0123abce"), Some("0123abcd0")] {
            let said = access().judge(&RequestAccess { token, ..right() });
            assert_eq!(said, Err(catalogue::WRONG_TOKEN), "{token:?}");
        }
    }

    #[test]
    fn every_start_has_a_token_of_its_own() {
        let token = || Access::new(([127, 0, 0, 1], 1).into()).expect("a token").token;
        let (first, second) = (token(), token());
        assert!(first != second && first.len() == 2 * SECRET_BYTES, "{first} {second}");
    }
}
