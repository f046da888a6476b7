//! Old texts of files: in memory, and the oldest in a folder when there are many.
//!
//! Invariant: stored texts are readable by this user only (0600 in 0700), limited in size, and removed when Neovim
//! exits; those of a killed Neovim are removed by the next one.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use claude_ide_system::process;

const MAX_MEMORY_BYTES: usize = 32 * 1024 * 1024;

/// Limit of memory and folder together. Old texts are dropped when [`Blobs::is_full`].
const MAX_TOTAL_BYTES: usize = 256 * 1024 * 1024;

/// The bytes of a file.
pub type Bytes = Arc<[u8]>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BlobId(u64);

#[derive(Debug)]
struct Blob {
    size: usize,
    /// `None` once it is in the folder.
    bytes: Arc<Mutex<Option<Bytes>>>,
    /// Never leaves the memory.
    secret: bool,
    is_counted_in_memory: bool,
}

fn lock(bytes: &Mutex<Option<Bytes>>) -> MutexGuard<'_, Option<Bytes>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Work for the thread that writes to the folder.
enum Write {
    Spill { path: PathBuf, bytes: Arc<Mutex<Option<Bytes>>> },
    Remove(PathBuf),
}

/// The amount of stored texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stored {
    /// Bytes of all texts.
    pub total: usize,
    /// Bytes in memory.
    pub memory: usize,
    /// The number of texts.
    pub count: usize,
}

/// The texts of one Neovim.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    blobs: BTreeMap<BlobId, Blob>,
    newest: u64,
    stored: Stored,
    folder: Option<Folder>,
    writer: Option<Sender<Write>>,
    limits: Limits,
}

#[derive(Debug)]
struct Limits {
    memory: usize,
    total: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: MAX_MEMORY_BYTES, total: MAX_TOTAL_BYTES }
    }
}

impl Blobs {
    /// Sets the folder; without one all texts stay in memory.
    pub(crate) fn set_folder(&mut self, folder: Folder) {
        self.folder = Some(folder);
    }

    pub(crate) const fn folder(&mut self) -> Option<&mut Folder> {
        self.folder.as_mut()
    }

    pub(crate) fn put(&mut self, bytes: Bytes, secret: bool) -> BlobId {
        self.newest += 1;
        let (id, size) = (BlobId(self.newest), bytes.len());
        let blob = Blob { size, bytes: Arc::new(Mutex::new(Some(bytes))), secret, is_counted_in_memory: true };
        self.blobs.insert(id, blob);
        self.stored.total += size;
        self.stored.memory += size;
        if self.stored.memory > self.limits.memory {
            self.spill_all_but(id);
        }
        id
    }

    fn spill_all_but(&mut self, newest: BlobId) {
        let Some(path) = self.folder.as_mut().and_then(Folder::path) else { return };
        for (id, blob) in &mut self.blobs {
            if self.stored.memory <= self.limits.memory || *id == newest {
                break;
            }
            if blob.is_counted_in_memory && !blob.secret {
                blob.is_counted_in_memory = false;
                self.stored.memory -= blob.size;
                let spill = Write::Spill { path: file_of(&path, *id), bytes: Arc::clone(&blob.bytes) };
                send(&mut self.writer, spill);
            }
        }
    }

    /// `None` if it was dropped, or lost by the disk.
    pub(crate) fn get(&self, id: BlobId) -> Option<Bytes> {
        let blob = self.blobs.get(&id)?;
        if let Some(bytes) = lock(&blob.bytes).as_ref() {
            return Some(Arc::clone(bytes));
        }
        let bytes = fs::read(file_of(self.folder.as_ref()?.made.as_ref()?, id)).ok()?;
        (bytes.len() == blob.size).then(|| bytes.into())
    }

    pub(crate) fn drop(&mut self, id: BlobId) {
        let Some(blob) = self.blobs.remove(&id) else { return };
        self.stored.total -= blob.size;
        if blob.is_counted_in_memory {
            self.stored.memory -= blob.size;
        } else if let Some(path) = self.folder.as_mut().and_then(Folder::path) {
            send(&mut self.writer, Write::Remove(file_of(&path, id)));
        }
    }

    /// Whether old texts should be dropped.
    pub(crate) const fn is_full(&self) -> bool {
        self.stored.total > self.limits.total
    }

    pub(crate) fn stored(&self) -> Stored {
        Stored { count: self.blobs.len(), ..self.stored }
    }
}

fn file_of(folder: &Path, id: BlobId) -> PathBuf {
    folder.join(id.0.to_string())
}

fn send(writer: &mut Option<Sender<Write>>, write: Write) {
    let writer = writer.get_or_insert_with(|| {
        let (sender, receiver) = channel();
        let spawned = std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
            for write in receiver {
                match write {
                    Write::Spill { path, bytes } => spill(&path, &bytes),
                    Write::Remove(path) => fs::remove_file(path).unwrap_or_default(),
                }
            }
        });
        if let Err(error) = spawned {
            tracing::warn!(%error, "texts stay in memory: could not start a thread to write them");
        }
        sender
    });
    writer.send(write).unwrap_or_default();
}

/// Keeps the text in memory until it is written.
fn spill(path: &Path, bytes: &Mutex<Option<Bytes>>) {
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match file {
        Ok(file) => fill(file, path, bytes),
        Err(error) => tracing::debug!(%error, "a text stays in memory"),
    }
}

/// Without room for all of it, nothing stays on the disk.
fn fill(mut file: fs::File, path: &Path, bytes: &Mutex<Option<Bytes>>) {
    let Some(contents) = lock(bytes).clone() else { return };
    match file.write_all(&contents) {
        Ok(()) => *lock(bytes) = None,
        Err(error) => {
            tracing::debug!(%error, "a text stays in memory");
            fs::remove_file(path).unwrap_or_default();
        }
    }
}

