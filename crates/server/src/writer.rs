//! The one task that writes to a socket: it turns what waits in the outbox into frames, many to a system call.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::SinkExt;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt, Empty, Join, ReadBuf, empty, join},
    net::tcp::OwnedWriteHalf,
    task::coop,
    time::{Sleep, sleep},
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

use crate::{
    liveness::Liveness,
    outbox::{Outbox, Outgoing},
};

/// What is gathered is written when it has reached this size.
const WRITE_AT: usize = 64 << 10;
/// A codec that had to gather more than this is replaced: its buffer would never shrink.
const KEEP_UP_TO: usize = 256 << 10;

/// The writing half of a socket. Dropping it shuts the half down: the peer reads the end of the stream.
pub(crate) struct Writer {
    wire: Wire<OwnedWriteHalf>,
}

impl Writer {
    /// Writing fails when the peer does not take a single byte for `stall`.
    pub(crate) fn new(socket: OwnedWriteHalf, liveness: Liveness, stall: Duration) -> Self {
        Self { wire: Wire::new(socket, liveness, stall) }
    }

    /// Writes what comes before the first frame.
    ///
    /// # Errors
    /// The socket is broken, or the peer does not read.
    pub(crate) async fn greet(&mut self, response: &[u8]) -> io::Result<()> {
        self.wire.write_all(response).await
    }

    /// Writes until the goodbye is out.
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

/// The codec of the writing half: it never reads.
async fn framed(wire: Join<Empty, Wire<OwnedWriteHalf>>) -> WebSocketStream<Join<Empty, Wire<OwnedWriteHalf>>> {
    let config = WebSocketConfig::default().read_buffer_size(0).write_buffer_size(WRITE_AT);
    WebSocketStream::from_raw_socket(wire, Role::Server, Some(config)).await
}

fn message(outgoing: Outgoing) -> Message {
    match outgoing {
        // As a frame, because what was serialized here need not be checked for UTF-8 again.
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

/// A socket that gives up a peer that does not read, and takes what it is given whole.
///
/// Whole, because the codec moves the rest of its buffer down after each part that was taken: a large message would be
/// moved once for every piece that fits into the socket. So a write that has to wait must be tried again with the same
/// bytes at its beginning, as the codec, `write_all` and hyper do.
pub(crate) struct Wire<W> {
    socket: W,
    liveness: Liveness,
    stall: Duration,
    /// How much of the bytes of a write that waits is written.
    taken: usize,
    /// Since the peer last took a byte.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<W> Wire<W> {
    /// Writing fails when the peer does not take a single byte for `stall`.
    pub(crate) fn new(socket: W, liveness: Liveness, stall: Duration) -> Self {
        Self { socket, liveness, stall, taken: 0, waiting: None }
    }

    pub(crate) fn into_inner(self) -> W {
        self.socket
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Wire<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, buffer)
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Wire<W> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        while let Some(rest) = bytes.get(this.taken..).filter(|rest| !rest.is_empty()) {
            match Pin::new(&mut this.socket).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => {
                    this.taken = this.taken.saturating_add(written);
                    if this.waiting.take().is_some() {
                        this.liveness.sign();
                    }
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                // It is this task that must let others run, not the peer that is slow.
                Poll::Pending if !coop::has_budget_remaining() => return Poll::Pending,
                Poll::Pending => {
                    let stall = this.stall;
                    let waiting = this.waiting.get_or_insert_with(|| Box::pin(sleep(stall)));
                    ready!(waiting.as_mut().poll(context));
                    return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read")));
                }
            }
        }
        this.taken = 0;
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    fn wire<W>(socket: W, stall: Duration) -> Wire<W> {
        Wire::new(socket, Liveness::default(), stall)
    }

    #[tokio::test]
    async fn a_write_is_taken_whole_however_small_the_pieces() {
        let (socket, mut peer) = duplex(3);
        let mut wire = wire(socket, Duration::from_secs(60));
        let sent: Vec<u8> = (0..=255).collect();
        let mut received = vec![0; sent.len()];
        let (written, read) = tokio::join!(wire.write(&sent), peer.read_exact(&mut received));
        assert_eq!((written.unwrap(), read.unwrap()), (sent.len(), sent.len()));
        assert_eq!(received, sent);
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_is_given_up() {
        let (socket, _peer) = duplex(3);
        let error = wire(socket, Duration::from_millis(1)).write_all(b"four").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
