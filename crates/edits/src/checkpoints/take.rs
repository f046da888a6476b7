//! Takes checkpoints: looks at each file of a work tree, and copies those whose bytes git does not have.
//!
//! Invariants: a file that is unchanged since git looked, and that git does not convert, is not read. The copies are
//! limited in number and size, and measured before any file is read. Of files that are large, withheld from Claude, or
//! beyond the limits, only the fact that they changed is recorded.

use std::collections::{HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{Mode, OFlags};

use super::Checkpoint;
use super::content::MAX_FILE_BYTES;
use super::git::{NoAnswer, Repository};
use super::index::Tracked;
use super::seen::{Base, Content, Folders, Kind, Look, Met, Name, Stamp, State};
use super::store::Id;

/// Limits of the copies.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The size of a checkpoint's copies.
    pub bytes: u64,
    /// Their number.
    pub files: usize,
    /// More files that git does not track, or that changed, are ignored.
    pub listed: usize,
    /// Copies beyond this size are deleted, and the next turn starts with new ones.
    pub all_bytes: u64,
    /// After two failures in a row no checkpoint is tried for so long.
    pub pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 64 * 1024 * 1024,
            files: 10_000,
            listed: 50_000,
            all_bytes: 256 * 1024 * 1024,
            pause: Duration::from_secs(60),
        }
    }
}

/// A pause begins after this many failures in a row.
const MAX_FAILURES: u32 = 2;

/// So many files are read to compare them with git's, if it has filters.
const MAX_COMPARED: usize = 20_000;
const MAX_COMPARED_BYTES: u64 = 256 * 1024 * 1024;

/// File systems' clocks lag behind by up to this much.
const CLOCK_LAG: Duration = Duration::from_millis(20);

/// A file that changes while it is read is read again.
const MAX_READS: usize = 3;

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
    /// What changed since then is told with the checkpoint: it was too late for that.
    pub since: Option<SystemTime>,
}

/// Why there is no checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCheckpoint {
    /// The folder is in no repository, or in one with the user's home.
    NoRepository,
    /// Git failed or took too long.
    Failed,
    /// As before, and from now on no checkpoint is tried for a while.
    Paused,
    /// None is tried for a while.
    Pausing,
}

/// The work trees with checkpoints.
#[derive(Debug, Default)]
pub struct Checkpoints {
    limits: Limits,
    folders: HashMap<PathBuf, Folder>,
    count: u32,
}

/// A folder in which checkpoints were wanted.
#[derive(Debug, Default)]
struct Folder {
    /// `Some(None)`: there is no usable repository. `None`: git has not said yet.
    tree: Option<Option<WorkTree>>,
    /// In a row.
    failures: u32,
    paused: Option<Instant>,
}

/// A work tree, and what was copied of it.
#[derive(Debug)]
struct WorkTree {
    repository: Arc<Repository>,
    copied_bytes: u64,
    look: Look,
    /// When the last look began.
    looked: Option<SystemTime>,
    /// The user's index at the last look.
    index: Option<Stamp>,
    /// Whether some of its files are not to be checked out.
    is_sparse: bool,
    /// Whether git may hold other bytes than the files do.
    converts: bool,
}

/// A file that a look found changed.
struct Changed<'a> {
    name: &'a [u8],
    found: Stamp,
    /// What it was at the last look.
    known: Option<&'a State>,
    entry: Option<&'a Tracked>,
}

/// When a look began, and the time of the user's index.
#[derive(Clone, Copy)]
struct At {
    began: SystemTime,
    indexed: Option<(i64, i64)>,
}

/// What is left of the limits at a look.
struct Room<'a> {
    limits: &'a Limits,
    count: usize,
    bytes: u64,
}

