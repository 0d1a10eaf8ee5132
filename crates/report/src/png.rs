//! The card as a PNG, for where an SVG cannot be posted.

use std::fmt;
use std::sync::Arc;

use results::analysis::Analysis;
use results::types::Run;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};
use words::{Text, statement};

use crate::card_svg;
use crate::words::catalogue;

/// Pixels for each of the card's own, as screens of high resolution have them.
const SCALE: f32 = 2.0;

/// Why there is no picture.
#[derive(Debug)]
pub enum PngError {
    /// The machine has no font.
    NoFont,
    /// The picture could not be drawn.
    Drawing(String),
}

impl From<&PngError> for Text {
    fn from(error: &PngError) -> Text {
        match error {
            PngError::NoFont => catalogue::PNG_NO_FONT.into(),
            PngError::Drawing(why) => statement!(catalogue::PNG_DRAWING, why = why),
        }
    }
}

impl fmt::Display for PngError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", Text::from(self))
    }
}

impl std::error::Error for PngError {}

/// The card of what a run decided on, as a PNG of twice its size with the machine's fonts; none
/// where there is no card.
///
/// # Errors
/// When the machine has no font, or the picture cannot be drawn.
pub fn card_png(run: &Run, analysis: &Analysis) -> Result<Option<Vec<u8>>, PngError> {
    let Some(svg) = card_svg(run, analysis) else { return Ok(None) };
    let mut fonts = Database::new();
    fonts.load_system_fonts();
    drawn(&svg, fonts).map(Some)
}

fn drawn(svg: &str, fonts: Database) -> Result<Vec<u8>, PngError> {
    if fonts.is_empty() {
        return Err(PngError::NoFont);
    }
    let failed = |why: &dyn fmt::Display| PngError::Drawing(why.to_string());
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| failed(&error))?;
    let size = tree.size();
    let [width, height] = [size.width(), size.height()].map(|side| (side * SCALE).ceil() as u32);
    let mut picture =
        Pixmap::new(width, height).ok_or_else(|| failed(&format!("{width} x {height} pixels")))?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut picture.as_mut());
    picture.encode_png().map_err(|error| failed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_fonts_says_so() {
        let error = drawn("<svg xmlns=\"http://www.w3.org/2000/svg\"/>", Database::new());
        let error = error.expect_err("there is no font").to_string();
        assert!(error.contains("no font") && !error.contains('\n'), "{error}");
    }
}
