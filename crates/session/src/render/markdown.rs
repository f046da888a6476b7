//! Exports a session as Markdown for any viewer: prompts and answers verbatim, thinking and tool calls collapsible,
//! edits as diffs.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::call::hunk_header;
use super::clock::day_and_time;
use super::text::{is_blank, size};
use super::tool::{Around, ToolLine};
use super::tool_use::Call;
use crate::error::SessionError;
use crate::message::{Block, Image, Message, Part, ToolResult};
use crate::model::RowKind;
use crate::text::Text;
use crate::time::Millis;
use crate::transcript::Transcript;

/// Limits of one piece: rows, and the bytes behind them in the file.
const ROWS: usize = 500;
const BYTES: u64 = 128 * 1024;
/// Longer texts and results are cut, with a note of the rest.
const MAX_TEXT: usize = 64 * 1024;
/// Longer arguments, and those of several lines, get their own block.
const MOST_IN_A_LINE: usize = 80;

/// Requests a piece of the export.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Export {
    about: About,
    home: Option<String>,
    #[serde(default)]
    cursor: Cursor,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct About {
    id: String,
    title: String,
    cwd: Option<String>,
    branch: Option<String>,
    model: Option<String>,
}

/// The progress of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Cursor {
    /// The first row not yet written.
    next: usize,
    /// The kind of the last message written.
    previous: Option<RowKind>,
    /// When the first message began.
    from: Option<Millis>,
    /// When the last message ended. The file's own time may be later.
    to: Option<Millis>,
}

/// A piece of the document.
#[derive(Debug, Serialize)]
pub(crate) struct Piece {
    cursor: Cursor,
    lines: Vec<String>,
    /// The document's head, in the last piece.
    head: Vec<String>,
}

impl Export {
    /// Writes the next piece.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub(crate) fn piece_of(&self, transcript: &mut Transcript) -> Result<Piece, SessionError> {
        let (mut cursor, mut lines, mut bytes) = (self.cursor, Vec::new(), 0);
        for row in transcript.rows(cursor.next, ROWS) {
            if bytes > 0 && bytes + row.bytes > BYTES {
                break;
            }
            cursor.next += 1;
            if matches!(row.kind, RowKind::Meta | RowKind::Other) {
                continue; // no part of what people said and saw
            }
            bytes += row.bytes;
            let message = transcript.message(row.id, MAX_TEXT)?;
            let text = self.message(&message, cursor.previous);
            if !text.is_empty() {
                cursor.from = cursor.from.or(message.start);
                cursor.to = message.end.or(message.start).or(cursor.to);
                cursor.previous = Some(message.kind);
                lines.extend(text);
            }
        }
        Ok(Piece { head: self.head(&cursor), cursor, lines })
    }

    fn head(&self, cursor: &Cursor) -> Vec<String> {
        let about = &self.about;
        let mut lines = vec![format!("# {}", about.title), String::new()];
        let mut fact =
            |name: &str, value: Option<String>| lines.extend(value.map(|value| format!("- {name}: {value}")));
        let code = |text: &String| format!("`{text}`");
        fact("Session", Some(code(&about.id)));
        fact("Folder", about.cwd.as_ref().map(code));
        fact("Branch", about.branch.as_ref().map(code));
        fact("Model", about.model.clone());
        let span = |from| format!("{} to {}", day_and_time(from), day_and_time(cursor.to.unwrap_or(from)));
        fact("From", cursor.from.map(span));
        lines.push(String::new());
        lines
    }

    /// A message, followed by an empty line. A heading stands only where the speaker changes.
    fn message(&self, message: &Message, previous: Option<RowKind>) -> Vec<String> {
        let mut document = Document::default();
        let goes_on = message.kind == RowKind::Reply && previous == Some(RowKind::Reply);
        if let Some(heading) = heading(message.kind).filter(|_| !goes_on) {
            let time = message.start.map(|time| format!(" · {}", day_and_time(time))).unwrap_or_default();
            document.line(format!("## {heading}{time}"));
            document.line("");
        } else if message.kind == RowKind::Interrupted {
            return vec!["*Interrupted.*".to_owned(), String::new()];
        }
        let before = document.0.len();
        let around =
            Around { cwd: self.about.cwd.as_deref(), home: self.home.as_deref(), is_ended: true, ..Around::default() };
        for block in &message.blocks {
            document.block(block, message.kind, &around);
        }
        if document.0.len() > before { document.0 } else { Vec::new() }
    }
}

