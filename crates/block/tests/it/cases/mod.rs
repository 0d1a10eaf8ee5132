//! Stacks and the text they print as: what the printer of this crate and the parser of `stack` have
//! to agree on, in both directions. A test of another crate takes the list in with
//! `#[path = "…/block/tests/it/cases/mod.rs"] mod cases;`.

use block::Node;

/// Each node with its text.
pub(crate) fn cases() -> Vec<(Node, &'static str)> {
    let file = |address: &str| Node::leaf("file", address);
    vec![
        (Node::leaf("null", ""), "null:"),
        (Node::leaf("null", "").with("size", "1GiB"), "null:?size=1GiB"),
        (Node::leaf("ram", "100MiB"), "ram:100MiB"),
        (
            Node::leaf("model", "maxtor-6y200p0").with("bus", "pci").with("seed", 7),
            "model:maxtor-6y200p0?bus=pci&seed=7",
        ),
        (Node::layer("raid0", vec![file("a.img"), file("b.img")]), "raid0(file:a.img, file:b.img)"),
        (
            Node::layer("raid0", vec![file("a.img"), file("b.img")]).with("chunk", "64KiB"),
            "raid0(chunk=64KiB, file:a.img, file:b.img)",
        ),
        (
            Node::layer("raid6", vec![file("/dev/disk/by-id/ata-A"), Node::Missing, file("b")])
                .with("chunk", "512KiB")
                .with("layout", "left"),
            "raid6(chunk=512KiB, layout=left, file:/dev/disk/by-id/ata-A, missing, file:b)",
        ),
        (
            Node::layer(
                "cache",
                vec![
                    Node::leaf("ram", "1MiB"),
                    Node::layer("linear", vec![file("a").with("size", "4GiB"), file("b")]),
                ],
            )
            .with("mode", "write-through"),
            "cache(mode=write-through, ram:1MiB, linear(file:a?size=4GiB, file:b))",
        ),
        (Node::layer("checked", vec![Node::Missing]), "checked(missing)"),
        // Addresses that need quotes, and some that do not.
        (file("a,b.img"), "file:\"a,b.img\""),
        (file("with blanks (1).img"), "file:\"with blanks (1).img\""),
        (file("what?.img"), "file:\"what?.img\""),
        (file("say \"hi\""), "file:\"say \\\"hi\\\"\""),
        (file("back\\slash"), "file:\"back\\\\slash\""),
        (file("tab\tand\nline"), "file:\"tab\tand\nline\""),
        (file("narrow\u{a0}blank"), "file:\"narrow\u{a0}blank\""),
        (file("a=b.img"), "file:a=b.img"),
        (file("a&b.img"), "file:a&b.img"),
        (file("c:/d.img"), "file:c:/d.img"),
        (file("größe-磁盘.img"), "file:größe-磁盘.img"),
        (file("missing"), "file:missing"),
        // Settings.
        (file("a").with("note", "x&y").with("size", "1"), "file:a?note=\"x&y\"&size=1"),
        (file("a").with("note", "k=v"), "file:a?note=k=v"),
        (file("a").with("note", ""), "file:a?note="),
        (file("a, b").with("note", "c, d"), "file:\"a, b\"?note=\"c, d\""),
        (Node::layer("fault", vec![file("a")]).with("at", "1, 2"), "fault(at=\"1, 2\", file:a)"),
        (Node::layer("fault", vec![file("a")]).with("at", ""), "fault(at=, file:a)"),
        (
            Node::layer("fault", vec![file("a")]).with("path", "back\\slash"),
            "fault(path=back\\slash, file:a)",
        ),
        (
            Node::layer("fault", vec![file("a")]).with("path", "both \\ \""),
            "fault(path=\"both \\\\ \\\"\", file:a)",
        ),
    ]
}
