//! Every layer, leaf and option there is, declared once: parsing and building read this table.

use array::{MEMBERS_MAX, Raid10Layout};

use words::{Text, statement};

use crate::{RbdImage, messages, nearest, size};

/// What an option's value or a leaf's address has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ValueKind {
    /// A size in bytes, read by [`size::parse`].
    Size,
    /// A whole number.
    Count,
    /// A number from 0 to 1.
    Fraction,
    /// A duration, read by [`size::parse_duration`].
    Duration,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A layout of copies, as mdadm names them.
    Copies,
    /// The path of a file or block device.
    Path,
    /// A name, or the path of a file.
    Name,
    /// Where an export of an NBD server is: `//HOST[:PORT]/EXPORT`, or `///EXPORT` of a socket.
    Export,
    /// An image of a Ceph cluster: `POOL[/NAMESPACE]/IMAGE[@SNAPSHOT]`.
    Image,
    /// Ranges of bytes: `OFFSET+LENGTH`, several joined by `;`.
    Ranges,
}

impl ValueKind {
    /// Whether the text is one.
    ///
    /// # Errors
    /// What is expected, and the word that may have been meant.
    pub fn check(self, text: &str) -> Result<(), Problem> {
        let expected = || Err(Problem::of(self.text()));
        let reason =
            |error: size::UnitError| Problem { expected: self.text(), hint: Some(error.reason) };
        match self {
            ValueKind::Size => size::parse(text).map(drop).map_err(reason),
            ValueKind::Duration => size::parse_duration(text).map(drop).map_err(reason),
            ValueKind::Copies if Raid10Layout::from_name(text).is_some() => Ok(()),
            ValueKind::Count => text.parse::<u64>().map(drop).or_else(|_| expected()),
            ValueKind::Fraction
                if text.parse::<f64>().is_ok_and(|number| (0.0..=1.0).contains(&number)) =>
            {
                Ok(())
            }
            ValueKind::Word(words) if words.contains(&text) => Ok(()),
            ValueKind::Word(words) => Err(Problem {
                expected: self.text(),
                hint: nearest(text, words.iter().copied()).map(did_you_mean),
            }),
            ValueKind::Ranges => ranges(text).map(drop).or_else(|_| expected()),
            ValueKind::Path | ValueKind::Name if !text.is_empty() => Ok(()),
            ValueKind::Export if text.starts_with("//") => Ok(()),
            ValueKind::Image if RbdImage::parse(text).is_some() => Ok(()),
            ValueKind::Fraction
            | ValueKind::Copies
            | ValueKind::Path
            | ValueKind::Name
            | ValueKind::Export
            | ValueKind::Image => expected(),
        }
    }
}

impl ValueKind {
    /// What it is, in words.
    #[must_use]
    pub fn text(self) -> Text {
        let said = match self {
            ValueKind::Word(words) => return alternatives(words),
            ValueKind::Size => messages::STACK_SIZE,
            ValueKind::Copies => messages::COPIES_LAYOUT,
            ValueKind::Count => messages::WHOLE_COUNT,
            ValueKind::Fraction => messages::FRACTION,
            ValueKind::Duration => messages::STACK_DURATION,
            ValueKind::Path => messages::A_PATH,
            ValueKind::Name => messages::NAME_OR_PATH,
            ValueKind::Export => messages::AN_EXPORT,
            ValueKind::Image => messages::AN_IMAGE,
            ValueKind::Ranges => messages::BYTE_RANGES,
        };
        said.into()
    }
}

/// Offset and length of each of `OFFSET+LENGTH;OFFSET+LENGTH`, in bytes.
pub(crate) fn ranges(text: &str) -> Result<Vec<(u64, u64)>, size::UnitError> {
    let no_range = || size::UnitError {
        reason: statement!(messages::NO_RANGES, text = text),
        expected: "OFFSET+LENGTH;OFFSET+LENGTH".into(),
    };
    let range = |text: &str| {
        let (offset, length) = text.split_once('+').ok_or_else(no_range)?;
        Ok((size::parse(offset)?.bytes, size::parse(length)?.bytes))
    };
    text.split(';').map(range).collect()
}

/// What was expected in the place of something wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What should have been there.
    pub expected: Text,
    /// A further help.
    pub hint: Option<Text>,
}

