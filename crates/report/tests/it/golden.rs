//! Text, Markdown and CSV of a small run, held against files.
//! `RAIDLOOM_BLESS=1 cargo test -p report` writes them anew: read the difference before committing
//! it.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use crate::fixture;

use std::path::Path;

use report::Style;
use results::safety::{Grade, LeastGrade};
use results::types::{Group, Run, Workload};
use results::{Doubt, analyse};
use words::{Language, in_language};

fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("RAIDLOOM_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let first = text.split('\n').zip(expected.split('\n')).position(|(left, right)| left != right);
    let line = first.unwrap_or_else(|| text.split('\n').count().min(expected.split('\n').count()));
    assert!(
        text == expected,
        "{name} differs from line {} on:\n  expected {:?}\n  found    {:?}\nRAIDLOOM_BLESS=1 \
        accepts the new text.",
        line + 1,
        expected.split('\n').nth(line),
        text.split('\n').nth(line)
    );
}

fn plain(width: usize) -> Style {
    Style { color: false, width }
}

#[test]
fn text_at_several_widths_in_both_languages() {
    let run = fixture::small();
    let analysis = analyse(&run);
    check("report-100.txt", &report::text(&run, &analysis, plain(100)));
    check("report-60.txt", &report::text(&run, &analysis, plain(60)));
    for language in Language::ALL {
        for width in [80, 120, 200] {
            let text = in_language(language, || report::text(&run, &analysis, plain(width)));
            check(&format!("report-{width}-{}.txt", language.tag()), &text);
        }
    }
}

/// The first of the comparisons alone.
fn one_question() -> Run {
    let mut run = fixture::small();
    run.plan.configurations.truncate(4);
    let known: Vec<_> = run.plan.configurations.iter().map(|one| one.settings.clone()).collect();
    run.trials.retain(|trial| known.contains(&trial.settings));
    run.plan.terms.question = Some("Which chunk size?".to_owned());
    run
}

/// "At most 12 lines by default for one question, 80 columns, the answer in the first two."
#[test]
fn the_answer_takes_twelve_lines() {
    let mut noisy = one_question();
    for (place, trial) in noisy.trials.iter_mut().enumerate() {
        let noise = [0.5, 1.9, 1.0, 2.2, 0.7, 1.4, 0.6][place * 5 % 7];
        trial.metrics.values_mut().for_each(|figure| *figure *= noise);
    }
    let mut alone = one_question();
    alone.plan.configurations.truncate(1);
    let only = alone.plan.configurations[0].settings.clone();
    alone.trials.retain(|trial| trial.settings == only);
    for (name, run, answer) in [
        ("taken", one_question(), "Take raid0 64"),
        ("noisy", noisy, "No answer"),
        ("alone", alone, "sequential read at start"),
    ] {
        let analysis = analyse(&run);
        for language in Language::ALL {
            let text = in_language(language, || report::brief(&run, &analysis, plain(80), None));
            check(&format!("brief-{name}-{}.txt", language.tag()), &text);
            let lines: Vec<&str> = text.lines().collect();
            assert!(lines.len() <= 12, "{} lines: {text}", lines.len());
            assert_eq!(lines[0], "Which chunk size?");
            assert!(lines.iter().all(|line| escape::width(line) <= 80), "{text}");
            if language == Language::English {
                assert!(lines[1].contains(answer), "{text}");
            }
        }
        // All surfaces say the same.
        let full = report::text(&run, &analysis, plain(80)).to_string();
        let said = |text: &str| {
            text.replace(['\u{202f}', '\u{a0}', '\n'], " ").split_whitespace().collect::<String>()
        };
        let answer = said(answer);
        for text in [full, report::markdown(&run, &analysis), report::html(&run, &analysis)] {
            assert!(said(&text).contains(&answer), "{name}: {text}");
        }
    }
}

