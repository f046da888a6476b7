//! Takes checkpoints: copies what git does not have of a work tree into our own object store.
//!
//! Invariant: the copies are limited in number and size, and measured before any file is read. Of files that are large,
//! withheld from Claude, or beyond the limits, only the fact that they changed is recorded.

use std::collections::{HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::Access;

use super::git::{Objects, Repository};
use super::{Checkpoint, MAX_FILE_BYTES, Met, Name, State};

/// Limits of the copies.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The size of a checkpoint's copies.
    pub bytes: u64,
    /// Their number.
    pub files: usize,
    /// More files that differ are ignored.
    pub listed: usize,
    /// Copies beyond this size are deleted, and the next turn starts with new ones.
    pub all_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { bytes: 64 * 1024 * 1024, files: 10_000, listed: 50_000, all_bytes: 256 * 1024 * 1024 }
    }
}

/// A work tree is ignored after this many failures.
const MAX_FAILURES: u32 = 2;

/// File systems' clocks lag behind by up to this much.
const CLOCK_LAG: Duration = Duration::from_millis(20);

/// Where checkpoints are taken.
#[derive(Debug)]
pub struct Place<'a> {
    /// Any folder of the work tree.
    pub folder: &'a Path,
    /// The user's home.
    pub home: &'a Path,
    /// A folder of ours for copies.
    pub ours: &'a Path,
    /// Whether no earlier checkpoint of the folder is needed.
    pub is_first: bool,
}

/// The work trees with checkpoints.
#[derive(Debug, Default)]
pub struct Checkpoints {
    limits: Limits,
    /// By folder; `None`: no usable repository.
    trees: HashMap<PathBuf, Option<WorkTree>>,
    folders: u32,
}

/// A work tree, and what was copied of it.
#[derive(Debug)]
struct WorkTree {
    repository: Arc<Repository>,
    failures: u32,
    copied_bytes: u64,
    /// The last checkpoint, and its beginning.
    last: Option<(String, SystemTime)>,
    met: Arc<HashMap<Name, Met>>,
}

/// Files that may differ from our index.
#[derive(Debug, Default)]
struct Candidates {
    /// To copy, or to record as deleted; with a zero after each.
    names: Vec<u8>,
    count: usize,
    bytes: u64,
    /// Others that differ.
    skipped: HashMap<Name, State>,
    /// `None`: deleted.
    met: Vec<(Name, Option<Met>)>,
}

impl Checkpoints {
    /// With other limits.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes a checkpoint of a folder's work tree; `None`: it has none, or git took too long or failed.
    pub fn take(&mut self, place: &Place<'_>, is_withheld: impl Fn(&Path) -> bool) -> Option<Checkpoint> {
        self.folders += 1;
        let ours = place.ours.join(format!("repository-{}", self.folders));
        let find = || Repository::find(place.folder, place.home, ours.clone()).map(WorkTree::new);
        let tree = self.trees.entry(place.folder.to_owned()).or_insert_with(find);
        let tree = tree.as_mut().filter(|tree| tree.failures < MAX_FAILURES)?;
        if place.is_first && tree.copied_bytes > self.limits.all_bytes {
            *tree = WorkTree::new(tree.repository.renewed(ours)?);
        }
        let taken = tree.take(&self.limits, is_withheld);
        if taken.is_none() {
            tree.failures += 1;
            tree.last = None;
            std::fs::remove_file(tree.repository.own_index().with_extension("lock")).unwrap_or_default();
        }
        taken
    }

    /// Deletes all copies that no checkpoint needs, and forgets the repositories.
    pub fn forget(&mut self) {
        self.trees.clear();
    }

    /// The tops of the work trees with a checkpoint or a failure, and whether they are ignored now.
    #[must_use]
    pub fn states(&self) -> Vec<(PathBuf, bool)> {
        let trees = self.trees.values().flatten().filter(|tree| tree.failures > 0 || tree.last.is_some());
        trees.map(|tree| (tree.repository.top.clone(), tree.failures >= MAX_FAILURES)).collect()
    }
}

impl WorkTree {
    fn new(repository: Repository) -> Self {
        Self { repository: Arc::new(repository), failures: 0, copied_bytes: 0, last: None, met: Arc::default() }
    }

    fn take(&mut self, limits: &Limits, is_withheld: impl Fn(&Path) -> bool) -> Option<Checkpoint> {
        // Our own index knows unchanged untracked files; only the first one is a copy of the user's.
        if !self.repository.own_index().exists() {
            copy_with_time(&self.repository.index, &self.repository.own_index()).unwrap_or_default();
        }
        let began = SystemTime::now();
        let found = self.choose(&self.list()?, limits, is_withheld);
        let tree = match &self.last {
            Some((tree, _)) if found.count == 0 => tree.clone(),
            _ => self.write(&found)?,
        };
        self.copied_bytes += found.bytes;
        self.last = Some((tree.clone(), began));
        let met = Arc::make_mut(&mut self.met);
        for (name, how) in found.met {
            match how {
                Some(how) => _ = met.entry(name).or_insert(how),
                None => _ = met.remove(&name),
            }
        }
        Some(Checkpoint {
            repository: Arc::clone(&self.repository),
            tree,
            skipped: Arc::new(found.skipped),
            met: Arc::clone(&self.met),
        })
    }

