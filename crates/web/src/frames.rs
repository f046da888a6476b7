//! The frames of clients, and those to clients beside transcript lines.
//!
//! Source: the transcript protocol (doc/dev/server.md), "Message Types" and "Future Enhancements" (`user_message`, `error`, `stream_event`, `subscribe`,
//! `typing`, `ack`); the rest is ours: `:h claude-ide-web`.

use std::collections::BTreeMap;

use claude_ide_session::{Activity, LiveSession, WaitingFor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::editor::{Act, Choice};

/// A client's frame.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Inward {
    /// Authentication without a header.
    Auth {
        /// The token.
        token: String,
    },
    /// A connection check: pages cannot see the protocol's own pings.
    Ping,
    /// Starts reading from a place.
    Subscribe {
        /// After this line.
        #[serde(rename = "fromUuid")]
        from_uuid: Option<String>,
        /// Only the last lines.
        last: Option<usize>,
    },
    /// Requests or gives up writing.
    Write {
        /// Whether to write.
        on: bool,
    },
    /// A prompt.
    UserMessage {
        /// The text.
        content: String,
        /// The client's id for it.
        id: Option<String>,
    },
    /// Recalls a prompt.
    CancelMessage {
        /// The client's id for it.
        id: String,
    },
    /// Interrupts Claude.
    Interrupt {
        /// The client's id for the request.
        id: Option<String>,
    },
    /// Answers a decision.
    Decide {
        /// The decision.
        id: u64,
        /// One of its choices.
        choice: String,
        /// A message to Claude.
        message: Option<String>,
        /// Answers by question.
        answers: Option<BTreeMap<String, String>>,
    },
    /// Does something with a thread of comments.
    Comment {
        /// The client's id for the request.
        id: String,
        /// The thread's name.
        thread: String,
        /// What to do.
        act: Act,
        /// The words of a reply.
        words: Option<String>,
    },
}

/// The seed's error for a message that cannot be sent.
pub(crate) const NOT_SENT: &str = "Failed to send message to session";
pub(crate) const NOT_CANCELLED: &str = "Failed to cancel message";
pub(crate) const NOT_DECIDED: &str = "Failed to decide";
pub(crate) const NOT_STOPPED: &str = "Failed to interrupt";
pub(crate) const NOT_COMMENTED: &str = "Failed to change the thread";

/// Parses a frame.
///
/// # Errors
/// The error for the client.
pub(crate) fn read(text: &str) -> Result<Inward, String> {
    serde_json::from_str(text).map_err(|_| refused(text))
}

/// The error for a malformed frame.
fn refused(text: &str) -> String {
    /// The part that decides which error is sent.
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
        Some("comment") => NOT_COMMENTED,
        Some("write") => "Failed to turn writing on",
        Some(_) | None => {
            return Outward::error("Unknown message: expected {\"type\":\"subscribe\"}").text();
        }
    };
    Outward::Error { error, reason: Some(reason), id: id.as_ref() }.text()
}

/// Length limit of a client's id for a message.
pub(crate) const MAX_ID: usize = 128;

/// A frame to a client that is no transcript line.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Outward<'a> {
    /// Answers `subscribe`.
    Subscribed {
        /// The requested line.
        #[serde(rename = "fromUuid", skip_serializing_if = "Option::is_none")]
        from_uuid: Option<&'a str>,
        /// Whether it was found; otherwise everything follows.
        found: bool,
    },
    /// All earlier lines have been sent.
    CaughtUp {
        /// The number of known lines.
        messages: usize,
    },
    /// The session's state.
    State {
        state: Activity,
        #[serde(rename = "waitingFor")]
        waiting_for: Option<WaitingFor>,
        /// Whether this socket may write now.
        #[serde(rename = "canWrite")]
        can_write: bool,
    },
    /// Answers `write`.
    Writing { on: bool, commands: bool },
    /// A message is queued.
    Queued { id: &'a str, position: usize, content: &'a str },
    /// Claude has a message.
    Sent { id: &'a str },
    /// A message is in the transcript.
    Ack { id: &'a str, uuid: &'a str },
    /// A message was not sent, or its fate is unknown.
    Unqueued { id: &'a str, reason: &'a str },
    /// A request to the user was opened.
    Decision {
        id: u64,
        choices: &'a [Choice],
        #[serde(flatten)]
        about: &'a Map<String, Json>,
    },
    /// A request to the user was closed.
    DecisionClosed { id: u64, outcome: &'a str },
    /// The session's threads of comments, in place of those before.
    Threads {
        #[serde(rename = "sessionId")]
        session: &'a str,
        threads: &'a [Json],
    },
    /// A thread was changed as requested.
    Commented { id: &'a Json },
    /// Whether Claude is working.
    Typing {
        #[serde(rename = "isTyping")]
        is_typing: bool,
    },
    /// The process moved to another session, which the following frames are about.
    Session {
        #[serde(rename = "sessionId")]
        session_id: &'a str,
        previous: &'a str,
    },
    /// The file was replaced by an unrelated one: the lines start again.
    Reset,
    /// Answers `ping`.
    Pong,
    /// An error.
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

    /// A session's state, from its running process.
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
    fn reads_the_seeds_frames() {
        let from = Inward::Subscribe { from_uuid: Some("u".to_owned()), last: None };
        assert_eq!(read(r#"{"type":"subscribe","fromUuid":"u","more":[]}"#), Ok(from));
        assert_eq!(read(r#"{"type":"subscribe"}"#), Ok(Inward::Subscribe { from_uuid: None, last: None }));
        assert!(read(r#"{"type":"eval"}"#).is_err());
        assert!(read("").is_err());
    }

    proptest! {
        #[test]
        fn any_frame_is_read_or_refused(text in ".*", kind in "auth|subscribe|write|user_message|cancel_message|interrupt|decide|comment|[a-z_]*", rest in ".*") {
            let _: Result<Inward, String> = read(&text);
            let _: Result<Inward, String> = read(&format!("{{\"type\":\"{kind}\",{rest}}}"));
            let _: Result<Inward, String> = read(&format!("{{\"type\":\"{kind}\",\"fromUuid\":{rest}}}"));
        }
    }
}