impl Checkpoints {
    /// With other limits.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Takes a checkpoint of a folder's work tree.
    ///
    /// # Errors
    ///
    /// See [`NoCheckpoint`].
    pub fn take(&mut self, place: &Place<'_>, is_withheld: impl Fn(&Path) -> bool) -> Result<Checkpoint, NoCheckpoint> {
        self.count += 1;
        let ours = place.ours.join(format!("repository-{}", self.count));
        let folder = self.folders.entry(place.folder.to_owned()).or_default();
        if folder.paused.is_some_and(|since| since.elapsed() < self.limits.pause) {
            return Err(NoCheckpoint::Pausing);
        }
        match folder.take(place, ours, &self.limits, is_withheld) {
            Ok(Some(checkpoint)) => {
                (folder.failures, folder.paused) = (0, None);
                Ok(checkpoint)
            }
            Ok(None) => Err(NoCheckpoint::NoRepository),
            Err(_) => {
                folder.failures += 1;
                let pauses = folder.failures >= MAX_FAILURES;
                folder.paused = pauses.then(Instant::now);
                Err(if pauses { NoCheckpoint::Paused } else { NoCheckpoint::Failed })
            }
        }
    }

    /// Deletes all copies that no checkpoint needs, and forgets the repositories.
    pub fn forget(&mut self) {
        self.folders.clear();
    }

    /// The tops of the work trees with a checkpoint or a failure, and whether no checkpoint is tried now.
    #[must_use]
    pub fn states(&self) -> Vec<(PathBuf, bool)> {
        let is_known = |(_, folder): &(&PathBuf, &Folder)| {
            folder.failures > 0
                || folder.tree.as_ref().is_some_and(|tree| tree.as_ref().is_some_and(WorkTree::has_looked))
        };
        let state = |(path, folder): (&PathBuf, &Folder)| {
            let top = folder.tree.as_ref().and_then(Option::as_ref).map(|tree| tree.repository.top.clone());
            (top.unwrap_or_else(|| path.clone()), folder.paused.is_some())
        };
        self.folders.iter().filter(is_known).map(state).collect()
    }
}

impl Folder {
    fn take(
        &mut self,
        place: &Place<'_>,
        ours: PathBuf,
        limits: &Limits,
        is_withheld: impl Fn(&Path) -> bool,
    ) -> Result<Option<Checkpoint>, NoAnswer> {
        if self.tree.is_none() {
            self.tree = Some(Repository::find(place.folder, place.home, ours.clone())?.map(WorkTree::new));
        }
        let Some(Some(tree)) = &mut self.tree else { return Ok(None) };
        if place.is_first && tree.copied_bytes > limits.all_bytes {
            *tree = WorkTree::new(tree.repository.renewed(ours).ok_or(NoAnswer::Refused)?);
        }
        tree.take(limits, place.since, is_withheld).map(Some)
    }
}

impl WorkTree {
    fn new(repository: Repository) -> Self {
        let repository = Arc::new(repository);
        Self { repository, copied_bytes: 0, look: 0, looked: None, index: None, is_sparse: false, converts: true }
    }

    fn has_looked(&self) -> bool {
        self.looked.is_some()
    }

    fn take(
        &mut self,
        limits: &Limits,
        since: Option<SystemTime>,
        is_withheld: impl Fn(&Path) -> bool,
    ) -> Result<Checkpoint, NoAnswer> {
        let mut room = Room { limits, count: 0, bytes: 0 };
        let began = SystemTime::now();
        let early = if self.has_looked() {
            self.look_again(&mut room, began, since, is_withheld)?
        } else {
            self.look_first(&mut room, began, since, is_withheld)?
        };
        self.copied_bytes += room.bytes;
        self.look += 1;
        self.looked = Some(began);
        Ok(Checkpoint { repository: Arc::clone(&self.repository), look: self.look, early: early.into() })
    }

