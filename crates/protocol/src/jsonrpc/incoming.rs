//! Parses a peer's message or batch into requests, notifications and responses.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, SeqAccess, Visitor},
};
use serde_json::{error::Category, value::RawValue};

use super::{ErrorCode, ErrorObject, RequestId};

/// A malformed message, and the error to answer with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The id, if it could be read.
    pub id: Option<RequestId>,
    /// The error.
    pub error: ErrorObject,
}

impl Malformed {
    fn new(id: Option<RequestId>, code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { id, error: ErrorObject { code, message: message.into() } }
    }

    fn from_json(text: &str, error: &serde_json::Error) -> Self {
        match error.classify() {
            Category::Syntax | Category::Eof | Category::Io => {
                Self::new(None, ErrorCode::ParseError, format!("parse error: {error}"))
            }
            // A value of another type is reported before the rest is read, which may not be JSON.
            Category::Data => match serde_json::from_str::<IgnoredAny>(text) {
                Ok(IgnoredAny) => Self::new(None, ErrorCode::InvalidRequest, format!("invalid request: {error}")),
                Err(syntax) => Self::new(None, ErrorCode::ParseError, format!("parse error: {syntax}")),
            },
        }
    }
}

/// One message of the peer.
#[derive(Debug)]
pub enum Incoming<'a> {
    /// Requires exactly one response.
    Request {
        /// Its id, to be returned in the response.
        id: RequestId,
        /// The method.
        method: Cow<'a, str>,
        /// The parameters: an object or an array.
        params: Option<&'a RawValue>,
    },
    /// Requires no response.
    Notification {
        /// The method.
        method: Cow<'a, str>,
        /// The parameters: an object or an array.
        params: Option<&'a RawValue>,
    },
    /// The response to a request of ours.
    Response {
        /// The id of our request, if it could be read.
        id: Option<RequestId>,
        /// The `result`, or the `error`.
        outcome: Result<&'a RawValue, &'a RawValue>,
    },
}

/// Whether the text is a batch: its first character is `[`.
#[must_use]
pub fn is_batch(text: &str) -> bool {
    text.bytes().find(|byte| !byte.is_ascii_whitespace()) == Some(b'[')
}

/// Splits a batch into unparsed messages.
///
/// # Errors
/// Not JSON, empty, or longer than `limit`.
pub fn split_batch(text: &str, limit: usize) -> Result<Vec<&RawValue>, Malformed> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let messages = deserializer
        .deserialize_seq(BatchVisitor { limit })
        .and_then(|messages| deserializer.end().map(|()| messages))
        .map_err(|error| Malformed::from_json(text, &error))?;
    if messages.is_empty() {
        return Err(Malformed::new(None, ErrorCode::InvalidRequest, "invalid request: the batch is empty"));
    }
    Ok(messages)
}

/// The error for a batch where none is allowed, or for text that is not JSON.
#[must_use]
pub fn refuse_batch(text: &str) -> Malformed {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(IgnoredAny) => Malformed::new(
            None,
            ErrorCode::InvalidRequest,
            "invalid request: batches exist in MCP 2025-03-26 only, and that version was not negotiated",
        ),
        Err(error) => Malformed::from_json(text, &error),
    }
}

/// Parses one message.
///
/// # Errors
/// [`ErrorCode::ParseError`] if the text is not JSON, [`ErrorCode::InvalidRequest`] if it is no JSON-RPC 2.0 message.
pub fn parse(text: &str) -> Result<Incoming<'_>, Malformed> {
    open(text, RequestId::from_raw)
}

/// Like [`parse`], for protocols that allow a `null` id, as JSON-RPC itself and the Agent Client Protocol do.
///
/// # Errors
/// As for [`parse`].
pub fn parse_with_null_ids(text: &str) -> Result<Incoming<'_>, Malformed> {
    open(text, RequestId::from_raw_or_null)
}

fn open(text: &str, id_of: fn(&RawValue) -> Option<RequestId>) -> Result<Incoming<'_>, Malformed> {
    if is_batch(text) {
        return Err(match serde_json::from_str::<IgnoredAny>(text) {
            Ok(IgnoredAny) => {
                Malformed::new(None, ErrorCode::InvalidRequest, "invalid request: a message is an object")
            }
            Err(error) => Malformed::from_json(text, &error),
        });
    }
    let envelope: Envelope<'_> = serde_json::from_str(text).map_err(|error| Malformed::from_json(text, &error))?;
    envelope.open(id_of)
}