fn heading(kind: RowKind) -> Option<&'static str> {
    match kind {
        RowKind::Prompt | RowKind::Command => Some("You"),
        RowKind::Reply => Some("Claude"),
        RowKind::Notice => Some("Claude Code"),
        RowKind::Compaction => Some("Compacted"),
        RowKind::Summary => Some("What came before, in short"),
        RowKind::Output | RowKind::Interrupted | RowKind::Meta | RowKind::Results | RowKind::Other => None,
    }
}

#[derive(Debug, Default)]
struct Document(Vec<String>);

impl Document {
    fn line(&mut self, line: impl Into<String>) {
        self.0.push(line.into());
    }

    fn text(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        self.0.extend(text.split('\n').map(str::to_owned));
    }

    /// A code block with a fence longer than any within.
    fn code(&mut self, text: &str, language: &str) {
        let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
        let fence = "`".repeat(longest.max(2) + 1);
        self.line(format!("{fence}{language}"));
        self.text(text.strip_suffix('\n').unwrap_or(text));
        self.line(fence);
    }

    fn cut_note(&mut self, text: &Text) {
        let missing = text.bytes.saturating_sub(text.text.len());
        if missing > 0 {
            self.line(format!("*… and {} more*", size(missing)));
        }
    }

    fn unfold(&mut self, summary: &str, body: impl FnOnce(&mut Self)) {
        self.line("<details>");
        self.line(format!("<summary>{summary}</summary>"));
        self.line("");
        body(self);
        self.line("");
        self.line("</details>");
        self.line("");
    }

    fn result(&mut self, result: &ToolResult) {
        for part in &result.content {
            match part {
                Part::Text(text) => {
                    self.code(&text.text, "");
                    self.cut_note(text);
                }
                Part::Image(part) => self.line(image(part)),
                Part::Unknown { raw } => self.code(raw.get(), "json"),
            }
        }
    }

    fn input(&mut self, call: &Call<'_>) {
        let text = |name: &str| call.input.get(name).and_then(Json::as_str);
        let arguments = call.arguments();
        if arguments.is_empty() {
            return;
        }
        match (call.name, text("command"), text("content")) {
            ("Bash", Some(command), _) => self.code(command, "sh"),
            ("Write", _, Some(content)) => self.code(content, ""),
            _ => arguments.iter().for_each(|(name, value)| self.argument(name, value)),
        }
        self.line("");
    }

    fn argument(&mut self, name: &str, value: &Json) {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if text.contains('\n') || text.len() > MOST_IN_A_LINE {
            self.line(format!("{name}:"));
            self.line("");
            return self.code(&text, "");
        }
        let ticks = if text.contains('`') { "``" } else { "`" };
        let blank = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
        self.line(format!("- {name}: {ticks}{blank}{text}{blank}{ticks}"));
    }

    fn call(&mut self, call: &Call<'_>, around: &Around<'_>) {
        let line = ToolLine::of(call, around);
        let mut summary = format!("<b>{}</b>", escaped(&line.name));
        let argument = escaped(&line.fitted());
        if !argument.is_empty() {
            summary += &format!(" <code>{argument}</code>");
        }
        for fact in [line.detail.as_str(), line.standing.words] {
            if !fact.is_empty() && fact != "ok" {
                summary += &format!(" · {fact}");
            }
        }
        self.unfold(&summary, |inside| {
            if let Some(change) = call.change().filter(|change| !change.hunks.is_empty()) {
                let hunks = change
                    .hunks
                    .iter()
                    .flat_map(|hunk| std::iter::once(hunk_header(hunk)).chain(hunk.lines.iter().cloned()));
                return inside.code(&hunks.collect::<Vec<_>>().join("\n"), "diff");
            }
            inside.input(call);
            if let Some(result) = call.result {
                inside.result(result);
            }
        });
    }

