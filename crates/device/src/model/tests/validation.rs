//! The models against published arrays: `models/errors.toml` from `models/data/arrays.csv`, and how
//! many of the published ratios lie within it when their source is left out.
//!
//! `cargo xtask validate` runs this with `RAIDLOOM_BLESS=1`, which writes the table and its section
//! in `docs/models.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::super::errors::{CASES_MIN, COVERAGE, Class, ErrorTable, Form, Order, SheetClass, Work};
use super::super::{Parameters, fit};
use super::array::{ALONE, Layout, Level, figure, mixed, seeks};
use super::data_sheets;

const CASES: &str = include_str!("../../../../../models/data/arrays.csv");
const IN_THE_WORKSPACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../");

/// A line of the published cases.
#[derive(Debug)]
pub(super) struct Line<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Line<'a> {
    pub(super) fn all(text: &'a str) -> Vec<Line<'a>> {
        let (header, lines) = text.split_once('\n').expect("a header");
        let names: Vec<&str> = header.split(',').collect();
        let line = |line: &'a str| {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields.len(), names.len(), "{line}");
            Line(names.iter().copied().zip(fields).collect())
        };
        lines.lines().map(line).collect()
    }

    pub(super) fn text(&self, name: &str) -> &'a str {
        self.0[name]
    }

    pub(super) fn number(&self, name: &str) -> f64 {
        let text = self.text(name);
        text.parse().unwrap_or_else(|_| panic!("{name} is \"{text}\" in {self:?}"))
    }

    pub(super) fn whole(&self, name: &str) -> u64 {
        self.number(name) as u64
    }

    pub(super) fn is_compared(&self) -> bool {
        self.text("left_out").is_empty()
    }

    fn layout(&self) -> Layout {
        let level = if self.text("form") == "mirror" { Level::Mirror } else { Level::Stripe };
        let chunk = self.whole("chunk_kib") << 10;
        Layout { level, disks: self.whole("members"), links: self.whole("links"), chunk }
    }

    fn form(&self) -> Form {
        let form = self.text("form");
        let all = [Form::Stripe, Form::Mirror, Form::Parity, Form::SharedLink, Form::FileSystem];
        all.into_iter()
            .find(|one| one.to_string() == form)
            .unwrap_or_else(|| panic!("form \"{form}\""))
    }

    pub(super) fn work(&self) -> Work {
        let test = self.text("test");
        let order = match test {
            _ if test.starts_with("sequential") => Order::Sequential,
            _ if test.starts_with("mixed") => Order::Mixed,
            _ => Order::Random,
        };
        Work::new(order, test.contains("write"), self.whole("outstanding") > 1)
    }
}

/// A published ratio (array by one drive), and by what factor the model's is another.
#[derive(Clone, Debug)]
struct Case {
    source: String,
    form: Form,
    work: Work,
    error: f64,
    /// By what factor the array's own figure is another.
    figure_error: f64,
    /// What was done on which drives: what is compared with each other has the same. None of a
    /// drive alone.
    row: Option<String>,
    /// The array by one drive, as it was published and as the model has it.
    published: f64,
    model: f64,
}

/// The factor between two ratios, less 1: the same whichever of them is larger.
pub(super) fn error_of(model: f64, published: f64) -> f64 {
    (model / published).ln().abs().exp_m1()
}

