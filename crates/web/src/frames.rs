//! What clients send over a socket, and what they are told beside lines of a transcript.
//!
//! Source: seed 003, "Message Types" and "Future Enhancements"; `auth`, `subscribed`, `caught_up`, `session` and `reset` are ours.

use claude_ide_session::{Activity, LiveSession, WaitingFor};
use serde::{Deserialize, Serialize};

/// A frame of a client.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Inward {
    /// Who it is, where no header said so.
    Auth {
        /// The token.
        token: String,
    },
    /// From where on it wants to read.
    Subscribe {
        /// After this line.
        #[serde(rename = "fromUuid")]
        from_uuid: Option<String>,
        /// Only the last so many.
        last: Option<usize>,
    },
}

/// Reads a frame; what it is not fit for, in a sentence.
///
/// # Errors
/// What to tell the client.
pub(crate) fn read(text: &str) -> Result<Inward, String> {
    serde_json::from_str(text).map_err(|_| "Unknown message: expected {\"type\":\"subscribe\"}".to_owned())
}

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
    },
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
    /// Something went wrong.
    Error { error: &'a str },
}

impl Outward<'_> {
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What a session does, by the process that runs it.
    pub(crate) fn state_of(running: Option<&LiveSession>) -> Self {
        match running {
            Some(session) => Self::State { state: session.state.activity, waiting_for: session.state.waiting_for },
            None => Self::State { state: Activity::Gone, waiting_for: None },
        }
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
        fn whatever_comes_is_read_or_refused(text in ".*", kind in "auth|subscribe|user_message|[a-z_]*", rest in ".*") {
            let _: Result<Inward, String> = read(&text);
            let _: Result<Inward, String> = read(&format!("{{\"type\":\"{kind}\",{rest}}}"));
            let _: Result<Inward, String> = read(&format!("{{\"type\":\"{kind}\",\"fromUuid\":{rest}}}"));
        }
    }
}
