//! Finds the withheld files in the workspace. This takes milliseconds: the first call waits for it, later ones find
//! again in the background.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::{Deny, Rules, Withheld};

const FIND_AGAIN: Duration = Duration::from_secs(5);
const MAX_ENTRIES: usize = 5000;
const MAX_DEPTH: usize = 6;
const MAX_FILES: usize = 100;
const NO_SOURCES: [&str; 3] = [".git", "node_modules", "target"];

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

impl Deny {
    /// The withheld files in the workspace: at most 100, of the folders nearest to its top.
    #[must_use]
    pub fn files(&self) -> Arc<Vec<Withheld>> {
        let mut files = lock(&self.files);
        let found = files.get_or_insert_with(|| Found::new(self.rules.find()));
        if !found.is_finding && found.at.elapsed() > FIND_AGAIN {
            let (rules, files) = (Arc::clone(&self.rules), Arc::clone(&self.files));
            let find = move || *lock(&files) = Some(Found::new(rules.find()));
            found.is_finding = std::thread::Builder::new().name("withheld".to_owned()).spawn(find).is_ok();
        }
        Arc::clone(&found.files)
    }
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
