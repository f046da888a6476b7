//! Compares the sources of the library with those beside it: after an update whose build failed they differ, and the
//! Lua code may call functions that the library lacks.

use std::io;
use std::path::Path;

use crate::sources::Sources;

/// Computed by `build.rs`.
pub(crate) struct Built {
    pub(crate) hash: &'static str,
    pub(crate) look: &'static str,
}

pub(crate) const THIS: Built = Built { hash: env!("CLAUDE_IDE_SOURCES"), look: env!("CLAUDE_IDE_SOURCES_SEEN") };

impl Built {
    /// The hash of the sources below a folder; `None` without sources. Files are only read if they are not the very
    /// ones that were built.
    pub(crate) fn beside(&self, root: &Path) -> io::Result<Option<String>> {
        let Some(sources) = Sources::below(root)? else { return Ok(None) };
        if sources.look()? == self.look {
            return Ok(Some(self.hash.to_owned()));
        }
        sources.hash().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn plugin() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for folder in ["crates/one/src/inner", "web"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        for file in ["Cargo.toml", "Cargo.lock", "crates/one/Cargo.toml", "crates/one/src/inner/a.rs", "web/app.js"] {
            fs::write(root.path().join(file), file).unwrap();
        }
        root
    }

    fn leaked(text: String) -> &'static str {
        Box::leak(text.into_boxed_str())
    }

    #[test]
    fn sources_that_lie_as_they_were_built_are_not_read() {
        let root = plugin();
        let look = leaked(Sources::below(root.path()).unwrap().unwrap().look().unwrap());
        let built = Built { hash: "as built", look };
        assert_eq!(built.beside(root.path()).unwrap().as_deref(), Some("as built"));
        fs::write(root.path().join("web/app.js"), "another page").unwrap();
        assert_ne!(built.beside(root.path()).unwrap().as_deref(), Some("as built"));
    }

    #[test]
    fn a_copy_is_the_same_and_each_change_is_seen() {
        let (root, copy) = (plugin(), plugin());
        let hash = |root: &Path| Built { hash: "", look: "" }.beside(root).unwrap().unwrap();
        assert_eq!(hash(root.path()), hash(copy.path()));
        let before = hash(copy.path());
        let new = copy.path().join("crates/one/src/new.rs");
        fs::write(&new, "").unwrap();
        assert_ne!(hash(copy.path()), before, "a new file");
        fs::remove_file(&new).unwrap();
        fs::write(copy.path().join("crates/one/src/notes.txt"), "no source").unwrap();
        assert_eq!(hash(copy.path()), before);
        fs::write(copy.path().join("Cargo.lock"), "other versions").unwrap();
        assert_ne!(hash(copy.path()), before, "a changed one");
        fs::remove_dir_all(copy.path().join("web")).unwrap();
        fs::remove_file(copy.path().join("Cargo.toml")).unwrap();
        assert_ne!(hash(copy.path()), before, "what is missing is a change, too");
    }

    #[test]
    fn a_library_may_lie_alone() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(THIS.beside(root.path()).unwrap(), None);
    }
}
