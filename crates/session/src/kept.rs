//! Copies of sessions, which stay when the CLI deletes its own: 30 days after the last write, or `cleanupPeriodDays` (measured, CLI
//! 2.1.329: by the time of the file; with it go the subagents' transcripts, results of tools and checkpoints).
//!
//! The folder has the layout of a configuration folder, so that what lists, searches and reads sessions needs no other code. `<id>.origin`
//! beside a transcript names the configuration folder that it was copied from.
//! The CLI rewrites long transcripts, without lines that it needs no more (read in 2.1.329), so a copy that its session no longer continues
//! is replaced, and the last ones before stay beside it (`.before`), among them the longest.
//! Invariants: only the user can read it; a transcript appears when the rest of its copy is there; nothing of a copy is removed, unless the
//! user wants it; a session is never put back over a file.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use claude_ide_system::file::{Access, Whole, create_private_folder, lock, open_regular, read_regular};

use crate::config_dir::ConfigDir;
use crate::error::SessionError;
use crate::id::SessionId;

/// A longer origin is none.
const MAX_ORIGIN: u64 = 16 * 1024;
/// Folders are copied to this depth.
const MAX_DEPTH: usize = 8;
/// A file continues its copy if these last bytes of the copy are in it.
const COMPARED: u64 = 4096;
/// The extensions of the texts before the CLI rewrote a transcript. Of more, the longest stay.
const BEFORE: [&str; 8] = [
    "jsonl.before",
    "2.jsonl.before",
    "3.jsonl.before",
    "4.jsonl.before",
    "5.jsonl.before",
    "6.jsonl.before",
    "7.jsonl.before",
    "8.jsonl.before",
];
/// How long another process is waited for: it may copy much, or be suspended.
const MAX_WAIT: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(10) };

/// The folder of the copies.
#[derive(Clone, Debug)]
pub(crate) struct Kept(ConfigDir);

/// A copy of a session.
#[derive(Debug)]
pub(crate) struct KeptCopy {
    pub(crate) file: PathBuf,
    /// The configuration folder that it was copied from.
    pub(crate) origin: ConfigDir,
}

/// Where files are copied to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    /// The copy, which becomes like the session.
    Copy,
    /// The CLI's folder: files that are there stay.
    Cli,
}

/// What is left when a copy is removed, as far as the user knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    Session,
    Nothing,
}

impl Kept {
    pub(crate) fn at(dir: ConfigDir) -> Self {
        Self(dir)
    }

    /// Whether a transcript is a copy.
    pub(crate) fn has(&self, file: &Path) -> bool {
        ConfigDir::of_transcript(file).is_some_and(|dir| dir == self.0)
    }

    /// The copy with this transcript.
    pub(crate) fn copy(&self, file: &Path) -> Option<KeptCopy> {
        let origin = self.has(file).then(|| read_regular(&file.with_extension("origin"), MAX_ORIGIN).ok())??;
        let origin = ConfigDir::at(std::ffi::OsString::from_vec(origin));
        Some(KeptCopy { file: file.to_owned(), origin })
    }

    /// All copies.
    pub(crate) fn copies(&self) -> Vec<KeptCopy> {
        let mut copies = Vec::new();
        for folder in entries(&self.0.projects()) {
            for file in entries(&folder) {
                if is_transcript(&file) {
                    copies.extend(self.copy(&file));
                }
            }
        }
        copies
    }

    /// The copy of a session.
    pub(crate) fn copy_of(&self, id: &SessionId) -> Option<KeptCopy> {
        self.copies().into_iter().find(|copy| copy.is_of(id))
    }

    /// Copies a session, or brings its copy up to date. Returns the copy.
    ///
    /// # Errors
    /// [`SessionError::Keep`]; then a copy that was there is still there.
    pub(crate) fn keep(&self, file: &Path) -> Result<PathBuf, SessionError> {
        if self.has(file) {
            return Ok(file.to_owned()); // nothing else is left of it
        }
        let lock = self.lock(MAX_WAIT);
        let kept = lock.and_then(|_lock| self.take(file));
        kept.map_err(SessionError::Keep)
    }

