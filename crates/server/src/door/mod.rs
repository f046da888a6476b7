//! Who is let in, and where to: the HTTP upgrade, checked before it is answered against what its route asks for, and the
//! token.
//!
//! A wrong request is refused in HTTP, with a reason that a person can read. A wrong token is not: the socket is
//! upgraded and closed with 1008, as the IDEs of the seeds do, so that the CLI can tell it from a broken connection.

mod header;
mod refusal;
mod route;

use std::{io, net::SocketAddr, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use claude_ide_system::host::{is_this_machine, without_port};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use self::header::{Headers, MAX_HEADER_BYTES, MAX_HEADERS, Received};
pub(crate) use self::{
    refusal::Refusal,
    route::{Route, Routes},
};
use crate::{endpoint::Endpoint, http::Sessions};

/// RFC 6455, 4.1: the nonce of the key.
const KEY_BYTES: usize = 16;

/// A request that is fit to be upgraded.
pub(crate) struct Upgrade {
    /// What is behind the door.
    pub(crate) endpoint: Arc<Endpoint>,
    subprotocol: &'static str,
    /// What proves to the client that a WebSocket server answered.
    accept: String,
    /// Whether it showed the token.
    pub(crate) authorized: bool,
    /// Which run of the editor's it is, where it says so.
    pub(crate) run: Option<Box<str>>,
    /// What came after the header.
    pub(crate) rest: Vec<u8>,
}

impl Upgrade {
    /// The whole HTTP response. No extension is offered: the codec has none.
    pub(crate) fn response(&self) -> Vec<u8> {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: {}\r\n\r\n",
            self.accept, self.subprotocol
        )
        .into_bytes()
    }
}

/// A message that came by POST.
pub(crate) struct Post {
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) authorized: bool,
    /// How long the message is.
    pub(crate) length: usize,
    /// The connection ends with its answer.
    pub(crate) close: bool,
    /// The answer may come as events.
    pub(crate) takes_events: bool,
    /// The session it is of, where it says so.
    pub(crate) session: Option<Box<str>>,
    /// Which run of the editor's it is, where it says so.
    pub(crate) run: Option<Box<str>>,
    /// What came after the header.
    pub(crate) rest: Vec<u8>,
}

/// A request that is fit to be served, should it show the token.
pub(crate) enum Knock {
    Upgrade(Upgrade),
    Post(Post),
}

/// What a request is measured against.
pub(crate) struct Doorkeeper<'a> {
    pub(crate) routes: &'a Routes,
    /// The configured host.
    pub(crate) host: &'a str,
    /// The address on which this connection came in.
    pub(crate) local: Option<SocketAddr>,
}

/// Reads a request and judges it. The caller sets the deadline.
///
/// # Errors
/// The outer one if the socket breaks or ends, the inner one if this is no fit request.
pub(crate) async fn read(stream: &TcpStream, doorkeeper: &Doorkeeper<'_>) -> io::Result<Result<Knock, Refusal>> {
    read_on(stream, Vec::new(), doorkeeper).await
}

/// The same, of which some was received before.
pub(crate) async fn read_on(
    stream: &TcpStream,
    received: Vec<u8>,
    doorkeeper: &Doorkeeper<'_>,
) -> io::Result<Result<Knock, Refusal>> {
    let received = header::read(stream, received).await?;
    Ok(received.and_then(|Received { header, rest }| doorkeeper.judge(&header, rest)))
}

