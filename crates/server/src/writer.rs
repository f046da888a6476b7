//! The one task that writes to a socket: converts queued messages to frames, many per system call.

use std::{io, time::Duration};

use claude_ide_http::{Liveness, Wire};
use futures_util::SinkExt;
use tokio::{
    io::{Empty, Join, empty, join},
    net::tcp::OwnedWriteHalf,
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Error as WebSocketError, Message, Utf8Bytes,
        protocol::{
            CloseFrame, Role, WebSocketConfig,
            frame::{
                Frame,
                coding::{Data, OpCode},
            },
        },
    },
};

use crate::outbox::{Outbox, Outgoing};

/// Gathered frames are written at this size.
const WRITE_AT: usize = 64 << 10;
/// A codec that gathered more is replaced, since its buffer never shrinks.
const KEEP_UP_TO: usize = 256 << 10;

/// The writing half of a socket. Dropping it shuts the half down: the peer sees the end of the stream.
pub(crate) struct Writer {
    wire: Wire<OwnedWriteHalf>,
}

impl Writer {
    /// A write fails when the peer accepts no byte for `stall`.
    pub(crate) fn new(socket: OwnedWriteHalf, liveness: Liveness, stall: Duration) -> Self {
        Self { wire: Wire::new(socket, liveness, stall) }
    }

    /// Writes until the close frame is sent.
    ///
    /// # Errors
    /// The socket is broken, or the peer does not read.
    pub(crate) async fn write(self, outbox: &Outbox) -> io::Result<()> {
        let mut socket = framed(join(empty(), self.wire)).await;
        let mut batch = Vec::new();
        while outbox.next_batch(&mut batch).await {
            let mut largest = 0;
            for outgoing in batch.drain(..) {
                let message = message(outgoing);
                largest = largest.max(message.len());
                socket.feed(message).await.map_err(into_io)?;
            }
            socket.flush().await.map_err(into_io)?;
            if largest > KEEP_UP_TO {
                socket = framed(socket.into_inner()).await;
            }
        }
        Ok(())
    }
}

/// The codec of the writing half; it never reads.
async fn framed(wire: Join<Empty, Wire<OwnedWriteHalf>>) -> WebSocketStream<Join<Empty, Wire<OwnedWriteHalf>>> {
    let config = WebSocketConfig::default().read_buffer_size(0).write_buffer_size(WRITE_AT);
    WebSocketStream::from_raw_socket(wire, Role::Server, Some(config)).await
}

fn message(outgoing: Outgoing) -> Message {
    match outgoing {
        // A raw frame: our own JSON need not be checked for UTF-8 again.
        Outgoing::Text(payload) => Message::Frame(Frame::message(payload, OpCode::Data(Data::Text), true)),
        Outgoing::Ping(payload) => Message::Ping(payload),
        Outgoing::Pong(payload) => Message::Pong(payload),
        Outgoing::Close(goodbye) => Message::Close(
            goodbye.map(|(code, reason)| CloseFrame { code: code.into(), reason: Utf8Bytes::from_static(reason) }),
        ),
    }
}

fn into_io(error: WebSocketError) -> io::Error {
    match error {
        WebSocketError::Io(error) => error,
        other => io::Error::other(other),
    }
}
