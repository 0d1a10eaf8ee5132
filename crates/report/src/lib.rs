//! What people and programs read: text, Markdown, CSV, JSON, Parquet and one HTML page, all made
//! from a [`results::Run`] and its [`results::analysis::Analysis`].
//!
//! ```text
//! Run + Analysis ─┬─ sentences, numbers ──┬─ text, markdown, html        for people: verdict, warnings, tables, details
//!                 ├─ tables ──────────────┘     └─ svg                   charts, each with its table after it
//!                 └─ summary rows ────────── csv, json, data in the page   for programs: base units, unit in the name
//! Run ──────── trials ────────────────────── parquet                       the same, a row for each trial
//! ```
//!
//! Every number in prose goes through the same function, from the same value, as the number in the
//! chart and the table. Names, labels and facts are foreign text: `escape` takes from each output
//! what would steer it.

mod badge;
mod brief;
mod cached;
mod card;
mod chart_tables;
mod charts;
mod choice;
mod comparison;
mod csv;
mod decision;
mod doubts;
mod first_screen;
mod heat;
mod history;
mod html;
mod json;
mod markdown;
mod measure;
mod numbers;
mod parquet;
mod png;
mod requests_parquet;
mod run_tables;
mod safety;
mod sentences;
mod space;
mod survival;
mod svg;
mod switch;
mod table;
mod text;
mod trials;
mod words;

pub use badge::{badge_svg, summary};
pub use brief::brief;
pub use card::{card_svg, card_text};
pub use choice::{ChoiceText, choice_page, choice_text, name as layout_name};
pub use comparison::comparison_note;
pub use csv::csv;
pub use doubts::{doubt_legend, doubt_sentence, silence_name};
pub use first_screen::answer;
pub use history::{history_head, history_row, history_svg};
pub use html::html;
pub use json::json;
pub use markdown::markdown;
pub use parquet::parquet;
pub use png::{PngError, card_png};
pub use requests_parquet::{RequestRow, RequestsParquet};
pub use text::{Style, text};