/// A figure that has no vote is no answer like others, whatever keeps it from voting.
#[test]
fn a_figure_without_a_vote_has_a_mark_in_the_headline_and_on_the_badge() {
    let planted = |doubt: Option<Doubt>| {
        let mut run = one_question();
        run.plan.configurations.truncate(1);
        let only = run.plan.configurations[0].settings.clone();
        run.trials.retain(|trial| trial.settings == only);
        run.trials.iter_mut().for_each(|trial| trial.flags = doubt.iter().cloned().collect());
        let analysis = analyse(&run);
        let badge = report::badge_svg(&run, &analysis, "sequential read").unwrap();
        let answer = report::brief(&run, &analysis, plain(200), None).to_string();
        [answer.split_whitespace().collect::<Vec<_>>().join(" "), badge]
    };
    let [answer, badge] = planted(None);
    assert!(!answer.contains('!') && !badge.contains("! MB/s"), "{answer}{badge}");
    for (doubt, why) in [
        (Doubt::NotSteady, "Not what was to be measured: sequential read at start"),
        (Doubt::ReadFromCache { share: Some(1.0) }, "A cache answered, not the drives: sequential"),
    ] {
        let [answer, badge] = planted(Some(doubt));
        assert!(answer.contains('!') && answer.contains(why), "{answer}");
        assert!(badge.contains("! MB/s"), "{badge}");
    }
}

/// A heading of a table stands over its figures, whatever the letters are.
#[test]
fn tables_in_japanese_align() {
    let run = fixture::small();
    let analysis = analyse(&run);
    let text = in_language(Language::Japanese, || report::text(&run, &analysis, plain(120)));
    let mut tables = 0;
    for (head, row) in text.lines().zip(text.lines().skip(1)) {
        // A kind's head ends where its figures end, with room for a mark behind them.
        let Some(at) = head.find("混在") else { continue };
        let above = escape::width(&head[..at + "混在".len()]);
        let Some((at, _)) = row.match_indices('×').nth(2) else { continue };
        tables += 1;
        assert_eq!(above, escape::width(&row[..at]) + 2, "{head}\n{row}");
    }
    assert!(tables > 0, "{text}");
}

#[test]
fn markdown_and_csv() {
    let run = fixture::small();
    let analysis = analyse(&run);
    check("report.md", &report::markdown(&run, &analysis));
    check("summary.md", &report::summary(&run, &analysis));
    check("summary.csv", &report::csv(&run, &analysis));
}

#[test]
fn text_of_a_run_that_has_hardly_begun() {
    let mut run = fixture::small();
    run.trials.truncate(30);
    run.notes.push("interrupted; `raidloom run --resume` goes on".into());
    check("begun.txt", &report::text(&run, &analyse(&run), plain(80)));
}

/// "label, value with its unit and interval".
#[test]
fn a_badge_has_a_figure_with_its_unit_and_interval() {
    let run = fixture::small();
    let analysis = analyse(&run);
    let badge = report::badge_svg(&run, &analysis, "random read").unwrap();
    check("badge.svg", &badge);
    let card = report::card_text(&run, &analysis).unwrap();
    let first = report::badge_svg(&run, &analysis, "").unwrap();
    let name = "sequential read at start 16\u{202f}KiB";
    assert!(first.contains(name) && first.contains(" MB/s ("), "{first}");
    assert!(card.contains("MB/s"), "{card}");
    assert_eq!(report::badge_svg(&run, &analysis, "no such workload"), None);
    // One that decided on nothing has none.
    let mut begun = run;
    begun.trials.clear();
    let nothing = analyse(&begun);
    assert_eq!(report::badge_svg(&begun, &nothing, ""), None);
}

