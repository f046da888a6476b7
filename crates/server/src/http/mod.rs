//! One connection of an agent that speaks HTTP. MCP, "Streamable HTTP": each POST carries one message and is answered with
//! JSON, or with events where there is something to tell of a call before its end and the agent takes them. There is no
//! stream besides, so nothing is told unasked.
//!
//! The client is its connection: it may keep it for one request after another, and a request ends with it. What cancels a
//! request may come on another connection of the same session.

mod reply;
mod sessions;

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{
    net::TcpStream,
    pin,
    sync::watch,
    time::{sleep, timeout},
};

use claude_ide_protocol::{
    jsonrpc::{self, Incoming},
    without_lone_surrogates,
};

pub(crate) use self::sessions::Sessions;
use self::{
    reply::{END_OF_EVENTS, Form, event},
    sessions::Place,
};
use crate::{
    client::Client,
    connection::{Hub, stopping},
    door::{self, Doorkeeper, Knock, Post, Refusal},
    editor::ClientId,
    notifier::PROGRESS,
    outbox::Outbox,
};

/// MCP, "Cancellation".
const CANCELLED: &str = "notifications/cancelled";
/// How long a message may take to arrive once its header has.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long a connection that asks for nothing is kept.
const IDLE_TIME: Duration = Duration::from_secs(60);
const WRITE_TIME: Duration = Duration::from_secs(30);

/// Serves requests until the connection ends; returns why it did.
pub(crate) async fn serve(hub: &Arc<Hub>, id: ClientId, stream: &TcpStream, first: Post) {
    let outbox = Arc::new(Outbox::default());
    let (services, endpoint) = (Arc::clone(&hub.services), Arc::clone(&first.endpoint));
    let mut client = Client::new(services, endpoint, id, first.run.clone(), Arc::clone(&outbox));
    client.cannot_be_asked();
    let mut shutdown = hub.shutdown.subscribe();
    let mut post = first;
    let reason = loop {
        match exchange(hub, &mut client, &outbox, stream, &mut post, &mut shutdown).await {
            Ok(Next::Keep) => {}
            Ok(Next::End(reason)) => break reason.to_owned(),
            Err(error) => break format!("the connection broke: {error}"),
        }
        match next(hub, stream, &post, &mut shutdown).await {
            Ok(Some(another)) => post = another,
            Ok(None) => break "closed".to_owned(),
            Err(error) => break format!("the connection broke: {error}"),
        }
    };
    client.disconnect(reason);
}

enum Next {
    Keep,
    End(&'static str),
}

/// One message and its answer.
async fn exchange(
    hub: &Hub,
    client: &mut Client,
    outbox: &Outbox,
    stream: &TcpStream,
    post: &mut Post,
    shutdown: &mut watch::Receiver<Option<Instant>>,
) -> io::Result<Next> {
    match timeout(BODY_TIME, read_body(stream, &mut post.rest, post.length)).await {
        Err(_) => {
            write(stream, &Refusal::TooSlow.response()).await?;
            return Ok(Next::End("its message did not arrive in time"));
        }
        Ok(read) => read?,
    }
    let after = post.rest.split_off(post.length);
    let body = std::mem::replace(&mut post.rest, after);
    let text = without_lone_surrogates(&String::from_utf8_lossy(&body)).into_owned();
    let mut place = post.session.as_deref().map(|name| hub.sessions.join(name, client.id()));
    if let Some(place) = &place
        && is_cancellation(&text)
    {
        place.pass_on(&text);
    }
    let spoke_mcp = client.speaks_mcp();
    client.receive(&text);
    let begun = (!spoke_mcp && client.speaks_mcp() && place.is_none()).then(Sessions::new_name).flatten();
    let form = Form { close: post.close, session: begun.as_deref() };
    let waits = !client.is_idle();
    let mut has_begun = false;
    let stop = stopping(shutdown);
    let gone = until_gone(stream);
    pin!(stop, gone);
    while !client.is_idle() {
        tokio::select! {
            biased;
            _ = &mut stop => {
                client.wind_down();
                client.give_up_all();
                break;
            }
            () = &mut gone => return Ok(Next::End("it left before it was answered")),
            Some(cancelled) = told(place.as_mut()) => client.receive(&cancelled),
            news = outbox.next_about(PROGRESS), if post.takes_events => {
                if !std::mem::replace(&mut has_begun, true) {
                    write(stream, &form.head_of_events()).await?;
                }
                for one in news {
                    write(stream, &event(&one)).await?;
                }
            }
            () = client.settle() => {}
        }
    }
    let answer = outbox.take_answers().pop();
    if has_begun || (waits && answer.is_none() && post.takes_events) {
        // What was cancelled has no answer, and its events end without one.
        if !has_begun {
            write(stream, &form.head_of_events()).await?;
        }
        if let Some(answer) = answer {
            write(stream, &event(&answer)).await?;
        }
        write(stream, END_OF_EVENTS).await?;
    } else {
        write(stream, &form.head(answer.as_ref())).await?;
        if let Some(answer) = answer {
            write(stream, &answer).await?;
        }
    }
    Ok(if post.close { Next::End("closed") } else { Next::Keep })
}

/// Whether it is of use to other connections of the session.
fn is_cancellation(text: &str) -> bool {
    matches!(jsonrpc::parse(text), Ok(Incoming::Notification { method, .. }) if method == CANCELLED)
}

/// What another connection of the session passes on.
async fn told(place: Option<&mut Place<'_>>) -> Option<Arc<str>> {
    match place {
        Some(place) => place.told().await,
        None => std::future::pending().await,
    }
}

/// The next request on the connection; nothing where none comes, or one that is refused.
async fn next(
    hub: &Hub,
    stream: &TcpStream,
    before: &Post,
    shutdown: &mut watch::Receiver<Option<Instant>>,
) -> io::Result<Option<Post>> {
    let doorkeeper =
        Doorkeeper { routes: &hub.routes, host: &hub.services.options.host, local: stream.local_addr().ok() };
    let knock = tokio::select! {
        biased;
        _ = stopping(shutdown) => return Ok(None),
        () = sleep(IDLE_TIME) => return Ok(None),
        knock = door::read_on(stream, before.rest.clone(), &doorkeeper) => knock,
    };
    let refusal = match knock {
        // It closed: that is how these connections end.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
        Ok(Ok(Knock::Post(post))) if !post.authorized => Refusal::Unauthorized,
        Ok(Ok(Knock::Post(post))) if Arc::ptr_eq(&post.endpoint, &before.endpoint) => return Ok(Some(post)),
        Ok(Ok(Knock::Post(_) | Knock::Upgrade(_))) => Refusal::NotHttp,
        Ok(Err(refusal)) => refusal,
    };
    write(stream, &refusal.response()).await?;
    Ok(None)
}

/// Resolves when the other end is gone.
async fn until_gone(stream: &TcpStream) {
    let mut byte = [0_u8; 1];
    match stream.peek(&mut byte).await {
        Ok(0) | Err(_) => {}
        // It has sent something more, which is read in its turn.
        Ok(_) => std::future::pending().await,
    }
}

async fn read_body(stream: &TcpStream, received: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let mut chunk = vec![0_u8; 16 << 10];
    while received.len() < length {
        stream.readable().await?;
        match stream.try_read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => received.extend_from_slice(chunk.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

async fn write(stream: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    let all = async {
        let mut rest = bytes;
        while !rest.is_empty() {
            stream.writable().await?;
            match stream.try_write(rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    };
    timeout(WRITE_TIME, all).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
