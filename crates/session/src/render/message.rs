//! Renders a message as items: headings, text, thinking, tool calls, rules.
//!
//! A message starts with its empty line and ends without one, so that successive calls stand together.

use super::clock::moment;
use super::item::{Chunk, Item, ItemKind, Look, To};
use super::said::{Place, Said};
use super::text::{Origin, cut_note, is_blank, left_note, lines, paragraphs};
use super::tool_use::Call;
use super::{call, growth};
use crate::message::Block;
use crate::model::RowKind;
use crate::text::Text;

/// Longer output of a command is folded beyond this many lines.
const OPEN_OUTPUT: usize = 10;
/// Wider than any window.
const RULE: usize = 300;

/// A message as items; none if it is hidden.
pub(super) fn items(message: &Said<'_>) -> Vec<Item> {
    let mut items = match message.row.kind {
        RowKind::Meta => return Vec::new(),
        RowKind::Command => command(message),
        RowKind::Output => output(message),
        RowKind::Interrupted => {
            let mut item = Item::new(ItemKind::Note, "interrupted");
            item.indented("Interrupted by you", Look::Rejected, 2);
            vec![item]
        }
        RowKind::Notice => {
            let mut item = Item::new(ItemKind::Note, "notice");
            item.block(&paragraphs(&text_of(message), Origin::Said), 2, Look::Notice, None);
            vec![item]
        }
        RowKind::Compaction => vec![rule("Conversation compacted", message)],
        RowKind::Summary => {
            let lines = paragraphs(&text_of(message), Origin::Said);
            let summary = "Summary of what came before";
            vec![Item::folded(ItemKind::Note, summary, 1, &lines, Look::Plain, Some("markdown"))]
        }
        RowKind::Prompt | RowKind::Reply | RowKind::Results | RowKind::Other => said(message),
    };
    if let Some(first) = items.first()
        && !is_close(first, message)
    {
        items.insert(0, Item::gap("gap".to_owned()));
    }
    items
}

/// Whether no empty line separates a message from the previous one.
fn is_close(first: &Item, message: &Said<'_>) -> bool {
    let Some(previous) = message.content.previous.filter(|_| !message.row.continues) else { return true };
    match message.row.kind {
        RowKind::Reply => first.kind == ItemKind::Tool && previous.has_called(),
        RowKind::Output => previous.kind == RowKind::Command,
        _ => false,
    }
}

fn heading(who: &str, look: Look, message: &Said<'_>) -> Item {
    let mut item = Item::new(ItemKind::Heading, "heading");
    let mut chunks = vec![Chunk::new(who, look)];
    if let Some(branch) = &message.row.branch {
        chunks.push(Chunk::new(format!("  branch {} of {}", branch.number, branch.siblings.len()), Look::Branch));
        item.lead(0, 0, To::Branch);
    }
    item.chunks(&chunks);
    if look == Look::You {
        item.mark_line(0, Look::YouLine, 0);
    }
    if let Some(time) = message.row.start.map(moment) {
        item.put_behind(format!(" {time}"), Look::Time);
    }
    item
}

fn rule(text: &str, message: &Said<'_>) -> Item {
    let time = message.row.start.map(|time| format!(" · {}", moment(time))).unwrap_or_default();
    let mut item = Item::new(ItemKind::Heading, "rule");
    item.chunks(&[Chunk::new(format!("── {text}{time}"), Look::Rule)]);
    item.put_behind("─".repeat(RULE), Look::Rule);
    item
}

fn text_of(message: &Said<'_>) -> String {
    let texts: Vec<&str> = message
        .content
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>"))?.0.trim_matches(is_blank))
}

/// The command as typed, from the CLI's tags.
fn command_of(text: &str) -> String {
    if let Some(name) = between(text, "command-name") {
        let arguments = between(text, "command-args").unwrap_or_default();
        return format!("{name} {arguments}").trim_matches(is_blank).to_owned();
    }
    between(text, "bash-input").map_or_else(|| text.trim_matches(is_blank).to_owned(), |shell| format!("! {shell}"))
}