/// The share of reads among the bytes of the two lines of a mixed test.
fn read_share(lines: &[Line<'_>; 2], column: &str) -> f64 {
    let [read, write] = [0, 1].map(|side| lines[side].number(column));
    read / (read + write)
}

/// What the model says: of the array, and of one drive.
type Figures = [f64; 2];

/// Of both lines of a mixed test, at the shares that came out.
fn mixed_figures(parameters: &Parameters, lines: &[Line<'_>; 2]) -> [Figures; 2] {
    let of = |layout, column| mixed(parameters, layout, read_share(lines, column));
    let (array, alone) = (of(lines[0].layout(), "array"), of(ALONE, "single"));
    [0, 1].map(|side| [array[side], alone[side]])
}

fn figures(parameters: &Parameters, line: &Line<'_>) -> Figures {
    let (test, request) = (line.text("test"), line.whole("request_bytes"));
    let write = line.work().writes;
    let pattern = ["at start", "at end"].into_iter().find(|place| test.ends_with(place));
    let rate = |layout| match (test, pattern) {
        // Of bonnie++: a file of 1 GB, or of 16, at the start of the disks.
        ("seeks", _) => {
            let span = if line.text("source") == "A10" { 16 << 30 } else { 1 << 30 };
            seeks(parameters, layout, span, request, line.whole("outstanding"))
        }
        (_, Some(place)) => figure(parameters, layout, place, write, request),
        ("random read" | "random write", None) => {
            figure(parameters, layout, "random", write, request)
        }
        _ => panic!("test \"{test}\""),
    };
    [rate(line.layout()), rate(ALONE)]
}

fn cases() -> Vec<Case> {
    let mut models: BTreeMap<&str, Parameters> = BTreeMap::new();
    let mut found = single_drives();
    let lines = Line::all(CASES).into_iter().filter(Line::is_compared);
    // The two directions of a mixed test stand under each other, chunk by chunk.
    let mut reads: Vec<Line<'_>> = Vec::new();
    for line in lines {
        let model = line.text("model");
        let parameters = models
            .entry(model)
            .or_insert_with(|| Parameters::load(model).unwrap_or_else(|error| panic!("{error}")));
        let mut push = |line: &Line<'_>, [array, alone]: Figures| {
            let published = line.number("array") / line.number("single");
            let keys = ["source", "drive", "test", "request_bytes", "outstanding", "single"];
            found.push(Case {
                source: line.text("source").to_owned(),
                form: line.form(),
                work: line.work(),
                error: error_of(array / alone, published),
                figure_error: error_of(array, line.number("array")),
                row: Some(keys.map(|key| line.text(key)).join(",")),
                published,
                model: array / alone,
            });
        };
        if !line.text("test").starts_with("mixed") {
            push(&line, figures(parameters, &line));
            continue;
        }
        if line.text("test").ends_with("read") {
            reads.push(line);
            continue;
        }
        let is_other = |read: &Line<'_>| {
            ["source", "chunk_kib"].iter().all(|key| read.text(key) == line.text(key))
        };
        let place = reads.iter().position(is_other).expect("the reads of the same test");
        let both = [reads.remove(place), line];
        for (line, figures) in both.iter().zip(mixed_figures(parameters, &both)) {
            push(line, figures);
        }
    }
    assert!(reads.is_empty(), "{reads:?}");
    found
}

/// Where the figures of a model's drive come from.
fn source_of(model: &str) -> &'static str {
    let lines = Line::all(CASES);
    let line = lines.iter().find(|line| line.text("model") == model);
    line.map_or_else(|| panic!("no array of {model}"), |line| line.text("source"))
}

/// What no fit has read of one drive alone: the figures themselves.
fn single_drives() -> Vec<Case> {
    let mut found = Vec::new();
    for name in Parameters::built_in_names() {
        let model = Parameters::load(name).expect("built in");
        for row in fit::errors_built_in(&model).expect("built in").iter().filter(|row| row.check) {
            let work = if row.test.starts_with("mixed") {
                Work::new(Order::Mixed, false, false)
            } else {
                Work::new(Order::Sequential, true, false)
            };
            let error = error_of(row.model, row.published);
            let (source, form) = (source_of(name).to_owned(), Form::OneDrive);
            found.push(Case {
                source,
                form,
                work,
                error,
                figure_error: error,
                row: None,
                published: row.published,
                model: row.model,
            });
        }
    }
    found
}