impl Problem {
    /// One without a further help.
    pub(crate) fn of(expected: impl Into<Text>) -> Problem {
        Problem { expected: expected.into(), hint: None }
    }

    /// What is said of it, with the further help.
    pub(crate) fn with_hint(&self, text: Text) -> Text {
        match &self.hint {
            Some(hint) => statement!(messages::WITH_HINT, text = text, hint = hint),
            None => text,
        }
    }
}

/// One option of a layer or leaf.
#[derive(Clone, Copy, Debug)]
pub struct OptionRow {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: ValueKind,
    /// What holds without it, for people.
    pub default: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
}

/// One kind of layer.
#[derive(Clone, Copy, Debug)]
pub struct LayerRow {
    /// Its name.
    pub name: &'static str,
    /// The fewest and the most devices that it stands on.
    pub members: (usize, usize),
    /// Whether some of them may be `missing`.
    pub redundant: bool,
    /// Its options.
    pub options: &'static [OptionRow],
    /// What it does, in one line.
    pub help: &'static str,
}

/// One kind of leaf.
#[derive(Clone, Copy, Debug)]
pub struct LeafRow {
    /// Its scheme.
    pub name: &'static str,
    /// What its address is.
    pub address: ValueKind,
    /// Its options.
    pub options: &'static [OptionRow],
    /// What it does, in one line.
    pub help: &'static str,
}

const YES_NO: ValueKind = ValueKind::Word(&["yes", "no"]);
const BLOCK: OptionRow = OptionRow {
    name: "block",
    takes: ValueKind::Size,
    default: "512",
    help: "block size: a power of two, at least 512 bytes",
};
/// Without the word, members are used whole unless they carry superblocks; then it has to be said
/// what is meant.
pub(crate) const METADATA: OptionRow = OptionRow {
    name: "metadata",
    takes: ValueKind::Word(&["none", "1.2", "1.1", "1.0", "0.90"]),
    default: "none",
    help: "md superblocks on the members, by which the array is started (0.90 for reading only); \
        none: the whole members are used",
};
const FORCE: OptionRow = OptionRow {
    name: "force",
    takes: YES_NO,
    default: "no",
    help: "with metadata: start also a dirty array with a member missing, or with members that may \
        be older than the rest, though something may be lost by it, one without a bad-block log \
        that is damaged, or one with half of its members where other hosts may have the rest",
};
const CHUNK: OptionRow = OptionRow {
    name: "chunk",
    takes: ValueKind::Size,
    default: "512KiB",
    help: "what one member holds contiguously",
};
/// Layouts of RAID 6; RAID 5 has the first six.
const PARITY_LAYOUTS: &[&str] = &[
    "left-asymmetric",
    "right-asymmetric",
    "left-symmetric",
    "right-symmetric",
    "parity-first",
    "parity-last",
    "ddf-zero-restart",
    "ddf-N-restart",
    "ddf-N-continue",
    "left-asymmetric-6",
    "right-asymmetric-6",
    "left-symmetric-6",
    "right-symmetric-6",
    "parity-first-6",
];
/// How parity moves: what RAID 5 and 6 have in common, and what RAID 6 has besides.
const LAYOUT: OptionRow = OptionRow {
    name: "layout",
    takes: ValueKind::Word(PARITY_LAYOUTS.split_at(6).0),
    default: "left-symmetric",
    help: "how parity moves from row to row",
};
const LAYOUT6: OptionRow = OptionRow { takes: ValueKind::Word(PARITY_LAYOUTS), ..LAYOUT };

/// What a layer that keeps something of the device below believes of it.
const BELIEVE: OptionRow = OptionRow {
    name: "believe",
    takes: ValueKind::Word(&["same", "sample"]),
    default: "same",
    help: "sample vouches for a device that was moved, copied or touched: it counts as unchanged \
        if a sample of its data is",
};

