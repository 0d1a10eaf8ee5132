//! New arrays: superblocks for members that are given up for them.
//!
//! ```text
//!   array create ── paths ──────> drafts of files, through the guard ─┐
//!        │   ^                                                        ├─> NewArray ─> images ─> written
//!        │   └─ arrays among the members, opened on their drafts      │
//!   a cell of a plan ── layer ──> devices of its stack ───────────────┘
//! ```
//!
//! An array that is the member of another is made first, and opened as a start opens it, on drafts
//! of its own members. So what the array above writes to it lies where its level puts it, parity,
//! copies and all, and nothing is on a member before all of it is known.

use crate::catalogue;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use array::md::{
    self, Consistency, Layout, Level, NewArray, NewMember, Role, Superblock, TimeStamp, Version,
};
use array::{ParityLayout, Raid0Layout, Raid10Layout};
use block::{Device, ErrorKind, Node, path_text};
use luks::PassphraseCost;
use reactor::{Random, Reactor};
use serde::{Deserialize, Serialize};

use super::container::{self, uuid};
use super::draft::{Draft, DraftDevice};
use super::overwrite::{Image, Overwrite, overwrite, write_to};
use super::source::Purpose;
use super::{MemberPlace, MemberSource, SECTOR_BYTES, SUPERBLOCK_BYTES, bitmap_offset, layer_name};
use host::guard::{Access, Guard, marked_ranges};
use host::limits::Room;
use host::{Error, facts};
use stack::{BuildContext, NoFiles, OpenFiles, Stack};
use words::{Message, Text, statement};

/// What to make besides the format's own settings.
#[derive(Clone, Debug)]
pub struct Create {
    /// The array's name. Arrays among its members are called after it: `tank-0`, `tank-1`.
    pub name: String,
    /// Its level.
    pub level: md::Level,
    /// Its layout.
    pub layout: md::Layout,
    /// Chunk in bytes; 0 where the level has none.
    pub chunk_bytes: u64,
    /// The members in the order of their roles; `None` is a missing one.
    pub members: Vec<Option<CreateMember>>,
    /// Those that wait.
    pub spares: Vec<MemberSource>,
    /// What happens after a crash. With arrays among the members it holds for every one of them,
    /// and for the array itself, whose level can have it.
    pub consistency: Consistency,
    /// Members that are not there are made as files of this size, full of zeroes.
    pub create_bytes: Option<u64>,
    /// The user says that the members agree already.
    pub assume_clean: bool,
    /// Zeroes stand in the array where marks of file systems would be, so that nothing that the
    /// members held is taken for the array's own.
    pub blank: bool,
    /// The file with the passphrase of a container of LUKS2 that is made in the array: its data are
    /// encrypted.
    pub encrypt: Option<PathBuf>,
}

impl Create {
    /// An array over files and devices that are there, in chunks of [`CHUNK_BYTES`] where its level
    /// has them, without spares, over which a resync goes after a crash.
    #[must_use]
    pub fn new(name: &str, level: md::Level, layout: md::Layout, members: &[PathBuf]) -> Create {
        Create {
            name: name.to_owned(),
            level,
            layout,
            chunk_bytes: if level.has_chunks() { CHUNK_BYTES } else { 0 },
            members: members.iter().cloned().map(|path| Some(path.into())).collect(),
            spares: Vec::new(),
            consistency: Consistency::Resync,
            create_bytes: None,
            assume_clean: false,
            blank: false,
            encrypt: None,
        }
    }

    /// The files and devices that are written to, also those of arrays among the members.
    #[must_use]
    pub fn sources(&self) -> Vec<&MemberSource> {
        sources_of(&self.members).into_iter().chain(&self.spares).collect()
    }
}

/// A member of a new array.
#[derive(Clone, Debug, PartialEq)]
pub enum CreateMember {
    /// A file, a block device, or a part of one; a drive of another machine.
    Source(MemberSource),
    /// An array that is made with it.
    Array(InnerArray),
}

