//! The reading half of a socket: converts bytes to WebSocket messages.
//!
//! The codec also wants to write (pongs, the echo of a close frame). Here it writes into a void: the outbox sends those
//! replies, so that exactly one task writes to the socket.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use claude_ide_http::Liveness;
use futures_util::StreamExt;
use tokio::{
    io::{AsyncRead, Join, ReadBuf, Sink, join, sink},
    net::tcp::OwnedReadHalf,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error as WebSocketError, Message,
        protocol::{Role, WebSocketConfig},
    },
};

/// Large enough to read many pipelined calls at once, small enough to cost an idle client nothing.
const READ_BUFFER: usize = 32 << 10;

pub(crate) struct Inbox {
    socket: WebSocketStream<Join<Source, Sink>>,
}

impl Inbox {
    /// `rest` was sent by the client along with its handshake.
    pub(crate) async fn new(
        socket: OwnedReadHalf,
        rest: Vec<u8>,
        max_message_bytes: usize,
        liveness: Liveness,
    ) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .max_message_size(Some(max_message_bytes))
            .max_frame_size(Some(max_message_bytes));
        let source = join(Source { socket, liveness }, sink());
        Self { socket: WebSocketStream::from_partially_read(source, rest, Role::Server, Some(config)).await }
    }

    /// The next message. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<Message, WebSocketError> {
        self.socket.next().await.unwrap_or(Err(WebSocketError::ConnectionClosed))
    }

    /// Discards input until the peer closes: closing a socket with unread bytes resets it, and the peer would lose the
    /// close frame.
    pub(crate) async fn drain(self) {
        let socket = &self.socket.get_ref().reader().socket;
        let mut waste = vec![0; READ_BUFFER];
        loop {
            match socket.try_read(&mut waste) {
                Ok(0) => return,
                Ok(_) => tokio::task::consume_budget().await,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if socket.readable().await.is_err() {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }
}

/// Counts every received byte as activity.
struct Source {
    socket: OwnedReadHalf,
    liveness: Liveness,
}

impl AsyncRead for Source {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.liveness.sign();
        }
        Poll::Ready(Ok(()))
    }
}
