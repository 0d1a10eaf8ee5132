//! The sets of members that a plan names, as leaves of stacks.

use std::path::{Path, PathBuf};

use block::Node;
use results::{Clock, Survival};

use super::catalogue;
use super::document::{Item, Reader, SourceLocation};
use crate::stacks::{self, Leaf, PLACEHOLDER, leaves, map_leaves, without_containers};
use host::Error;
use host::files::absolute;
use words::statement;

/// A set of members.
#[derive(Clone, Debug)]
pub(super) struct MemberSet {
    pub(super) name: String,
    pub(super) nodes: Vec<Node>,
    pub(super) clock: Clock,
    /// Size of the smallest member.
    pub(super) smallest_bytes: u64,
    /// What the pool of its images survives, where there is one and it is known.
    pub(super) pool: Option<Survival>,
}

/// Reads `[members.NAME]` tables.
pub(super) fn read(
    section: Option<Reader<'_>>,
    document: &SourceLocation,
    pulls_only: bool,
) -> Result<Vec<MemberSet>, Error> {
    let missing = || {
        let example = "files = { count = 2, size = \"64MiB\" }";
        document.error(statement!(catalogue::NO_MEMBERS, example = example))
    };
    let section = section.ok_or_else(missing)?;
    let sets: Vec<MemberSet> = section
        .named()
        .map(|(name, place, item)| read_set(name, (place, item), pulls_only))
        .collect::<Result<_, _>>()?;
    if sets.is_empty() { Err(missing()) } else { Ok(sets) }
}

/// Of a plan that has pull tests alone, or other work.
fn read_set(
    name: &str,
    (place, item): (&SourceLocation, &Item),
    pulls_only: bool,
) -> Result<MemberSet, Error> {
    let table = item
        .reader(format!("[members.{name}]"))
        .map_err(|_| place.error(statement!(catalogue::SETS_HAVE_NAMES, key = name)))?;
    if !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter)) {
        return Err(place.error(statement!(catalogue::SET_NAME, name = name)));
    }
    let given = [
        ("files", table.get("files")),
        ("models", table.get("models")),
        ("devices", table.get("devices")),
        ("stacks", table.get("stacks")),
        ("rbd", table.get("rbd")),
    ];
    let given: Vec<(&str, &Item)> =
        given.into_iter().filter_map(|(key, item)| Some((key, item?))).collect();
    let of_cluster = Cluster::read(&table)?;
    table.finish()?;
    let [(key, item)] = given[..] else {
        return Err(place.error(statement!(catalogue::ONE_KIND_OF_MEMBERS, name = name)));
    };
    if key != "rbd" {
        of_cluster.refuse()?;
    }
    let nodes = match key {
        "files" => made_files(name, item)?,
        "models" => nodes(item, model)?,
        "devices" => nodes(item, |text| Ok(Node::file(&absolute(Path::new(text))?)))?,
        "rbd" => nodes(item, |text| of_cluster.image(text))?,
        _ => nodes(item, |text| absolute_paths(stacks::parse(text)?))?,
    };
    if nodes.is_empty() {
        return Err(item.error(statement!(catalogue::SET_IS_EMPTY, name = name)));
    }
    let mut smallest_bytes = u64::MAX;
    for node in &nodes {
        let info = match pulls_only {
            true => stacks::dry(&without_containers(node), None),
            false => stacks::dry(node, None),
        };
        let info = info.map_err(|error| item.error(error))?;
        smallest_bytes = smallest_bytes.min(info.size_bytes);
    }
    refuse_twice(item, &nodes)?;
    let modelled = nodes.iter().map(stacks::is_modelled).collect::<Vec<_>>();
    let clock =
        if modelled.iter().all(|modelled| *modelled) { Clock::Virtual } else { Clock::Wall };
    let pool = if key == "rbd" { of_cluster.survives(item, &nodes)? } else { None };
    Ok(MemberSet { name: name.to_owned(), nodes, clock, smallest_bytes, pool })
}

/// What is said of a Ceph cluster beside `rbd`.
struct Cluster<'a> {
    conf: Option<&'a Item>,
    id: Option<&'a Item>,
    pool_size: Option<&'a Item>,
    pool_min_size: Option<&'a Item>,
}

