//! Gathers the sessions of the board and of lists.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use claude_ide_system::worktree;
use serde::Serialize;

use super::request::{BoardOf, LineOf, LinesOf};
use super::shared::Shared;
use crate::board::{Board, Listed, Session, choose, draw, list};
use crate::cancel::Cancel;
use crate::config_dir::ConfigDir;
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

/// A session with the name of its linked worktree, the configuration folder of its CLI, and whether a copy is kept.
#[derive(Serialize)]
pub(super) struct Named {
    #[serde(flatten)]
    summary: Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<String>,
    config_dir: Option<ConfigDir>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<&'static str>,
}

/// Folders of which the worktree is known: its top, and whether it is a linked one. Many sessions have the same.
#[derive(Default)]
struct Worktrees(HashMap<PathBuf, Option<(PathBuf, bool)>>);

impl Worktrees {
    fn of(&mut self, folder: &Path) -> Option<&(PathBuf, bool)> {
        if !self.0.contains_key(folder) {
            let top = worktree::top(folder).map(|top| (top.to_owned(), worktree::is_linked(top)));
            self.0.insert(folder.to_owned(), top);
        }
        self.0.get(folder)?.as_ref()
    }

    fn name(&mut self, folder: Option<&Path>) -> Option<String> {
        let (top, _) = self.of(folder?).filter(|(_, linked)| *linked)?;
        Some(top.file_name()?.to_string_lossy().into_owned())
    }

    fn find(&mut self, session: &mut Session) {
        if let Some((top, linked)) = session.cwd().and_then(|cwd| self.of(&cwd).cloned()) {
            (session.worktree, session.linked) = (Some(top), linked);
        }
    }
}

fn session(id: SessionId, live: Option<LiveSession>, summary: Option<Summary>) -> Session {
    Session { id, live, summary, tally: Tally::default(), worktree: None, linked: false, note: None }
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
        sessions.extend(summaries.into_iter().map(|summary| session(summary.id.clone(), None, Some(summary))));
        let mut worktrees = Worktrees::default();
        sessions.iter_mut().for_each(|session| worktrees.find(session));
        let (mut sessions, counts) = choose(sessions, &options);
        let more = self.count(&mut sessions, cancel);
        Ok(Drawn { board: draw(sessions, counts, &options), more })
    }

    /// The lines of a list.
    pub(super) fn lines_now(&self, LinesOf { sessions, screen }: LinesOf) -> Vec<Listed> {
        let by_pid: HashMap<u32, LiveSession> =
            self.follows.running().into_iter().map(|live| (live.pid, live)).collect();
        let mut worktrees = Worktrees::default();
        let one = |LineOf { id, file, pid, note, known }: LineOf| {
            let live = pid.and_then(|pid| by_pid.get(&pid)).cloned();
            let mut session = session(SessionId::new(&id), live, file.and_then(|file| self.summary_now(&file)));
            worktrees.find(&mut session);
            session.note = note;
            (session, known)
        };
        let sessions: Vec<_> = sessions.into_iter().map(one).collect();
        list(&sessions, &screen)
    }

    /// The sessions of a place, each with the name of its worktree.
    pub(super) fn named_now(&self, scope: &Scope, cancel: &Cancel) -> Result<Vec<Named>, SessionError> {
        let mut worktrees = Worktrees::default();
        let summaries = self.list_now(scope, cancel)?;
        let one = |summary: Summary| Named {
            worktree: worktrees.name(summary.cwd.as_deref()),
            config_dir: summary.config_dir(),
            kept: summary.kept.as_ref().map(|kept| if kept.only { "only" } else { "beside" }),
            summary,
        };
        Ok(summaries.into_iter().map(one).collect())
    }

    /// The running sessions, with their summaries, which are taken out.
    fn running(&self, scopes: &[Scope], summaries: &mut Vec<Summary>) -> Vec<Session> {
        let mut by_id: HashMap<SessionId, LiveSession> = HashMap::new();
        for live in self.follows.running() {
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
                let summary = written.remove(&live.id).or_else(|| self.summary_now(&live.transcript()));
                session(live.id.clone(), Some(live), summary)
            })
            .collect()
    }

    /// Counts what they did. Returns whether some are not complete.
    fn count(&self, sessions: &mut [Session], cancel: &Cancel) -> bool {
        let (mut budget, mut more) = (BUDGET, false);
        for session in sessions {
            let Some(summary) = &session.summary else { continue };
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
