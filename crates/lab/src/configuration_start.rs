//! A configuration of a run, started on its own: what was measured is what is run.
//!
//! ```text
//!   run ── the cell that is named, or recommended ──> its stack, over the members that are named
//!                                                  ├─> array create, then array start
//!                                                  └─> the same with mdadm, mkfs and mount
//! ```

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use block::Node;
use export::image::{Image, ImageKind};
use host::Error;
use host::mount::FileSystem;
use mdtools::Create;
use results::analysis::{Analysis, Comparison, StartRecipe, analyse};
use results::course::Course;
use results::{Configuration, Run};
use serve::Settings;

use crate::catalogue;
use crate::cell::values::{Consistency, Metadata, Switch};
use crate::cell::{Axes, Cell, CellFileSystem, Level, shown};
use crate::run::audit_ratios::without_stores;
use crate::stacks::{self, Leaf, leaves, map_leaves};
use words::statement;

/// The most configurations that a message names.
const NAMED_MAX: usize = 8;

/// What starts a configuration.
#[derive(Clone, Debug)]
pub struct StartConfiguration {
    /// What is served, and how.
    pub settings: Settings,
    /// The array that is made first.
    pub create: Option<Create>,
}

/// Where a configuration is to stand.
#[derive(Clone, Debug, Default)]
pub struct StartTarget {
    /// The members in order; none for the plan's own devices.
    pub members: Vec<PathBuf>,
    /// Where a cache keeps its copies, where the run has made a file for that.
    pub store: Option<PathBuf>,
    /// Members that are not there are made as files of so many bytes.
    pub create_bytes: Option<u64>,
    /// Where its file system is mounted.
    pub mount: Option<PathBuf>,
}

/// The configurations that a run recommends: one for each set that is compared, for all of its
/// work where there is an answer for that, each once.
#[must_use]
pub fn recommended<'a>(run: &'a Run, analysis: &Analysis) -> Vec<&'a Configuration> {
    let pick = |comparison: &Comparison| {
        let result = comparison.overall()?;
        result.headline.take.clone().or_else(|| result.recommended.clone())
    };
    let picked: Vec<String> = analysis.comparisons.iter().filter_map(pick).collect();
    run.plan
        .configurations
        .iter()
        .filter(|configuration| picked.contains(&configuration.id))
        .collect()
}

/// The analysis with the commands that start what it recommends.
#[must_use]
pub fn with_starts(folder: &Path, run: &Run, mut analysis: Analysis) -> Analysis {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let start = |configuration: &Configuration| {
        // What was imported has no stack.
        let mut commands = commands(&folder, configuration).ok()?.into_iter();
        Some(StartRecipe {
            configuration: configuration.id.clone(),
            label: run.plan.label(&configuration.settings),
            command: commands.next()?,
            without_raidloom: commands.collect(),
        })
    };
    analysis.block_seconds = block_seconds(run);
    analysis.starts = recommended(run, &analysis).into_iter().filter_map(start).collect();
    analysis
}

/// How long one more block of a run takes, roughly, in seconds: of a race, of what it confirms.
fn block_seconds(run: &Run) -> Option<f64> {
    let outline = crate::plan::outline(&run.plan).ok()?;
    let all = run.plan.configurations.len();
    let course = Course::new(&run.plan, &run.steps);
    let visited = course.blocks().map_or(all, |blocks| course.visited(blocks - 1).len());
    let share = visited as f64 / all.max(1) as f64;
    Some(share * outline.estimated_seconds / f64::from(run.plan.blocks)).filter(|time| *time > 0.0)
}

