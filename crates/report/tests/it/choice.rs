//! The answer of `choose`: at most twenty lines of eighty columns, in every language.

use report::{Style, choice_page, choice_text};
use results::ModelError;
use results::choice::{
    Bounds, Choice, Condition, Contrast, DrawnSets, DriveGroup, Figures, Layout, PowerCuts,
    Rebuild, RemovedLayout, Rival, Scheme, Share, WorkloadRatio,
};
use words::{Language, in_language};

const TERABYTE: u64 = 1_000_000_000_000;

fn layout(scheme: Scheme, usable: u64, survives: u32, pairs: usize) -> Layout {
    Layout {
        scheme,
        copies: if matches!(scheme, Scheme::NearCopies | Scheme::FarCopies) { 2 } else { 1 },
        drives: 4,
        spares: 0,
        chunk_bytes: Some(512 << 10),
        usable_bytes: usable * TERABYTE,
        survives,
        pairs: Share { count: pairs, of: 6 },
    }
}

fn rival(layout: Layout, ratio: f64, more: i64, contrast: Contrast) -> Rival {
    let one = |workload: &str, ratio| WorkloadRatio {
        workload: workload.to_owned(),
        ratio,
        interval: None,
    };
    Rival {
        layout,
        ratio,
        interval: None,
        contrast,
        extremes: vec![one("small accesses", ratio * 0.6), one("reading images", ratio * 1.5)],
        more_bytes: more * 1_000_000_000_000,
        model_error: None,
        drawn: None,
    }
}

/// An answer that has all there is to say.
fn choice() -> Choice {
    Choice {
        cost: None,
        drives: vec![DriveGroup {
            count: 4,
            title: "Example NAS 8 TB (EX8000, 5400 rpm), NAS".to_owned(),
            size_bytes: 8 * TERABYTE,
            stand_in: None,
        }],
        lost_drives: Vec::new(),
        work: "virtual machines".to_owned(),
        recorded_requests: None,
        survive: 1,
        figures: Figures::Modelled,
        pick: layout(Scheme::NearCopies, 16, 1, 4),
        configuration: "0123456789ab".to_owned(),
        file_system: Some("ext4".to_owned()),
        file_system_was_run: false,
        work_was_in_guests: false,
        bitmap_was_run: false,
        bitmap_ratio: None,
        same_chunks: Some([64 << 10, 1 << 20]),
        rivals: vec![
            rival(layout(Scheme::FarCopies, 16, 1, 2), 0.98, 0, Contrast::Same),
            rival(layout(Scheme::DoubleParity, 16, 2, 6), 0.62, 0, Contrast::Indicated),
            rival(layout(Scheme::Parity, 24, 1, 0), 0.31, 8, Contrast::Slower),
        ],
        degraded: Some(0.74),
        rebuild: Some(Rebuild {
            idle_seconds: 50_400.0,
            busy_seconds: 7_800_000.0,
            loss_chance: 1.0 / 42_000.0,
            busy_loss_chance: 1.0 / 270.0,
            annual_failure_rate: 0.015,
            work_ratio: None,
        }),
        power_cuts: Some(PowerCuts {
            file_system: "ext4".to_owned(),
            cuts: 298,
            lost: 0,
            at_most_percent: 1.0,
        }),
        has_flash: false,
        writes_are_modelled: true,
        model_error: Some(ModelError { error: 1.606, cases: 0 }),
        removed: vec![RemovedLayout {
            layout: layout(Scheme::Stripe, 32, 0, 0),
            by: Condition::Survives { losses: 0 },
        }],
        command: "raidloom array create tank --level 10".to_owned(),
        md_commands: vec!["mdadm --create /dev/md/raidloom".to_owned(), "mkfs.ext4".to_owned()],
    }
}

fn text(choice: &Choice, language: Language) -> String {
    let style = Style { color: false, width: 80 };
    in_language(language, || choice_text(choice, &[], style).text.to_string())
}

/// The lines, each without the columns before its words.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What speaks against the pick is left out last, in every language; what is said beside the layout
/// stands before the commands and counts among the lines.
#[test]
fn what_is_left_out_is_what_is_least_worth_and_is_said() {
    let drawn = |ahead| DrawnSets {
        sets: 20,
        ahead,
        ratios: Bounds { low: 0.99, high: 1.12 },
        factor: 1.14,
    };
    let style = Style { color: false, width: 80 };
    let beside: Vec<(String, String)> = [("a cache", "64MiB"), ("", "in"), ("may change it", "x")]
        .map(|(label, text)| (label.to_owned(), format!("{text} {}", "words ".repeat(11))))
        .into();
    for language in Language::ALL {
        let mut choice = choice();
        let said = |choice: &Choice| {
            let made = in_language(language, || choice_text(choice, &beside, style));
            assert!(made.text.lines().count() <= 19 && made.is_shortened, "{made:?}");
            in_one_line(&made.text)
        };
        for (ahead, is_told) in [(16, true), (4, false)] {
            choice.rivals[0].drawn = Some(drawn(ahead));
            let text = said(&choice);
            let sets = match language {
                Language::English => format!("is ahead in {ahead} of 20 drawn"),
                Language::Japanese => format!("20 組引くと {ahead} 組で"),
            };
            assert_eq!(text.contains(&sets), is_told, "{text}");
            assert!(text.contains("RAID 10 f2"), "{text}");
        }
        // Short of room, the rivals that are further behind go before what is said beside it.
        choice.rivals[0].drawn = None;
        choice.same_chunks = None;
        choice.degraded = None;
        let text = said(&choice);
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        assert!(place("a cache 64MiB") < place("raidloom array create"), "{text}");
        assert!(!text.contains("RAID 5") || text.contains("may change it"), "{text}");
        let page =
            |is_shortened| in_language(language, || choice_page("run/report.html", is_shortened));
        assert_eq!(page(false), "  run/report.html");
        assert!(page(true).ends_with(" run/report.html") && page(true).len() > page(false).len());
    }
    // Where all is told nothing is.
    let mut short = choice();
    short.rivals.truncate(1);
    assert!(!choice_text(&short, &[], style).is_shortened);
    short.md_commands.clear();
    let text = text(&short, Language::English);
    assert!(text.ends_with("raidloom array create tank --level 10\n"), "{text}");
}

