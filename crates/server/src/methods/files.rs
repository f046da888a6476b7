//! The file protocol's methods. `writeFile` has its own file.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    method::{Method, always, failed, later, path_argument, understood},
    write,
};
use crate::{
    disk::{self, DiskError},
    listing::{self, Cut, Listing, Pattern},
    options::WriteFile,
    request::{Caller, Payload, RequestError, Routed, WaitsFor},
    tools::{Arguments, InvalidArgument, parse_reply},
};

/// The plain methods of the IDE's endpoint.
pub(crate) const METHODS: [Method; 6] = [
    Method { name: "readFile", allowed: always, serve: read_file },
    Method { name: "writeFile", allowed: |options| options.write_file != WriteFile::Off, serve: write::write_file },
    Method { name: "listFiles", allowed: always, serve: list_files },
    Method { name: "getWorkspaceInfo", allowed: always, serve: get_workspace_info },
    Method { name: "getOpenFiles", allowed: always, serve: get_open_files },
    Method { name: "getCurrentFile", allowed: always, serve: get_current_file },
];

#[derive(Deserialize)]
struct InEditor<'a> {
    #[serde(default)]
    loaded: bool,
    #[serde(borrow, default)]
    contents: Option<&'a RawValue>,
}

fn read_file(caller: Caller, mut args: Arguments) -> Result<Routed, RequestError> {
    const DOING: &str = "read file";
    let path = args.path("path")?;
    let work = async move {
        let place = caller.resolve(path, DOING).await?;
        let limit = caller.message_bytes;
        let reply = caller.ask("read_file", path_argument(&place.path())).await?;
        if let InEditor { loaded: true, contents: Some(contents) } = understood(&reply)? {
            return match contents.get().len() {
                bytes if bytes > limit => Err(failed(DOING, &DiskError::too_large(bytes, limit))),
                _ => Ok(Payload::Raw(contents.to_owned())),
            };
        }
        let contents = caller.on_disk(move || disk::read(&place, limit)).await?;
        contents.map(|text| Payload::Json(Value::from(text))).map_err(|error| failed(DOING, &error))
    };
    Ok(later(work, WaitsFor::Disk))
}

/// Stops a walk when its request is dropped.
#[derive(Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn walk(caller: &Caller, pattern: Option<Pattern>, limit: usize) -> Result<Listing, RequestError> {
    let folders = caller.workspace().folders;
    let stop = StopOnDrop::default();
    let flag = Arc::clone(&stop.0);
    let listing = caller.on_disk(move || listing::list(&folders, pattern.as_ref(), limit, &flag)).await;
    drop(stop);
    listing
}

fn list_files(caller: Caller, mut args: Arguments) -> Result<Routed, RequestError> {
    let pattern = args.optional_string("pattern")?.filter(|pattern| !pattern.is_empty());
    if pattern.as_ref().is_some_and(|pattern| pattern.len() > listing::MAX_PATTERN_BYTES) {
        let problem = format!("has more than {} bytes", listing::MAX_PATTERN_BYTES);
        return Err(InvalidArgument::new("pattern", problem).into());
    }
    let work = async move {
        let pattern = match pattern {
            // A client's pattern may take a while to compile.
            Some(pattern) => {
                let understood = caller.on_disk(move || Pattern::new(&pattern)).await?;
                Some(understood.map_err(|error| InvalidArgument::new("pattern", error))?)
            }
            None => None,
        };
        let Listing { files, cut } = walk(&caller, pattern, listing::MAX_LISTED).await?;
        let mut files: Vec<String> = files.into_iter().map(|file| caller.shown(file)).collect();
        // The answer is an array of paths. If it is cut, its last element says so.
        files.extend(cut.map(|cut| match cut {
            Cut::Number => {
                format!("[only the first {} files are listed: pass a narrower pattern]", listing::MAX_LISTED)
            }
            Cut::Time => "[the list is not complete: it took too long, pass a narrower pattern]".to_owned(),
        }));
        Ok(Payload::Json(Value::from(files)))
    };
    Ok(later(work, WaitsFor::Disk))
}

fn get_workspace_info(caller: Caller, _: Arguments) -> Result<Routed, RequestError> {
    let folders = caller.workspace().folders;
    let main =
        folders.first().cloned().ok_or_else(|| RequestError::Failed("no workspace folder is open".to_owned()))?;
    let work = async move {
        let Listing { files, cut } = walk(&caller, None, listing::MAX_COUNTED).await?;
        let path = main.clone();
        let in_git = caller.on_disk(move || path.join(".git").exists()).await?;
        Ok(Payload::Json(json!({
            "name": main.file_name().unwrap_or(main.as_os_str()).to_string_lossy(),
            "path": caller.shown(main.to_string_lossy().into_owned()),
            "fileCount": files.len(),
            "fileCountIsExact": cut.is_none(),
            "type": if in_git { "git-repository" } else { "folder" },
        })))
    };
    Ok(later(work, WaitsFor::Disk))
}

fn get_open_files(caller: Caller, _: Arguments) -> Result<Routed, RequestError> {
    let work = async move {
        let reply = caller.ask("get_open_files", Map::new()).await?;
        let files: Vec<Value> = parse_reply(&reply).map_err(|error| RequestError::Failed(error.to_string()))?;
        Ok(Payload::Json(Value::from(files)))
    };
    Ok(later(work, WaitsFor::Editor))
}

fn get_current_file(caller: Caller, _: Arguments) -> Result<Routed, RequestError> {
    let work = async move { Ok(Payload::Raw(caller.ask("get_current_file", Map::new()).await?)) };
    Ok(later(work, WaitsFor::Editor))
}
