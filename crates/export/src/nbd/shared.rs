//! What the workers of a server share, and what they are told.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, PoisonError};

use block::{Device, Error};
use words::Text;

use super::admission::{Admission, Ticket};
use super::handshake::TlsRule;
use super::limits::Limits;
use super::shape::Shape;
use crate::{Gate, RemovalPolicy};

/// Counts of one worker for one export.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Counters {
    pub(super) connections: AtomicU64,
    pub(super) reads: AtomicU64,
    pub(super) read_bytes: AtomicU64,
    pub(super) writes: AtomicU64,
    pub(super) written_bytes: AtomicU64,
    pub(super) clears: AtomicU64,
    pub(super) flushes: AtomicU64,
    pub(super) errors: AtomicU64,
}

pub(super) struct ExportEntry {
    pub(super) device: Arc<dyn Device>,
    pub(super) policy: RemovalPolicy,
    pub(super) gate: Arc<Gate>,
    /// One for each worker, so that they do not share cache lines.
    pub(super) counters: Vec<Counters>,
    pub(super) trouble: Mutex<Option<Text>>,
}

impl ExportEntry {
    pub(super) fn complain(&self, error: &Error) {
        *self.trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.text());
    }
}

/// What workers share.
pub(super) struct ServerCore {
    pub(super) exports: Vec<ExportEntry>,
    /// What the protocol knows of them, in the same order.
    pub(super) shapes: Vec<Shape>,
    pub(super) tls: Option<Arc<rustls::ServerConfig>>,
    pub(super) limits: Limits,
    pub(super) workers: usize,
    /// Connections of each worker.
    pub(super) loads: Vec<AtomicUsize>,
    /// Which connections may come in.
    pub(super) admission: Arc<Admission>,
    pub(super) trouble: Mutex<Option<Text>>,
}

/// What a worker is told.
pub(super) enum Mail {
    Connection(Arc<OwnedFd>, Ticket, TlsRule),
    Stop,
}
