//! Events of the server and its clients, queued for Lua.
//!
//! Invariant: an event of a client replaces an unread older one, and a client that connected and left unseen causes
//! none.

use claude_ide_server::{ClientEvent, ClientInfo};
use serde_json::Value as Json;

use crate::queue::Queue;
use crate::value::Value;
use crate::waiting::{Bound, Event, Full, Turn, Waiting};

/// An event of one client.
struct News {
    kind: Kind,
    client: ClientInfo,
    reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Connected,
    Ready,
    Changed,
    Disconnected,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Connected, Self::Ready, Self::Changed, Self::Disconnected];

    fn event(self) -> &'static str {
        match self {
            Self::Connected => "client_connected",
            Self::Ready => "client_ready",
            Self::Changed => "client_changed",
            Self::Disconnected => "client_disconnected",
        }
    }

    /// The queue key: one event of each kind waits per client.
    fn of(self, client: u64) -> u64 {
        let kind = match self {
            Self::Connected => 0,
            Self::Ready => 1,
            Self::Changed => 2,
            Self::Disconnected => 3,
        };
        client.wrapping_mul(4).wrapping_add(kind)
    }
}

impl Event for News {
    const TURN: Turn = Turn::Calls;
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        self.kind.of(self.client.id.get())
    }

    fn into_value(self) -> Value {
        let client = serde_json::to_value(&self.client).map_or(Value::Nil, Value::Json);
        let mut fields = vec![("type", Value::Text(self.kind.event())), ("client", client)];
        if let Some(reason) = self.reason {
            fields.push(("reason", Value::Json(Json::String(reason))));
        }
        Value::Table(fields)
    }
}

/// The server ended unrequested.
pub(crate) struct ServerEnded;

impl Event for ServerEnded {
    const TURN: Turn = Turn::Calls;
    const BOUND: Bound = Bound::Latest;

    fn key(&self) -> u64 {
        0
    }

    fn into_value(self) -> Value {
        Value::Table(vec![("type", Value::Text("ended"))])
    }
}

/// Queues an event of a client.
pub(crate) fn announce(queue: &Queue, event: ClientEvent) {
    let news = |kind, client| News { kind, client, reason: None };
    let news = match event {
        ClientEvent::Connected(client) => news(Kind::Connected, client),
        ClientEvent::Ready(client) => news(Kind::Ready, client),
        ClientEvent::Changed(client) => news(Kind::Changed, client),
        ClientEvent::Disconnected { client, reason } => News { kind: Kind::Disconnected, client, reason: Some(reason) },
    };
    // These sources never refuse an event.
    let _: Result<(), Full> = queue.change(|waiting| take(waiting, news));
}

fn take(waiting: &mut Waiting, news: News) -> Result<(), Full> {
    let id = news.client.id.get();
    match news.kind {
        Kind::Connected | Kind::Ready => waiting.push(news),
        Kind::Changed => {
            // An unread older event can carry the new state.
            let unseen = Kind::ALL.map(|kind| kind.of(id)).into_iter().max_by_key(|key| waiting.moment::<News>(*key));
            match unseen.and_then(|key| waiting.get_mut::<News>(key)) {
                Some(old) => {
                    old.client = news.client;
                    Ok(())
                }
                None => waiting.push(news),
            }
        }
        Kind::Disconnected => {
            let came_unseen = waiting.moment::<News>(Kind::Connected.of(id)).is_some();
            for kind in Kind::ALL {
                waiting.remove::<News>(kind.of(id));
            }
            if came_unseen { Ok(()) } else { waiting.push(news) }
        }
    }
}
