//! The rows of the board: running sessions, those that wait first, then the ended ones, newest first.
//!
//! Invariants: a session has one row, whatever number of processes or files it has. The order within a group does not
//! depend on what a session does, so that rows rest.

mod layout;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::live::LiveSession;
use crate::render::one_line;
use crate::state::{Activity, WaitingFor};
use crate::store::{Summary, Tally};
use crate::time::Millis;
pub use layout::{Line, Look, Screen};

/// What only the client knows of a session.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Known {
    /// What it asks there.
    pub asks: Option<String>,
    /// Changed files to review.
    pub review: u32,
    /// Prompts that wait until it is free.
    pub queued: u32,
    /// What it has cost, in dollars.
    pub cost: Option<f64>,
}

/// Which sessions are rows, and what they look like.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// The screen.
    pub screen: Screen,
    /// What the client knows, by session.
    #[serde(default)]
    pub known: HashMap<String, Known>,
    /// Only sessions of this worktree.
    #[serde(default)]
    pub worktree: Option<PathBuf>,
    /// Sessions without a row, until they wait for the user.
    #[serde(default)]
    pub hidden: HashSet<String>,
    /// At most so many ended sessions.
    pub ended: usize,
}

/// A session that may have a row.
#[derive(Debug)]
pub struct Session {
    /// Its process, if it runs.
    pub live: Option<LiveSession>,
    /// Its file, if it was written.
    pub summary: Option<Summary>,
    /// What was counted.
    pub tally: Tally,
    /// The folder that holds its `.git`.
    pub worktree: Option<PathBuf>,
}

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

impl Options {
    pub(crate) fn shows(&self, session: &Session) -> bool {
        self.worktree.is_none() || session.worktree == self.worktree
    }
}

impl Session {
    pub(crate) fn id(&self) -> SessionId {
        let written = self.summary.as_ref().map(|summary| summary.id.clone());
        written.or_else(|| self.live.as_ref().map(|live| live.id.clone())).unwrap_or_else(|| SessionId::new(""))
    }

    /// The folder that it works in.
    pub(crate) fn cwd(&self) -> Option<PathBuf> {
        let live = self.live.as_ref().map(|live| PathBuf::from(&live.cwd)).filter(|cwd| !cwd.as_os_str().is_empty());
        live.or_else(|| self.summary.as_ref()?.cwd.clone())
    }

    fn title(&self) -> String {
        let live = self.live.as_ref().and_then(|live| live.name.as_deref());
        let written = self.summary.as_ref().and_then(|summary| {
            let title = summary.title.as_deref()?;
            Some(if summary.forked_from.is_some() { format!("fork: {title}") } else { title.to_owned() })
        });
        // A title that was set elsewhere since is only in the transcript.
        let named = self.summary.as_ref().is_some_and(|summary| summary.named);
        let title = if named { written } else { live.map(str::to_owned).or(written) };
        let title = one_line(&title.unwrap_or_default());
        if title.is_empty() { format!("Session {}", self.id().as_str().get(..8).unwrap_or_default()) } else { title }
    }

    fn activity(&self, known: Option<&Known>) -> Activity {
        let Some(live) = &self.live else { return Activity::Gone };
        if known.is_some_and(|known| known.asks.is_some()) { Activity::Waiting } else { live.state.activity }
    }

    fn waiting_for(&self) -> Option<WaitingFor> {
        self.live.as_ref()?.state.waiting_for
    }

    /// When its state began.
    fn since(&self) -> Millis {
        let live = self.live.as_ref().and_then(|live| live.state.since.or(live.started));
        live.or_else(|| Some(self.summary.as_ref()?.updated)).unwrap_or_default()
    }

    /// Its place in its group, which it keeps: running ones by their start, ended ones by their end.
    fn place(&self) -> Millis {
        let live = self.live.as_ref().and_then(|live| live.started.or(live.state.since));
        live.or_else(|| Some(self.summary.as_ref()?.updated)).unwrap_or_default()
    }
}

const fn group(activity: Activity) -> u8 {
    match activity {
        Activity::Waiting => 0,
        Activity::Working => 1,
        Activity::Idle => 2,
        Activity::Gone => 3,
    }
}

/// Draws the board.
#[must_use]
pub fn draw(sessions: Vec<Session>, options: &Options) -> Board {
    let known = |session: &Session| options.known.get(session.id().as_str());
    let mut chosen: Vec<(u8, Session)> = sessions
        .into_iter()
        .filter(|session| options.shows(session))
        .map(|session| (group(session.activity(known(&session))), session))
        .collect();
    chosen.sort_by(|(left_group, left), (right_group, right)| {
        left_group.cmp(right_group).then_with(|| (right.place(), right.id()).cmp(&(left.place(), left.id())))
    });
    let mut counts = Counts::default();
    let mut seen = HashSet::new();
    chosen.retain(|(group, session)| {
        let id = session.id();
        if !seen.insert(id.clone()) {
            return false;
        }
        if *group > 0 && options.hidden.contains(id.as_str()) {
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
    let sessions: Vec<_> = chosen.into_iter().map(|(_, session)| session).collect();
    let lines = layout::lines(&sessions, options);
    let row = |(session, lines): (Session, Vec<Line>)| Row {
        id: session.id(),
        title: session.title(),
        file: session.summary.as_ref().map(|summary| summary.file.clone()),
        pid: session.live.as_ref().map(|live| live.pid),
        activity: session.activity(options.known.get(session.id().as_str())),
        worktree: session.worktree.clone(),
        lines,
    };
    Board { rows: sessions.into_iter().zip(lines).map(row).collect(), counts }
}

#[cfg(test)]
mod tests;
