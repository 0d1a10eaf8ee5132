//! The leaves that are exports of NBD servers: what their options mean.

use std::path::PathBuf;

use block::{Device, Error, ErrorKind, Node};
use device::{NbdAddress, NbdDevice, NbdOptions, NbdTls};
use words::{Text, statement};

use crate::messages;
use crate::settings::Settings;
use crate::size;

/// Connects to the server of a leaf.
///
/// # Errors
/// Where an option is missing or means nothing; otherwise those of [`NbdDevice::connect`].
pub(crate) fn open(
    leaf: &Node,
    scheme: &str,
    address: &str,
    settings: &Settings<'_>,
    read_only: bool,
) -> Result<NbdDevice, Error> {
    let shown = format!("{scheme}:{address}");
    let place = match (scheme, settings.get("socket")) {
        ("nbd" | "nbds", _) => NbdAddress::tcp(address),
        (_, Some(socket)) => NbdAddress::unix(address, PathBuf::from(socket)),
        (_, None) => Err(invalid(statement!(messages::SAY_SOCKET, address = &shown)).at(&shown)),
    }?;
    let tls = match scheme {
        "nbds" | "nbds+unix" => Some(tls(&shown, settings)?),
        _ => None,
    };
    let reconnect = settings.get("reconnect").map(size::parse_duration).transpose();
    let reconnect = reconnect.map_err(|error| invalid(error).at("nbd: reconnect"))?;
    let plain = NbdOptions::default();
    let connections = settings.number("connections")?.unwrap_or(plain.connections);
    if !(1..=NbdOptions::CONNECTIONS_MAX).contains(&connections) {
        let text = statement!(
            messages::CONNECTIONS_RANGE,
            connections = connections,
            most = NbdOptions::CONNECTIONS_MAX
        );
        return Err(invalid(text).at(shown));
    }
    let options = NbdOptions {
        read_only: read_only || settings.is("read_only", "yes"),
        reconnect: reconnect.unwrap_or(plain.reconnect),
        connections,
    };
    NbdDevice::connect(place, tls.as_ref(), options, leaf.clone())
}

/// What is to be said of an export that is written to without superblocks that say from where.
pub(crate) fn note(export: &dyn Device) -> Option<Text> {
    let is_open = export.lease().is_some_and(|lease| !lease.is_limited());
    (is_open && !export.info().read_only)
        .then(|| Text::from(messages::NOT_KEPT_APART).at(export.describe().to_string()))
}

fn tls(shown: &str, settings: &Settings<'_>) -> Result<NbdTls, Error> {
    let path = |name| settings.get(name).map(PathBuf::from);
    let roots = path("tls_ca").ok_or_else(|| invalid(messages::SAY_ROOTS).at(shown))?;
    let own = match (path("tls_cert"), path("tls_key")) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        _ => return Err(invalid(messages::CERTIFICATE_AND_KEY).at(shown)),
    };
    Ok(NbdTls { roots, own, host: settings.get("tls_host").map(str::to_owned) })
}

fn invalid(text: impl Into<Text>) -> Error {
    Error::new(ErrorKind::Invalid, text)
}