/// The layers.
pub static LAYERS: &[LayerRow] = &[
    LayerRow {
        name: "linear",
        members: (1, MEMBERS_MAX),
        redundant: false,
        options: &[
            OptionRow {
                name: "offset",
                takes: ValueKind::Size,
                default: "0",
                help: "what of the first member lies before the data, without superblocks",
            },
            METADATA,
            FORCE,
        ],
        help: "members one behind the other",
    },
    LayerRow {
        name: "raid0",
        members: (1, MEMBERS_MAX),
        redundant: false,
        options: &[
            OptionRow {
                name: "chunk",
                takes: ValueKind::Size,
                default: "64KiB",
                help: "what one member holds contiguously",
            },
            OptionRow {
                name: "layout",
                takes: ValueKind::Word(&["original", "alternate"]),
                default: "original",
                help: "who comes first where only the longer members go on: md before 3.14, or md \
                    3.14 to 5.3",
            },
            METADATA,
            FORCE,
        ],
        help: "chunks dealt out to the members in turn",
    },
    LayerRow {
        name: "raid1",
        members: (1, 255),
        redundant: true,
        options: &[METADATA, FORCE],
        help: "everything on every member",
    },
    LayerRow {
        name: "raid10",
        members: (2, MEMBERS_MAX),
        redundant: true,
        options: &[
            CHUNK,
            OptionRow {
                name: "layout",
                takes: ValueKind::Copies,
                default: "n2",
                help: "how many copies: near each other, far apart, or offset by a row",
            },
            METADATA,
            FORCE,
        ],
        help: "chunks with copies, dealt out to the members",
    },
    LayerRow {
        name: "raid4",
        members: (2, 255),
        redundant: true,
        options: &[CHUNK, METADATA, FORCE],
        help: "chunks with parity, all of it on the last member",
    },
    LayerRow {
        name: "raid5",
        members: (2, 255),
        redundant: true,
        options: &[CHUNK, LAYOUT, METADATA, FORCE],
        help: "chunks with parity: one member may be lost",
    },
    LayerRow {
        name: "raid6",
        members: (4, 255),
        redundant: true,
        options: &[CHUNK, LAYOUT6, METADATA, FORCE],
        help: "chunks with two kinds of parity: two members may be lost",
    },
    LayerRow {
        name: "overlay",
        members: (2, 2),
        redundant: false,
        options: &[
            OptionRow {
                name: "keep",
                takes: YES_NO,
                default: "yes",
                help: "keep the changes in the delta; no: forget them at the end",
            },
            BELIEVE,
        ],
        help: "DELTA, DEVICE: what is written goes to the delta, the device is opened read-only \
            (docs/formats/overlay.md)",
    },
    LayerRow {
        name: "cache",
        members: (2, 2),
        redundant: false,
        options: &[
            OptionRow {
                name: "mode",
                takes: ValueKind::Word(&[
                    "write-through",
                    "write-around",
                    "write-back",
                    "read-only",
                ]),
                default: "write-through",
                help: "writes go to the device and the store, to the device alone, to the store \
                    first, or nowhere",
            },
            OptionRow {
                name: "block",
                takes: ValueKind::Size,
                default: "4KiB",
                help: "what is cached as a whole: a power of two, 4KiB to 256KiB",
            },
            OptionRow {
                name: "policy",
                takes: ValueKind::Word(&["s3-fifo", "sieve", "lru", "clock", "2q", "arc", "lfu"]),
                default: "s3-fifo",
                help: "which block goes for another",
            },
            OptionRow {
                name: "sequential_cutoff",
                takes: ValueKind::Size,
                default: "4MiB",
                help: "longer sequential runs go past the cache; 0 for none does. A cache as large \
                    as the device has no such limit",
            },
            OptionRow {
                name: "promote_after",
                takes: ValueKind::Count,
                default: "1",
                help: "at which access a block comes in, 1 to 15",
            },
            OptionRow {
                name: "dirty",
                takes: ValueKind::Count,
                default: "50",
                help: "write-back: from how many percent dirty on writes have to write some out",
            },
            OptionRow {
                name: "dirty_high",
                takes: ValueKind::Count,
                default: "4/5 of dirty",
                help: "write-back, in a server: above so many percent dirty, it writes out",
            },
            OptionRow {
                name: "dirty_low",
                takes: ValueKind::Count,
                default: "1/2 of dirty",
                help: "down to so many percent",
            },
            OptionRow {
                name: "writeback_idle",
                takes: ValueKind::Duration,
                default: "1s",
                help: "write-back, in a server: all of it is written out after so long without a \
                    request; 0 for never",
            },
            OptionRow {
                name: "writeback_rate",
                takes: ValueKind::Size,
                default: "no limit",
                help: "the most that a server writes out in a second for these two reasons",
            },
            BELIEVE,
        ],
        help: "STORE, DEVICE: what is asked for again comes from the store: ram:SIZE, or a device, \
            which is kept (docs/formats/cache.md)",
    },
    LayerRow {
        name: "image",
        members: (1, 2),
        redundant: false,
        options: &[
            OptionRow {
                name: "snapshot",
                takes: ValueKind::Name,
                default: "none",
                help: "qcow2: the name or number of a snapshot in the image",
            },
            OptionRow {
                name: "write",
                takes: YES_NO,
                default: "no",
                help: "qcow2 of version 3 without snapshots: what is written goes into the image",
            },
            OptionRow {
                name: "extent",
                takes: YES_NO,
                default: "no",
                help: "VMDK: FILE is one of several that a disk is in; linear(…) joins them",
            },
        ],
        help: "FILE, BACKING: the disk in a qcow2, VMDK, VHD, VHDX or VDI image, read-only unless \
            write=yes, and what it lies over, if it does (docs/disk-images.md)",
    },
    LayerRow {
        name: "luks",
        members: (1, 1),
        redundant: false,
        options: &[
            OptionRow {
                name: "passphrase_file",
                takes: ValueKind::Path,
                default: "none, has to be said",
                help: "what opens one of its key slots: all of the file, as --key-file of \
                    cryptsetup takes it, or what comes before a newline at its end",
            },
            OptionRow {
                name: "header",
                takes: ValueKind::Path,
                default: "in front of the data",
                help: "the file that the container's header is in",
            },
            OptionRow {
                name: "discard",
                takes: YES_NO,
                default: "no",
                help: "let discards through, which tell whoever reads the device where nothing lies",
            },
        ],
        help: "an encrypted device: LUKS1 or LUKS2, AES in XTS mode, as cryptsetup makes them \
            (docs/encryption.md)",
    },
    LayerRow {
        name: "record",
        members: (2, 2),
        redundant: false,
        options: &[],
        help: "TRACE, DEVICE: writes every request down in a new file (docs/formats/trace.md)",
    },
    LayerRow {
        name: "fault",
        members: (1, 1),
        redundant: false,
        options: &[
            OptionRow {
                name: "seed",
                takes: ValueKind::Count,
                default: "the run's",
                help: "where the dice start",
            },
            OptionRow {
                name: "read_error",
                takes: ValueKind::Fraction,
                default: "0",
                help: "probability that a read fails",
            },
            OptionRow {
                name: "write_error",
                takes: ValueKind::Fraction,
                default: "0",
                help: "probability that a write fails",
            },
            OptionRow {
                name: "flush_error",
                takes: ValueKind::Fraction,
                default: "0",
                help: "probability that a flush, and all after it, fail",
            },
            OptionRow {
                name: "read_flip",
                takes: ValueKind::Fraction,
                default: "0",
                help: "probability that a read brings one bit changed",
            },
            OptionRow {
                name: "write_flip",
                takes: ValueKind::Fraction,
                default: "0",
                help: "probability that a write arrives with one bit changed",
            },
            OptionRow {
                name: "write_lost",
                takes: ValueKind::Fraction,
                default: "0",
                help: "probability that a write is acknowledged and never arrives",
            },
            OptionRow {
                name: "write_misdirected",
                takes: ValueKind::Fraction,
                default: "0",
                help: "probability that a write arrives at another place",
            },
            OptionRow {
                name: "bad",
                takes: ValueKind::Ranges,
                default: "none",
                help: "what cannot be read until it is written",
            },
            OptionRow {
                name: "delay",
                takes: ValueKind::Duration,
                default: "0s",
                help: "time added to requests",
            },
            OptionRow {
                name: "delay_probability",
                takes: ValueKind::Fraction,
                default: "1",
                help: "probability that a request is delayed",
            },
            OptionRow {
                name: "stuck_after",
                takes: ValueKind::Count,
                default: "never",
                help: "answers no request after so many",
            },
            OptionRow {
                name: "vanish_after",
                takes: ValueKind::Count,
                default: "never",
                help: "gone after so many requests",
            },
            OptionRow {
                name: "volatile",
                takes: YES_NO,
                default: "no",
                help: "a write cache that a crash empties",
            },
            OptionRow {
                name: "lie",
                takes: ValueKind::Word(&["flush"]),
                default: "never",
                help: "answers flushes and does nothing",
            },
            OptionRow { name: "shorn", takes: YES_NO, default: "no", help: "a crash tears blocks" },
        ],
        help: "breaks what is below it, by seed",
    },
];

