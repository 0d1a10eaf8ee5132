//! `probe serve`: a stack behind a socket, for as long as the standard input stays open.

use std::io::{self, Write};
use std::path::PathBuf;

use export::RemovalPolicy;
use export::nbd::{Address, Export, Options, Server};

/// Serves a stack over NBD at a Unix socket, as `raidloom array start` does it; says `ready` when
/// clients may come.
///
/// # Errors
/// What is wrong with the stack or the socket; afterwards, that a request failed or a client was
/// turned away.
pub(crate) fn nbd(arguments: impl Iterator<Item = String>) -> Result<String, String> {
    let arguments: Vec<String> = arguments.collect();
    let [target, socket] = &arguments[..] else {
        return Err("a target and a socket are needed".to_owned());
    };
    let (device, _) = crate::build(target)?;
    let export = Export {
        name: "bench".to_owned(),
        description: String::new(),
        read_only: device.info().read_only,
        device,
        policy: RemovalPolicy::Performance,
        gate: Default::default(),
    };
    let address = Address::Unix(PathBuf::from(socket));
    let server = Server::start(vec![export], &[address], &Options::default())
        .map_err(|error| error.to_string())?;
    println!("ready");
    io::stdout().flush().map_err(|error| error.to_string())?;
    // The process that started this closes it, be it by ending.
    io::copy(&mut io::stdin(), &mut io::sink()).map_err(|error| error.to_string())?;
    let status = server.status();
    let errors: u64 = status.exports.iter().map(|export| export.errors).sum();
    if errors > 0 || status.turned_away > 0 {
        return Err(format!(
            "{errors} requests failed, {} clients were turned away",
            status.turned_away
        ));
    }
    Ok("served".to_owned())
}