/// The error that covers its share of the cases, when every source has one vote.
pub(super) fn quantile(cases: &[(&str, f64)]) -> f64 {
    let mut of_source: BTreeMap<&str, f64> = BTreeMap::new();
    for (source, _) in cases {
        *of_source.entry(source).or_default() += 1.0;
    }
    let mut sorted = cases.to_vec();
    sorted.sort_by(|one, other| one.1.total_cmp(&other.1));
    let (sources, mut covered) = (of_source.len() as f64, 0.0);
    for (source, error) in &sorted {
        covered += 1.0 / (sources * of_source[source]);
        if covered >= COVERAGE - 1e-9 {
            return *error;
        }
    }
    sorted.last().map_or(0.0, |(_, error)| *error)
}

type Classes<'a> = BTreeMap<(Form, Work), Vec<&'a Case>>;

fn classes<'a>(cases: impl Iterator<Item = &'a Case>) -> Classes<'a> {
    let mut found = Classes::new();
    for case in cases {
        found.entry((case.form, case.work)).or_default().push(case);
    }
    found
}

fn error_table(classes: &Classes<'_>, sheets: Vec<SheetClass>) -> ErrorTable {
    let class = |(&(form, work), cases): (&(Form, Work), &Vec<&Case>)| {
        let sources: BTreeSet<&str> = cases.iter().map(|case| &*case.source).collect();
        let count = |length: usize| u32::try_from(length).expect("a few");
        // Up, so that the case that decides is within it.
        let errors: Vec<(&str, f64)> =
            cases.iter().map(|case| (&*case.source, case.error)).collect();
        let error = (quantile(&errors) * 1000.0).ceil() / 1000.0;
        Class { form, work, cases: count(cases.len()), sources: count(sources.len()), error }
    };
    ErrorTable::new(classes.iter().map(class).collect(), sheets)
}

/// How many cases of each class lie within the error that the other sources give.
fn inside(cases: &[Case]) -> BTreeMap<(Form, Work), usize> {
    let sources: BTreeSet<&str> = cases.iter().map(|case| &*case.source).collect();
    let mut found: BTreeMap<(Form, Work), usize> = BTreeMap::new();
    for source in sources {
        let others =
            error_table(&classes(cases.iter().filter(|case| case.source != source)), Vec::new());
        for case in cases.iter().filter(|case| case.source == source) {
            let known = others.of(case.work, &[case.form]);
            *found.entry((case.form, case.work)).or_default() +=
                usize::from(case.error <= known.error);
        }
    }
    found
}

fn file(table: &ErrorTable) -> String {
    let mut text = "# Written by `cargo xtask validate` from models/data/arrays.csv and drives.csv; a test \
        works it out again. Do not edit.\n# error: most of a class's published ratios (array by one \
        drive) lie within a factor of 1 + error of\n# what the models say, and of [[data_sheet]] \
        the figures that reviews measured of one drive; each source of cases\n# has one vote.\n"
        .to_owned();
    for Class { form, work, cases, sources, error } in table.classes() {
        let _ = write!(
            text,
            "\n[[class]]\nform = \"{form}\"\nwork = \"{work}\"\ncases = {cases}\nsources = \
            {sources}\nerror = {error:?}\n"
        );
    }
    for SheetClass { kind, work, cases, sources, error } in table.data_sheets() {
        let _ = write!(
            text,
            "\n[[data_sheet]]\nkind = \"{kind}\"\nwork = \"{work}\"\ncases = {cases}\nsources = \
            {sources}\nerror = {error:?}\n"
        );
    }
    text
}