impl Doorkeeper<'_> {
    fn judge(&self, header: &[u8], rest: Vec<u8>) -> Result<Knock, Refusal> {
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
        if request.version != Some(1) {
            return Err(Refusal::NotHttp);
        }
        let method = request.method;
        let path = request.path.unwrap_or_default().split('?').next().unwrap_or_default();
        let headers = Headers(request.headers);
        // Where no route is, nobody's page has any business.
        let route = self.routes.find(path);
        if !headers.all("origin").all(|origin| route.is_some_and(|route| route.policy.takes_origin(origin))) {
            return Err(Refusal::Origin);
        }
        let host = headers.only("host").ok_or(Refusal::NoHost)?;
        if !self.knows_host(host) {
            return Err(Refusal::Host);
        }
        let takes_posts = route.is_some_and(|route| route.policy.takes_posts);
        // RFC 6455, 4.2.1: a GET of HTTP/1.1 or later.
        if method != Some("GET") && !takes_posts {
            return Err(Refusal::NotHttp);
        }
        let Route { policy, token, endpoint, .. } = route.ok_or_else(|| Refusal::Path(self.routes.served()))?;
        let authorized = headers
            .only(policy.token_header)
            .and_then(|header| policy.shown(header))
            .is_some_and(|shown| token.matches(shown));
        if method == Some("POST") {
            let (length, close) = post(&headers, endpoint)?;
            let (takes_events, session, run) = (takes_events(&headers), session(&headers), run(&headers));
            let endpoint = Arc::clone(endpoint);
            return Ok(Knock::Post(Post { endpoint, authorized, length, close, takes_events, session, run, rest }));
        }
        if takes_posts && (method != Some("GET") || !headers.lists("upgrade", "websocket")) {
            return Err(Refusal::Method);
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
        if !headers.list("sec-websocket-protocol").any(|value| value == policy.subprotocol.as_bytes()) {
            return Err(Refusal::Subprotocol(policy.subprotocol));
        }
        Ok(Knock::Upgrade(Upgrade {
            endpoint: Arc::clone(endpoint),
            subprotocol: policy.subprotocol,
            accept: derive_accept_key(key),
            authorized,
            run: run(&headers),
            rest,
        }))
    }

    /// A web page can make a name of its own point here (DNS rebinding); it cannot make a browser send another name.
    fn knows_host(&self, host: &[u8]) -> bool {
        let Ok(host) = std::str::from_utf8(host) else { return false };
        is_this_machine(without_port(host.trim()), self.host, self.local)
    }
}

/// How long the message of a POST is, and whether the connection ends with it.
fn post(headers: &Headers<'_, '_>, endpoint: &Endpoint) -> Result<(usize, bool), Refusal> {
    let kind = headers.only("content-type").and_then(|value| value.split(|&byte| byte == b';').next());
    if !kind.is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(b"application/json")) {
        return Err(Refusal::MediaType);
    }
    if headers.all("transfer-encoding").next().is_some() {
        return Err(Refusal::NoLength);
    }
    let length = headers.only("content-length").and_then(|value| std::str::from_utf8(value).ok());
    let length = length.and_then(|value| value.parse::<usize>().ok()).ok_or(Refusal::NoLength)?;
    if length > endpoint.limits.message_bytes {
        return Err(Refusal::TooLarge);
    }
    Ok((length, headers.lists("connection", "close")))
}

/// MCP, "Sending Messages to the Server": a client names both forms of an answer.
fn takes_events(headers: &Headers<'_, '_>) -> bool {
    headers.list("accept").any(|kind| {
        let kind = kind.split(|&byte| byte == b';').next().unwrap_or_default();
        kind.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
    })
}

/// MCP, "Session Management".
fn session(headers: &Headers<'_, '_>) -> Option<Box<str>> {
    let name = headers.only("mcp-session-id").filter(|name| Sessions::is_name(name))?;
    std::str::from_utf8(name).ok().map(Into::into)
}

/// Which of the programs that the editor started this is, by the editor's own name for it.
const RUN: &str = "x-claude-ide-run";
const MAX_RUN: usize = 64;

