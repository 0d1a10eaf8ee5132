//! `raidloom report`, and the report files of a finished run.

use std::path::{Path, PathBuf};

use clap::Args;
use lab::originals;
use results::Run;
use results::analysis::{Analysis, Comparison, Verdict, analyse};
use words::Text;

use crate::catalogue::{self, say, statement};
use crate::failure::Failure;
use crate::language::{Lang, language};
use crate::output::Output;

/// `report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArguments {
    /// The run's folder, or what `raidloom report export` has packed
    pub run: PathBuf,

    /// Print all of it: every score, warning and table. Without, the answer in a few lines
    #[arg(long)]
    pub full: bool,

    /// Write the HTML page here (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Write Markdown here (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub md: Option<PathBuf>,

    /// Write the summary table here as CSV (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,

    /// Write every trial as Parquet here, a row each with columns of their own types: for DuckDB,
    /// pandas and others, over one run or many
    #[arg(long, value_name = "FILE")]
    pub parquet: Option<PathBuf>,

    /// Write what bonnie++ 2.00 would have: a line for each configuration and block, for
    /// `bon_csv2html`
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
        default_missing_value = "-")]
    pub bonnie_csv: Option<PathBuf>,

    /// Write what CrystalDiskMark would have, for each configuration
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
        default_missing_value = "-")]
    pub crystal_text: Option<PathBuf>,

    /// Write the times of copies: minutes and seconds, with their share of the baseline's
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true,
        default_missing_value = "-")]
    pub fcv_table: Option<PathBuf>,

    /// Write the figures of what was decided on, or of the only configuration, here as a card to
    /// post: a picture where the name ends in .svg or .png, else text (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub card: Option<PathBuf>,

    /// Draw one figure of what was decided on as a badge
    #[arg(long, value_name = "FILE")]
    pub badge: Option<PathBuf>,

    /// The badge shows the first workload with this word in its name
    #[arg(
        long,
        value_name = "WORD",
        default_value = "",
        hide_default_value = true,
        requires = "badge"
    )]
    pub badge_of: String,

    /// Write the decision, warnings and what is not known as a few lines of Markdown, for the
    /// summary of a CI system (- for standard output)
    #[arg(long, value_name = "FILE")]
    pub summary: Option<PathBuf>,

    /// Language of what people read, by default the locale's; the page has a switch to the other
    /// one, and what programs read is the same in both
    #[arg(long, value_name = "LANG")]
    pub lang: Option<Lang>,
}

impl ReportArguments {
    /// What is to be written.
    fn outputs(&self) -> impl Iterator<Item = &PathBuf> {
        let tables = [&self.csv, &self.summary, &self.parquet, &self.fcv_table];
        let pages = [&self.html, &self.md, &self.card, &self.badge];
        let originals = [&self.bonnie_csv, &self.crystal_text];
        tables.into_iter().chain(pages).chain(originals).flatten()
    }
}

/// Writes what was asked for, or prints the report for the terminal.
pub(crate) fn report(output: &Output, arguments: &ReportArguments) -> Result<(), Failure> {
    let opened = lab::pack::open(&arguments.run)?;
    let run = lab::read(opened.folder())?;
    let mut analysis = lab::configuration_start::with_starts(&arguments.run, &run, analyse(&run));
    if opened.is_packed() {
        // Its members are elsewhere.
        analysis.starts.clear();
    }
    if output.json {
        output.result(&report::json(&run, &analysis))?;
        return has_result(&run, &analysis);
    }
    words::in_language(language(arguments.lang), || for_people(output, arguments, &run, &analysis))
}

/// The same in the forms that are not JSON.
fn for_people(
    output: &Output,
    arguments: &ReportArguments,
    run: &Run,
    analysis: &Analysis,
) -> Result<(), Failure> {
    type Form = fn(&Run, &Analysis) -> String;
    let wanted: [(&Option<PathBuf>, Form); 4] = [
        (&arguments.html, report::html),
        (&arguments.md, report::markdown),
        (&arguments.csv, report::csv),
        (&arguments.summary, report::summary),
    ];
    type Original = fn(&Run) -> Result<String, host::Error>;
    let originals: [(&Option<PathBuf>, Original); 3] = [
        (&arguments.bonnie_csv, originals::bonnie_csv),
        (&arguments.crystal_text, originals::crystal_text),
        (&arguments.fcv_table, originals::times_table),
    ];
    let are_none = originals.iter().all(|(path, _)| path.is_none());
    let made_from = lab::pack::files_of(&arguments.run);
    // All are refused or none, before the first is written.
    let mut named = arguments.outputs().filter(|path| path.as_os_str() != "-");
    named.try_for_each(|path| host::files::refuse_to_write(path, &made_from))?;
    let write = |path: &Path, bytes: &[u8]| write(output, path, bytes, &made_from);
    if let Some(path) = &arguments.card {
        write(path, &card(path, run, analysis)?)?;
    }
    if let Some(path) = &arguments.badge {
        write(path, badge(&arguments.badge_of, run, analysis)?.as_bytes())?;
    }
    if let Some(path) = &arguments.parquet {
        write(path, &trials(path, run, &arguments.run)?)?;
    }
    let has_other =
        arguments.card.is_some() || arguments.badge.is_some() || arguments.parquet.is_some();
    if are_none && !has_other && wanted.iter().all(|(path, _)| path.is_none()) {
        terminal(output, run, analysis, arguments.full, None)?;
        return has_result(run, analysis);
    }
    for (path, form) in wanted {
        let Some(path) = path else { continue };
        write(path, form(run, analysis).as_bytes())?;
    }
    for (path, form) in originals {
        let Some(path) = path else { continue };
        write(path, form(run)?.as_bytes())?;
    }
    if !are_none {
        return Ok(());
    }
    has_result(run, analysis)
}

