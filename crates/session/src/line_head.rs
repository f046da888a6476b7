//! What the index needs of a line: its kind, its place in the tree, and the kinds of its blocks; not their contents.
//!
//! Lenient: a field of an unexpected type counts as absent. Only a line that is no JSON object is broken. Source of the
//! field names: transcripts of CLI 2.1.329, and the transcript protocol's document for older ones.

use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess};
use serde_json::value::RawValue;

use crate::json::without_debris;
use crate::lenient::{Lenient, LenientVisitor, Object, Scalar, Tokens};
use crate::time::Millis;

/// The start of every `api-request*` line (measured). These lines hold prompts and schemas, and most of a file's bytes.
const API_REQUEST: &[u8] = br#"{"type":"api-request"#;
const API_REQUEST_TYPE: &str = "api-request";

/// Whether the first bytes of a line identify it as a request to the model.
pub(crate) fn is_api_request(line: &[u8]) -> bool {
    line.starts_with(API_REQUEST)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    User,
    Assistant,
    System,
    Attachment,
    /// A request to the model: never shown, never passed on.
    ApiRequest,
    /// Any other type, known (`mode`, `last-prompt`, `progress`, …) or not.
    Other,
}

/// A line, parsed as far as the index needs.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Head<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) subtype: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) uuid: Scalar<'a>,
    #[serde(borrow, rename = "parentUuid")]
    pub(crate) parent: Scalar<'a>,
    #[serde(borrow, rename = "logicalParentUuid")]
    pub(crate) logical_parent: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) timestamp: Scalar<'a>,
    #[serde(borrow, rename = "isSidechain")]
    pub(crate) sidechain: Scalar<'a>,
    /// A call that a script of another call made, or its result (Code Mode, 2.1.329; read in the CLI, not measured).
    #[serde(borrow, rename = "isVirtual")]
    pub(crate) inner: Scalar<'a>,
    #[serde(borrow, rename = "isMeta")]
    pub(crate) meta: Scalar<'a>,
    #[serde(borrow, rename = "isCompactSummary")]
    pub(crate) compact_summary: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) operation: Scalar<'a>,
    #[serde(borrow, rename = "permissionMode")]
    pub(crate) permission_mode: Scalar<'a>,
    #[serde(borrow, rename = "toolDenialKind")]
    pub(crate) denial: Scalar<'a>,
    /// Else a call that the user has rejected was interrupted.
    #[serde(borrow, rename = "toolDenialBeforeRun")]
    pub(crate) denied_before_run: Scalar<'a>,
    #[serde(borrow, rename = "requestId")]
    pub(crate) request: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) content: Content<'a>,
    #[serde(borrow)]
    pub(crate) message: Object<MessageHead<'a>>,
    #[serde(borrow)]
    pub(crate) attachment: Object<AttachmentHead<'a>>,
    #[serde(borrow, rename = "toolUseResult")]
    pub(crate) outcome: Object<OutcomeHead<'a>>,
}

/// The `message` of a line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct MessageHead<'a> {
    #[serde(borrow)]
    pub(crate) id: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) model: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) stop_reason: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) content: Content<'a>,
    pub(crate) usage: Object<UsageHead>,
}

impl MessageHead<'_> {
    /// Whether a reply is not the last one of its turn: it calls a tool, will do so, or only thinks.
    pub(crate) fn goes_on(&self) -> bool {
        let Content::Blocks(blocks) = &self.content else { return false };
        let has_text = blocks.iter().any(|block| block.kind.text() == "text");
        self.content.calls().next().is_some() || self.stop_reason.text() == "tool_use" || !has_text
    }
}

/// The fields of an `attachment` that identify a prompt, or that a call was changed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AttachmentHead<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Scalar<'a>,
    #[serde(borrow, rename = "humanTurn")]
    pub(crate) human_turn: Scalar<'a>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

/// How the text begins that tells of a changed call.
pub(crate) const CHANGED_CALL: &str = "The user changed the ";

