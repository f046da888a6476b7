//! Who is let in: the HTTP upgrade, checked before it is answered, and the token.
//!
//! A wrong request is refused in HTTP, with a reason that a person can read. A wrong token is not: the socket is
//! upgraded and closed with 1008, as the IDEs of the seeds do, so that the CLI can tell it from a broken connection.

use std::{
    io,
    net::{IpAddr, SocketAddr},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use claude_ide_protocol::ide::{AUTHORIZATION_HEADER, SUBPROTOCOL};

use crate::token::AuthToken;

/// More than any client sends; the token and the browser-like headers come to less than 1 KiB.
const MAX_HEADER_BYTES: usize = 16 << 10;
const MAX_HEADERS: usize = 64;
/// RFC 6455, 4.1: the nonce of the key.
const KEY_BYTES: usize = 16;
/// Seed 000 connects to `/`, as the CLI does; seed 001 to `/mcp`.
const PATHS: [&str; 2] = ["/", "/mcp"];

/// Why a connection was refused in HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    NotHttp,
    HeaderTooLarge,
    TooSlow,
    Path,
    NotUpgrade,
    Version,
    Key,
    Origin,
    NoHost,
    Host,
    Subprotocol,
    TooManyClients,
}

impl Refusal {
    const fn status(self) -> &'static str {
        match self {
            Self::NotHttp | Self::Key | Self::NoHost | Self::Subprotocol => "400 Bad Request",
            Self::Origin | Self::Host => "403 Forbidden",
            Self::Path => "404 Not Found",
            Self::TooSlow => "408 Request Timeout",
            Self::NotUpgrade | Self::Version => "426 Upgrade Required",
            Self::HeaderTooLarge => "431 Request Header Fields Too Large",
            Self::TooManyClients => "503 Service Unavailable",
        }
    }

    /// For the person who looks at the failed request, and for the log.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::NotHttp => "this is not an HTTP/1.1 GET request",
            Self::HeaderTooLarge => "the request header is too large",
            Self::TooSlow => "the request did not arrive in time",
            Self::Path => "only / and /mcp are served here",
            Self::NotUpgrade => "this is a WebSocket server: connect with ws://",
            Self::Version => "only WebSocket version 13 is spoken here",
            Self::Key => "the Sec-WebSocket-Key header must hold 16 bytes in base64",
            Self::Origin => "connections from web pages (an Origin header) are refused",
            Self::NoHost => "there must be exactly one Host header",
            Self::Host => "the Host header names neither this machine's loopback nor the configured host",
            Self::Subprotocol => "the WebSocket subprotocol \"mcp\" must be requested",
            Self::TooManyClients => "too many clients are connected",
        }
    }

    /// The whole HTTP response.
    pub(crate) fn response(self) -> Vec<u8> {
        let (status, reason) = (self.status(), self.reason());
        let upgrade = match self {
            Self::NotUpgrade | Self::Version => "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
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

/// A request that is fit to be upgraded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Upgrade {
    /// What proves to the client that a WebSocket server answered.
    accept: String,
    /// Whether it showed the token.
    pub(crate) authorized: bool,
    /// What came after the header.
    pub(crate) rest: Vec<u8>,
}

impl Upgrade {
    /// The whole HTTP response. No extension is offered: the codec has none.
    pub(crate) fn response(&self) -> Vec<u8> {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n",
            self.accept
        )
        .into_bytes()
    }
}

/// What a request is measured against.
#[derive(Debug)]
pub(crate) struct Doorkeeper<'a> {
    pub(crate) token: &'a AuthToken,
    /// The configured host.
    pub(crate) host: &'a str,
    /// The address on which this connection came in.
    pub(crate) local: Option<SocketAddr>,
}

/// Reads the request header. The caller sets the deadline.
///
/// # Errors
/// The outer one if the socket breaks or ends, the inner one if this is no fit request.
pub(crate) async fn read(stream: &TcpStream, doorkeeper: &Doorkeeper<'_>) -> io::Result<Result<Upgrade, Refusal>> {
    let mut received = Vec::new();
    let mut chunk = [0_u8; 2048];
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
            return Ok(doorkeeper.judge(&received, rest));
        }
        if !GET.starts_with(received.get(..GET.len()).unwrap_or(&received)) {
            return Ok(Err(Refusal::NotHttp));
        }
        if received.len() > MAX_HEADER_BYTES {
            return Ok(Err(Refusal::HeaderTooLarge));
        }
    }
}

const GET: &[u8] = b"GET ";
const END_OF_HEADER: &[u8] = b"\r\n\r\n";

fn end_of_header(received: &[u8], from: usize) -> Option<usize> {
    let unsearched = received.get(from..)?;
    let at = unsearched.windows(END_OF_HEADER.len()).position(|window| window == END_OF_HEADER)?;
    from.checked_add(at)?.checked_add(END_OF_HEADER.len())
}

