//! CLIs that are known to run and keep no record of themselves (2.0.77): which transcript each of them writes.
//!
//! Nothing says so. A CLI writes into the folder of the project that it was started in, and only when it has something to do.
//! So it is the transcript there that grew since the CLI was heard of last, and that no other CLI is known to write. Where
//! several CLIs share a folder, only one that was given a prompt takes a transcript. Invariant: a CLI stays with its
//! transcript as long as that grows after each prompt, whatever else grows beside it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use claude_ide_system::process::start_of;
use serde::Deserialize;

use super::worker::{is_transcript, transcripts};
use crate::config_dir::{ConfigDir, encode_folder};
use crate::id::SessionId;
use crate::live::{LiveSession, Liveness};
use crate::process::{ProcessMark, liveness};
use crate::state::infer_running;
use crate::time::Millis;

/// How much earlier than a CLI is heard of its transcript may have grown.
const SLACK: i64 = 2000;

/// A CLI that is known to run, since somebody is connected to it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cli {
    /// Its process.
    pub pid: u32,
    /// The folder that it was started in.
    pub cwd: PathBuf,
    /// Its version.
    pub version: Option<String>,
    /// Whether it was just given a prompt.
    pub prompted: bool,
}

#[derive(Debug)]
struct Entry {
    cli: Cli,
    folder: PathBuf,
    process_start: Option<String>,
    began: Millis,
    heard: Millis,
    file: Option<PathBuf>,
}

/// A transcript in a watched folder.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// Its size when its folder was looked at first.
    at_first: u64,
    bytes: u64,
    modified: Millis,
    /// It was there when its folder was looked at first, and has not grown since.
    is_as_found: bool,
}

impl Seen {
    fn grew_since(&self, heard: Millis) -> bool {
        self.bytes > self.at_first && self.was_written_about(heard)
    }

    fn was_written_about(&self, heard: Millis) -> bool {
        self.modified.0 + SLACK >= heard.0
    }
}

#[derive(Debug, Default)]
pub(super) struct Unrecorded {
    entries: BTreeMap<u32, Entry>,
    /// By folder and file.
    seen: BTreeMap<PathBuf, BTreeMap<PathBuf, Seen>>,
}

impl Unrecorded {
    /// Takes note that a CLI runs now.
    pub(super) fn hear(&mut self, config: &ConfigDir, cli: Cli, now: Millis) {
        let real = cli.cwd.canonicalize().unwrap_or_else(|_| cli.cwd.clone());
        let folder = config.projects().join(encode_folder(&real.to_string_lossy()));
        if !self.seen.contains_key(&folder) {
            self.seen.insert(folder.clone(), BTreeMap::new());
            self.look_into(&folder, true);
        }
        if cli.prompted {
            self.was_prompted(&folder, now);
        }
        let process_start = start_of(cli.pid);
        let before = self.entries.remove(&cli.pid).filter(|entry| {
            entry.folder == folder && (entry.process_start == process_start || process_start.is_none())
        });
        let entry = match before {
            Some(entry) => {
                let prompted = entry.cli.prompted || cli.prompted;
                Entry { cli: Cli { prompted, ..cli }, heard: now, ..entry }
            }
            None => Entry { cli, folder, process_start, began: now, heard: now, file: None },
        };
        self.entries.insert(entry.cli.pid, entry);
    }

    /// The prompt may have been written before its folder was looked at first.
    fn was_prompted(&mut self, folder: &Path, now: Millis) {
        let files = self.seen.get_mut(folder).into_iter().flat_map(BTreeMap::values_mut);
        files.filter(|seen| seen.is_as_found && seen.was_written_about(now)).for_each(|seen| seen.at_first = 0);
    }