/// An array that is made to be a member of another.
#[derive(Clone, Debug, PartialEq)]
pub struct InnerArray {
    level: Level,
    layout: Layout,
    chunk_bytes: u64,
    members: Vec<Option<CreateMember>>,
}

impl From<PathBuf> for CreateMember {
    fn from(path: PathBuf) -> CreateMember {
        CreateMember::Source(path.into())
    }
}

impl fmt::Display for CreateMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CreateMember::Source(source) => source.fmt(f),
            CreateMember::Array(_) => self.node().fmt(f),
        }
    }
}

impl CreateMember {
    /// What a word of a command line names: what [`MemberSource::parse`] takes, or an array in
    /// stack text. What is there under that very name is meant by it.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(word: &Path) -> Result<CreateMember, Error> {
        let is_layer = |text: &&str| {
            text.split_once('(').is_some_and(|(name, _)| stack::table::layer(name.trim()).is_ok())
        };
        match word.to_str().filter(is_layer).filter(|_| word.symlink_metadata().is_err()) {
            Some(text) => CreateMember::of_node(&stack::parse(text).map_err(block::Error::from)?),
            None => MemberSource::parse(word).map(CreateMember::Source),
        }
    }

    fn of_node(node: &Node) -> Result<CreateMember, Error> {
        let Node::Layer { name, options, children } = node else {
            return MemberSource::of_leaf(node).map(CreateMember::Source);
        };
        let (level, layout, chunk_bytes) = shape(node)?;
        for (option, value) in options {
            match (option.as_str(), value.as_str()) {
                ("chunk" | "layout", _) | ("metadata", "1.2") => (),
                ("metadata", _) => {
                    return Err(Error::usage(statement!(
                        catalogue::METADATA_OF_MADE,
                        name = name,
                        value = value
                    )));
                }
                _ => {
                    return Err(Error::usage(statement!(
                        catalogue::NO_MEANING_MADE,
                        option = option
                    ))
                    .at(name));
                }
            }
        }
        let member = |child: &Node| match child {
            Node::Missing => Ok(None),
            child => CreateMember::of_node(child).map(Some),
        };
        let members = children.iter().map(member).collect::<Result<_, _>>()?;
        Ok(CreateMember::Array(InnerArray { level, layout, chunk_bytes, members }))
    }

    /// The stack that opens it when it has been made.
    #[must_use]
    pub fn node(&self) -> Node {
        match self {
            CreateMember::Source(source) => source.node(),
            CreateMember::Array(inner) => opened_by(inner.level, &inner.members),
        }
    }
}

fn opened_by(level: Level, members: &[Option<CreateMember>]) -> Node {
    let node =
        |member: &Option<CreateMember>| member.as_ref().map_or(Node::Missing, CreateMember::node);
    Node::layer(layer_name(level), members.iter().map(node).collect())
        .with("metadata", Version::V1_2)
}

fn sources_of(members: &[Option<CreateMember>]) -> Vec<&MemberSource> {
    let mut sources = Vec::new();
    for member in members.iter().flatten() {
        match member {
            CreateMember::Source(source) => sources.push(source),
            CreateMember::Array(inner) => sources.extend(sources_of(&inner.members)),
        }
    }
    sources
}

/// An array that has been made.
#[derive(Clone, Debug)]
pub struct CreatedArray {
    /// The superblocks of the members that are there, in their order.
    pub superblocks: Vec<Superblock>,
    /// How much it holds, where it can be told.
    pub size_bytes: Option<u64>,
    /// The stack that opens it.
    pub stack: Node,
    /// The arrays among its members.
    pub below: Vec<CreatedArray>,
}

