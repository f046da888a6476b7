//! Replaces a cell's outputs with those of a run.

use std::ops::Range;

use serde::Deserialize;

use crate::{Cell, NotebookError, read};

/// A cell as it was when it was run, and its new outputs.
#[derive(Debug, Clone, Deserialize)]
pub struct Ran {
    /// Its position.
    pub index: usize,
    /// Its id.
    pub id: Option<String>,
    /// Its text.
    pub source: String,
    /// The number of the run.
    pub count: Option<u64>,
    /// Its outputs: JSON as Jupyter writes it, indented by one space.
    pub outputs: String,
}

/// The notebook's text with the outputs and number of a run; the rest is unchanged.
///
/// # Errors
/// The text is no notebook, or the cell no longer exists.
pub fn put(text: &[u8], ran: &Ran) -> Result<String, NotebookError> {
    let notebook = read(text)?;
    let text = std::str::from_utf8(text).map_err(|error| NotebookError::NoText(error.valid_up_to()))?;
    let cell = find_again(&notebook.cells, ran).ok_or(NotebookError::CellIsGone)?;
    let count = ran.count.map_or_else(|| "null".to_owned(), |count| count.to_string());
    let mut changed = text.to_owned();
    let mut changes = changes(text, cell, &[("execution_count", &count), ("outputs", &ran.outputs)]);
    changes.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
    for (place, new) in changes {
        changed.replace_range(place, &new);
    }
    Ok(changed)
}

/// Finds the cell by its id, else by its position, else by its text.
fn find_again<'a>(cells: &'a [Cell], ran: &Ran) -> Option<&'a Cell> {
    let is_same =
        |cell: &&Cell| cell.kind == "code" && cell.id == ran.id && (cell.id.is_some() || cell.source == ran.source);
    if let Some(cell) = cells.get(ran.index).filter(is_same) {
        return Some(cell);
    }
    let mut found = cells.iter().filter(is_same);
    found.next().filter(|_| found.next().is_none())
}

/// The replacements for these keys. Missing keys are added at the beginning of the cell.
fn changes(text: &str, cell: &Cell, values: &[(&str, &str)]) -> Vec<(Range<usize>, String)> {
    let behind = text.get(cell.at.inside..).unwrap_or_default();
    let (rest, below) = behind.split_once('\n').unwrap_or((behind, ""));
    let lead = rest.trim().is_empty().then(|| below.get(..below.len() - below.trim_start().len()).unwrap_or_default());
    let (mut changes, mut missing) = (Vec::new(), Vec::new());
    for (key, json) in values {
        let place = if *key == "outputs" { &cell.at.outputs } else { &cell.at.count };
        if let Some(place) = place {
            let before = text.get(..place.start).unwrap_or_default();
            let line = before.rsplit_once('\n').map_or(before, |(_, line)| line);
            changes.push((place.clone(), in_style(json, line)));
        } else {
            let before = format!("\"{key}\": ");
            let line = format!("{}{before}", lead.unwrap_or("{"));
            let start = lead.map(|lead| format!("\n{lead}")).unwrap_or_default();
            missing.push(format!("{start}{before}{},", in_style(json, &line)));
        }
    }
    if !missing.is_empty() {
        changes.push((cell.at.inside..cell.at.inside, missing.join(if lead.is_some() { "" } else { " " })));
    }
    changes
}

/// Reindents JSON if its key starts a line; else puts it on one line.
fn in_style(json: &str, before: &str) -> String {
    let Some(lead) = lead_of_key(before) else {
        let lines = json.lines().map(|line| {
            let line = line.trim_start_matches(' ');
            line.strip_suffix(',').map_or_else(|| line.to_owned(), |line| format!("{line}, "))
        });
        return lines.collect();
    };
    // A cell's key is on the third level.
    let unit =
        lead.get(..lead.len() / 3).filter(|unit| !unit.is_empty() && unit.len() * 3 == lead.len()).unwrap_or(" ");
    let mut lines = json.split('\n');
    let mut styled = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let text = line.trim_start_matches(' ');
        styled.push('\n');
        styled.push_str(lead);
        styled.push_str(&unit.repeat(line.len() - text.len()));
        styled.push_str(text);
    }
    styled
}

