//! A run on a terminal of its own: bar, time left, what is ahead and every configuration, drawn
//! anew as the run goes on. The arrow keys move the table, `q` ends it, and the terminal is left as
//! it was.

use std::io::{self, Stderr};
use std::time::{Duration, Instant};

use lab::watch::{ConfigurationScore, RunState, ShardState, Stage};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{LineGauge, Paragraph, Row, Table, TableState};
use ratatui::{Frame, Terminal};

use super::{ahead, blocks, left, range, share, trials};
use crate::catalogue::say;
use crate::signals::End;

/// How many shards are told of at most.
const SHARDS_MAX: usize = 8;
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

/// The terminal while a run is watched.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    /// The first row of the table that is shown.
    top: usize,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    ///
    /// Standard error or the keyboard is no terminal.
    pub(super) fn open() -> io::Result<Screen> {
        enable_raw_mode()?;
        let opened = execute!(io::stderr(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stderr())));
        match opened {
            Ok(terminal) => Ok(Screen { terminal, top: 0 }),
            Err(error) => {
                given_back();
                Err(error)
            }
        }
    }

    /// Shows how a run stands for a while, and moves as the keys say. Whether the user has had
    /// enough.
    ///
    /// # Errors
    ///
    /// The terminal is gone.
    pub(super) fn show(&mut self, state: &RunState, end: &End, time: Duration) -> io::Result<bool> {
        let until = Instant::now() + time;
        loop {
            let top = &mut self.top;
            self.terminal.draw(|frame| draw(frame, state, top))?;
            let left = until.saturating_duration_since(Instant::now());
            if end.is_here() || left.is_zero() || !event::poll(left)? {
                return Ok(false);
            }
            let Event::Key(key) = event::read()? else { continue };
            match moved(&key) {
                Some(Move::End) => return Ok(true),
                Some(Move::Up(rows)) => self.top = self.top.saturating_sub(rows),
                Some(Move::Down(rows)) => self.top = self.top.saturating_add(rows),
                None => {}
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        given_back();
    }
}

/// Gives the terminal back. There is nobody left to tell when that fails.
fn given_back() {
    let _ = execute!(io::stderr(), LeaveAlternateScreen, ratatui::crossterm::cursor::Show);
    let _ = disable_raw_mode();
}

/// What a key asks for.
enum Move {
    End,
    Up(usize),
    Down(usize),
}

fn moved(key: &KeyEvent) -> Option<Move> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('q') | KeyCode::Esc => Move::End,
        KeyCode::Char('c') if with_control => Move::End,
        KeyCode::Up | KeyCode::Char('k') => Move::Up(1),
        KeyCode::Down | KeyCode::Char('j') => Move::Down(1),
        KeyCode::PageUp => Move::Up(10),
        KeyCode::PageDown => Move::Down(10),
        KeyCode::Home => Move::Up(usize::MAX),
        KeyCode::End => Move::Down(usize::MAX),
        _ => return None,
    })
}

/// All of it, from `top` of the table on; a `top` behind the last row is put right.
pub(super) fn draw(frame: &mut Frame<'_>, state: &RunState, top: &mut usize) {
    let area = frame.area();
    let across = usize::from(area.width).max(20);
    let mut above: Vec<Line<'static>> = Vec::new();
    let mut said = |text: &str, style: Style| {
        let lines = escape::wrapped(&escape::line(text), across);
        above.extend(lines.into_iter().map(|line| Line::styled(line, style)));
    };
    said(&format!("{}: {}{}", state.name, blocks(state), left(state)), BOLD);
    if let Some(now) = &state.now {
        let (name, workload) = (&now.configuration, &now.workload);
        said(&say!(WATCH_NOW, name = name, workload = workload), Style::new());
    }
    shards(&state.shards).iter().for_each(|line| said(line, Style::new()));
    state.best.iter().for_each(|best| said(&ahead(best, state.stage), Style::new()));
    let parts = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(above.len() as u16),
        Constraint::Min(2),
        Constraint::Length(1),
    ]);
    let [gauge, head, table, foot] = parts.areas(area);
    let done = format!("{:.0} %  {}", 100.0 * share(state), trials(state));
    let bar = LineGauge::default()
        .ratio(share(state).clamp(0.0, 1.0))
        .label(done)
        .filled_symbol("━")
        .unfilled_symbol("─")
        .filled_style(BOLD)
        .unfilled_style(DIM);
    frame.render_widget(bar, gauge);
    frame.render_widget(Paragraph::new(above), head);
    let shown = scores(frame, table, &state.configurations, top);
    let all = state.configurations.len();
    let keys = match shown {
        shown if shown < all => {
            say!(WATCH_ROWS, first = *top + 1, last = *top + shown, all = all)
        }
        _ => say!(WATCH_KEYS),
    };
    frame.render_widget(Paragraph::new(keys).style(DIM), foot);
}