const NBD_OPTIONS: &[OptionRow] = &[
    OptionRow { name: "read_only", takes: YES_NO, default: "no", help: "refuse writes" },
    OptionRow {
        name: "reconnect",
        takes: ValueKind::Duration,
        default: "10s",
        help: "how long a lost connection is tried to be made again, where no write can be lost \
            with it",
    },
    OptionRow {
        name: "connections",
        takes: ValueKind::Count,
        default: "1",
        help: "how many connections a thread has that works on it, up to 16, where the server shares \
            its cache among them (can_multi_conn)",
    },
];

const NBD_SOCKET: OptionRow = OptionRow {
    name: "socket",
    takes: ValueKind::Path,
    default: "none, has to be said",
    help: "where the server listens",
};

const TLS_OPTIONS: &[OptionRow] = &[
    OptionRow {
        name: "tls_ca",
        takes: ValueKind::Path,
        default: "none, has to be said",
        help: "PEM file of the roots that the server's certificate has to lead to",
    },
    OptionRow {
        name: "tls_cert",
        takes: ValueKind::Path,
        default: "none",
        help: "PEM file of a certificate of this client, for servers that ask for one",
    },
    OptionRow {
        name: "tls_key",
        takes: ValueKind::Path,
        default: "none",
        help: "PEM file of its private key",
    },
    OptionRow {
        name: "tls_host",
        takes: ValueKind::Name,
        default: "the host, or localhost",
        help: "the name that the server's certificate has to be for",
    },
];