/// The indent of a line that consists of a key.
fn lead_of_key(line: &str) -> Option<&str> {
    let key = line.trim_start();
    let name = key.trim_end().strip_suffix(':')?.trim_end().strip_prefix('"')?.strip_suffix('"')?;
    let is_name = !name.is_empty() && name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_');
    line.get(..line.len() - key.len()).filter(|_| is_name)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const OUTPUTS: &str = "[\n {\n  \"name\": \"stdout\",\n  \"text\": [\n   \"ü\\n\"\n  ]\n }\n]";

    fn ran(index: usize, id: Option<&str>, source: &str) -> Ran {
        let (id, source) = (id.map(str::to_owned), source.to_owned());
        Ran { index, id, source, count: Some(7), outputs: OUTPUTS.to_owned() }
    }

    fn notebook() -> Value {
        json!({
            "cells": [
                { "cell_type": "markdown", "source": ["# ü"] },
                { "cell_type": "code", "execution_count": 3, "id": "a", "outputs": [{ "old": [] }], "source": "x" },
                { "cell_type": "code", "execution_count": null, "outputs": [], "source": ["y"] },
            ],
            "nbformat": 4,
        })
    }

    fn written(notebook: &Value, indent: Option<&[u8]>) -> String {
        let Some(indent) = indent else { return notebook.to_string() };
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent);
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        serde::Serialize::serialize(notebook, &mut serializer).unwrap();
        String::from_utf8(bytes).unwrap() + "\n"
    }

    #[test]
    fn outputs_are_written_as_the_notebook_is_and_nothing_else_changes() {
        for indent in [Some(&b" "[..]), Some(b"  "), Some(b"\t")] {
            let before = written(&notebook(), indent);
            let after = put(before.as_bytes(), &ran(1, Some("a"), "x")).unwrap();
            let mut expected = notebook();
            expected["cells"][1]["execution_count"] = 7.into();
            expected["cells"][1]["outputs"] = serde_json::from_str(OUTPUTS).unwrap();
            assert_eq!(after, written(&expected, indent));
        }
    }

    #[test]
    fn a_notebook_on_one_line_stays_on_one() {
        let before = r#"{"cells": [{"cell_type": "code", "execution_count": null, "outputs": [], "source": "y"}], "nbformat": 4}"#;
        let after = put(before.as_bytes(), &ran(0, None, "y")).unwrap();
        assert_eq!(
            after,
            r#"{"cells": [{"cell_type": "code", "execution_count": 7, "outputs": [{"name": "stdout", "text": ["ü\n"]}], "source": "y"}], "nbformat": 4}"#
        );
    }

    #[test]
    fn missing_fields_come_first_in_the_cell() {
        for (cell, begins) in [
            (
                "{\n   \"cell_type\": \"code\",\n   \"source\": \"y\"\n  }",
                "{\n   \"execution_count\": 7,\n   \"outputs\": [\n    {\n",
            ),
            (
                "{\"cell_type\": \"code\", \"source\": \"y\"}",
                "{\"execution_count\": 7, \"outputs\": [{\"name\": \"stdout\", ",
            ),
        ] {
            let after =
                put(format!("{{\"cells\": [\n  {cell}\n ], \"nbformat\": 4}}").as_bytes(), &ran(0, None, "y")).unwrap();
            assert!(after.contains(begins), "{after}");
            assert_eq!(read(after.as_bytes()).unwrap().cells[0].outputs, 1);
        }
    }

    #[test]
    fn a_cell_that_has_moved_is_found_again() {
        let text = written(&notebook(), Some(b" "));
        for (ran, found) in [
            (ran(2, Some("a"), "other"), Some(1)),
            (ran(0, None, "y"), Some(2)),
            (ran(2, None, "z"), None),
            (ran(1, Some("b"), "x"), None),
            (ran(0, None, "# ü"), None),
        ] {
            let after = put(text.as_bytes(), &ran);
            let counts = after.as_ref().map(|text| read(text.as_bytes()).unwrap());
            match (counts, found) {
                (Ok(notebook), Some(index)) => assert_eq!(notebook.cells[index].count, Some(7)),
                (Err(error), None) => assert_eq!(error.to_string(), "the cell was changed while it ran"),
                (other, _) => panic!("{other:?} {ran:?}"),
            }
        }
        let twice = text.replace("\"x\"", "\"y\"").replace("\"id\": \"a\",", "");
        assert!(put(twice.as_bytes(), &ran(0, None, "y")).is_err(), "two read alike");
    }
}
