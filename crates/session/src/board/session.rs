//! A session that may have a row.

use std::path::PathBuf;

use super::options::{Known, Options};
use crate::config_dir::ConfigDir;
use crate::id::SessionId;
use crate::live::LiveSession;
use crate::render::one_line;
use crate::state::{Activity, WaitingFor};
use crate::store::{Summary, Tally};
use crate::time::Millis;

/// A session that may have a row.
#[derive(Debug)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Its process, if it runs.
    pub live: Option<LiveSession>,
    /// Its file, if it was written.
    pub summary: Option<Summary>,
    /// What was counted.
    pub tally: Tally,
    /// The folder that holds its `.git`.
    pub worktree: Option<PathBuf>,
    /// Whether that is a linked worktree.
    pub linked: bool,
    /// What becomes of it, in a list.
    pub note: Option<String>,
}

impl Session {
    /// The folder that it works in.
    pub(crate) fn cwd(&self) -> Option<PathBuf> {
        let live = self.live.as_ref().map(|live| PathBuf::from(&live.cwd)).filter(|cwd| !cwd.as_os_str().is_empty());
        live.or_else(|| self.summary.as_ref()?.cwd.clone())
    }

    /// The configuration folder that it is in.
    pub(super) fn config_dir(&self) -> Option<ConfigDir> {
        let live = self.live.as_ref().map(|live| live.config_dir.clone());
        live.or_else(|| self.summary.as_ref()?.config_dir())
    }

    pub(super) fn title(&self, known: Option<&Known>) -> String {
        let is_fork = self.summary.as_ref().is_some_and(|summary| summary.forked_from.is_some());
        if is_fork { format!("fork: {}", self.name(known)) } else { self.name(known) }
    }

    /// Its title without where it came from.
    pub(super) fn name(&self, known: Option<&Known>) -> String {
        let live = self.live.as_ref().and_then(|live| live.name.as_deref());
        let written = self.summary.as_ref().and_then(|summary| summary.title.as_deref());
        // A title that was set elsewhere since is only in the transcript.
        let named = self.summary.as_ref().is_some_and(|summary| summary.named);
        let title = if named { written } else { live.or(written) };
        let title = one_line(known.and_then(|known| known.title.as_deref()).or(title).unwrap_or_default());
        if title.is_empty() { format!("Session {}", self.id.as_str().get(..8).unwrap_or_default()) } else { title }
    }

    pub(super) fn activity(&self, known: Option<&Known>) -> Activity {
        let Some(live) = &self.live else { return Activity::Gone };
        if known.is_some_and(|known| known.asks.is_some()) { Activity::Waiting } else { live.state.activity }
    }

    pub(super) fn waiting_for(&self) -> Option<WaitingFor> {
        self.live.as_ref()?.state.waiting_for
    }

    /// When its state began.
    pub(super) fn since(&self) -> Millis {
        let live = self.live.as_ref().and_then(|live| live.state.since.or(live.started));
        live.or_else(|| Some(self.summary.as_ref()?.updated)).unwrap_or_default()
    }

    /// Its place in its group, which it keeps: running ones by their start, ended ones by their end.
    pub(super) fn place(&self) -> Millis {
        let live = self.live.as_ref().and_then(|live| live.started.or(live.state.since));
        live.or_else(|| Some(self.summary.as_ref()?.updated)).unwrap_or_default()
    }
}

impl Options {
    pub(super) fn known(&self, session: &Session) -> Option<&Known> {
        self.known.get(session.id.as_str())
    }

    pub(crate) fn shows(&self, session: &Session) -> bool {
        self.worktree.is_none() || session.worktree == self.worktree
    }
}
