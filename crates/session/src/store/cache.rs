//! Caches each session's summary while its file is unchanged: in memory, and in one file across restarts.
//!
//! The cache file holds beginnings of prompts, so only its owner can read it, as with the transcripts. A damaged one is
//! discarded.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use claude_ide_system::file::{Access, Whole};
use serde::{Deserialize, Serialize};

use super::Summary;
use super::tally::{Tally, Tokens};
use crate::agent::{agent_id, subagents_folder};
use crate::cancel::Cancel;
use crate::error::SessionError;
use crate::tail::{Tail, TailEvent};

/// Raised whenever the meaning of the stored data changes.
const VERSION: u32 = 9;
/// Limit of a session's subagents whose tokens are counted.
const MAX_AGENTS: usize = 2_000;
/// Limit of cached sessions; beyond it the least recently used are dropped.
const MAX_ENTRIES: usize = 20_000;
/// A larger file is no cache.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Identifies a version of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    pub(super) modified_ns: u64,
    pub(super) bytes: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    stamp: Stamp,
    summary: Summary,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tally: Option<Progress>,
    /// The number of the list that used it last.
    #[serde(skip)]
    used: u64,
}

/// How far a session was counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Progress {
    offset: u64,
    tally: Tally,
    /// Its subagents, by file name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    agents: BTreeMap<String, AgentProgress>,
}

/// How far a subagent's transcript was counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct AgentProgress {
    offset: u64,
    tokens: Tokens,
}

impl Progress {
    /// Counts the tokens of the session's subagents, each from where it ended. Returns whether all are counted.
    fn count_agents(&mut self, file: &Path, budget: &mut u64, cancel: &Cancel) -> bool {
        let files = subagents_folder(file).and_then(|folder| fs::read_dir(folder).ok());
        for entry in files.into_iter().flatten().flatten() {
            let (path, bytes) = (entry.path(), entry.metadata().map_or(0, |metadata| metadata.len()));
            let Some(name) = entry.file_name().to_str().map(str::to_owned) else { continue };
            if agent_id(&path).is_none() || (self.agents.len() >= MAX_AGENTS && !self.agents.contains_key(&name)) {
                continue;
            }
            let agent = self.agents.entry(name).or_default();
            if bytes < agent.offset {
                *agent = AgentProgress::default();
            }
            if bytes == agent.offset {
                continue;
            }
            if *budget == 0 || cancel.is_cancelled() {
                return false;
            }
            let mut tail = Tail::from_offset(&path, agent.offset, 1);
            match tail.check() {
                Ok(TailEvent::Replaced) => *agent = AgentProgress::default(),
                Ok(_) => {}
                Err(_) => continue, // it cannot be read
            }
            while let Ok(more) = tail.read_raw(|line| line.bytes.iter().for_each(|bytes| agent.tokens.add(bytes))) {
                *budget = budget.saturating_sub(tail.offset().saturating_sub(agent.offset));
                agent.offset = tail.offset();
                if !more {
                    break;
                }
                if *budget == 0 || cancel.is_cancelled() {
                    return false;
                }
            }
        }
        true
    }

    /// What was counted so far.
    fn counted(&self) -> Tally {
        let by_agents = self.agents.values().map(|agent| agent.tokens.count()).fold(0, u64::saturating_add);
        let mut tally = self.tally.clone();
        tally.by_agents = by_agents;
        tally
    }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    entries: Vec<Entry>,
}

#[derive(Debug, Default)]
pub(super) struct Cache {
    file: Option<PathBuf>,
    entries: HashMap<PathBuf, Entry>,
    clock: u64,
    changed: bool,
}

impl Cache {
    pub(super) fn load(file: Option<PathBuf>) -> Self {
        let stored = file.as_deref().and_then(read).filter(|stored| stored.version == VERSION);
        let entries = stored.map(|stored| stored.entries).unwrap_or_default();
        let entries = entries.into_iter().take(MAX_ENTRIES).map(|entry| (entry.summary.file.clone(), entry)).collect();
        Self { file, entries, clock: 0, changed: false }
    }