    /// The first look: what git has of a file is not copied.
    fn look_first(
        &mut self,
        room: &mut Room<'_>,
        began: SystemTime,
        since: Option<SystemTime>,
        is_withheld: impl Fn(&Path) -> bool,
    ) -> Result<Vec<Name>, NoAnswer> {
        let repository = &*self.repository;
        self.index = stamp(&repository.index);
        let indexed = self.index.map(|index| index.modified);
        let (tracked, is_sparse) = repository.tracked();
        // At once: later they may be changed already.
        let (stamps, listed) = beside(
            || {
                let found = |file: &'_ Tracked| stamp(&repository.path(&file.name));
                tracked.iter().map(found).collect::<Vec<_>>()
            },
            || repository.names(is_sparse),
        );
        let listed = listed?;
        let stamps: HashMap<&[u8], Stamp> = tracked
            .iter()
            .zip(stamps)
            .filter_map(|(file, stamp)| {
                Some((file.name.as_slice(), stamp.filter(|stamp| stamp.kind() != Kind::Other)?))
            })
            .collect();
        let (mut folders, mut base, mut to_copy) = (Folders::new(&repository.top), Base::default(), Vec::new());
        let (mut early, mut clean, mut untracked, mut absent) = (Vec::new(), Vec::new(), 0, Vec::new());
        for (name, file, is_listed) in merged(&tracked, &listed) {
            let known = stamps.get(name).copied();
            let found = match file {
                Some(_) => known.filter(|_| is_listed || folders.are_real(name)),
                None => stamp(&repository.path(name)).filter(|stamp| stamp.kind() != Kind::Other),
            };
            let Some(found) = found else {
                if absent.len() < room.limits.listed {
                    absent.push(name.to_vec());
                }
                if file.is_some_and(|file| file.modified != (0, 0)) && is_gone_since(repository, name, since) {
                    early.push(name.to_vec());
                }
                continue;
            };
            if is_since(&found, since) {
                early.push(name.to_vec());
            }
            let blob = file.filter(|file| is_as_indexed(&found, file, indexed)).and_then(|file| file.blob.as_ref());
            if file.is_none() {
                untracked += 1;
                if untracked > room.limits.listed {
                    continue;
                }
            }
            let content = match blob {
                Some(blob) => {
                    clean.push(base.len());
                    Content::Git(Id(blob.as_slice().into()))
                }
                None => {
                    to_copy.push((file.is_none(), base.len(), file.and_then(|file| file.blob.clone())));
                    Content::Unknown
                }
            };
            base.push(name, State { stamp: found, content, is_fresh: false, met: Some(Met::Made) });
        }
        self.is_sparse = is_sparse;
        self.converts = repository.may_convert((0..base.len()).map(|index| base.name(index)));
        if self.converts {
            let converted = Self::converted(repository, &base, &clean)?;
            clean.retain(|index| converted.binary_search(index).is_err());
            to_copy.extend(converted.into_iter().map(|index| (false, index, None)));
        }
        if repository.has_filters {
            to_copy.extend(Self::to_compare(repository, &base, &clean, &is_withheld));
        }
        to_copy.sort_unstable_by_key(|(is_untracked, index, _)| (*is_untracked, *index));
        for (_, index, blob) in to_copy {
            let name = base.name(index).to_vec();
            let Some(state) = base.state_mut(index) else { continue };
            let has_room = room.has_room(&state.stamp);
            (state.stamp, state.content) = room.copy(repository, &name, state.stamp, blob, &is_withheld);
            state.is_fresh = !has_room || is_fresh(&state.stamp, began);
        }
        let mut seen = repository.seen();
        seen.base = base;
        for name in absent {
            seen.set(name, 0, None);
        }
        drop(seen);
        Ok(early)
    }

