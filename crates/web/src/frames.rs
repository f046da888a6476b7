//! What clients send over a socket, and what they are told beside lines of a transcript.
//!
//! Source: seed 003, "Message Types" and "Future Enhancements" (`user_message`, `error`, `stream_event`, `subscribe`, `typing`,
//! `ack`); the rest is ours: `:h claude-ide-web`.

use std::collections::BTreeMap;

use claude_ide_session::{Activity, LiveSession, WaitingFor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::editor::Choice;

/// A frame of a client.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Inward {
    /// Who it is, where no header said so.
    Auth {
        /// The token.
        token: String,
    },
    /// It wants to know whether the connection lives: a browser's page is not told of the protocol's own pings.
    Ping,
    /// From where on it wants to read.
    Subscribe {
        /// After this line.
        #[serde(rename = "fromUuid")]
        from_uuid: Option<String>,
        /// Only the last so many.
        last: Option<usize>,
    },
    /// Whether this socket is to write.
    Write {
        /// It is.
        on: bool,
    },
    /// A prompt.
    UserMessage {
        /// As it was written.
        content: String,
        /// The client's own name for it.
        id: Option<String>,
    },
    /// A prompt is taken back.
    CancelMessage {
        /// The client's own name for it.
        id: String,
    },
    /// Claude is to stop what it does.
    Interrupt {
        /// The client's own name for it.
        id: Option<String>,
    },
    /// A decision is answered.
    Decide {
        /// Which.
        id: u64,
        /// One of its choices.
        choice: String,
        /// Words to Claude.
        message: Option<String>,
        /// By question.
        answers: Option<BTreeMap<String, String>>,
    },
}

/// What the seed says to whoever sends a message that cannot be sent.
pub(crate) const NOT_SENT: &str = "Failed to send message to session";
pub(crate) const NOT_CANCELLED: &str = "Failed to cancel message";
pub(crate) const NOT_DECIDED: &str = "Failed to decide";
pub(crate) const NOT_STOPPED: &str = "Failed to interrupt";

/// Reads a frame; what it is not fit for, in a sentence.
///
/// # Errors
/// What to tell the client.
pub(crate) fn read(text: &str) -> Result<Inward, String> {
    serde_json::from_str(text).map_err(|_| refused(text))
}

/// What a client is told whose frame has another form.
fn refused(text: &str) -> String {
    /// As far as it decides what is said.
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Outline {
        #[serde(rename = "type")]
        kind: Option<Json>,
        id: Option<Json>,
    }
    let Outline { kind, id } = serde_json::from_str(text).unwrap_or_default();
    let reason = "the frame has another form: see :h claude-ide-web-write";
    let id = id.filter(|id| id.is_u64() || id.as_str().is_some_and(|id| id.len() <= MAX_ID));
    let error = match kind.as_ref().and_then(Json::as_str) {
        Some("user_message") => NOT_SENT,
        Some("cancel_message") => NOT_CANCELLED,
        Some("decide") => NOT_DECIDED,
        Some("interrupt") => NOT_STOPPED,
        Some("write") => "Failed to turn writing on",
        Some(_) | None => {
            return Outward::error("Unknown message: expected {\"type\":\"subscribe\"}").text();
        }
    };
    Outward::Error { error, reason: Some(reason), id: id.as_ref() }.text()
}

/// Letters of a client's own name for a message.
pub(crate) const MAX_ID: usize = 128;

/// What a client is told beside lines.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Outward<'a> {
    /// Answers a `subscribe`.
    Subscribed {
        /// What was asked for.
        #[serde(rename = "fromUuid", skip_serializing_if = "Option::is_none")]
        from_uuid: Option<&'a str>,
        /// Whether it was there; if not, everything follows.
        found: bool,
    },
    /// All that was written before has been told.
    CaughtUp {
        /// So many lines are known.
        messages: usize,
    },
    /// What the session does.
    State {
        state: Activity,
        #[serde(rename = "waitingFor")]
        waiting_for: Option<WaitingFor>,
        /// Whether this socket may write now.
        #[serde(rename = "canWrite")]
        can_write: bool,
    },
    /// Answers a `write`.
    Writing { on: bool, commands: bool },
    /// A message waits its turn.
    Queued { id: &'a str, position: usize, content: &'a str },
    /// Claude has a message.
    Sent { id: &'a str },
    /// A message is in the transcript.
    Ack { id: &'a str, uuid: &'a str },
    /// A message is not sent, or is not known to be.
    Unqueued { id: &'a str, reason: &'a str },
    /// Something waits for a user.
    Decision {
        id: u64,
        choices: &'a [Choice],
        #[serde(flatten)]
        about: &'a Map<String, Json>,
    },
    /// It does no longer.
    DecisionClosed { id: u64, outcome: &'a str },
    /// Whether Claude is at it.
    Typing {
        #[serde(rename = "isTyping")]
        is_typing: bool,
    },
    /// The process goes on with another session: what follows is that one.
    Session {
        #[serde(rename = "sessionId")]
        session_id: &'a str,
        previous: &'a str,
    },
    /// The file was replaced by one that has nothing of what was told: it begins anew.
    Reset,
    /// Answers a `ping`.
    Pong,
    /// Something went wrong.
    Error {
        error: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Json>,
    },
}

impl<'a> Outward<'a> {
    pub(crate) fn error(error: &'a str) -> Self {
        Self::Error { error, reason: None, id: None }
    }

    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What a session does, by the process that runs it.
    pub(crate) fn state_of(running: Option<&LiveSession>, can_write: bool) -> Self {
        let (state, waiting_for) = match running {
            Some(session) => (session.state.activity, session.state.waiting_for),
            None => (Activity::Gone, None),
        };
        Self::State { state, waiting_for, can_write }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_the_seed_has() {
        let from = Inward::Subscribe { from_uuid: Some("u".to_owned()), last: None };
        assert_eq!(read(r#"{"type":"subscribe","fromUuid":"u","more":[]}"#), Ok(from));
        assert_eq!(read(r#"{"type":"subscribe"}"#), Ok(Inward::Subscribe { from_uuid: None, last: None }));
        assert!(read(r#"{"type":"eval"}"#).is_err());
        assert!(read("").is_err());
    }

    proptest! {
        #[test]
        fn whatever_comes_is_read_or_refused(text in ".*", kind in "auth|subscribe|write|user_message|cancel_message|interrupt|decide|[a-z_]*", rest in ".*") {
            let _: Result<Inward, String> = read(&text);
            let _: Result<Inward, String> = read(&format!("{{\"type\":\"{kind}\",{rest}}}"));
            let _: Result<Inward, String> = read(&format!("{{\"type\":\"{kind}\",\"fromUuid\":{rest}}}"));
        }
    }
}
