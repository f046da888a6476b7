//! Lists the sessions of a folder or of all folders, newest first.
//!
//! To be quick with thousands of files, it reads only the beginning and end of each, and only after a change.
//! Invariant: a session belongs to the folder named by `cwd` in its lines; the name of the folder that contains its
//! file is lossy and only tells where to look.

mod cache;
mod prompt;
mod scan;
mod summary;
mod tally;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::cancel::Cancel;
use crate::config_dir::{ConfigDir, ConfigDirs, encode_folder};
use crate::error::SessionError;
use crate::id::SessionId;
use crate::kept::Kept;
use cache::{Cache, Stamp};
pub use summary::{Keeping, Summary};
pub use tally::{Tally, Task};

/// Which sessions to list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of one folder.
    Folder(PathBuf),
    /// Those of a folder and the folders below it.
    Tree(PathBuf),
    /// All.
    All,
}

/// Lists sessions and caches their summaries.
#[derive(Debug)]
pub struct Store {
    dirs: ConfigDirs,
    kept: Option<Kept>,
    cache: Cache,
}

impl Store {
    /// A store for configuration folders. With `cache_file`, summaries are cached across restarts: see
    /// [`Store::save`].
    #[must_use]
    pub fn new(dirs: impl Into<ConfigDirs>, cache_file: Option<PathBuf>) -> Self {
        let dirs = dirs.into();
        let kept = dirs.kept().cloned().map(Kept::at);
        Self { dirs, kept, cache: Cache::load(cache_file) }
    }

    /// The sessions in scope, most recently written first. Sessions without a message are left out.
    ///
    /// # Errors
    /// [`SessionError::Read`] if no folder of all projects can be listed, and one exists. Unreadable transcripts are logged and left
    /// out.
    pub fn list(&mut self, scope: &Scope, cancel: &Cancel) -> Result<Vec<Summary>, SessionError> {
        let filter = Filter::new(scope);
        let mut summaries = Vec::new();
        for folder in self.folders(&filter)? {
            for (file, stamp) in transcripts(&folder) {
                if cancel.is_cancelled() {
                    return Ok(summaries);
                }
                let Some(summary) = self.summary(&file, stamp) else { continue };
                if !summary.is_empty() && filter.has(&summary, &folder) {
                    summaries.push(summary);
                }
            }
        }
        self.add_kept(&filter, &mut summaries);
        summaries.sort_unstable_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
        Ok(summaries)
    }

    /// Marks the sessions of which a copy is kept, and adds those of which only the copy is left.
    fn add_kept(&mut self, filter: &Filter, summaries: &mut Vec<Summary>) {
        let mut copies = self.kept.as_ref().map(Kept::copies).unwrap_or_default();
        for summary in &mut *summaries {
            let config_dir = summary.config_dir();
            let its =
                copies.iter().position(|copy| copy.is_of(&summary.id) && config_dir.as_ref() == Some(&copy.origin));
            summary.kept = its.map(|at| copies.swap_remove(at)).map(|copy| {
                let stale = fs::metadata(&copy.file).is_ok_and(|found| found.len() != summary.bytes);
                Keeping { config_dir: copy.origin, only: false, stale }
            });
        }
        for copy in copies {
            let folder = copy.file.parent().unwrap_or(&copy.file);
            let may_be_here = folder.file_name().is_some_and(|name| filter.may_hold(&name.to_string_lossy()));
            // The session itself may be in another project.
            if may_be_here && copy.original().is_none() {
                summaries
                    .extend(self.get(&copy.file).filter(|summary| !summary.is_empty() && filter.has(summary, folder)));
            }
        }
    }

    /// The transcript of a session, in any project.
    ///
    /// # Errors
    /// [`SessionError::UnknownSession`] if there is none, [`SessionError::Read`] if the projects cannot be listed.
    pub fn find(&self, id: &SessionId) -> Result<PathBuf, SessionError> {
        let unknown = || SessionError::UnknownSession { id: id.to_string() };
        let is_name = !id.as_str().is_empty() && !id.as_str().contains(['/', '\\', '\0']);
        let name = is_name.then(|| format!("{id}.jsonl")).ok_or_else(unknown)?;
        let files = self.folders(&Filter::new(&Scope::All))?.into_iter().map(|folder| folder.join(&name));
        let newest = |file: &PathBuf| fs::metadata(file).and_then(|metadata| metadata.modified()).ok();
        let kept = || Some(self.kept.as_ref()?.copy_of(id)?.file);
        files.filter(|file| file.is_file()).max_by_key(newest).or_else(kept).ok_or_else(unknown)
    }

    /// The current summary of a session; `None` if its file is gone. To open a pipe would wait for a writer.
    pub fn get(&mut self, file: &Path) -> Option<Summary> {
        let stamp = Stamp::of(&fs::metadata(file).ok().filter(fs::Metadata::is_file)?);
        self.summary(file, stamp)
    }

