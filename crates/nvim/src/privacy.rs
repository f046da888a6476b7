//! Which files are withheld from Claude, for Lua: one function, whose first argument names the operation.
//!
//! Globs are numbered from 1, as in the option.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use claude_ide_privacy::Deny;
use once_cell::sync::Lazy;

use crate::boundary::{Arguments, parts, path};
use crate::error::Error;
use crate::value::Value;

static DENY: Lazy<Mutex<Deny>> = Lazy::new(Mutex::default);

/// What is withheld now.
pub(crate) fn deny() -> Deny {
    DENY.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// `privacy("set", globs, folders)` → the globs that cannot be read; `privacy("denies", path)` → the glob;
/// `privacy("files")` → the withheld files in the workspace.
pub(crate) fn call(mut given: Arguments) -> Result<Value, Error> {
    let operation = given.text("operation")?;
    match operation.as_str() {
        "set" => {
            let globs = given.text("globs")?;
            let globs = globs.split_terminator('\0').map(str::to_owned).collect();
            set(globs, parts(&given.bytes("folders")?).map(path).collect())
        }
        "denies" => Ok(deny().denies(&path(&given.bytes("path")?)).map_or(Value::Nil, number)),
        "files" => {
            let file = |file: &claude_ide_privacy::Withheld| {
                let path = Value::Bytes(file.path.as_os_str().as_bytes().into());
                Value::Table(vec![("path", path), ("glob", number(file.glob))])
            };
            Ok(Value::List(deny().files().iter().map(file).collect()))
        }
        _ => Err(Error::UnknownOperation { name: operation }),
    }
}

fn set(globs: Vec<String>, folders: Vec<PathBuf>) -> Result<Value, Error> {
    let (deny, bad) = Deny::new(&globs, folders);
    *DENY.lock().unwrap_or_else(PoisonError::into_inner) = deny;
    let bad = bad
        .into_iter()
        .map(|bad| Value::Table(vec![("glob", number(bad.glob)), ("why", Value::Bytes(bad.why.into_bytes().into()))]));
    Ok(Value::List(bad.collect()))
}

fn number(index: usize) -> Value {
    Value::Id(u64::try_from(index).unwrap_or_default().saturating_add(1))
}