/// Writes the superblocks of a new array, and those of arrays among its members. Nothing is
/// written before every member was opened and every superblock computed; files that were made for
/// it and bytes that were written are undone when it fails, or when `stop` is set before the first
/// superblock is written.
///
/// # Errors
/// What is wrong with the settings, a member that was refused, or one that could not be written.
pub fn create(guard: &Guard, wanted: &Create, stop: &AtomicBool) -> Result<CreatedArray, Error> {
    create_announced(guard, wanted, stop, &mut |_| Ok(()))
}

/// As [`create`]; `announce` hears of the array when all is checked, before the first superblock is
/// written.
///
/// # Errors
/// As [`create`], and what `announce` fails with: then none was written.
pub fn create_announced(
    guard: &Guard,
    wanted: &Create,
    stop: &AtomicBool,
    announce: &mut dyn FnMut(&CreatedArray) -> Result<(), Error>,
) -> Result<CreatedArray, Error> {
    let sources = wanted.sources();
    MemberSource::refuse_same_twice(sources.iter().copied())?;
    let is_absent = |source: &&MemberSource| source.path().is_some_and(|path| !path.exists());
    let absent: Vec<&MemberSource> = sources.iter().copied().filter(is_absent).collect();
    if let (Some(source), None) = (absent.first(), wanted.create_bytes) {
        return Err(Error::usage(catalogue::NO_MEMBER_FILE).at(*source));
    }
    if let Some(part) = absent.iter().find(|source| !source.is_whole()) {
        return Err(Error::usage(catalogue::NO_FILE_OF_PART).at(*part));
    }
    // Fresh files are zero, and zero is in sync with zero at every level.
    let in_sync = wanted.assume_clean || absent.len() == sources.len();
    let made = absent.iter().filter_map(|source| source.path()).try_for_each(|path| {
        check_stop(stop)?;
        let bytes = wanted.create_bytes.unwrap_or(0);
        let made = guard.make_file(path, bytes, |_| Ok::<(), block::Error>(()));
        // A signal may have ended the call.
        made.or_else(|error| check_stop(stop).and(Err(error.into())))
    });
    let written =
        made.and_then(|()| write_superblocks(guard, wanted, &sources, in_sync, stop, announce));
    written.map_err(|error| {
        let left: String = guard.undo_made().iter().map(|problem| format!("; {problem}")).collect();
        error.and_then_some(left)
    })
}

fn check_stop(stop: &AtomicBool) -> Result<(), Error> {
    if stop.load(Ordering::Relaxed) {
        return Err(Error::interrupted(catalogue::NOTHING_MADE));
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "identities are not to come again")]
fn write_superblocks(
    guard: &Guard,
    wanted: &Create,
    sources: &[&MemberSource],
    in_sync: bool,
    stop: &AtomicBool,
    announce: &mut dyn FnMut(&CreatedArray) -> Result<(), Error>,
) -> Result<CreatedArray, Error> {
    let draft = |source: &&MemberSource| {
        let region = source.open(guard, Purpose::Write)?;
        Ok(Arc::new(Draft::over(region, source.node())))
    };
    let drafts = sources.iter().map(draft).collect::<Result<Vec<_>, Error>>()?;
    guard.refuse_stray_consent()?;
    let mut making = CreationContext {
        consistency: wanted.consistency,
        in_sync,
        created: TimeStamp { seconds: facts::unix_seconds(), microseconds: 0 },
        random: Random::new(),
        drafts: sources.iter().map(|source| source.place.clone()).zip(drafts.clone()).collect(),
    };
    let mut created = making.array(&NewShape::of(wanted))?;
    if let Some(path) = &wanted.encrypt {
        making.encrypt(&mut created, path, guard)?;
    } else if wanted.blank {
        let stack = making.opened(&created.stack)?;
        erase_marks(&*stack.device)?;
        stack.end()?;
    }
    check_stop(stop)?;
    announce(&created)?;
    let writes: Vec<Overwrite<'_>> = (sources.iter().zip(&drafts))
        .map(|(source, draft)| Overwrite { source, region: draft.region(), image: draft.image() })
        .collect();
    overwrite(&writes, catalogue::WRITING_SUPERBLOCK)?;
    Ok(created)
}