    /// Adds to the copies what their sessions have got since: to one, or to all.
    pub(crate) fn catch_up(&self, only: Option<&SessionId>) {
        if !self.0.projects().is_dir() {
            return;
        }
        // Another Neovim that has the lock does the same.
        let Ok(_lock) = self.lock(Duration::ZERO) else { return };
        if only.is_none() {
            self.clean();
        }
        for copy in self.copies() {
            let Some(original) = copy.original().filter(|_| only.is_none_or(|only| copy.is_of(only))) else { continue };
            if let Err(error) = self.take(&original) {
                tracing::warn!(file = %original.display(), %error, "a kept session could not be brought up to date");
            }
        }
    }

    /// Puts a session back where the CLI looks for it, unless it is there. Returns its transcript there.
    ///
    /// # Errors
    /// [`SessionError::Keep`].
    pub(crate) fn put_back(&self, file: &Path) -> Result<PathBuf, SessionError> {
        let copy = match self.copy(file) {
            Some(copy) => copy,
            None if self.has(file) => return Err(SessionError::Keep(io::ErrorKind::NotFound.into())),
            None => return Ok(file.to_owned()),
        };
        if let Some(original) = copy.original() {
            return Ok(original);
        }
        let put = || {
            if !copy.origin.path().is_dir() {
                return Err(io::Error::other(format!("its folder {} is gone", copy.origin.path().display())));
            }
            let to = copy.place(&copy.origin)?;
            // A time long past would have the CLI delete it at its next start.
            self.copy_all(file, &self.0, &to, &copy.origin, To::Cli)?;
            Ok(to)
        };
        put().map_err(SessionError::Keep)
    }

    /// Removes a copy, unless the session itself is gone against what the user knows.
    ///
    /// # Errors
    /// [`SessionError::Keep`].
    pub(crate) fn remove(&self, id: &SessionId, left: Left) -> Result<(), SessionError> {
        let Some(copy) = self.copy_of(id) else {
            return Err(SessionError::UnknownSession { id: id.to_string() });
        };
        let remove = |_lock| {
            if left == Left::Session && copy.original().is_none() {
                return Err(io::Error::other(
                    "Claude Code has deleted its own file meanwhile, and only the copy is left",
                ));
            }
            self.remove_copy(&copy)
        };
        self.lock(MAX_WAIT).and_then(remove).map_err(SessionError::Keep)
    }

    /// Brings the copy of a session up to date, or makes it.
    fn take(&self, file: &Path) -> io::Result<PathBuf> {
        let origin = ConfigDir::of_transcript(file).ok_or(io::ErrorKind::InvalidInput)?;
        let before = self.copies().into_iter().find(|copy| copy.file.file_name() == file.file_name());
        if let Some(before) = before.as_ref().filter(|before| before.origin != origin) {
            let other = before.origin.path().display();
            return Err(io::Error::other(format!("a copy of it from {other} is kept already")));
        }
        let to = KeptCopy { file: file.to_owned(), origin: origin.clone() }.place(&self.0)?;
        if let Some(moved) = before.filter(|before| before.file != to) {
            relocate(&moved.file, &to)?;
        }
        let copied = self.copy_all(file, &origin, &to, &self.0, To::Copy);
        if copied.is_err() && fs::symlink_metadata(&to).is_err() {
            self.remove_rest(&to).ok(); // best effort: without its transcript it is not listed
        }
        copied.map(|()| to)
    }

    /// Copies all that belongs to a session, the transcript last.
    fn copy_all(&self, from: &Path, source: &ConfigDir, to: &Path, target: &ConfigDir, whither: To) -> io::Result<()> {
        for (from, to) in parts(source, from).iter().zip(parts(target, to)) {
            copy_tree(from, &to, whither, MAX_DEPTH)?;
        }
        create_private_folder(to.parent().unwrap_or(to))?;
        if whither == To::Copy {
            let (path, temporary) = (to.with_extension("origin"), part_of(to));
            let origin = source.path().as_os_str().as_bytes();
            Whole { path: &path, temporary: &temporary, access: Access::Private, durable: false }.write(origin)?;
        }
        copy_file(from, to, whither)
    }

    fn remove_copy(&self, copy: &KeptCopy) -> io::Result<()> {
        fs::remove_file(&copy.file)?;
        self.remove_rest(&copy.file)
    }

    /// Removes what belongs to a transcript.
    fn remove_rest(&self, file: &Path) -> io::Result<()> {
        for extension in BEFORE.into_iter().chain(["origin"]) {
            fs::remove_file(file.with_extension(extension)).or_else(if_missing)?;
        }
        for part in parts(&self.0, file) {
            fs::remove_dir_all(part).or_else(if_missing)?;
        }
        fs::remove_dir(file.parent().unwrap_or(file)).ok(); // unless it holds others
        Ok(())
    }