/// "A flagged trial is shown with its flag everywhere its number appears."
#[test]
fn a_doubtful_figure_is_marked_and_one_that_is_missing_says_why() {
    let mut run = fixture::small();
    let other = run
        .plan
        .configurations
        .iter()
        .find(|configuration| configuration.id != configuration.baseline)
        .unwrap()
        .clone();
    let [first, second] = [0, 1].map(|index| run.plan.workloads[index].name.clone());
    for trial in run.trials.iter_mut().filter(|trial| trial.settings == other.settings) {
        if trial.workload == first {
            trial.flags = vec![Doubt::ReadFromCache { share: Some(0.1) }];
        } else if trial.workload == second {
            trial.metrics.clear();
            trial.flags = vec![Doubt::NotMeasured { reason: "no such file system".into() }];
        }
    }
    let analysis = analyse(&run);
    assert!(
        !analysis
            .warnings
            .iter()
            .any(|warning| matches!(warning, results::analysis::Warning::NoRatio { .. })),
        "the reason is said"
    );
    let marked = |text: &str, workload: &str| {
        let row = text
            .lines()
            .find(|line| line.trim_start_matches("| ").starts_with(workload) && line.contains('!'));
        assert!(row.is_some(), "{workload} is not marked in {text}");
    };
    let markdown = report::markdown(&run, &analysis);
    for workload in [first, second] {
        marked(&markdown, workload.trim_end_matches(" 16384"));
    }
    for text in [report::text(&run, &analysis, plain(100)).to_string(), markdown] {
        assert!(
            text.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains("not measured: no such file system"),
            "{text}"
        );
    }
    let page = report::html(&run, &analysis);
    // Among the warnings, and in what a cell says when it is pointed at.
    assert!(page.contains("read from a cache: the members read less than was asked for."));
    assert!(page.contains(", ! read from a cache\""), "the cell names the flag");
    assert!(page.contains("\"not measured: no such file system\""), "and the reason");
}

#[test]
fn text_keeps_to_its_width_and_color_only_adds_escapes() {
    let run = fixture::whole();
    let analysis = analyse(&run);
    for (language, width) in Language::ALL
        .into_iter()
        .flat_map(|language| [60, 80, 120, 132, 200].map(|width| (language, width)))
    {
        let text = in_language(language, || report::text(&run, &analysis, plain(width)));
        for line in text.lines() {
            let columns = escape::width(line);
            assert!(columns <= width, "{columns} columns at width {width}: {line}");
        }
    }
    let colored = report::text(&run, &analysis, Style { color: true, width: 80 });
    assert!(colored.contains("\x1b[1m"));
    let mut stripped = String::new();
    for (index, part) in colored.split('\x1b').enumerate() {
        stripped.push_str(if index == 0 {
            part
        } else {
            part.split_once('m').map_or("", |(_, rest)| rest)
        });
    }
    assert_eq!(stripped, *report::text(&run, &analysis, plain(80)));
}

#[test]
fn csv_has_the_documented_columns_and_one_row_a_cell_and_metric() {
    let run = fixture::small();
    let text = report::csv(&run, &analyse(&run));
    let mut lines = text.split("\r\n");
    assert_eq!(
        lines.next(),
        Some(
            "members,layout,chunk,workload,metric,trials,median,low,high,ratio,ratio_low,ratio_high,verdict"
        )
    );
    // 8 configurations x (6 workloads with 7 metrics + 3 mixed ones with 11), and the empty text
    // after the last line's end.
    assert_eq!(lines.count(), 8 * (6 * 7 + 3 * 11) + 1);
}

#[test]
fn json_says_its_schema_and_holds_no_missing_number() {
    let run = fixture::small();
    let analysis = analyse(&run);
    let document: serde_json::Value = serde_json::from_str(&report::json(&run, &analysis)).unwrap();
    assert_eq!(document["schema"], "raidloom/report/2");
    assert_eq!(document["valid"], true);
    let headlines = document["headlines"].as_array().unwrap();
    assert_eq!(headlines.len(), 2 * (3 + 1), "three kinds of work and all of it, twice");
    assert!(headlines.iter().all(|headline| headline["sentence"].is_string()), "{headlines:?}");
    let score = &document["analysis"]["comparisons"][0]["kinds"][0]["scores"][1];
    assert!(
        score["ratio"].is_number()
            && score["versus_baseline"]["interval"]["low"].is_number()
            && score["versus_baseline"]["answer"].is_string(),
        "{score}"
    );
}