/// The configuration that is meant by the first letters of its identity, or by values of its
/// axes (`level=raid5,chunk=64KiB`); without a word the one that the run recommends. Several that
/// are started alike, for they differ only in what was done to the array (what it was scheduled by,
/// how full it was), are one.
///
/// # Errors
/// When it is none, or more than one; with those there are.
pub fn choose<'a>(run: &'a Run, cell: Option<&str>) -> Result<&'a Configuration, Error> {
    let all: Vec<&Configuration> = run.plan.configurations.iter().collect();
    let (found, what) = match cell {
        None => (recommended(run, &analyse(run)), "what the run recommends".to_owned()),
        Some(text) => {
            (all.iter().copied().filter(|one| is_meant(one, text)).collect(), format!("`{text}`"))
        }
    };
    let found = if found.len() > 1 { once_each(found) } else { found };
    match found[..] {
        [one] => Ok(one),
        [] if cell.is_none() => {
            Err(Error::usage(statement!(catalogue::RUN_RECOMMENDS_NOTHING, names = listed(&all))))
        }
        [] => Err(Error::usage(statement!(
            catalogue::NO_CONFIGURATION_OF_RUN,
            what = what,
            names = listed(&all)
        ))),
        _ => Err(Error::usage(statement!(
            catalogue::SEVERAL_CONFIGURATIONS,
            what = what,
            names = listed(&found)
        ))),
    }
}

/// The first of those that are started alike.
fn once_each(configurations: Vec<&Configuration>) -> Vec<&Configuration> {
    let what = |configuration: &Configuration| -> Result<_, Error> {
        let cell = Cell::of(configuration)?;
        let mount = cell.file_system.as_ref().map(|_| Path::new("/"));
        Ok((cell.serve_settings(&cell.stack, mount)?, cell.serving.new_array))
    };
    let (mut seen, mut kept) = (Vec::new(), Vec::new());
    for configuration in configurations {
        // What cannot be started is told apart, and says why when it is named.
        match what(configuration) {
            Ok(started) if seen.contains(&started) => (),
            Ok(started) => {
                seen.push(started);
                kept.push(configuration);
            }
            Err(_) => kept.push(configuration),
        }
    }
    kept
}

fn is_meant(configuration: &Configuration, text: &str) -> bool {
    if !text.contains('=') {
        return !text.is_empty() && configuration.id.starts_with(text);
    }
    let has = |(axis, value): (&str, &str)| {
        configuration.settings.get(axis.trim()).is_some_and(|own| own == value.trim())
    };
    text.split(',').all(|part| part.split_once('=').is_some_and(has))
}

fn listed(configurations: &[&Configuration]) -> String {
    let line = |configuration: &&Configuration| {
        format!("  {}  {}", configuration.id, shown(&configuration.settings, "=", ","))
    };
    let mut lines: Vec<String> = configurations.iter().take(NAMED_MAX).map(line).collect();
    if configurations.len() > NAMED_MAX {
        lines.push(format!("  and {} more", configurations.len() - NAMED_MAX));
    }
    lines.join("\n")
}

/// What starts a configuration over these members.
///
/// # Errors
/// A number of members that it has not, or what has to be named because it is gone or was never
/// there: files that the run made, modelled disks.
pub fn alone(
    configuration: &Configuration,
    ground: &StartTarget,
) -> Result<StartConfiguration, Error> {
    let cell = Cell::of(configuration)?;
    let node = placed(&cell, ground)?;
    let array = cell.serving.new_array.as_ref().zip(serve::array_with_metadata(&node));
    let create = array
        .map(|(new_array, layer)| {
            new_array.of_paths(layer, &paths(layer)?, ground.create_bytes).map_err(Error::from)
        })
        .transpose()?;
    let settings = cell.serve_settings(&node, ground.mount.as_deref())?;
    Ok(StartConfiguration { settings, create })
}

/// The stack with members and store in the place of what the run had.
fn placed(cell: &Cell, ground: &StartTarget) -> Result<Node, Error> {
    let node = cell.stack.clone();
    let all = node.leaves();
    let is_store: Vec<bool> = {
        let numbers: Vec<usize> = (0..all.len()).collect();
        let members = without_stores(&node, &numbers, |number| *number);
        numbers.iter().map(|number| !members.contains(number)).collect()
    };
    let count = is_store.iter().filter(|is_store| !**is_store).count();
    if !ground.members.is_empty() && ground.members.len() != count {
        return Err(Error::usage(statement!(
            catalogue::OTHER_COUNT_OF_MEMBERS,
            given = ground.members.len(),
            count = count,
            names = shown(&cell.record.settings, "=", ",")
        )));
    }
    let mut texts = Vec::new();
    let mut members = ground.members.iter();
    for (leaf, is_store) in all.into_iter().zip(is_store) {
        let named = if is_store { ground.store.as_ref() } else { members.next() };
        texts.push(replaced(leaf, named.map(PathBuf::as_path), is_store)?);
    }
    let texts = std::cell::RefCell::new(texts.into_iter());
    map_leaves(node, &|leaf| Ok(texts.borrow_mut().next().unwrap_or(leaf)))
}