    /// Removes the temporary files of interrupted copies. The caller holds the lock.
    fn clean(&self) {
        remove_parts(self.0.path(), MAX_DEPTH + 3); // a session's folder is below its project's
    }

    /// Only one process at a time writes. A file system without locks is no reason to keep nothing: two would write the same bytes.
    fn lock(&self, wait: Duration) -> io::Result<File> {
        lock(&self.0.path().join("lock"), wait).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                io::Error::new(error.kind(), "another Neovim is copying sessions, or was suspended meanwhile")
            }
            _ => error,
        })
    }
}

impl KeptCopy {
    pub(crate) fn is_of(&self, id: &SessionId) -> bool {
        self.file.file_stem().is_some_and(|stem| stem == id.as_str())
    }

    /// The CLI's own transcript, also where `/cd` has moved it; `None` once it is deleted.
    pub(crate) fn original(&self) -> Option<PathBuf> {
        let here = self.place(&self.origin).ok()?;
        if here.is_file() {
            return Some(here);
        }
        let name = self.file.file_name()?;
        entries(&self.origin.projects()).into_iter().map(|folder| folder.join(name)).find(|file| file.is_file())
    }

    /// Where its transcript is in a configuration folder.
    fn place(&self, dir: &ConfigDir) -> io::Result<PathBuf> {
        let project = self.file.parent().and_then(Path::file_name);
        let (project, name) = project.zip(self.file.file_name()).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(dir.projects().join(project).join(name))
    }
}

/// What belongs to a session beside its transcript: the folder with its subagents and results of tools, and its checkpoints.
fn parts(dir: &ConfigDir, file: &Path) -> [PathBuf; 2] {
    [file.with_extension(""), dir.path().join("file-history").join(file.file_stem().unwrap_or_default())]
}

fn is_transcript(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "jsonl")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    found.flatten().map(|entry| entry.path()).collect()
}

fn if_missing(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

/// Moves a copy after its session, the transcript last.
fn relocate(from: &Path, to: &Path) -> io::Result<()> {
    create_private_folder(to.parent().unwrap_or(to))?;
    for extension in ["", "origin"].into_iter().chain(BEFORE).chain(["jsonl"]) {
        fs::rename(from.with_extension(extension), to.with_extension(extension)).or_else(if_missing)?;
    }
    fs::remove_dir(from.parent().unwrap_or(from)).ok(); // unless it holds others
    Ok(())
}

/// Removes the temporary files in a folder.
fn remove_parts(folder: &Path, depth: usize) {
    for file in entries(folder) {
        let is_folder = fs::symlink_metadata(&file).is_ok_and(|found| found.is_dir());
        let is_part = file.file_name().is_some_and(|name| {
            let name = name.as_bytes();
            name.starts_with(b".") && name.ends_with(b".part")
        });
        if is_folder && depth > 0 {
            remove_parts(&file, depth - 1);
        } else if is_part && !is_folder {
            fs::remove_file(file).ok();
        }
    }
}

/// The name under which a file is written.
fn part_of(file: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(file.file_name().unwrap_or_default());
    name.push(".part");
    file.with_file_name(name)
}

/// Copies the regular files of a folder. Nothing is done if there is none.
fn copy_tree(from: &Path, to: &Path, whither: To, depth: usize) -> io::Result<()> {
    if depth == 0 || !fs::symlink_metadata(from).is_ok_and(|found| found.is_dir()) {
        return Ok(());
    }
    create_private_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        let copied = match entry.file_type()? {
            kind if kind.is_dir() => copy_tree(&from, &to, whither, depth - 1),
            kind if kind.is_file() && from.extension().is_none_or(|extension| extension != "before") => {
                copy_file(&from, &to, whither)
            }
            _ => Ok(()),
        };
        // The CLI may have deleted it meanwhile.
        copied.or_else(if_missing)?;
    }
    Ok(())
}