    /// Those of some unchanged files that may have had a filter when git looked: only their bytes tell.
    fn to_compare(
        repository: &Repository,
        base: &Base,
        clean: &[usize],
        is_withheld: impl Fn(&Path) -> bool,
    ) -> Vec<(bool, usize, Option<Vec<u8>>)> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        for index in clean {
            let Some(State { stamp, content: Content::Git(blob), .. }) = base.state(*index) else { continue };
            let is_small = usize::try_from(stamp.size).is_ok_and(|size| size <= MAX_FILE_BYTES);
            if !is_small || stamp.kind() != Kind::File || is_withheld(&repository.path(base.name(*index))) {
                continue;
            }
            bytes += stamp.size;
            if found.len() == MAX_COMPARED || bytes > MAX_COMPARED_BYTES {
                break;
            }
            found.push((false, *index, Some(blob.0.to_vec())));
        }
        found
    }

    /// Those of some unchanged files whose bytes are not the blob's.
    fn converted(repository: &Repository, base: &Base, clean: &[usize]) -> Result<Vec<usize>, NoAnswer> {
        let names: Vec<&[u8]> = clean.iter().map(|index| base.name(*index)).collect();
        let filtered = repository.filtered(&names)?;
        let blob = |index: &usize| match &base.state(*index)?.content {
            Content::Git(blob) => Some(blob),
            _ => None,
        };
        let blobs: Vec<&Id> = clean.iter().filter_map(blob).collect();
        let sizes = repository.sizes(&blobs)?;
        let is_other = |index: &&usize| {
            // Without a filter git only removes bytes: carriage returns, and the values of `$Id$`.
            let is_same_size = blob(index)
                .is_some_and(|blob| sizes.get(blob).copied() == base.state(**index).map(|state| state.stamp.size));
            !is_same_size || filtered.contains(base.name(**index))
        };
        Ok(clean.iter().filter(is_other).copied().collect())
    }

    /// A later look: only files that changed since the last one are read.
    fn look_again(
        &mut self,
        room: &mut Room<'_>,
        began: SystemTime,
        since: Option<SystemTime>,
        is_withheld: impl Fn(&Path) -> bool,
    ) -> Result<Vec<Name>, NoAnswer> {
        let repository = &*self.repository;
        let indexed = stamp(&repository.index);
        let (tracked, is_sparse) =
            if indexed == self.index { (Vec::new(), self.is_sparse) } else { repository.tracked() };
        let (stamps, listed) = beside(|| changed_of_base(repository), || repository.names(is_sparse));
        let listed = listed?;
        let mut folders = Folders::new(&repository.top);
        let (mut changed, mut later) = (Vec::new(), HashSet::new());
        let seen = repository.seen();
        let is_listed = |name: &[u8]| listed.binary_search_by(|other| other.as_slice().cmp(name)).is_ok();
        let mut differing = stamps.into_iter().peekable();
        for index in 0..seen.base.len() {
            let name = seen.base.name(index);
            let known = seen.now_of_base(index);
            let differs = differing.next_if(|(other, _)| *other == index);
            // Below a link that has taken a folder's place, the files seem to be there still.
            let is_there = is_listed(name) || folders.are_real(name);
            match differs {
                Some((_, found)) => changed.push((name.to_vec(), known.cloned(), found.filter(|_| is_there))),
                None if known.is_some() && !is_there => changed.push((name.to_vec(), known.cloned(), None)),
                None => {}
            }
        }
        later.extend(seen.later_names().cloned());
        later.extend(listed.into_iter().filter(|name| !seen.is_of_base(name)));
        later.extend(tracked.iter().map(|file| file.name.clone()).filter(|name| !seen.is_of_base(name)));
        let mut later: Vec<Name> = later.into_iter().collect();
        later.sort_unstable();
        let mut absent = Vec::new();
        for name in later {
            let found = stamp(&repository.path(&name)).filter(|_| folders.are_real(&name));
            if found.is_none() && !seen.knows(&name) && absent.len() < room.limits.listed {
                absent.push(name);
                continue;
            }
            let known = seen.now(&name);
            if known.is_some_and(|known| known.is_fresh) || known.map(|known| known.stamp) != found {
                let known = known.cloned();
                changed.push((name, known, found));
            }
        }
        drop(seen);
        changed.retain(|(_, known, found)| known.is_some() || found.is_some_and(|found| found.kind() != Kind::Other));
        // What Claude's commands changed comes before what git did not list until now.
        changed.sort_by_key(|(_, known, _)| known.is_none());
        changed.truncate(room.limits.listed);
        // A file that is moved keeps its number, also with its folder.
        let moved = |(_, known, found): &(Name, Option<State>, Option<Stamp>)| {
            let known = known.as_ref().filter(|known| known.kind() != Kind::Other && known.stamp.links == 1)?;
            // Another one may have its name already.
            let is_gone = found.is_none_or(|found| found.inode != known.stamp.inode);
            is_gone.then_some((known.stamp.inode, known.met))
        };
        let moved: HashMap<u64, Option<Met>> = changed.iter().filter_map(moved).collect();
        let (mut early, mut states) = (Vec::new(), Vec::new());
        let look = self.look + 1;
        let at = At { began, indexed: indexed.map(|index| index.modified) };
        for (name, known, found) in changed {
            let is_late = match &found {
                Some(found) => is_since(found, since),
                None => is_gone_since(repository, &name, since),
            };
            let state = found.map(|found| {
                let entry = tracked.binary_search_by(|file| file.name.as_slice().cmp(&name)).ok();
                let entry = entry.and_then(|index| tracked.get(index));
                let file = Changed { name: &name, found, known: known.as_ref(), entry };
                let state = self.state(room, &file, at, &is_withheld);
                let met = if known.is_some() { None } else { moved.get(&found.inode).copied() };
                State { met: met.unwrap_or(state.met), ..state }
            });
            let is_same = state.as_ref().zip(known.as_ref()).is_some_and(|(state, known)| state.is_like(known));
            if is_late && !is_same {
                early.push(name.clone());
            }
            states.push((name, state));
        }
        let mut seen = repository.seen();
        for (name, state) in states.into_iter().chain(absent.into_iter().map(|name| (name, None))) {
            seen.set(name, look, state);
        }
        drop(seen);
        (self.index, self.is_sparse) = (indexed, is_sparse);
        Ok(early)
    }

    fn state(&self, room: &mut Room<'_>, file: &Changed<'_>, at: At, is_withheld: impl Fn(&Path) -> bool) -> State {
        let (name, found) = (file.name, file.found);
        let blob = file.entry.and_then(|entry| entry.blob.clone());
        let is_clean = file.entry.is_some_and(|entry| is_as_indexed(&found, entry, at.indexed));
        let has_room = room.has_room(&found);
        let (stamp, content) = match blob {
            _ if found.kind() == Kind::Other => (found, Content::Unknown),
            Some(blob) if is_clean && !self.converts && !self.repository.has_filters => {
                (found, Content::Git(Id(blob.into())))
            }
            blob => room.copy(&self.repository, name, found, blob, is_withheld),
        };
        let is_there = file.known.filter(|known| known.kind() != Kind::Other);
        let met = is_there.map_or_else(|| Some(self.met(&self.repository.path(name))), |known| known.met);
        State { stamp, content, is_fresh: !has_room || is_fresh(&stamp, at.began), met }
    }

    /// How a file was met that git had not listed before: it was created since the last checkpoint, or is an older one
    /// that was ignored or in another repository.
    fn met(&self, path: &Path) -> Met {
        let (Some(looked_at), Ok(file)) = (self.looked, path.symlink_metadata()) else { return Met::Made };
        if is_before(moment(Stamp::of(&file).changed), looked_at) {
            Met::Unchanged
        } else if file.created().is_ok_and(|created| created > UNIX_EPOCH && is_before(created, looked_at)) {
            Met::Changed
        } else {
            Met::Made
        }
    }
}

