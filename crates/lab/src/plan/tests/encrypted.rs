//! Containers that are encrypted, in plans that cut the power.

use super::*;

/// "Put drives of their own in the place of the stack's and make the containers on these": what a
/// plan of pull tests alone names is neither opened nor has to be there, and other work needs it.
#[test]
fn containers_of_pull_tests_are_made_and_others_have_to_be_there() {
    let plan = |members: &str, level: &str, suites: &[&str]| {
        let suites = suites.iter().map(|name| format!("[[workload]]\nsuite = \"{name}\"\n"));
        let text = format!(
            "schema = 1\nname = \"test\"\n[members.m]\nstacks = [{members}]\n[matrix]\n\
            level = \"{level}\"\nfile_system = \"ext4\"\n{}",
            suites.collect::<String>()
        );
        resolve("plan.toml", &text, &[]).map(|resolved| resolved.plan)
    };
    let one = "\"luks(passphrase_file=key, ram:64MiB)\"";
    let two = format!("{one}, \"luks(passphrase_file=other, ram:64MiB)\"");
    let over = "\"luks(passphrase_file=key, raid1(ram:64MiB, ram:64MiB))\"";
    for (members, level, usable) in [
        (one, "single", 48 << 20),
        // Superblocks take a MiB of each member.
        (&*two, "raid1", 47 << 20),
        (over, "single", 48 << 20),
    ] {
        let plan = plan(members, level, &["pull"]).unwrap();
        let found = plan.configurations[0].usable.unwrap().bytes;
        assert_eq!(found, usable, "{members}");
        outline(&plan).unwrap();
    }
    assert!(plan(one, "single", &["pull", "copy"]).is_err(), "nothing is in memory to be opened");
    let apart = "\"luks(passphrase_file=key, header=h, ram:64MiB)\"";
    let error = plan(apart, "single", &["pull"]).unwrap_err().to_string();
    assert!(error.contains("leave `header=` out"), "{error}");
    let small = "\"luks(passphrase_file=key, ram:16MiB)\"";
    let error = plan(small, "single", &["pull"]).unwrap_err().to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
}