/// Copies a file under another name, then renames it. Continues a copy whose end is in the file.
fn copy_file(from: &Path, to: &Path, whither: To) -> io::Result<()> {
    let source = open_regular(from)?;
    let found = source.metadata()?;
    let modified = if whither == To::Cli { SystemTime::now() } else { found.modified()? };
    let there = fs::symlink_metadata(to).ok();
    if let Some(copy) = &there {
        let is_same = copy.len() == found.len() && copy.modified()? == modified;
        if whither == To::Cli || is_same || !copy.is_file() {
            return Ok(());
        }
        if append(&source, to, copy.len(), found.len(), modified)? {
            return Ok(());
        }
    }
    let temporary = part_of(to);
    let written = write(&source, &temporary, modified).and_then(|()| match (whither, &there) {
        (To::Cli, _) => fs::hard_link(&temporary, to).or_else(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ if to.exists() => Ok(()),
            _ => fs::rename(&temporary, to), // a file system without links
        }),
        (To::Copy, Some(copy)) if is_transcript(to) => {
            set_aside(to, copy.len())?;
            fs::rename(&temporary, to)
        }
        (To::Copy, _) => fs::rename(&temporary, to),
    });
    if whither == To::Cli || written.is_err() {
        fs::remove_file(&temporary).ok();
    }
    written
}

/// Keeps a text that is about to be replaced, unless that many longer ones are kept.
fn set_aside(file: &Path, bytes: u64) -> io::Result<()> {
    let own = fs::symlink_metadata(file)?.ino();
    let mut place = None;
    for before in BEFORE.map(|extension| file.with_extension(extension)) {
        match fs::symlink_metadata(&before) {
            Ok(kept) if kept.ino() == own => return Ok(()), // it was set aside, and then not replaced
            Ok(kept) => place = place.filter(|(len, _)| *len <= kept.len()).or(Some((kept.len(), before))),
            Err(_) => {
                place = Some((0, before));
                break;
            }
        }
    }
    let Some((_, before)) = place.filter(|(len, _)| *len <= bytes) else { return Ok(()) };
    // A link and not a rename: the transcript is always there.
    fs::remove_file(&before).or_else(if_missing)?;
    fs::hard_link(file, &before).or_else(|_| fs::rename(file, &before))
}

fn write(source: &File, temporary: &Path, modified: SystemTime) -> io::Result<()> {
    fs::remove_file(temporary).or_else(if_missing)?;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(temporary)?;
    copy_from(source, &file, 0)?;
    file.set_modified(modified)?;
    file.sync_all()
}

/// Copies what a file has from a position on. By position: another Neovim that does the same at the same time writes the same bytes.
fn copy_from(source: &File, target: &File, mut at: u64) -> io::Result<()> {
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let read = source.read_at(&mut buffer, at)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else { return Ok(()) };
        target.write_all_at(bytes, at)?;
        at += u64::try_from(read).unwrap_or_default();
    }
}