fn section(
    table: &ErrorTable,
    all: &Classes<'_>,
    inside: &BTreeMap<(Form, Work), usize>,
) -> String {
    let mut text = "| form | work | cases | sources | median error | error of the class | stands \
        for it | inside, source left out |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: \
        |\n"
    .to_owned();
    let percent = |error: f64| format!("{:.0} %", error * 100.0);
    for Class { form, work, cases, sources, error } in table.classes() {
        let mut errors: Vec<f64> = all[&(*form, *work)].iter().map(|case| case.error).collect();
        errors.sort_by(f64::total_cmp);
        let median = f64::midpoint(errors[(errors.len() - 1) / 2], errors[errors.len() / 2]);
        let _ = writeln!(
            text,
            "| {form} | {work} | {cases} | {sources} | {} | {} | {} | {} |",
            percent(median),
            percent(*error),
            percent(table.of(*work, &[*form]).error),
            inside.get(&(*form, *work)).copied().unwrap_or(0)
        );
    }
    let cases = all.values().map(Vec::len).sum::<usize>();
    let share = inside.values().sum::<usize>();
    let _ = writeln!(
        text,
        "\nOf {cases} cases {share} lie inside when their source is left out, {:.0} %.",
        share as f64 / cases as f64 * 100.0
    );
    text
}

/// Pairs of layouts under the same work on the same drives whose published figures differ by more
/// than a tenth, one drive alone among them, and what the models make of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pairs {
    right: usize,
    /// The models differ by no more than `choose` takes for the same.
    not_told_apart: usize,
    wrong: usize,
}

/// As `choose` has it.
const AS_FAST: f64 = 0.03;

impl Pairs {
    /// Counts one, of which both have been published and modelled. Which was published as the
    /// faster is no matter.
    fn count(&mut self, one: [f64; 2], other: [f64; 2]) {
        let [published, model] = [0, 1].map(|place| (one[place] / other[place]).ln());
        if published.abs() <= 0.1_f64.ln_1p() {
            return;
        }
        match model {
            same if same.abs() <= AS_FAST.ln_1p() => self.not_told_apart += 1,
            model if model.signum() == published.signum() => self.right += 1,
            _ => self.wrong += 1,
        }
    }

    fn all(self) -> usize {
        self.right + self.not_told_apart + self.wrong
    }

    fn add(&mut self, other: Pairs) {
        self.right += other.right;
        self.not_told_apart += other.not_told_apart;
        self.wrong += other.wrong;
    }
}

/// The pairs by the kind of work.
fn pairs(cases: &[Case]) -> BTreeMap<Work, Pairs> {
    let mut rows: BTreeMap<&str, (Work, Vec<[f64; 2]>)> = BTreeMap::new();
    for case in cases {
        let Some(row) = &case.row else { continue };
        // One drive is 1 of one drive.
        let (_, figures) = rows.entry(row).or_insert_with(|| (case.work, vec![[1.0; 2]]));
        figures.push([case.published, case.model]);
    }
    let mut found: BTreeMap<Work, Pairs> = BTreeMap::new();
    for (work, figures) in rows.values() {
        let pairs = found.entry(*work).or_default();
        for (place, one) in figures.iter().enumerate() {
            figures[..place].iter().for_each(|other| pairs.count(*one, *other));
        }
    }
    found
}

fn order_section(pairs: &BTreeMap<Work, Pairs>) -> String {
    let mut text =
        "| work | pairs | in the right order | not told apart | in the wrong order |\n| \
        --- | ---: | ---: | ---: | ---: |\n"
            .to_owned();
    let mut sum = Pairs::default();
    for (work, counted) in pairs.iter().filter(|(_, counted)| counted.all() > 0) {
        let Pairs { right, not_told_apart, wrong } = counted;
        sum.add(*counted);
        let all = counted.all();
        let _ = writeln!(text, "| {work} | {all} | {right} | {not_told_apart} | {wrong} |");
    }
    let _ = writeln!(
        text,
        "\nOf {} pairs the models put {} in the right order, {:.0} %, and {} in the wrong one.",
        sum.all(),
        sum.right,
        sum.right as f64 / sum.all() as f64 * 100.0,
        sum.wrong
    );
    text
}