/// What stands in the place of a leaf.
fn replaced(leaf: &Node, named: Option<&Path>, is_store: bool) -> Result<Node, Error> {
    let Node::Leaf { scheme, options, .. } = leaf else { return Ok(leaf.clone()) };
    let flag = if is_store { "--store" } else { "--member" };
    match named {
        Some(path) if scheme != "ram" || !is_store => {
            let path = host::files::absolute(path)?;
            let file = Node::file(&path);
            // A store is made of the size that the leaf names.
            let size = options.iter().find(|(name, _)| name == "size" && is_store);
            Ok(size.map_or(file.clone(), |(name, value)| file.with(name, value)))
        }
        _ if is_made(leaf) => Err(Error::usage(statement!(catalogue::OWN_FILES_GONE, flag = flag))),
        _ if scheme == "model" => {
            Err(Error::usage(statement!(catalogue::MODEL_NOT_STARTED, leaf = leaf, flag = flag)))
        }
        _ => Ok(leaf.clone()),
    }
}

/// Whether a leaf is a file that the run made.
fn is_made(leaf: &Node) -> bool {
    matches!(leaves(leaf).as_deref(), Ok([Leaf::Made(_)]))
}

/// The files and disks that a layer's members are.
fn paths(layer: &Node) -> Result<Vec<PathBuf>, Error> {
    let Node::Layer { children, .. } = layer else { return Ok(Vec::new()) };
    let path = |child: &Node| {
        child.file_path().ok_or_else(|| Error::usage(catalogue::SUPERBLOCKS_NEED_DISKS).at(child))
    };
    children.iter().map(path).collect()
}

/// The commands that start a configuration of a run: raidloom's own, and after it those that build
/// the same without raidloom, each with a remark where it is not quite the same.
///
/// # Errors
/// What is wrong with the configuration.
pub fn commands(folder: &Path, configuration: &Configuration) -> Result<Vec<String>, Error> {
    let cell = Cell::of(configuration)?;
    let node = &cell.stack;
    let members = without_stores(node, &node.leaves(), |leaf| (*leaf).clone());
    let has_own = members.iter().all(|member| {
        matches!(member, Node::Leaf { scheme, .. } if scheme == "file") && !is_made(member)
    });
    let names: Vec<String> = members
        .iter()
        .enumerate()
        .map(|(number, member)| match member {
            Node::Leaf { address, .. } if has_own => escape::shell(address),
            _ => format!("MEMBER{number}"),
        })
        .collect();
    let mut own = format!(
        "raidloom array start --from {} {}",
        escape::shell(&folder.to_string_lossy()),
        configuration.id
    );
    if !has_own {
        let _ = write!(own, " --member {}", names.join(" "));
    }
    if node.leaves().into_iter().any(|leaf| is_made(leaf) && !members.contains(leaf)) {
        own.push_str(" --store STORE");
    }
    own.push_str(if cell.file_system.is_some() { " --mount FOLDER" } else { " --attach" });
    let mut lines = vec![own];
    let device = md_commands(&cell.axes, &names, &mut lines);
    if let Some(file_system) = &cell.file_system {
        lines.extend(file_system_commands(file_system, device));
    }
    Ok(lines)
}

