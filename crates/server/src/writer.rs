//! The one task that writes to a socket: it turns what waits in the outbox into frames, many to a system call.

use std::{io, time::Duration};

use tokio::{net::tcp::OwnedWriteHalf, time::timeout};

use crate::{
    liveness::Liveness,
    outbox::{Outbox, Outgoing},
};

/// Payloads up to this size are gathered; a larger one is written from where it lies.
const GATHER_UP_TO: usize = 16 << 10;
/// What is gathered is written when it has reached this size.
const WRITE_AT: usize = 64 << 10;

/// RFC 6455, 5.2: the whole message in one frame (FIN), and the kind of frame.
const FIN_TEXT: u8 = 0x81;
const FIN_CLOSE: u8 = 0x88;
const FIN_PING: u8 = 0x89;
const FIN_PONG: u8 = 0x8A;

/// Writes until the goodbye is out, then closes the writing half.
///
/// # Errors
/// The socket is broken, or the peer did not take a single byte for `stall`.
pub(crate) async fn write(
    socket: OwnedWriteHalf,
    outbox: &Outbox,
    liveness: &Liveness,
    stall: Duration,
) -> io::Result<()> {
    let wire = Wire { socket: &socket, liveness, stall };
    let mut batch = Vec::new();
    let mut gathered = Vec::new();
    while outbox.next_batch(&mut batch).await {
        for outgoing in batch.drain(..) {
            let payload = frame(&outgoing, &mut gathered);
            if payload.len() <= GATHER_UP_TO {
                gathered.extend_from_slice(payload);
                if gathered.len() >= WRITE_AT {
                    wire.write_all(&gathered).await?;
                    gathered.clear();
                }
            } else {
                wire.write_all(&gathered).await?;
                gathered.clear();
                wire.write_all(payload).await?;
            }
        }
        wire.write_all(&gathered).await?;
        gathered.clear();
        gathered.shrink_to(WRITE_AT);
    }
    // Dropping the half shuts it down: the peer reads the end of the stream after the goodbye.
    Ok(())
}

/// Writes what comes before the first frame: the answer to the handshake.
///
/// # Errors
/// The socket is broken, or the peer did not take a single byte for `stall`.
pub(crate) async fn write_raw(socket: &OwnedWriteHalf, bytes: &[u8], stall: Duration) -> io::Result<()> {
    Wire { socket, liveness: &Liveness::default(), stall }.write_all(bytes).await
}

/// Writes the header of a frame (and a close frame's body) to `out` and returns the payload.
fn frame<'a>(outgoing: &'a Outgoing, out: &mut Vec<u8>) -> &'a [u8] {
    match outgoing {
        Outgoing::Text(payload) => header(FIN_TEXT, payload, out),
        Outgoing::Ping(payload) => header(FIN_PING, payload, out),
        Outgoing::Pong(payload) => header(FIN_PONG, payload, out),
        Outgoing::Close(None) => header(FIN_CLOSE, &[], out),
        Outgoing::Close(Some((code, reason))) => {
            let body = reason.len().saturating_add(size_of::<u16>());
            push_header(FIN_CLOSE, body, out);
            out.extend_from_slice(&code.to_be_bytes());
            reason.as_bytes()
        }
    }
}

fn header<'a>(kind: u8, payload: &'a [u8], out: &mut Vec<u8>) -> &'a [u8] {
    push_header(kind, payload.len(), out);
    payload
}

/// RFC 6455, 5.2: a length is 7 bits, or 126 and 16 bits, or 127 and 64 bits. A server never masks.
fn push_header(kind: u8, length: usize, out: &mut Vec<u8>) {
    out.push(kind);
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ ..=125), _) => out.push(short),
        (_, Ok(medium)) => {
            out.push(126);
            out.extend_from_slice(&medium.to_be_bytes());
        }
        _ => {
            out.push(127);
            out.extend_from_slice(&u64::try_from(length).unwrap_or(u64::MAX).to_be_bytes());
        }
    }
}

struct Wire<'a> {
    socket: &'a OwnedWriteHalf,
    liveness: &'a Liveness,
    stall: Duration,
}

impl Wire<'_> {
    async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        let mut waited = false;
        while !bytes.is_empty() {
            match self.socket.try_write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = bytes.get(written..).unwrap_or_default();
                    if std::mem::take(&mut waited) {
                        self.liveness.sign();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    waited = true;
                    timeout(self.stall, self.socket.writable())
                        .await
                        .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the peer does not read"))??;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn framed(outgoing: &Outgoing) -> Vec<u8> {
        let mut out = Vec::new();
        let payload = frame(outgoing, &mut out).to_vec();
        out.extend(payload);
        out
    }

    #[test]
    fn lengths_are_written_in_the_shortest_form() {
        for (length, expected) in [
            (0, vec![0x81, 0]),
            (125, vec![0x81, 125]),
            (126, vec![0x81, 126, 0, 126]),
            (65_535, vec![0x81, 126, 0xFF, 0xFF]),
            (65_536, vec![0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let bytes = framed(&Outgoing::Text(Bytes::from(vec![b'x'; length])));
            assert_eq!(bytes[..expected.len()], expected, "{length}");
            assert_eq!(bytes.len(), expected.len() + length);
        }
    }

    #[test]
    fn a_goodbye_has_a_code_and_a_reason_or_neither() {
        assert_eq!(framed(&Outgoing::Close(Some((1008, "no")))), [0x88, 4, 0x03, 0xF0, b'n', b'o']);
        assert_eq!(framed(&Outgoing::Close(None)), [0x88, 0]);
    }

    #[test]
    fn pings_and_pongs_carry_their_payload() {
        assert_eq!(framed(&Outgoing::Ping(Bytes::new())), [0x89, 0]);
        assert_eq!(framed(&Outgoing::Pong(Bytes::from_static(b"hi"))), [0x8A, 2, b'h', b'i']);
    }
}
