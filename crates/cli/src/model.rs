//! `raidloom model`: disks that are described instead of owned.

use std::io::{self, ErrorKind};
use std::path::Path;

use clap::Subcommand;
use device::model::Parameters;
use device::model::data_sheet::{Group, Kind, SheetModel};
use device::model::errors::{CASES_MIN, ErrorTable, Form, Order, Work};
use device::model::fit::{self, ErrorRow};
use device::model::probe::Samples;
use results::analysis::MODEL_CASES_MIN;
use serde_json::{Value, json};
use words::Message;

use crate::catalogue::{self, say, statement};
use crate::consent::ScratchConsent;
use crate::failure::Failure;
use crate::output::{Output, figure, table};
use crate::{model_fit, model_links};

/// `model`.
#[derive(Subcommand, Debug)]
pub(crate) enum ModelVerb {
    /// List the disks, or show one: its parameters with unit and origin, and how far off it is
    #[command(after_long_help = "Examples:\n  raidloom model show\n  raidloom model show \
            maxtor-6y200p0\n  raidloom model show ./my-disk.toml --json")]
    Show {
        /// A name, or a path [default: lists the disks that come with raidloom]
        model: Option<String>,
    },
    /// Fit a model to published figures of a single drive, or to a drive itself
    #[command(after_long_help = "\
Examples:
  raidloom model fit maxtor-6y200p0
  raidloom model fit figures.csv > my-disk.toml
  raidloom model fit --device /dev/sdb > my-disk.toml
  raidloom model fit sdb.samples.csv
  raidloom model fit --device model:st340015a --scratch 1GiB+2GiB
  raidloom model fit --device /dev/sdb --scratch 1GiB+2GiB --erase SERIAL > my-disk.toml
  raidloom model fit --device /dev/sda --scratch /mnt/disk/scratch > my-disk.toml
  raidloom model fit --device /dev/sda --device /dev/sdb

The model's file goes to standard output; how far it is from each figure goes to standard
error. Only sequential and random rows are fitted; mixed rows stay a check.
What is known of the drive without measuring stands beside FIGURES.csv in FIGURES.facts.toml;
models/data has examples.

A device is only read, but for the range or the file that --scratch names. Every sample is kept in
NAME.samples.csv, from which the fit can be repeated; what its answers do not tell is assumed, and said. A drive that does
something that the model does not have is called unexplained.")]
    Fit {
        /// A name from `model show`, or the path of a CSV: test,request_bytes,kB_per_s,io_per_s,
        /// or the samples of a device
        #[arg(required_unless_present = "device")]
        figures: Option<String>,

        /// Measure this drive by its answers, for some minutes; a stack of one disk. Of several,
        /// each with a --device of its own: what they cost one another on a common link
        #[arg(long, value_name = "PATH", conflicts_with = "figures")]
        device: Vec<String>,

        /// How long it is measured at most, the making of a --scratch file included
        #[arg(
            long,
            value_name = "TIME",
            default_value = "10min",
            requires = "device",
            conflicts_with = "figures"
        )]
        time: String,

        /// Write there too, over what is in it, for what only writes show: bytes OFFSET+LENGTH, or
        /// all; or a file with its folder, which is made for it on the drive and goes at the end
        #[arg(long, value_name = "RANGE", requires = "device", conflicts_with = "figures")]
        scratch: Option<String>,

        #[command(flatten)]
        #[allow(missing_docs)]
        consent: ScratchConsent,
    },
}

// The table and the claims know nothing of each other, and mean the same.
const _: () = assert!(CASES_MIN == MODEL_CASES_MIN);

/// Runs one of the verbs.
pub(crate) fn model(output: &Output, verb: &ModelVerb) -> Result<(), Failure> {
    match verb {
        ModelVerb::Show { model: None } => list(output),
        ModelVerb::Show { model: Some(model) } => show(output, model),
        ModelVerb::Fit { figures, device, time, scratch, consent } => match &device[..] {
            [] => fit_model(output, figures.as_deref().unwrap_or_default()),
            [device] => {
                model_fit::fit_device(output, device, time, scratch.as_deref(), consent.clone())
            }
            _ if scratch.is_some() => Err(Failure::usage(catalogue::SCRATCH_OF_ONE)),
            drives => model_links::fit_links(output, drives),
        },
    }
}