    fn git(&self, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
        self.repository.git(Objects::Ours, arguments, input)
    }

    /// Files that may differ from our index, tracked ones first. Time stamps are refreshed before, so that each file is
    /// read at most once.
    fn list(&self) -> Option<Vec<u8>> {
        self.git(&["update-index", "-q", "--refresh"], b"");
        let mut listed = self.git(&["ls-files", "-z", "--modified"], b"")?;
        listed.extend(self.git(&["ls-files", "-z", "--others", "--exclude-standard"], b"")?);
        Some(listed)
    }

    fn choose(&self, listed: &[u8], limits: &Limits, is_withheld: impl Fn(&Path) -> bool) -> Candidates {
        let (mut found, mut seen) = (Candidates::default(), HashSet::new());
        for name in listed.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            if seen.len() == limits.listed {
                break;
            } else if !seen.insert(name) {
                continue;
            }
            let path = self.repository.path(name);
            let file = path.symlink_metadata().ok();
            if file.as_ref().is_some_and(|file| !file.is_file() && !file.is_symlink()) {
                continue; // another repository, or not a regular file
            }
            let size = file.as_ref().map_or(0, Metadata::len);
            let has_room = found.count < limits.files && found.bytes + size <= limits.bytes;
            let fits = file.as_ref().is_none_or(|file| has_room && is_readable(&path, file));
            if !fits || is_withheld(&path) {
                found.skipped.insert(name.to_vec(), file.as_ref().map(state));
                continue;
            }
            found.names.extend([name, b"\0"].concat());
            found.count += 1;
            found.bytes += size;
            found.met.push((name.to_vec(), file.map(|file| self.met(&file))));
        }
        found
    }

    /// How a file was met that git had not listed before: it was created since the last checkpoint, or is an older one
    /// that was ignored or in another repository.
    fn met(&self, file: &Metadata) -> Met {
        let Some((_, looked_at)) = self.last else { return Met::Made };
        if is_before(moment(file.ctime(), file.ctime_nsec()), looked_at) {
            Met::Unchanged
        } else if file.created().is_ok_and(|created| created > UNIX_EPOCH && is_before(created, looked_at)) {
            Met::Changed
        } else {
            Met::Made
        }
    }

    fn write(&self, found: &Candidates) -> Option<String> {
        let add = ["update-index", "-q", "-z", "--add", "--remove", "--replace", "--stdin"];
        if found.count > 0 && self.git(&add, &found.names).is_none() {
            // Slower, and continues past unreadable files.
            let add = ["--literal-pathspecs", "add", "--all", "--ignore-errors", "--pathspec-from-file=-"];
            self.git(&[add.as_slice(), &["--pathspec-file-nul"]].concat(), &found.names);
        }
        let tree = self.git(&["write-tree", "--missing-ok"], b"")?;
        Some(str::from_utf8(&tree).ok()?.trim().to_owned())
    }
}

/// Copies an index. Git reads each file that is not older than its index, since size and time do not tell whether the
/// file was changed after it was added: a copy with a later time would take such a change for none.
fn copy_with_time(from: &Path, to: &Path) -> io::Result<()> {
    let mut index = File::open(from)?;
    let changed = index.metadata()?.modified()?;
    let mut copy = File::create(to)?;
    io::copy(&mut index, &mut copy)?;
    copy.set_modified(changed)
}

fn is_readable(path: &Path, file: &Metadata) -> bool {
    let is_small = usize::try_from(file.len()).is_ok_and(|length| length <= MAX_FILE_BYTES);
    is_small && (file.is_symlink() || rustix::fs::access(path, Access::READ_OK).is_ok())
}

fn state(file: &Metadata) -> (u64, u64, i64, i64) {
    (file.ino(), file.len(), file.mtime(), file.mtime_nsec())
}

fn moment(seconds: i64, nanos: i64) -> SystemTime {
    let since = u64::try_from(seconds).ok().zip(u32::try_from(nanos).ok());
    since.and_then(|(seconds, nanos)| UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))).unwrap_or(UNIX_EPOCH)
}

fn is_before(time: SystemTime, moment: SystemTime) -> bool {
    let since = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default();
    if since(time).subsec_nanos() == 0 {
        return since(time).as_secs() < since(moment).as_secs(); // some file systems store whole seconds
    }
    moment.checked_sub(CLOCK_LAG).is_some_and(|moment| time < moment)
}
