use std::fs;
use std::path::Path;

use super::tree::Entry;
use super::*;
use crate::content::{BlockName, Class, SECRET, block};

const RUN: u64 = 5;

/// Carries a scenario out; the version up to which this file system has done so.
fn carried_out(scenario: &Scenario, folder: &Path) -> u32 {
    let mut done = BASE;
    for version in scenario.versions() {
        if !scenario.carry_out(folder, version).unwrap() {
            break;
        }
        done = version;
        let found = scenario.look(folder, version, version);
        assert_eq!(found, Difference::default(), "{scenario:?} behind {version}");
    }
    done
}

#[test]
fn what_is_carried_out_is_what_is_expected() {
    let folder = tempfile::tempdir().unwrap();
    let mut operations = Vec::new();
    for number in 0..200 {
        let scenario = Scenario::of(RUN, number);
        assert_eq!(scenario.steps, Scenario::of(RUN, number).steps, "it is made again");
        set_up(std::slice::from_ref(&scenario), folder.path()).unwrap();
        assert_eq!(scenario.look(folder.path(), BASE, BASE), Difference::default());
        carried_out(&scenario, folder.path());
        operations.push(scenario.steps.len());
    }
    let singles = singles().len();
    assert_eq!(operations[..singles], vec![1; singles], "every operation stands alone");
    assert!([2, 3].iter().all(|count| operations[singles..].contains(count)));
    for operation in OPERATIONS {
        assert!(super::singles().iter().any(|(one, _)| one == operation), "{operation:?}");
    }
}

/// Planted: each name of a tree is taken away, is something else, and has a neighbour too many.
#[test]
fn whatever_is_not_as_it_was_promised_is_found() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..90 {
        let scenario = Scenario::of(RUN, number);
        set_up(std::slice::from_ref(&scenario), folder.path()).unwrap();
        let version = carried_out(&scenario, folder.path());
        let own = folder.path().join(scenario.folder());
        let class = |touching| scenario.look(folder.path(), version, touching).class;
        for (name, entry) in &scenario.tree(version).names {
            let (path, aside) = (own.join(name), folder.path().join("aside"));
            fs::rename(&path, &aside).unwrap();
            assert_eq!(class(version), Some(Class::Missing), "{name} of {scenario:?}");
            if let Entry::File(file) = entry {
                let bytes = fs::read(&aside).unwrap();
                for (place, expected) in [(0, Class::Garbage), (bytes.len() - 1, Class::Garbage)] {
                    let mut bytes = bytes.clone();
                    bytes[place] ^= 1;
                    fs::write(&path, &bytes).unwrap();
                    assert!(class(version) >= Some(expected), "{name} of {scenario:?}");
                }
                fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
                assert!(class(version).is_some(), "{name} of {scenario:?}");
                let old = block(RUN, BlockName { file: SECRET, version: 1, block: *file });
                fs::write(&path, [&old[..], &bytes[old.len()..]].concat()).unwrap();
                let found = scenario.look(folder.path(), version, version);
                assert!(found.is_exposed && found.class.is_some(), "{name} of {scenario:?}");
                fs::remove_file(&path).unwrap();
            }
            fs::rename(&aside, &path).unwrap();
        }
        fs::write(own.join("stray"), "").unwrap();
        assert_eq!(class(version), Some(Class::Present));
        fs::remove_file(own.join("stray")).unwrap();
        assert_eq!(class(version), None);
    }
}

/// Two names of a file that were one are two files after a crash: every byte is right.
#[test]
fn a_link_that_is_a_copy_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let is_link = |number: &u32| Scenario::of(RUN, *number).steps[0].operation == Link;
    let scenario = Scenario::of(RUN, (0..60).find(is_link).unwrap());
    set_up(std::slice::from_ref(&scenario), folder.path()).unwrap();
    assert_eq!(carried_out(&scenario, folder.path()), BASE + 1);
    let other = folder.path().join(scenario.folder()).join(&scenario.steps[0].other);
    let bytes = fs::read(&other).unwrap();
    fs::remove_file(&other).unwrap();
    fs::write(&other, bytes).unwrap();
    let found = scenario.look(folder.path(), BASE + 1, BASE + 1);
    assert_eq!(found.class, Some(Class::Foreign), "{found:?}");
}

/// What the step under way touches may be as it likes, and nothing else.
#[test]
fn what_is_under_way_is_free_and_nothing_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..singles().len() as u32 {
        let scenario = Scenario::of(RUN, number);
        set_up(std::slice::from_ref(&scenario), folder.path()).unwrap();
        let own = folder.path().join(scenario.folder());
        let touched = Tree::base().touched(&scenario.steps[0]);
        let look = || scenario.look(folder.path(), BASE, BASE + 1).class;
        carried_out(&scenario, folder.path());
        assert_eq!(look(), None, "it is done: {scenario:?}");
        let is_free = |name: &String| touched.iter().any(|free| tree::is_below(name, free));
        let names = Tree::base().names.into_iter();
        for (name, _) in names.filter(|(name, _)| !is_free(name) && own.join(name).is_file()) {
            fs::remove_file(own.join(&name)).unwrap();
            assert_eq!(look(), Some(Class::Missing), "{name} beside {scenario:?}");
        }
    }
}

#[test]
fn a_rename_that_nobody_syncs_leaves_one_of_both() {
    let folder = tempfile::tempdir().unwrap();
    let number = (0..60).find(|number| Scenario::of(RUN, *number).is_unsynced(BASE + 1)).unwrap();
    let scenario = Scenario::of(RUN, number);
    set_up(std::slice::from_ref(&scenario), folder.path()).unwrap();
    let file = folder.path().join(scenario.folder()).join(&scenario.steps[0].name);
    let class = || scenario.look_replaced(folder.path(), BASE + 1).class;
    assert_eq!(class(), None, "the old one");
    let old = fs::read(&file).unwrap();
    carried_out(&scenario, folder.path());
    assert_eq!(class(), None, "the new one");
    let new = fs::read(&file).unwrap();
    assert_ne!(old, new);
    fs::write(&file, "").unwrap();
    assert_eq!(class(), Some(Class::Short), "neither: it is empty");
    fs::write(&file, [&old[..4096], &new[4096..]].concat()).unwrap();
    assert_eq!(class(), Some(Class::Foreign), "a part of each");
    fs::remove_file(&file).unwrap();
    assert_eq!(class(), Some(Class::Missing));
}
