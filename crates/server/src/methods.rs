//! The file protocol (doc/dev/server.md): plain methods on workspace files, for JSON-RPC clients without MCP.
//!
//! A file that is open in the editor is read and written there, others on disk.

use std::path::PathBuf;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

mod offers;
mod write;

pub use offers::Offers;
pub(crate) use offers::{OFFERS, Offered};

use crate::{
    disk::{self, DiskError},
    editor::{ClientId, EditorCall, EditorError},
    endpoint::Endpoint,
    listing::{self, Cut, Listing, Pattern},
    options::{ServerOptions, Workspace, WriteFile},
    path_map::PathMap,
    router::{Outcome, Payload, RequestError, Routed, Services, WaitsFor},
    tools::{Arguments, InvalidArgument, parse_reply},
    workspace::{self, PathError, Place},
};

pub(crate) struct Method {
    /// Its name.
    name: &'static str,
    /// Whether the user's options allow it.
    allowed: fn(&ServerOptions) -> bool,
    /// Validates the arguments and routes the request.
    serve: fn(Caller, Arguments) -> Result<Routed, RequestError>,
}

/// The plain methods of the IDE's endpoint.
pub(crate) const METHODS: [Method; 6] = [
    Method { name: "readFile", allowed: always, serve: read_file },
    Method { name: "writeFile", allowed: |options| options.write_file != WriteFile::Off, serve: write::write_file },
    Method { name: "listFiles", allowed: always, serve: list_files },
    Method { name: "getWorkspaceInfo", allowed: always, serve: get_workspace_info },
    Method { name: "getOpenFiles", allowed: always, serve: get_open_files },
    Method { name: "getCurrentFile", allowed: always, serve: get_current_file },
];

fn always(_: &ServerOptions) -> bool {
    true
}

/// The plain methods of an endpoint.
pub(crate) struct Methods(Vec<&'static Method>);

impl Methods {
    /// Keeps those that the user's options allow.
    pub(crate) fn new(methods: impl Iterator<Item = &'static Method>, options: &ServerOptions) -> Self {
        Self(methods.filter(|method| (method.allowed)(options)).collect())
    }

    /// Whether it has this method.
    pub(crate) fn has(&self, method: &str) -> bool {
        self.0.iter().any(|known| known.name == method)
    }

    /// Routes a request.
    ///
    /// # Errors
    /// There is no such method, or its arguments are wrong.
    pub(crate) fn route(
        &self,
        caller: Caller,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Routed, RequestError> {
        let found = self.0.iter().find(|known| known.name == method);
        let found = found.ok_or_else(|| RequestError::MethodNotFound(method.to_owned()))?;
        (found.serve)(caller, Arguments::parse("params", params)?)
    }
}

/// A client's access to the server.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) services: Arc<Services>,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) client: ClientId,
    /// See [`crate::ClientInfo::mapped`].
    pub(crate) mapped: bool,
    /// The client's first folder.
    pub(crate) root: Option<PathBuf>,
    /// The other end of its connection; `None` over HTTP.
    pub(crate) peer: Option<Arc<claude_ide_http::Caller>>,
    /// The process that it says it is.
    pub(crate) pid: Option<u32>,
}

impl Caller {
    /// Whether it is certainly a process of this user on this machine. A tunnel's end is one too (`ssh -R`), but not the
    /// process that the client says it is.
    async fn is_here(&self) -> bool {
        let Some(peer) = self.peer.as_ref().filter(|_| !self.mapped) else { return false };
        peer.process().await.is_some_and(|process| Some(process.pid) == self.pid)
    }

    /// Arguments of a call that runs a client's code: the user is asked first unless the client is certainly of this
    /// machine.
    pub(crate) async fn with_confirmation(&self, mut args: Map<String, Value>) -> Map<String, Value> {
        if !self.is_here().await {
            args.insert("confirm".to_owned(), Value::Bool(true));
        }
        args
    }

    async fn ask(&self, name: &'static str, args: Map<String, Value>) -> Result<Box<RawValue>, RequestError> {
        Ok(self.call(name, args, None).await?)
    }

    /// Calls the editor. The reply has the client's paths.
    pub(crate) fn call(
        &self,
        name: &'static str,
        args: Map<String, Value>,
        progress: Option<Value>,
    ) -> impl Future<Output = Result<Box<RawValue>, EditorError>> + Send + use<> {
        let reply = self.services.editor.call(EditorCall { client: self.client, name, args, progress });
        let caller = self.clone();
        async move { reply.await.map(|reply| caller.path_map().and_then(|map| map.outgoing(&reply)).unwrap_or(reply)) }
    }

    /// How this client sees folders, if it sees any under another path.
    pub(crate) fn path_map(&self) -> Option<&PathMap> {
        self.mapped.then_some(&self.services.options.path_map)
    }

    /// The client's message with paths of this machine, if it has others.
    pub(crate) fn incoming(&self, message: &RawValue) -> Option<Box<RawValue>> {
        self.path_map()?.incoming(message)
    }

    /// A path as the client sees it.
    fn shown(&self, path: String) -> String {
        self.path_map().and_then(|map| map.there(path.as_ref())).unwrap_or(path)
    }

    fn workspace(&self) -> Workspace {
        self.services.workspace.borrow().clone()
    }

    /// Runs disk work on a blocking thread.
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

    async fn resolve(&self, path: String, doing: &'static str) -> Result<Place, RequestError> {
        let folders = self.workspace().folders;
        let resolved = self.on_disk(move || workspace::resolve(&path, &folders)).await?;
        resolved.map_err(|error| match error {
            PathError::Refused(why) => InvalidArgument::new("path", why).into(),
            PathError::Io(error) => failed(doing, &DiskError::from(error)),
        })
    }
}

/// The file protocol's wording.
fn failed(doing: &'static str, why: &DiskError) -> RequestError {
    RequestError::Failed(format!("failed to {doing}: {why}"))
}

fn path_argument(path: &std::path::Path) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("path".to_owned(), Value::from(path.to_string_lossy()));
    arguments
}

fn later(work: impl Future<Output = Outcome> + Send + 'static, waits_for: WaitsFor) -> Routed {
    Routed::Later(Box::new(move || Box::pin(work)), waits_for)
}

#[derive(Deserialize)]
struct InEditor<'a> {
    #[serde(default)]
    loaded: bool,
    #[serde(borrow, default)]
    contents: Option<&'a RawValue>,
}

fn understood<'a, T: Deserialize<'a>>(reply: &'a RawValue) -> Result<T, RequestError> {
    parse_reply(reply).map_err(|error| RequestError::Failed(error.to_string()))
}

fn read_file(caller: Caller, mut args: Arguments) -> Result<Routed, RequestError> {
    const DOING: &str = "read file";
    let path = args.path("path")?;
    let work = async move {
        let place = caller.resolve(path, DOING).await?;
        let limit = caller.endpoint.limits.message_bytes;
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

#[cfg(test)]
mod tests {
    #[test]
    fn every_call_of_the_editor_has_its_twin_there() {
        for call in [
            "read_file",
            "write_file",
            "open_diff",
            "get_open_files",
            "get_current_file",
            "nvim.prompt",
            "nvim.read_resource",
        ] {
            assert!(crate::tools::testing::has_twin(call), "{call}");
        }
    }
}
