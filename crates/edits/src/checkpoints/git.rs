//! Runs git beside the user's repository without touching it. Git is asked which paths there are, never what a file
//! holds: it would answer with what attributes, filters and the index' bits make of it. The only contents from git are
//! blobs, as they are stored.
//!
//! Invariant: no hook, filter, monitor or garbage collection runs, and git takes no lock in the user's repository.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use claude_ide_system::file::create_private_folder;
use claude_ide_system::worktree::MISLEADING;

use super::index::{self, Index, Tracked};
use super::seen::{Name, Seen, path};
use super::store::{Id, Store};

/// A work tree that takes longer is too large.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Longer output is discarded.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// This much is asked for at once.
const PORTION: u64 = 16 * 1024 * 1024;

/// Settings that keep a repository's configuration from running programs: file monitors, hooks.
const HARMLESS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.hooksPath=/dev/null",
    "core.safecrlf=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Git did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoAnswer {
    /// It took too long.
    Late,
    /// It refused, could not be started, or wrote too much.
    Refused,
}

/// A git command in a folder, at low priority.
pub(super) struct Git<'a> {
    pub(super) folder: &'a Path,
    /// Settings, which may have any name.
    pub(super) settings: &'a [(Vec<u8>, &'a str)],
    pub(super) environment: &'a [(&'a str, &'a OsStr)],
    pub(super) input: Stdio,
    /// Longer output is cut; `None`: it is discarded if it is much too long.
    pub(super) cut_at: Option<u64>,
}

impl<'a> Git<'a> {
    pub(super) fn new(folder: &'a Path) -> Self {
        Self { folder, settings: &[], environment: &[], input: Stdio::null(), cut_at: None }
    }
}

impl Git<'_> {
    /// The output.
    pub(super) fn run(self, arguments: &[impl AsRef<OsStr>]) -> Result<Vec<u8>, NoAnswer> {
        self.start(arguments).unwrap_or_else(|error| {
            tracing::debug!(%error, "git could not be started");
            Err(NoAnswer::Refused)
        })
    }

    fn start(self, arguments: &[impl AsRef<OsStr>]) -> io::Result<Result<Vec<u8>, NoAnswer>> {
        let mut command = Command::new("nice");
        command.args(["-n", "10", "git", "--no-pager"]);
        for setting in HARMLESS {
            command.args(["-c", setting]);
        }
        for variable in MISLEADING {
            command.env_remove(variable);
        }
        // `-c` takes a name up to its first "=", and a filter's name may have one.
        let count = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse::<usize>().ok());
        let mut count = count.unwrap_or_default();
        for (key, value) in self.settings {
            command.env(format!("GIT_CONFIG_KEY_{count}"), OsStr::from_bytes(key));
            command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
            command.env("GIT_CONFIG_COUNT", count.to_string());
        }
        command
            .args(arguments)
            .current_dir(self.folder)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("LC_ALL", "C")
            .envs(self.environment.iter().copied())
            .stdin(self.input)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn()?;
        let most = self.cut_at.unwrap_or(MAX_BYTES);
        let read = read_later(&mut child, most)?.recv_timeout(TIMEOUT);
        let is_late = read.is_err();
        let out = read.ok().flatten();
        let is_cut = out.as_ref().is_some_and(|out| u64::try_from(out.len()).is_ok_and(|length| length > most));
        if out.is_none() || is_cut {
            child.kill()?;
        }
        let status = child.wait()?;
        Ok(match (out, self.cut_at) {
            (Some(mut out), Some(_)) if is_cut => {
                out.pop();
                Ok(out)
            }
            (Some(out), _) if !is_cut && status.success() => Ok(out),
            _ => Err(if is_late { NoAnswer::Late } else { NoAnswer::Refused }),
        })
    }
}

/// Reads one byte more than `most`, so that it is known whether there are more. `None` if the output cannot be read.
fn read_later(child: &mut Child, most: u64) -> io::Result<Receiver<Option<Vec<u8>>>> {
    let (sender, receiver) = channel();
    let pipe = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    std::thread::Builder::new().name("git".to_owned()).spawn(move || {
        let mut out = Vec::new();
        let read = pipe.take(most.saturating_add(1)).read_to_end(&mut out);
        sender.send(read.is_ok().then_some(out)).unwrap_or_default();
    })?;
    Ok(receiver)
}

/// A work tree, what was seen of it, and our folder with the copies of its files, which is removed with it.
#[derive(Debug)]
pub(super) struct Repository {
    /// The top of the work tree.
    pub(super) top: PathBuf,
    /// The user's index.
    pub(super) index: PathBuf,
    /// The user's attributes beside the work tree's, which may not exist.
    attributes: Vec<PathBuf>,
    /// Whether a setting has git convert line ends.
    converts: bool,
    /// Whether a filter is configured that may leave a file's size as it is.
    pub(super) has_filters: bool,
    hash_length: usize,
    /// Our folder.
    folder: PathBuf,
    pub(super) store: Store,
    seen: Mutex<Seen>,
}