/// Every trial, for programs.
fn trials(path: &Path, run: &Run, folder: &Path) -> Result<Vec<u8>, Failure> {
    if path.as_os_str() == "-" {
        let message = Text::from(catalogue::PARQUET_NO_TEXT).at("--parquet -");
        return Err(Failure::usage(message));
    }
    Ok(report::parquet(run, &lab::pack::name_of(folder)))
}

/// The badge of a workload of what was decided on.
fn badge(word: &str, run: &Run, analysis: &Analysis) -> Result<String, Failure> {
    report::badge_svg(run, analysis, word).ok_or_else(|| {
        let names = run.plan.workloads.iter().map(|workload| workload.name.as_str());
        match names.clone().any(|name| name.contains(word)) {
            true => Failure::invalid_results(catalogue::NO_BADGE),
            false => {
                let names = names.collect::<Vec<_>>().join(", ");
                Failure::usage(statement!(NO_BADGE_WORKLOAD, word = word, names = names))
            }
        }
    })
}

/// The card of what was decided on: a picture where the name ends in .svg or .png, else text.
fn card(path: &Path, run: &Run, analysis: &Analysis) -> Result<Vec<u8>, Failure> {
    let ends_with = |wanted: &str| path.extension().is_some_and(|ending| ending == wanted);
    let card = if ends_with("png") {
        report::card_png(run, analysis).map_err(|error| Failure::failed(&error))?
    } else if ends_with("svg") {
        report::card_svg(run, analysis).map(String::into_bytes)
    } else {
        report::card_text(run, analysis).map(String::into_bytes)
    };
    card.ok_or_else(|| Failure::invalid_results(catalogue::NO_CARD))
}

fn write(output: &Output, path: &Path, bytes: &[u8], made_from: &[PathBuf]) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return output.file(&String::from_utf8_lossy(bytes));
    }
    host::files::write_named(path, bytes, made_from)?;
    output.progress(&say!(WROTE, path = path.display()));
    Ok(())
}

/// Exit code 5 for a run in which nothing could be measured, and for a finished run that was to
/// compare configurations and of which no headline has an answer, or whose baseline has no trial.
pub(crate) fn has_result(run: &Run, analysis: &Analysis) -> Result<(), Failure> {
    if !run.trials.is_empty() && run.trials.iter().all(|trial| trial.metrics.is_empty()) {
        return Err(Failure::invalid_results(catalogue::NOTHING_HAS_FIGURES));
    }
    if let Some(comparison) = analysis.without_baseline().next() {
        let name = comparison.label(&comparison.baseline).to_string();
        return Err(Failure::invalid_results(statement!(BASELINE_WITHOUT_TRIAL, name = name)));
    }
    let finished = analysis.trials_finished >= analysis.trials_planned;
    if !finished || !analysis.asks_for_headlines() || analysis.has_valid_headline() {
        return Ok(());
    }
    Err(Failure::invalid_results(catalogue::NO_ANSWER_FOUND))
}

/// The report as text for the terminal: all of it, or the answer in a few lines, with `last` behind
/// it. Where nothing is compared, the figures are what was asked for.
pub(crate) fn terminal(
    output: &Output,
    run: &Run,
    analysis: &Analysis,
    is_full: bool,
    last: Option<&str>,
) -> Result<(), Failure> {
    let style = report::Style { color: output.color(), width: output.width() };
    let mut results = analysis.comparisons.iter().flat_map(Comparison::results).peekable();
    let only_figures = results.peek().is_some()
        && results.all(|result| result.headline.verdict == Verdict::Figures);
    if !is_full && !only_figures {
        return output.painted(report::brief(run, analysis, style, last));
    }
    output.painted(report::text(run, analysis, style))?;
    last.map_or(Ok(()), |last| output.result(last))
}

/// Writes `summary.csv`, `report.md` and `report.html` into the run's folder; returns the page's
/// path.
pub(crate) fn write_files(
    folder: &Path,
    run: &Run,
    analysis: &Analysis,
) -> Result<PathBuf, Failure> {
    let page = folder.join("report.html");
    let files = [
        (folder.join("summary.csv"), report::csv(run, analysis)),
        (folder.join("report.md"), report::markdown(run, analysis)),
        (page.clone(), report::html(run, analysis)),
    ];
    for (path, text) in files {
        host::files::write_whole(&path, text.as_bytes())
            .map_err(|error| error.and_then_some(catalogue::REPORT_WRITES_AGAIN))?;
    }
    Ok(page)
}
