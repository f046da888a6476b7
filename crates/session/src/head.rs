//! What the index needs of a line: its kind, its place in the tree, and what its blocks are; not their contents.
//!
//! Lenient: a field of an unexpected type counts as absent. Only a line that is no JSON object is broken.
//! Source of the field names: transcripts written by CLI 2.1.329, and seed 003 for older ones.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::time::Millis;

/// How every `api-request*` line begins (measured). They hold prompts and schemas and most of the bytes.
const API_REQUEST: &[u8] = br#"{"type":"api-request"#;
const API_REQUEST_TYPE: &str = "api-request";

/// Whether a line can be told from its first bytes to hold a request to the model.
pub(crate) fn is_api_request(line: &[u8]) -> bool {
    line.starts_with(API_REQUEST)
}

/// What a line is, as far as a reader cares.
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
    #[serde(borrow, rename = "isMeta")]
    pub(crate) meta: Scalar<'a>,
    #[serde(borrow, rename = "isCompactSummary")]
    pub(crate) compact_summary: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) operation: Scalar<'a>,
    #[serde(borrow, rename = "toolDenialKind")]
    pub(crate) denial: Scalar<'a>,
    #[serde(borrow)]
    pub(crate) content: Content<'a>,
    #[serde(borrow)]
    pub(crate) message: Object<MessageHead<'a>>,
    #[serde(borrow)]
    pub(crate) attachment: Object<AttachmentHead<'a>>,
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

/// The `attachment` of a line: only what tells whether a person typed it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct AttachmentHead<'a> {
    #[serde(borrow, rename = "type")]
    pub(crate) kind: Scalar<'a>,
    #[serde(borrow, rename = "humanTurn")]
    pub(crate) human_turn: Scalar<'a>,
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
        serde_json::from_slice(line).ok()
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

/// What a text is, by how it begins: the CLI puts its own words into `user` lines too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Not a text at all.
    #[default]
    None,
    /// What a person or the model wrote.
    Plain,
    /// A slash command that ran (`<command-name>`), and `!` shell input.
    Command,
    /// Its output.
    CommandOutput,
    /// "[Request interrupted by user]" and its like.
    Interrupted,
    /// `<system-reminder>`, `<task-notification>`, caveats: the CLI speaking to the model.
    Machine,
}

impl Flavour {
    pub(crate) fn of(text: &str) -> Self {
        const BEGINNINGS: [(&str, Flavour); 10] = [
            ("[Request interrupted by user", Flavour::Interrupted),
            ("<command-name>", Flavour::Command),
            ("<command-message>", Flavour::Command),
            ("<bash-input>", Flavour::Command),
            ("<local-command-caveat>", Flavour::Machine),
            ("<local-command-", Flavour::CommandOutput),
            ("<bash-stdout>", Flavour::CommandOutput),
            ("<bash-stderr>", Flavour::CommandOutput),
            ("<system-reminder>", Flavour::Machine),
            ("<task-notification>", Flavour::Machine),
        ];
        let found = BEGINNINGS.iter().find(|(beginning, _)| text.starts_with(beginning));
        found.map_or(Flavour::Plain, |(_, flavour)| *flavour)
    }
}

/// A string or boolean; anything else counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scalar<'a> {
    #[default]
    None,
    Null,
    Text(Cow<'a, str>),
    Bool(bool),
}

impl Scalar<'_> {
    /// The text, or "".
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::None | Self::Null | Self::Bool(_) => "",
        }
    }

    pub(crate) fn is_true(&self) -> bool {
        *self == Self::Bool(true)
    }

    pub(crate) fn is_set(&self) -> bool {
        !matches!(self, Self::None | Self::Null)
    }
}

/// A count of tokens; anything that is no number counts as 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tokens(pub(crate) u64);

/// A message's content: a string, or blocks.
#[derive(Debug, Default)]
pub(crate) enum Content<'a> {
    #[default]
    None,
    Text(Flavour),
    Blocks(Vec<BlockHead<'a>>),
}

/// An object, or nothing where there is none.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) Option<T>);

impl<T> Default for Object<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// What a lenient visitor makes of each kind of JSON value; what it does not name counts as absent.
trait Lenient<'de>: Default {
    fn from_str(_: &str) -> Self {
        Self::default()
    }
    fn from_borrowed(text: &'de str) -> Self {
        Self::from_str(text)
    }
    fn from_bool(_: bool) -> Self {
        Self::default()
    }
    fn from_number(_: u64) -> Self {
        Self::default()
    }
    fn from_null() -> Self {
        Self::default()
    }
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
    fn from_seq<A: SeqAccess<'de>>(mut seq: A) -> Result<Self, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

struct LenientVisitor<T>(PhantomData<T>);

impl<'de, T: Lenient<'de>> Visitor<'de> for LenientVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::from_borrowed(text))
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::from_str(text))
    }
    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::from_bool(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<T, E> {
        Ok(T::from_number(value))
    }
    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::from_null())
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::from_seq(seq)
    }
}

impl<'de> Lenient<'de> for Scalar<'de> {
    fn from_str(text: &str) -> Self {
        Self::Text(Cow::Owned(text.to_owned()))
    }
    fn from_borrowed(text: &'de str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
    fn from_bool(value: bool) -> Self {
        Self::Bool(value)
    }
    fn from_null() -> Self {
        Self::Null
    }
}

impl Lenient<'_> for Flavour {
    fn from_str(text: &str) -> Self {
        Self::of(text)
    }
}

impl Lenient<'_> for Tokens {
    fn from_number(value: u64) -> Self {
        Self(value)
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

impl<'de, T: Deserialize<'de>> Lenient<'de> for Object<T> {
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|value| Self(Some(value)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Scalar<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value: Scalar<'de> = deserializer.deserialize_any(LenientVisitor(PhantomData))?;
        Ok(value)
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

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientVisitor(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
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
