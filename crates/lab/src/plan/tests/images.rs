//! File systems in images of outer ones.

use super::*;

/// "`file_system` is always the one in which the suites work": it is compared with itself.
#[test]
fn an_image_carries_the_file_system_that_is_compared() {
    let text = "schema = 1\nname = \"images\"\n[members.stick]\nstacks = [\"ram:64MiB\"]\n\
        [matrix]\nlevel = \"single\"\nfile_system = [\"vfat\", \"ntfs\"]\n\
        image = [\"none\", \"raw\", \"vhd\"]\nimage_size = \"16MiB\"\n\
        outer_file_system = \"vfat\"\nouter_mount_options = \"noatime\"\n\
        [[add]]\nlevel = \"single\"\nfile_system = \"ntfs\"\nimage = \"raw\"\n\
        outer_file_system = \"ext4\"\n\
        [baseline]\nimage = \"none\"\n[[workload]]\nsuite = \"copy\"\n";
    let plan = resolve("plan.toml", text, &[]).unwrap().plan;
    let labels: Vec<String> =
        plan.configurations.iter().map(|one| plan.label(&one.settings)).collect();
    let expected = [
        "stick single vfat no image",
        "stick single vfat raw image 16MiB on vfat noatime",
        "stick single vfat vhd image 16MiB on vfat noatime",
        "stick single ntfs no image",
        "stick single ntfs raw image 16MiB on vfat noatime",
        "stick single ntfs vhd image 16MiB on vfat noatime",
        // Another outer file system has no options of the first.
        "stick single ntfs raw image 16MiB on ext4",
    ];
    assert_eq!(labels, expected);
    for configuration in &plan.configurations {
        let is_baseline = |other: &&Configuration| other.id == configuration.baseline;
        let baseline = plan.configurations.iter().find(is_baseline).unwrap();
        assert_eq!(baseline.settings["image"], "none");
        assert_eq!(baseline.settings["file_system"], configuration.settings["file_system"]);
    }
    // One file system for all: what it was made and is mounted with goes with it.
    let of_all = "schema = 1\nname = \"all\"\n[members.stick]\nstacks = [\"ram:64MiB\"]\n\
        [matrix]\nlevel = \"single\"\nfile_system = \"vfat\"\nmake_options = \"-F 32\"\n\
        [[add]]\nlevel = \"single\"\nfile_system = \"ntfs\"\nmount_options = \"atime\"\n\
        [baseline]\nfile_system = \"vfat\"\n[[workload]]\nsuite = \"copy\"\n";
    let plan = resolve("plan.toml", of_all, &[]).unwrap().plan;
    let baselines: Vec<&str> = plan.configurations.iter().map(|one| &*one.baseline).collect();
    assert!(baselines.len() == 2 && baselines[0] == baselines[1], "{baselines:?}");
    // Making an image costs a visit what is written for it, and a second file system.
    let one = |image: &str| {
        let said = [format!("matrix.image=\"{image}\""), "add=[]".to_owned()];
        let text =
            text.replace("[baseline]\nimage = \"none\"\n", "[baseline]\nfile_system = \"vfat\"\n");
        outline(&resolve("plan.toml", &text, &said).unwrap().plan).unwrap().estimated_seconds
    };
    let (none, raw) = (one("none"), one("raw"));
    assert!(raw > none + 2.0 * 2.0 * 8.0, "{none} {raw}");
    let pull = text.replace("suite = \"copy\"", "suite = \"pull\"");
    let error = resolve("plan.toml", &pull, &[]).unwrap_err().to_string();
    assert!(error.contains("has its in an image: leave it out with [[skip]]"), "{error}");
}