/// Adds to a copy of `copied` bytes what the file has beyond. Returns whether the file continues the copy.
fn append(source: &File, to: &Path, copied: u64, size: u64, modified: SystemTime) -> io::Result<bool> {
    if size < copied {
        return Ok(false);
    }
    let copy = OpenOptions::new().read(true).write(true).open(to)?;
    let compared = copied.min(COMPARED);
    let mut ours = vec![0; usize::try_from(compared).unwrap_or_default()];
    let mut theirs = ours.clone();
    copy.read_exact_at(&mut ours, copied - compared)?;
    source.read_exact_at(&mut theirs, copied - compared)?;
    if ours != theirs {
        return Ok(false);
    }
    copy_from(source, &copy, copied)?;
    copy.set_modified(modified)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::Duration;

    use super::*;

    struct Files {
        home: tempfile::TempDir,
        kept: Kept,
    }

    impl Files {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            let kept = Kept::at(ConfigDir::at(home.path().join("state/kept")));
            Self { home, kept }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.home.path().join(name)
        }

        /// A session with a subagent, a result of a tool and a checkpoint; 20 days old.
        fn session(&self, dir: &str, text: &str) -> PathBuf {
            let old = SystemTime::now() - Duration::from_secs(20 * 24 * 3600);
            for (name, text) in [
                ("projects/-p/s/subagents/agent-1.jsonl", "{}\n"),
                ("projects/-p/s/tool-results/a.txt", "result"),
                ("projects/-p/other.jsonl", "{}\n"),
                ("file-history/s/a@v1", "before"),
                ("projects/-p/s.jsonl", text),
            ] {
                let file = self.path(dir).join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(&file, text).unwrap();
                File::options().append(true).open(&file).unwrap().set_modified(old).unwrap();
            }
            self.path(dir).join("projects/-p/s.jsonl")
        }

        fn text(&self, name: &str) -> String {
            fs::read_to_string(self.path(name)).unwrap_or_default()
        }

        /// All files of a folder.
        fn all(&self, name: &str) -> Vec<String> {
            let mut found = Vec::new();
            let mut folders = vec![self.path(name)];
            while let Some(folder) = folders.pop() {
                for entry in entries(&folder) {
                    if entry.is_dir() {
                        folders.push(entry);
                    } else {
                        found.push(entry.strip_prefix(self.path(name)).unwrap().to_str().unwrap().to_owned());
                    }
                }
            }
            found.sort();
            found
        }
    }

    const COPY: [&str; 6] = [
        "file-history/s/a@v1",
        "lock",
        "projects/-p/s.jsonl",
        "projects/-p/s.origin",
        "projects/-p/s/subagents/agent-1.jsonl",
        "projects/-p/s/tool-results/a.txt",
    ];

    fn append_to(file: &Path, text: &str) {
        io::Write::write_all(&mut File::options().append(true).open(file).unwrap(), text.as_bytes()).unwrap();
    }

    #[test]
    fn a_copy_has_all_that_belongs_to_the_session_for_the_user_alone() {
        let files = Files::new();
        let file = files.session("c", "{\"n\":1}\n");
        let copy = files.kept.keep(&file).unwrap();
        assert_eq!(copy, files.path("state/kept/projects/-p/s.jsonl"));
        assert_eq!(files.all("state/kept"), COPY);
        assert_eq!(files.text("state/kept/projects/-p/s.jsonl"), "{\"n\":1}\n");
        let times = [&file, &copy].map(|file| fs::metadata(file).unwrap().modified().unwrap());
        assert_eq!(times[0], times[1], "it is as old as the session");
        for name in COPY.iter().map(|name| format!("state/kept/{name}")) {
            assert_eq!(fs::metadata(files.path(&name)).unwrap().permissions().mode() & 0o777, 0o600, "{name}");
            let folder = files.path(&name).parent().unwrap().to_owned();
            assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700, "{}", folder.display());
        }
        assert_eq!(files.kept.copy(&copy).unwrap().origin, ConfigDir::at(files.path("c")));
    }

    #[test]
    fn a_copy_grows_with_its_session_and_never_gets_less() {
        let files = Files::new();
        let file = files.session("c", "one\n");
        files.kept.keep(&file).unwrap();
        append_to(&file, "two\nthr");
        append_to(&files.path("c/projects/-p/s/subagents/agent-1.jsonl"), "more\n");
        files.kept.catch_up(None);
        assert_eq!(files.text("state/kept/projects/-p/s.jsonl"), "one\ntwo\nthr");
        assert_eq!(files.text("state/kept/projects/-p/s/subagents/agent-1.jsonl"), "{}\nmore\n");
        append_to(&file, "ee\n");
        fs::remove_file(files.path("c/projects/-p/s/tool-results/a.txt")).unwrap();
        files.kept.catch_up(Some(&SessionId::new("other")));
        assert_eq!(files.text("state/kept/projects/-p/s.jsonl"), "one\ntwo\nthr");
        files.kept.catch_up(Some(&SessionId::new("s")));
        assert_eq!(files.text("state/kept/projects/-p/s.jsonl"), "one\ntwo\nthree\n");
        assert_eq!(files.all("state/kept"), COPY);
    }

    #[test]
    fn a_transcript_that_the_cli_has_rewritten_replaces_the_copy_which_stays_beside_it() {
        let files = Files::new();
        let file = files.session("c", "one\ntwo\nthree\n");
        let copy = files.kept.keep(&file).unwrap();
        let before = files.path("state/kept/projects/-p/s.jsonl.before");
        let texts = || (fs::read_to_string(&copy).unwrap(), fs::read_to_string(&before).unwrap());
        fs::write(&file, "two\nthree\n").unwrap();
        files.kept.catch_up(None);
        assert_eq!(texts(), ("two\nthree\n".to_owned(), "one\ntwo\nthree\n".to_owned()));
        append_to(&file, "4\n");
        files.kept.catch_up(None);
        fs::write(&file, "").unwrap();
        files.kept.catch_up(None);
        assert_eq!(texts(), (String::new(), "one\ntwo\nthree\n".to_owned()));
        assert_eq!(files.text("state/kept/projects/-p/s.2.jsonl.before"), "two\nthree\n4\n", "each text is kept");
        assert_eq!(files.kept.copies().len(), 1);
        fs::remove_dir_all(files.path("c/projects")).unwrap();
        files.kept.put_back(&copy).unwrap();
        assert!(!files.path("c/projects/-p/s.jsonl.before").exists());
        files.kept.remove(&SessionId::new("s"), Left::Session).unwrap();
        assert_eq!(files.all("state/kept"), ["lock"]);
    }

    #[test]
    fn of_many_rewritten_texts_the_longest_stay() {
        let files = Files::new();
        let file = files.session("c", "0");
        files.kept.keep(&file).unwrap();
        let texts: Vec<String> = [5, 9, 3, 8, 1, 7, 2, 6, 4, 10].map(|count| count.to_string().repeat(count)).to_vec();
        for text in &texts {
            fs::write(&file, text).unwrap();
            files.kept.catch_up(None);
        }
        let kept = || {
            let name = |name: &str| name.ends_with(".before").then(|| files.text(&format!("state/kept/{name}")).len());
            let mut kept: Vec<usize> = files.all("state/kept").iter().filter_map(|file| name(file)).collect();
            kept.sort_unstable();
            kept
        };
        assert_eq!(kept(), [2, 3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(files.text("state/kept/projects/-p/s.jsonl"), "10".repeat(10));
        fs::rename(files.path("c/projects/-p"), files.path("c/projects/-q")).unwrap();
        files.kept.catch_up(None);
        assert_eq!(kept(), [2, 3, 4, 5, 6, 7, 8, 9], "they move along");
        files.kept.remove(&SessionId::new("s"), Left::Session).unwrap();
        assert_eq!(files.all("state/kept"), ["lock"]);
    }

    #[test]
    fn who_is_suspended_with_the_lock_is_not_waited_for_without_end() {
        let files = Files::new();
        let file = files.session("c", "one\n");
        let lock = files.kept.lock(Duration::ZERO).unwrap();
        let error = files.kept.keep(&file).unwrap_err();
        assert!(crate::error::chain(&error).contains("another Neovim is copying sessions"), "{error:?}");
        assert!(files.kept.remove(&SessionId::new("s"), Left::Session).is_err());
        let kept = std::thread::scope(|scope| {
            let waiting = scope.spawn(|| files.kept.keep(&file));
            drop(lock);
            waiting.join().unwrap()
        });
        kept.unwrap();
        assert_eq!(files.all("state/kept"), COPY);
    }

    #[test]
    fn a_session_is_put_back_whole_as_if_it_were_new() {
        let files = Files::new();
        let file = files.session("c", "one\n");
        let copy = files.kept.keep(&file).unwrap();
        assert_eq!(files.kept.put_back(&copy).unwrap(), file, "it is there");
        fs::remove_dir_all(files.path("c/projects")).unwrap();
        fs::remove_dir_all(files.path("c/file-history")).unwrap();
        assert_eq!(files.kept.put_back(&copy).unwrap(), file);
        let mut back = COPY.iter().filter(|name| !name.ends_with("origin") && **name != "lock").collect::<Vec<_>>();
        back.sort();
        assert_eq!(files.all("c").iter().collect::<Vec<_>>(), back);
        for name in back {
            let modified = fs::metadata(files.path("c").join(name)).unwrap().modified().unwrap();
            assert!(
                modified.elapsed().unwrap_or_default() < Duration::from_secs(600),
                "{name}: the CLI would delete it"
            );
        }
        append_to(&file, "two\n");
        files.kept.catch_up(None);
        assert_eq!(files.text("state/kept/projects/-p/s.jsonl"), "one\ntwo\n");
    }

    #[test]
    fn a_session_is_never_put_back_over_what_is_there() {
        let files = Files::new();
        let copy = files.kept.keep(&files.session("c", "one\n")).unwrap();
        fs::remove_file(files.path("c/projects/-p/s.jsonl")).unwrap();
        fs::write(files.path("c/projects/-p/s/tool-results/a.txt"), "theirs").unwrap();
        fs::create_dir_all(files.path("c/projects/-q")).unwrap();
        fs::write(files.path("c/projects/-q/s.jsonl"), "one\nmoved\n").unwrap();
        assert_eq!(files.kept.put_back(&copy).unwrap(), files.path("c/projects/-q/s.jsonl"));
        assert!(!files.path("c/projects/-p/s.jsonl").exists());
        fs::remove_dir_all(files.path("c/projects/-q")).unwrap();
        files.kept.put_back(&copy).unwrap();
        assert_eq!(files.text("c/projects/-p/s/tool-results/a.txt"), "theirs");
        fs::remove_dir_all(files.path("c")).unwrap();
        assert!(files.kept.put_back(&copy).is_err(), "the account is gone");
        assert!(!files.path("c").exists());
    }

    #[test]
    fn a_copy_follows_its_session_to_another_project() {
        let files = Files::new();
        files.kept.keep(&files.session("c", "one\n")).unwrap();
        fs::rename(files.path("c/projects/-p"), files.path("c/projects/-q")).unwrap();
        append_to(&files.path("c/projects/-q/s.jsonl"), "two\n");
        files.kept.catch_up(None);
        assert_eq!(files.all("state/kept"), COPY.map(|name| name.replace("-p/", "-q/")));
        assert_eq!(files.text("state/kept/projects/-q/s.jsonl"), "one\ntwo\n");
    }

    #[test]
    fn a_copy_is_removed_alone() {
        let files = Files::new();
        let file = files.session("c", "one\n");
        files.kept.keep(&file).unwrap();
        files.kept.keep(&files.path("c/projects/-p/other.jsonl")).unwrap();
        let before = files.all("c");
        files.kept.remove(&SessionId::new("s"), Left::Session).unwrap();
        assert_eq!(files.all("state/kept"), ["lock", "projects/-p/other.jsonl", "projects/-p/other.origin"]);
        assert_eq!(files.all("c"), before);
        assert!(files.kept.remove(&SessionId::new("s"), Left::Session).is_err());
    }

    #[test]
    fn the_last_copy_is_removed_only_if_that_is_meant() {
        let files = Files::new();
        let file = files.session("c", "one\n");
        let copy = files.kept.keep(&file).unwrap();
        fs::remove_file(file).unwrap();
        assert!(files.kept.remove(&SessionId::new("s"), Left::Session).is_err());
        assert_eq!(files.all("state/kept"), COPY);
        files.kept.remove(&SessionId::new("s"), Left::Nothing).unwrap();
        assert_eq!(files.all("state/kept"), ["lock"]);
        assert!(files.kept.put_back(&copy).is_err(), "another Neovim has removed it");
    }

    #[test]
    fn a_copy_that_fails_leaves_nothing() {
        let files = Files::new();
        let file = files.session("c", "one\n");
        let (away, meant) = (files.path("away"), files.path("c/projects/-p/s.jsonl"));
        fs::rename(&meant, &away).unwrap();
        files.kept.keep(&file).unwrap_err();
        assert_eq!(files.all("state/kept"), ["lock"]);
        fs::rename(&away, &meant).unwrap();
        files.kept.keep(&file).unwrap();
        fs::remove_file(&meant).unwrap();
        files.kept.keep(&file).unwrap_err();
        assert_eq!(files.all("state/kept"), COPY, "the one before stays");
    }

    #[test]
    fn the_copies_of_two_accounts_are_not_mixed() {
        let files = Files::new();
        files.kept.keep(&files.session("c", "one\n")).unwrap();
        let error = files.kept.keep(&files.session("work", "two\n")).unwrap_err();
        assert!(crate::error::chain(&error).contains("is kept already"), "{error:?}");
        assert_eq!(files.text("state/kept/projects/-p/s.jsonl"), "one\n");
    }

    #[test]
    fn what_is_no_file_is_not_followed_and_an_interrupted_copy_leaves_nothing() {
        let files = Files::new();
        let file = files.session("c", "one\n");
        fs::write(files.path("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(files.path("secret"), files.path("c/projects/-p/s/link")).unwrap();
        fs::create_dir_all(files.path("state/kept/projects/-p")).unwrap();
        for part in ["projects/-p/.x.jsonl", "projects/-p/s/subagents/.agent-1.jsonl", "file-history/s/.a@v1"] {
            let part = files.path(&format!("state/kept/{part}.part"));
            fs::create_dir_all(part.parent().unwrap()).unwrap();
            fs::write(part, "half").unwrap();
        }
        files.kept.keep(&file).unwrap();
        files.kept.catch_up(None);
        assert_eq!(files.all("state/kept"), COPY);
        fs::write(&file, "x".repeat(3_000_000)).unwrap();
        files.kept.keep(&file).unwrap();
        assert_eq!(files.text("state/kept/projects/-p/s.jsonl").len(), 3_000_000);
    }
}