fn load(name: &str) -> Result<Parameters, Failure> {
    Parameters::load(name).map_err(|error| Failure::usage(&error).because(error))
}

fn list(output: &Output) -> Result<(), Failure> {
    let models: Vec<Parameters> =
        Parameters::built_in_names().into_iter().map(load).collect::<Result<_, _>>()?;
    if output.json {
        let document: Vec<Value> = models
            .iter()
            .map(|model| {
                json!({ "name": model.name, "title": model.title, "group": group_name(model),
                    "from_data_sheet": model.sheet.is_some() })
            })
            .collect();
        return output.document(&document);
    }
    let mut text = String::new();
    for group in Group::ALL.map(Some).into_iter().chain([None]) {
        let of_group: Vec<&Parameters> =
            models.iter().filter(|model| model.sheet.map(|sheet| sheet.group) == group).collect();
        let Some(first) = of_group.first() else { continue };
        let rows: Vec<Vec<String>> =
            of_group.iter().map(|model| vec![model.name.clone(), model.title.clone()]).collect();
        let heads = [group_heading(first), catalogue::DRIVE_HEAD.template()];
        text += &table(&heads, &rows, &[]);
        text += if group.is_some() { "\n" } else { "" };
    }
    output.result(&text)
}

/// The heading under which a model is listed.
fn group_heading(model: &Parameters) -> &'static str {
    let message = match model.sheet.map(|sheet| sheet.group) {
        Some(Group::Spinning) => catalogue::GROUP_SPINNING,
        Some(Group::SataSsd) => return "SATA SSD",
        Some(Group::Nvme) => return "NVME",
        Some(Group::Removable) => catalogue::GROUP_REMOVABLE,
        None => catalogue::GROUP_OLDER,
    };
    message.template()
}

/// What programs call that: those from no data sheet are older drives.
fn group_name(model: &Parameters) -> &'static str {
    model.sheet.map_or("older", |sheet| sheet.group.name())
}

fn show(output: &Output, name: &str) -> Result<(), Failure> {
    let model = load(name)?;
    let errors =
        fit::errors_built_in(&model).map_err(|error| Failure::failed(&error).because(error))?;
    if output.json {
        let parameters: Vec<Value> = model
            .rows()
            .iter()
            .map(|row| {
                let origin = row.origin.to_string();
                json!({ "name": row.name, "value": row.value, "unit": row.unit, "origin": origin,
                    "interval": row.interval, "note": row.note })
            })
            .collect();
        let fit: Vec<Value> = errors.iter().map(error_document).collect();
        return output.document(&json!({ "name": model.name, "title": model.title,
            "parameters": parameters, "fit": fit, "predictions": predictions_document(),
            "data_sheet": model.sheet.map(sheet_document) }));
    }
    let rows: Vec<Vec<String>> = model
        .rows()
        .into_iter()
        .map(|row| {
            vec![row.name, row.value, row.unit, row.origin.to_string(), row.interval, row.note]
        })
        .collect();
    let mut text = format!("{}: {}\n\n", model.name, model.title);
    let heads = [
        catalogue::PARAMETER_HEAD,
        catalogue::VALUE_HEAD,
        catalogue::UNIT_HEAD,
        catalogue::ORIGIN_HEAD,
        catalogue::INTERVAL_HEAD,
        catalogue::NOTE_HEAD,
    ];
    text += &table(&heads.map(Message::template), &rows, &[1]);
    text += &match model.sheet {
        Some(sheet) => sheet_table(sheet),
        None => fit_table(&errors) + &predictions_table(!errors.is_empty()),
    };
    output.result(&text)
}

/// How far models from data sheets were off, by kind of work.
fn sheet_table(sheet: SheetModel) -> String {
    let mut text = format!("\n{}\n", say!(FROM_DATA_SHEET));
    if let Some(missing) = sheet.not_modelled {
        text += &format!("{}\n", say!(NOT_MODELLED, what = missing.template()));
    }
    let known = ErrorTable::built_in();
    let classes = || known.data_sheets().iter().filter(|class| class.kind == sheet.kind);
    if classes().next().is_none() {
        return text + &format!("{}\n", say!(NO_SUCH_MODEL_HELD));
    }
    let rows: Vec<Vec<String>> = classes()
        .map(|class| {
            let taken = known.of_data_sheet(class.work, class.kind).error;
            vec![
                work_words(class.work),
                class.cases.to_string(),
                class.sources.to_string(),
                percent(class.error),
                percent(taken),
            ]
        })
        .collect();
    let kind = match sheet.kind {
        Kind::HardDisk => catalogue::KIND_HARD_DISK.template(),
        Kind::Ssd => "SSD",
    };
    text += &format!("\n{}\n\n", say!(SHEETS_BESIDE_REVIEWS, kind = kind));
    text += &table(&ERROR_HEADS.map(Message::template), &rows, &[1, 2, 3, 4]);
    text + &few_cases()
}