/// The folder of this Neovim, created on demand. Its name has the host, since several machines may share a home and
/// process ids are only unique on one.
#[derive(Debug)]
pub(crate) struct Folder {
    journals: PathBuf,
    host: String,
    made: Option<PathBuf>,
}

impl Folder {
    pub(crate) fn new(journals: PathBuf, host: &str) -> Self {
        let host =
            host.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' });
        Self { journals, host: host.collect(), made: None }
    }

    /// This Neovim's folder.
    pub(crate) fn path(&mut self) -> Option<PathBuf> {
        if self.made.is_none() {
            let path = self.journals.join(format!("{}.{}", self.host, std::process::id()));
            self.made = make(&self.journals, &path).is_ok().then_some(path);
        }
        self.made.clone()
    }

    /// Removes the folders of Neovims that no longer run.
    pub(crate) fn clean(&self) {
        let Ok(entries) = fs::read_dir(&self.journals) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let pid = name.to_str().and_then(|name| name.strip_prefix(&self.host)?.strip_prefix('.')?.parse().ok());
            if pid.is_some_and(|pid| !process::exists(pid)) {
                fs::remove_dir_all(entry.path()).unwrap_or_default();
            }
        }
    }

    /// Removes the folder when Neovim exits.
    pub(crate) fn remove(&mut self) {
        if let Some(path) = self.made.take() {
            fs::remove_dir_all(path).unwrap_or_default();
        }
    }
}

fn make(journals: &Path, path: &Path) -> io::Result<()> {
    let mut private = fs::DirBuilder::new();
    private.mode(0o700).recursive(true).create(journals)?;
    if path.exists() {
        fs::remove_dir_all(path)?; // left by an earlier process with the same id
    }
    private.recursive(false).create(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn small(home: &Path) -> Blobs {
        let mut blobs = Blobs { limits: Limits { memory: 25, total: 60 }, ..Blobs::default() };
        blobs.set_folder(Folder::new(home.join("journal"), "some host"));
        blobs
    }

    fn wait(until: impl Fn() -> bool) {
        while !until() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn the_oldest_go_to_disk_where_only_the_user_reads_them_and_come_back_whole() {
        let home = tempfile::tempdir().unwrap();
        let mut blobs = small(home.path());
        let ids: Vec<BlobId> = (0..4_u8).map(|number| blobs.put(Bytes::from([number; 10]), false)).collect();
        let folder = home.path().join(format!("journal/some_host.{}", std::process::id()));
        wait(|| ids[..2].iter().all(|id| lock(&blobs.blobs[id].bytes).is_none()));
        assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        for entry in fs::read_dir(&folder).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        }
        for (number, id) in ids.iter().enumerate() {
            assert_eq!(blobs.get(*id).unwrap().as_ref(), [u8::try_from(number).unwrap(); 10]);
        }
        assert_eq!(blobs.stored(), Stored { total: 40, memory: 20, count: 4 });
        blobs.drop(ids[0]);
        assert!(blobs.get(ids[0]).is_none());
        wait(|| fs::read_dir(&folder).unwrap().count() == 1);
        assert_eq!(blobs.stored(), Stored { total: 30, memory: 20, count: 3 });
        blobs.folder().unwrap().remove();
        assert!(!folder.exists());
        assert!(blobs.get(ids[1]).is_none(), "the disk lost it");
    }

    #[test]
    fn without_a_folder_that_can_be_written_or_room_on_the_disk_texts_stay_in_memory() {
        let home = tempfile::tempdir().unwrap();
        let text = Mutex::new(Some(Bytes::from([0; 10])));
        spill(&home.path().join("gone/1"), &text);
        let half = home.path().join("1");
        fs::write(&half, "half").unwrap();
        // Only Linux has one.
        if let Ok(full) = fs::File::options().write(true).open("/dev/full") {
            fill(full, &half, &text);
            assert!(!half.exists());
        }
        assert_eq!(lock(&text).as_deref(), Some([0; 10].as_slice()));
        fs::write(home.path().join("journal"), "a file where the folder would be").unwrap();
        let mut blobs = small(home.path());
        let ids: Vec<BlobId> = (0..4_u8).map(|number| blobs.put(Bytes::from([number; 10]), false)).collect();
        assert!(ids.iter().all(|id| blobs.get(*id).is_some()));
        assert_eq!(blobs.stored().memory, 40);
    }

    #[test]
    fn a_secret_never_leaves_the_memory() {
        let home = tempfile::tempdir().unwrap();
        let mut blobs = small(home.path());
        for _ in 0..5 {
            blobs.put(Bytes::from([0; 10]), true);
        }
        assert_eq!(blobs.stored().memory, 50);
        assert!(
            fs::read_dir(home.path().join("journal")).map_or(0, |entries| entries
                .flatten()
                .filter(|entry| fs::read_dir(entry.path()).unwrap().count() > 0)
                .count())
                == 0
        );
        assert!(!blobs.is_full());
        blobs.put(Bytes::from([0; 20]), true);
        assert!(blobs.is_full());
    }

    #[test]
    fn leftovers_of_dead_processes_of_this_machine_go() {
        let home = tempfile::tempdir().unwrap();
        for name in ["here.4194305", "here.1", "elsewhere.4194305", "here.x"] {
            fs::create_dir_all(home.path().join(name)).unwrap();
        }
        Folder::new(home.path().to_owned(), "here").clean();
        let mut left: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["elsewhere.4194305", "here.1", "here.x"]);
    }
}
