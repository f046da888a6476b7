//! Runs git beside the user's repository without touching it.
//!
//! Invariant: no hook, filter, monitor or garbage collection runs.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A work tree that takes longer is too large.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Longer output is discarded.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A work tree, and our folder with the copies of its files.
#[derive(Debug, Clone)]
pub struct Repository {
    /// The top of the work tree.
    pub top: PathBuf,
    /// The user's object store.
    pub objects: PathBuf,
    /// Our object store.
    pub folder: PathBuf,
    /// Options before git's command, which disable everything in the repository's configuration that could run.
    pub options: Vec<OsString>,
}

impl Repository {
    /// The path of a file.
    pub(super) fn path(&self, name: &[u8]) -> PathBuf {
        self.top.join(OsStr::from_bytes(name))
    }

    /// The output of a git command; `None` if it failed, took too long or was too long.
    pub(super) fn git(&self, arguments: &[impl AsRef<OsStr>], input: &[u8]) -> Option<Vec<u8>> {
        match self.run(arguments, input) {
            Ok(out) => out,
            Err(error) => {
                tracing::debug!(%error, "git could not be started");
                None
            }
        }
    }

    fn run(&self, arguments: &[impl AsRef<OsStr>], input: &[u8]) -> io::Result<Option<Vec<u8>>> {
        let mut child = Command::new("nice")
            .args(["-n", "10", "git", "--no-pager"])
            .args(&self.options)
            .args(arguments)
            .current_dir(&self.top)
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("LC_ALL", "C")
            .env("GIT_INDEX_FILE", self.folder.join("index"))
            .env("GIT_OBJECT_DIRECTORY", self.folder.join("objects"))
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(&self.objects))
            .stdin(self.input(input)?)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let out = read_later(&mut child)?.recv_timeout(TIMEOUT).ok().flatten();
        if out.is_none() {
            child.kill()?;
        }
        let status = child.wait()?;
        Ok(out.filter(|_| status.success()))
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

/// `None` if the output was too long or could not be read.
fn read_later(child: &mut Child) -> io::Result<Receiver<Option<Vec<u8>>>> {
    let (sender, receiver) = channel();
    let pipe = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    std::thread::Builder::new().name("git".to_owned()).spawn(move || {
        let mut out = Vec::new();
        let read = pipe.take(MAX_BYTES + 1).read_to_end(&mut out);
        let is_whole = read.is_ok_and(|bytes| u64::try_from(bytes).is_ok_and(|bytes| bytes <= MAX_BYTES));
        sender.send(is_whole.then_some(out)).unwrap_or_default();
    })?;
    Ok(receiver)
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
    OsStr::from_bytes(&out).to_owned()
}