impl Drop for Repository {
    /// In another process: the copies may be large.
    fn drop(&mut self) {
        let removal = Command::new("nice").args(["-n", "10", "rm", "-rf", "--"]).arg(&self.folder).spawn();
        if let Ok(mut removal) = removal {
            std::thread::spawn(move || removal.wait());
        }
    }
}

impl Repository {
    /// The work tree of a folder, unless it has the user's home: all below it would be its untracked files. `None`: no
    /// such work tree.
    pub(super) fn find(folder: &Path, home: &Path, ours: PathBuf) -> Result<Option<Self>, NoAnswer> {
        let run = |arguments: &[&str]| match Git::new(folder).run(arguments) {
            Err(NoAnswer::Refused) => Ok(None),
            other => other.map(Some),
        };
        let paths = ["--path-format=absolute", "--show-object-format", "--show-toplevel"];
        let files = ["--git-path", "index", "--git-path", "info/attributes"];
        let Some(found) = run(&[["rev-parse"].as_slice(), &paths, &files].concat())? else { return Ok(None) };
        let mut lines = found.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let format = lines.next().unwrap_or_default();
        let mut paths = lines.map(|line| PathBuf::from(OsString::from_vec(line.to_vec())));
        let (Some(top), Some(index), Some(info)) = (paths.next(), paths.next(), paths.next()) else { return Ok(None) };
        if home.starts_with(&top) {
            return Ok(None);
        }
        let keys = run(&[
            "config",
            "--null",
            "--get-regexp",
            r"^(core\.(autocrlf|attributesfile)|filter\..*\.(clean|process))$",
        ])?
        .unwrap_or_default();
        let settings = keys.split(|byte| *byte == 0);
        let attributes = home_attributes(home).into_iter().chain([info, "/etc/gitattributes".into()]).collect();
        let settings = settings.filter(|setting| !setting.is_empty());
        let (filters, settings): (Vec<&[u8]>, Vec<&[u8]>) =
            settings.partition(|setting| setting.starts_with(b"filter."));
        let converts = settings.iter().any(|setting| *setting != b"core.autocrlf\nfalse");
        let has_filters = filters.iter().any(|filter| !filter.starts_with(b"filter.lfs."));
        let store = create_private_folder(&ours).and_then(|()| Store::new(&ours.join("copies")));
        let hash_length = if format == b"sha256" { 32 } else { 20 };
        let with = |store| Self {
            top,
            index,
            attributes,
            converts,
            has_filters,
            hash_length,
            folder: ours,
            store,
            seen: Mutex::default(),
        };
        Ok(store.ok().map(with))
    }

