//! One line, parsed as far as display and search need it.
//!
//! Invariant: an attachment yields nothing but a prompt that a user queued, or what ran instead of a call that the user changed.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::json::{tellable, without_debris};
use crate::lenient::{Object, Scalar};
use crate::line_head::CHANGED_CALL;
use crate::message::{Block, Image, Part, ToolResult};
use crate::model::{AllowedBy, HitRole, ToolStatus};
use crate::text::Text;
use crate::time::Millis;
use crate::tool_result::{self, Outcome};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Body<'a> {
    #[serde(borrow)]
    pub(crate) uuid: Scalar<'a>,
    #[serde(borrow)]
    timestamp: Scalar<'a>,
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow)]
    subtype: Scalar<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Object<BodyMessage<'a>>,
    #[serde(borrow)]
    attachment: Object<BodyAttachment<'a>>,
    /// The transcript has the first name, the CLI's stream the second.
    #[serde(borrow, rename = "toolUseResult", alias = "tool_use_result")]
    pub(crate) outcome: Option<&'a RawValue>,
    #[serde(borrow, rename = "permissionDecision")]
    permission: Object<BodyPermission<'a>>,
    /// The same in the CLI's stream.
    #[serde(borrow)]
    tool_result_meta: Option<&'a RawValue>,
    #[serde(borrow)]
    sandboxed: Scalar<'a>,
    #[serde(borrow, rename = "isVirtual")]
    inner: Scalar<'a>,
}

/// The transcript's names are in camel case, those of the CLI's stream are not.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BodyPermission<'a> {
    #[serde(borrow)]
    source: Scalar<'a>,
    #[serde(borrow, alias = "reason_type")]
    reason_type: Scalar<'a>,
    #[serde(borrow)]
    rule_source: Scalar<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BodyResultMeta<'a> {
    #[serde(borrow)]
    id: Scalar<'a>,
    #[serde(borrow)]
    permission_decision: Object<BodyPermission<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BodyMessage<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BodyAttachment<'a> {
    #[serde(borrow)]
    prompt: Option<&'a RawValue>,
    /// Of a call that the user has changed: what ran. Of others it is not asked for.
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