#[test]
fn pairs_are_counted_by_what_was_published_of_them() {
    let counted = |one: [f64; 2], other: [f64; 2]| {
        let mut pairs = Pairs::default();
        pairs.count(one, other);
        let mut turned = Pairs::default();
        turned.count(other, one);
        assert_eq!(pairs, turned);
        (pairs.right, pairs.not_told_apart, pairs.wrong)
    };
    assert_eq!(counted([1.0, 1.0], [1.09, 5.0]), (0, 0, 0), "a tenth is no difference");
    assert_eq!(counted([1.0, 1.0], [1.2, 1.1]), (1, 0, 0));
    assert_eq!(counted([1.0, 1.0], [1.2, 1.02]), (0, 1, 0));
    assert_eq!(counted([1.0, 1.0], [1.2, 0.9]), (0, 0, 1));
}

/// "Pairs that differ by more than 10 % on the published arrays are put in the right order, counted
/// and printed": the models read none of these figures but the few that docs/models.md names.
#[test]
fn published_arrays_are_put_in_the_right_order() {
    let pairs = pairs(&cases());
    let mut sum = Pairs::default();
    pairs.values().for_each(|counted| sum.add(*counted));
    println!("{pairs:?}");
    assert!(sum.all() >= 50 && sum.right as f64 >= 0.8 * sum.all() as f64, "{sum:?}");
    assert!(sum.wrong * 20 <= sum.all(), "{sum:?}");
}

/// At least 90 % of the published ratios lie within the error that the other sources give, and not
/// more than 99 %, which would be errors that say nothing; 85 % in every class with ten or more.
#[test]
fn published_arrays_lie_within_the_error_of_their_class() {
    let cases = cases();
    let all = classes(cases.iter());
    let sheets = data_sheets::cases();
    let (table, inside) = (error_table(&all, data_sheets::classes(&sheets)), inside(&cases));
    for ((form, work), cases) in &all {
        let shown: Vec<String> =
            cases.iter().map(|case| format!("{} {:.1}", case.source, case.error * 100.0)).collect();
        println!("{form}, {work}: {}", shown.join(", "));
    }
    testkit::golden::check(format!("{IN_THE_WORKSPACE}models/errors.toml"), &file(&table));
    testkit::golden::check_blocks(
        format!("{IN_THE_WORKSPACE}docs/models.md"),
        &[
            ("validation", &section(&table, &all, &inside)),
            ("order", &order_section(&pairs(&cases))),
            ("data sheets", &data_sheets::section(&table, &sheets)),
        ],
    );
    let share = inside.values().sum::<usize>() as f64 / cases.len() as f64;
    assert!((0.90..=0.99).contains(&share), "{share} of {} cases", cases.len());
    for (class, inside) in &inside {
        let cases = all[class].len();
        if cases >= CASES_MIN as usize {
            assert!(*inside as f64 >= 0.85 * cases as f64, "{class:?}: {inside} of {cases}");
        }
    }
}

/// "Stripes at most 6 % off (median), mixed 12, and 85 % within 20": held against the half of the
/// published stripes that is at hand, of which no fit has read one.
#[test]
fn striped_drives_do_what_was_published_of_them() {
    let cases = cases();
    let median = |wanted: &dyn Fn(&Case) -> bool| {
        let stripes = cases.iter().filter(|case| case.source == "M04" && wanted(case));
        let mut errors: Vec<f64> = stripes.map(|case| case.figure_error).collect();
        errors.sort_by(f64::total_cmp);
        let within = errors.iter().filter(|error| **error <= 0.2).count();
        (errors[errors.len() / 2], within as f64 / errors.len() as f64)
    };
    let (all, within) = median(&|_| true);
    let (mixed, _) = median(&|case| case.work.order == Order::Mixed);
    println!("median {all:.3}, mixed {mixed:.3}, within 20 %: {within:.3}");
    assert!(all <= 0.06 && mixed <= 0.12 && within >= 0.85, "{all} {mixed} {within}");
}