/// The members defined by JSON-RPC, each raw: an absent member differs from `null`.
#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A JSON string, borrowed if it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Envelope<'a> {
    fn open(self, id_of: fn(&RawValue) -> Option<RequestId>) -> Result<Incoming<'a>, Malformed> {
        let id = self.id.and_then(id_of);
        let invalid = |message: &'static str| {
            Malformed::new(id.clone(), ErrorCode::InvalidRequest, format!("invalid request: {message}"))
        };
        // A response never gets a response, however malformed: two peers would otherwise complain to each other
        // forever.
        if self.method.is_none()
            && let Some(outcome) = self.error.map(Err).or(self.result.map(Ok))
        {
            return Ok(Incoming::Response { id, outcome });
        }
        if self.jsonrpc.map(RawValue::get) != Some(r#""2.0""#) {
            return Err(invalid(r#""jsonrpc" must be "2.0""#));
        }
        let Some(method) = self.method else {
            return Err(invalid(r#""method" is missing"#));
        };
        let Ok(Text(method)) = serde_json::from_str(method.get()) else {
            return Err(invalid(r#""method" must be a string"#));
        };
        let params = self.params.filter(|params| params.get() != "null");
        if !params.is_none_or(|params| params.get().starts_with(['{', '['])) {
            return Err(invalid(r#""params" must be an object or an array"#));
        }
        match (self.id, id) {
            (None, _) => Ok(Incoming::Notification { method, params }),
            (Some(_), Some(id)) => Ok(Incoming::Request { id, method, params }),
            (Some(_), None) => Err(Malformed::new(
                None,
                ErrorCode::InvalidRequest,
                r#"invalid request: "id" must be a string or a number"#,
            )),
        }
    }
}

struct BatchVisitor {
    limit: usize,
}

impl<'de> Visitor<'de> for BatchVisitor {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a batch of at most {} messages", self.limit)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut messages = Vec::new();
        while let Some(message) = seq.next_element::<&RawValue>()? {
            if messages.len() == self.limit {
                return Err(serde::de::Error::invalid_length(messages.len().saturating_add(1), &self));
            }
            messages.push(message);
        }
        Ok(messages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonrpc::{error, result};

    fn code(text: &str) -> i32 {
        parse(text).unwrap_err().error.code.number()
    }

    fn request_id(text: &str) -> String {
        match parse(text) {
            Ok(Incoming::Request { id, .. }) => id.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_id_returns_as_it_came() {
        for id in ["1", "1.0", "-7", "12345678901234567890123", "1e3", r#""a""#, r#""\u00fc""#, r#""""#] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            assert_eq!(request_id(&text), id);
            let Ok(Incoming::Request { id: parsed, .. }) = parse(&text) else { panic!("{text}") };
            let answer = String::from_utf8(result(&parsed, &()).unwrap()).unwrap();
            assert_eq!(answer, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#));
        }
    }

    #[test]
    fn invalid_json_is_a_parse_error() {
        for text in ["", " ", "{", "nonsense", r#"{"jsonrpc":"2.0","#, "{}{}", "'x'", "\u{feff}{}"] {
            assert_eq!(code(text), -32700, "{text}");
        }
    }

    #[test]
    fn json_that_is_no_message_is_an_invalid_request() {
        for text in [
            "1",
            "null",
            "true",
            r#""text""#,
            "[]",
            "{}",
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
            r#"{"id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
            r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        ] {
            assert_eq!(code(text), -32600, "{text}");
        }
    }

    #[test]
    fn text_after_the_value_is_no_json() {
        for text in ["1 x", "null,", r#""text" {}"#, "[] x", r#"{"jsonrpc":"2.0","id":1,"id":2} x"#, "{} {}"] {
            assert_eq!(code(text), -32700, "{text}");
        }
        assert_eq!(split_batch("[1,2,3,4] x", 3).unwrap_err().error.code.number(), -32700);
    }

    #[test]
    fn an_invalid_request_keeps_its_id_where_it_has_one() {
        let malformed = parse(r#"{"jsonrpc":"2.0","id":"x","method":5}"#).unwrap_err();
        let answer = error(malformed.id.as_ref(), &malformed.error).unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        assert_eq!(answer["id"], "x");
        let malformed = parse("nonsense").unwrap_err();
        let answer = error(malformed.id.as_ref(), &malformed.error).unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
        assert!(answer.as_object().unwrap().contains_key("id") && answer["id"].is_null());
    }

    #[test]
    fn a_null_id_is_one_only_where_the_protocol_allows_it() {
        let text = r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#;
        assert_eq!(code(text), -32600);
        let Ok(Incoming::Request { id, .. }) = parse_with_null_ids(text) else { panic!("a request") };
        assert_eq!(id.to_string(), "null");
        assert!(matches!(
            parse_with_null_ids(r#"{"jsonrpc":"2.0","method":"ping"}"#),
            Ok(Incoming::Notification { .. })
        ));
    }

    #[test]
    fn without_an_id_it_is_a_notification() {
        assert!(matches!(
            parse(r#" {"jsonrpc":"2.0","method":"x","params":{"a":1},"extra":true} "#),
            Ok(Incoming::Notification { method, params: Some(params) }) if method == "x" && params.get() == r#"{"a":1}"#
        ));
        assert!(matches!(
            parse(r#"{"jsonrpc":"2.0","method":"\u0078","params":null}"#),
            Ok(Incoming::Notification { method, params: None }) if method == "x"
        ));
    }

    #[test]
    fn an_answer_is_never_a_request_however_odd_it_is() {
        for text in [
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#,
            r#"{"id":null,"error":null}"#,
            r#"{"result":null}"#,
        ] {
            assert!(matches!(parse(text), Ok(Incoming::Response { .. })), "{text}");
        }
    }

    #[test]
    fn a_batch_is_split_and_bounded() {
        assert!(is_batch(" \r\n\t[1]"));
        assert!(!is_batch("{}"));
        let parts: Vec<_> = split_batch(r#"[1, {"a": []} ,"x"]"#, 3).unwrap().into_iter().map(RawValue::get).collect();
        assert_eq!(parts, ["1", r#"{"a": []}"#, r#""x""#]);
        for (text, code) in [("[]", -32600), ("[1,2,3,4]", -32600), ("[1,", -32700), ("[1]x", -32700)] {
            assert_eq!(split_batch(text, 3).unwrap_err().error.code.number(), code, "{text}");
        }
    }

    #[test]
    fn a_refused_batch_that_is_no_json_is_a_parse_error() {
        assert_eq!(refuse_batch("[1]").error.code.number(), -32600);
        assert_eq!(refuse_batch("[1").error.code.number(), -32700);
    }
}
