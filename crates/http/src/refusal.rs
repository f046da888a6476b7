//! Why a request is refused.

use hyper::StatusCode;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The request line names a host, which would override the header.
    Authority,
    /// `Host` is missing or repeated.
    NoHost,
    /// `Host` names another machine.
    Host,
    /// It comes from another site's page.
    Origin,
    /// Its head or body did not arrive in time.
    TooSlow,
    /// Its body is too large.
    TooLarge,
    /// Its body ends early or is malformed.
    Broken,
    /// It is no HTTP/1.1 GET.
    NotGet,
    /// It is no WebSocket upgrade.
    NotUpgrade,
    /// It requests another WebSocket version.
    Version,
    /// It has no valid `Sec-WebSocket-Key`.
    Key,
    /// It does not offer this subprotocol.
    Subprotocol(&'static str),
}

impl Refusal {
    /// The HTTP status.
    #[must_use]
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotUpgrade | Self::Version => StatusCode::UPGRADE_REQUIRED,
            Self::Authority | Self::NoHost | Self::Broken | Self::NotGet | Self::Key | Self::Subprotocol(_) => {
                StatusCode::BAD_REQUEST
            }
        }
    }

    /// A reason for the user, and for the log.
    #[must_use]
    pub fn reason(self) -> String {
        let reason = match self {
            Self::Authority => "the request line must hold a path, and no host",
            Self::NoHost => "there must be exactly one Host header",
            Self::Host => "the Host header names neither this machine's loopback nor the configured host",
            Self::Origin => "connections from web pages (an Origin header) are refused",
            Self::TooSlow => "the request did not arrive in time",
            Self::TooLarge => "the message is too large",
            Self::Broken => "the request's body ends early or is malformed",
            Self::NotGet => "this is not an HTTP/1.1 GET request",
            Self::NotUpgrade => "this is a WebSocket server: connect with ws://",
            Self::Version => "only WebSocket version 13 is spoken here",
            Self::Key => "the Sec-WebSocket-Key header must hold 16 bytes in base64",
            Self::Subprotocol(wanted) => return format!("the WebSocket subprotocol {wanted:?} must be requested"),
        };
        reason.to_owned()
    }
}