impl AttachmentHead<'_> {
    /// Whether it says what the user has changed in a call before allowing it (`lua/claude-ide/requests/changed_calls.lua`). The call
    /// itself is recorded as Claude made it.
    pub(crate) fn is_changed_call(&self) -> bool {
        self.kind.text() == "hook_additional_context"
            && self.content.is_some_and(|content| {
                content.get().strip_prefix("[\"").is_some_and(|words| words.starts_with(CHANGED_CALL))
            })
    }
}

/// The fields of a `toolUseResult` that describe a subagent, a command in the background, or what a command changed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct OutcomeHead<'a> {
    #[serde(borrow, rename = "agentId")]
    pub(crate) agent: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) status: Scalar<'a>,
    #[serde(borrow, rename = "isAsync")]
    pub(crate) is_async: Scalar<'a>,
    /// Of a command of the shell that goes on in the background.
    #[serde(borrow, rename = "backgroundTaskId")]
    pub(crate) task: Scalar<'a>,
    /// Of a command that is watched in the background.
    #[serde(borrow, rename = "taskId")]
    pub(crate) monitor: Scalar<'a>,
    /// What a command changed, as git sees it: in auto mode and without permissions.
    #[serde(borrow, rename = "bashEditDiff")]
    edit_diff: Option<&'a RawValue>,
}

/// The files of a `bashEditDiff`.
#[derive(Deserialize)]
struct EditDiff {
    #[serde(rename = "changedFiles")]
    files: Vec<Box<str>>,
}

/// The CLI names no more files.
const MAX_CHANGED: usize = 200;

impl OutcomeHead<'_> {
    /// Whether it is the launch of a subagent in the background.
    pub(crate) fn is_launch(&self) -> bool {
        !self.agent.text().is_empty() && (self.is_async.is_true() || self.status.text() == "async_launched")
    }

    /// Whether a command goes on after its result.
    pub(crate) fn goes_on(&self) -> bool {
        self.task.is_set() || self.monitor.is_set()
    }

    /// The files that a command changed, if the CLI names all.
    pub(crate) fn changed(&self) -> Option<Box<[Box<str>]>> {
        let EditDiff { files } = serde_json::from_str(self.edit_diff?.get()).ok()?;
        (files.len() < MAX_CHANGED).then(|| files.into())
    }
}

/// Token counts of one request.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct UsageHead {
    pub(crate) input_tokens: Tokens,
    pub(crate) output_tokens: Tokens,
    pub(crate) cache_creation_input_tokens: Tokens,
    pub(crate) cache_read_input_tokens: Tokens,
}

/// One block of a message's content.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct BlockHead<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) id: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) name: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) tool_use_id: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) is_error: Scalar<'a>,
    pub(crate) text: Flavour,
}

impl<'a> Head<'a> {
    /// Parses a line; `None` if it is no JSON object.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(without_debris(line)).ok()
    }

    pub(crate) fn line_kind(&self) -> LineKind {
        match self.kind.text() {
            "user" => LineKind::User,
            "assistant" => LineKind::Assistant,
            "system" => LineKind::System,
            "attachment" => LineKind::Attachment,
            other if other.starts_with(API_REQUEST_TYPE) => LineKind::ApiRequest,
            _ => LineKind::Other,
        }
    }

    pub(crate) fn time(&self) -> Option<Millis> {
        Millis::parse(self.timestamp.text())
    }
}

/// What kind of text this is, by its first words: the CLI puts its own texts into `user` lines too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Not a text at all.
    #[default]
    None,
    /// What a user or the model wrote.
    Plain,
    /// A slash command that ran (`<command-name>`), and `!` shell input.
    Command,
    /// The output of a command.
    CommandOutput,
    /// "[Request interrupted by user]" and its like.
    Interrupted,
    /// `<system-reminder>`, caveats: instructions of the CLI to the model.
    Machine,
    /// `<task-notification>`: reports the end of a background task to the model.
    Task,
}

