//! What a POST is answered with: a message, none, or events of which the last is the message. MCP, "Sending Messages to the
//! Server"; WHATWG HTML, "Server-sent events"; RFC 9112, 7.1 (chunks).

use bytes::Bytes;

/// The header of an answer that carries a session's name.
pub(super) const SESSION_HEADER: &str = "Mcp-Session-Id";

/// How the connection goes on, and what the answer says beside its message.
pub(super) struct Form<'f> {
    pub(super) close: bool,
    /// The name of the session that begins with it.
    pub(super) session: Option<&'f str>,
}

impl Form<'_> {
    /// The header of a whole answer.
    pub(super) fn head(&self, answer: Option<&Bytes>) -> Vec<u8> {
        let (status, length) = match answer {
            None => ("202 Accepted", "Content-Length: 0".to_owned()),
            Some(answer) => ("200 OK", format!("Content-Type: application/json\r\nContent-Length: {}", answer.len())),
        };
        self.response(status, &length)
    }

    /// The header of events, which follow as [`event`]s up to [`END_OF_EVENTS`].
    pub(super) fn head_of_events(&self) -> Vec<u8> {
        self.response(
            "200 OK",
            "Content-Type: text/event-stream\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked",
        )
    }

    fn response(&self, status: &str, headers: &str) -> Vec<u8> {
        let connection = if self.close { "close" } else { "keep-alive" };
        let session = self.session.map(|name| format!("{SESSION_HEADER}: {name}\r\n")).unwrap_or_default();
        format!("HTTP/1.1 {status}\r\n{headers}\r\n{session}Connection: {connection}\r\n\r\n").into_bytes()
    }
}

/// No event follows.
pub(super) const END_OF_EVENTS: &[u8] = b"0\r\n\r\n";

/// A message as an event. JSON without line breaks, as ours is, is one line of data.
pub(super) fn event(message: &[u8]) -> Vec<u8> {
    const BEFORE: &[u8] = b"event: message\ndata: ";
    const AFTER: &[u8] = b"\n\n";
    let length = BEFORE.len().saturating_add(message.len()).saturating_add(AFTER.len());
    [format!("{length:x}\r\n").as_bytes(), BEFORE, message, AFTER, b"\r\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_chunk_of_its_length() {
        assert_eq!(event(b"{}"), b"19\r\nevent: message\ndata: {}\n\n\r\n");
        assert_eq!(b"event: message\ndata: {}\n\n".len(), 0x19);
    }
}
