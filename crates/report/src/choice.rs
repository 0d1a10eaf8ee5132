//! The answer of `raidloom choose` in at most twenty lines: what to take, what stands beside it,
//! what is not known, and what makes it.

use escape::{Paint, StyledText, padded, width};
use results::choice::{
    Bounds, Choice, Condition, Contrast, DriveGroup, Figures, Layout, PowerCuts, Rebuild, Rival,
    Scheme,
};
use results::statistics::Interval;

use crate::numbers;
use crate::text::{Style, TextOutput};
use crate::words::say;

/// Columns of the word at the head of a line.
const LABEL: usize = 21;
/// The fewest columns that sentences are broken into.
const WIDTH_MIN: usize = 80;

/// The most lines of an answer; the place of its report comes after it.
const LINES_MAX: usize = 19;

/// An answer as it is printed.
#[derive(Clone, Debug)]
pub struct ChoiceText {
    /// Lines ended by `\n`. Commands stand on lines of their own, unbroken.
    pub text: StyledText,
    /// Whether something was left out for room.
    pub is_shortened: bool,
}

/// How much of an answer is told.
#[derive(Clone, Copy, Debug)]
struct Told<'a> {
    rivals: usize,
    /// So many of them with the workloads that suffer and gain most, the first ones.
    detailed: usize,
    /// Which chunks are the same.
    chunks: bool,
    /// What drawn parameters make of the first rival.
    draws: bool,
    /// What is said beside the layout.
    beside: &'a [(String, String)],
}

/// The answer as text, with what is said beside the layout before the commands: a word, which may
/// be empty, and a sentence each.
#[must_use]
pub fn choice_text(choice: &Choice, beside: &[(String, String)], style: Style) -> ChoiceText {
    let style = Style { width: style.width.max(WIDTH_MIN), ..style };
    let mut amounts = amounts(choice, beside).into_iter();
    let whole = amounts.next().map(|told| answer(choice, style, told)).unwrap_or_default();
    let fits = |text: &StyledText| text.lines().count() <= LINES_MAX;
    if fits(&whole) {
        return ChoiceText { text: whole, is_shortened: false };
    }
    let mut text = whole;
    for told in amounts {
        text = answer(choice, style, told);
        if fits(&text) {
            break;
        }
    }
    ChoiceText { text, is_shortened: true }
}

/// All of it, and then ever less. What is least worth goes first: in what the last rivals differ,
/// which chunks are the same, what drawn parameters say, the last rivals, what is said beside the
/// layout. What speaks against the pick goes last: that most drawn sets have the first rival ahead,
/// and that rival.
fn amounts<'a>(choice: &Choice, beside: &'a [(String, String)]) -> Vec<Told<'a>> {
    let all = choice.rivals.len();
    let drawn = choice.rivals.first().and_then(|rival| rival.drawn);
    let is_behind = drawn.is_some_and(|drawn| 2 * drawn.ahead > drawn.sets);
    let mut told = Told { rivals: all, detailed: all, chunks: true, draws: true, beside };
    let mut amounts = vec![told];
    for detailed in (0..all).rev() {
        told.detailed = detailed;
        amounts.push(told);
    }
    told.chunks = false;
    amounts.push(told);
    if !is_behind {
        told.draws = false;
        amounts.push(told);
    }
    for rivals in (1..all).rev() {
        told.rivals = rivals;
        amounts.push(told);
    }
    for left in (0..beside.len()).rev() {
        // A sentence without a word of its own is part of the one before.
        if !beside[left].0.is_empty() {
            told.beside = &beside[..left];
            amounts.push(told);
        }
    }
    amounts.push(Told { draws: false, ..told });
    amounts.push(Told { draws: false, rivals: 0, ..told });
    amounts
}

