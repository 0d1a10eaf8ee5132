//! How far predictions of arrays were off, by class: the table `models/errors.toml`.
//!
//! ```text
//!   models/data/arrays.csv            the ratio (array by one drive) that was published,
//!      |                              beside the one that the model says
//!      |  cargo xtask validate        error of each case, all of a class together
//!      v
//!   models/errors.toml                class = kind of work x form of the stack
//!      |
//!      +--> `raidloom model show`, and the intervals of what is claimed of a modelled run
//! ```
//!
//! Models from data sheets have classes of their own: kind of work x kind of drive, of the figures
//! that reviews measured of one drive (`models/data/drives.csv`).
//!
//! A class's error is an empirical quantile of its cases' errors, taken as split conformal
//! prediction takes it (Lei, `G'Sell`, Rinaldo, Tibshirani and Wasserman 2018): no law of the
//! errors is assumed. Cases of one source are not independent: it has one vote, as in the pooled
//! distribution of Dunn, Wasserman and Ramdas (2023). That guarantees the coverage only from 19
//! sources on; there are fewer, so a test counts it, each source left out in its turn.

use std::fmt;
use std::sync::OnceLock;

use serde::Deserialize;

use super::data_sheet::Kind;
use super::parameters::ModelError;
use super::quantity::on_one_line;

/// The share of a class's cases that its error covers.
pub const COVERAGE: f64 = 0.95;
/// Fewest published cases that a class's error is known from.
pub const CASES_MIN: u32 = 10;

const BUILT_IN: &str = include_str!("../../../../models/errors.toml");

/// How work goes over a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Ascending, adjacent requests.
    Sequential,
    /// Requests anywhere.
    Random,
    /// Reads and writes together.
    Mixed,
    /// Whole files.
    Files,
}

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Work {
    /// How it goes over the device.
    pub order: Order,
    /// Whether it writes; of mixed work it makes no difference.
    pub writes: bool,
    /// Whether several requests are outstanding at a time.
    pub is_deep: bool,
}

/// The names of the orders, as the table has them.
const ORDERS: [(&str, Order); 4] = [
    ("sequential", Order::Sequential),
    ("random", Order::Random),
    ("mixed", Order::Mixed),
    ("files", Order::Files),
];

impl Work {
    /// The kind of work.
    #[must_use]
    pub fn new(order: Order, writes: bool, is_deep: bool) -> Work {
        Work { order, writes: writes && order != Order::Mixed, is_deep }
    }

    /// In how many things it is another kind of work.
    fn differences(self, other: Work) -> usize {
        let is_mixed = self.order == Order::Mixed || other.order == Order::Mixed;
        usize::from(self.order != other.order)
            + usize::from(self.writes != other.writes && !is_mixed)
            + usize::from(self.is_deep != other.is_deep)
    }

    /// A kind of work from its name, such as `random read` or `deep mixed`.
    fn parse(text: &str) -> Option<Work> {
        let (is_deep, rest) = text.strip_prefix("deep ").map_or((false, text), |rest| (true, rest));
        let (order, way) = rest.split_once(' ').unwrap_or((rest, ""));
        let order = ORDERS.iter().find(|(name, _)| *name == order)?.1;
        match (order, way) {
            (Order::Mixed, "") => Some(Work::new(order, false, is_deep)),
            (Order::Mixed, _) => None,
            (_, "read" | "write") => Some(Work::new(order, way == "write", is_deep)),
            _ => None,
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deep = if self.is_deep { "deep " } else { "" };
        let order = ORDERS.iter().find(|(_, order)| *order == self.order).map_or("", |it| it.0);
        let way = match (self.order, self.writes) {
            (Order::Mixed, _) => "",
            (_, true) => " write",
            (_, false) => " read",
        };
        write!(formatter, "{deep}{order}{way}")
    }
}

/// What stands between the work and one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// Nothing.
    #[serde(rename = "one drive")]
    OneDrive,
    /// Drives in stripes.
    Stripe,
    /// The same on several drives.
    Mirror,
    /// Stripes with parity.
    Parity,
    /// Drives one behind the other.
    Chain,
    /// A link that is held by one drive's command, with several drives on it.
    #[serde(rename = "shared link")]
    SharedLink,
    /// A file system.
    #[serde(rename = "file system")]
    FileSystem,
    /// A cache before them. No published case is of one.
    Cache,
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Form::OneDrive => "one drive",
            Form::Stripe => "stripe",
            Form::Mirror => "mirror",
            Form::Parity => "parity",
            Form::Chain => "chain",
            Form::SharedLink => "shared link",
            Form::FileSystem => "file system",
            Form::Cache => "cache",
        })
    }
}

/// A row of the table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    form: Form,
    work: String,
    cases: u32,
    sources: u32,
    error: f64,
}

/// A row of the table of models from data sheets.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct SheetRow {
    kind: Kind,
    work: String,
    cases: u32,
    sources: u32,
    error: f64,
}

