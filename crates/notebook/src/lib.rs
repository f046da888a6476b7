//! Jupyter notebooks (nbformat 4) as text: their cells, and the outputs of a run.
//!
//! A notebook is never rewritten as a whole: new outputs replace the old ones in place.
//!
//! Invariants: a replaced range is exactly a value that the parser read; everything around it stays byte for byte; text
//! that is not JSON yields an error with line and column.

mod put;

use std::{borrow::Cow, ops::Range};

use claude_ide_protocol::without_lone_surrogates;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

pub use put::{Ran, put};

/// A parsed notebook.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Notebook {
    /// All cells, in order.
    pub cells: Vec<Cell>,
    /// The name of its kernel (`metadata.kernelspec.name`).
    pub kernel: Option<String>,
    /// The language of its code.
    pub language: Option<String>,
}

/// One cell.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Cell {
    /// "code", "markdown", "raw", or a type that this module does not know.
    pub kind: String,
    /// Its id, since nbformat 4.5.
    pub id: Option<String>,
    /// Its text.
    pub source: String,
    /// The number of its last run.
    pub count: Option<u64>,
    /// The number of its outputs.
    pub outputs: usize,
    /// Its position among the cells.
    pub index: usize,
    /// Where its outputs are in the text.
    #[serde(skip)]
    at: Places,
}

/// Byte offsets in the text.
#[derive(Debug, PartialEq, Eq)]
struct Places {
    /// The start of the cell's object, after the brace.
    inside: usize,
    /// The value of `execution_count`.
    count: Option<Range<usize>>,
    /// The value of `outputs`.
    outputs: Option<Range<usize>>,
}

/// Why a text is no notebook, or a run could not be stored.
#[derive(Debug, thiserror::Error)]
pub enum NotebookError {
    /// It is not JSON.
    #[error("it is no JSON ({0})")]
    NoJson(serde_json::Error),
    /// It is not UTF-8.
    #[error("it is no JSON (its byte {0} is not UTF-8)")]
    NoText(usize),
    /// It is other JSON, or an older format.
    #[error("it is no notebook of nbformat 4")]
    OtherFormat,
    /// A cell is malformed.
    #[error("its cell {index} is broken ({source})")]
    BrokenCell {
        /// Its position, from 0.
        index: usize,
        /// The error.
        source: serde_json::Error,
    },
    /// The cell that was run no longer exists.
    #[error("the cell was changed while it ran")]
    CellIsGone,
}

#[derive(Deserialize)]
struct RawNotebook<'a> {
    #[serde(borrow)]
    cells: Vec<&'a RawValue>,
    nbformat: u64,
    #[serde(borrow, default)]
    metadata: Option<&'a RawValue>,
}

/// What each cell has, whatever its type.
#[derive(Deserialize)]
struct CellType {
    cell_type: String,
}

/// The types of nbformat 4, whose form is known.
const KNOWN_TYPES: [&str; 3] = ["code", "markdown", "raw"];

#[derive(Deserialize)]
struct RawCell<'a> {
    cell_type: String,
    #[serde(default)]
    id: Option<String>,
    source: Source,
    #[serde(borrow, default, deserialize_with = "present")]
    execution_count: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    outputs: Option<&'a RawValue>,
}

/// Keeps an explicit `null` apart from a missing field.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A text, as one string or as its lines.
#[derive(Deserialize)]
#[serde(untagged)]
enum Source {
    Whole(String),
    Lines(Vec<String>),
}