/// So much of the answer.
fn answer(choice: &Choice, style: Style, told: Told<'_>) -> StyledText {
    let mut out = TextOutput::new(style);
    let pick = &choice.pick;
    let head = format!("{}{}", name_with_drives(choice, pick), file_system(choice));
    out.line(style.paint(Paint::Bold, &head));
    let mut offer = vec![space(choice, pick), survival(pick)];
    offer.extend(cost(choice));
    offer.push(figures(choice));
    out.wrapped(2, &join(&offer));
    out.wrapped(2, &say!(CHOICE_FOR, work = choice.work, drives = drives(choice)));
    for (number, rival) in choice.rivals.iter().take(told.rivals).enumerate() {
        let label = say!(CHOICE_AGAINST, name = name(&rival.layout));
        row(&mut out, &label, &against(pick, rival, number < told.detailed));
    }
    for (label, text) in rows(choice, told).iter().chain(told.beside) {
        row(&mut out, label, text);
    }
    command(&mut out, &say!(CHOICE_DO), &choice.command);
    if !choice.md_commands.is_empty() {
        command(&mut out, &say!(CHOICE_OR), &choice.md_commands.join(" && "));
    }
    out.text
}

/// The last line of an answer: the page of its report, which has what was left out.
#[must_use]
pub fn choice_page(page: &str, is_shortened: bool) -> String {
    match is_shortened {
        true => format!("{}{page}", padded(&format!("  {}", say!(CHOICE_MORE)), LABEL)),
        false => format!("  {page}"),
    }
}

/// A command to be copied, in one piece.
fn command(out: &mut TextOutput, label: &str, text: &str) {
    let label = padded(&format!("  {label}"), LABEL);
    out.line(StyledText::from(&*format!("{label}{}", escape::line(text))));
}

fn row(out: &mut TextOutput, label: &str, text: &str) {
    let label = format!("  {label}");
    let is_long = width(&label) >= LABEL;
    if is_long {
        out.line(StyledText::from(&*label));
    }
    for (number, line) in out.broken(LABEL, text).into_iter().enumerate() {
        match number {
            0 if !is_long => {
                let first = format!("{}{}", padded(&label, LABEL), line.trim_start());
                out.line(StyledText::from(&*first));
            }
            _ => out.line(StyledText::from(&*line)),
        }
    }
}

fn join(parts: &[String]) -> String {
    parts.join(&say!(BETWEEN_TIES))
}

/// `RAID 10`, as it is called.
#[must_use]
pub fn name(layout: &Layout) -> String {
    let scheme = match layout.scheme {
        Scheme::Stripe => "RAID 0",
        Scheme::Mirror => "RAID 1",
        Scheme::NearCopies if layout.copies > 2 => "RAID 10 n3",
        Scheme::NearCopies => "RAID 10",
        Scheme::FarCopies => "RAID 10 f2",
        Scheme::Parity => "RAID 5",
        Scheme::DoubleParity => "RAID 6",
    };
    match layout.spares {
        0 => scheme.to_owned(),
        spares => say!(CHOICE_AND_SPARES, scheme = scheme, count = spares),
    }
}

/// `RAID 10, 4 x 12 TB, chunk 512 KiB`.
fn name_with_drives(choice: &Choice, layout: &Layout) -> String {
    let mut text = format!(
        "{}, {} x {}",
        name(layout),
        layout.drives,
        size(sizes(choice).get(layout.drives - 1).copied().unwrap_or_default())
    );
    if let Some(chunk) = layout.chunk_bytes {
        text += &say!(CHOICE_CHUNK, size = kibibytes(chunk));
    }
    text
}

fn file_system(choice: &Choice) -> String {
    choice.file_system.as_ref().map_or_else(String::new, |name| format!(", {name}"))
}

/// Sizes of the drives, the largest first.
fn sizes(choice: &Choice) -> Vec<u64> {
    let of_group = |group: &results::choice::DriveGroup| vec![group.size_bytes; group.count];
    choice.drives.iter().flat_map(of_group).collect()
}

fn size(bytes: u64) -> String {
    numbers::size(bytes).replace('\u{202f}', " ").replace(".0 ", " ")
}

fn kibibytes(bytes: u64) -> String {
    match bytes {
        bytes if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        bytes => format!("{} KiB", bytes >> 10),
    }
}

fn space(choice: &Choice, layout: &Layout) -> String {
    let all: u64 = sizes(choice).iter().sum();
    say!(CHOICE_SPACE, usable = size(layout.usable_bytes), all = size(all))
}

