//! Members that leave a running array and come back: what is copied to them, and what the kernel's
//! md thinks of the result.

use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;

use interop::{Job, Machine, Shape, Sizes, difference, member_paths, noise, said};
use serde_json::Value;

use super::room::{Room, Running, is_possible};

const SEED: u64 = 0x6261_636b_2061_6761;
const REGION_BYTES: u64 = 64 << 10;

/// An array whose member 1 leaves and comes back.
struct Case {
    name: &'static str,
    shape: Shape,
    has_bitmap: bool,
}

fn cases() -> Vec<Case> {
    let case = |name, level, layout, members, has_bitmap| {
        let chunk_kib = if level == "1" { 0 } else { 64 };
        Case {
            name,
            shape: Shape { level, layout, members, chunk_kib, sizes: Sizes::Large },
            has_bitmap,
        }
    };
    vec![
        case("mirror-bits", "1", "", 2, true),
        case("parity-bits", "5", "left-symmetric", 4, true),
        case("striped-bits", "10", "n2", 4, true),
        case("mirror", "1", "", 3, false),
        case("parity", "5", "left-symmetric", 3, false),
    ]
}

fn start(room: &Room, case: &Case) -> Running {
    let paths = member_paths(&room.path(""), case.name, &case.shape);
    for (path, size) in paths.iter().zip(case.shape.member_sizes()) {
        File::create(path).and_then(|file| file.set_len(size)).expect("an image");
    }
    let text = |argument: &str| argument.to_owned();
    let mut create: Vec<String> =
        ["array", "create", case.name, "--assume-clean", "--level", case.shape.level]
            .map(text)
            .into();
    if case.shape.chunk_kib > 0 {
        create.extend([
            text("--chunk"),
            format!("{}KiB", case.shape.chunk_kib),
            text("--layout"),
            text(case.shape.layout),
        ]);
    }
    if case.has_bitmap {
        create.extend([
            text("--bitmap"),
            text("internal"),
            text("--bitmap-chunk"),
            format!("{}KiB", REGION_BYTES >> 10),
        ]);
    }
    create.push(text("--member"));
    create.extend(paths.iter().map(|path| path.display().to_string()));
    room.must(create);
    start_again(room, case)
}

fn start_again(room: &Room, case: &Case) -> Running {
    room.start(case.name, &room.assembled(&member_paths(&room.path(""), case.name, &case.shape)))
}

/// Puts new data at a place of the array and of what is expected of it.
fn write(running: &Running, content: &mut [u8], at: usize, bytes: &[u8]) {
    let device = OpenOptions::new().write(true).open(&running.block_device).expect("the device");
    device.write_all_at(bytes, at as u64).and_then(|()| device.sync_all()).expect("written");
    content[at..at + bytes.len()].copy_from_slice(bytes);
}

/// What the server has written to a leaf since it was opened.
fn written_bytes(status: &Value, path: &str) -> u64 {
    let leaves = status["members"].as_array().expect("leaves");
    let of_path: Vec<&Value> = leaves
        .iter()
        .filter(|leaf| leaf["name"].as_str().is_some_and(|name| name.ends_with(path)))
        .collect();
    assert_eq!(of_path.len(), 1, "a leaf that comes back is shown once: {leaves:?}");
    of_path[0]["written_bytes"].as_u64().expect("a number")
}

/// Takes member 1 out, writes, brings it back; what the array holds in the end.
fn leave_and_come_back(room: &Room, case: &Case) -> Vec<u8> {
    let running = start(room, case);
    let name = case.name;
    let size =
        room.json(["array", "status", name])[0]["size_bytes"].as_u64().expect("a size") as usize;
    let mut content = vec![0; size];
    write(&running, &mut content, 0, &noise(SEED, size));
    // The bits of what was written are cleared some time later, or at the end.
    room.stop(&running);
    let running = start_again(room, case);

    let path = format!("{}", member_paths(&room.path(""), name, &case.shape)[1].display());
    room.must(["array", "fail", name, "1"]);
    let refusal = room.raidloom(["array", "add", name, &path]).expect_err("it still has its place");
    assert!(
        refusal.contains("it has failed; `raidloom array remove` takes it out of place 1 first"),
        "{refusal}"
    );
    room.must(["array", "remove", name, &path.clone()]);
    let places = [size / 7, size / 2, size - 4096].map(|at| at / 4096 * 4096);
    for (number, at) in places.into_iter().enumerate() {
        write(&running, &mut content, at, &noise(SEED + 1 + number as u64, 4096));
    }
    room.must(["array", "add", name, &path, "--wait"]);

    let status = &room.json(["array", "status", name])[0];
    let events = status["events"].to_string();
    let written = written_bytes(status, &format!("{name}.1"));
    let member_bytes = case.shape.member_sizes()[1];
    if case.has_bitmap {
        assert!(events.contains("is back as member 1: by the bitmap it has missed "), "{events}");
        // As many regions as there were writes, and metadata; a tenth of the member would be too
        // much.
        assert!(
            written <= places.len() as u64 * REGION_BYTES + (128 << 10),
            "{name}: {written} bytes were written to it"
        );
    } else {
        assert!(events.contains("was added as member 1"), "{events}");
        // Superblock and bitmap lie before the data, at most 2 MiB.
        assert!(
            written >= member_bytes - (2 << 20),
            "{name}: {written} of {member_bytes} bytes were written to it"
        );
    }
    let up = "U".repeat(case.shape.members);
    assert_eq!(status["arrays"][0]["slots"], format!("[{up}]"), "{status}");
    let scrub = room.must(["array", "scrub", name, "--wait"]);
    assert!(scrub.contains(" 0 sectors did not agree"), "{scrub}");
    let mut found = Vec::new();
    File::open(&running.block_device)
        .and_then(|mut device| device.read_to_end(&mut found))
        .expect("read");
    assert_eq!(difference(&found, &content), None, "{name}");
    room.stop(&running);
    content
}

#[test]
fn members_come_back_to_running_arrays() {
    let test = "members that come back";
    if !is_possible(test, &[("losetup", "mount")]) || !Machine::is_there(test) {
        return;
    }
    let room = Room::new();
    let folder = room.path("");
    let cases = cases();
    let contents: Vec<_> = (cases.iter())
        .map(|case| {
            let content = room.path(&format!("{}.content", case.name));
            fs::write(&content, leave_and_come_back(&room, case)).expect("written");
            content
        })
        .collect();
    let machine = Machine::new(&folder, Sizes::Large, SEED).expect("images");
    let jobs: Vec<Job<'_>> = (cases.iter().zip(&contents))
        // Without the member that holds the same or the parity, all depends on the one that came
        // back.
        .map(|(case, content)| Job {
            subsets: vec![vec![0]],
            ..Job::new("take", case.name, case.shape, content)
        })
        .collect();
    let lines = machine.run(&jobs).unwrap_or_else(|error| panic!("{error}"));
    for Case { name, .. } in &cases {
        for (what, expected) in [("content", "equal"), ("mismatches", "0"), ("without 0", "equal")]
        {
            assert_eq!(said(&lines, name, what), expected, "{name}: {what}: {lines:#?}");
        }
    }
    assert_eq!(room.left_behind(), Vec::<String>::new());
}