/// The shards that something is at work on, or should be.
fn shards(shards: &[ShardState]) -> Vec<String> {
    let row = |shard: &ShardState| {
        let trials = match shard.trials {
            Some(all) => say!(WATCH_OF, count = shard.trials_finished, all = all),
            None => shard.trials_finished.to_string(),
        };
        let now = shard.now.as_ref();
        let what = match shard.stage {
            Stage::Running => now.map_or_else(
                || say!(STAGE_RUNNING),
                |now| format!("{}  {}", now.configuration, now.workload),
            ),
            _ => say!(STAGE_INTERRUPTED),
        };
        let left = now.map_or("-".to_owned(), range);
        vec![shard.shard.to_string(), trials, left, what]
    };
    let told = shards
        .iter()
        .filter(|shard| matches!(shard.stage, Stage::Running | Stage::Interrupted))
        .take(SHARDS_MAX);
    let rows: Vec<Vec<String>> = told.map(row).collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let head = vec![say!(SHARD_HEAD), say!(TRIALS_HEAD), say!(LEFT_HEAD), say!(NOW_HEAD)];
    escape::columns(&[vec![head], rows].concat(), &[1, 2])
}

/// The configurations from `top` on, in the room there is: how many rows that holds.
fn scores(
    frame: &mut Frame<'_>,
    area: Rect,
    configurations: &[ConfigurationScore],
    top: &mut usize,
) -> usize {
    const FIGURES: [u16; 4] = [6, 6, 14, 8];
    let between = FIGURES.len() as u16 * 2;
    let across = area.width.saturating_sub(FIGURES.iter().sum::<u16>() + between).max(12);
    let cells = |one: &ConfigurationScore| {
        let ratio = one.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}x"));
        let interval = match (one.ratio_low, one.ratio_high) {
            (Some(low), Some(high)) => {
                let [low, high] = [low, high].map(|ratio| format!("{ratio:.2}x"));
                say!(RUN_RANGE, low = low, high = high)
            }
            _ => "-".to_owned(),
        };
        let word = match (one.is_baseline, one.is_dropped) {
            (true, _) => say!(ROW_BASELINE),
            (false, true) => say!(ROW_DROPPED),
            (false, false) => String::new(),
        };
        let name = escape::wrapped(&escape::line(&name(one)), usize::from(across));
        let style = if one.is_dropped { DIM } else { Style::new() };
        let height = name.len() as u16;
        let right = |text: String| Text::from(text).right_aligned();
        let cells = [
            Text::from(name.join("\n")),
            right(one.trials.to_string()),
            right(ratio),
            Text::from(interval),
            Text::from(word),
        ];
        (Row::new(cells).height(height).style(style), height)
    };
    let rows: Vec<(Row<'_>, u16)> = configurations.iter().map(cells).collect();
    // How many rows fit from one on, and the last one from which the end is in sight.
    let room = area.height.saturating_sub(1);
    let fit = |from: usize| {
        let mut taken = 0;
        let heights = rows[from..].iter().map(|(_, height)| height);
        heights
            .take_while(|height| {
                taken += **height;
                taken <= room
            })
            .count()
    };
    let last = (0..rows.len()).find(|from| from + fit(*from) >= rows.len()).unwrap_or(0);
    *top = (*top).min(last);
    let shown = if rows.is_empty() { 0 } else { fit(*top) };
    let mut widths = vec![Constraint::Length(across)];
    widths.extend(FIGURES.map(Constraint::Length));
    let head = [
        say!(CONFIGURATION_HEAD),
        say!(TRIALS_HEAD),
        format!(" {}", say!(SCORE_HEAD)),
        say!(INTERVAL_HEAD),
        String::new(),
    ];
    let table = Table::new(rows.into_iter().map(|(row, _)| row), widths)
        .header(Row::new(head).style(BOLD))
        .column_spacing(2);
    let mut state = TableState::new().with_offset(*top);
    frame.render_stateful_widget(table, area, &mut state);
    shown
}

/// What it is called, behind the comparison that it stands in where the name does not say that.
fn name(one: &ConfigurationScore) -> String {
    if one.comparison.is_empty() || one.configuration.starts_with(&one.comparison) {
        return one.configuration.clone();
    }
    format!("{}: {}", one.comparison, one.configuration)
}