impl Flavour {
    pub(crate) fn of(text: &str) -> Self {
        const BEGINNINGS: [(&str, Flavour); 11] = [
            ("[Request interrupted by user", Flavour::Interrupted),
            ("<command-name>", Flavour::Command),
            ("<command-message>", Flavour::Command),
            ("<bash-input>", Flavour::Command),
            ("<local-command-caveat>", Flavour::Machine),
            ("<local-command-", Flavour::CommandOutput),
            ("<bash-stdout>", Flavour::CommandOutput),
            ("<bash-stderr>", Flavour::CommandOutput),
            // The answer to a question, when it is in another line than its call.
            ("User has answered your questions", Flavour::CommandOutput),
            ("<system-reminder>", Flavour::Machine),
            ("<task-notification>", Flavour::Task),
        ];
        let found = BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning));
        found.map_or(Flavour::Plain, |(_, flavour)| *flavour)
    }
}

/// A message's content: a string, or blocks.
#[derive(Debug, Default)]
pub(crate) enum Content<'a> {
    #[default]
    None,
    Text(Flavour),
    Blocks(Vec<BlockHead<'a>>),
}

impl<'a> Content<'a> {
    /// The kind of the first text; blocks without a text are results of tools.
    pub(crate) fn flavour(&self) -> Option<Flavour> {
        match self {
            Self::None => None,
            Self::Text(flavour) => Some(*flavour),
            Self::Blocks(blocks) => {
                let text = blocks.iter().map(|block| block.text).find(|flavour| *flavour != Flavour::None);
                Some(text.unwrap_or(Flavour::Plain))
            }
        }
    }

    pub(crate) fn calls(&self) -> impl Iterator<Item = &BlockHead<'a>> {
        let blocks = if let Self::Blocks(blocks) = self { blocks.as_slice() } else { &[] };
        blocks.iter().filter(|block| block.kind.text() == "tool_use")
    }
}

impl Lenient<'_> for Flavour {
    fn from_str(text: &str) -> Self {
        Self::of(text)
    }
}

impl<'de> Lenient<'de> for Content<'de> {
    fn from_str(text: &str) -> Self {
        Self::Text(Flavour::of(text))
    }
    fn from_seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        let mut blocks = Vec::new();
        while let Some(block) = seq.next_element::<Object<BlockHead<'de>>>()? {
            blocks.extend(block.0);
        }
        Ok(Self::Blocks(blocks))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value: Content<'de> = deserializer.deserialize_any(LenientVisitor(PhantomData))?;
        Ok(value)
    }
}

impl<'de> Deserialize<'de> for Flavour {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_kind_place_and_blocks() {
        let line = br#"{"parentUuid":"p","isSidechain":false,"message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Re\u0061d",
            "input":{"a":[1,{"b":"}"}]}},{"type":"text","text":"hi"}],"usage":{"input_tokens":3,"extra":{"x":1}}},"type":"assistant","uuid":"u"}"#;
        let head = Head::parse(line).unwrap();
        assert_eq!((head.line_kind(), head.uuid.text(), head.parent.text()), (LineKind::Assistant, "u", "p"));
        let message = head.message.0.unwrap();
        assert_eq!(message.usage.0.unwrap().input_tokens.0, 3);
        let Content::Blocks(blocks) = message.content else { panic!("blocks") };
        assert_eq!(blocks[0].name.text(), "Read");
        assert_eq!(blocks[1].text, Flavour::Plain);
    }

    #[test]
    fn fields_of_unexpected_types_count_as_absent() {
        let line = br#"{"type":"user","uuid":7,"parentUuid":null,"isSidechain":"yes","message":[1],"attachment":"x","timestamp":{}}"#;
        let head = Head::parse(line).unwrap();
        assert_eq!((head.line_kind(), head.uuid.text(), head.sidechain.is_true()), (LineKind::User, "", false));
        assert!(head.message.0.is_none() && head.attachment.0.is_none() && head.time().is_none());
    }

    #[test]
    fn requests_to_the_model_are_known_by_prefix_and_by_type() {
        assert!(is_api_request(br#"{"type":"api-request-blob","hash":"x"}"#));
        assert!(!is_api_request(br#"{"type":"assistant"}"#));
        let spaced = Head::parse(br#"{"sessionId":"s","type": "api-request-shape"}"#).unwrap();
        assert_eq!(spaced.line_kind(), LineKind::ApiRequest);
    }

    #[test]
    fn half_a_line_is_broken() {
        assert!(Head::parse(br#"{"type":"user","uuid":"#).is_none());
        assert!(Head::parse(b"\xff\xfe").is_none());
    }
}
