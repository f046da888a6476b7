//! The plain methods of seed 000: files of the workspace, for clients that speak JSON-RPC without MCP.
//!
//! A file that is open in the editor is read and written there; the disk has the rest.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use crate::{
    disk::{self, DiskError},
    editor::{ClientId, EditorCall},
    listing::{self, Cut, Listing, Pattern},
    options::Workspace,
    router::{Later, Outcome, Payload, RequestError, Routed, Services, WaitsFor},
    tools::{Arguments, InvalidArgument, LenientList, parse_reply},
    workspace::{self, PathError},
};

/// How the method is served. No method has a name that is neither here nor in the router.
pub(crate) fn route(
    services: &Arc<Services>,
    client: ClientId,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Routed, RequestError> {
    let serve = match method {
        "readFile" => read_file,
        "writeFile" => write_file,
        "listFiles" => list_files,
        "getWorkspaceInfo" => get_workspace_info,
        "getOpenFiles" => get_open_files,
        "getCurrentFile" => get_current_file,
        _ => return Err(RequestError::MethodNotFound(method.to_owned())),
    };
    let caller = Caller { services: Arc::clone(services), client };
    serve(caller, Arguments::parse("params", params)?)
}

struct Caller {
    services: Arc<Services>,
    client: ClientId,
}

impl Caller {
    async fn ask(&self, name: &'static str, args: Map<String, Value>) -> Result<Box<RawValue>, RequestError> {
        Ok(self.services.editor.call(EditorCall { client: self.client, name, args }).await?)
    }

    fn workspace(&self) -> Workspace {
        self.services.workspace.borrow().clone()
    }

    /// Runs disk work where it may block.
    async fn on_disk<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, RequestError> {
        let stopped = |_| RequestError::Failed("the server is stopping".to_owned());
        let permit = Arc::clone(&self.services.disk).acquire_owned().await.map_err(|_| stopped(()))?;
        let work = move || {
            let done = work();
            drop(permit);
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| stopped(()))
    }

    async fn resolve(&self, path: String, doing: &'static str) -> Result<PathBuf, RequestError> {
        let folders = self.workspace().folders;
        let resolved = self.on_disk(move || workspace::resolve(&path, &folders)).await?;
        resolved.map_err(|error| match error {
            PathError::Refused(why) => InvalidArgument::new("path", why).into(),
            PathError::Io(error) => failed(doing, &DiskError::from(error)),
        })
    }
}

/// Seed 000 words it so.
fn failed(doing: &'static str, why: &DiskError) -> RequestError {
    RequestError::Failed(format!("failed to {doing}: {why}"))
}

fn path_argument(path: &std::path::Path) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("path".to_owned(), Value::from(path.to_string_lossy()));
    arguments
}

fn later(work: impl Future<Output = Outcome> + Send + 'static, waits_for: WaitsFor) -> Routed {
    let work: Later = Box::pin(work);
    Routed::Later(work, waits_for)
}

#[derive(Deserialize)]
struct InEditor<'a> {
    #[serde(default)]
    loaded: bool,
    #[serde(default)]
    written: bool,
    #[serde(borrow, default)]
    contents: Option<&'a RawValue>,
}

fn in_editor(reply: &RawValue) -> Result<InEditor<'_>, RequestError> {
    parse_reply(reply).map_err(|error| RequestError::Failed(error.to_string()))
}

fn read_file(caller: Caller, mut args: Arguments) -> Result<Routed, RequestError> {
    const DOING: &str = "read file";
    let path = args.path("path")?;
    let work = async move {
        let path = caller.resolve(path, DOING).await?;
        let reply = caller.ask("read_file", path_argument(&path)).await?;
        if let InEditor { loaded: true, contents: Some(contents), .. } = in_editor(&reply)? {
            return Ok(Payload::Raw(contents.to_owned()));
        }
        let limit = caller.services.options.max_message_bytes;
        let contents = caller.on_disk(move || disk::read(&path, limit)).await?;
        contents.map(|text| Payload::Json(Value::from(text))).map_err(|error| failed(DOING, &error))
    };
    Ok(later(work, WaitsFor::Disk))
}

fn write_file(caller: Caller, mut args: Arguments) -> Result<Routed, RequestError> {
    const DOING: &str = "write file";
    let path = args.path("path")?;
    let content = args.string("content")?;
    let work = async move {
        let path = caller.resolve(path, DOING).await?;
        let mut question = path_argument(&path);
        question.insert("content".to_owned(), Value::from(content.clone()));
        let reply = caller.ask("write_file", question).await?;
        if !in_editor(&reply)?.written {
            let written = caller.on_disk(move || disk::write(&path, &content)).await?;
            written.map_err(|error| failed(DOING, &error))?;
        }
        Ok(Payload::Json(json!({ "success": true })))
    };
    Ok(later(work, WaitsFor::Disk))
}

/// Tells a walk that nobody waits for it any more.
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
    let pattern = args
        .optional_string("pattern")?
        .filter(|pattern| !pattern.is_empty())
        .map(|pattern| Pattern::new(&pattern).map_err(|error| InvalidArgument::new("pattern", error)))
        .transpose()?;
    let work = async move {
        let Listing { mut files, cut } = walk(&caller, pattern, listing::MAX_LISTED).await?;
        // The answer is an array of paths. Where it is cut, its last element says so, for whoever reads it.
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
            "path": main.to_string_lossy(),
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
        let files: LenientList<Value> = parse_reply(&reply).map_err(|error| RequestError::Failed(error.to_string()))?;
        Ok(Payload::Json(Value::from(files.0)))
    };
    Ok(later(work, WaitsFor::Editor))
}

fn get_current_file(caller: Caller, _: Arguments) -> Result<Routed, RequestError> {
    let work = async move { Ok(Payload::Raw(caller.ask("get_current_file", Map::new()).await?)) };
    Ok(later(work, WaitsFor::Editor))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn every_call_of_the_editor_has_its_twin_there() {
        for call in ["read_file", "write_file", "get_open_files", "get_current_file"] {
            let twin = format!("../../lua/claude-ide/tools/{call}.lua");
            assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(twin).is_file(), "{call}");
        }
    }
}
