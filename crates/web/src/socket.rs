//! One socket: its authentication, its place, and its end.

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
use crate::site::Site;
use crate::stream::{Order, Over, Stream, Wish};

/// Limit of a client's orders that wait until its socket accepts output.
const MAX_ORDERS: usize = 32;
/// Time for a client without a place in its address to name one.
const GRACE: Duration = Duration::from_millis(5);

/// The purpose of a socket.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) id: String,
    /// Set if a subagent is read instead of the session.
    pub(crate) agent: Option<String>,
    /// The place named in the address.
    pub(crate) wish: Option<Wish>,
    /// `None` until it authenticates in a frame. A page must request to write first.
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
    // A subagent has no state of its own, and accepts no messages.
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

/// Waits for the first frame of an unauthenticated client; returns the client if it is valid.
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

/// The order for the writing half.
fn order_of(text: &str) -> Order {
    match frames::read(text) {
        Ok(Inward::Subscribe { from_uuid, last }) => Order::Read(Wish { from_uuid, last }),
        Ok(Inward::Ping) => Order::Say(Outward::Pong.text()),
        Ok(inward) => Order::Handle(inward),
        Err(text) => Order::Say(text),
    }
}

/// Reads frames until the client is silent for too long or gone; returns the close frame.
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
        // A client that sends faster than it reads only delays itself.
        if order.send(said).await.is_err() {
            return None;
        }
    }
}