/// Heads of the columns of a table of errors.
const ERROR_HEADS: [Message; 5] = [
    catalogue::WORK_HEAD,
    catalogue::CASES_HEAD,
    catalogue::SOURCES_HEAD,
    catalogue::OFF_BY_HEAD,
    catalogue::TAKEN_AS_HEAD,
];

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// A kind of work as people read it.
fn work_words(work: Work) -> String {
    let message = match (work.order, work.writes) {
        (Order::Sequential, false) => catalogue::WORK_SEQUENTIAL_READ,
        (Order::Sequential, true) => catalogue::WORK_SEQUENTIAL_WRITE,
        (Order::Random, false) => catalogue::WORK_RANDOM_READ,
        (Order::Random, true) => catalogue::WORK_RANDOM_WRITE,
        (Order::Mixed, _) => catalogue::WORK_MIXED,
        (Order::Files, false) => catalogue::WORK_FILES_READ,
        (Order::Files, true) => catalogue::WORK_FILES_WRITE,
    };
    match work.is_deep {
        true => say!(WORK_DEEP, work = message.template()),
        false => message.template().to_owned(),
    }
}

/// The form of a stack as people read it.
fn form_words(form: Form) -> &'static str {
    let message = match form {
        Form::OneDrive => catalogue::FORM_ONE_DRIVE,
        Form::Stripe => catalogue::FORM_STRIPE,
        Form::Mirror => catalogue::FORM_MIRROR,
        Form::Parity => catalogue::FORM_PARITY,
        Form::Chain => catalogue::FORM_CHAIN,
        Form::SharedLink => catalogue::FORM_SHARED_LINK,
        Form::FileSystem => catalogue::FORM_FILE_SYSTEM,
        Form::Cache => catalogue::FORM_CACHE,
    };
    message.template()
}

fn sheet_document(sheet: SheetModel) -> Value {
    let known = ErrorTable::built_in();
    let classes = known.data_sheets().iter().filter(|class| class.kind == sheet.kind);
    let classes: Vec<Value> = classes
        .map(|class| {
            json!({
                "work": class.work.to_string(),
                "cases": class.cases,
                "sources": class.sources,
                "error": class.error,
                "taken_as": known.of_data_sheet(class.work, class.kind).error,
            })
        })
        .collect();
    json!({ "group": sheet.group.name(), "kind": sheet.kind.to_string(),
        "not_modelled": sheet.not_modelled.map(|what| what.english), "errors": classes })
}

fn few_cases() -> String {
    format!("\n{}\n", say!(FEW_CASES, least = CASES_MIN))
}

fn fit_table(errors: &[ErrorRow]) -> String {
    if errors.is_empty() {
        return format!("\n{}\n", say!(NO_PUBLISHED_FIGURES));
    }
    let rows: Vec<Vec<String>> = errors
        .iter()
        .map(|row| {
            let error = format!("{:+.1} %", row.relative_error * 100.0);
            let used = if row.check { catalogue::ROW_CHECK } else { catalogue::ROW_FITTED };
            let cells = [
                &row.test,
                &row.request_bytes,
                &figure(row.published),
                &figure(row.model),
                row.unit,
                &error,
                used.template(),
            ];
            cells.map(str::to_owned).to_vec()
        })
        .collect();
    let worst = |check: bool| {
        errors
            .iter()
            .filter(|row| row.check == check)
            .map(|row| row.relative_error.abs())
            .fold(0.0, f64::max)
    };
    let heads = [
        catalogue::TEST_HEAD,
        catalogue::REQUEST_HEAD,
        catalogue::PUBLISHED_HEAD,
        catalogue::MODELLED_HEAD,
        catalogue::UNIT_HEAD,
        catalogue::ERROR_HEAD,
        catalogue::ROW_HEAD,
    ];
    let table = table(&heads.map(Message::template), &rows, &[1, 2, 3, 5]);
    let mut largest = say!(LARGEST_ERROR, fitted = percent(worst(false)));
    if errors.iter().any(|row| row.check) {
        largest += &say!(LARGEST_OF_CHECKS, check = percent(worst(true)));
    }
    format!("\n{}\n\n{table}\n{largest}\n", say!(MODEL_BESIDE_PUBLISHED))
}

