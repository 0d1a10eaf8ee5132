//! TLS: the server's certificate, and between a connection's bytes and its socket.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use block::{Error, ErrorKind};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use words::statement;

use crate::catalogue;

/// Files in PEM from which the server takes its certificate.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The server's certificate, and those between it and a root.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Roots of clients' certificates: with them, clients without one are turned away.
    pub clients: Option<PathBuf>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    /// One that names the file.
    pub(super) fn load(&self) -> Result<Arc<ServerConfig>, Error> {
        let chain = certificates(&self.certificate)?;
        let key =
            PrivateKeyDer::from_pem_file(&self.key).map_err(|error| unusable(&self.key, error))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::with_source(ErrorKind::Other, "TLS", error))?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| unusable(path, error))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| unusable(path, error))?)
            }
        };
        builder
            .with_single_cert(chain, key)
            .map(Arc::new)
            .map_err(|error| unusable(&self.certificate, error))
    }
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found = read.map_err(|error| unusable(path, error))?;
    if found.is_empty() {
        return Err(Error::new(
            ErrorKind::Invalid,
            statement!(catalogue::SERVER_WITHOUT_CERTIFICATE, path = path.display()),
        ));
    }
    Ok(found)
}

fn unusable(path: &Path, error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::with_source(ErrorKind::Invalid, path.display().to_string(), error)
}

/// One connection's TLS: the socket's bytes on one side, the protocol's on the other.
pub(super) struct Tunnel {
    session: ServerConnection,
    /// What came from the socket and has not been taken.
    waiting: Vec<u8>,
    /// What has to go out in the clear, before anything of TLS.
    clear: Vec<u8>,
    said_goodbye: bool,
}

impl Tunnel {
    pub(super) fn new(config: &Arc<ServerConfig>) -> Result<Tunnel, rustls::Error> {
        let mut session = ServerConnection::new(Arc::clone(config))?;
        // What goes in is bounded by the caller.
        session.set_buffer_limit(None);
        Ok(Tunnel { session, waiting: Vec::new(), clear: Vec::new(), said_goodbye: false })
    }

    /// Bytes from the socket.
    pub(super) fn received(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// Bytes that go out in the clear, before anything of TLS.
    pub(super) fn send_in_the_clear(&mut self, bytes: &[u8]) {
        self.clear.extend_from_slice(bytes);
    }

    /// Whether something from the socket has not been taken yet.
    pub(super) fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether the handshake of TLS is over.
    pub(super) fn is_up(&self) -> bool {
        !self.session.is_handshaking()
    }

    /// Takes what the client said into `target`; how many bytes, none when there is no more for
    /// now.
    ///
    /// # Errors
    /// The peer's TLS is broken, or its certificate is not accepted.
    pub(super) fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.session.reader().read(target) {
                Ok(count) if count > 0 => return Ok(count),
                Ok(_) => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
                Err(error) => return Err(error),
            }
            if self.waiting.is_empty() {
                return Ok(0);
            }
            let taken = self.session.read_tls(&mut &self.waiting[..])?;
            self.waiting.drain(..taken);
            self.session.process_new_packets().map_err(io::Error::other)?;
            if taken == 0 {
                return Ok(0);
            }
        }
    }

    /// Puts in what the client shall read.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.session.writer().write_all(bytes)
    }

    /// Says that nothing more will come; whether that was still to be said.
    pub(super) fn goodbye(&mut self) -> bool {
        let first = !std::mem::replace(&mut self.said_goodbye, true);
        if first {
            self.session.send_close_notify();
        }
        first
    }

    /// What has to go to the socket.
    pub(super) fn outgoing(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = std::mem::take(&mut self.clear);
        while self.session.wants_write() {
            self.session.write_tls(&mut bytes)?;
        }
        Ok(bytes)
    }
}