impl Room<'_> {
    /// What finds none is tried again at the next look.
    const fn has_room(&self, found: &Stamp) -> bool {
        self.count < self.limits.files && self.bytes + found.size <= self.limits.bytes
    }

    /// Copies a file, unless git has the same bytes.
    fn copy(
        &mut self,
        repository: &Repository,
        name: &[u8],
        found: Stamp,
        blob: Option<Vec<u8>>,
        is_withheld: impl Fn(&Path) -> bool,
    ) -> (Stamp, Content) {
        let path = repository.path(name);
        let is_small = usize::try_from(found.size).is_ok_and(|size| size <= MAX_FILE_BYTES);
        if !self.has_room(&found) || !is_small || is_withheld(&path) {
            return (found, Content::Unknown);
        }
        let Ok((stamp, bytes)) = read(&path, found.kind()) else { return (found, Content::Unknown) };
        let id = Id::of(&bytes);
        if blob.is_some_and(|blob| *blob == *id.0) {
            return (stamp, Content::Git(id));
        }
        self.count += 1;
        self.bytes += u64::try_from(bytes.len()).unwrap_or_default();
        let is_kept = repository.store.put(&id, &bytes);
        (stamp, if is_kept.is_ok() { Content::Copy(id) } else { Content::Unknown })
    }
}

/// Reads a file or a link, with what it is then.
fn read(path: &Path, kind: Kind) -> io::Result<(Stamp, Vec<u8>)> {
    if kind == Kind::Link {
        let target = std::fs::read_link(path)?;
        return Ok((Stamp::of(&path.symlink_metadata()?), target.as_os_str().as_bytes().to_vec()));
    }
    for _ in 0..MAX_READS {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        let before = Stamp::of(&file.metadata()?);
        let most = u64::try_from(MAX_FILE_BYTES).map_err(io::Error::other)?;
        if before.kind() != Kind::File || before.size > most {
            break;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.size).unwrap_or_default());
        file.by_ref().take(most + 1).read_to_end(&mut bytes)?;
        if Stamp::of(&file.metadata()?) == before {
            return Ok((before, bytes));
        }
    }
    Err(io::ErrorKind::Other.into())
}

