//! The reading half of a socket: bytes in, WebSocket messages out.
//!
//! The codec also wants to write (pongs, the echo of a goodbye). It writes into nothing here: those replies are the
//! outbox's, so that exactly one task writes to the socket.

use std::io::{self, Read, Write};

use tokio::net::tcp::OwnedReadHalf;
use tungstenite::{
    Message,
    protocol::{Role, WebSocket, WebSocketConfig},
};

use crate::liveness::Liveness;

/// Large enough that pipelined calls come many to a system call, small enough to cost an idle client nothing.
const READ_BUFFER: usize = 32 << 10;

pub(crate) struct Inbox {
    codec: WebSocket<Source>,
}

impl Inbox {
    /// `rest` is what the client sent along with its handshake.
    pub(crate) fn new(socket: OwnedReadHalf, rest: Vec<u8>, max_message_bytes: usize, liveness: Liveness) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .max_message_size(Some(max_message_bytes))
            .max_frame_size(Some(max_message_bytes));
        let source = Source { socket, liveness };
        Self { codec: WebSocket::from_partially_read(source, rest, Role::Server, Some(config)) }
    }

    /// The next message. May be dropped and called again.
    pub(crate) async fn next(&mut self) -> Result<Message, tungstenite::Error> {
        loop {
            match self.codec.read() {
                Err(tungstenite::Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.codec.get_ref().socket.readable().await.map_err(tungstenite::Error::Io)?;
                }
                other => return other,
            }
        }
    }

    /// Reads and forgets until the peer closes: a socket that is closed over unread bytes is reset, and the peer would
    /// lose the goodbye.
    pub(crate) async fn drain(self) {
        let socket = &self.codec.get_ref().socket;
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

struct Source {
    socket: OwnedReadHalf,
    liveness: Liveness,
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.socket.try_read(buffer)?;
        if read > 0 {
            self.liveness.sign();
        }
        Ok(read)
    }
}

impl Write for Source {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
