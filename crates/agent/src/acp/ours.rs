//! Our open requests to the agent, as they are kept until the response.

use crate::event::ListedSession;
use crate::settings::SettingValue;

/// An open request of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ours {
    Initialize,
    New,
    /// Resumes a session, with or without its messages.
    Load {
        session: String,
    },
    /// Continues with a copy of a session.
    Fork,
    Prompt(String),
    /// For a numbered command.
    Command(Asked),
}

/// The request of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    /// Only its success matters.
    Done(u64),
    Set {
        number: u64,
        setting: String,
        value: SettingValue,
    },
    /// Lists sessions, page by page.
    Sessions {
        number: u64,
        before: Vec<ListedSession>,
        pages: usize,
    },
    SignIn(u64),
}

impl Asked {
    pub(super) fn number(&self) -> u64 {
        match self {
            Self::Done(number) | Self::SignIn(number) => *number,
            Self::Set { number, .. } | Self::Sessions { number, .. } => *number,
        }
    }
}

impl Ours {
    /// The agent's current activity, in words.
    pub(super) fn doing(&self) -> &'static str {
        match self {
            Self::Initialize => "starting",
            Self::New => "beginning a session",
            Self::Load { .. } => "loading the session",
            Self::Fork => "copying the session",
            Self::Prompt(_) => "working",
            Self::Command(_) => "asked for something",
        }
    }
}
