//! Gathers the sessions of the board.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use claude_ide_system::worktree;
use serde::Serialize;

use super::request::BoardOf;
use super::shared::Shared;
use crate::board::{Board, Options, Session, draw};
use crate::cancel::Cancel;
use crate::error::SessionError;
use crate::id::SessionId;
use crate::live::LiveSession;
use crate::store::{Scope, Summary, Tally};

/// Bytes of transcripts read for one answer: the first board of long sessions appears before all is counted.
const BUDGET: u64 = 32 * 1024 * 1024;

/// The answer.
#[derive(Serialize)]
pub(super) struct Drawn {
    #[serde(flatten)]
    board: Board,
    /// Not everything is counted yet: ask again.
    more: bool,
}

/// Whether a folder is in one of the scopes.
fn is_within(scopes: &[Scope], folder: &Path) -> bool {
    scopes.iter().any(|scope| match scope {
        Scope::All => true,
        Scope::Folder(only) => only == folder,
        Scope::Tree(top) => folder.starts_with(top),
    })
}

impl Shared {
    pub(super) fn board_now(&self, of: BoardOf, cancel: &Cancel) -> Result<Drawn, SessionError> {
        let BoardOf { places, files, options } = of;
        let scopes: Vec<Scope> = places.into_iter().map(Scope::from).collect();
        let mut summaries = Vec::new();
        match files {
            // Only these may have changed: nothing else is looked for.
            Some(files) => summaries.extend(files.iter().filter_map(|file| self.summary_now(file))),
            None => {
                for scope in &scopes {
                    summaries.extend(self.list_now(scope, cancel)?);
                }
            }
        }
        let mut sessions = self.running(&scopes, &mut summaries);
        let alone = |summary| Session { live: None, summary: Some(summary), tally: Tally::default(), worktree: None };
        summaries.sort_unstable_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
        summaries.dedup_by(|a, b| a.id == b.id);
        sessions.extend(summaries.into_iter().map(alone));
        Self::find_worktrees(&mut sessions);
        let more = self.count(&mut sessions, &options, cancel);
        Ok(Drawn { board: draw(sessions, &options), more })
    }

    /// The running sessions, with their summaries, which are taken out.
    fn running(&self, scopes: &[Scope], summaries: &mut Vec<Summary>) -> Vec<Session> {
        let mut by_id: HashMap<SessionId, LiveSession> = HashMap::new();
        for live in self.follows.lives.all() {
            let other = by_id.get(&live.id);
            if other.is_none_or(|other| other.state.since <= live.state.since) {
                by_id.insert(live.id.clone(), live);
            }
        }
        let mut written: HashMap<SessionId, Summary> = HashMap::new();
        for summary in summaries.extract_if(.., |summary| by_id.contains_key(&summary.id)) {
            let newer = written.get(&summary.id).is_none_or(|other| other.updated < summary.updated);
            if newer {
                written.insert(summary.id.clone(), summary);
            }
        }
        let is_here = |live: &LiveSession| written.contains_key(&live.id) || is_within(scopes, Path::new(&live.cwd));
        let here: Vec<_> = by_id.into_values().filter(is_here).collect();
        here.into_iter()
            .map(|live| {
                let summary = written.remove(&live.id).or_else(|| self.summary_now(&self.transcript_of(&live)));
                Session { live: Some(live), summary, tally: Tally::default(), worktree: None }
            })
            .collect()
    }

    fn find_worktrees(sessions: &mut [Session]) {
        let mut known: HashMap<PathBuf, Option<PathBuf>> = HashMap::new();
        for session in sessions {
            let Some(cwd) = session.cwd() else { continue };
            session.worktree =
                known.entry(cwd).or_insert_with_key(|cwd| worktree::top(cwd).map(Path::to_owned)).clone();
        }
    }

    /// Counts those that may have a row. Returns whether some are not complete.
    fn count(&self, sessions: &mut [Session], options: &Options, cancel: &Cancel) -> bool {
        let (mut budget, mut more, mut ended) = (BUDGET, false, 0);
        for session in sessions.iter_mut().filter(|session| options.shows(session)) {
            ended += usize::from(session.live.is_none());
            let Some(summary) = session.summary.as_ref().filter(|_| ended <= options.ended) else { continue };
            match self.with_store(|store| store.tally(&summary.file, &mut budget, cancel)) {
                Ok(Some((tally, complete))) => {
                    session.tally = tally;
                    more |= !complete;
                }
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "could not count a session"),
            }
        }
        more && !cancel.is_cancelled()
    }
}