fn command(message: &Said<'_>) -> Vec<Item> {
    let command = command_of(&text_of(message));
    if command.strip_prefix("/clear").is_some_and(|rest| rest.chars().next().is_none_or(is_blank)) {
        return vec![rule(&command, message)];
    }
    let mut item = Item::new(ItemKind::Text, "command");
    item.block(&paragraphs(&command, Origin::Said), 0, Look::Command, None);
    vec![heading("You", Look::You, message), item]
}

/// Removes the CLI's tags around a command's output.
fn without_tags(text: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some((before, from)) = rest.split_once('<') {
        shown.push_str(before);
        let name = from.strip_prefix('/').unwrap_or(from);
        let name = name.strip_prefix("local-command-").or_else(|| name.strip_prefix("bash-std"));
        let end = name.and_then(|name| {
            name.trim_start_matches(|char: char| char.is_ascii_alphabetic())
                .strip_prefix('>')
                .filter(|rest| name.len() > rest.len() + 1)
        });
        if end.is_none() {
            shown.push('<');
        }
        rest = end.unwrap_or(from);
    }
    shown + rest
}

fn output(message: &Said<'_>) -> Vec<Item> {
    let lines = paragraphs(&without_tags(&text_of(message)), Origin::Terminal);
    if lines.len() > OPEN_OUTPUT {
        return vec![Item::folded(ItemKind::Note, "Output", 1, &lines, Look::Result, None)];
    }
    let mut item = Item::new(ItemKind::Note, "output");
    item.block(&lines, 2, Look::Result, None);
    if lines.is_empty() { Vec::new() } else { vec![item] }
}

/// The heading with the speaker, where that changes.
fn speaker(message: &Said<'_>) -> Option<Item> {
    let (row, request) = (message.row, message.request);
    let goes_on = message.content.previous.is_some_and(|previous| previous.kind == RowKind::Reply);
    match row.kind {
        RowKind::Prompt if request.of_agent => Some(heading("Claude asks", Look::Claude, message)),
        RowKind::Prompt => Some(heading("You", Look::You, message)),
        RowKind::Reply if !row.continues && (!goes_on || row.branch.is_some()) => Some(if request.of_agent {
            heading("Subagent", Look::Agent, message)
        } else {
            heading(request.speaker.as_deref().unwrap_or("Claude"), Look::Claude, message)
        }),
        _ => None,
    }
}

fn said(message: &Said<'_>) -> Vec<Item> {
    let mut items: Vec<Item> = speaker(message).into_iter().collect();
    for (at, block) in (1..).zip(message.content.blocks.iter()) {
        let Some(item) = block_item(block, &Place { message, block: at }) else { continue };
        // An empty line separates text from calls; calls stand together.
        if items.last().is_some_and(|last| last.kind != item.kind && last.kind != ItemKind::Heading) {
            items.push(Item::gap(format!("gap:{at}")));
        }
        items.push(item);
    }
    items
}

fn block_item(block: &Block, place: &Place<'_>) -> Option<Item> {
    let at = place.block;
    if let Some(call) = Call::of(block) {
        return Some(call::item(&call, place));
    }
    Some(match block {
        Block::Text(text) => return text_item(text, place),
        Block::Thinking(text) => return thinking(text, place),
        Block::Image(image) => {
            let mut item = Item::new(ItemKind::Note, format!("image:{at}"));
            item.indented(&call::image(image), Look::Image, 2);
            item
        }
        Block::ToolResult { result, .. } => {
            let mut item = Item::new(ItemKind::Tool, format!("result:{at}"));
            let status = if result.is_error { "failed" } else { "ok" };
            let title = format!("Result of a call that is not in this file · {status}");
            item.indented(&title, Look::Dim, 2);
            call::add_parts(&mut item, result, place, None);
            item.fold("result", 0, true, vec![Chunk::new(format!("  {title}"), Look::Dim)], Vec::new());
            item
        }
        Block::Unknown { raw } => unknown(raw.get(), at),
        Block::ToolUse { .. } => return None,
    })
}

