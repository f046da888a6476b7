//! One socket: who it is, what it wants to read, and its end.

use std::sync::Arc;
use std::time::Duration;

use claude_ide_http::{Caller, Liveness, Socket, Wire, stopping};
use futures_util::StreamExt as _;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::agents;
use crate::authentication::Guest;
use crate::frames::{self, Inward, Outward};
use crate::participant::Part;
use crate::server::Site;
use crate::stream::{Order, Over, Stream, Wish};

/// Orders of a client that may wait until its socket takes something again.
const MAX_ORDERS: usize = 32;
/// How long a client that says nothing in its address may take to say from where on it wants to read.
const GRACE: Duration = Duration::from_millis(5);

/// What a socket was opened for.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) id: String,
    /// The subagent that is read, and not the session itself.
    pub(crate) agent: Option<String>,
    /// What the address asks for.
    pub(crate) wish: Option<Wish>,
    /// Who it is; nothing: it has yet to say so. A page says that it wants to write before it may.
    pub(crate) guest: Option<Guest>,
}

/// Serves a socket to its end.
pub(crate) async fn serve(socket: Socket, plan: Plan, caller: &Caller, site: &Arc<Site>) {
    let config = WebSocketConfig::default()
        .read_buffer_size(8 * 1024)
        .max_message_size(Some(site.limits.frame_bytes))
        .max_frame_size(Some(site.limits.frame_bytes));
    let wire = Wire::new(socket.stream, Liveness::default(), site.limits.silence);
    let mut socket = WebSocketStream::from_partially_read(wire, socket.rest, Role::Server, Some(config)).await;
    let mut stop = site.stop.subscribe();
    let Plan { id, agent, mut wish, guest } = plan;
    let guest = match guest {
        Some(guest) => Some(guest),
        None => say_who(&mut socket, site).await,
    };
    let Some(guest) = guest else {
        let frame = CloseFrame { code: CloseCode::Policy, reason: "Unauthorized".into() };
        timeout(Duration::from_secs(1), socket.close(Some(frame))).await.ok();
        return;
    };
    caller.set_known();
    let channel = match agents::transcript(&site.sessions, &id, agent.as_deref()).await {
        Some(file) => site.sessions.channel(&file),
        None => None,
    };
    let Some(channel) = channel else {
        let text = Outward::error("Session not found").text();
        let frame = CloseFrame { code: CloseCode::Policy, reason: "Session not found".into() };
        let goodbye = async {
            futures_util::SinkExt::send(&mut socket, Message::Text(text.into())).await.ok();
            socket.close(Some(frame)).await.ok();
        };
        timeout(Duration::from_secs(1), goodbye).await.ok();
        return;
    };
    let (sink, mut source) = socket.split();
    let (order, mut orders) = mpsc::channel(MAX_ORDERS);
    if wish.is_none()
        && let Ok(Some(Ok(Message::Text(text)))) = timeout(GRACE, source.next()).await
    {
        match order_of(&text) {
            Order::Read(read) => wish = Some(read),
            other => drop(order.try_send(other)),
        }
    }
    // A subagent is no process, and so does nothing by itself that could be told, and takes no words.
    let part = match (&agent, guest) {
        (Some(_), _) => Part::OfAgent,
        (None, Guest::Page) => Part::Page,
        (None, Guest::Client) => Part::Client,
    };
    let id = agent.unwrap_or(id);
    let mut stream = Stream::new(sink, site, id, channel, part).await;
    let goodbye = tokio::select! {
        over = stream.run(wish, &mut orders) => match over {
            Over::Broken => None,
            Over::Unreadable => Some((CloseCode::Error, "the transcript cannot be read")),
        },
        goodbye = listen(&mut source, &order, site) => goodbye,
        _ = stopping(&mut stop) => Some((CloseCode::Away, "no longer served")),
    };
    if let Some((code, reason)) = goodbye {
        stream.close(Some(Message::Close(Some(CloseFrame { code, reason: reason.into() })))).await;
    } else {
        stream.close(None).await;
    }
}

/// Waits for the first frame of one that showed nothing before; who it is, if it may stay.
async fn say_who<T: AsyncRead + AsyncWrite + Unpin>(socket: &mut WebSocketStream<T>, site: &Site) -> Option<Guest> {
    let first = async {
        loop {
            match socket.next().await {
                Some(Ok(Message::Text(text))) => break Some(text),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_) | Message::Close(_) | Message::Frame(_)) | Err(_)) | None => break None,
            }
        }
    };
    match frames::read(&timeout(site.limits.handshake, first).await.ok()??) {
        Ok(Inward::Auth { token }) => site.authentication.who(token.as_bytes()),
        Ok(_) | Err(_) => None,
    }
}

/// What a frame asks the writing half to do.
fn order_of(text: &str) -> Order {
    match frames::read(text) {
        Ok(Inward::Subscribe { from_uuid, last }) => Order::Read(Wish { from_uuid, last }),
        Ok(Inward::Ping) => Order::Say(Outward::Pong.text()),
        Ok(inward) => Order::Hear(inward),
        Err(text) => Order::Say(text),
    }
}

/// Takes what a client sends, until it is silent for too long or gone; what to say then.
async fn listen<S>(source: &mut S, order: &mpsc::Sender<Order>, site: &Site) -> Option<(CloseCode, &'static str)>
where
    S: futures_util::Stream<Item = Result<Message, Error>> + Unpin,
{
    loop {
        let said = match timeout(site.limits.silence, source.next()).await {
            Ok(Some(Ok(Message::Text(text)))) => order_of(&text),
            Ok(Some(Ok(Message::Binary(_)))) => return Some((CloseCode::Unsupported, "text frames alone are read")),
            Ok(Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)))) => continue,
            Ok(Some(Err(Error::Capacity(_)))) => return Some((CloseCode::Size, "the frame is too large")),
            Ok(Some(Ok(Message::Close(_)) | Err(_)) | None) => return None,
            Err(_) => return Some((CloseCode::Away, "it was silent for too long")),
        };
        // One that asks faster than it reads waits for itself.
        if order.send(said).await.is_err() {
            return None;
        }
    }
}