/// "Every number in prose goes through the same function, from the same value, as the number in the
/// chart and the table."
#[test]
fn numbers_of_the_verdict_stand_in_chart_table_and_text_too() {
    let run = fixture::whole();
    let analysis = analyse(&run);
    let page = report::html(&run, &analysis);
    let scores: Vec<&str> = page
        .split("<p class=\"score\">")
        .skip(1)
        .filter_map(|rest| rest.split("</p>").next()?.split(" <span").next())
        .collect();
    let headlines = analysis.comparisons.iter().flat_map(results::analysis::Comparison::results);
    let taken = headlines.filter(|kind| kind.headline.take.is_some()).count();
    assert!(scores.len() == taken && taken >= 5, "{} of {taken}", scores.len());
    let (text, markdown) =
        (report::text(&run, &analysis, plain(100)), report::markdown(&run, &analysis));
    let mut seen = 0;
    for score in scores.into_iter().filter(|score| !score.contains("baseline")) {
        let (ratio, _) = score.split_once("× (").unwrap();
        let value: f64 = ratio.parse().unwrap();
        // A column has one number of decimals, which may be another than the sentence's.
        let is_it = |text: &str| {
            let text = text.trim_end_matches(['×', '=', '~', '?', '\u{2007}']);
            let places = |text: &str| text.split_once('.').map_or(0, |(_, part)| part.len() as i32);
            let step = 10f64.powi(-places(text).min(places(ratio)));
            text.parse::<f64>().is_ok_and(|shown| (shown - value).abs() <= 0.51 * step)
        };
        let cells = |of: &str| of.split(['<', '>', '|', ' ', '\n']).any(is_it);
        assert!(page.matches(score).count() >= 1 && cells(&page), "{score} is not in the page");
        assert!(text.contains(score) && cells(text.split_once("SCORES").unwrap().1), "{score}");
        let (_, tables) = markdown.split_once("## Scores").unwrap();
        assert!(markdown.contains(score) && cells(tables), "{score} is not in the Markdown");
        seen += 1;
    }
    assert!(seen >= 4, "only {seen} scores to check");
}

/// Plans and machines may hold anything; none of it may act.
#[test]
fn foreign_text_stays_text_everywhere() {
    let evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\n|,\"";
    let mut run: Run = fixture::small();
    run.plan.name = evil.into();
    run.host.facts[0].value = evil.into();
    run.notes.push(evil.into());
    for workload in &mut run.plan.workloads {
        workload.name.push_str(evil);
    }
    for trial in &mut run.trials {
        trial.workload.push_str(evil);
        trial.flags.push(Doubt::Note { text: evil.into() });
    }
    let analysis = analyse(&run);
    assert_eq!(analysis.trials_finished, analysis.trials_planned);
    let page = report::html(&run, &analysis);
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img"));
    assert!(!report::markdown(&run, &analysis).contains('<'));
    let text = report::text(&run, &analysis, plain(100));
    assert!(!text.contains('\x1b'), "control characters reached the terminal");
}

/// The name of the row past the page cache, for one through it.
fn direct_of(name: &str) -> Option<String> {
    name.strip_suffix(" buffered").map(str::to_owned)
}

/// The same run with workloads called as CrystalDiskMark's rows, direct and cached.
fn crystal() -> Run {
    let mut run = fixture::small();
    let rows = ["SEQ1M Q8T1", "SEQ128K Q32T1", "RND4K Q32T16", "RND4K Q1T1"];
    let ways = ["read", "read buffered", "write"];
    let names = rows.iter().flat_map(|row| ways.map(|way| format!("crystal: {row} {way}")));
    for (index, name) in names.enumerate().take(run.plan.workloads.len()) {
        run.plan.workloads[index].buffered_of = direct_of(&name);
        let old = std::mem::replace(&mut run.plan.workloads[index].name, name.clone());
        for trial in run.trials.iter_mut().filter(|trial| trial.workload == old) {
            trial.workload.clone_from(&name);
            trial.cell = results::types::cell_id(&trial.settings, &name);
        }
    }
    run
}

#[test]
fn the_card_has_the_figures_of_what_was_decided_on() {
    for (name, run) in [("card", fixture::small()), ("card-crystal", crystal())] {
        let analysis = analyse(&run);
        let text = report::card_text(&run, &analysis).unwrap();
        let picture = report::card_svg(&run, &analysis).unwrap();
        check(&format!("{name}.txt"), &text);
        check(&format!("{name}.svg"), &picture);
        let take = &analysis.comparisons[0].overall().unwrap().headline.take;
        let label = analysis.comparisons[0].label(take.as_ref().unwrap());
        // Of what is taken, and of nothing else.
        let plain = text.replace('\u{202f}', "");
        assert!(plain.contains(&format!("\nraid0 {label} · ")), "{text}");
        assert!(text.starts_with(&run.plan.name), "what was asked is not first: {text}");
        // Every figure of the picture is in the text.
        for figure in picture.split("card-figure\"").skip(1) {
            let figure = figure.split(['>', '<']).nth(1).unwrap();
            assert!(text.contains(figure), "{figure}\n{text}");
        }
    }
    let mut begun = fixture::small();
    begun.trials.truncate(30);
    assert_eq!(report::card_text(&begun, &analyse(&begun)), None, "nothing was decided on");
}