/// How far predictions of arrays were off, by class.
fn predictions_table(is_fitted: bool) -> String {
    if !is_fitted {
        return format!("{}\n", say!(HELD_AGAINST_NONE));
    }
    let table_of = ErrorTable::built_in();
    let rows: Vec<Vec<String>> = table_of
        .classes()
        .iter()
        .map(|class| {
            let stands = table_of.of(class.work, &[class.form]).error;
            vec![
                form_words(class.form).to_owned(),
                work_words(class.work),
                class.cases.to_string(),
                class.sources.to_string(),
                percent(class.error),
                percent(stands),
            ]
        })
        .collect();
    let mut heads = vec![catalogue::FORM_HEAD.template()];
    heads.extend(ERROR_HEADS.map(Message::template));
    let table = table(&heads, &rows, &[2, 3, 4, 5]);
    format!("\n{}\n\n{table}{}", say!(PREDICTIONS_BESIDE_ARRAYS), few_cases())
}

fn predictions_document() -> Vec<Value> {
    let table = ErrorTable::built_in();
    let class = |class: &device::model::errors::Class| {
        json!({
            "form": class.form.to_string(),
            "work": class.work.to_string(),
            "cases": class.cases,
            "sources": class.sources,
            "error": class.error,
            "taken_as": table.of(class.work, &[class.form]).error,
        })
    };
    table.classes().iter().map(class).collect()
}

fn error_document(row: &ErrorRow) -> Value {
    json!({
        "test": row.test,
        "request_bytes": row.request_bytes,
        "unit": row.unit,
        "published": row.published,
        "modelled": row.model,
        "relative_error": row.relative_error,
        "check": row.check,
    })
}

/// Text of the figures and of the facts: built in, or from files.
fn figures_and_facts(figures: &str) -> Result<(String, String), Failure> {
    if let Some((csv, facts)) = fit::built_in_data(figures) {
        return Ok((csv.to_owned(), facts.to_owned()));
    }
    let path = Path::new(figures);
    let no_figures =
        || Failure::usage(statement!(NEITHER_FIGURES_NOR_SAMPLES, path = figures)).at(figures);
    let csv = host::files::read_named_text(path).map_err(|error| match error.kind() {
        // What is on a drive, or in its image.
        ErrorKind::FileTooLarge | ErrorKind::InvalidData => no_figures(),
        _ => failed(catalogue::FIGURES_FILE, path, &error),
    })?;
    if csv.contains('\0') {
        return Err(no_figures());
    }
    let facts = path.with_extension("facts.toml");
    let text = host::files::read_named_text(&facts).map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            Failure::usage(statement!(FACTS_MISSING, path = facts.display())).at(figures)
        }
        _ => failed(catalogue::FACTS_FILE, &facts, &error),
    })?;
    Ok((csv, text))
}

fn failed(what: Message, path: &Path, error: &io::Error) -> Failure {
    let place = words::statement!(what, path = path.display());
    Failure::from_io(place, error).as_usage()
}

fn fit_model(output: &Output, figures: &str) -> Result<(), Failure> {
    if fit::built_in_data(figures).is_none()
        && let Ok(text) = host::files::read_named_text(Path::new(figures))
        && Samples::is_one(&text)
    {
        return model_fit::fit_samples(output, Path::new(figures), &text);
    }
    let (csv, facts) = figures_and_facts(figures)?;
    let report = fit::fit_csv(&csv, &facts).map_err(|error| Failure::usage(error).at(figures))?;
    let toml = report.parameters.to_toml();
    if output.json {
        let rows: Vec<Value> = report.rows.iter().map(error_document).collect();
        return output
            .document(&json!({ "name": report.parameters.name, "toml": toml, "fit": rows }));
    }
    output.progress(fit_table(&report.rows).trim());
    output.result(&toml)
}
