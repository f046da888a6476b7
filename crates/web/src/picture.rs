//! An address as a QR code of characters, two of its rows per line of text.

use qrcode::{Color, EcLevel, QrCode};

/// Light margin (ISO/IEC 18004, 5.3.8: four modules; readers manage with two).
const QUIET: usize = 2;

/// The lines of text, dark on light; none if the text is too long for a code.
///
/// A light module is a full block, which is bright on a dark screen.
#[must_use]
pub fn rows(text: &str) -> Vec<String> {
    let Ok(code) = QrCode::with_error_correction_level(text, EcLevel::L) else { return Vec::new() };
    let width = code.width();
    let colors = code.to_colors();
    let is_light = |row: usize, column: usize| {
        let inside = row.checked_sub(QUIET).zip(column.checked_sub(QUIET));
        let at = inside.filter(|(row, column)| *row < width && *column < width);
        at.and_then(|(row, column)| colors.get(row * width + column)).is_none_or(|color| *color == Color::Light)
    };
    let side = width + 2 * QUIET;
    let draw = |row: usize| {
        let half = |column: usize| match (is_light(row, column), is_light(row + 1, column)) {
            (true, true) => '█',
            (true, false) => '▀',
            (false, true) => '▄',
            (false, false) => ' ',
        };
        (0..side).map(half).collect()
    };
    (0..side).step_by(2).map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_square_and_has_its_three_eyes() {
        let rows = rows("http://127.0.0.1:12345/#code=abcdefghijklmnopqrstuv");
        let width = rows[0].chars().count();
        assert!(rows.iter().all(|row| row.chars().count() == width) && rows.len() == width.div_ceil(2));
        assert!(rows[0].chars().all(|char| char == '█'), "a quiet zone");
        let eye = |row: &str| row.chars().skip(2).take(7).collect::<String>();
        assert_eq!(eye(&rows[1]), " ▄▄▄▄▄ ");
        assert!(super::rows(&"x".repeat(5000)).is_empty());
    }
}
