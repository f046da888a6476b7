//! An item is a piece of a message as lines, with its highlights, folds and targets. Rows count from 0.

use serde::{Serialize, Serializer};

use super::fence::Fence;
use super::said::Place;
use super::text::{Origin, left_note, one_line};

/// Longer texts are cut, with a note of the rest.
pub(super) const MAX_LINES: usize = 1000;
/// Indent of the lines below a call.
pub(super) const BODY: usize = 4;

/// What a piece of text is, which decides its highlight group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they say what they are")]
pub enum Look {
    Plain,
    Added,
    AddedCount,
    Agent,
    Argument,
    Branch,
    Claude,
    Command,
    Dim,
    Error,
    Failed,
    Hunk,
    Image,
    Input,
    Notice,
    Ok,
    Preview,
    Rejected,
    Removed,
    RemovedCount,
    Result,
    Rule,
    Running,
    Thinking,
    Time,
    Tool,
    You,
    YouLine,
}

impl Serialize for Look {
    /// The name of its highlight group.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Plain => serializer.serialize_str(""),
            _ => serializer.collect_str(&format_args!("ClaudeTranscript{self:?}")),
        }
    }
}

/// A text with one look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chunk(pub String, pub Look);

impl Chunk {
    pub(super) fn new(text: impl Into<String>, look: Look) -> Self {
        Self(text.into(), look)
    }
}

/// A highlighted range of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mark {
    /// The line.
    pub row: usize,
    /// The first byte.
    pub col: usize,
    /// The byte after the last one; `None` extends to the end of the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_col: Option<usize>,
    /// Its highlight.
    pub group: Look,
    /// The highlight extends to the window's edge.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub eol: bool,
    /// Text shown after the line instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<Chunk>,
}

/// Lines that can be folded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fold {
    /// Its key, unique within its item.
    pub key: String,
    /// Its first line.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// Whether it is closed at first.
    pub closed: bool,
    /// The text of its closed line; the second chunk is shortened in narrow windows.
    pub left: Vec<Chunk>,
    /// The text at the right edge.
    pub right: Vec<Chunk>,
}

/// Text in some language, highlighted when there is time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prose {
    /// Its first line.
    pub row: usize,
    /// The number of lines.
    pub count: usize,
    /// Bytes to skip at the start of each line.
    pub indent: usize,
    /// "markdown", "prompt" (typed by the user: Markdown only within fences), or a language of code.
    pub language: &'static str,
    /// The code block that continues from another message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fence: Option<Fence>,
}

/// The target of some lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// The first line.
    pub first: usize,
    /// The last line.
    pub last: usize,
    /// The target.
    #[serde(flatten)]
    pub to: To,
}

/// Where a line leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum To {
    /// The other branches of the conversation.
    Branch,
    /// A file before and after a call.
    Edit {
        /// The call.
        tool_id: String,
        /// The file.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// The line of the first change.
        #[serde(skip_serializing_if = "Option::is_none")]
        lnum: Option<u64>,
    },
    /// A file.
    File {
        /// Its path.
        path: String,
        /// A line of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        lnum: Option<u64>,
    },
    /// The transcript of a subagent.
    Agent {
        /// The call that started it.
        tool_id: String,
        /// Whether this is the line of that call.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        call: bool,
        /// Its first message, if that is in the same file.
        #[serde(skip_serializing_if = "Option::is_none")]
        sidechain: Option<u32>,
    },
    /// The whole of a cut text.
    More {
        /// The message.
        message: u32,
        /// The block, from 1.
        block: usize,
        /// The argument of a call; `None`: its result.
        #[serde(skip_serializing_if = "Option::is_none")]
        argument: Option<String>,
    },
}

/// The kind of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "they say what they are")]
pub enum ItemKind {
    Gap,
    Heading,
    Text,
    Thinking,
    Tool,
    Note,
}

/// Where a text can be extended: see `growth.rs`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenEnd {
    /// How many lines precede the last visible one.
    pub first: usize,
    /// The text from that line on.
    pub tail: String,
    /// Bytes of the whole text.
    pub bytes: usize,
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Keeps its identity when the message is rendered again.
    pub key: String,
    /// Its kind.
    pub kind: ItemKind,
    /// Whether it is a call that changes a file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub edit: bool,
    /// The command of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Its text.
    pub lines: Vec<String>,
    /// Its highlights.
    pub marks: Vec<Mark>,
    /// Its folds, inner before outer.
    pub folds: Vec<Fold>,
    /// Its text in other languages.
    pub prose: Vec<Prose>,
    /// Its targets; the first match counts.
    pub targets: Vec<Target>,
    /// Where its text can be extended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_end: Option<OpenEnd>,
}

impl Item {
    pub(super) fn new(kind: ItemKind, key: impl Into<String>) -> Self {
        let (lines, marks, folds, prose, targets) = Default::default();
        Self { key: key.into(), kind, edit: false, code: None, lines, marks, folds, prose, targets, open_end: None }
    }

    pub(super) fn gap(key: String) -> Self {
        let mut gap = Self::new(ItemKind::Gap, key);
        gap.line(String::new(), Look::Plain, 0);
        gap
    }