/// What it costs, and by how much that was bounded.
fn cost(choice: &Choice) -> Option<String> {
    let cost = choice.cost?;
    let (total, taken) = (price(cost.total), choice.pick.drives + choice.pick.spares);
    Some(match cost.budget {
        None => say!(CHOICE_COST, cost = total),
        Some(budget) => say!(
            CHOICE_COST_OF,
            cost = total,
            budget = price(budget),
            count = taken,
            offered = cost.offered
        ),
    })
}

/// As people write prices: without cents where there are none.
fn price(value: f64) -> String {
    let text = format!("{value:.2}");
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
}

fn survival(layout: &Layout) -> String {
    match (layout.survives, layout.pairs.count) {
        (0, _) => say!(CHOICE_SURVIVES_NONE),
        (1, 0) => say!(CHOICE_SURVIVES_ONE),
        (1, pairs) => say!(CHOICE_SURVIVES_PAIRS, count = pairs, of = layout.pairs.of),
        (count, _) => say!(CHOICE_SURVIVES_ANY, count = count),
    }
}

fn figures(choice: &Choice) -> String {
    match (choice.figures, choice.recorded_requests) {
        (figures, Some(requests)) if figures.are_modelled() => {
            say!(CHOICE_FROM_RECORDING, requests = numbers::grouped(requests))
        }
        (figures, _) => figures_text(figures),
    }
}

fn figures_text(figures: Figures) -> String {
    match figures {
        Figures::Modelled => say!(MODELLED),
        Figures::StandIns => say!(CHOICE_STAND_INS),
        Figures::Files => say!(CHOICE_ON_FILES),
        Figures::Measured => say!(MEASURED),
        Figures::NotRun => say!(CHOICE_NOT_RUN),
    }
}

fn drives(choice: &Choice) -> String {
    // Of one kind there may be several sizes, which are no matter here.
    let mut kinds: Vec<DriveGroup> = Vec::new();
    for group in &choice.drives {
        let is_same =
            |kind: &&mut DriveGroup| kind.title == group.title && kind.stand_in == group.stand_in;
        match kinds.iter_mut().find(is_same) {
            Some(kind) => kind.count += group.count,
            None => kinds.push(group.clone()),
        }
    }
    let texts = kinds.iter().map(|group| {
        // What is in brackets is for those who look it up.
        let title = group.title.split(" (").next().unwrap_or(&group.title);
        match &group.stand_in {
            Some(model) => say!(CHOICE_AS_MODEL, count = group.count, title = title, model = model),
            None => format!("{} x {title}", group.count),
        }
    });
    texts.collect::<Vec<_>>().join(", ")
}

fn interval(bounds: Option<Bounds>) -> Option<Interval> {
    bounds.map(|bounds| Interval { low: bounds.low, high: bounds.high })
}

fn times(ratio: f64, bounds: Option<Bounds>) -> String {
    match interval(bounds) {
        Some(bounds) => numbers::ratio_whole(ratio, Some(bounds)),
        // What is not as fast does not read as if it were.
        None if ratio < 0.095 || (0.95..1.05).contains(&ratio) => format!("{ratio:.2}×"),
        None => format!("{ratio:.1}×"),
    }
}

/// What another scheme has more or less of.
fn against(pick: &Layout, rival: &Rival, is_detailed: bool) -> String {
    let more = size(rival.more_bytes.unsigned_abs());
    // Of drives of several sizes, as many as make the most of the smallest.
    let count = rival.layout.drives;
    let mut parts: Vec<String> = (count != pick.drives)
        .then(|| say!(CHOICE_RIVAL_DRIVES, count = count))
        .into_iter()
        .collect();
    parts.push(match rival.more_bytes {
        0 => say!(CHOICE_SAME_SPACE),
        1.. => say!(CHOICE_MORE_SPACE, size = more),
        _ => say!(CHOICE_LESS_SPACE, size = more),
    });
    let is_other = rival.layout.survives != pick.survives;
    parts.extend(is_other.then(|| survival(&rival.layout)));
    let speed = times(rival.ratio, rival.interval);
    let mut work = match rival.contrast {
        Contrast::Same => say!(CHOICE_AS_FAST),
        Contrast::NotToldApart => say!(CHOICE_NOT_TOLD_APART, ratio = speed),
        Contrast::Indicated => speed,
        Contrast::Faster | Contrast::Slower => say!(CHOICE_SURELY, ratio = speed),
    };
    if is_detailed && rival.contrast != Contrast::Same {
        let each = rival
            .extremes
            .iter()
            .map(|one| (numbers::workload(&one.workload), times(one.ratio, one.interval)))
            .map(|(workload, ratio)| say!(FIGURE_OF, workload = workload, figure = ratio));
        let each = each.collect::<Vec<_>>().join(", ");
        if rival.extremes.len() > 1 {
            work += &say!(CHOICE_EXTREMES, each = each);
        }
    }
    parts.push(work);
    join(&parts)
}