impl Doorkeeper<'_> {
    fn judge(&self, header: &[u8], rest: Vec<u8>) -> Result<Upgrade, Refusal> {
        if header.len() > MAX_HEADER_BYTES {
            return Err(Refusal::HeaderTooLarge);
        }
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(header) {
            Ok(httparse::Status::Complete(_)) => {}
            Err(httparse::Error::TooManyHeaders) => return Err(Refusal::HeaderTooLarge),
            Ok(httparse::Status::Partial) | Err(_) => return Err(Refusal::NotHttp),
        }
        // RFC 6455, 4.2.1: a GET of HTTP/1.1 or later.
        if request.method != Some("GET") || request.version != Some(1) {
            return Err(Refusal::NotHttp);
        }
        let path = request.path.unwrap_or_default().split('?').next().unwrap_or_default();
        let headers = Headers(request.headers);
        if headers.all("origin").next().is_some() {
            return Err(Refusal::Origin);
        }
        let host = headers.only("host").ok_or(Refusal::NoHost)?;
        if !self.knows_host(host) {
            return Err(Refusal::Host);
        }
        if !PATHS.contains(&path) {
            return Err(Refusal::Path);
        }
        if !headers.lists("upgrade", "websocket") || !headers.lists("connection", "upgrade") {
            return Err(Refusal::NotUpgrade);
        }
        if headers.only("sec-websocket-version") != Some(b"13") {
            return Err(Refusal::Version);
        }
        let key = headers.only("sec-websocket-key").ok_or(Refusal::Key)?;
        if !BASE64.decode(key).is_ok_and(|nonce| nonce.len() == KEY_BYTES) {
            return Err(Refusal::Key);
        }
        if !headers.names_subprotocol() {
            return Err(Refusal::Subprotocol);
        }
        Ok(Upgrade {
            accept: derive_accept_key(key),
            authorized: headers.only(AUTHORIZATION_HEADER).is_some_and(|shown| self.token.matches(shown)),
            rest,
        })
    }

    /// A web page can make a name of its own point here (DNS rebinding); it cannot make a browser send another name.
    fn knows_host(&self, host: &[u8]) -> bool {
        let Ok(host) = std::str::from_utf8(host) else { return false };
        let name = without_port(host.trim());
        if name.eq_ignore_ascii_case("localhost") || name.eq_ignore_ascii_case(self.host) {
            return true;
        }
        name.parse::<IpAddr>().is_ok_and(|address| {
            address.to_canonical().is_loopback()
                || self.local.is_some_and(|local| local.ip().to_canonical() == address.to_canonical())
        })
    }
}

/// `127.0.0.1:80` → `127.0.0.1`, `[::1]:80` → `::1`
fn without_port(host: &str) -> &str {
    if let Some(bracketed) = host.strip_prefix('[') {
        return bracketed.split(']').next().unwrap_or_default();
    }
    host.split_once(':').map_or(host, |(name, _)| name)
}

struct Headers<'h, 'b>(&'h [httparse::Header<'b>]);

