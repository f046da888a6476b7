//! The interface to the editor, which delivers messages to Claude and answers its requests.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// A request to the editor. Each [`Ask::Deliver`] is followed by [`Report::Sent`] or [`Report::Failed`], perhaps after
/// [`Report::Given`], each [`Ask::Decide`], [`Ask::Interrupt`] and [`Ask::Comment`] by [`Report::Done`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ask {
    /// Deliver a message to Claude, once it is idle and its prompt is free.
    Deliver {
        /// The message's key.
        key: u64,
        /// The session.
        session: String,
        /// Plain text.
        text: String,
        /// Whether it is a command.
        command: bool,
        /// Whether a process ran the session when it was written: it is for that process, and starts none if that has
        /// ended.
        ran: bool,
    },
    /// Cancel the delivery, if it has not happened: [`Report::Failed`] confirms that.
    TakeBack {
        /// The message's key.
        key: u64,
    },
    /// Interrupt Claude in a session.
    Interrupt {
        /// The request's key.
        key: u64,
        /// The session.
        session: String,
    },
    /// Answer a decision.
    Decide {
        /// The request's key.
        key: u64,
        /// The decision.
        decision: u64,
        /// One of its choices.
        choice: String,
        /// A message to Claude.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Answers by question.
        #[serde(skip_serializing_if = "Option::is_none")]
        answers: Option<BTreeMap<String, String>>,
    },
    /// Do something with a thread of comments.
    Comment {
        /// The request's key.
        key: u64,
        /// The session.
        session: String,
        /// The thread's name.
        thread: String,
        /// What to do.
        act: Act,
        /// The words of a reply.
        #[serde(skip_serializing_if = "Option::is_none")]
        words: Option<String>,
    },
}

/// What a client does with a thread of comments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Say something, which is sent to Claude.
    Reply,
    /// Send what was written in the editor.
    Send,
    /// Nothing is left to be done.
    Resolve,
    /// Something is.
    Reopen,
}

/// A report of the editor.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Claude is given a message: from now on the transcript may have it.
    Given {
        /// The message's key.
        key: u64,
    },
    /// Claude has a message.
    Sent {
        /// The message's key.
        key: u64,
    },
    /// A message was not delivered.
    Failed {
        /// The message's key.
        key: u64,
        /// A sentence, or "cancelled".
        reason: String,
        /// Whether the session's other waiting messages fail too.
        #[serde(default)]
        all: bool,
    },
    /// A request to the user was opened.
    Decision(Decision),
    /// It was closed.
    Closed {
        /// Its id.
        id: u64,
        /// A word that depends on its kind.
        outcome: String,
    },
    /// The threads of comments of a session, in place of those before.
    Threads {
        /// The session.
        session: String,
        /// As they are shown.
        #[serde(default)]
        threads: Vec<Json>,
    },
    /// The result of a request.
    Done {
        /// The request's key.
        key: u64,
        /// The error, if it failed.
        error: Option<String>,
    },
}

/// An open request to the user.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Decision {
    /// Its id.
    pub id: u64,
    /// The session.
    pub session: String,
    /// The choices; none if it can only be answered in the editor.
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// Its other properties: kind, title, and more by kind.
    #[serde(flatten)]
    pub about: Map<String, Json>,
}

/// A choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Its id.
    pub id: String,
    /// The label for the user.
    pub label: String,
    /// Whether a message may be added.
    #[serde(default, skip_serializing_if = "is_not")]
    pub message: bool,
    /// Whether it needs answers.
    #[serde(default, skip_serializing_if = "is_not")]
    pub answers: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_not(flag: &bool) -> bool {
    !flag
}

/// The editor. Called on the runtime's thread, so it must not block.
pub trait Editor: Send + Sync {
    /// Accepts a request; `false` if too many wait.
    fn ask(&self, ask: Ask) -> bool;
}

/// Permission for clients to write.
#[derive(Clone)]
pub struct Writing {
    /// The editor that handles their requests.
    pub editor: Arc<dyn Editor>,
    /// Whether messages may be commands.
    pub commands: bool,
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing").field("commands", &self.commands).finish_non_exhaustive()
    }
}