    /// The same with another folder of ours, and nothing seen.
    pub(super) fn renewed(&self, ours: PathBuf) -> Option<Self> {
        let store = create_private_folder(&ours).and_then(|()| Store::new(&ours.join("copies"))).ok()?;
        Some(Self {
            top: self.top.clone(),
            index: self.index.clone(),
            attributes: self.attributes.clone(),
            converts: self.converts,
            has_filters: self.has_filters,
            hash_length: self.hash_length,
            folder: ours,
            store,
            seen: Mutex::default(),
        })
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The path of a file.
    pub(super) fn path(&self, name: &[u8]) -> PathBuf {
        path(&self.top, name)
    }

    fn git(&self, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, NoAnswer> {
        self.git_with(&[], arguments, input)
    }

    fn git_with(&self, environment: &[(&str, &OsStr)], arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, NoAnswer> {
        // A replaced object is not what the file was.
        let environment = [environment, &[("GIT_NO_REPLACE_OBJECTS", OsStr::new("1"))]].concat();
        let input = self.input(input).map_err(|_| NoAnswer::Refused)?;
        Git { environment: &environment, input, ..Git::new(&self.top) }.run(arguments)
    }

    /// A file and not a pipe: git may end before it has read all.
    fn input(&self, input: &[u8]) -> io::Result<Stdio> {
        if input.is_empty() {
            return Ok(Stdio::null());
        }
        // Two threads may ask at once.
        let path = self.folder.join(format!("input-{:?}", std::thread::current().id()));
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        std::fs::remove_file(path)?;
        file.write_all(input)?;
        file.rewind()?;
        Ok(file.into())
    }

    /// The names of the files that are neither ignored nor in the user's index, in their order. If some files are not to
    /// be checked out, git gets no index, and tells all files: it would hide those that are there nevertheless.
    pub(super) fn names(&self, is_sparse: bool) -> Result<Vec<Name>, NoAnswer> {
        let nothing = self.folder.join("no-index");
        let environment = [("GIT_INDEX_FILE", nothing.as_os_str())];
        let environment = environment.get(..usize::from(is_sparse)).unwrap_or_default();
        let listed = self.git_with(environment, &["ls-files", "-z", "--others", "--exclude-standard"], b"")?;
        // A folder is another repository.
        let is_file = |name: &&[u8]| name.last().is_some_and(|last| *last != b'/');
        let mut names: Vec<Name> = listed.split(|byte| *byte == 0).filter(is_file).map(<[u8]>::to_vec).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The files in the user's index, in the order of their names, and whether some are not to be checked out.
    pub(super) fn tracked(&self) -> (Vec<Tracked>, bool) {
        let read = |path: &Path| index::parse(&std::fs::read(path).ok()?, self.hash_length);
        let found = match read(&self.index) {
            Some(Index::Split) => self.joined_index().as_deref().and_then(read),
            found => found,
        };
        match found {
            Some(Index::Whole { files, is_sparse }) => (files, is_sparse),
            // Git tells all files.
            Some(Index::Split) | None => (Vec::new(), true),
        }
    }

    /// A copy of ours of a split index, in one part.
    fn joined_index(&self) -> Option<PathBuf> {
        let path = self.folder.join("index");
        std::fs::copy(&self.index, &path).ok()?;
        let environment = [("GIT_INDEX_FILE", path.as_os_str())];
        self.git_with(&environment, &["update-index", "--force-write-index"], b"").ok()?;
        Some(path)
    }

    /// Whether git may hold other bytes than the files do: it converts line ends, encodings and more.
    pub(super) fn may_convert<'n>(&self, mut names: impl Iterator<Item = &'n [u8]>) -> bool {
        self.converts
            || self.attributes.iter().any(|file| file.exists())
            || names.any(|name| name.rsplit(|byte| *byte == b'/').next() == Some(b".gitattributes"))
    }

    /// Those of some files that have a filter or an encoding: a blob of the same size may have other bytes.
    pub(super) fn filtered(&self, names: &[&[u8]]) -> Result<HashSet<Name>, NoAnswer> {
        let input: Vec<u8> = names.iter().flat_map(|name| [name, b"\0".as_slice()]).flatten().copied().collect();
        let out = self.git(&["check-attr", "-z", "--stdin", "filter", "working-tree-encoding"], &input)?;
        let (mut found, mut fields) = (HashSet::new(), out.split(|byte| *byte == 0));
        while let (Some(name), Some(_attribute), Some(value)) = (fields.next(), fields.next(), fields.next()) {
            if value != b"unspecified" && value != b"unset" {
                found.insert(name.to_vec());
            }
        }
        Ok(found)
    }

    /// The sizes of blobs; those that are missing are left out.
    pub(super) fn sizes(&self, blobs: &[&Id]) -> Result<HashMap<Id, u64>, NoAnswer> {
        let input: Vec<u8> = blobs.iter().flat_map(|blob| format!("{blob}\n").into_bytes()).collect();
        let out = self.git(&["cat-file", "--batch-check", "--buffer"], &input)?;
        let size = |line: &[u8]| {
            let mut words = str::from_utf8(line).ok()?.split(' ');
            let (blob, kind, size) = (words.next()?, words.next()?, words.next()?);
            (kind == "blob").then_some(())?;
            Some((Id::parse(blob)?, size.parse().ok()?))
        };
        Ok(out.split(|byte| *byte == b'\n').filter_map(size).collect())
    }

    /// Blobs as they are stored, with the size that is expected of each; those that are missing are left out.
    pub(super) fn blobs(&self, wanted: &[(Id, u64)]) -> HashMap<Id, Vec<u8>> {
        let (mut found, mut input, mut size) = (HashMap::new(), Vec::new(), 0);
        for (number, (blob, expected)) in wanted.iter().enumerate() {
            input.extend_from_slice(format!("{blob}\n").as_bytes());
            size += expected;
            if size > PORTION || number + 1 == wanted.len() {
                let out = self.git(&["cat-file", "--batch", "--buffer"], &input).unwrap_or_default();
                read_blobs(&out, &mut found);
                (input, size) = (Vec::new(), 0);
            }
        }
        found
    }
}

/// Reads `<blob> blob <size>`, a line feed, the bytes and another line feed; or `<blob> missing`.
fn read_blobs(mut out: &[u8], found: &mut HashMap<Id, Vec<u8>>) {
    while let Some(end) = memchr::memchr(b'\n', out) {
        let (line, rest) = out.split_at(end);
        let mut words = str::from_utf8(line).unwrap_or_default().split(' ');
        let blob = words.next().and_then(Id::parse);
        let size = words.nth(1).and_then(|size| size.parse::<usize>().ok());
        out = rest.get(1..).unwrap_or_default();
        if let (Some(blob), Some(size)) = (blob, size) {
            let Some(bytes) = out.get(..size) else { return };
            found.insert(blob, bytes.to_vec());
            out = out.get(size + 1..).unwrap_or_default();
        }
    }
}

fn home_attributes(home: &Path) -> Vec<PathBuf> {
    let xdg = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    vec![xdg.unwrap_or_else(|| home.join(".config")).join("git/attributes")]
}
