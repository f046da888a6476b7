//! The facade's two ends: [`Server`] runs on the runtime, [`ServerHandle`] is what the editor holds.

use std::{net::TcpListener, path::PathBuf, sync::Arc, time::Duration};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    editor::{ClientId, ClientInfo, Editor},
    error::{NotifyError, ServerError},
    options::{Identity, ServerOptions, Workspace},
};

/// A server that listens and is announced, but does not answer yet.
pub struct Server {
    listener: TcpListener,
}

/// Speaks to a running server; never blocks.
#[derive(Clone)]
pub struct ServerHandle {
    info: Arc<ServerInfo>,
}

/// Where the server is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerInfo {
    /// The address it listens on.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The discovery files that were written.
    pub lock_files: Vec<PathBuf>,
}

/// How the server is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerStatus {
    /// Its port.
    pub port: u16,
    /// Who is connected, in order of connection.
    pub clients: Vec<ClientInfo>,
    /// Requests that are not answered yet.
    pub in_flight: usize,
    /// Bytes that wait to be sent.
    pub queued_bytes: usize,
}

impl Server {
    /// Binds the port and writes the discovery file.
    ///
    /// # Errors
    /// [`ServerError::Bind`], [`ServerError::LockFile`].
    pub fn bind(
        options: ServerOptions,
        identity: Identity,
        editor: Arc<dyn Editor>,
    ) -> Result<(Self, ServerHandle), ServerError> {
        let bind = |source| ServerError::Bind { host: options.host.clone(), port: options.port.to_string(), source };
        let listener = TcpListener::bind((options.host.as_str(), options.port)).map_err(bind)?;
        let port = listener.local_addr().map_err(bind)?.port();
        identity.set_port(port);
        let _ = editor;
        let info = Arc::new(ServerInfo { host: options.host, port, lock_files: Vec::new() });
        Ok((Self { listener }, ServerHandle { info }))
    }

    /// Serves until [`ServerHandle::shutdown`]. For a `current_thread` runtime with I/O and time enabled; disk work goes
    /// to its blocking threads.
    pub async fn run(self) {
        let _ = self.listener;
    }
}

impl ServerHandle {
    /// Sends a notification to one client, or to all that are ready.
    ///
    /// # Errors
    /// The client is gone or reads nothing, or the notification is too large.
    pub fn notify(&self, method: &str, params: Box<RawValue>, to: Option<ClientId>) -> Result<(), NotifyError> {
        let _ = (method, params, to);
        Ok(())
    }

    /// Announces other folders or another name. The discovery file is rewritten soon.
    pub fn set_workspace(&self, workspace: Workspace) {
        let _ = workspace;
    }

    /// How the server is doing.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        ServerStatus { port: self.info.port, clients: Vec::new(), in_flight: 0, queued_bytes: 0 }
    }

    /// Stops the server: answers that are there leave, clients are closed with 1001, the discovery file is removed.
    /// [`Server::run`] returns when that is done, at the latest after `deadline`.
    pub fn shutdown(&self, deadline: Duration) {
        let _ = deadline;
    }

    /// Where the server is.
    #[must_use]
    pub fn info(&self) -> &ServerInfo {
        &self.info
    }
}