    /// Folders that must be watched.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.seen.keys().cloned()
    }

    /// Looks at a file that changed; whether it matters.
    pub(super) fn look_at(&mut self, file: &Path) -> bool {
        let Some(folder) = file.parent().filter(|folder| is_transcript(file) && self.seen.contains_key(*folder)) else {
            return false;
        };
        self.note(folder.to_owned(), file, false);
        true
    }

    /// Looks at all of them: some changes were not told.
    pub(super) fn look_at_all(&mut self) {
        for folder in self.folders().collect::<Vec<_>>() {
            self.look_into(&folder, false);
        }
    }

    fn look_into(&mut self, folder: &Path, first: bool) {
        for name in transcripts(folder) {
            self.note(folder.to_owned(), &folder.join(name), first);
        }
    }

    fn note(&mut self, folder: PathBuf, file: &Path, first: bool) {
        let files = self.seen.entry(folder).or_default();
        let Ok(metadata) = fs::metadata(file) else {
            files.remove(file);
            return;
        };
        let bytes = metadata.len();
        let modified = metadata.modified().map_or_else(|_| Millis::now(), Millis::from_system);
        let before = files.get(file);
        let at_first = before.map_or(if first { bytes } else { 0 }, |seen| seen.at_first.min(bytes));
        let is_as_found = before.map_or(first, |seen| seen.is_as_found && seen.bytes == bytes);
        files.insert(file.to_owned(), Seen { at_first, bytes, modified, is_as_found });
    }

    /// The sessions of these CLIs as they are now, as far as they are known. A CLI that keeps a record is forgotten here.
    pub(super) fn sessions(&mut self, recorded: &[LiveSession], now: Millis) -> Vec<LiveSession> {
        let mut left = Vec::new();
        self.entries.retain(|pid, entry| {
            let mark = ProcessMark { pid: *pid, start: entry.process_start.as_deref(), domain: None };
            let stays = !recorded.iter().any(|session| session.pid == *pid) && liveness(mark) != Liveness::Dead;
            if !stays {
                left.extend(entry.file.take());
            }
            stays
        });
        left.iter().for_each(|file| self.leave(file));
        let entries = &self.entries;
        self.seen.retain(|folder, _| entries.values().any(|entry| entry.folder == *folder));
        self.assign(recorded);
        self.entries.values().filter_map(|entry| entry.session(now)).collect()
    }

    /// Finds out which transcript each one writes.
    fn assign(&mut self, recorded: &[LiveSession]) {
        let mut order: Vec<_> = self.entries.values().map(|entry| (entry.heard, entry.cli.pid)).collect();
        order.sort_unstable_by(|left, right| right.cmp(left));
        for (_, pid) in order {
            let Some(entry) = self.entries.get(&pid) else { continue };
            let Some(files) = self.seen.get(&entry.folder) else { continue };
            let grew = |file: &PathBuf| files.get(file).is_some_and(|seen| seen.grew_since(entry.heard));
            let beside = || self.entries.values().filter(|other| other.cli.pid != pid && other.folder == entry.folder);
            let is_clear = entry.cli.prompted || beside().next().is_none();
            if !is_clear || entry.file.as_ref().is_some_and(grew) {
                continue;
            }
            let is_free = |file: &&PathBuf| {
                let id = id_of(file);
                beside().all(|other| other.file.as_ref() != Some(*file))
                    && recorded.iter().all(|session| session.id != id)
            };
            let newest =
                files.iter().filter(|(file, _)| grew(file) && is_free(file)).max_by_key(|(_, seen)| seen.modified);
            let newest = newest.map(|(file, _)| file.clone());
            if let (Some(file), Some(entry)) = (newest, self.entries.get_mut(&pid))
                && let Some(before) = entry.file.replace(file)
            {
                self.leave(&before);
            }
        }
    }

    /// Nobody writes it any more: what was written so far is no sign of who will.
    fn leave(&mut self, file: &Path) {
        let seen = file.parent().and_then(|folder| self.seen.get_mut(folder)?.get_mut(file));
        if let Some(seen) = seen {
            seen.at_first = seen.bytes;
            seen.is_as_found = false;
        }
    }
}

impl Entry {
    fn session(&self, now: Millis) -> Option<LiveSession> {
        let file = self.file.as_ref()?;
        Some(LiveSession {
            pid: self.cli.pid,
            id: id_of(file),
            cwd: self.cli.cwd.to_string_lossy().into_owned(),
            name: None,
            kind: Some("interactive".to_owned()),
            entrypoint: Some("cli".to_owned()),
            version: self.cli.version.clone(),
            started: Some(self.began),
            state: infer_running(file, now).ok()?,
            liveness: Liveness::Alive,
        })
    }
}

fn id_of(file: &Path) -> SessionId {
    SessionId::new(&file.file_stem().unwrap_or_default().to_string_lossy())
}

#[cfg(test)]
mod tests;
