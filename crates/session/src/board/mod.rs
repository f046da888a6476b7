//! Sessions in columns. On the board: running sessions, those that wait first, then the ended ones, newest first; in a list
//! to choose from (`:Claude sessions`, `:Claude list`): a line each, in the order of the request.
//!
//! Invariants of the board: a session has one row, whatever number of processes or files it has. The order within a group
//! does not depend on what a session does, so that rows rest.

mod layout;
mod options;
mod session;

use std::collections::HashSet;
use std::path::PathBuf;

use serde::Serialize;

use crate::id::SessionId;
use crate::state::Activity;
pub use layout::{Line, Listed, Look};
pub use options::{Known, Options, Screen};
pub use session::Session;

/// A session on the board.
#[derive(Debug, PartialEq, Serialize)]
pub struct Row {
    /// The session.
    pub id: SessionId,
    /// Its title.
    pub title: String,
    /// Its transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// Its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What it is doing.
    pub activity: Activity,
    /// Its worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worktree: Option<PathBuf>,
    /// How it is shown.
    pub lines: Vec<Line>,
}

/// How many sessions there are, with and without a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Those that wait for the user.
    pub waiting: usize,
    /// Those that work.
    pub working: usize,
    /// Running ones that wait for a prompt.
    pub idle: usize,
    /// Those without a process.
    pub ended: usize,
    /// Hidden ones.
    pub hidden: usize,
}

/// The board.
#[derive(Debug, PartialEq, Serialize)]
pub struct Board {
    /// In order.
    pub rows: Vec<Row>,
    /// See [`Counts`].
    pub counts: Counts,
}

const fn group(activity: Activity) -> u8 {
    match activity {
        Activity::Waiting => 0,
        Activity::Working => 1,
        Activity::Idle => 2,
        Activity::Gone => 3,
    }
}

/// The sessions that have a row, in order, and how many there are.
#[must_use]
pub fn choose(sessions: Vec<Session>, options: &Options) -> (Vec<Session>, Counts) {
    let mut chosen: Vec<(u8, Session)> = sessions
        .into_iter()
        .filter(|session| options.shows(session))
        .map(|session| (group(session.activity(options.known(&session))), session))
        .collect();
    chosen.sort_unstable_by(|(left_group, left), (right_group, right)| {
        left_group.cmp(right_group).then_with(|| (right.place(), &right.id).cmp(&(left.place(), &left.id)))
    });
    let mut counts = Counts::default();
    let mut seen = HashSet::new();
    chosen.retain(|(group, session)| {
        if !seen.insert(session.id.clone()) {
            return false;
        }
        if *group > 0 && options.hidden.contains(session.id.as_str()) {
            counts.hidden += 1;
            return false;
        }
        let count = match group {
            0 => &mut counts.waiting,
            1 => &mut counts.working,
            2 => &mut counts.idle,
            _ => &mut counts.ended,
        };
        *count += 1;
        *group < 3 || *count <= options.ended
    });
    (chosen.into_iter().map(|(_, session)| session).collect(), counts)
}

/// Draws sessions as the rows of the board.
#[must_use]
pub fn draw(sessions: Vec<Session>, counts: Counts, options: &Options) -> Board {
    let lines = layout::lines(&sessions, options);
    let row = |(session, lines): (Session, Vec<Line>)| {
        let known = options.known(&session);
        Row {
            title: session.title(known),
            activity: session.activity(known),
            file: session.summary.map(|summary| summary.file),
            pid: session.live.map(|live| live.pid),
            id: session.id,
            worktree: session.worktree,
            lines,
        }
    };
    Board { rows: sessions.into_iter().zip(lines).map(row).collect(), counts }
}

/// Draws sessions, each with what the client knows of it, as lines of a list.
#[must_use]
pub fn list(sessions: &[(Session, Option<Known>)], screen: &Screen) -> Vec<Listed> {
    let pairs: Vec<_> = sessions.iter().map(|(session, known)| (session, known.as_ref())).collect();
    layout::list(&pairs, screen)
}

#[cfg(test)]
mod tests;
