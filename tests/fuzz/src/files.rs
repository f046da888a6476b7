//! Files of others: transcripts, what is drawn of them, notebooks.

use std::{convert::Infallible, fs, io::Write};

use claude_ide_notebook::{Ran, put, read};
use claude_ide_session::{
    Block, Cancel, ConfigDir, Millis, NodeId, Row, RowKind, SearchOptions, SessionId, Spoken, Store, Transcript, infer,
    render::{Content, RenderRequest, Rows, grow, plain_lines},
    search,
};
use serde_json::json;

/// Any bytes can be opened, laid out, read in full, searched and summarised, whole or in two pieces, with the same result.
pub(crate) fn transcript(bytes: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.jsonl");
    let cut = bytes.iter().map(|byte| usize::from(*byte)).sum::<usize>() % (bytes.len() + 1);
    fs::write(&file, &bytes[..cut]).unwrap();
    let mut grown = Transcript::open(&file, &Cancel::new()).unwrap();
    fs::File::options().append(true).open(&file).unwrap().write_all(&bytes[cut..]).unwrap();
    grown.refresh(&Cancel::new()).unwrap();
    let mut whole = Transcript::open(&file, &Cancel::new()).unwrap();
    assert_eq!(grown.rows(0, usize::MAX), whole.rows(0, usize::MAX));
    for row in whole.rows(0, 1000) {
        serde_json::to_value(whole.message(row.id, 1000).unwrap()).unwrap();
    }
    infer(&file, Millis(0)).unwrap();
    Store::new(ConfigDir::at(dir.path()), None).get(&file);
    let options = SearchOptions { pattern: "a".into(), ..SearchOptions::default() };
    search(&[(SessionId::new("s"), file)], &options, &Cancel::new(), |_| {}).unwrap();
}

/// A transcript of one reply with one block.
struct Reply(Block);

impl Rows for Reply {
    type Error = Infallible;

    fn row(&mut self, at: usize) -> Option<Row> {
        let row = Row {
            id: NodeId::from_number(1),
            kind: RowKind::Reply,
            start: None,
            end: None,
            model: None,
            usage: None,
            tools: Vec::new(),
            branch: None,
            bytes: 0,
            continues: false,
        };
        (at == 0).then_some(row)
    }

    fn content(&mut self, _at: usize, _row: &Row) -> Result<Content<'_>, Infallible> {
        Ok(Content { blocks: std::slice::from_ref(&self.0).into(), previous: None, fence: None, agents: Vec::new() })
    }
}

/// What is shown of a text moves no cursor, and a text that grows looks as if it had been there at once.
pub(crate) fn render(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let is_plain = |line: &str| !line.chars().any(|c| c.is_control() && c != '\t');
    assert!(plain_lines(&text).iter().all(|line| is_plain(line)), "{text:?}");
    let spoken = |block: serde_json::Value| {
        let line = json!({"message": {"content": [block]}}).to_string();
        Spoken::parse(line.as_bytes(), usize::MAX).unwrap()
    };
    let drawn = |block: Block| {
        let request = json!({"rows": [0], "max_lines": 1000, "cwd": "/p", "home": "/h"});
        let request: RenderRequest = serde_json::from_value(request).unwrap();
        let mut reply = Reply(block);
        let items = request.draw(&mut reply).unwrap().remove(0).items;
        let lines: Vec<_> = items.iter().flat_map(|item| item.lines.clone()).collect();
        assert!(lines.iter().all(|line| is_plain(line)), "{lines:?}");
        for item in &items {
            let rows = item.lines.len();
            assert!(item.folds.iter().all(|fold| fold.first <= fold.last && fold.last < rows), "{item:?}");
            assert!(item.prose.iter().all(|prose| prose.row + prose.count <= rows), "{item:?}");
            for mark in &item.marks {
                let line = &item.lines[mark.row];
                assert!(line.is_char_boundary(mark.col), "{mark:?} of {line:?}");
                assert!(
                    mark.end_col.is_none_or(|end| end >= mark.col && line.is_char_boundary(end)),
                    "{mark:?} of {line:?}"
                );
            }
        }
        serde_json::to_value(items).unwrap();
    };
    let block = |value| spoken(value).blocks.remove(0);
    drawn(block(json!({"type": "text", "text": text})));
    let (_, ended) = spoken(json!({"type": "tool_result", "tool_use_id": "t", "content": text})).results.remove(0);
    for name in ["Bash", "Edit", "Write", "Read", "Grep", "TodoWrite", "Task", &text] {
        let input = serde_json::from_str(&text).unwrap_or_else(|_| json!({"command": text, "file_path": text}));
        let mut call = block(json!({"type": "tool_use", "id": "t", "name": name, "input": input}));
        if let Block::ToolUse { result, .. } = &mut call {
            *result = Some(Box::new(ended.clone()));
        }
        drawn(call);
    }
    if let Some((tail, added)) = text.split_once('|') {
        drop(grow(tail, added));
    }
}

/// A run's outputs go where the old ones were, and nothing else changes.
pub(crate) fn notebook(bytes: &[u8]) {
    let Ok(before) = read(bytes) else { return };
    let code = before.cells.iter().filter(|cell| cell.kind == "code");
    for cell in code {
        let (index, id, source) = (cell.index, cell.id.clone(), cell.source.clone());
        let outputs = r#"[{"output_type":"stream","name":"stdout","text":["a\n"]}]"#.to_owned();
        let Ok(text) = put(bytes, &Ran { index, id, source, count: Some(7), outputs }) else { continue };
        let after = read(text.as_bytes()).unwrap();
        assert_eq!(after.cells.len(), before.cells.len());
        for (old, new) in before.cells.iter().zip(&after.cells) {
            assert_eq!((&old.kind, &old.id, &old.source), (&new.kind, &new.id, &new.source));
            let expected = if old.index == index { (Some(7), 1) } else { (old.count, old.outputs) };
            assert_eq!((new.count, new.outputs), expected, "{text}");
        }
    }
}