    fn block(&mut self, block: &Block, kind: RowKind, around: &Around<'_>) {
        match block {
            Block::Text(text) => {
                match kind {
                    RowKind::Output => self.code(&text.text, ""),
                    _ => self.text(text.text.trim_matches(is_blank)),
                }
                self.cut_note(text);
                self.line("");
            }
            Block::Thinking(text) => {
                let thought = text.text.trim_matches(is_blank);
                if !thought.is_empty() {
                    self.unfold("Thinking", |inside| {
                        inside.text(thought);
                        inside.cut_note(text);
                    });
                }
            }
            Block::ToolResult { result, .. } => self.unfold("<b>Result</b>", |inside| inside.result(result)),
            Block::Image(block) => {
                self.line(image(block));
                self.line("");
            }
            Block::ToolUse { .. } => {
                if let Some(call) = Call::of(block) {
                    self.call(&call, around);
                }
            }
            Block::Unknown { .. } => {}
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn image(image: &Image) -> String {
    let kind = if image.media_type.is_empty() { "unknown type" } else { &image.media_type };
    format!("*(image, {kind}, {})*", size(image.encoded_bytes * 3 / 4))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::blocks;
    use super::*;
    use crate::id::NodeId;

    fn export() -> Export {
        let about = json!({"about": {"id": "abc", "title": "Fix it", "cwd": "/p", "branch": "main"}});
        serde_json::from_value(about).unwrap()
    }

    fn message(kind: RowKind, blocks: Vec<Block>) -> Message {
        Message { id: NodeId::from_number(1), kind, start: None, end: None, blocks }
    }

    fn said(kind: RowKind, text: &str, previous: Option<RowKind>) -> Vec<String> {
        export().message(&message(kind, blocks(&json!([{"type": "text", "text": text}]))), previous)
    }

    fn call(name: &str, input: Json, more: Json) -> Vec<String> {
        let mut block = json!({"type": "tool_use", "id": "t", "name": name, "input": input, "status": "done"});
        block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        export().message(&message(RowKind::Reply, blocks(&json!([block]))), Some(RowKind::Reply))
    }

    fn summary(name: &str, input: Json, more: Json) -> String {
        let line = call(name, input, more)[1].clone();
        line.trim_start_matches("<summary>").trim_end_matches("</summary>").to_owned()
    }

    #[test]
    fn speakers_have_headings_and_replies_that_follow_have_one() {
        assert_eq!(said(RowKind::Prompt, "Do it.", None), ["## You", "", "Do it.", ""]);
        assert_eq!(said(RowKind::Reply, "Yes.", Some(RowKind::Prompt)), ["## Claude", "", "Yes.", ""]);
        assert_eq!(said(RowKind::Reply, "Done.", Some(RowKind::Reply)), ["Done.", ""]);
        assert_eq!(said(RowKind::Interrupted, "", None), ["*Interrupted.*", ""]);
    }

    #[test]
    fn a_fence_is_longer_than_any_within() {
        let result = json!({"result": {"content": [{"type": "text", "text": "````md\nx\n````\n"}]}});
        #[rustfmt::skip]
        let expected = [
            "<details>", "<summary><b>Read</b> <code>a.md</code></summary>", "",
            "- file_path: `a.md`", "",
            "`````", "````md", "x", "````", "`````",
            "", "</details>", "",
        ];
        assert_eq!(call("Read", json!({"file_path": "a.md"}), result), expected);
    }

    #[test]
    fn an_edit_is_a_diff() {
        let hunk = json!({"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]});
        let record = json!({"filePath": "/p/a.txt", "structuredPatch": [hunk]});
        let lines = call("Edit", json!({"file_path": "/p/a.txt"}), json!({"result": {"record": record}}));
        assert_eq!(lines[3..8], ["```diff", "@@ -1,1 +1,1 @@", "-a", "+b", "```"]);
    }

    #[test]
    fn a_call_is_named_as_in_a_transcript() {
        let bash = json!({"command": "make", "description": "Build"});
        assert_eq!(summary("Bash", bash, json!({})), "<b>Bash</b> <code>make</code>");
        let patch = json!([{"lines": ["-a", "-b", "+c"]}]);
        let record = json!({"filePath": "/p/a.txt", "structuredPatch": patch, "userModified": true});
        let edit = summary("Edit", json!({"file_path": "/p/a.txt"}), json!({"result": {"record": record}}));
        assert_eq!(edit, "<b>Edit</b> <code>a.txt</code> · +1 −2, changed by you");
        let changed = summary("Edit", json!({"file_path": "/p/a.txt"}), json!({"status": "changed"}));
        assert_eq!(changed, "<b>Edit</b> <code>a.txt</code> · changed by you");
        assert_eq!(
            summary("New", json!(["odd"]), json!({"status": "running"})),
            "<b>New</b> <code>odd</code> · no result"
        );
    }

    #[test]
    fn html_is_escaped() {
        let lines = call("Bash", json!({"command": "a <b> && c"}), json!({"status": "failed"}));
        assert_eq!(lines[1], "<summary><b>Bash</b> <code>a &lt;b&gt; &amp;&amp; c</code> · failed</summary>");
        assert_eq!(lines[3..6], ["```sh", "a <b> && c", "```"]);
    }

    #[test]
    fn cut_texts_are_marked_and_empty_ones_left_out() {
        let cut = vec![Block::Text(Text { text: "xx".to_owned(), bytes: 2_000_002 })];
        let lines = export().message(&message(RowKind::Reply, cut), None);
        assert!(lines.contains(&"*… and 2.0 MB more*".to_owned()));
        assert!(export().message(&message(RowKind::Reply, Vec::new()), None).is_empty());
        assert!(export().message(&message(RowKind::Reply, blocks(&json!([{"type": "odd"}]))), None).is_empty());
    }

    #[test]
    fn a_session_is_written_in_pieces_from_its_first_message_to_its_last() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        let long = "word ".repeat(10_000);
        let line = |number: usize| {
            let (kind, text) = if number.is_multiple_of(2) { ("user", "What?") } else { ("assistant", long.as_str()) };
            let time = format!("2026-01-05T09:{number:02}:00.000Z");
            json!({"type": kind, "uuid": format!("u{number}"), "timestamp": time, "message": {"content": text}})
                .to_string()
        };
        std::fs::write(&file, (0..12).map(line).collect::<Vec<_>>().join("\n") + "\n").unwrap();
        let mut transcript = Transcript::open(file, &crate::Cancel::new()).unwrap();
        let (mut export, mut lines, mut pieces) = (export(), Vec::new(), 0);
        loop {
            let piece = export.piece_of(&mut transcript).unwrap();
            if piece.cursor == export.cursor {
                break;
            }
            pieces += 1;
            export.cursor = piece.cursor;
            lines.extend(piece.lines);
        }
        assert!(pieces > 1, "300 kB make several");
        let count = |text: &str| lines.iter().filter(|line| line.starts_with(text)).count();
        assert_eq!([count("## You"), count("## Claude"), count("What?"), count("word word")], [6, 6, 6, 6]);
        let (from, to) = (Millis::parse("2026-01-05T09:00:00.000Z"), Millis::parse("2026-01-05T09:11:00.000Z"));
        assert_eq!((export.cursor.from, export.cursor.to), (from, to));
        let span = format!("- From: {} to {}", day_and_time(from.unwrap()), day_and_time(to.unwrap()));
        assert!(export.head(&export.cursor).contains(&span));
    }

    #[test]
    fn the_head_has_the_known_facts() {
        let expected = ["# Fix it", "", "- Session: `abc`", "- Folder: `/p`", "- Branch: `main`", ""];
        assert_eq!(export().head(&Cursor::default()), expected);
    }
}