fn unknown(raw: &str, at: usize) -> Item {
    let value: serde_json::Value = serde_json::from_str(raw).unwrap_or_default();
    let kind = value.get("type").and_then(serde_json::Value::as_str).unwrap_or("unknown");
    let lines = lines(raw, Origin::Said);
    Item::folded(ItemKind::Note, &format!("Unknown: {kind}"), at, &lines, Look::Result, None)
}

fn text_item(text: &Text, place: &Place<'_>) -> Option<Item> {
    let row = place.message.row;
    let is_prompt = row.kind == RowKind::Prompt;
    if let Some(wrapped) = Wrapped::of(&text.text).filter(|wrapped| is_prompt && wrapped.is_for_the_model()) {
        let lines = paragraphs(wrapped.inner, Origin::Said);
        return Some(Item::folded(ItemKind::Note, &wrapped.title(), place.block, &lines, Look::Result, None));
    }
    let shown = if row.continues { lines } else { paragraphs };
    let shown = shown(&text.text, Origin::Said);
    if shown.is_empty() {
        return None;
    }
    let mut item = Item::new(ItemKind::Text, format!("text:{}", place.block));
    let language = if is_prompt { "prompt" } else { "markdown" };
    let left = item.block_of(&shown, 0, Look::Plain, Some(language), place.message.request.max_lines);
    if let Some(prose) = item.prose.first_mut() {
        prose.fence.clone_from(&place.message.content.fence);
    }
    let note = cut_note(text).or_else(|| left_note(left, 0));
    item.more(place, note.as_deref(), 0, None);
    if note.is_none() && row.kind == RowKind::Reply {
        item.open_end = growth::open_end(&text.text, shown.len());
    }
    Some(item)
}

fn thinking(text: &Text, place: &Place<'_>) -> Option<Item> {
    let lines = paragraphs(&text.text, Origin::Said);
    if lines.is_empty() {
        return None;
    }
    let mut item = Item::folded(ItemKind::Thinking, "Thinking", place.block, &lines, Look::Thinking, None);
    item.more(place, cut_note(text).as_deref(), super::item::BODY, None);
    let last = item.lines.len() - 1;
    if let Some(fold) = item.folds.last_mut() {
        fold.last = last;
    }
    Some(item)
}

/// A text that the CLI or an editor wrapped for the model: "<ide_selection>…</ide_selection>".
struct Wrapped<'a> {
    tag: &'a str,
    attributes: &'a str,
    inner: &'a str,
}

impl<'a> Wrapped<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
        let text = text.trim_matches(is_blank).strip_prefix('<')?.strip_suffix('>')?;
        let (head, rest) = text.split_once('>')?;
        let (inner, end) = rest.rsplit_once("</")?;
        let tag = head.split(|char| !is_name(char)).next()?;
        let attributes = head.strip_prefix(tag)?;
        let is_one = tag.starts_with(|char: char| char.is_ascii_alphabetic())
            && !head.contains('\n')
            && attributes.chars().next().is_none_or(is_blank)
            && !end.is_empty()
            && end.chars().all(is_name);
        is_one.then_some(Self { tag, attributes, inner })
    }

    fn is_for_the_model(&self) -> bool {
        self.tag.starts_with("ide_") || self.tag == "system-reminder"
    }

    /// Its name in the prompt ("#lines:a.lua:3-9") if we wrapped it (context/init.lua); else its tag.
    fn title(&self) -> String {
        let name = self.attributes.strip_prefix(" name=\"").and_then(|rest| rest.split_once('"')).map(|(name, _)| name);
        let Some(name) = name.filter(|name| !name.is_empty()) else { return self.tag.replace('_', " ") };
        let of = self.attributes.strip_suffix('"').and_then(|rest| rest.rsplit_once(" of=\"")).map(|(_, of)| of);
        match of.filter(|of| !of.contains('"')) {
            Some(of) => format!("#{name}:{of}"),
            None => format!("#{name}"),
        }
    }
}
