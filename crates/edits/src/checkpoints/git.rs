//! Runs git beside the user's repository without touching it.
//!
//! Invariant: no hook, filter, monitor or garbage collection runs, and git takes no lock in the user's repository.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use claude_ide_system::worktree::MISLEADING;

/// A work tree that takes longer is too large.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Longer output is discarded.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Settings that keep a repository's configuration from running programs: file monitors, hooks.
const HARMLESS: [&str; 9] = [
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.splitIndex=false",
    "core.hooksPath=/dev/null",
    "core.safecrlf=false",
    "core.looseCompression=1",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.addEmbeddedRepo=false",
];

/// A git command in a folder, at low priority.
pub(super) struct Git<'a> {
    pub(super) folder: &'a Path,
    /// Options before the command.
    pub(super) options: &'a [OsString],
    pub(super) environment: &'a [(&'a str, &'a OsStr)],
    pub(super) input: Stdio,
    /// Longer output is cut; `None`: it is discarded if it is much too long.
    pub(super) cut_at: Option<u64>,
}

impl Git<'_> {
    /// The output; `None` if git failed, took too long or wrote too much.
    pub(super) fn run(self, arguments: &[impl AsRef<OsStr>]) -> Option<Vec<u8>> {
        let out = self.start(arguments);
        out.inspect_err(|error| tracing::debug!(%error, "git could not be started")).ok().flatten()
    }

    fn start(self, arguments: &[impl AsRef<OsStr>]) -> io::Result<Option<Vec<u8>>> {
        let mut command = Command::new("nice");
        command.args(["-n", "10", "git", "--no-pager"]);
        for setting in HARMLESS {
            command.args(["-c", setting]);
        }
        for variable in MISLEADING {
            command.env_remove(variable);
        }
        command
            .args(self.options)
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
        let out = read_later(&mut child, most)?.recv_timeout(TIMEOUT).ok().flatten();
        let is_cut = out.as_ref().is_some_and(|out| u64::try_from(out.len()).is_ok_and(|length| length > most));
        if out.is_none() || is_cut {
            child.kill()?;
        }
        let status = child.wait()?;
        match (out, self.cut_at) {
            (Some(mut out), Some(_)) if is_cut => {
                out.pop();
                Ok(Some(out))
            }
            (out, _) => Ok(out.filter(|_| !is_cut && status.success())),
        }
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

/// A work tree, and our folder with the copies of its files, which is removed with it.
#[derive(Debug)]
pub(super) struct Repository {
    /// The top of the work tree.
    pub(super) top: PathBuf,
    /// The user's index.
    pub(super) index: PathBuf,
    /// The user's object store.
    objects: PathBuf,
    /// Our folder: `index` and `objects`.
    folder: PathBuf,
    /// Options that disable the filters, which are programs. Files that they change are left out of a comparison.
    filters: Vec<OsString>,
}

impl Drop for Repository {
    /// In another process: it may have thousands of files.
    fn drop(&mut self) {
        let removal = Command::new("nice").args(["-n", "10", "rm", "-rf", "--"]).arg(&self.folder).spawn();
        if let Ok(mut removal) = removal {
            std::thread::spawn(move || removal.wait());
        }
    }
}

/// Which objects git sees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Objects {
    /// Ours: git would renew the time stamp of each object of the user's that it finds.
    Ours,
    /// The user's, too.
    All,
}

impl Repository {
    /// The work tree of a folder, unless it has the user's home: all below it would be its untracked files.
    pub(super) fn find(folder: &Path, home: &Path, ours: PathBuf) -> Option<Self> {
        let run = |arguments: &[&str]| {
            Git { folder, options: &[], environment: &[], input: Stdio::null(), cut_at: None }.run(arguments)
        };
        let paths = ["--path-format=absolute", "--show-toplevel", "--git-path", "index", "--git-path", "objects"];
        let found = run(&[["rev-parse"].as_slice(), &paths].concat())?;
        let mut paths = lines(&found).map(|line| PathBuf::from(OsString::from_vec(line.to_vec())));
        let (top, index, objects) = (paths.next()?, paths.next()?, paths.next()?);
        if home.starts_with(&top) {
            return None;
        }
        let keys = run(&["config", "--name-only", "--get-regexp", r"^filter\..*\.(clean|smudge|process)$"]);
        let filters = lines(&keys.unwrap_or_default()).flat_map(without_filter).collect();
        make_folder(&ours).ok()?;
        Some(Self { top, index, objects, folder: ours, filters })
    }

    /// The same with another folder of ours.
    pub(super) fn renewed(&self, ours: PathBuf) -> Option<Self> {
        make_folder(&ours).ok()?;
        let (top, index, objects) = (self.top.clone(), self.index.clone(), self.objects.clone());
        Some(Self { top, index, objects, folder: ours, filters: self.filters.clone() })
    }

    /// Our index.
    pub(super) fn own_index(&self) -> PathBuf {
        self.folder.join("index")
    }

    /// The path of a file.
    pub(super) fn path(&self, name: &[u8]) -> PathBuf {
        self.top.join(OsStr::from_bytes(name))
    }

    /// The output of a git command; `None` if it failed, took too long or was too long.
    pub(super) fn git(&self, objects: Objects, arguments: &[impl AsRef<OsStr>], input: &[u8]) -> Option<Vec<u8>> {
        let (index, own, alternates) = (self.own_index(), self.folder.join("objects"), quoted(&self.objects));
        let mut environment = vec![("GIT_INDEX_FILE", index.as_os_str()), ("GIT_OBJECT_DIRECTORY", own.as_os_str())];
        if objects == Objects::All {
            environment.push(("GIT_ALTERNATE_OBJECT_DIRECTORIES", &alternates));
        }
        let input = self.input(input).ok()?;
        Git { folder: &self.top, options: &self.filters, environment: &environment, input, cut_at: None }.run(arguments)
    }

    /// A file and not a pipe: git may end before it has read all.
    fn input(&self, input: &[u8]) -> io::Result<Stdio> {
        if input.is_empty() {
            return Ok(Stdio::null());
        }
        let path = self.folder.join("input");
        let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path)?;
        std::fs::remove_file(path)?;
        file.write_all(input)?;
        file.rewind()?;
        Ok(file.into())
    }
}

fn make_folder(ours: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(ours.join("objects"))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Options that disable a filter, by one of its keys in the configuration.
fn without_filter(key: &[u8]) -> [OsString; 4] {
    let name = key.iter().rposition(|byte| *byte == b'.').and_then(|at| key.get(..at)).unwrap_or_default();
    let setting = |bytes: &[&[u8]]| OsString::from_vec(bytes.concat());
    ["-c".into(), setting(&[key, b"="]), "-c".into(), setting(&[name, b".required=false"])]
}

/// A path in a list, quoted as a C string if necessary.
fn quoted(path: &Path) -> OsString {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.iter().any(|byte| matches!(byte, b':' | b'"' | b'\n')) {
        return path.as_os_str().to_owned();
    }
    let mut out = vec![b'"'];
    for byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            b'\n' => out.extend(*b"\\n"),
            byte => out.push(*byte),
        }
    }
    out.push(b'"');
    OsString::from_vec(out)
}
