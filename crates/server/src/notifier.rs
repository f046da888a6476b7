//! The connected clients and their notifications: selection (latest wins), diagnostics (latest per file wins), mentions
//! and others in order.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use claude_ide_protocol::{
    companion::{self, CONTEXT_UPDATE},
    ide::{DIAGNOSTICS_CHANGED, SELECTION_CHANGED},
    jsonrpc,
};

use crate::{
    editor::{ClientId, ClientInfo, ClientState},
    endpoint_name::IDE,
    error::NotifyError,
    last_selection::Selections,
    outbox::{Offer, Outbox},
    path_map::{PathMap, Sides},
};

/// MCP, "Progress".
pub(crate) const PROGRESS: &str = "notifications/progress";
/// Tells the server whether a file is active in the editor. Only updates the cached selection; not sent to clients.
const ACTIVE_EDITOR: &str = "active_editor";
/// The editor cuts selected text at 256 KiB and limits a file's diagnostics. This is far beyond both.
const MAX_PARAMS_BYTES: usize = 2 << 20;

#[derive(Debug, Default)]
pub(crate) struct Notifier {
    clients: Mutex<BTreeMap<ClientId, Subscriber>>,
    selections: Selections,
    map: PathMap,
}

#[derive(Debug)]
struct Subscriber {
    info: ClientInfo,
    outbox: Arc<Outbox>,
    in_flight: Arc<AtomicUsize>,
    send_away: Arc<Notify>,
}

/// The relevant part of `diagnostics_changed`.
#[derive(Deserialize)]
struct About {
    #[serde(default)]
    uri: String,
}

/// The relevant part of `notifications/progress`: the latest of a call wins.
#[derive(Deserialize)]
struct OfCall {
    #[serde(rename = "progressToken")]
    token: serde_json::Value,
}

/// The relevant part of `ide/diffAccepted` and `ide/diffRejected`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfFile {
    file_path: String,
}

impl Notifier {
    pub(crate) fn new(map: PathMap) -> Self {
        Self { map, ..Self::default() }
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<ClientId, Subscriber>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn selections(&self) -> &Selections {
        &self.selections
    }

    pub(crate) fn join(
        &self,
        info: ClientInfo,
        outbox: Arc<Outbox>,
        in_flight: Arc<AtomicUsize>,
        send_away: Arc<Notify>,
    ) {
        self.clients().insert(info.id, Subscriber { info, outbox, in_flight, send_away });
    }

    /// See [`crate::ServerHandle::disconnect`].
    pub(crate) fn send_away(&self, id: ClientId) -> Result<(), NotifyError> {
        let clients = self.clients();
        let client = clients.get(&id).ok_or(NotifyError::UnknownClient(id))?;
        client.send_away.notify_one();
        Ok(())
    }

    pub(crate) fn leave(&self, id: ClientId) {
        self.clients().remove(&id);
    }

    /// Updates a client's properties. A client that became ready gets the current selection, then its waiting
    /// notifications.
    pub(crate) fn publish(&self, info: &ClientInfo) {
        let mut clients = self.clients();
        let Some(subscriber) = clients.get_mut(&info.id) else { return };
        let became_ready = subscriber.info.state != info.state && info.state == ClientState::Ready;
        subscriber.info.clone_from(info);
        if became_ready {
            if info.endpoint == IDE
                && let Some(selection) = self.selections.notification(info.mapped)
            {
                subscriber.outbox.push_latest(SELECTION_CHANGED, selection);
            }
            subscriber.outbox.set_ready();
        }
    }

    /// All clients, in order of connection.
    pub(crate) fn infos(&self) -> Vec<ClientInfo> {
        self.clients().values().map(|subscriber| subscriber.info.clone()).collect()
    }

    /// Requests in flight, and queued bytes.
    pub(crate) fn load(&self) -> (usize, usize) {
        let clients = self.clients();
        let in_flight = clients.values().map(|client| client.in_flight.load(Ordering::Relaxed)).sum();
        let bytes = clients.values().fold(0, |sum: usize, client| sum.saturating_add(client.outbox.queued_bytes()));
        (in_flight, bytes)
    }

    /// Notifies an endpoint's clients of a list change. Repeated changes are sent once.
    pub(crate) fn list_changed(&self, endpoint: &str, method: &str) {
        let message = jsonrpc::notification(method, None::<&()>).map(Bytes::from).unwrap_or_default();
        for client in self.clients().values().filter(|client| client.is_ready_at(endpoint)) {
            client.outbox.push_latest(method, message.clone());
        }
    }

    /// See [`crate::ServerHandle::notify`].
    pub(crate) fn notify(&self, method: &str, params: Box<RawValue>, to: Option<ClientId>) -> Result<(), NotifyError> {
        if method == ACTIVE_EDITOR {
            self.selections.set_active(&params);
            return Ok(());
        }
        let bytes = params.get().len();
        if bytes > MAX_PARAMS_BYTES {
            return Err(NotifyError::TooLarge { method: method.to_owned(), bytes, limit: MAX_PARAMS_BYTES });
        }
        let params = Sides { there: self.map.outgoing(&params), here: params };
        let written =
            |params: &RawValue| jsonrpc::notification(method, Some(params)).map(Bytes::from).unwrap_or_default();
        let message = Sides { here: written(&params.here), there: params.there.as_deref().map(written) };
        let about = match method {
            SELECTION_CHANGED => Some(SELECTION_CHANGED.to_owned()),
            PROGRESS => {
                serde_json::from_str::<OfCall>(params.here.get()).ok().map(|of| format!("{PROGRESS} {}", of.token))
            }
            CONTEXT_UPDATE => Some(CONTEXT_UPDATE.to_owned()),
            // To a client that speaks HTTP, only notifications with a subject are sent.
            _ if method.starts_with(companion::NOTIFICATIONS) => {
                serde_json::from_str::<OfFile>(params.here.get()).ok().map(|of| format!("{method} {}", of.file_path))
            }
            DIAGNOSTICS_CHANGED => serde_json::from_str::<About>(params.here.get()).ok().map(|about| about.uri),
            _ => None,
        };
        if method == SELECTION_CHANGED && to.is_none() {
            self.selections.set(params, message.clone());
        }
        let clients = self.clients();
        if let Some(id) = to {
            let client = clients.get(&id).ok_or(NotifyError::UnknownClient(id))?;
            return client.offer(about.as_deref(), &message);
        }
        // Broadcasts report the user's actions; agents query what they need.
        let ready = clients.values().filter(|client| client.is_ready_at(IDE));
        // A client that does not read must not affect the others.
        ready.map(|client| client.offer(about.as_deref(), &message)).fold(Ok(()), Result::and)
    }
}

impl Subscriber {
    fn is_ready_at(&self, endpoint: &str) -> bool {
        self.info.state == ClientState::Ready && self.info.endpoint == endpoint
    }

    fn offer(&self, about: Option<&str>, message: &Sides<Bytes>) -> Result<(), NotifyError> {
        let message = message.of(self.info.mapped).clone();
        match about {
            Some(about) => {
                self.outbox.push_latest(about, message);
                Ok(())
            }
            None => match self.outbox.push_notice(message) {
                Offer::Taken => Ok(()),
                Offer::Full => Err(NotifyError::QueueFull(self.info.id)),
            },
        }
    }
}
