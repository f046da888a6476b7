//! The sources of the library: a hash of their text, and one of their metadata. `build.rs` compiles both into the
//! library (with this file as its own module), and the library compares them with the sources beside it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// File types that go into the library: Rust, and the web page.
const KINDS: [&str; 4] = ["rs", "html", "css", "js"];

/// FNV-1a over words of four bytes. It distinguishes versions; it protects nothing.
struct Hash(u32);

impl Hash {
    fn new() -> Self {
        Self(0x811c_9dc5)
    }

    fn update(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(4);
        for word in words.by_ref() {
            self.mix(word.try_into().map_or(0, u32::from_le_bytes));
        }
        for byte in words.remainder() {
            self.mix(u32::from(*byte));
        }
    }

    fn mix(&mut self, word: u32) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0193);
    }

    fn text(&self) -> String {
        format!("{:08x}", self.0)
    }
}

/// The sources below a folder, sorted by name.
pub(crate) struct Sources {
    files: Vec<(String, PathBuf)>,
    /// Paths for cargo to watch.
    #[allow(dead_code, reason = "build.rs alone asks for it")]
    pub(crate) watched: Vec<PathBuf>,
}

impl Sources {
    /// `None` without sources: a library may be installed without them.
    pub(crate) fn below(root: &Path) -> io::Result<Option<Self>> {
        if !root.join("Cargo.lock").is_file() || !root.join("crates").is_dir() {
            return Ok(None);
        }
        let mut found = ["Cargo.toml", "Cargo.lock"].map(|name| root.join(name)).to_vec();
        found.retain(|path| path.is_file());
        let mut watched = found.clone();
        let page = root.join("web");
        if page.is_dir() {
            collect(&page, &mut found)?;
            watched.push(page);
        }
        for entry in fs::read_dir(root.join("crates"))? {
            let member = entry?.path();
            for name in ["Cargo.toml", "build.rs"] {
                let path = member.join(name);
                if path.is_file() {
                    watched.push(path.clone());
                    found.push(path);
                }
            }
            let folder = member.join("src");
            if folder.is_dir() {
                collect(&folder, &mut found)?;
                watched.push(folder);
            }
        }
        let name = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        let mut files: Vec<_> = found.into_iter().map(|path| (name(&path), path)).collect();
        files.sort_unstable();
        Ok(Some(Self { files, watched }))
    }

    /// A hash of all names and texts.
    pub(crate) fn hash(&self) -> io::Result<String> {
        let mut hash = Hash::new();
        for (name, path) in &self.files {
            hash.update(&[name.as_bytes(), b"\0", &fs::read(path)?, b"\0"].concat());
        }
        Ok(hash.text())
    }

    /// A hash of the files' metadata (size, time, inode). If it is the same, they are the very same files and need not
    /// be read.
    pub(crate) fn look(&self) -> io::Result<String> {
        let mut hash = Hash::new();
        for (name, path) in &self.files {
            let looks = fs::metadata(path)?;
            let (seconds, nanoseconds) = (looks.mtime(), looks.mtime_nsec());
            hash.update(format!("{name}\0{seconds}.{nanoseconds} {} {}\n", looks.size(), looks.ino()).as_bytes());
        }
        Ok(hash.text())
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| KINDS.iter().any(|kind| extension == *kind)) {
            found.push(path);
        }
    }
    Ok(())
}
