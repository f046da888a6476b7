//! Why somebody is not let in, in words and in HTTP.

use std::borrow::Cow;

use hyper::{Response, StatusCode, header};

use crate::http::{Body, full};

/// Why a request was refused in HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotHttp,
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
    /// It comes from a program that an agent runs.
    Process,
    // From here on MCP over HTTP.
    Method,
    TooLarge,
    MediaType,
    NotText,
    NotAcceptable,
    ProtocolVersion,
    NoSession,
    UnknownSession,
    UnknownEvent,
    Unauthorized,
}

impl Refusal {
    const fn status(&self) -> StatusCode {
        match self {
            Self::NotHttp
            | Self::Key
            | Self::NoHost
            | Self::Subprotocol(_)
            | Self::NotText
            | Self::ProtocolVersion
            | Self::NoSession => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Origin | Self::Host | Self::Process => StatusCode::FORBIDDEN,
            Self::Path(_) | Self::UnknownSession | Self::UnknownEvent => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::NotUpgrade | Self::Version => StatusCode::UPGRADE_REQUIRED,
            Self::TooManyClients => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// For the user who looks at the failed request, and for the log.
    pub(crate) fn reason(&self) -> Cow<'static, str> {
        let reason = match self {
            Self::NotHttp => "this is not an HTTP/1.1 GET request",
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
            Self::Process => "this process is not the agent that the token was made for, or the agent started it",
            Self::Method => {
                "send messages with POST, listen with GET, end a session with DELETE, or connect with ws://"
            }
            Self::TooLarge => "the message is too large",
            Self::MediaType => "a message must be application/json",
            Self::NotText => "a message must be UTF-8",
            Self::NotAcceptable => "only text/event-stream can be listened to",
            Self::ProtocolVersion => "the MCP-Protocol-Version header names a version that is not spoken here",
            Self::NoSession => "the Mcp-Session-Id header must name a session",
            Self::UnknownSession => "there is no such session",
            Self::UnknownEvent => "the events after this one are not kept",
            Self::Unauthorized => "the Authorization header must be Bearer and the token",
        };
        reason.into()
    }

    /// What is sent.
    pub(crate) fn response(&self) -> Response<Body> {
        let builder = Response::builder()
            .status(self.status())
            .header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
            .header(header::CONNECTION, "close");
        let builder = match self {
            Self::NotUpgrade | Self::Version => {
                builder.header(header::UPGRADE, "websocket").header(header::SEC_WEBSOCKET_VERSION, "13")
            }
            Self::Method => builder.header(header::ALLOW, "GET, POST, DELETE"),
            Self::Unauthorized => builder.header(header::WWW_AUTHENTICATE, "Bearer"),
            _ => builder,
        };
        builder.body(full(format!("{}\n", self.reason()))).unwrap_or_default()
    }

    /// The same as text, for a socket on which no request came.
    pub(crate) fn text(&self) -> String {
        let (status, reason) = (self.status(), self.reason());
        let length = reason.len().saturating_add(1);
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{reason}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_why_in_words() {
        let response = Refusal::Origin.text();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"));
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
        assert_eq!(body, "connections from web pages (an Origin header) are refused\n");
        assert_eq!(Refusal::Unauthorized.response().headers()["www-authenticate"], "Bearer");
    }
}
