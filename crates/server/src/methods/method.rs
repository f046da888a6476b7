//! What a plain method is, and what its handlers share.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use crate::{
    disk::DiskError,
    options::{ServerOptions, Workspace},
    request::{Caller, Outcome, RequestError, Routed, WaitsFor},
    tools::{Arguments, InvalidArgument, parse_reply},
    workspace::{self, PathError, Place},
};

pub(crate) struct Method {
    /// Its name.
    pub(super) name: &'static str,
    /// Whether the user's options allow it.
    pub(super) allowed: fn(&ServerOptions) -> bool,
    /// Validates the arguments and routes the request.
    pub(super) serve: fn(Caller, Arguments) -> Result<Routed, RequestError>,
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

pub(super) fn always(_: &ServerOptions) -> bool {
    true
}

impl Caller {
    pub(super) async fn ask(
        &self,
        name: &'static str,
        args: Map<String, Value>,
    ) -> Result<Box<RawValue>, RequestError> {
        Ok(self.call(name, args, None).await?)
    }

    /// A path as the client sees it.
    pub(super) fn shown(&self, path: String) -> String {
        self.path_map().and_then(|map| map.there(path.as_ref())).unwrap_or(path)
    }

    pub(super) fn workspace(&self) -> Workspace {
        self.services.workspace.borrow().clone()
    }

    /// Runs disk work on a blocking thread.
    pub(crate) async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RequestError> {
        let stopped = |_| RequestError::Failed("the server is stopping".to_owned());
        let permit = Arc::clone(&self.services.disk).acquire_owned().await.map_err(|_| stopped(()))?;
        let work = move || {
            let done = work();
            drop(permit);
            done
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| stopped(()))
    }

    pub(super) async fn resolve(&self, path: String, doing: &'static str) -> Result<Place, RequestError> {
        let folders = self.workspace().folders;
        let resolved = self.on_disk(move || workspace::resolve(&path, &folders)).await?;
        resolved.map_err(|error| match error {
            PathError::Refused(why) => InvalidArgument::new("path", why).into(),
            PathError::Io(error) => failed(doing, &DiskError::from(error)),
        })
    }
}

/// The file protocol's wording.
pub(super) fn failed(doing: &'static str, why: &DiskError) -> RequestError {
    RequestError::Failed(format!("failed to {doing}: {why}"))
}

pub(super) fn path_argument(path: &std::path::Path) -> Map<String, Value> {
    let mut arguments = Map::new();
    arguments.insert("path".to_owned(), Value::from(path.to_string_lossy()));
    arguments
}

pub(super) fn later(work: impl Future<Output = Outcome> + Send + 'static, waits_for: WaitsFor) -> Routed {
    Routed::Later(Box::new(move || Box::pin(work)), waits_for)
}

pub(super) fn understood<'a, T: Deserialize<'a>>(reply: &'a RawValue) -> Result<T, RequestError> {
    parse_reply(reply).map_err(|error| RequestError::Failed(error.to_string()))
}
