//! What a configuration is stands in the plan as values, whatever its files are called.

use results::MeasuredCache;

use super::*;

fn configurations(members: &str, matrix: &str, suite: &str) -> Vec<Configuration> {
    let text = format!(
        "schema = 1\nname = \"nature\"\n[members.two]\n{members}\n[caches]\nram = \
        \"cache(mode=write-through, ram:1MiB, {{device}})\"\n[matrix]\nlevel = \"single\"\n\
        {matrix}\n[[workload]]\nsuite = \"{suite}\"\n"
    );
    resolve("plan.toml", &text, &[]).unwrap().plan.configurations
}

#[test]
fn a_configuration_says_what_it_is() {
    const MODELS: &str = "models = [\"maxtor-6y200p0\"]";
    const PACED: &str = "stacks = [\"raid1(ram:64MiB, model:maxtor-6y200p0?size=64MiB)\"]";
    const MEMORY: &str = "stacks = [\"ram:64MiB\"]";
    const GUEST: &str = "place = \"guest\"\nfile_system = \"ext2\"";
    let of = |members: &str, matrix: &str, suite: &str| {
        let one = configurations(members, matrix, suite).remove(0);
        (one.ground, one.modelled, one.caches.clone(), one.is_in_guest())
    };
    let memory = || vec![MeasuredCache::GuestMemory];
    for (members, matrix, suite, expected) in [
        (MEMORY, "", "devtest", (WorkTarget::Device, false, vec![], false)),
        (MODELS, "", "devtest", (WorkTarget::Device, true, vec![], false)),
        (PACED, "", "devtest", (WorkTarget::Device, true, vec![], false)),
        (MEMORY, "cache = \"ram\"", "devtest", {
            (WorkTarget::Device, false, vec![MeasuredCache::Layer], false)
        }),
        (MEMORY, "cache = \"none\"", "devtest", (WorkTarget::Device, false, vec![], false)),
        (MEMORY, "file_system = \"ext2\"", "copy", (WorkTarget::FileSystem, false, vec![], false)),
        (MEMORY, "file_system = \"none\"", "devtest", (WorkTarget::Device, false, vec![], false)),
        (MODELS, GUEST, "copy", (WorkTarget::Guest, true, memory(), true)),
        (MODELS, GUEST, "pull", (WorkTarget::Pull, true, memory(), true)),
        (MEMORY, "file_system = \"ext2\"", "pull", (WorkTarget::Pull, false, vec![], false)),
    ] {
        assert_eq!(of(members, matrix, suite), expected, "{members} {matrix} {suite}");
    }
    let quick = |policy: &str| {
        let matrix = format!("file_system = \"ext2\"\n{policy}");
        configurations(MEMORY, &matrix, "copy")[0].quick_removal
    };
    assert!(quick("policy = \"quick\""));
    assert!(!quick("policy = \"performance\"") && !quick(""));
}

/// A folder is called as its owner likes.
#[test]
fn names_of_folders_say_nothing_of_what_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["model:x", "cache(x", "x, model:y"] {
        let place = folder.path().join(name);
        fs::create_dir(&place).unwrap();
        let members = format!("files = {{ count = 1, size = \"1MiB\", dir = {place:?} }}");
        let one = configurations(&members, "", "devtest").remove(0);
        assert!(one.stack.contains("odel:") || one.stack.contains("cache("), "{}", one.stack);
        assert_eq!((one.modelled, one.caches.len()), (false, 0), "{}", one.stack);
        assert_eq!((one.clock, one.ground), (Clock::Wall, WorkTarget::Device));
    }
}

/// Of every plan that comes with the program: identities are made of these texts.
#[test]
fn what_a_cell_reads_of_its_record_it_writes_back() {
    for known in shipped() {
        let (_, text) = read(Path::new(known.name)).unwrap();
        let plan = resolve(known.name, &text, &[]).unwrap().plan;
        for (cell, record) in Cell::all(&plan).unwrap().iter().zip(&plan.configurations) {
            assert_eq!(cell.axes.texts(), record.settings, "{}", known.name);
            assert_eq!(cell.stack.to_string(), record.stack, "{}", known.name);
        }
    }
}