impl<'b> Headers<'_, 'b> {
    fn all(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        self.0.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|header| header.value)
    }

    /// The value, if the header is there exactly once.
    fn only(&self, name: &str) -> Option<&'b [u8]> {
        let mut all = self.all(name);
        let first = all.next()?;
        all.next().is_none().then(|| first.trim_ascii())
    }

    /// The values of a comma-separated list, spread over any number of headers.
    fn list(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        self.all(name).flat_map(|value| value.split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
    }

    fn lists(&self, name: &str, wanted: &str) -> bool {
        self.list(name).any(|value| value.eq_ignore_ascii_case(wanted.as_bytes()))
    }

    fn names_subprotocol(&self) -> bool {
        self.list("sec-websocket-protocol").any(|value| value == SUBPROTOCOL.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "secret-secret-secret";

    fn request(change: impl Fn(&str) -> Option<String>) -> Vec<u8> {
        let lines = [
            "GET / HTTP/1.1",
            "Host: 127.0.0.1:41234",
            "Connection: keep-alive, Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Protocol: mcp",
            "X-Claude-Code-Ide-Authorization: secret-secret-secret",
        ];
        let mut text: String =
            lines.iter().filter_map(|line| change(line)).fold(String::new(), |text, line| text + &line + "\r\n");
        text.push_str("\r\n");
        text.into_bytes()
    }

    fn judge_with(host: &str, local: Option<SocketAddr>, request: &[u8]) -> Result<Upgrade, Refusal> {
        let token = AuthToken::known(TOKEN);
        Doorkeeper { token: &token, host, local }.judge(request, Vec::new())
    }

    fn judge(change: impl Fn(&str) -> Option<String>) -> Result<Upgrade, Refusal> {
        judge_with("127.0.0.1", None, &request(change))
    }

    /// The request with one line replaced; an empty replacement leaves the line out.
    fn with(prefix: &str, line: &str) -> Result<Upgrade, Refusal> {
        judge(|old| {
            if !old.starts_with(prefix) {
                return Some(old.to_owned());
            }
            (!line.is_empty()).then(|| line.to_owned())
        })
    }

    #[test]
    fn lets_the_cli_in() {
        let upgrade = judge(|line| Some(line.to_owned())).unwrap();
        assert!(upgrade.authorized);
        assert_eq!(upgrade.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "RFC 6455, 1.3");
        let response = String::from_utf8(upgrade.response()).unwrap();
        assert!(response.starts_with("HTTP/1.1 101 "), "{response}");
        assert!(response.contains("Sec-WebSocket-Protocol: mcp\r\n"), "{response}");
        assert!(!response.contains("Extensions"), "no extension is negotiated: {response}");
    }

    #[test]
    fn serves_both_paths_of_the_seeds() {
        assert!(with("GET", "GET /mcp HTTP/1.1").is_ok());
        assert!(with("GET", "GET /mcp?session=1 HTTP/1.1").is_ok());
        assert_eq!(with("GET", "GET /other HTTP/1.1"), Err(Refusal::Path));
    }

    #[test]
    fn refuses_any_origin_even_with_the_token() {
        for origin in ["https://evil.example", "null", "", "http://127.0.0.1:41234"] {
            assert_eq!(with("Upgrade", &format!("Upgrade: websocket\r\nOrigin: {origin}")), Err(Refusal::Origin));
        }
    }

    #[test]
    fn refuses_a_host_that_is_not_this_machine() {
        for host in ["evil.example", "evil.example:41234", "localhost.evil.example", "192.168.0.9", "127.0.0.1.evil"] {
            assert_eq!(with("Host", &format!("Host: {host}")), Err(Refusal::Host), "{host}");
        }
        assert_eq!(with("Host", ""), Err(Refusal::NoHost));
        assert_eq!(with("Host", "Host: 127.0.0.1\r\nHost: evil.example"), Err(Refusal::NoHost));
    }

    #[test]
    fn knows_loopback_by_every_name() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1", "127.1.2.3:80", "[::1]:41234", "[::1]"] {
            assert!(with("Host", &format!("Host: {host}")).is_ok(), "{host}");
        }
    }

    #[test]
    fn knows_the_configured_host_and_the_address_it_was_reached_by() {
        let named = request(|line| Some(line.replace("127.0.0.1:41234", "ide.internal:41234")));
        assert!(judge_with("ide.internal", None, &named).is_ok());
        let numbered = request(|line| Some(line.replace("127.0.0.1:41234", "172.17.0.1:41234")));
        assert!(judge_with("0.0.0.0", "172.17.0.1:41234".parse().ok(), &numbered).is_ok());
        assert_eq!(judge_with("0.0.0.0", "172.17.0.2:41234".parse().ok(), &numbered), Err(Refusal::Host));
    }

    #[test]
    fn wants_the_subprotocol() {
        let header = "Sec-WebSocket-Protocol";
        assert!(with(header, "Sec-WebSocket-Protocol: other, mcp").is_ok());
        assert_eq!(with(header, ""), Err(Refusal::Subprotocol));
        assert_eq!(with(header, "Sec-WebSocket-Protocol: mcp2"), Err(Refusal::Subprotocol));
    }

    #[test]
    fn wants_a_websocket_upgrade() {
        assert_eq!(with("Upgrade", ""), Err(Refusal::NotUpgrade));
        assert_eq!(with("Connection", "Connection: keep-alive"), Err(Refusal::NotUpgrade));
        assert_eq!(with("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8"), Err(Refusal::Version));
        assert_eq!(with("Sec-WebSocket-Key", "Sec-WebSocket-Key: test"), Err(Refusal::Key));
        assert_eq!(with("Sec-WebSocket-Key", ""), Err(Refusal::Key));
        assert_eq!(with("GET", "GET / HTTP/1.0"), Err(Refusal::NotHttp));
        assert_eq!(with("GET", "POST / HTTP/1.1"), Err(Refusal::NotHttp));
    }

    #[test]
    fn a_wrong_token_is_upgraded_but_not_authorized() {
        for line in ["", "X-Claude-Code-Ide-Authorization: secret-secret-secreT", "X-Claude-Code-Ide-Authorization:"] {
            assert!(!with("X-Claude", line).unwrap().authorized, "{line}");
        }
        let twice = "X-Claude-Code-Ide-Authorization: guess\r\nX-Claude-Code-Ide-Authorization: secret-secret-secret";
        assert!(!with("X-Claude", twice).unwrap().authorized, "one header, one guess");
    }

    #[test]
    fn refuses_a_header_of_too_many_lines() {
        let flood: String = (0..MAX_HEADERS).map(|number| format!("X-{number}: x\r\n")).collect();
        assert_eq!(with("Upgrade", &format!("{flood}Upgrade: websocket")), Err(Refusal::HeaderTooLarge));
    }

    #[test]
    fn says_why_in_words() {
        let response = String::from_utf8(Refusal::Origin.response()).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 403 Forbidden\r\n"));
        assert!(head.contains(&format!("Content-Length: {}", body.len())));
        assert_eq!(body, "connections from web pages (an Origin header) are refused\n");
    }

    #[test]
    fn the_end_of_the_header_is_found_across_chunks() {
        assert_eq!(end_of_header(b"a\r\n\r\nrest", 0), Some(5));
        assert_eq!(end_of_header(b"a\r\n\r", 0), None);
        assert_eq!(end_of_header(b"aaaa\r\n\r\n", 3), Some(8));
    }
}