    /// Counts a session: the whole file the first time, then only what was added. Reads about `budget` bytes, which are
    /// taken off it; the second value tells whether the count is complete. The next call continues.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub fn tally(
        &mut self,
        file: &Path,
        budget: &mut u64,
        cancel: &Cancel,
    ) -> Result<Option<(Tally, bool)>, SessionError> {
        let Some(_) = self.get(file) else { return Ok(None) };
        self.cache.tally(file, budget, cancel)
    }

    /// Writes the cache file, if there is one and the cache changed.
    ///
    /// # Errors
    /// [`SessionError::Cache`] if it cannot be written; only the next start suffers, by being slower.
    pub fn save(&mut self) -> Result<(), SessionError> {
        self.cache.save()
    }

    fn summary(&mut self, file: &Path, stamp: Stamp) -> Option<Summary> {
        let mut summary = self.written(file, stamp)?;
        let copy = self.kept.as_ref().and_then(|kept| kept.copy(file));
        summary.kept = copy.map(|copy| Keeping { config_dir: copy.origin, only: true, stale: false });
        Some(summary)
    }

    /// What the file tells.
    fn written(&mut self, file: &Path, stamp: Stamp) -> Option<Summary> {
        if let Some(known) = self.cache.get(file, stamp) {
            return Some(known);
        }
        match scan::scan(file, stamp) {
            Ok(summary) => {
                self.cache.put(file, stamp, summary.clone());
                Some(self.cache.get(file, stamp).unwrap_or(summary))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(file = %file.display(), %error, "could not read a session");
                None
            }
        }
    }

    /// The folders under `projects` that can hold sessions in scope.
    fn folders(&self, filter: &Filter) -> Result<Vec<PathBuf>, SessionError> {
        let (mut folders, mut failed) = (Vec::new(), None);
        for projects in self.dirs.all().iter().map(ConfigDir::projects) {
            if let Filter::Folder { names, .. } = filter {
                folders.extend(names.iter().map(|name| projects.join(name)));
                continue;
            }
            match fs::read_dir(&projects) {
                Ok(entries) => {
                    let may_hold = |entry: &fs::DirEntry| filter.may_hold(&entry.file_name().to_string_lossy());
                    folders.extend(entries.filter_map(Result::ok).filter(may_hold).map(|entry| entry.path()));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::debug!(projects = %projects.display(), %error, "could not list the projects");
                    failed = failed.or(Some(SessionError::read(&projects)(error)));
                }
            }
        }
        failed.filter(|_| folders.is_empty()).map_or(Ok(folders), Err)
    }
}

/// A prepared scope.
enum Filter {
    All,
    Folder { paths: Vec<PathBuf>, names: Vec<String> },
    Tree { paths: Vec<PathBuf>, names: Vec<String> },
}

impl Filter {
    fn new(scope: &Scope) -> Self {
        match scope {
            Scope::All => Self::All,
            Scope::Folder(folder) => {
                let (paths, names) = spellings(folder);
                Self::Folder { paths, names }
            }
            Scope::Tree(folder) => {
                let (paths, names) = spellings(folder);
                Self::Tree { paths, names }
            }
        }
    }

    /// Whether a folder of this name can hold sessions in scope. Long names are cut, so only their start counts.
    fn may_hold(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Folder { names, .. } => names.iter().any(|known| known == name),
            Self::Tree { names, .. } => {
                names.iter().any(|known| name.bytes().zip(known.bytes()).take(200).all(|(a, b)| a == b))
            }
        }
    }

    fn has(&self, summary: &Summary, folder: &Path) -> bool {
        let lies_there =
            |names: &[String]| folder.file_name().is_some_and(|name| names.iter().any(|known| name == known.as_str()));
        match self {
            Self::All => true,
            Self::Folder { paths, names } => match &summary.cwd {
                Some(cwd) => paths.iter().any(|path| path == cwd),
                None => lies_there(names),
            },
            Self::Tree { paths, names } => match &summary.cwd {
                Some(cwd) => paths.iter().any(|path| cwd.starts_with(path)),
                None => lies_there(names),
            },
        }
    }
}

/// A folder as given and as resolved, and the CLI's name for each.
fn spellings(folder: &Path) -> (Vec<PathBuf>, Vec<String>) {
    let given: PathBuf = folder.components().collect();
    let mut paths = vec![given];
    paths.extend(folder.canonicalize().ok().filter(|real| !paths.contains(real)));
    let mut names: Vec<_> = paths.iter().map(|path| encode_folder(&path.to_string_lossy())).collect();
    names.dedup();
    (paths, names)
}

/// The transcripts of sessions in a folder, without those of subagents (older CLIs).
fn transcripts(folder: &Path) -> Vec<(PathBuf, Stamp)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let transcript = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let stem = name.to_str()?.strip_suffix(".jsonl")?;
        if stem.starts_with("agent-") {
            return None;
        }
        let metadata = entry.metadata().ok().filter(|metadata| metadata.is_file())?;
        Some((entry.path(), Stamp::of(&metadata)))
    };
    entries.filter_map(Result::ok).filter_map(transcript).collect()
}

impl Stamp {
    fn of(metadata: &fs::Metadata) -> Self {
        let modified =
            metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
        Self { modified_ns: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX), bytes: metadata.len() }
    }
}
