//! Compiles a hash of the sources into the library, so that it can detect other sources beside it, and sets its linker
//! options: here, since `.cargo/config.toml` does not apply where RUSTFLAGS is set.

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
    // A library that is released must not depend on the folder that it was built in.
    println!("cargo::rerun-if-env-changed=CLAUDE_IDE_RELEASE");
    let look = if env::var_os("CLAUDE_IDE_RELEASE").is_some() { String::new() } else { found.look()? };
    println!("cargo::rustc-env=CLAUDE_IDE_SOURCES_SEEN={look}");
    for path in found.watched {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let is = |name, value| env::var(name).is_ok_and(|found| found == value);
    let on_macos = is("CARGO_CFG_TARGET_OS", "macos");
    if on_macos {
        // Neovim provides the symbols of Lua and libuv when it loads the library.
        println!("cargo::rustc-link-arg-cdylib=-Wl,-undefined,dynamic_lookup");
    }
    if is("PROFILE", "release") {
        let strip = if on_macos { "-x" } else { "--strip-all" };
        println!("cargo::rustc-link-arg-cdylib=-Wl,{strip}");
    }
    Ok(())
}
