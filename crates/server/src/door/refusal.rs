//! Why somebody is not let in, in words and in HTTP.

use std::borrow::Cow;

/// Why a connection was refused in HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotHttp,
    HeaderTooLarge,
    TooSlow,
    /// What is served instead.
    Path(String),
    NotUpgrade,
    Version,
    Key,
    Origin,
    NoHost,
    Host,
    /// The one that is spoken.
    Subprotocol(&'static str),
    TooManyClients,
    /// MCP over HTTP: only POST is served.
    Method,
    NoLength,
    TooLarge,
    MediaType,
    Unauthorized,
}

impl Refusal {
    const fn status(&self) -> &'static str {
        match self {
            Self::NotHttp | Self::Key | Self::NoHost | Self::Subprotocol(_) => "400 Bad Request",
            Self::Unauthorized => "401 Unauthorized",
            Self::Method => "405 Method Not Allowed",
            Self::NoLength => "411 Length Required",
            Self::TooLarge => "413 Content Too Large",
            Self::MediaType => "415 Unsupported Media Type",
            Self::Origin | Self::Host => "403 Forbidden",
            Self::Path(_) => "404 Not Found",
            Self::TooSlow => "408 Request Timeout",
            Self::NotUpgrade | Self::Version => "426 Upgrade Required",
            Self::HeaderTooLarge => "431 Request Header Fields Too Large",
            Self::TooManyClients => "503 Service Unavailable",
        }
    }

    /// For the person who looks at the failed request, and for the log.
    pub(crate) fn reason(&self) -> Cow<'static, str> {
        let reason = match self {
            Self::NotHttp => "this is not an HTTP/1.1 GET request",
            Self::HeaderTooLarge => "the request header is too large",
            Self::TooSlow => "the request did not arrive in time",
            Self::Path(served) => return format!("only {served} are served here").into(),
            Self::NotUpgrade => "this is a WebSocket server: connect with ws://",
            Self::Version => "only WebSocket version 13 is spoken here",
            Self::Key => "the Sec-WebSocket-Key header must hold 16 bytes in base64",
            Self::Origin => "connections from web pages (an Origin header) are refused",
            Self::NoHost => "there must be exactly one Host header",
            Self::Host => "the Host header names neither this machine's loopback nor the configured host",
            Self::Subprotocol(wanted) => {
                return format!("the WebSocket subprotocol {wanted:?} must be requested").into();
            }
            Self::TooManyClients => "too many clients are connected",
            Self::Method => "send messages with POST, or connect with ws://; there is no stream of events",
            Self::NoLength => "the Content-Length header must say how long the message is",
            Self::TooLarge => "the message is too large",
            Self::MediaType => "a message must be application/json",
            Self::Unauthorized => "the Authorization header must be Bearer and the token",
        };
        reason.into()
    }

    /// The whole HTTP response.
    pub(crate) fn response(&self) -> Vec<u8> {
        let (status, reason) = (self.status(), self.reason());
        let upgrade = match self {
            Self::NotUpgrade | Self::Version => "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
            Self::Method => "Allow: POST\r\n",
            Self::Unauthorized => "WWW-Authenticate: Bearer\r\n",
            _ => "",
        };
        let length = reason.len().saturating_add(1);
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
             {upgrade}Connection: close\r\n\r\n{reason}\n"
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_why_in_words() {
        let response = String::from_utf8(Refusal::Origin.response()).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"));
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
        assert_eq!(body, "connections from web pages (an Origin header) are refused\n");
    }
}
