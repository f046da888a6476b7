//! A session that may have a row.

use std::path::PathBuf;

use super::options::{Known, Options};
use crate::id::SessionId;
use crate::live::LiveSession;
use crate::render::one_line;
use crate::state::{Activity, WaitingFor};
use crate::store::{Summary, Tally};
use crate::time::Millis;

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

    pub(super) fn title(&self) -> String {
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
    pub(crate) fn shows(&self, session: &Session) -> bool {
        self.worktree.is_none() || session.worktree == self.worktree
    }
}