/// The commands that make and mount a file system, on a device or in an image on it.
fn file_system_commands(file_system: &CellFileSystem, mut device: String) -> Vec<String> {
    let made = |kind: &FileSystem, options: Option<String>, device: &str| {
        let options = options.unwrap_or_default();
        let words = [kind.maker(), options.trim(), device];
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let mounted = |kind: &FileSystem, options: Option<String>, device: &str, point: &str| {
        let options = options.map_or(String::new(), |options| format!("-o {options} "));
        format!("mount -t {} {options}{device} {point}", kind.name)
    };
    let mut lines = Vec::new();
    if let Some(nested) = &file_system.nested {
        let options = nested.options_to_mount(file_system.policy);
        lines.push(made(&nested.outer, nested.options_to_make(), &device));
        lines.push(mounted(&nested.outer, options, &device, "OUTER"));
        lines.extend(image_commands(&nested.image));
        "/dev/loop0".clone_into(&mut device);
    }
    let options = file_system.options_to_mount();
    lines.push(made(&file_system.kind, file_system.options_to_make(), &device));
    lines.push(mounted(&file_system.kind, options, &device, "FOLDER"));
    lines
}

/// The commands that make an image in the folder OUTER, and a loop device over the disk in it.
fn image_commands(image: &Image) -> [String; 2] {
    let (file, size) = (format!("OUTER/{}", image.file_name()), image.size_bytes);
    let make = match image.kind {
        ImageKind::Raw => format!("head --bytes={size} /dev/zero >{file}"),
        ImageKind::Vhd => format!(
            "qemu-img create -f vpc -o subformat=fixed,force_size=on {file} {size}  # with holes"
        ),
    };
    let direct = if image.direct { " --direct-io=on" } else { "" };
    [make, format!("losetup --sizelimit={size}{direct} /dev/loop0 {file}")]
}

/// The commands for md, and the device that they end in.
fn md_commands(axes: &Axes, members: &[String], lines: &mut Vec<String>) -> String {
    let mut device = members.first().cloned().unwrap_or_default();
    if let Some(level) = axes.level.filter(|level| level.is_array()) {
        MD_DEVICE.clone_into(&mut device);
        let has_metadata = axes.metadata == Some(Metadata::Superblocks);
        lines.push(if !has_metadata && matches!(level.name, "raid4" | "raid5" | "raid6") {
            format!(
                "# md builds no {} without superblocks: metadata = \"1.2\" has them",
                level.name
            )
        } else {
            mdadm(axes, level, members)
        });
    }
    if let Some(cache) = axes.cache.value() {
        lines.push(format!(
            "# the cache `{cache}` is raidloom's: bcache and dm-cache are the nearest in the kernel"
        ));
    }
    if axes.upkeep == Some(Switch::Off) {
        lines.push("# md has no counterpart of upkeep = \"off\"".to_owned());
    }
    device
}

/// Where md's array appears.
const MD_DEVICE: &str = "/dev/md/raidloom";

/// The command that makes an array of a level, with superblocks or without.
fn mdadm(axes: &Axes, level: Level, members: &[String]) -> String {
    let metadata = axes.metadata.filter(|metadata| *metadata == Metadata::Superblocks);
    let mut line = match metadata {
        Some(metadata) => format!("mdadm --create {MD_DEVICE} --metadata={metadata}"),
        None => format!("mdadm --build {MD_DEVICE}"),
    };
    let number = level.name.trim_start_matches("raid");
    let _ = write!(line, " --level={number} --raid-devices={}", members.len());
    let size = |bytes: u64| match bytes.is_multiple_of(1024) {
        true => format!("{}K", bytes / 1024),
        false => stacks::size_text(bytes),
    };
    if let Some(chunk_bytes) = axes.chunk_bytes {
        let _ = write!(line, " --chunk={}", size(chunk_bytes));
    }
    if let Some(layout) = &axes.layout {
        let _ = write!(line, " --layout={layout}");
    }
    match axes.consistency {
        Some(Consistency::Bitmap) => {
            line.push_str(" --bitmap=internal");
            if let Some(bytes) = axes.bitmap_bytes.value() {
                let _ = write!(line, " --bitmap-chunk={}", size(*bytes));
            }
        }
        Some(consistency) => {
            let _ = write!(line, " --consistency-policy={consistency}");
        }
        None if metadata.is_some() && !matches!(level.name, "linear" | "raid0") => {
            line.push_str(" --consistency-policy=resync");
        }
        None => (),
    }
    line + " " + &members.join(" ")
}

#[cfg(test)]
mod tests {
    use array::ParityLayout;
    use array::md::{Consistency, Layout, Level};

    use super::*;

    fn configurations(axes: &str) -> Vec<Configuration> {
        let text = format!(
            r#"schema = 1
name = "alone"
[members.some]
files = {{ count = 3, size = "16MiB" }}
[caches]
disk = "cache(mode=write-back, file:{{store}}?size=8MiB, {{device}})"
[matrix]
{axes}
[[add]]
level = "single"
[baseline]
level = "single"
[[workload]]
suite = "devtest"
"#
        );
        crate::plan::resolve("plan.toml", &text, &[]).unwrap().plan.configurations
    }

    const RAID5: &str = "level = \"raid5\"\nchunk = \"64KiB\"\nlayout = \"la\"\n\
        consistency = \"bitmap\"\nbitmap = \"4MiB\"\nmember_timeout = \"5s\"\n";

    #[test]
    fn a_configuration_is_started_over_the_members_that_are_named() {
        let configuration = &configurations(RAID5)[0];
        let error = alone(configuration, &StartTarget::default()).unwrap_err().to_string();
        assert!(error.contains("the run's own files are gone: --member"), "{error}");
        let members: Vec<PathBuf> = ["/a", "/b", "/c"].map(PathBuf::from).into();
        let few = StartTarget { members: members[..2].to_vec(), ..StartTarget::default() };
        let error = alone(configuration, &few).unwrap_err().to_string();
        assert!(error.contains("2 are named, and the configuration has 3"), "{error}");
        let ground = StartTarget { members: members.clone(), ..StartTarget::default() };
        let StartConfiguration { settings, create } = alone(configuration, &ground).unwrap();
        assert_eq!(
            settings.stack,
            "raid5(chunk=64KiB, layout=left-asymmetric, metadata=1.2, file:/a, file:/b, file:/c)"
        );
        assert_eq!((settings.member_timeout.as_deref(), settings.no_upkeep), (Some("5s"), false));
        let create = create.unwrap();
        assert_eq!(
            (create.level, create.layout, create.chunk_bytes, create.consistency),
            (
                Level::Raid5,
                Layout::Parity(ParityLayout::LeftAsymmetric),
                64 << 10,
                Consistency::Bitmap { chunk_bytes: Some(4 << 20) }
            )
        );
        assert_eq!(
            create.members,
            members.into_iter().map(|path| Some(path.into())).collect::<Vec<_>>()
        );
        assert!(!create.assume_clean, "what the members hold is not known to agree");
    }

    /// How an array was measured is no property of it; what it is made of and mounted with is.
    #[test]
    fn configurations_that_are_started_alike_are_one() {
        let of = |axes: &str| {
            let text = format!(
                r#"schema = 1
name = "alike"
[members.two]
models = ["st340015a?link=a", "st340015a?link=b"]
[matrix]
level = "raid1"
place = "guest"
memory = "40MiB"
disk_size = "512MiB"
file_system = "ext2"
{axes}
[[add]]
level = "single"
place = "guest"
[baseline]
level = "single"
[[workload]]
suite = "bonnie"
"#
            );
            let plan = crate::plan::resolve("plan.toml", &text, &[]).unwrap().plan;
            let raid1 = plan.configurations.iter().filter(|one| one.settings["level"] == "raid1");
            let raid1: Vec<&Configuration> = raid1.collect();
            (raid1.len(), once_each(raid1).len())
        };
        assert_eq!(of(r#"scheduler = ["none", "bfq"]"#), (2, 1));
        assert_eq!(of(r#"state = ["whole", "degraded"]"#), (2, 1));
        assert_eq!(of(r#"mount_options = ["noatime", "relatime"]"#), (2, 2));
    }

    #[test]
    fn a_store_is_named_where_the_run_had_made_one() {
        let with_cache = configurations("level = \"raid1\"\ncache = \"disk\"\nupkeep = \"off\"\n");
        let members: Vec<PathBuf> = ["/a", "/b", "/c"].map(PathBuf::from).into();
        let ground = StartTarget { members, ..StartTarget::default() };
        let error = alone(&with_cache[0], &ground).unwrap_err().to_string();
        assert!(error.contains("--store names what takes their place"), "{error}");
        let ground = StartTarget { store: Some("/store".into()), ..ground };
        let settings = alone(&with_cache[0], &ground).unwrap().settings;
        assert_eq!(
            settings.stack,
            "cache(mode=write-back, file:/store?size=8MiB, raid1(metadata=1.2, file:/a, file:/b, \
             file:/c))"
        );
        assert!(settings.no_upkeep);
    }

    /// "beside it the commands of mdadm, mkfs and mount that build the same without raidloom"
    #[test]
    fn the_same_is_built_by_mdadm_mkfs_and_mount() {
        let folder = Path::new("/runs/it's one");
        let axes = format!(
            "{RAID5}file_system = \"ext4\"\nmake_options = \"-m 0\"\nmount_options = \"noatime\"\n\
             policy = \"quick\"\n"
        );
        let configuration = &configurations(&axes)[0];
        assert_eq!(
            commands(folder, configuration).unwrap(),
            [
                format!(
                    "raidloom array start --from '/runs/it'\\''s one' {} --member MEMBER0 MEMBER1 \
                     MEMBER2 --mount FOLDER",
                    configuration.id
                ),
                "mdadm --create /dev/md/raidloom --metadata=1.2 --level=5 --raid-devices=3 \
                 --chunk=64K --layout=left-asymmetric --bitmap=internal --bitmap-chunk=4096K MEMBER0 \
                 MEMBER1 MEMBER2"
                    .to_owned(),
                "mkfs.ext4 -Elazy_itable_init=0,lazy_journal_init=0 -m 0 /dev/md/raidloom".to_owned(),
                "mount -t ext4 -o noatime,sync /dev/md/raidloom FOLDER".to_owned(),
            ]
        );
        let lines = |axes: &str| {
            let commands = commands(Path::new("/run"), &configurations(axes)[0]).unwrap();
            commands[1..].to_vec()
        };
        let image = |kind: &str| {
            let axes = "level = \"raid1\"\nfile_system = \"ext4\"\npolicy = \"quick\"\n\
                image_size = \"1MiB\"\nimage_io = \"direct\"\nouter_file_system = \"xfs\"\n";
            lines(&format!("{axes}image = \"{kind}\"\n"))[1..].to_vec()
        };
        assert_eq!(
            image("raw"),
            [
                "mkfs.xfs /dev/md/raidloom",
                "mount -t xfs -o sync /dev/md/raidloom OUTER",
                "head --bytes=1048576 /dev/zero >OUTER/image.raw",
                "losetup --sizelimit=1048576 --direct-io=on /dev/loop0 OUTER/image.raw",
                "mkfs.ext4 -Enodiscard,lazy_itable_init=0,lazy_journal_init=0 /dev/loop0",
                "mount -t ext4 -o sync /dev/loop0 FOLDER",
            ]
        );
        assert!(image("vhd")[2].starts_with("qemu-img create -f vpc -o subformat=fixed"));
        assert_eq!(
            lines("level = \"raid0\"\nchunk = \"4KiB\"\n"),
            [
                "mdadm --build /dev/md/raidloom --level=0 --raid-devices=3 --chunk=4K MEMBER0 MEMBER1 \
              MEMBER2"
            ]
        );
        assert_eq!(
            lines("level = \"raid5\"\nchunk = \"4KiB\"\nmetadata = \"none\"\n"),
            ["# md builds no raid5 without superblocks: metadata = \"1.2\" has them"]
        );
        assert!(
            lines("level = \"raid1\"\ncache = \"disk\"\n")[1].starts_with("# the cache `disk`")
        );
    }
}