/// An array that is being made, by itself or as a member.
struct NewShape<'a> {
    name: String,
    level: Level,
    layout: Layout,
    chunk_bytes: u64,
    members: &'a [Option<CreateMember>],
    spares: &'a [MemberSource],
    consistency: Consistency,
}

impl<'a> NewShape<'a> {
    fn of(wanted: &'a Create) -> NewShape<'a> {
        // What no array below can have either is refused.
        let is_below =
            wanted.members.iter().flatten().any(|member| has(member, wanted.consistency));
        NewShape {
            name: wanted.name.clone(),
            level: wanted.level,
            layout: wanted.layout,
            chunk_bytes: wanted.chunk_bytes,
            members: &wanted.members,
            spares: &wanted.spares,
            consistency: match is_below {
                true => fitting(wanted.consistency, wanted.level),
                false => wanted.consistency,
            },
        }
    }
}

/// Whether one of the arrays that a member is, or holds, can have it.
fn has(member: &CreateMember, consistency: Consistency) -> bool {
    let CreateMember::Array(inner) = member else { return false };
    fitting(consistency, inner.level) == consistency
        || inner.members.iter().flatten().any(|member| has(member, consistency))
}

/// What an array of this level has of it.
fn fitting(consistency: Consistency, level: Level) -> Consistency {
    match consistency {
        Consistency::Bitmap { .. } if level.is_redundant() => consistency,
        Consistency::Ppl if level == Level::Raid5 => consistency,
        _ => Consistency::Resync,
    }
}

/// What the arrays of one call have in common.
struct CreationContext {
    consistency: Consistency,
    in_sync: bool,
    created: TimeStamp,
    random: Random,
    drafts: HashMap<MemberPlace, Arc<Draft>>,
}

impl CreationContext {
    /// Makes an array on the drafts of its members, those below it first.
    fn array(&mut self, shape: &NewShape<'_>) -> Result<CreatedArray, Error> {
        let mut below = Vec::new();
        for (role, member) in shape.members.iter().enumerate() {
            if let Some(CreateMember::Array(inner)) = member {
                below.push(self.array(&NewShape {
                    name: format!("{}-{role}", shape.name),
                    level: inner.level,
                    layout: inner.layout,
                    chunk_bytes: inner.chunk_bytes,
                    members: &inner.members,
                    spares: &[],
                    consistency: fitting(self.consistency, inner.level),
                })?);
            }
        }
        let spares: Vec<CreateMember> =
            shape.spares.iter().cloned().map(CreateMember::Source).collect();
        let present: Vec<(&CreateMember, Role)> = (shape.members.iter().zip(0_u16..))
            .filter_map(|(member, role)| Some((member.as_ref()?, Role::Active(role))))
            .chain(spares.iter().map(|spare| (spare, Role::Spare)))
            .collect();
        if present.is_empty() {
            return Err(Error::usage(catalogue::ALL_MISSING).at(&shape.name));
        }
        let opened = present
            .iter()
            .map(|(member, _)| self.open(member))
            .collect::<Result<Vec<_>, Error>>()?;
        let members = (present.iter().zip(&opened))
            .map(|((member, role), opened)| NewMember {
                name: member.to_string(),
                size_sectors: opened.size_bytes() / SECTOR_BYTES,
                device_uuid: uuid(&mut self.random),
                role: *role,
                write_mostly: false,
            })
            .collect();
        let array = NewArray {
            set_uuid: uuid(&mut self.random),
            name: shape.name.clone(),
            created: self.created,
            level: shape.level,
            layout: shape.layout,
            chunk_sectors: u32::try_from(shape.chunk_bytes / SECTOR_BYTES)
                .map_err(|_| Error::usage(catalogue::CHUNK_TOO_LARGE))?,
            raid_disks: shape.members.len() as u32,
            members,
            consistency: shape.consistency,
            in_sync: self.in_sync,
        };
        let (superblocks, images) = images(&array)?;
        opened.into_iter().zip(images).try_for_each(|(opened, image)| opened.write(image))?;
        let sizes: Vec<u64> =
            superblocks.iter().map(|superblock| superblock.data_size_sectors).collect();
        let first = superblocks.first();
        Ok(CreatedArray {
            size_bytes: first
                .and_then(|superblock| superblock.array_sectors(&sizes))
                .map(|sectors| sectors * SECTOR_BYTES),
            stack: opened_by(shape.level, shape.members),
            superblocks,
            below,
        })
    }

