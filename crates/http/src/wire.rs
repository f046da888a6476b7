//! A socket with a deadline for writes, and a count of its peer's activity.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop;
use tokio::time::{Sleep, sleep};

/// Activity of one peer. Counted, not timed: activity within the clock's resolution must still show.
#[derive(Debug, Clone, Default)]
pub struct Liveness(Arc<AtomicU64>);

impl Liveness {
    /// Records that the peer sent a byte, or accepted one after a wait.
    pub fn sign(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The count so far.
    #[must_use]
    pub fn signs(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A socket that fails when its peer does not read, and accepts each write whole.
///
/// Whole, because the codec shifts its buffer after each partial write: a large message would be moved once for every
/// piece that fits into the socket. So a pending write must be retried with the same bytes first, as the codec,
/// `write_all` and hyper do.
pub struct Wire<W> {
    socket: W,
    liveness: Liveness,
    stall: Duration,
    /// How much of a pending write is written.
    taken: usize,
    /// Since the peer last accepted a byte.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<W> Wire<W> {
    /// A write fails when the peer accepts no byte for `stall`.
    pub fn new(socket: W, liveness: Liveness, stall: Duration) -> Self {
        Self { socket, liveness, stall, taken: 0, waiting: None }
    }

    /// The socket.
    pub fn into_inner(self) -> W {
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
                // This task must yield; the peer is not to blame.
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt as _, duplex};

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
