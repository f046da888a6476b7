//! Compiles a hash of the sources into the library, so that Lua can tell whether it was built from those beside it.
//! A second one of what the files look like (size, time, inode) saves Lua the reading where they are those very files.
//! `lua/claude-ide/library_hash.lua` computes the same: change both. A test compares them.

use std::env;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// FNV-1a over words of four bytes: quick in Lua, too. It tells sources apart and protects nothing.
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
}

/// What the library is compiled from: Rust, and the page that it serves.
const KINDS: [&str; 4] = ["rs", "html", "css", "js"];

/// Every source below a folder.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, found)?;
        } else if path.extension().is_some_and(|extension| KINDS.iter().any(|kind| extension == *kind)) {
            found.push(path);
        }
    }
    Ok(())
}

/// What the library is made of, and where a change of it shows.
fn sources(root: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let mut found = vec![root.join("Cargo.toml"), root.join("Cargo.lock")];
    let mut watched = found.clone();
    let page = root.join("web");
    collect(&page, &mut found)?;
    watched.push(page);
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
    Ok((found, watched))
}

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let root = manifest.join("../..").canonicalize()?;
    let (found, watched) = sources(&root)?;
    let mut named = Vec::new();
    for path in found {
        let name = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy().into_owned();
        named.push((name, path));
    }
    named.sort();
    let (mut hash, mut seen) = (Hash::new(), Hash::new());
    for (name, path) in named {
        let looks = fs::metadata(&path)?;
        let (seconds, nanoseconds) = (looks.mtime(), looks.mtime_nsec());
        seen.update(format!("{name}\0{seconds}.{nanoseconds} {} {}\n", looks.size(), looks.ino()).as_bytes());
        let text = fs::read(path)?;
        hash.update(&[name.as_bytes(), b"\0", &text, b"\0"].concat());
    }
    println!("cargo::rustc-env=CLAUDE_IDE_SOURCES={:08x}", hash.0);
    println!("cargo::rustc-env=CLAUDE_IDE_SOURCES_SEEN={:08x}", seen.0);
    for path in watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    Ok(())
}