impl BodyAttachment<'_> {
    fn blocks(&self, max_text: usize) -> Vec<Block> {
        let words = self.content.and_then(|content| serde_json::from_str::<Vec<String>>(content.get()).ok());
        match words.into_iter().flatten().next() {
            Some(words) if words.starts_with(CHANGED_CALL) => vec![Block::Text(Text::cut(words, max_text))],
            _ => content(self.prompt, max_text),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BodyBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Scalar<'a>,
    #[serde(borrow)]
    text: Scalar<'a>,
    #[serde(borrow)]
    thinking: Scalar<'a>,
    #[serde(borrow)]
    id: Scalar<'a>,
    #[serde(borrow)]
    name: Scalar<'a>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Scalar<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    is_error: Scalar<'a>,
    #[serde(borrow)]
    source: Object<BodySource<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct BodySource<'a> {
    #[serde(borrow)]
    media_type: Scalar<'a>,
    #[serde(borrow)]
    data: Scalar<'a>,
}

impl<'a> Body<'a> {
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(without_debris(line)).ok()
    }

    /// The line's blocks; tool calls have no results yet.
    ///
    /// An attachment yields only a queued prompt, and what ran instead of a call: the other kinds are instructions of the CLI to the
    /// model.
    pub(crate) fn blocks(&self, max_text: usize) -> Vec<Block> {
        if self.kind.text() == "attachment" {
            return self.attachment.0.as_ref().map(|attachment| attachment.blocks(max_text)).unwrap_or_default();
        }
        if let Some(message) = &self.message.0 {
            let mut blocks = content(message.content, max_text);
            for block in &mut blocks {
                if let Block::ToolUse { inner, .. } = block {
                    *inner = self.inner.is_true();
                }
            }
            return blocks;
        }
        let mut blocks = content(self.content, max_text);
        if blocks.is_empty() {
            let text = self.error.map_or_else(|| self.subtype.text().to_owned(), error_text);
            blocks.push(Block::Text(Text::cut(text, max_text)));
        }
        blocks
    }

    /// The result of one tool call, if it is in this line.
    pub(crate) fn result_of(&self, tool_use_id: &str, max_text: usize) -> Option<ToolResult> {
        let blocks = raw_list(self.message.0.as_ref()?.content?);
        let mut blocks = blocks.into_iter().filter_map(|raw| serde_json::from_str::<BodyBlock<'_>>(raw.get()).ok());
        let is_it =
            |block: &BodyBlock<'_>| block.kind.text() == "tool_result" && block.tool_use_id.text() == tool_use_id;
        let block = blocks.find(is_it)?;
        let metas = self.tool_result_meta.map(raw_list).unwrap_or_default();
        let mut metas = metas.into_iter().filter_map(|raw| serde_json::from_str::<BodyResultMeta<'_>>(raw.get()).ok());
        let permission = metas.find(|meta| meta.id.text() == tool_use_id).and_then(|meta| meta.permission_decision.0);
        let allowed_by = permission.and_then(|permission| self.allowed_as(&permission));
        Some(ToolResult { allowed_by, ..tool_result(&block, self.outcome, max_text) })
    }

    /// The ids of the tool calls with a result in this line.
    pub(crate) fn result_ids(&self) -> Vec<String> {
        let blocks = self.message.0.as_ref().and_then(|message| message.content).map(raw_list).unwrap_or_default();
        let blocks = blocks.into_iter().filter_map(|raw| serde_json::from_str::<BodyBlock<'_>>(raw.get()).ok());
        let results = blocks.filter(|block| block.kind.text() == "tool_result");
        results.map(|block| block.tool_use_id.text().to_owned()).collect()
    }

    /// When it was written.
    pub(crate) fn time(&self) -> Option<Millis> {
        Millis::parse(self.timestamp.text())
    }

    /// The CLI's raw record of the tool call.
    pub(crate) fn outcome(&self) -> Option<&'a RawValue> {
        self.outcome
    }

    /// What let the tool call run; `None` if the CLI does not say, or not in words that are known.
    pub(crate) fn allowed_by(&self) -> Option<AllowedBy> {
        self.allowed_as(self.permission.0.as_ref()?)
    }

    fn allowed_as(&self, permission: &BodyPermission<'_>) -> Option<AllowedBy> {
        match (permission.source.text(), permission.reason_type.text(), permission.rule_source.text()) {
            ("config", "mode", _) => Some(AllowedBy::Mode),
            ("config", "rule", "") => Some(AllowedBy::Rule),
            ("config", "rule", "projectSettings") => Some(AllowedBy::Project),
            ("config", "rule", _) => Some(AllowedBy::User),
            ("config", "subcommandResults", _) if !self.sandboxed.is_true() => Some(AllowedBy::Cli),
            ("hook", ..) => Some(AllowedBy::Hook),
            (source, ..) => source.starts_with("user").then_some(AllowedBy::User),
        }
    }

    /// The line's content, if it is one string and not a list of blocks.
    pub(crate) fn into_plain_text(self) -> Option<String> {
        let content = self.message.0.map_or(self.content, |message| message.content);
        serde_json::from_str(content?.get()).ok()
    }

    /// The line's searchable texts.
    pub(crate) fn search_texts(self) -> Vec<SearchText> {
        let own = match self.kind.text() {
            "user" | "attachment" => HitRole::Prompt,
            "assistant" => HitRole::Reply,
            _ => HitRole::System,
        };
        let mut texts = Vec::new();
        let mut add = |role, text| texts.push(SearchText { role, text });
        for block in self.blocks(usize::MAX) {
            match block {
                Block::Text(text) => add(own, text.text),
                Block::Thinking(text) => add(HitRole::Thinking, text.text),
                Block::ToolUse { input, .. } => {
                    strings_in(input.raw()).into_iter().for_each(|text| add(HitRole::ToolInput, text))
                }
                Block::ToolResult { result, .. } => result.content.into_iter().for_each(|part| match part {
                    Part::Text(text) => add(HitRole::ToolResult, text.text),
                    Part::Image(_) | Part::Unknown { .. } => {}
                }),
                Block::Image(_) | Block::Unknown { .. } => {}
            }
        }
        texts
    }
}

/// A text to search, and its author.
pub(crate) struct SearchText {
    pub(crate) role: HitRole,
    pub(crate) text: String,
}

/// The strings within a tool's arguments, in order.
fn strings_in(raw: &RawValue) -> Vec<String> {
    let mut texts = Vec::new();
    let mut stack: Vec<serde_json::Value> = serde_json::from_str(raw.get()).into_iter().collect();
    while let Some(value) = stack.pop() {
        match value {
            serde_json::Value::String(text) => texts.push(text),
            serde_json::Value::Array(items) => stack.extend(items.into_iter().rev()),
            serde_json::Value::Object(fields) => stack.extend(fields.into_iter().map(|(_, value)| value).rev()),
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
        }
    }
    texts
}

fn error_text(raw: &RawValue) -> String {
    serde_json::from_str::<String>(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

fn raw_list(raw: &RawValue) -> Vec<&RawValue> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

fn content(raw: Option<&RawValue>, max_text: usize) -> Vec<Block> {
    let Some(raw) = raw else { return Vec::new() };
    if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
        return vec![Block::Text(Text::cut(text, max_text))];
    }
    raw_list(raw).into_iter().map(|raw| block(raw, max_text)).collect()
}

fn block(raw: &RawValue, max_text: usize) -> Block {
    let unknown = || Block::Unknown { raw: tellable(raw) };
    let Ok(body) = serde_json::from_str::<BodyBlock<'_>>(raw.get()) else { return unknown() };
    let text = |scalar: &Scalar<'_>| Text::cut(scalar.text().to_owned(), max_text);
    match body.kind.text() {
        "text" => Block::Text(text(&body.text)),
        "thinking" => Block::Thinking(text(&body.thinking)),
        "redacted_thinking" => Block::Thinking(Text::cut(String::new(), max_text)),
        "tool_use" | "server_tool_use" => Block::ToolUse {
            id: body.id.text().to_owned(),
            name: body.name.text().to_owned(),
            input: tellable(body.input.unwrap_or(RawValue::NULL)).into(),
            status: ToolStatus::Running,
            start: None,
            end: None,
            background: false,
            inner: false,
            result: None,
        },
        "tool_result" => Block::ToolResult {
            tool_use_id: body.tool_use_id.text().to_owned(),
            result: Box::new(tool_result(&body, None, max_text)),
        },
        "image" => Block::Image(image(&body)),
        _ => unknown(),
    }
}

fn image(body: &BodyBlock<'_>) -> Image {
    let source = body.source.0.as_ref();
    Image {
        media_type: source.map(|source| source.media_type.text().to_owned()).unwrap_or_default(),
        encoded_bytes: source.map(|source| source.data.text().len()).unwrap_or_default(),
    }
}

fn tool_result(body: &BodyBlock<'_>, outcome: Option<&RawValue>, max_text: usize) -> ToolResult {
    let own_words = outcome.and_then(tool_result::subagents_words);
    ToolResult {
        is_error: body.is_error.is_true(),
        content: own_words.as_deref().or(body.content).map(|raw| parts(raw, max_text)).unwrap_or_default(),
        outcome: outcome.and_then(|raw| Outcome::parse(raw, max_text)),
        allowed_by: None,
    }
}

fn parts(raw: &RawValue, max_text: usize) -> Vec<Part> {
    if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
        return vec![Part::Text(Text::cut(text, max_text))];
    }
    let part = |raw: &RawValue| match block(raw, max_text) {
        Block::Text(text) => Part::Text(text),
        Block::Image(image) => Part::Image(image),
        Block::Thinking(_) | Block::ToolUse { .. } | Block::ToolResult { .. } | Block::Unknown { .. } => {
            Part::Unknown { raw: tellable(raw) }
        }
    };
    raw_list(raw).into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(line: &str) -> serde_json::Value {
        serde_json::to_value(Body::parse(line.as_bytes()).unwrap().blocks(16)).unwrap()
    }

    #[test]
    fn reads_every_kind_of_block_and_keeps_unknown_ones_raw() {
        let line = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"hi"},{"type":"thinking","thinking":"hm","signature":"s"},
            {"type":"tool_use","id":"t","name":"Read","input":{"a":1}},{"type":"image","source":{"media_type":"image/png","data":"QUJD"}},
            {"type":"hologram","depth":3},7]}}"#;
        let got = blocks(line);
        assert_eq!(got[0], serde_json::json!({"type": "text", "text": "hi", "bytes": 2}));
        assert_eq!(got[1]["type"], "thinking");
        assert_eq!((&got[2]["status"], &got[2]["input"]["a"]), (&"running".into(), &1.into()));
        assert_eq!(got[3], serde_json::json!({"type": "image", "media_type": "image/png", "encoded_bytes": 4}));
        assert_eq!(got[4]["raw"]["depth"], 3);
        assert_eq!(got[5]["raw"], 7);
    }

    #[test]
    fn a_string_is_one_text_and_a_long_text_is_cut_between_characters() {
        let got = blocks(r#"{"type":"user","message":{"content":"öööööööööööö"}}"#);
        assert_eq!(got[0]["text"], "öööööööö");
        assert_eq!(got[0]["bytes"], 24);
    }

    #[test]
    fn of_an_attachment_only_the_queued_prompt_and_a_changed_call_are_read() {
        let secret = r#"{"type":"attachment","attachment":{"type":"prompt_snapshot","systemPrompt":["secret"]},"rendered":[{"content":"secret"}]}"#;
        assert_eq!(blocks(secret), serde_json::json!([]));
        let queued = r#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"and tests"},"rendered":[{"content":"secret"}]}"#;
        assert_eq!(blocks(queued)[0]["text"], "and tests");
        let told = |words: &str| {
            let attachment = format!(r#"{{"type":"hook_additional_context","content":["{words}"]}}"#);
            blocks(&format!(r#"{{"type":"attachment","attachment":{attachment}}}"#))
        };
        let changed = "The user changed the command of your call before allowing it.";
        assert_eq!(
            told(changed)[0],
            serde_json::json!({"type": "text", "text": "The user changed", "bytes": changed.len()})
        );
        assert_eq!(told("secret"), serde_json::json!([]));
    }

    #[test]
    fn of_a_subagents_result_its_own_words_are_read() {
        let result = |content: &str, record: &str| {
            let line = format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"a","content":{content}}}]}},"toolUseResult":{record}}}"#
            );
            let found = Body::parse(line.as_bytes()).unwrap().result_of("a", 100).unwrap().content;
            serde_json::to_value(found)
                .unwrap()
                .as_array()
                .unwrap()
                .iter()
                .map(|part| part["text"].clone())
                .collect::<Vec<_>>()
        };
        let for_the_model = r#""[Subagent hand-back] …\n  I looked.\nagentId: a1 (use SendMessage)\n<usage>…</usage>""#;
        let record = r#"{"status":"completed","agentId":"a1","harnessNoteCount":1,"harnessTailCount":1,"content":[
            {"type":"text","text":"<tools-used>"},{"type":"text","text":"I looked."},{"type":"text","text":"…"}]}"#;
        assert_eq!(result(for_the_model, record), ["I looked."]);
        let record = r#"{"status":"completed","agentId":"a1","content":[{"type":"text","text":"I looked."}]}"#;
        assert_eq!(result(for_the_model, record), ["I looked."]);
        let begun = r#""Async agent launched successfully.""#;
        assert_eq!(result(begun, r#"{"status":"async_launched","agentId":"a1"}"#), [""; 0]);
        let odd =
            r#"{"status":"completed","agentId":"a1","harnessNoteCount":3,"content":[{"type":"text","text":"x"}]}"#;
        assert_eq!(result(r#""all of it""#, odd), ["all of it"]);
        assert_eq!(result(r#""hi""#, r#"{"stdout":"hi","content":[]}"#), ["hi"], "of another tool");
    }

    #[test]
    fn a_result_is_found_by_its_call() {
        let line = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"one"},
            {"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"two"},{"type":"x"}]}]}}"#;
        let result = Body::parse(line.as_bytes()).unwrap().result_of("b", 100).unwrap();
        assert!(result.is_error);
        let got = serde_json::to_value(&result.content).unwrap();
        assert_eq!((&got[0]["text"], &got[1]["raw"]["type"]), (&"two".into(), &"x".into()));
    }
}