/// The errors of one class's cases of models from data sheets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SheetClass {
    /// The kind of drive.
    pub kind: Kind,
    /// The kind of work.
    pub work: Work,
    /// Published figures of such drives that no model has as a parameter.
    pub cases: u32,
    /// Where they come from.
    pub sources: u32,
    /// What most of them were off by at most: a figure between `1 / (1 + error)` and `1 + error`
    /// times the one that was said.
    pub error: f64,
}

/// The errors of one class's cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Class {
    /// The form of the stack.
    pub form: Form,
    /// The kind of work.
    pub work: Work,
    /// Published cases that no model was fitted to.
    pub cases: u32,
    /// Where they come from.
    pub sources: u32,
    /// What most of them were off by at most: a ratio between `1 / (1 + error)` and `1 + error`
    /// times the one that was said.
    pub error: f64,
}

/// How far a prediction may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictionError {
    /// As a fraction: that of its class, or of the widest class beside it where its own has too few
    /// cases.
    pub error: f64,
    /// The published cases of its own class.
    pub cases: u32,
}

/// The classes that have cases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorTable {
    classes: Vec<Class>,
    sheets: Vec<SheetClass>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    class: Vec<Row>,
    #[serde(default)]
    data_sheet: Vec<SheetRow>,
}

/// The kind of work that a row names, if what the row says makes sense.
fn row_work(name: &str, of: &str, counts: [u32; 2], error: f64) -> Result<Work, ModelError> {
    let wrong = |what: &str| ModelError::new(format!("class \"{name}\" of \"{of}\" {what}"));
    let work = Work::parse(name).ok_or_else(|| wrong("is no kind of work"))?;
    if !error.is_finite() || error < 0.0 {
        return Err(wrong("has an error that is no number above 0"));
    }
    let [cases, sources] = counts;
    if cases == 0 || sources == 0 || sources > cases {
        return Err(wrong("has no cases, or fewer of them than sources"));
    }
    Ok(work)
}

/// What stands for a class: its own error where it has cases enough, else the widest of its own and
/// those beside it, or the widest of all where there is none beside it.
fn taken(own: Option<(f64, u32)>, beside: impl Iterator<Item = f64>, all: f64) -> PredictionError {
    let (error, cases) = own.unwrap_or((0.0, 0));
    if cases >= CASES_MIN {
        return PredictionError { error, cases };
    }
    PredictionError { error: error.max(beside.reduce(f64::max).unwrap_or(all)), cases }
}

impl ErrorTable {
    /// A table of these classes.
    #[must_use]
    pub fn new(classes: Vec<Class>, sheets: Vec<SheetClass>) -> Self {
        ErrorTable { classes, sheets }
    }

    /// A table from the text of its file.
    ///
    /// # Errors
    /// When a key is unknown or missing, a class is there twice, or a value makes no sense: which.
    pub fn parse(text: &str) -> Result<Self, ModelError> {
        let file: File = toml::from_str(text).map_err(|error| on_one_line(text, &error))?;
        let twice = |name: &str, of: &str| {
            ModelError::new(format!("class \"{name}\" of \"{of}\" is there twice"))
        };
        let mut classes: Vec<Class> = Vec::new();
        for Row { form, work: name, cases, sources, error } in file.class {
            let work = row_work(&name, &form.to_string(), [cases, sources], error)?;
            if classes.iter().any(|known| (known.form, known.work) == (form, work)) {
                return Err(twice(&name, &form.to_string()));
            }
            classes.push(Class { form, work, cases, sources, error });
        }
        if classes.is_empty() {
            return Err(ModelError::new("the table has no class".to_owned()));
        }
        let mut sheets: Vec<SheetClass> = Vec::new();
        for SheetRow { kind, work: name, cases, sources, error } in file.data_sheet {
            let work = row_work(&name, &kind.to_string(), [cases, sources], error)?;
            if sheets.iter().any(|known| (known.kind, known.work) == (kind, work)) {
                return Err(twice(&name, &kind.to_string()));
            }
            sheets.push(SheetClass { kind, work, cases, sources, error });
        }
        Ok(ErrorTable { classes, sheets })
    }

