//! A follower of a transcript: its state at the last notification.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::agent::{agent_id, subagents_folder};
use crate::tail::Identity;

#[derive(Debug)]
pub(super) struct Follow {
    file: PathBuf,
    /// Where it is, if a link leads elsewhere: its changes are reported there.
    target: Option<PathBuf>,
    subagents: Option<PathBuf>,
    stamp: Option<Stamp>,
    subagents_stamp: Option<SystemTime>,
    /// Subagents that were reported.
    known: HashSet<OsString>,
    /// Whether to notify even if the stamps are unchanged.
    due: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    identity: Identity,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl Follow {
    /// For a follower that has read `offset` bytes: anything beyond them, and all subagents, are new.
    pub(super) fn after(file: PathBuf, offset: u64) -> Self {
        let stamp = stamp(&file).filter(|stamp| stamp.bytes == offset);
        let subagents = subagents_folder(&file);
        let target = target(&file);
        Self { file, target, subagents, stamp, subagents_stamp: None, known: HashSet::new(), due: false }
    }

    /// Whether its file does not exist (yet, or any more).
    pub(super) fn is_missing(&self) -> bool {
        !self.file.exists()
    }

    /// Folders to watch for it. While its file is missing also their parents, where the folder may appear.
    pub(super) fn folders(&self) -> impl Iterator<Item = PathBuf> {
        let levels = if self.is_missing() { 2 } else { 1 };
        let target = self.target.as_deref().and_then(Path::parent).map(Path::to_owned);
        self.file.ancestors().skip(1).take(levels).map(Path::to_owned).chain(self.subagents.clone()).chain(target)
    }

    /// Whether a changed file may matter to it. Compares names, since paths may lead through links.
    pub(super) fn concerns(&mut self, changed: &Path) -> bool {
        let is_its = |file: &Path| file.file_name() == changed.file_name();
        let is_of_file = is_its(&self.file) || self.target.as_deref().is_some_and(is_its);
        self.is_news_of_subagents(changed) || is_of_file
    }

    /// Whether its folders are others since the last call: it became a link, or another one.
    pub(super) fn has_moved(&mut self) -> bool {
        let target = target(&self.file);
        target != std::mem::replace(&mut self.target, target.clone())
    }

    /// Whether anything is new since the last call.
    pub(super) fn take(&mut self) -> bool {
        let stamp = stamp(&self.file);
        let folder = self.subagents.as_deref().and_then(|folder| fs::metadata(folder).ok()?.modified().ok());
        let news = self.due || (stamp.is_some() && stamp != self.stamp) || folder != self.subagents_stamp;
        (self.stamp, self.subagents_stamp, self.due) = (stamp.or(self.stamp), folder, false);
        news
    }

    /// Lines of subagents do not count: their transcripts have their own followers.
    fn is_news_of_subagents(&mut self, changed: &Path) -> bool {
        let (Some(folder), Some(name)) = (&self.subagents, changed.file_name()) else { return false };
        let session = |folder: &Path| Some(folder.parent()?.file_name()?.to_owned());
        let is_inside = changed
            .parent()
            .is_some_and(|parent| parent.file_name() == folder.file_name() && session(parent) == session(folder));
        let is_news = is_inside
            && if agent_id(changed).is_some() {
                self.known.insert(name.to_owned())
            } else {
                name.to_string_lossy().ends_with(".meta.json")
            };
        self.due |= is_news;
        is_news
    }
}

fn target(file: &Path) -> Option<PathBuf> {
    let is_link = fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_symlink());
    is_link.then(|| fs::canonicalize(file).ok()).flatten()
}

fn stamp(file: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(file).ok()?;
    Some(Stamp { identity: Identity::of(&metadata), bytes: metadata.len(), modified: metadata.modified().ok() })
}