/// The lines below the rivals: a word and what is said of it.
fn rows(choice: &Choice, told: Told<'_>) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    if let Some([from, to]) = choice.same_chunks.filter(|_| told.chunks) {
        let text = say!(CHOICE_SAME_CHUNKS, from = kibibytes(from), to = kibibytes(to));
        rows.push((say!(CHOICE_CHUNK_LABEL), text));
    }
    if let Some(ratio) = choice.degraded {
        let text = say!(CHOICE_DEGRADED, ratio = times(ratio, None));
        rows.push((say!(CHOICE_DEGRADED_LABEL), text));
    }
    if let Some(rebuild) = &choice.rebuild {
        rows.push((say!(CHOICE_REBUILD_LABEL), rebuild_text(rebuild)));
    }
    if let Some(ratio) = choice.bitmap_ratio {
        let text = say!(CHOICE_BITMAP, ratio = times(ratio, None));
        rows.push((say!(CHOICE_BITMAP_LABEL), text));
    }
    rows.extend(
        choice
            .power_cuts
            .as_ref()
            .map(|cuts| (say!(CHOICE_POWER_LABEL, name = cuts.file_system), power_cuts_text(cuts))),
    );
    if !choice.lost_drives.is_empty() {
        let names = choice.lost_drives.join(", ");
        rows.push((say!(CHOICE_LOST_LABEL), say!(CHOICE_LOST, names = names)));
    }
    rows.extend(uneven(choice).map(|text| (say!(CHOICE_UNEVEN_LABEL), text)));
    let first = choice.rivals.first().filter(|_| told.draws);
    let drawn = first.and_then(drawn_text).unwrap_or_default();
    let sure = how_sure(choice) + &drawn;
    rows.push((say!(CHOICE_HOW_SURE), sure));
    rows.push((say!(CHOICE_NOT_KNOWN), not_known(choice)));
    rows
}

fn how_sure(choice: &Choice) -> String {
    match choice.model_error {
        Some(known) if known.cases == 0 => {
            say!(CHOICE_MODEL_NEAREST, factor = format!("{:.1}", 1.0 + known.error))
        }
        Some(known) => say!(
            CHOICE_MODEL_ERROR,
            factor = format!("{:.1}", 1.0 + known.error),
            cases = known.cases
        ),
        None if choice.figures.are_modelled() => say!(CHOICE_MODEL_UNKNOWN),
        None if choice.figures == Figures::NotRun => say!(CHOICE_MOST_SPACE),
        None => say!(CHOICE_SAME_TRIALS),
    }
}

/// How long a drive that died takes to be filled anew, what that makes of the work, and what may be
/// lost meanwhile.
fn rebuild_text(rebuild: &Rebuild) -> String {
    let time = duration(rebuild.idle_seconds);
    let busy = duration(rebuild.busy_seconds);
    let chance = one_in(rebuild.loss_chance);
    let busy_chance = one_in(rebuild.busy_loss_chance);
    let rate = format!("{:.1}", 100.0 * rebuild.annual_failure_rate);
    match rebuild.work_ratio {
        Some(ratio) => say!(
            CHOICE_REBUILD_BESIDE,
            time = time,
            busy = busy,
            ratio = times(ratio, None),
            chance = chance,
            busy_chance = busy_chance,
            rate = rate
        ),
        None => say!(
            CHOICE_REBUILD,
            time = time,
            busy = busy,
            chance = chance,
            busy_chance = busy_chance,
            rate = rate
        ),
    }
}

