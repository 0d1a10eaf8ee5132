//! Few blocks of a model, and names of many axes.

use super::*;

/// "One deterministic block is an answer in the model, and is called so."
#[test]
fn one_block_of_a_model_is_an_answer_in_it() {
    let analysis = analyse(&run(1, |c, w, _| planted(c, w)));
    let [measured, modelled] = &analysis.comparisons[..] else { panic!("two comparisons") };
    let headline = |one: &Comparison| one.overall().unwrap().headline.clone();
    assert_eq!(headline(measured).verdict, Verdict::NotCompared);
    assert!(!headline(measured).in_model);

    let found = headline(modelled);
    assert_eq!(found.verdict, Verdict::Take);
    assert!(found.in_model && !found.sure, "{found:?}");
    // Nobody states an error of this model: a ratio has no interval, and words all the same.
    let versus = versus_of(modelled, 2, "sequential read 512", THROUGHPUT);
    assert_eq!((versus.answer, versus.interval, versus.pairs), (Answer::Ahead, None, 1));
    let same = versus_of(modelled, 2, "random read 512", THROUGHPUT);
    assert_eq!(same.answer, Answer::Same);
    let few = |name: &str| Warning::FewBlocks { comparison: name.into(), blocks: 1 };
    assert!(analysis.warnings.contains(&few("files")));
    assert!(!analysis.warnings.contains(&few("maxtor")), "its headline says so");
}

/// How far the model is off is no part of an answer in it, and is said beside it.
#[test]
fn the_models_error_is_said_beside_its_answer() {
    let mut run = run(1, |c, w, _| planted(c, w));
    run.plan.configurations.iter_mut().for_each(|one| one.model_error = Some(0.6));
    let analysis = analyse(&run);
    let versus = versus_of(&analysis.comparisons[1], 2, "sequential read 512", THROUGHPUT);
    assert_eq!((versus.answer, versus.interval), (Answer::Ahead, None));
    let headline = &analysis.comparisons[1].overall().unwrap().headline;
    assert!(headline.in_model && headline.verdict == Verdict::Take, "{headline:?}");
    let error = Reservation::Modelled { error: Some(0.6), cases: 0 };
    assert!(headline.reservations.contains(&error), "{headline:?}");
    // Blocks that an interval could rest on are held against the error.
    let mut run = super::run(3, |c, w, _| planted(c, w));
    run.plan.configurations.iter_mut().for_each(|one| one.model_error = Some(0.6));
    let headline = &analyse(&run).comparisons[1].overall().unwrap().headline.clone();
    assert_eq!(headline.verdict, Verdict::WithinModel { error: 0.6 });
}

/// "Titles of a dozen words at most, from what differs."
#[test]
fn names_of_many_axes_say_what_differs() {
    let mut run = empty_run(6);
    let names = ["system", "options", "memory", "size", "cache", "policy", "members"];
    run.plan.axes =
        names.map(|name| Axis { name: name.into(), values: Vec::new() }).into_iter().collect();
    let settings = |of: [&str; 7]| -> BTreeMap<String, String> {
        names.into_iter().zip(of).map(|(axis, value)| (axis.into(), value.into())).collect()
    };
    let all = [
        settings(["vfat", "-F 32", "1GiB", "4GiB", "none", "quick", "disc"]),
        settings(["vfat", "-F 32", "2GiB", "4GiB", "none", "slow", "image"]),
        settings(["vfat", "-F 32", "1GiB", "8GiB", "large", "quick", "disc"]),
        settings(["vfat", "-F 32", "1GiB", "4GiB", "large", "quick", "disc"]),
        settings(["ntfs", "atime", "1GiB", "4GiB", "none", "quick", "disc"]),
        settings(["ntfs", "atime", "1GiB", "4GiB", "none", "quick", "image"]),
        settings(["ntfs", "noatime", "1GiB", "4GiB", "none", "quick", "disc"]),
        settings(["ntfs", "noatime", "1GiB", "4GiB", "none", "quick", "image"]),
    ];
    for (settings, one) in all.into_iter().zip(&mut run.plan.configurations) {
        one.id = configuration_id(&settings);
        one.settings = settings;
    }
    let ids: Vec<String> = run.plan.configurations.iter().map(|one| one.id.clone()).collect();
    for (index, one) in run.plan.configurations.iter_mut().enumerate() {
        one.baseline.clone_from(&ids[[0, 0, 0, 0, 4, 4, 6, 6][index]]);
    }
    let comparisons = analyse(&run).comparisons;
    // Six axes are shared by those of NTFS, of which two tell them from all others.
    let names: Vec<&str> = comparisons.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["vfat, -F 32", "ntfs, atime", "ntfs, noatime"]);
    // A baseline by what tells it from the others, and these by what differs from it.
    let labels = |one: &Comparison| -> Vec<String> {
        one.configurations.iter().map(|member| member.label.clone()).collect()
    };
    let expected = ["1GiB none", "2GiB slow image", "8GiB large", "large"];
    assert_eq!(labels(&comparisons[0]), expected);
    assert_eq!(labels(&comparisons[1]), ["disc", "image"], "few axes are as ever");
}
