//! Compiles into the library which sources it is built from, so that it can tell whether those beside it are the same.

use std::env;
use std::io;
use std::path::PathBuf;

#[path = "src/sources.rs"]
mod sources;

fn main() -> io::Result<()> {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let root = manifest.join("../..").canonicalize()?;
    let found = sources::Sources::below(&root)?.ok_or(io::ErrorKind::NotFound)?;
    println!("cargo::rustc-env=CLAUDE_IDE_SOURCES={}", found.hash()?);
    println!("cargo::rustc-env=CLAUDE_IDE_SOURCES_SEEN={}", found.look()?);
    for path in found.watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    Ok(())
}