    /// Makes a container of LUKS2 in the array, opened by what a file holds.
    fn encrypt(
        &mut self,
        created: &mut CreatedArray,
        passphrase: &Path,
        guard: &Guard,
    ) -> Result<(), Error> {
        let file = guard.open(passphrase, Access::Read)?;
        let (secret, _) = stack::read_passphrase(file, passphrase)?;
        let stack = self.opened(&created.stack)?;
        let info = stack.device.info();
        let size_bytes = container::data_bytes(info)?;
        let plain = PassphraseCost::default();
        // Half of what there is, as cryptsetup does: it has to be had again at each start.
        let half = Room::now().map_or(u64::MAX, |room| room.bytes / 2) >> 10;
        let memory_kib = plain.memory_kib.min(u32::try_from(half).unwrap_or(u32::MAX));
        let made = (PassphraseCost { memory_kib, ..plain }, uuid(&mut self.random));
        let header = container::header(info, &secret, made, &mut random_bytes)?;
        erase_marks(&*stack.device)?;
        write_to(&*stack.device, &vec![(0, header)], &Reactor::wall()?)?;
        stack.end()?;
        created.size_bytes = Some(size_bytes);
        created.stack = Node::layer("luks", vec![created.stack.clone()])
            .with("passphrase_file", path_text(passphrase));
        Ok(())
    }

    fn open(&self, member: &CreateMember) -> Result<OpenedMember, Error> {
        match member {
            CreateMember::Source(source) => {
                Ok(OpenedMember::Draft(Arc::clone(&self.drafts[&source.place])))
            }
            CreateMember::Array(_) => {
                Ok(OpenedMember::Array(Box::new(self.opened(&member.node())?)))
            }
        }
    }

    fn draft_device(&self, place: &MemberPlace) -> Option<Arc<dyn Device>> {
        let draft = Arc::clone(self.drafts.get(place)?);
        Some(Arc::new(DraftDevice(draft)))
    }

    /// An array, opened on the drafts of its members.
    fn opened(&self, node: &Node) -> Result<Stack, Error> {
        let context = BuildContext::new(self);
        Ok(stack::build(node, &context)?)
    }
}

impl OpenFiles for CreationContext {
    fn open(&self, path: &Path, _: bool, _: Option<u64>) -> Result<File, block::Error> {
        NoFiles.open(path, false, None)
    }

    fn stand_in(&self, path: &Path) -> Option<Arc<dyn Device>> {
        self.draft_device(&MemberPlace::Path(path.to_owned()))
    }

    fn stand_in_remote(&self, leaf: &Node) -> Option<Arc<dyn Device>> {
        self.draft_device(&MemberPlace::Remote(leaf.clone()))
    }
}

/// A member that is there, while its superblock is made.
enum OpenedMember {
    Draft(Arc<Draft>),
    Array(Box<Stack>),
}

impl OpenedMember {
    fn size_bytes(&self) -> u64 {
        match self {
            OpenedMember::Draft(draft) => draft.size_bytes(),
            OpenedMember::Array(stack) => stack.device.info().size_bytes,
        }
    }