/// One drive, measured by itself: there is nothing to decide on, and it has a card.
#[test]
fn the_only_configuration_has_a_card() {
    let mut run = crystal();
    let only = run.plan.configurations[0].settings.clone();
    run.plan.configurations.truncate(1);
    run.trials.retain(|trial| trial.settings == only);
    let analysis = analyse(&run);
    assert!(analysis.comparisons[0].results().all(|result| result.headline.take.is_none()));
    let text = report::card_text(&run, &analysis).expect("a card");
    assert!(text.contains("SEQ1M Q8T1") && text.contains("MB/s"), "{text}");
}

#[test]
fn grades_stand_beside_speeds_in_the_decision_and_in_a_section() {
    let run = fixture::with_pulls();
    let analysis = analyse(&run);
    check("safety-100.txt", &report::text(&run, &analysis, plain(100)));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    // Of the tie of 64 and 256 KiB the first is taken, which keeps its promises.
    let kept = "Grade B (simulated): loses at most 35 s of copies, 0 of 6,400 acknowledged (297 pulls, \
                below 1.1 %).";
    let text = report::text(&run, &analysis, plain(100)).to_string();
    for text in [text, report::markdown(&run, &analysis)] {
        assert!(words(&text).contains(kept), "{text}");
        assert!(text.contains("only root may mount"), "{text}");
    }
    let page = report::html(&run, &analysis);
    assert!(words(&page).contains(kept) && page.contains("What power cuts leave"));
    assert_chart_of_grades(&analysis, &page);
    let json: serde_json::Value = serde_json::from_str(&report::json(&run, &analysis)).unwrap();
    let grades: Vec<_> =
        json["safety"].as_array().unwrap().iter().map(|one| &one["grade"]).collect();
    assert_eq!((grades[0], grades[1], grades[7]), (&"B".into(), &"D".into(), &().into()));
    assert_eq!(json["safety"][1]["acknowledged_lost"], 61);
    // One figure is said with the grade.
    let mut one = run.clone();
    let first = one.plan.workloads[0].name.clone();
    one.plan.workloads.retain(|known| known.name == first || known.group == Group::Safety);
    let text = words(&report::text(&one, &analyse(&one), plain(100)));
    let of_one = "MB/s, grade B (simulated): loses at most 35 s of copies, 0 of 6,400 acknowledged (297 pulls, \
                  below 1.1 %).";
    assert!(text.contains(of_one), "{text}");
    // Without any, nothing is said of it.
    let none = fixture::small();
    assert!(!report::html(&none, &analyse(&none)).contains("What power cuts leave"));
}

/// Speed against grade: every configuration that has both, the safe ones before the others.
fn assert_chart_of_grades(analysis: &results::Analysis, page: &str) {
    let (_, chart) = page.split_once("<svg class=\"grades\"").expect("there is a chart of grades");
    let (chart, _) = chart.split_once("</svg>").unwrap();
    assert_eq!(page.matches("<svg class=\"grades\"").count(), analysis.comparisons.len());
    let is_graded = |id: &String| {
        let own = analysis.safety.iter().find(|safety| safety.configuration == *id);
        own.is_some_and(|safety| safety.whole.is_some())
    };
    let members = &analysis.comparisons[0].configurations;
    let graded = members.iter().filter(|member| is_graded(&member.id)).count();
    assert_eq!(chart.matches("class=\"row\"").count(), graded, "{chart}");
    let first = |grade: &str| chart.find(&format!("×, grade {grade} (simulated): ")).unwrap();
    assert!(first("B") < first("D"), "{chart}");
    assert_eq!(chart.matches("class=\"head\"").count(), 2, "B and D: {chart}");
    // A run without speeds, or without grades, has no such chart.
    let none = fixture::small();
    assert!(!report::html(&none, &analyse(&none)).contains("class=\"grades\""));
}