/// Runs one thing beside another, which waits for git.
fn beside<T, U: Send>(
    one: impl FnOnce() -> T,
    other: impl FnOnce() -> Result<U, NoAnswer> + Send,
) -> (T, Result<U, NoAnswer>) {
    std::thread::scope(|scope| {
        let other = std::thread::Builder::new().name("git".to_owned()).spawn_scoped(scope, other);
        let one = one();
        (one, other.ok().and_then(|other| other.join().ok()).unwrap_or(Err(NoAnswer::Refused)))
    })
}

/// The files of the first look that changed since the last one, by their numbers, as far as their stamps tell.
fn changed_of_base(repository: &Repository) -> Vec<(usize, Option<Stamp>)> {
    let seen = repository.seen();
    let changed = |index: usize| {
        let found = stamp(&repository.path(seen.base.name(index)));
        let known = seen.now_of_base(index);
        let differs = known.is_some_and(|known| known.is_fresh) || known.map(|known| known.stamp) != found;
        differs.then_some((index, found))
    };
    (0..seen.base.len()).filter_map(changed).collect()
}

/// The files in the index and those that git lists, in the order of their names.
fn merged<'a>(
    tracked: &'a [Tracked],
    listed: &'a [Name],
) -> impl Iterator<Item = (&'a [u8], Option<&'a Tracked>, bool)> {
    let (mut files, mut names) = (tracked.iter().peekable(), listed.iter().peekable());
    std::iter::from_fn(move || {
        let order = match (files.peek(), names.peek()) {
            (Some(file), Some(name)) => file.name.cmp(name),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return None,
        };
        match order {
            std::cmp::Ordering::Less => files.next().map(|file| (file.name.as_slice(), Some(file), false)),
            std::cmp::Ordering::Greater => names.next().map(|name| (name.as_slice(), None, true)),
            std::cmp::Ordering::Equal => {
                names.next();
                files.next().map(|file| (file.name.as_slice(), Some(file), true))
            }
        }
    })
}

fn stamp(path: &Path) -> Option<Stamp> {
    path.symlink_metadata().ok().as_ref().map(Stamp::of)
}

/// Whether a file is unchanged since git looked. Size and time do not tell that of one that is as new as the index.
fn is_as_indexed(found: &Stamp, file: &Tracked, indexed: Option<(i64, i64)>) -> bool {
    let is_at = |time: (i64, i64), other: (u32, u32)| {
        i64::from(other.0) == time.0 && (other.1 == 0 || i64::from(other.1) == time.1)
    };
    let low = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
    let modified = (i64::from(file.modified.0), i64::from(file.modified.1));
    is_at(found.modified, file.modified)
        && is_at(found.changed, file.changed)
        && low(found.inode) == file.inode
        && low(found.size) == file.size
        && (found.kind() == Kind::Link) == file.is_link
        && indexed.is_some_and(|indexed| if file.modified.1 == 0 { modified.0 < indexed.0 } else { modified < indexed })
}

/// Whether a file was changed since then.
fn is_since(found: &Stamp, since: Option<SystemTime>) -> bool {
    since.is_some_and(|since| moment(found.changed) >= since)
}

/// Whether a file may have been deleted since then: its folder was changed.
fn is_gone_since(repository: &Repository, name: &[u8], since: Option<SystemTime>) -> bool {
    let path = repository.path(name);
    let folder = path.ancestors().skip(1).find_map(|folder| folder.symlink_metadata().ok());
    folder.as_ref().is_some_and(|folder: &Metadata| is_since(&Stamp::of(folder), since))
}

/// Whether a change after this look might not show in a file's stamp.
fn is_fresh(found: &Stamp, looked: SystemTime) -> bool {
    !is_before(moment(found.changed), looked)
}

fn moment((seconds, nanos): (i64, i64)) -> SystemTime {
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
