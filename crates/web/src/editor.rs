//! Whoever can put a message before Claude and answer what waits: what it is asked, and what it tells. Known to this crate by
//! this alone.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// Something for the editor to do. Each [`Ask::Deliver`] is followed by [`Told::Sent`] or [`Told::Failed`], each [`Ask::Decide`]
/// and [`Ask::Interrupt`] by [`Told::Done`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Ask {
    /// Put a message before Claude, as soon as it is idle and nobody else writes there.
    Deliver {
        /// Names it.
        key: u64,
        /// Whose.
        session: String,
        /// Words alone.
        text: String,
        /// It is to be a command.
        command: bool,
        /// A process ran the session when it was written: it is for that one, and starts nothing where that has ended.
        ran: bool,
    },
    /// Do not deliver it, if it was not: [`Told::Failed`] says that it is not.
    TakeBack {
        /// Of the message.
        key: u64,
    },
    /// Stop what Claude does in a session.
    Interrupt {
        /// Names the wish.
        key: u64,
        /// Which.
        session: String,
    },
    /// Answer a decision.
    Decide {
        /// Names the question whether it could be answered.
        key: u64,
        /// Which.
        decision: u64,
        /// One of its choices.
        choice: String,
        /// Words to Claude.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// By question.
        #[serde(skip_serializing_if = "Option::is_none")]
        answers: Option<BTreeMap<String, String>>,
    },
}

/// What the editor tells.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// Claude has a message.
    Sent {
        /// Of the message.
        key: u64,
    },
    /// A message is not delivered.
    Failed {
        /// Of the message.
        key: u64,
        /// A sentence, or "cancelled".
        reason: String,
        /// Nor will those be that wait behind it.
        #[serde(default)]
        all: bool,
    },
    /// Something waits for a user.
    Decision(Decision),
    /// It is over.
    Closed {
        /// Which.
        id: u64,
        /// A word of its kind.
        outcome: String,
    },
    /// Whether something could be done as it was asked.
    Done {
        /// Of the wish.
        key: u64,
        /// Why not.
        error: Option<String>,
    },
}

/// Something that waits for a user.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Decision {
    /// Names it.
    pub id: u64,
    /// In which session.
    pub session: String,
    /// What can be chosen; nothing: only there.
    #[serde(default)]
    pub choices: Vec<Choice>,
    /// What else is told of it: kind, title, and more by kind.
    #[serde(flatten)]
    pub about: Map<String, Json>,
}

/// One thing to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Names it.
    pub id: String,
    /// For the user.
    pub label: String,
    /// Words may go with it.
    #[serde(default, skip_serializing_if = "is_not")]
    pub message: bool,
    /// It needs answers.
    #[serde(default, skip_serializing_if = "is_not")]
    pub answers: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_not(flag: &bool) -> bool {
    !flag
}

/// The editor, as this crate asks it. Called on the runtime's thread: it must not wait.
pub trait Editor: Send + Sync {
    /// Takes something on; false where too much waits already.
    fn ask(&self, ask: Ask) -> bool;
}

/// That clients may write, and how.
#[derive(Clone)]
pub struct Writing {
    /// Who does what they want.
    pub editor: Arc<dyn Editor>,
    /// Messages may be commands.
    pub commands: bool,
}

impl fmt::Debug for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writing").field("commands", &self.commands).finish_non_exhaustive()
    }
}