#[test]
fn a_plan_takes_nothing_below_its_grade_and_says_so() {
    let mut run = fixture::with_pulls();
    run.plan.terms.grade = Some(LeastGrade { text: "grade >= C".to_owned(), grade: Grade::C });
    let analysis = analyse(&run);
    let text = report::text(&run, &analysis, plain(100));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(grade >= C is asked for: grade D in 600 pulls)"), "{text}");
    assert!(
        words.contains("(grade >= C is asked for, and no grade was measured: only root may mount)"),
        "{text}"
    );
}

#[test]
fn a_run_of_power_cuts_alone_is_sorted_by_grade() {
    let mut run = fixture::with_pulls();
    run.plan.workloads.retain(|workload| workload.group == Group::Safety);
    run.trials.retain(|trial| trial.workload.starts_with("pull "));
    let analysis = analyse(&run);
    check("safety-alone.txt", &report::text(&run, &analysis, plain(100)));
    let summary = report::summary(&run, &analysis);
    for text in [report::markdown(&run, &analysis), report::html(&run, &analysis), summary] {
        assert!(text.contains("Grade D:") && text.contains("only root may mount"), "{text}");
        assert!(!text.contains("Ratios by workload") && !text.contains("Every workload"), "{text}");
    }
}

/// The small run as rows of CrystalDiskMark under two policies: one that is set for quick removal
/// keeps nothing back, another leaves some of what it wrote in memory, and the others all.
fn with_accesses() -> Run {
    let mut run = fixture::small();
    let rows = ["SEQ1M Q1T1", "RND4K Q1T1"];
    let ways = ["read", "read buffered", "write", "write buffered"];
    let names = rows.iter().flat_map(|row| ways.map(|way| format!("crystal: {row} {way}")));
    let names: Vec<String> = names.collect();
    let workloads: Vec<String> =
        run.plan.workloads.iter().map(|workload| workload.name.clone()).collect();
    let policies = ["quick", "performance", "quick"];
    let policy = |place: usize| policies.get(place).copied().unwrap_or("performance").to_owned();
    let configurations = run.plan.configurations.clone();
    let values = ["quick", "performance"].map(str::to_owned).to_vec();
    run.plan.axes.push(results::Axis { name: "policy".to_owned(), values });
    for (place, configuration) in run.plan.configurations.iter_mut().enumerate() {
        configuration.settings.insert("policy".to_owned(), policy(place));
        configuration.quick_removal = policy(place) == "quick";
    }
    run.plan.workloads.truncate(names.len());
    for (workload, name) in run.plan.workloads.iter_mut().zip(&names) {
        workload.name.clone_from(name);
        workload.buffered_of = direct_of(name);
    }
    run.trials.retain_mut(|trial| {
        let row = workloads.iter().position(|name| *name == trial.workload).unwrap();
        let own = |one: &results::Configuration| one.settings == trial.settings;
        let place = configurations.iter().position(own).unwrap();
        let Some(name) = names.get(row) else { return false };
        trial.workload.clone_from(name);
        trial.settings.insert("policy".to_owned(), policy(place));
        trial.cell = results::cell_id(&trial.settings, name);
        let (metric, share) = match (name.contains("write"), name.ends_with("buffered"), place) {
            (false, is_buffered, _) => ("member_read_ratio", if is_buffered { 0.02 } else { 1.01 }),
            (true, false, _) | (true, true, 0) => ("member_write_acknowledged_ratio", 1.0),
            (true, true, 2) if name.contains("SEQ") => ("member_write_acknowledged_ratio", 0.6),
            (true, true, 2) => ("member_write_acknowledged_ratio", 0.25),
            (true, true, _) => ("member_write_acknowledged_ratio", 0.0),
        };
        trial.metrics.insert(metric, share);
        // What the flush wrote says nothing of when the calls returned.
        trial.metrics.insert("member_write_ratio", 1.0);
        true
    });
    run
}

