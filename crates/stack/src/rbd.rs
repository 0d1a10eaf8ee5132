//! `rbd:POOL/IMAGE`: an image of a Ceph cluster, by way of an NBD server that serves
//! this process alone. [`OpenFiles::serve_image`] starts it.
//!
//! ```text
//!   rbd:POOL[/NAMESPACE]/IMAGE[@SNAPSHOT]
//!     │ RbdImage             what of which cluster
//!   OpenFiles::serve_image   a server of our own
//!     │ ImageServer          where it listens, and what ends it
//!   NbdDevice                the leaf
//! ```

use std::any::Any;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use block::{Error, ErrorKind, Node};
use device::{NbdAddress, NbdDevice, NbdOptions};

use crate::build::{OpenFiles, Settings};
use crate::size;

/// How long a cluster may take until it has opened an image, where nothing is said.
const CONNECT_TIME: Duration = Duration::from_secs(30);

/// An image of a Ceph cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RbdImage {
    /// The pool that it is in.
    pub pool: String,
    /// The namespace within the pool.
    pub namespace: Option<String>,
    /// Its name.
    pub image: String,
    /// The snapshot of it, which is only read.
    pub snapshot: Option<String>,
    /// The cluster's configuration; where Ceph looks for it otherwise.
    pub conf: Option<PathBuf>,
    /// The user of the cluster, without `client.`; Ceph's own choice otherwise, which is `admin`.
    pub id: Option<String>,
    /// Refuse writes.
    pub read_only: bool,
    /// How long the cluster may take until it has opened the image.
    pub connect_time: Duration,
}

impl RbdImage {
    /// The image that `POOL[/NAMESPACE]/IMAGE[@SNAPSHOT]` names, as the `rbd` program has it.
    #[must_use]
    pub fn parse(address: &str) -> Option<RbdImage> {
        let (place, snapshot) = match address.split_once('@') {
            Some((place, snapshot)) => (place, Some(snapshot)),
            None => (address, None),
        };
        let parts: Vec<&str> = place.split('/').collect();
        let (pool, namespace, image) = match parts[..] {
            [pool, image] => (pool, None, image),
            [pool, namespace, image] => (pool, Some(namespace), image),
            _ => return None,
        };
        let said = [Some(pool), namespace, Some(image), snapshot];
        let is_name = |name: &str| !name.is_empty() && !name.contains('@');
        said.into_iter().flatten().all(is_name).then(|| RbdImage {
            pool: pool.to_owned(),
            namespace: namespace.map(str::to_owned),
            image: image.to_owned(),
            snapshot: snapshot.map(str::to_owned),
            conf: None,
            id: None,
            read_only: snapshot.is_some(),
            connect_time: CONNECT_TIME,
        })
    }

    /// The image of a leaf, as its options say.
    ///
    /// # Errors
    /// Where it is no leaf of an image, or an option means nothing.
    pub fn of(leaf: &Node) -> Result<RbdImage, Error> {
        match leaf {
            Node::Leaf { scheme, address, options } if scheme == "rbd" => {
                RbdImage::with(address, &Settings { given: options })
            }
            other => Err(Error::new(ErrorKind::Invalid, format!("{other}: no rbd:POOL/IMAGE"))),
        }
    }

    fn with(address: &str, settings: &Settings<'_>) -> Result<RbdImage, Error> {
        let invalid = |text: String| Error::new(ErrorKind::Invalid, text);
        let image = RbdImage::parse(address)
            .ok_or_else(|| invalid(format!("rbd:{address}: expected rbd:POOL/IMAGE")))?;
        let connect_time = settings.get("timeout").map(size::parse_duration).transpose();
        let connect_time =
            connect_time.map_err(|error| invalid(error.to_string()).at("rbd: timeout"))?;
        Ok(RbdImage {
            conf: settings.get("conf").map(PathBuf::from),
            id: settings.get("id").map(str::to_owned),
            read_only: image.read_only || settings.is("read_only", "yes"),
            connect_time: connect_time.unwrap_or(CONNECT_TIME),
            ..image
        })
    }
}

/// As in stack text, without options.
impl fmt::Display for RbdImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rbd:{}/", self.pool)?;
        self.namespace.iter().try_for_each(|name| write!(f, "{name}/"))?;
        f.write_str(&self.image)?;
        self.snapshot.iter().try_for_each(|name| write!(f, "@{name}"))
    }
}

/// A server that serves one image to this process alone.
pub struct ImageServer {
    /// Where it listens: the path means this socket in this process only.
    pub socket: PathBuf,
    /// Ends the server when it is dropped.
    pub server: Box<dyn Any + Send + Sync>,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Has the image of a leaf served, and connects to it.
///
/// # Errors
/// Where an option means nothing, what [`OpenFiles::serve_image`] says, and those of
/// [`NbdDevice::connect`].
pub(crate) fn open(
    leaf: &Node,
    address: &str,
    settings: &Settings<'_>,
    read_only: bool,
    files: &dyn OpenFiles,
) -> Result<(NbdDevice, Vec<String>), Error> {
    let mut image = RbdImage::with(address, settings)?;
    image.read_only |= read_only;
    let ImageServer { socket, server, notes } = files.serve_image(&image)?;
    let options = NbdOptions {
        read_only: image.read_only,
        // The server does not come back: it is this process that would have to start it.
        reconnect: Duration::ZERO,
        connections: 1,
    };
    let place = NbdAddress::own(socket, image.to_string());
    let device = NbdDevice::connect(place, None, options, leaf.clone())?;
    Ok((device.keeping(server), notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_named_as_the_rbd_program_names_them() {
        for text in ["p/a", "p/n/a", "p/a@s", "p/n/a@s"] {
            let image = RbdImage::parse(text).expect("an image");
            assert_eq!(image.to_string(), format!("rbd:{text}"));
            assert_eq!(image.read_only, text.contains('@'), "a snapshot is never written to");
        }
        for text in ["", "a", "/a", "p/", "p/a@", "p//a", "p/n/a/b", "p/a@s@t"] {
            assert_eq!(RbdImage::parse(text), None, "{text}");
        }
    }
}