/// The leaves.
pub static LEAVES: &[LeafRow] = &[
    LeafRow {
        name: "file",
        address: ValueKind::Path,
        options: &[
            OptionRow {
                name: "size",
                takes: ValueKind::Size,
                default: "to the file's end",
                help: "size of the device",
            },
            OptionRow {
                name: "offset",
                takes: ValueKind::Size,
                default: "0",
                help: "where the device starts in the file",
            },
            OptionRow { name: "block", takes: ValueKind::Size, default: "the target's", ..BLOCK },
            OptionRow {
                name: "direct",
                takes: ValueKind::Word(&["auto", "yes", "no"]),
                default: "auto",
                help: "past the page cache: where the target takes it, or else refused, or never",
            },
            OptionRow { name: "read_only", takes: YES_NO, default: "no", help: "refuse writes" },
        ],
        help: "a regular file or a block device; a bare path is one too",
    },
    LeafRow {
        name: "ram",
        address: ValueKind::Size,
        options: &[
            BLOCK,
            OptionRow {
                name: "latency",
                takes: ValueKind::Duration,
                default: "none: its times are the machine's",
                help: "models it: what each request takes, one after the other; over modelled disks \
                    a plan has it on their clock then",
            },
            OptionRow {
                name: "rate",
                takes: ValueKind::Size,
                default: "no limit",
                help: "with latency: what is copied in a second",
            },
        ],
        help: "memory; gone when raidloom ends",
    },
    LeafRow {
        name: "null",
        address: ValueKind::Size,
        options: &[BLOCK],
        help: "takes everything, keeps nothing",
    },
    LeafRow {
        name: "nbd",
        address: ValueKind::Export,
        options: NBD_OPTIONS,
        help: "an export of an NBD server: nbd://HOST[:PORT]/EXPORT",
    },
    LeafRow {
        name: "nbds",
        address: ValueKind::Export,
        options: &[
            NBD_OPTIONS[0],
            NBD_OPTIONS[1],
            NBD_OPTIONS[2],
            TLS_OPTIONS[0],
            TLS_OPTIONS[1],
            TLS_OPTIONS[2],
            TLS_OPTIONS[3],
        ],
        help: "the same over TLS: nbds://HOST[:PORT]/EXPORT?tls_ca=FILE",
    },
    LeafRow {
        name: "nbd+unix",
        address: ValueKind::Export,
        options: &[NBD_SOCKET, NBD_OPTIONS[0], NBD_OPTIONS[1], NBD_OPTIONS[2]],
        help: "an export of an NBD server on this machine: nbd+unix:///EXPORT?socket=PATH",
    },
    LeafRow {
        name: "nbds+unix",
        address: ValueKind::Export,
        options: &[
            NBD_SOCKET,
            NBD_OPTIONS[0],
            NBD_OPTIONS[1],
            NBD_OPTIONS[2],
            TLS_OPTIONS[0],
            TLS_OPTIONS[1],
            TLS_OPTIONS[2],
            TLS_OPTIONS[3],
        ],
        help: "the same over TLS: nbds+unix:///EXPORT?socket=PATH&tls_ca=FILE",
    },
    LeafRow {
        name: "rbd",
        address: ValueKind::Image,
        options: &[
            OptionRow {
                name: "conf",
                takes: ValueKind::Path,
                default: "where Ceph looks",
                help: "the cluster's configuration: its monitors, and where keys are",
            },
            OptionRow {
                name: "id",
                takes: ValueKind::Name,
                default: "admin",
                help: "the user of the cluster, without `client.`",
            },
            OptionRow {
                name: "read_only",
                takes: YES_NO,
                default: "no, yes for a snapshot",
                help: "refuse writes",
            },
            OptionRow {
                name: "timeout",
                takes: ValueKind::Duration,
                default: "30s",
                help: "how long the cluster may take until it has opened the image",
            },
        ],
        help: "an image of a Ceph cluster, by way of a qemu-nbd: rbd:POOL/IMAGE, \
            rbd:POOL/NAMESPACE/IMAGE@SNAPSHOT",
    },
    LeafRow {
        name: "model",
        address: ValueKind::Name,
        options: &[
            OptionRow {
                name: "data",
                takes: ValueKind::Word(&["keep", "drop"]),
                default: "drop",
                help: "whether what is written can be read back",
            },
            OptionRow {
                name: "keep_first",
                takes: ValueKind::Size,
                default: "0B",
                help: "with data=drop: what is written to so much of the start can be read back, \
                    where md's superblocks are",
            },
            OptionRow {
                name: "link",
                takes: ValueKind::Name,
                default: "the model's",
                help: "the bus it shares with others of that name",
            },
            OptionRow {
                name: "size",
                takes: ValueKind::Size,
                default: "the model's",
                help: "no more than so much of its start is used: the outer tracks",
            },
            OptionRow {
                name: "draw",
                takes: ValueKind::Count,
                default: "as the model says",
                help: "its parameters are drawn from their intervals: another set for each number",
            },
        ],
        help: "a modelled disk: the times of a real one",
    },
];