    /// The table that is part of the binary.
    ///
    /// # Panics
    /// When the file it was built from is not one; a test reads it.
    #[must_use]
    pub fn built_in() -> &'static ErrorTable {
        static TABLE: OnceLock<ErrorTable> = OnceLock::new();
        TABLE.get_or_init(|| ErrorTable::parse(BUILT_IN).expect("models/errors.toml is a table"))
    }

    /// The classes, in the order of the file.
    #[must_use]
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// How far a prediction of this work may be off on a stack of one form. A class lies beside
    /// another that differs from it in one thing only: form, order, direction, or depth.
    fn of_form(&self, work: Work, form: Form) -> PredictionError {
        let own = self.classes.iter().find(|class| (class.form, class.work) == (form, work));
        let beside = self
            .classes
            .iter()
            .filter(|class| usize::from(class.form != form) + class.work.differences(work) == 1);
        let own = own.map(|own| (own.error, own.cases));
        taken(own, beside.map(|class| class.error), self.widest())
    }

    /// The classes of models from data sheets, in the order of the file.
    #[must_use]
    pub fn data_sheets(&self) -> &[SheetClass] {
        &self.sheets
    }

    /// How far what a model from a data sheet says of one drive may be off. Beside a class lies
    /// another of the same kind of drive whose work differs in one thing only. Of a kind without a
    /// class it is the widest error of arrays, and of no case.
    #[must_use]
    pub fn of_data_sheet(&self, work: Work, kind: Kind) -> PredictionError {
        let classes = || self.sheets.iter().filter(move |class| class.kind == kind);
        let own = classes().find(|class| class.work == work).map(|own| (own.error, own.cases));
        let beside = classes().filter(|class| class.work.differences(work) == 1);
        let widest = classes().map(|class| class.error).reduce(f64::max);
        let widest = widest.unwrap_or_else(|| self.widest());
        taken(own, beside.map(|class| class.error), widest)
    }

    /// How far a prediction of this work may be off on a stack that has all these forms.
    #[must_use]
    pub fn of(&self, work: Work, forms: &[Form]) -> PredictionError {
        let all = forms.iter().map(|form| self.of_form(work, *form));
        let widest = PredictionError { error: self.widest(), cases: 0 };
        all.reduce(|one, other| PredictionError {
            error: one.error.max(other.error),
            cases: one.cases.min(other.cases),
        })
        .unwrap_or(widest)
    }

    /// The error of the widest class of arrays: what stands for a model that was held against
    /// nothing.
    #[must_use]
    pub fn widest(&self) -> f64 {
        self.classes.iter().map(|class| class.error).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
        [[class]]
        form = "stripe"
        work = "sequential read"
        cases = 20
        sources = 2
        error = 0.3
        [[class]]
        form = "stripe"
        work = "random read"
        cases = 9
        sources = 1
        error = 0.1
        [[class]]
        form = "shared link"
        work = "mixed"
        cases = 3
        sources = 1
        error = 0.9
    "#;

    #[test]
    fn a_class_with_few_cases_has_the_error_of_the_widest_beside_it() {
        let table = ErrorTable::parse(TABLE).unwrap();
        let of = |work: &str, forms: &[Form]| {
            let known = table.of(Work::parse(work).unwrap(), forms);
            (known.error, known.cases)
        };
        assert_eq!(of("sequential read", &[Form::Stripe]), (0.3, 20));
        assert_eq!(of("random read", &[Form::Stripe]), (0.3, 9), "its own 0.1 is of nine");
        assert_eq!(of("sequential read", &[Form::Mirror]), (0.3, 0), "another form beside it");
        assert_eq!(of("deep random read", &[Form::Stripe]), (0.1, 0), "less deep, beside it");
        assert_eq!(of("mixed", &[Form::Stripe]), (0.9, 0), "of three beside it the widest");
        assert_eq!(of("mixed", &[Form::SharedLink]), (0.9, 3), "nothing beside it: the widest");
        assert_eq!(of("deep files write", &[Form::OneDrive]), (0.9, 0));
        let both = [Form::Stripe, Form::SharedLink];
        assert_eq!(of("sequential read", &both), (0.9, 0), "the wider one, and the fewer cases");
        assert_eq!(of("sequential read", &[]), (0.9, 0));
    }

    #[test]
    fn a_table_that_makes_no_sense_is_refused_by_name() {
        for (from, to, said) in [
            ("random read", "random", "\"random\" of \"stripe\" is no kind of work"),
            ("error = 0.1", "error = -0.1", "\"random read\" of \"stripe\" has an error"),
            ("random read", "sequential read", "\"sequential read\" of \"stripe\" is there twice"),
            ("cases = 9", "cases = 0", "\"random read\" of \"stripe\" has no cases"),
            ("\"shared link\"", "\"moon\"", "unknown variant"),
            ("sources = 2\n", "", "missing field"),
        ] {
            let text = TABLE.replacen(from, to, 1);
            assert_ne!(text, TABLE);
            let error = ErrorTable::parse(&text).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let sheets = |error: &str| {
            let row = "[[data_sheet]]\nkind = \"hard disk\"\nwork = \"random read\"\ncases = 3\n";
            format!("{TABLE}\n{row}sources = 1\nerror = {error}\n")
        };
        let of = ErrorTable::parse(&sheets("0.5")).unwrap();
        let read = Work::new(Order::Random, false, false);
        assert_eq!(
            of.of_data_sheet(read, Kind::HardDisk),
            PredictionError { error: 0.5, cases: 3 }
        );
        let error = ErrorTable::parse(&sheets("-1.0")).unwrap_err().to_string();
        assert!(error.contains("\"random read\" of \"hard disk\" has an error"), "{error}");
        assert!(ErrorTable::parse("class = []").is_err());
        assert!(!ErrorTable::built_in().classes().is_empty());
    }

    #[test]
    fn a_kind_of_work_is_read_as_it_is_written() {
        for (_, order) in ORDERS {
            for (writes, is_deep) in [(false, false), (true, false), (false, true), (true, true)] {
                let work = Work::new(order, writes, is_deep);
                assert_eq!(Work::parse(&work.to_string()), Some(work), "{work}");
            }
        }
        assert_eq!(Work::parse("mixed read"), None);
    }
}