    fn write(self, image: Image) -> Result<(), Error> {
        match self {
            OpenedMember::Draft(draft) => {
                image.into_iter().for_each(|(offset, bytes)| draft.write(offset, bytes));
            }
            OpenedMember::Array(stack) => {
                write_to(&*stack.device, &image, &Reactor::wall()?)?;
                stack.end()?;
            }
        }
        Ok(())
    }
}

/// Writes zeroes, durably, where marks of file systems, arrays and the like stand on a device of
/// the wall clock, so that it carries nothing known.
///
/// # Errors
/// What could not be written.
pub fn erase_marks(device: &dyn Device) -> Result<(), block::Error> {
    let size_bytes = device.info().size_bytes;
    let zeroes = |range: Range<u64>| (range.start, vec![0; (range.end - range.start) as usize]);
    let image = marked_ranges(size_bytes).into_iter().map(zeroes).collect();
    write_to(device, &image, &Reactor::wall()?)
}

/// Fills the slice with bytes of the kernel's that cannot be guessed.
fn random_bytes(bytes: &mut [u8]) -> Result<(), block::Error> {
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(bytes));
    read.map_err(|error| block::Error::from_io(catalogue::RANDOM_KEY, error))
}

/// What is written to members before they are ones; the superblock comes last.
fn images(array: &NewArray) -> Result<(Vec<Superblock>, Vec<Image>), block::Error> {
    let superblocks = array.superblocks()?;
    let bitmap = array.bitmap(&superblocks)?.map(|bitmap| bitmap.encode());
    let image = |superblock: &Superblock| {
        let own = superblock.super_offset_sectors;
        let mut image = Image::new();
        if let (Some(bitmap), Some(sector)) = (&bitmap, bitmap_offset(superblock, own)) {
            image.push((sector * SECTOR_BYTES, bitmap.clone()));
        }
        if superblock.bad_block_size_sectors > 0
            && let Some(sector) = own.checked_add_signed(superblock.bad_block_offset_sectors.into())
        {
            // All ones: the log is empty.
            let bytes = usize::from(superblock.bad_block_size_sectors) * SECTOR_BYTES as usize;
            image.push((sector * SECTOR_BYTES, vec![0xff; bytes]));
        }
        let mut bytes = superblock.encode();
        bytes.resize(SUPERBLOCK_BYTES, 0);
        image.push((own * SECTOR_BYTES, bytes));
        image
    };
    let images = superblocks.iter().map(image).collect();
    Ok((superblocks, images))
}

/// What an array is made with, besides what its layer in a stack text says: level, layout, chunk
/// and members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewArraySettings {
    /// Its name.
    pub name: String,
    /// What happens after a crash: `resync`, `bitmap` or `ppl`.
    pub consistency: String,
    /// With a bitmap: what a bit covers, where that is not left to raidloom.
    pub bitmap_chunk_bytes: Option<u32>,
}

impl NewArraySettings {
    fn consistency(&self) -> Result<Consistency, block::Error> {
        match self.consistency.as_str() {
            "resync" => Ok(Consistency::Resync),
            "bitmap" => Ok(Consistency::Bitmap { chunk_bytes: self.bitmap_chunk_bytes }),
            "ppl" => Ok(Consistency::Ppl),
            other => Err(block::Error::new(ErrorKind::Invalid, catalogue::CONSISTENCY_WORDS)
                .at(format!("consistency {other}"))),
        }
    }