    pub(super) fn get(&mut self, file: &Path, stamp: Stamp) -> Option<Summary> {
        self.clock += 1;
        let entry = self.entries.get_mut(file).filter(|entry| entry.stamp == stamp)?;
        entry.used = self.clock;
        Some(entry.summary.clone())
    }

    pub(super) fn put(&mut self, file: &Path, stamp: Stamp, mut summary: Summary) {
        let tally = self.entries.remove(file).and_then(|entry| entry.tally).filter(|tally| tally.offset <= stamp.bytes);
        if let Some(done) = tally.as_ref().filter(|tally| tally.offset == stamp.bytes) {
            summary.messages = summary.messages.or(Some(done.tally.messages()));
        }
        if self.entries.len() >= MAX_ENTRIES {
            self.forget_some();
        }
        self.clock += 1;
        self.entries.insert(file.to_owned(), Entry { stamp, summary, tally, used: self.clock });
        self.changed = true;
    }

    /// Continues an earlier count, for about `budget` bytes, which are taken off it. Returns whether it is complete.
    pub(super) fn tally(
        &mut self,
        file: &Path,
        budget: &mut u64,
        cancel: &Cancel,
    ) -> Result<Option<(Tally, bool)>, SessionError> {
        let Some(entry) = self.entries.get_mut(file) else { return Ok(None) };
        let mut progress = entry.tally.take().unwrap_or_default();
        let offsets = |progress: &Progress| progress.agents.values().map(|agent| agent.offset).sum::<u64>();
        let before = offsets(&progress);
        let agents_done = progress.count_agents(file, budget, cancel);
        self.changed |= offsets(&progress) != before;
        if progress.offset >= entry.stamp.bytes {
            let tally = progress.counted();
            entry.tally = Some(progress);
            return Ok(Some((tally, agents_done)));
        }
        let mut tail = Tail::from_offset(file, progress.offset, 1);
        if tail.check()? == TailEvent::Replaced {
            progress = Progress { agents: progress.agents, ..Progress::default() };
        }
        let mut more = true;
        while more && *budget > 0 && !cancel.is_cancelled() {
            let from = tail.offset();
            more = tail.read_raw(|line| line.bytes.iter().for_each(|bytes| progress.tally.add(bytes)))?;
            *budget = budget.saturating_sub(tail.offset().saturating_sub(from));
        }
        progress.offset = tail.offset();
        let tally = progress.counted();
        if !more {
            entry.summary.messages = Some(tally.messages());
        }
        entry.tally = Some(progress);
        self.changed = true;
        Ok(Some((tally, !more && agents_done)))
    }

    pub(super) fn save(&mut self) -> Result<(), SessionError> {
        let Some(file) = self.file.as_deref().filter(|_| self.changed) else { return Ok(()) };
        let stored = Stored { version: VERSION, entries: self.entries.values().cloned().collect() };
        let failed = |source| SessionError::Cache { path: file.to_owned(), source };
        let json = serde_json::to_vec(&stored).map_err(|error| failed(io::Error::other(error)))?;
        write_privately(file, &json).map_err(failed)?;
        self.changed = false;
        Ok(())
    }

    /// Drops the least recently used half.
    fn forget_some(&mut self) {
        let mut used: Vec<_> = self.entries.values().map(|entry| entry.used).collect();
        used.sort_unstable();
        let limit = used.get(used.len() / 2).copied().unwrap_or_default();
        self.entries.retain(|_, entry| entry.used > limit);
    }
}

fn read(file: &Path) -> Option<Stored> {
    let size = fs::metadata(file).ok()?.len();
    (size <= MAX_FILE).then(|| fs::read(file).ok()).flatten().and_then(|json| serde_json::from_slice(&json).ok())
}

/// Replaces the file atomically; only its owner can read it.
fn write_privately(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let beside = file.with_extension(format!("{}.new", std::process::id()));
    Whole { path: file, temporary: &beside, access: Access::Private, durable: false }.write(bytes)
}