    pub(super) fn mark(&mut self, row: usize, group: Look, col: usize, end_col: Option<usize>) {
        self.marks.push(Mark { row, col, end_col, group, eol: false, behind: Vec::new() });
    }

    /// Highlights a line to the window's edge.
    pub(super) fn mark_line(&mut self, row: usize, group: Look, col: usize) {
        self.marks.push(Mark { row, col, end_col: None, group, eol: true, behind: Vec::new() });
    }

    /// Shows text after its first line.
    pub(super) fn put_behind(&mut self, text: String, look: Look) {
        let behind = vec![Chunk(text, look)];
        self.marks.push(Mark { row: 0, col: 0, end_col: Some(0), group: Look::Plain, eol: false, behind });
    }

    /// Adds a line, highlighted from byte `col` on; returns its row.
    pub(super) fn line(&mut self, text: impl Into<String>, look: Look, col: usize) -> usize {
        let (text, row) = (text.into(), self.lines.len());
        if look != Look::Plain && text.len() > col {
            self.mark(row, look, col, None);
        }
        self.lines.push(text);
        row
    }

    /// Adds an indented line; returns its row.
    pub(super) fn indented(&mut self, text: &str, look: Look, indent: usize) -> usize {
        self.line(" ".repeat(indent) + text, look, indent)
    }

    /// Adds a line of chunks.
    pub(super) fn chunks(&mut self, chunks: &[Chunk]) {
        let (row, mut line) = (self.lines.len(), String::new());
        for Chunk(text, look) in chunks {
            let col = line.len();
            line.push_str(text);
            if *look != Look::Plain && !text.is_empty() {
                self.mark(row, *look, col, Some(line.len()));
            }
        }
        self.lines.push(line);
    }

    /// Adds indented lines, highlighted in a language if one is given; returns how many were over the limit and left
    /// out.
    pub(super) fn block(
        &mut self,
        lines: &[String],
        indent: usize,
        look: Look,
        language: Option<&'static str>,
    ) -> usize {
        self.block_of(lines, indent, look, language, MAX_LINES)
    }

    pub(super) fn block_of(
        &mut self,
        lines: &[String],
        indent: usize,
        look: Look,
        language: Option<&'static str>,
        most: usize,
    ) -> usize {
        let (row, count) = (self.lines.len(), lines.len().min(most));
        for text in lines.iter().take(count) {
            if text.is_empty() {
                self.line("", look, indent);
            } else {
                self.indented(text, look, indent);
            }
        }
        if let Some(language) = language.filter(|_| count > 0) {
            self.prose.push(Prose { row, count, indent, language, fence: None });
        }
        lines.len() - count
    }

    /// Adds a note of what is not shown.
    pub(super) fn note(&mut self, note: Option<&str>, indent: usize) {
        if let Some(note) = note {
            self.indented(note, Look::Dim, indent);
        }
    }

    /// Adds a line that leads to the whole of a cut text.
    pub(super) fn more(&mut self, place: &Place<'_>, note: Option<&str>, indent: usize, argument: Option<&str>) {
        if let Some(note) = note {
            let row = self.indented(&format!("{note} · Enter shows it all"), Look::Dim, indent);
            let to = To::More {
                message: place.message.row.id.get(),
                block: place.block,
                argument: argument.map(str::to_owned),
            };
            self.lead(row, row, to);
        }
    }

    /// Adds a target for some lines.
    pub(super) fn lead(&mut self, first: usize, last: usize, to: To) {
        self.targets.push(Target { first, last, to });
    }

    /// Folds the lines from `first` to the last, if there is more than one.
    pub(super) fn fold(&mut self, key: &str, first: usize, closed: bool, left: Vec<Chunk>, right: Vec<Chunk>) {
        let last = self.lines.len().saturating_sub(1);
        if last > first {
            self.folds.push(Fold { key: key.to_owned(), first, last, closed, left, right });
        }
    }

    /// A folded item: a summary line, and its lines below.
    pub(super) fn folded(
        kind: ItemKind,
        summary: &str,
        at: usize,
        lines: &[String],
        look: Look,
        language: Option<&'static str>,
    ) -> Self {
        let name = if kind == ItemKind::Thinking { "thinking" } else { "note" };
        let mut item = Self::new(kind, format!("{name}:{at}"));
        item.indented(summary, Look::Dim, 2);
        let left = item.block(lines, BODY, look, language);
        item.note(left_note(left, 0).as_deref(), BODY);
        let preview = lines.first().map(|line| format!(" {}", one_line(line))).unwrap_or_default();
        let left = vec![Chunk::new(format!("  {summary}"), Look::Dim), Chunk::new(preview, Look::Preview)];
        let count = match lines.len() {
            1 => "1 line".to_owned(),
            count => format!("{count} lines"),
        };
        item.fold(name, 0, true, left, vec![Chunk::new(count, Look::Dim)]);
        item
    }

    /// Adds a text written by a user or a model.
    pub(super) fn say(&mut self, text: &str, indent: usize, look: Look) {
        self.block(&super::text::lines(text, Origin::Said), indent, look, None);
    }
}