    /// The array that a layer of a stack text describes, in sync, over members of these sizes.
    ///
    /// # Errors
    /// What makes no array.
    pub fn array(
        &self,
        layer: &Node,
        member_bytes: &[u64],
        seed: u64,
        created: TimeStamp,
    ) -> Result<NewArray, block::Error> {
        let (level, layout, chunk_bytes) = shape(layer)?;
        let mut random = Random::with_seed(seed);
        let member = |(role, bytes): (u16, &u64)| NewMember {
            name: catalogue::say!(MEMBER_NUMBER, number = role),
            size_sectors: bytes / SECTOR_BYTES,
            device_uuid: uuid(&mut random),
            role: Role::Active(role),
            write_mostly: false,
        };
        let members: Vec<NewMember> = (0_u16..).zip(member_bytes).map(member).collect();
        Ok(NewArray {
            set_uuid: uuid(&mut random),
            name: self.name.clone(),
            created,
            level,
            layout,
            chunk_sectors: u32::try_from(chunk_bytes / SECTOR_BYTES)
                .map_err(|_| invalid(catalogue::CHUNK_TOO_LARGE))?,
            raid_disks: members.len() as u32,
            members,
            consistency: self.consistency()?,
            // As after its first resync: nothing of what the members hold now is going to be read.
            in_sync: true,
        })
    }

    /// The same array out of files and disks, for [`create`], with nothing of what they held;
    /// `create_bytes` as there.
    ///
    /// # Errors
    /// What makes no array.
    pub fn of_paths(
        &self,
        layer: &Node,
        members: &[PathBuf],
        create_bytes: Option<u64>,
    ) -> Result<Create, block::Error> {
        let (level, layout, chunk_bytes) = shape(layer)?;
        Ok(Create {
            chunk_bytes,
            consistency: self.consistency()?,
            create_bytes,
            blank: true,
            ..Create::new(&self.name, level, layout, members)
        })
    }

    /// Makes the array that a layer of a stack text describes out of the devices of its members, as
    /// [`create`] does out of files. Nothing else may be under way on the reactor.
    ///
    /// # Errors
    /// What makes no array, and what kept a member from being written.
    pub fn make(
        &self,
        layer: &Node,
        members: &[Option<Arc<dyn Device>>],
        seed: u64,
        created: TimeStamp,
        reactor: &Reactor,
    ) -> Result<(), block::Error> {
        let present: Vec<&Arc<dyn Device>> = members.iter().flatten().collect();
        if present.len() < members.len() {
            return Err(block::Error::new(
                ErrorKind::Invalid,
                statement!(catalogue::MADE_WITH_MISSING, layer = layer),
            ));
        }
        let sizes: Vec<u64> = present.iter().map(|member| member.info().size_bytes).collect();
        let (_, images) = images(&self.array(layer, &sizes, seed, created)?)?;
        for (member, image) in present.into_iter().zip(images) {
            write_to(&**member, &image, reactor)?;
        }
        Ok(())
    }
}

fn invalid(text: impl Into<Text>) -> block::Error {
    block::Error::new(ErrorKind::Invalid, text)
}

/// Level, layout and chunk in bytes (0 where there are none) that a layer of a stack text names.
fn shape(layer: &Node) -> Result<(Level, Layout, u64), block::Error> {
    let Node::Layer { name, options, .. } = layer else {
        return Err(invalid(statement!(catalogue::IS_NO_ARRAY, layer = layer)));
    };
    let option = |wanted: &str| {
        options.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    };
    let level =
        level(name).ok_or_else(|| invalid(statement!(catalogue::IS_NO_ARRAY, layer = name)))?;
    let chunk_bytes = match option("chunk") {
        Some(text) => stack::size::parse(text).map_err(invalid)?.bytes,
        None if level.has_chunks() => CHUNK_BYTES,
        None => 0,
    };
    let layout = layout(level, option("layout")).map_err(|expected| {
        let given = option("layout").unwrap_or_default();
        invalid(statement!(
            catalogue::LAYOUT_OF_LEVEL,
            given = given,
            expected = expected,
            level = level.to_string()
        ))
    })?;
    Ok((level, layout, chunk_bytes))
}

/// The chunk of a new array where nothing is said, in bytes: mdadm's.
pub const CHUNK_BYTES: u64 = 512 << 10;