fn run(headers: &Headers<'_, '_>) -> Option<Box<str>> {
    let name = std::str::from_utf8(headers.only(RUN)?).ok()?;
    let fits = (1..=MAX_RUN).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    fits.then(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::{route::Policy, *};
    use crate::{options::ServerOptions, token::AuthToken};

    const TOKEN: &str = "secret-secret-secret";

    /// The IDE's, and one that asks for other things.
    fn routes() -> Routes {
        let endpoint = Arc::new(Endpoint::ide(&ServerOptions::default()));
        let other = Policy {
            origins: vec!["http://127.0.0.1:8".to_owned()],
            token_header: "authorization",
            token_prefix: "Bearer ",
            subprotocol: "other",
            takes_posts: false,
        };
        Routes::new(vec![
            Route::ide(AuthToken::known(TOKEN), Arc::clone(&endpoint)),
            Route { paths: &["/other"], policy: other, token: AuthToken::known("another"), endpoint },
        ])
    }

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
        match (Doorkeeper { routes: &routes(), host, local }).judge(request, Vec::new())? {
            Knock::Upgrade(upgrade) => Ok(upgrade),
            Knock::Post(_) => panic!("none of these doors takes a POST"),
        }
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
    fn a_program_that_the_editor_started_says_which() {
        let named = |line: &str| with("Upgrade", &format!("Upgrade: websocket\r\n{line}")).unwrap().run;
        assert_eq!(named("X-Claude-Ide-Run: terminal:7").as_deref(), Some("terminal:7"));
        let long = format!("X-Claude-Ide-Run: {}", "x".repeat(65));
        for line in ["X-Other: 1", "X-Claude-Ide-Run:", "X-Claude-Ide-Run: a b", &long] {
            assert_eq!(named(line), None, "{line}");
        }
    }

    #[test]
    fn serves_both_paths_of_the_seeds() {
        assert!(with("GET", "GET /mcp HTTP/1.1").is_ok());
        assert!(with("GET", "GET /mcp?session=1 HTTP/1.1").is_ok());
        assert_eq!(with("GET", "GET /nowhere HTTP/1.1").err(), Some(Refusal::Path("/, /mcp and /other".to_owned())));
    }

    #[test]
    fn refuses_any_origin_even_with_the_token() {
        for origin in ["https://evil.example", "null", "", "http://127.0.0.1:41234"] {
            assert_eq!(
                with("Upgrade", &format!("Upgrade: websocket\r\nOrigin: {origin}")).err(),
                Some(Refusal::Origin)
            );
        }
    }

    #[test]
    fn refuses_a_host_that_is_not_this_machine() {
        for host in ["evil.example", "evil.example:41234", "localhost.evil.example", "192.168.0.9", "127.0.0.1.evil"] {
            assert_eq!(with("Host", &format!("Host: {host}")).err(), Some(Refusal::Host), "{host}");
        }
        assert_eq!(with("Host", "").err(), Some(Refusal::NoHost));
        assert_eq!(with("Host", "Host: 127.0.0.1\r\nHost: evil.example").err(), Some(Refusal::NoHost));
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
        assert_eq!(judge_with("0.0.0.0", "172.17.0.2:41234".parse().ok(), &numbered).err(), Some(Refusal::Host));
    }

    #[test]
    fn wants_the_subprotocol() {
        let header = "Sec-WebSocket-Protocol";
        assert!(with(header, "Sec-WebSocket-Protocol: other, mcp").is_ok());
        assert_eq!(with(header, "").err(), Some(Refusal::Subprotocol("mcp")));
        assert_eq!(with(header, "Sec-WebSocket-Protocol: mcp2").err(), Some(Refusal::Subprotocol("mcp")));
    }

    #[test]
    fn wants_a_websocket_upgrade() {
        assert_eq!(with("Upgrade", "").err(), Some(Refusal::NotUpgrade));
        assert_eq!(with("Connection", "Connection: keep-alive").err(), Some(Refusal::NotUpgrade));
        assert_eq!(with("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8").err(), Some(Refusal::Version));
        assert_eq!(with("Sec-WebSocket-Key", "Sec-WebSocket-Key: test").err(), Some(Refusal::Key));
        assert_eq!(with("Sec-WebSocket-Key", "").err(), Some(Refusal::Key));
        assert_eq!(with("GET", "GET / HTTP/1.0").err(), Some(Refusal::NotHttp));
        assert_eq!(with("GET", "POST / HTTP/1.1").err(), Some(Refusal::NotHttp));
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
        assert_eq!(with("Upgrade", &format!("{flood}Upgrade: websocket")).err(), Some(Refusal::HeaderTooLarge));
    }

    #[test]
    fn each_route_has_a_policy_and_a_token_of_its_own() {
        let ask = |origin: &str, subprotocol: &str, token: &str| {
            let text = format!(
                "GET /other HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                 Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                 Origin: {origin}\r\nSec-WebSocket-Protocol: {subprotocol}\r\n{token}\r\n\r\n"
            );
            judge_with("127.0.0.1", None, text.as_bytes())
        };
        let (page, token) = ("http://127.0.0.1:8", "Authorization: bearer another");
        assert!(ask(page, "other", token).unwrap().authorized);
        assert!(!ask(page, "other", "Authorization: Bearer secret-secret-secret").unwrap().authorized);
        assert!(!ask(page, "other", "Authorization: another").unwrap().authorized, "nor without the scheme");
        assert!(!ask(page, "other", "X-Claude-Code-Ide-Authorization: another").unwrap().authorized);
        assert_eq!(ask("http://127.0.0.1:80", "other", token).err(), Some(Refusal::Origin));
        assert_eq!(ask(page, "mcp", token).err(), Some(Refusal::Subprotocol("other")));
    }
}
