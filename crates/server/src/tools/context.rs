//! The server's own state, as a tool sees it.

use std::path::Path;

use crate::{last_selection::Selections, options::Workspace};

/// The server's own state.
pub(crate) struct Context<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) selections: &'a Selections,
    /// See [`crate::ClientInfo::mapped`].
    pub(crate) mapped: bool,
    /// The client's first folder.
    pub(crate) root: Option<&'a Path>,
}

impl Context<'_> {
    /// Makes a client's path or `file://` URI absolute; a relative path is below the client's workspace
    /// folder.
    pub(crate) fn absolute(&self, path: String) -> String {
        if let Some(named) = crate::roots::path(&path) {
            return named.to_string_lossy().into_owned();
        }
        if Path::new(&path).is_absolute() {
            return path;
        }
        match self.workspace.folder_of(self.root) {
            Some(folder) => folder.join(path).to_string_lossy().into_owned(),
            None => path,
        }
    }

    /// Like [`Self::absolute`], and the line of `path:line` or `path:line:column` if no file has that name.
    pub(crate) fn place(&self, path: String) -> (String, Option<u32>) {
        let whole = self.absolute(path);
        match split_line(&whole) {
            Some((file, line)) if !Path::new(&whole).exists() && Path::new(file).exists() => {
                (file.to_owned(), Some(line))
            }
            Some(_) | None => (whole, None),
        }
    }
}

fn split_line(text: &str) -> Option<(&str, u32)> {
    let numbered = |text: &'_ str| -> Option<(usize, u32)> {
        let (before, number) = text.rsplit_once(':')?;
        Some((before.len(), number.parse().ok().filter(|&line| line > 0)?))
    };
    let (end, last) = numbered(text)?;
    let before = text.get(..end)?;
    match numbered(before) {
        Some((end, line)) => Some((before.get(..end)?, line)),
        None => Some((before, last)),
    }
}