#[test]
fn an_answer_is_nineteen_lines_of_eighty_columns_at_most() {
    let mut stripe = choice();
    stripe.pick = layout(Scheme::Stripe, 32, 0, 0);
    stripe.figures = Figures::StandIns;
    stripe.drives[0].stand_in = Some("example-nas-8tb".to_owned());
    let mut uneven = choice();
    uneven.drives.push(DriveGroup {
        count: 1,
        title: "Small".to_owned(),
        size_bytes: TERABYTE / 2,
        stand_in: None,
    });
    uneven.removed[0].by = Condition::SmallDrive { usable_bytes: TERABYTE };
    uneven.has_flash = true;
    uneven.writes_are_modelled = false;
    let mut drawn = choice();
    drawn.same_chunks = None;
    drawn.degraded = None;
    drawn.rivals[0].drawn = Some(DrawnSets {
        sets: 20,
        ahead: 3,
        ratios: Bounds { low: 0.91, high: 1.12 },
        factor: 1.14,
    });
    uneven.rivals[0].drawn = drawn.rivals[0].drawn;
    let mut beside = uneven.clone();
    beside.bitmap_ratio = Some(0.43);
    beside.rebuild = beside.rebuild.map(|rebuild| Rebuild { work_ratio: Some(0.55), ..rebuild });
    for language in Language::ALL {
        for choice in [choice(), stripe.clone(), uneven.clone(), beside.clone()] {
            let text = text(&choice, language);
            assert!(text.lines().count() <= 19, "{} lines:\n{text}", text.lines().count());
            for line in text.lines() {
                assert!(escape::width(line) <= 80, "{line}\n{text}");
            }
        }
    }
    // Whatever is left out for room, this is not.
    assert!(text(&stripe, Language::English).contains("survives no drive: one that dies takes"));
    assert!(text(&uneven, Language::English).contains("1 of 500 GB left out"));
    let in_english = |choice: &Choice| in_one_line(&text(choice, Language::English));
    // Drives of one kind are one kind, whatever their sizes.
    let mut sizes = choice();
    let group = sizes.drives[0].clone();
    sizes.drives = (2..6)
        .map(|size| DriveGroup { count: 1, size_bytes: size * TERABYTE, ..group.clone() })
        .collect();
    assert!(in_english(&sizes).contains("on 4 x Example NAS 8 TB against"), "{sizes:?}");
    let words = in_english(&beside);
    assert!(words.contains("14 h idle, up to 90 days beside this work (then at 0.6×)"), "{words}");
    assert!(words.contains("1 of 42,000, at worst 1 of 270 (1.5 %"), "{words}");
    assert!(words.contains("its bitmap this work runs at 0.4× with it"), "{words}");
    assert!(!words.contains("speed in a rebuild") && !words.contains("bitmap costs"), "{words}");
    let words = in_english(&drawn);
    let said = "RAID 10 f2 is ahead in 3 of 20 drawn parameter sets, 0.9× to 1.1×";
    assert!(words.contains(said), "{words}");
}

#[test]
fn what_is_sure_is_said_and_what_is_the_same_is_one_line() {
    let text = text(&choice(), Language::English);
    let line = |start: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(start));
        found.unwrap_or_else(|| panic!("{start}:\n{text}")).trim_start().to_owned()
    };
    assert_eq!(text.lines().next(), Some("RAID 10, 4 x 8 TB, chunk 512 KiB, ext4"));
    assert_eq!(line("16 TB"), "16 TB of 32 TB; survives any 1 drive, and 4 of 6 pairs; modelled");
    assert_eq!(line("against RAID 10 f2"), "against RAID 10 f2 same space; as fast");
    assert!(line("against RAID 6").contains("same space; survives any 2 drives; 0.6×"));
    assert!(line("against RAID 5").contains("8 TB more space; surely 0.3×"));
    assert_eq!(line("do it"), "do it              raidloom array create tank --level 10");
    assert_eq!(line("or "), "or                 mdadm --create /dev/md/raidloom && mkfs.ext4");
}
