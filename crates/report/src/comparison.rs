//! What there is to know of a comparison of two runs, in words.

use ::words::{Text, statement};
use results::compare::ComparisonNote;

use crate::words::catalogue;

/// A note as one sentence.
#[must_use]
pub fn comparison_note(note: &ComparisonNote) -> Text {
    match note {
        ComparisonNote::OneConfigurationEach { first, second } => {
            statement!(catalogue::ONE_CONFIGURATION_EACH, first = first, second = second)
        }
        ComparisonNote::ModelledAndMeasured { configuration } => {
            Text::from(catalogue::MODELLED_AND_MEASURED).at(configuration)
        }
        ComparisonNote::CellsMissing { cells } => {
            statement!(catalogue::CELLS_MISSING, cells = *cells)
        }
        ComparisonNote::TooFewTrials { cells, least } => {
            statement!(catalogue::CELLS_WITH_FEW_TRIALS, cells = *cells, least = *least)
        }
        ComparisonNote::NotInterleaved => catalogue::NOT_INTERLEAVED.into(),
    }
}