#[test]
fn which_accesses_are_cached_stands_in_every_form_of_the_report() {
    let run = with_accesses();
    let analysis = analyse(&run);
    check("cached-100.txt", &report::text(&run, &analysis, plain(100)));
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let left = "still has up to 75 % of what was written through the page cache in memory when the \
        calls have returned: who pulls it then loses that. Measure what is lost with";
    let english = || {
        let text = report::text(&run, &analysis, plain(200)).to_string();
        [text, report::markdown(&run, &analysis), report::html(&run, &analysis)]
    };
    for text in english() {
        for said in [left, "from cache", "from the drive", "in part, drive 25 to 60 %"] {
            assert!(words(&text).contains(said), "{said}: {text}");
        }
    }
    let japanese = in_language(Language::Japanese, english);
    for text in japanese {
        let said = ["キャッシュされるアクセス", "キャッシュから", "一部(ドライブ 25〜60 %)"];
        // A page keeps a number and its sign together.
        let text = text.replace('\u{a0}', " ");
        assert!(said.iter().all(|said| text.contains(said)), "{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&report::json(&run, &analysis)).unwrap();
    let holders = |place: usize| {
        let one = &json["cached"][place];
        ["reads_direct", "reads_buffered", "writes_direct", "writes_buffered"]
            .map(|way| one[way]["holder"].as_str().unwrap().to_owned())
    };
    assert_eq!(holders(0), ["drive", "cache", "drive", "drive"]);
    assert_eq!(holders(1), ["drive", "cache", "drive", "cache"]);
    assert_eq!(holders(2), ["drive", "cache", "drive", "part"]);
    let said = json["cached_sentences"].as_array().unwrap();
    assert!(said[1].as_str().unwrap().contains("up to 75 %"), "{said:?}");
    assert!(said[2].as_str().unwrap().starts_with("Set for quick removal, nothing"), "{said:?}");
    // Where power cuts were made of it, what they found stands there.
    let mut cut = run.clone();
    let pulls = fixture::with_pulls();
    let is_pull = |workload: &Workload| workload.group == Group::Safety;
    cut.plan.workloads.extend(pulls.plan.workloads.iter().filter(|one| is_pull(one)).cloned());
    for mut trial in pulls.trials.into_iter().filter(|one| one.workload.starts_with("pull ")) {
        let own = |one: &&results::Configuration| {
            trial.settings.iter().all(|(axis, value)| one.settings.get(axis) == Some(value))
        };
        trial.settings = cut.plan.configurations.iter().find(own).unwrap().settings.clone().into();
        cut.trials.push(trial);
    }
    let text = words(&report::text(&cut, &analyse(&cut), plain(100)));
    assert!(
        text.contains("Power cuts of the same configuration: grade B (simulated): loses"),
        "{text}"
    );
    // Without rows both ways nothing is said of it.
    let none = fixture::small();
    assert!(!report::html(&none, &analyse(&none)).contains("Which accesses are cached"));
}

/// "Claims say over how many hosts they hold"; "the report says what each survives".
#[test]
fn how_many_machines_and_what_each_configuration_survives_are_said() {
    use results::types::{RemoteMembers, Survival};
    let mut run = fixture::run(1, &[65536], &[4096], 8);
    let markdown = |run: &Run| report::markdown(run, &results::analyse(run));
    let before = markdown(&run);
    assert!(!before.contains("What each survives") && !before.contains("machines. Each has"));
    run.host.machines = (0..8).map(|block| (block, block % 5)).collect();
    let elsewhere = |hosts, all| Some(RemoteMembers { hosts, all });
    let pool = |size, min_size, needed, apart: Option<&str>| Survival::Pool {
        size,
        min_size,
        needed,
        apart: apart.map(str::to_owned),
    };
    for (survives, expected) in [
        (
            Survival::Members { count: 1, elsewhere: elsewhere(Some(1), true) },
            "the loss of 1 member | goes on without 1, whichever it is | stops; another machine can",
        ),
        (
            Survival::Members { count: 2, elsewhere: elsewhere(Some(0), false) },
            "the loss of 2 members | stops | stops; the data are on its members | one machine at",
        ),
        (
            pool(3, 2, 1, Some("host")),
            "goes on without 1, keeps its data without 2 of 3 copies | as lost drives: at most one",
        ),
        (pool(5, 4, 3, None), "goes on without 1, keeps its data without 2 of 5 parts | not known"),
    ] {
        run.plan.configurations[0].survives = Some(survives);
        let text = markdown(&run);
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(text.contains("intervals and words are drawn over 5 machines"), "{text}");
    }
}
