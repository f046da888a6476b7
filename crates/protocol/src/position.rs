//! Positions in a text as the protocol counts them: lines from 0, columns in UTF-16 units from 0, the end exclusive.
//!
//! Wire format: LSP 3.17 `Position` and `Range`, which the IDE notifications borrow.

use serde::{Deserialize, Serialize};

/// A line number, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Line0(pub u32);

/// A column, counted from 0 in UTF-16 code units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Utf16Col(pub u32);

/// A position between two characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The line.
    pub line: Line0,
    /// The column in that line.
    pub character: Utf16Col,
}

/// A range between two positions, the end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The first position.
    pub start: Position,
    /// The position after the last character.
    pub end: Position,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_two_plain_numbers_on_the_wire() {
        let place = Position { line: Line0(10), character: Utf16Col(5) };
        let json = serde_json::to_string(&place).unwrap();
        assert_eq!(json, r#"{"line":10,"character":5}"#);
        assert_eq!(serde_json::from_str::<Position>(&json).unwrap(), place);
    }

    #[test]
    fn places_are_ordered_by_line_first() {
        let early = Position { line: Line0(1), character: Utf16Col(80) };
        let late = Position { line: Line0(2), character: Utf16Col(0) };
        assert!(early < late);
    }
}
