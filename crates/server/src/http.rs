//! One connection of an agent that speaks HTTP. MCP, "Streamable HTTP", in its plain form: each POST carries one message and is
//! answered with JSON; there is no stream, so nothing is told unasked.
//!
//! The client is its connection: it may keep it for one request after another, and a request ends with it.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use tokio::{
    net::TcpStream,
    pin,
    sync::watch,
    time::{sleep, timeout},
};

use claude_ide_protocol::without_lone_surrogates;

use crate::{
    client::Client,
    connection::{Hub, stopping},
    door::{self, Doorkeeper, Knock, Post, Refusal},
    editor::ClientId,
    outbox::Outbox,
};

/// How long a message may take to arrive once its header has.
const BODY_TIME: Duration = Duration::from_secs(30);
/// How long a connection that asks for nothing is kept.
const IDLE_TIME: Duration = Duration::from_secs(60);
const WRITE_TIME: Duration = Duration::from_secs(30);

/// Serves requests until the connection ends; returns why it did.
pub(crate) async fn serve(hub: &Arc<Hub>, id: ClientId, stream: &TcpStream, first: Post) {
    let outbox = Arc::new(Outbox::default());
    let mut client = Client::new(Arc::clone(&hub.services), Arc::clone(&first.endpoint), id, Arc::clone(&outbox));
    client.cannot_be_asked();
    let mut shutdown = hub.shutdown.subscribe();
    let mut post = first;
    let reason = loop {
        match exchange(&mut client, &outbox, stream, &mut post, &mut shutdown).await {
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
    client.receive(&without_lone_surrogates(&String::from_utf8_lossy(&body)));
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
            () = client.settle() => {}
        }
    }
    let mut answers = outbox.take_answers();
    let last = answers.pop();
    write(stream, &head(last.as_ref(), post.close)).await?;
    if let Some(answer) = last {
        write(stream, &answer).await?;
    }
    Ok(if post.close { Next::End("closed") } else { Next::Keep })
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

fn head(answer: Option<&Bytes>, close: bool) -> Vec<u8> {
    let connection = if close { "close" } else { "keep-alive" };
    match answer {
        None => format!("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: {connection}\r\n\r\n"),
        Some(answer) => format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: {connection}\r\n\r\n",
            answer.len()
        ),
    }
    .into_bytes()
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
