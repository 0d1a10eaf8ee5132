//! `raidloom ui`: the page in the browser.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::catalogue;
use crate::failure::{Failure, this_program};
use crate::language::{Lang, language};
use crate::output::{Output, said};
use crate::signals;

/// `ui`.
#[derive(Args, Debug)]
pub(crate) struct UiArguments {
    /// Where the page listens: an address of this machine for itself alone; with port 0 any port
    /// that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: String,

    /// The folder whose runs are shown, and where plans are saved
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub runs: PathBuf,

    /// Let the page change things: measure, start and stop arrays, exchange members, save plans
    #[arg(long)]
    pub allow_changes: bool,

    /// Language of the page, by default the locale's; it has a switch to the other one
    #[arg(long, value_name = "LANG")]
    pub lang: Option<Lang>,
}

/// Serves the page until Ctrl-C.
pub(crate) fn ui(output: &Output, arguments: &UiArguments) -> Result<(), Failure> {
    let runs =
        arguments.runs.canonicalize().ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
            let path = arguments.runs.display().to_string();
            Failure::usage(catalogue::FOLDER_NEEDED).at(said("--runs", &path))
        })?;
    let program = this_program()?;
    let options = ui::Options {
        listen: listen(&arguments.listen)?,
        runs,
        program,
        allow_changes: arguments.allow_changes,
        language: language(arguments.lang),
    };
    ui::serve(options, &signals::to_end(), |page| {
        if output.json {
            return output
                .document(&json!({ "page": page, "allow_changes": arguments.allow_changes }));
        }
        output.result(page)?;
        let message = match arguments.allow_changes {
            true => catalogue::OPEN_ADDRESS_CHANGES,
            false => catalogue::OPEN_ADDRESS,
        };
        output.progress(message.template());
        Ok(())
    })
}

/// An address; `localhost:PORT` is 127.0.0.1.
fn listen(text: &str) -> Result<SocketAddr, Failure> {
    let port = |text: &str| text.parse::<u16>().ok();
    if let Some(port) = text.strip_prefix("localhost:").and_then(port) {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| Failure::usage(catalogue::LISTEN_EXPECTED).at(said("--listen", text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_its_port() {
        for (text, meant) in [
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(listen(text).unwrap().to_string(), meant);
        }
        for text in ["", "8080", "localhost", "localhost:x", "example.org:80", "127.0.0.1"] {
            let said = listen(text).unwrap_err().to_string();
            assert!(said.contains("such as 127.0.0.1:8080") && !said.contains('\n'), "{said}");
        }
    }
}