/// What drawn sets of parameters make of a rival.
fn drawn_text(rival: &Rival) -> Option<String> {
    let drawn = rival.drawn?;
    Some(say!(
        CHOICE_DRAWN,
        sets = drawn.sets,
        name = name(&rival.layout),
        low = times(drawn.ratios.low, None),
        high = times(drawn.ratios.high, None),
        ahead = drawn.ahead
    ))
}

fn power_cuts_text(found: &PowerCuts) -> String {
    let percent = numbers::at_most(found.at_most_percent);
    match found.lost {
        0 => say!(CHOICE_POWER_CUTS, cuts = found.cuts, percent = percent),
        lost => say!(CHOICE_POWER_LOST, lost = lost, cuts = found.cuts, percent = percent),
    }
}

/// What is said of drives of different sizes.
fn uneven(choice: &Choice) -> Option<String> {
    let sizes = sizes(choice);
    let used = sizes.get(choice.pick.drives - 1)?;
    let is_left_out = choice.pick.drives + choice.pick.spares < sizes.len()
        && choice.removed.iter().any(|one| matches!(one.by, Condition::SmallDrive { .. }));
    if is_left_out {
        let left = sizes.len() - choice.pick.drives - choice.pick.spares;
        let smallest = size(*sizes.last()?);
        return Some(say!(CHOICE_LEFT_OUT, count = left, size = smallest));
    }
    let is_cut = sizes.first() != Some(used);
    is_cut.then(|| say!(CHOICE_SMALLEST_COUNTS, size = size(*used)))
}

fn not_known(choice: &Choice) -> String {
    let mut parts = Vec::new();
    let is_run = choice.figures != Figures::NotRun;
    match choice.figures {
        Figures::StandIns => parts.push(say!(CHOICE_OPEN_OWN)),
        Figures::Modelled => parts.push(say!(CHOICE_OPEN_MODELLED)),
        Figures::Files => parts.push(say!(CHOICE_OPEN_FILES)),
        Figures::Measured => (),
        Figures::NotRun => parts.push(say!(CHOICE_OPEN_WORK)),
    }
    if choice.pick.survives > 0 && is_run && choice.degraded.is_none() {
        parts.push(say!(CHOICE_OPEN_DEGRADED));
    }
    let is_beside = choice.rebuild.is_some_and(|rebuild| rebuild.work_ratio.is_some());
    if choice.pick.survives > 0 && is_run && !is_beside {
        parts.push(say!(CHOICE_OPEN_REBUILD));
    }
    let is_open = !choice.bitmap_was_run && choice.bitmap_ratio.is_none();
    if choice.pick.survives > 0 && is_run && is_open {
        parts.push(say!(CHOICE_OPEN_BITMAP));
    }
    let is_beyond = is_run && !choice.file_system_was_run;
    if let Some(name) = choice.file_system.as_ref().filter(|_| is_beyond) {
        parts.push(say!(CHOICE_OPEN_FILE_SYSTEM, name = name));
    }
    if choice.work_was_in_guests {
        parts.push(say!(CHOICE_OPEN_COMPUTING));
    }
    if !choice.writes_are_modelled {
        parts.push(say!(CHOICE_OPEN_WRITES));
    }
    if choice.has_flash {
        parts.push(say!(CHOICE_OPEN_FLASH));
    }
    if choice.power_cuts.is_none() {
        let name = choice.file_system.as_deref().unwrap_or("ext4");
        parts.push(say!(CHOICE_OPEN_POWER, name = name));
    }
    match parts.is_empty() {
        true => say!(CHOICE_NOTHING_OPEN),
        false => parts.join(&say!(BETWEEN_OPEN)),
    }
}

/// `15 h`, `40 min`.
fn duration(seconds: f64) -> String {
    match seconds {
        ..5_400.0 => say!(CHOICE_MINUTES, time = format!("{:.0}", (seconds / 60.0).max(1.0))),
        ..172_800.0 => say!(CHOICE_HOURS, time = format!("{:.0}", seconds / 3600.0)),
        _ => say!(CHOICE_DAYS, time = format!("{:.0}", seconds / 86_400.0)),
    }
}

/// One in so many, with two digits.
fn one_in(chance: f64) -> String {
    let count = 1.0 / chance.max(1e-12);
    let step = 10_f64.powf(count.log10().floor() - 1.0).max(1.0);
    numbers::grouped(((count / step).round() * step) as u64)
}
