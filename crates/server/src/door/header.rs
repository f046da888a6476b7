//! The header of an HTTP request: read up to its end, and looked up by name.

use std::io;

use tokio::net::TcpStream;

use super::Refusal;

/// More than any client sends; the token and the browser-like headers come to less than 1 KiB.
pub(super) const MAX_HEADER_BYTES: usize = 16 << 10;
pub(super) const MAX_HEADERS: usize = 64;

/// A request header, and what came after it.
pub(super) struct Received {
    pub(super) header: Vec<u8>,
    pub(super) rest: Vec<u8>,
}

/// Reads the request header, of which some may have been received. The caller sets the deadline.
///
/// # Errors
/// The outer one if the socket breaks or ends, the inner one if no fit request can become of this.
pub(super) async fn read(stream: &TcpStream, mut received: Vec<u8>) -> io::Result<Result<Received, Refusal>> {
    let mut chunk = [0_u8; 2048];
    if let Some(end) = end_of_header(&received, 0) {
        let rest = received.split_off(end);
        return Ok(Ok(Received { header: received, rest }));
    }
    loop {
        stream.readable().await?;
        let read = match stream.try_read(&mut chunk) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        let searched = received.len().saturating_sub(END_OF_HEADER.len());
        received.extend_from_slice(chunk.get(..read).unwrap_or_default());
        if let Some(end) = end_of_header(&received, searched) {
            let rest = received.split_off(end);
            return Ok(Ok(Received { header: received, rest }));
        }
        if !METHODS.iter().any(|method| method.starts_with(received.get(..method.len()).unwrap_or(&received))) {
            return Ok(Err(Refusal::NotHttp));
        }
        if received.len() > MAX_HEADER_BYTES {
            return Ok(Err(Refusal::HeaderTooLarge));
        }
    }
}

/// Whoever begins otherwise speaks something else. DELETE ends a session of MCP; there is none.
const METHODS: [&[u8]; 3] = [b"GET ", b"POST ", b"DELETE "];
const END_OF_HEADER: &[u8] = b"\r\n\r\n";

fn end_of_header(received: &[u8], from: usize) -> Option<usize> {
    let unsearched = received.get(from..)?;
    let at = unsearched.windows(END_OF_HEADER.len()).position(|window| window == END_OF_HEADER)?;
    from.checked_add(at)?.checked_add(END_OF_HEADER.len())
}

/// The headers of a request, by name.
pub(super) struct Headers<'h, 'b>(pub(super) &'h [httparse::Header<'b>]);

impl<'b> Headers<'_, 'b> {
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        self.0.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
    }

    /// The value, if the header is there exactly once.
    pub(super) fn only(&self, name: &str) -> Option<&'b [u8]> {
        let mut all = self.all(name);
        let first = all.next()?;
        all.next().is_none().then(|| first.trim_ascii())
    }

    /// The values of a comma-separated list, spread over any number of headers.
    pub(super) fn list(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        self.all(name).flat_map(|value| value.split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
    }

    pub(super) fn lists(&self, name: &str, wanted: &str) -> bool {
        self.list(name).any(|value| value.eq_ignore_ascii_case(wanted.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_header_is_found_across_chunks() {
        assert_eq!(end_of_header(b"a\r\n\r\nrest", 0), Some(5));
        assert_eq!(end_of_header(b"a\r\n\r", 0), None);
        assert_eq!(end_of_header(b"aaaa\r\n\r\n", 3), Some(8));
    }
}