/// Unreadable parts count as absent.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Metadata {
    kernelspec: KernelSpec,
    language_info: Language,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct KernelSpec {
    name: Option<String>,
    language: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Language {
    name: Option<String>,
}

/// Parses a notebook.
///
/// # Errors
/// The text is no notebook of nbformat 4.
pub fn read(text: &[u8]) -> Result<Notebook, NotebookError> {
    let text = std::str::from_utf8(text).map_err(|error| NotebookError::NoText(error.valid_up_to()))?;
    let text: Cow<'_, str> = without_lone_surrogates(text); // of the same length
    let raw: RawNotebook<'_> = serde_json::from_str(&text)
        .map_err(|error| if error.is_data() { NotebookError::OtherFormat } else { NotebookError::NoJson(error) })?;
    if raw.nbformat != 4 {
        return Err(NotebookError::OtherFormat);
    }
    let mut cells = Vec::with_capacity(raw.cells.len());
    for (index, cell) in raw.cells.iter().enumerate() {
        cells.push(read_cell(index, cell, &text).map_err(|source| NotebookError::BrokenCell { index, source })?);
    }
    let metadata: Metadata = raw.metadata.and_then(|json| serde_json::from_str(json.get()).ok()).unwrap_or_default();
    let language = metadata.kernelspec.language.or(metadata.language_info.name);
    Ok(Notebook { cells, kernel: metadata.kernelspec.name, language })
}

/// The range of a part, which must be a slice of the text.
fn place(text: &str, part: &RawValue) -> Range<usize> {
    let start = part.get().as_ptr().addr().saturating_sub(text.as_ptr().addr()).min(text.len());
    start..start.saturating_add(part.get().len())
}

/// A cell. One of an unknown type is kept as it is, without a text: the others are read all the same.
fn read_cell(index: usize, json: &RawValue, text: &str) -> Result<Cell, serde_json::Error> {
    let raw: RawCell<'_> = match serde_json::from_str(json.get()) {
        Ok(raw) => raw,
        Err(error) => match serde_json::from_str(json.get()) {
            Ok(CellType { cell_type }) if !KNOWN_TYPES.contains(&cell_type.as_str()) => RawCell {
                cell_type,
                id: None,
                source: Source::Whole(String::new()),
                execution_count: None,
                outputs: None,
            },
            _ => return Err(error),
        },
    };
    let outputs: Vec<serde::de::IgnoredAny> = match raw.outputs {
        Some(outputs) => serde_json::from_str(outputs.get())?,
        None => Vec::new(),
    };
    Ok(Cell {
        kind: raw.cell_type,
        id: raw.id,
        source: match raw.source {
            Source::Whole(text) => text,
            Source::Lines(lines) => lines.concat(),
        },
        count: raw.execution_count.and_then(|json| serde_json::from_str(json.get()).ok()),
        outputs: outputs.len(),
        index,
        at: Places {
            inside: place(text, json).start.saturating_add(1),
            count: raw.execution_count.map(|json| place(text, json)),
            outputs: raw.outputs.map(|json| place(text, json)),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown", "id": "a",
   "metadata": {},
   "source": ["# ü\n", "\ud83d half"]
  },
  {"cell_type": "code", "metadata": {}, "execution_count": 3,
   "outputs": [
    {"output_type": "stream", "name": "stdout", "text": []}
   ], "source": "x"},
  {"cell_type": "code", "source": "y", "execution_count": null}
 ],
 "metadata": {"kernelspec": {"name": "ir", "language": "R"}},
 "nbformat": 4, "nbformat_minor": 5
}
"##;

    #[test]
    fn cells_report_their_contents() {
        let notebook = read(TEXT.as_bytes()).unwrap();
        assert_eq!((notebook.kernel.as_deref(), notebook.language.as_deref()), (Some("ir"), Some("R")));
        let [words, code, bare] = notebook.cells.as_slice() else { panic!("{notebook:?}") };
        assert_eq!((words.kind.as_str(), words.source.as_str()), ("markdown", "# ü\n\u{fffd} half"));
        assert_eq!(words.id.as_deref(), Some("a"));
        assert_eq!((code.source.as_str(), code.count, code.outputs), ("x", Some(3), 1));
        assert_eq!((bare.index, bare.count, bare.outputs), (2, None, 0));
    }

    #[test]
    fn a_non_notebook_is_reported_as_such() {
        for (text, said) in [
            ("", "it is no JSON (EOF while parsing a value at line 1 column 0)"),
            ("{\n \"cells\": [,]\n}", "it is no JSON (expected value at line 2 column 12)"),
            ("[]", "it is no notebook of nbformat 4"),
            (r#"{"cells": [], "nbformat": 3}"#, "it is no notebook of nbformat 4"),
            (r#"{"worksheets": [], "nbformat": 3}"#, "it is no notebook of nbformat 4"),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap_err().to_string(), said);
        }
        let newer =
            br#"{"cells": [{"cell_type": "chat", "turns": []}, {"cell_type": "code", "source": "x"}], "nbformat": 4}"#;
        let cells = read(newer).unwrap().cells;
        assert_eq!((cells[0].kind.as_str(), cells[0].source.as_str()), ("chat", ""));
        assert_eq!((cells[1].kind.as_str(), cells[1].source.as_str()), ("code", "x"));
        let error = read(br#"{"cells": [{"cell_type": "code", "source": 1}], "nbformat": 4}"#).unwrap_err().to_string();
        assert!(error.starts_with("its cell 0 is broken (data did not match"), "{error}");
        assert!(read(br#"{"cells": [], "metadata": {"kernelspec": 1}, "nbformat": 4}"#).unwrap().kernel.is_none());
    }
}