/// Levels by the names that mdadm takes.
#[must_use]
pub fn level(text: &str) -> Option<Level> {
    match text.trim_start_matches("raid") {
        "linear" => Some(Level::Linear),
        "0" | "stripe" => Some(Level::Raid0),
        "1" | "mirror" => Some(Level::Raid1),
        "4" => Some(Level::Raid4),
        "5" => Some(Level::Raid5),
        "6" => Some(Level::Raid6),
        "10" => Some(Level::Raid10),
        _ => None,
    }
}

/// The layout of RAID 5 or 6 that mdadm means by a name, short or long; RAID 5 takes the names of
/// DDF for its own.
fn parity_name(level: Level, text: &str) -> &str {
    match (level, text) {
        (_, "la") => "left-asymmetric",
        (_, "ra") => "right-asymmetric",
        (_, "ls" | "default") => "left-symmetric",
        (_, "rs") => "right-symmetric",
        (Level::Raid5, "ddf-zero-restart") => "right-asymmetric",
        (Level::Raid5, "ddf-N-restart") => "left-asymmetric",
        (Level::Raid5, "ddf-N-continue") => "left-symmetric",
        (_, text) => text,
    }
}

/// The layout of a level that mdadm means by a name, or its usual one.
///
/// # Errors
/// What was expected.
pub fn layout(level: Level, text: Option<&str>) -> Result<Layout, Message> {
    match (level, text) {
        (Level::Raid0, None | Some("original" | "1")) => {
            Ok(Layout::Raid0(Some(Raid0Layout::Original)))
        }
        (Level::Raid0, Some("alternate" | "2")) => Ok(Layout::Raid0(Some(Raid0Layout::Alternate))),
        (Level::Raid0, Some(_)) => Err(catalogue::RAID0_LAYOUTS),
        (Level::Raid5 | Level::Raid6, text) => {
            let known = ParityLayout::from_name(parity_name(level, text.unwrap_or("default")));
            let fits = known.map(Layout::Parity).filter(|layout| layout.fits(level));
            fits.ok_or(catalogue::PARITY_LAYOUTS)
        }
        (Level::Raid10, text) => Raid10Layout::from_name(text.unwrap_or("n2"))
            .map(Layout::Raid10)
            .ok_or(catalogue::RAID10_LAYOUTS),
        (_, None) => Ok(Layout::Plain),
        (_, Some(_)) => Err(catalogue::NO_LAYOUT_OF_LEVEL),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "take all of mdadm's short names": each means what the long one does.
    #[test]
    fn the_short_names_of_mdadm_are_layouts() {
        let of = |level: Level, text: &str| {
            layout(level, Some(text)).unwrap_or_else(|error| panic!("{level} {text}: {error:?}"))
        };
        for level in [Level::Raid5, Level::Raid6] {
            for (short, long) in [
                ("la", "left-asymmetric"),
                ("ra", "right-asymmetric"),
                ("ls", "left-symmetric"),
                ("rs", "right-symmetric"),
                ("default", "left-symmetric"),
            ] {
                assert_eq!(of(level, short), of(level, long), "{level} {short}");
            }
            assert_ne!(of(level, "la"), of(level, "ra"));
        }
        assert_eq!(of(Level::Raid5, "ddf-zero-restart"), of(Level::Raid5, "ra"), "as mdadm has it");
        assert_ne!(of(Level::Raid6, "ddf-zero-restart"), of(Level::Raid6, "ra"));
        assert_eq!(
            (of(Level::Raid0, "1"), of(Level::Raid0, "2")),
            (of(Level::Raid0, "original"), of(Level::Raid0, "alternate"))
        );
        for name in ["n2", "f2", "o2"] {
            of(Level::Raid10, name);
        }
        assert!(
            layout(Level::Raid5, Some("lx")).is_err() && layout(Level::Raid0, Some("ls")).is_err()
        );
    }
}
