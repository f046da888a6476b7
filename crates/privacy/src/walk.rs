//! Finds the withheld files in the workspace. This takes milliseconds: the first call waits for it, later ones find
//! again in the background.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::rules::Rules;

const FIND_AGAIN: Duration = Duration::from_secs(5);
const MAX_ENTRIES: usize = 5000;
const MAX_DEPTH: usize = 6;
const MAX_FILES: usize = 100;
const NO_SOURCES: [&str; 3] = [".git", "node_modules", "target"];

/// A withheld file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Withheld {
    /// Its path.
    pub path: PathBuf,
    /// The position of its glob in the option, from 0.
    pub glob: usize,
}

#[derive(Debug)]
pub(crate) struct Found {
    files: Arc<Vec<Withheld>>,
    at: Instant,
    is_finding: bool,
}

impl Found {
    fn new(files: Vec<Withheld>) -> Self {
        Self { files: Arc::new(files), at: Instant::now(), is_finding: false }
    }
}

fn lock(files: &Mutex<Option<Found>>) -> MutexGuard<'_, Option<Found>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was found last; finds again if that is old.
pub(crate) fn files(rules: &Arc<Rules>, found: &Arc<Mutex<Option<Found>>>) -> Arc<Vec<Withheld>> {
    let mut last = lock(found);
    let last = last.get_or_insert_with(|| Found::new(rules.find()));
    if !last.is_finding && last.at.elapsed() > FIND_AGAIN {
        let (rules, found) = (Arc::clone(rules), Arc::clone(found));
        let find = move || *lock(&found) = Some(Found::new(rules.find()));
        last.is_finding = std::thread::Builder::new().name("withheld".to_owned()).spawn(find).is_ok();
    }
    Arc::clone(&last.files)
}

impl Rules {
    fn find(&self) -> Vec<Withheld> {
        let mut folders: VecDeque<(PathBuf, usize)> = self.folders.iter().map(|folder| (folder.clone(), 1)).collect();
        let (mut files, mut left) = (Vec::new(), MAX_ENTRIES);
        while let Some((folder, depth)) = folders.pop_front() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                if left == 0 || files.len() == MAX_FILES {
                    return files;
                }
                left -= 1;
                let path = entry.path();
                if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    files.extend(self.glob_of(&path).map(|glob| Withheld { path, glob }));
                } else if depth < MAX_DEPTH && !NO_SOURCES.iter().any(|name| entry.file_name() == *name) {
                    folders.push_back((path, depth + 1));
                }
            }
        }
        files
    }
}