impl<'a> Cluster<'a> {
    fn read(table: &Reader<'a>) -> Result<Cluster<'a>, Error> {
        let (pool_size, pool_min_size) = (table.get("pool_size"), table.get("pool_min_size"));
        if let (Some(alone), None) | (None, Some(alone)) = (pool_size, pool_min_size) {
            return Err(alone.error(catalogue::SAID_TOGETHER));
        }
        Ok(Cluster { conf: table.get("conf"), id: table.get("id"), pool_size, pool_min_size })
    }

    /// Other members have nothing of it.
    fn refuse(&self) -> Result<(), Error> {
        match self.conf.or(self.id).or(self.pool_size) {
            Some(item) => Err(item.error(catalogue::FOR_CEPH)),
            None => Ok(()),
        }
    }

    /// The leaf of an image: `POOL/IMAGE`, and options after a `?`.
    fn image(&self, text: &str) -> Result<Node, Error> {
        let mut node = stacks::parse(&format!("rbd:{text}"))?;
        if let Some(conf) = self.conf {
            let conf = absolute(Path::new(conf.text()?))?;
            node = node.with("conf", conf.to_string_lossy());
        }
        if let Some(id) = self.id {
            node = node.with("id", id.text()?);
        }
        Ok(node)
    }

    /// What the pool of the images survives, as the plan says or else the cluster; nothing where
    /// Ceph's program is not there to ask it, or the images are of several pools.
    fn survives(&self, item: &Item, nodes: &[Node]) -> Result<Option<Survival>, Error> {
        if let (Some(size), Some(min_size)) = (self.pool_size, self.pool_min_size) {
            let size = size.whole(1, 100)?;
            let min_size = min_size.whole(1, size)?;
            let small = |number: u64| u32::try_from(number).expect("at most 100");
            let (size, min_size) = (small(size), small(min_size));
            return Ok(Some(Survival::Pool { size, min_size, needed: 1, apart: None }));
        }
        let images = nodes
            .iter()
            .map(stack::RbdImage::of)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| item.error(error))?;
        let Some((first, rest)) = images.split_first() else { return Ok(None) };
        if rest.iter().any(|other| other.pool != first.pool) {
            return Ok(None);
        }
        host::rbd::survival(first).map_err(|error| item.error(error))
    }
}

fn nodes(item: &Item, make: impl Fn(&str) -> Result<Node, Error>) -> Result<Vec<Node>, Error> {
    item.list().iter().map(|item| make(item.text()?).map_err(|error| item.error(error))).collect()
}

/// `files = { count = 2, size = "64MiB", dir = "…" }`.
fn made_files(set: &str, item: &Item) -> Result<Vec<Node>, Error> {
    let table = item.reader("files")?;
    let count = table.require("count", catalogue::FILE_COUNT)?.whole(1, 1024)?;
    let size = table.require("size", catalogue::FILE_SIZE)?;
    let folder = table.get("dir");
    table.finish()?;
    let size_bytes = stacks::parse_size(&size.scalar()?).map_err(|text| size.error(text))?;
    if size_bytes == 0 || !size_bytes.is_multiple_of(4096) {
        return Err(size.error(catalogue::FILE_SIZE_STEP));
    }
    let placeholder = match folder {
        None => format!("{PLACEHOLDER}}}"),
        Some(item) => {
            let folder = absolute(Path::new(item.text()?))?;
            if !folder.is_dir() {
                let path = folder.display();
                return Err(item.error(statement!(catalogue::NOT_A_FOLDER, path = path)));
            }
            format!("{PLACEHOLDER}:{}}}", folder.display())
        }
    };
    let prefix = if folder.is_some() { "raidloom-" } else { "" };
    let file = |index| {
        let address = format!("{placeholder}/{prefix}{set}-{index}.img");
        Node::leaf("file", address).with("size", stacks::size_text(size_bytes))
    };
    Ok((0..count).map(file).collect())
}

/// A modelled disk: its name, or the path of its file, and options after a `?`.
fn model(text: &str) -> Result<Node, Error> {
    match stacks::parse(&format!("model:{text}"))? {
        Node::Leaf { scheme, address, options } if address.contains('/') => Ok(Node::Leaf {
            scheme,
            address: absolute(Path::new(&address))?.to_string_lossy().into_owned(),
            options,
        }),
        node => Ok(node),
    }
}

/// The same stack on modelled disks that keep what is written to them.
pub(super) fn keeping_data(node: Node) -> Result<Node, Error> {
    map_leaves(node, &|leaf| match &leaf {
        Node::Leaf { scheme, options, .. }
            if scheme == "model" && !options.iter().any(|(name, _)| name == "data") =>
        {
            Ok(leaf.with("data", "keep"))
        }
        _ => Ok(leaf),
    })
}

/// The same stack on modelled disks that keep the first so many bytes of what is written to them.
pub(super) fn keeping_first(node: Node, bytes: u64) -> Result<Node, Error> {
    map_leaves(node, &|leaf| match &leaf {
        Node::Leaf { scheme, options, .. }
            if scheme == "model" && !options.iter().any(|(name, _)| name == "data") =>
        {
            Ok(leaf.with("keep_first", stacks::size_text(bytes)))
        }
        _ => Ok(leaf),
    })
}

/// File addresses and folders made absolute, but for the run's own.
pub(super) fn absolute_paths(node: Node) -> Result<Node, Error> {
    if let Some(path) = stacks::folder_of(&node) {
        return Ok(stacks::folder(&absolute(&path)?));
    }
    map_leaves(node, &|node| match node {
        Node::Leaf { scheme, address, options }
            if scheme == "file" && !address.starts_with('{') =>
        {
            Ok(Node::Leaf {
                address: block::path_text(&absolute(&block::text_path(&address))?),
                scheme,
                options,
            })
        }
        other => Ok(other),
    })
}

/// One file or device twice in a set would be measured against itself and overwritten twice, by
/// whatever names.
fn refuse_twice(item: &Item, nodes: &[Node]) -> Result<(), Error> {
    let mut paths = Vec::new();
    for node in nodes {
        for leaf in leaves(node)? {
            if let Leaf::Existing { path, .. } = leaf {
                paths.push(path);
            }
        }
    }
    match stack::Identity::same_twice(paths.iter().map(PathBuf::as_path)) {
        Some((earlier, later)) => Err(item.error(stack::twice_text(earlier, later))),
        None => Ok(()),
    }
}
