//! A server for the image of a Ceph cluster: what a leaf says of it, and the way to it.
//!
//! ```text
//!   rbd:POOL[/NAMESPACE]/IMAGE[@SNAPSHOT]
//!     │ RbdImage             what of which cluster
//!   OpenFiles::serve_image   a server of our own
//!     │ ImageServer          where it listens, and what ends it
//!   NbdDevice                the leaf
//! ```
//!
//! [`OpenFiles::serve_image`]: crate::OpenFiles::serve_image

use std::any::Any;
use std::path::PathBuf;
use std::time::Duration;

use block::{Error, ErrorKind, Node};
use device::{NbdAddress, NbdDevice, NbdOptions};
use words::{Text, statement};

use crate::messages;
use crate::rbd::{CONNECT_TIME, RbdImage};
use crate::settings::Settings;
use crate::size;

impl RbdImage {
    /// The image of a leaf, as its options say.
    ///
    /// # Errors
    /// Where it is no leaf of an image, or an option means nothing.
    pub fn of(leaf: &Node) -> Result<RbdImage, Error> {
        match leaf {
            Node::Leaf { scheme, address, options } if scheme == "rbd" => {
                RbdImage::with(address, &Settings::checked(options))
            }
            other => Err(Error::new(ErrorKind::Invalid, messages::NO_RBD_IMAGE).at(other)),
        }
    }

    /// The image at `address`, as the options of its leaf say.
    pub(crate) fn with(address: &str, settings: &Settings<'_>) -> Result<RbdImage, Error> {
        let image = RbdImage::parse(address).ok_or_else(|| {
            let text = statement!(messages::EXPECTED_HERE, expected = "rbd:POOL/IMAGE");
            Error::new(ErrorKind::Invalid, text).at(format!("rbd:{address}"))
        })?;
        let connect_time = settings.get("timeout").map(size::parse_duration).transpose();
        let connect_time = connect_time
            .map_err(|error| Error::new(ErrorKind::Invalid, error).at("rbd: timeout"))?;
        Ok(RbdImage {
            conf: settings.get("conf").map(PathBuf::from),
            id: settings.get("id").map(str::to_owned),
            read_only: image.read_only || settings.is("read_only", "yes"),
            connect_time: connect_time.unwrap_or(CONNECT_TIME),
            ..image
        })
    }
}

/// A server that serves one image to this process alone.
pub struct ImageServer {
    /// Where it listens: the path means this socket in this process only.
    pub socket: PathBuf,
    /// Ends the server when it is dropped.
    pub server: Box<dyn Any + Send + Sync>,
    /// What the user should know.
    pub notes: Vec<Text>,
}

impl ImageServer {
    /// The leaf that it serves, which keeps the server.
    ///
    /// # Errors
    /// Those of [`NbdDevice::connect`].
    pub(crate) fn connect(self, image: &RbdImage, leaf: &Node) -> Result<NbdDevice, Error> {
        let options = NbdOptions {
            read_only: image.read_only,
            // The server does not come back: it is this process that would have to start it.
            reconnect: Duration::ZERO,
            connections: 1,
        };
        let place = NbdAddress::own(self.socket, image.to_string());
        Ok(NbdDevice::connect(place, None, options, leaf.clone())?.keeping(self.server))
    }
}