/// The layer of this name.
///
/// # Errors
/// What is expected instead.
pub fn layer(name: &str) -> Result<&'static LayerRow, Problem> {
    LAYERS.iter().find(|row| row.name == name).ok_or_else(|| {
        let names: Vec<&str> = LAYERS.iter().map(|row| row.name).collect();
        unknown(name, &names, |names| statement!(messages::LAYER_NAMES, names = names))
    })
}

/// The leaf of this scheme.
///
/// # Errors
/// What is expected instead.
pub fn leaf(name: &str) -> Result<&'static LeafRow, Problem> {
    LEAVES.iter().find(|row| row.name == name).ok_or_else(|| {
        let names: Vec<&str> = LEAVES.iter().map(|row| row.name).collect();
        unknown(name, &names, |names| statement!(messages::LEAF_NAMES, names = names))
    })
}

/// The option of this name among those of a layer or leaf called `of`.
///
/// # Errors
/// What is expected instead.
pub fn option(
    of: &str,
    options: &'static [OptionRow],
    name: &str,
) -> Result<&'static OptionRow, Problem> {
    options.iter().find(|row| row.name == name).ok_or_else(|| {
        let names: Vec<&str> = options.iter().map(|row| row.name).collect();
        if names.is_empty() {
            return Problem::of(statement!(messages::NO_OPTIONS, of = of));
        }
        unknown(name, &names, |names| statement!(messages::OPTION_NAMES, of = of, names = names))
    })
}

fn unknown(name: &str, names: &[&str], expected: impl Fn(Text) -> Text) -> Problem {
    let hint = nearest(name, names.iter().copied()).map(did_you_mean);
    Problem { expected: expected(alternatives(names)), hint }
}

fn did_you_mean(name: &str) -> Text {
    statement!(messages::NAME_MEANT, name = name)
}

/// `a`, `b` or `c`.
fn alternatives(words: &[&str]) -> Text {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            statement!(messages::OR_LAST, first = rest.join(", "), last = last)
        }
        _ => quoted.concat().into(),
    }
}
