//! Who is let in, and where to: a request is checked before it is answered against what its route asks for, and the token.
//!
//! A wrong request is refused in HTTP, with a reason that the user can read. A wrong token is not, where a WebSocket is asked
//! for: the socket is upgraded and closed with 1008, as the IDEs of the seeds do, so that the CLI can tell it from a broken
//! connection.

mod header;
mod refusal;
mod route;

use std::{net::SocketAddr, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use claude_ide_system::host::{is_this_machine, without_port};
use hyper::{
    Method, Response, StatusCode, Version,
    header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL, UPGRADE},
    http::request::Parts,
};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

pub(crate) use self::{
    header::Headers,
    refusal::Refusal,
    route::{Access, Route, Routes},
};
use crate::{
    endpoint::Endpoint,
    http::{Body, empty},
};

/// RFC 6455, 4.1: the nonce of the key.
const KEY_BYTES: usize = 16;

/// A request that is fit to be upgraded.
pub(crate) struct Upgrade {
    /// What is behind the door.
    pub(crate) endpoint: Arc<Endpoint>,
    subprotocol: &'static str,
    /// What proves to the client that a WebSocket server answered.
    accept: String,
    /// What it may do by the token that it showed; none where it showed none, or a wrong one.
    pub(crate) access: Option<Access>,
}

impl Upgrade {
    /// The answer. No extension is offered: the codec has none.
    pub(crate) fn response(&self) -> Response<Body> {
        let response = Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header(UPGRADE, "websocket")
            .header(CONNECTION, "Upgrade")
            .header(SEC_WEBSOCKET_ACCEPT, &self.accept)
            .header(SEC_WEBSOCKET_PROTOCOL, self.subprotocol)
            .body(empty());
        response.unwrap_or_default()
    }
}

/// A request that is fit to be served, should it show the token.
pub(crate) enum Knock {
    Upgrade(Upgrade),
    /// MCP over HTTP.
    Http(Arc<Endpoint>, Option<Access>),
}

/// What a request is measured against.
pub(crate) struct Doorkeeper<'a> {
    pub(crate) routes: &'a Routes,
    /// The configured host.
    pub(crate) host: &'a str,
    /// The address on which this connection came in.
    pub(crate) local: Option<SocketAddr>,
}

impl Doorkeeper<'_> {
    /// Judges the head of a request.
    ///
    /// # Errors
    /// Why it is not fit.
    pub(crate) fn judge(&self, request: &Parts) -> Result<Knock, Refusal> {
        if request.version != Version::HTTP_11 {
            return Err(Refusal::NotHttp);
        }
        let (method, headers) = (&request.method, Headers(&request.headers));
        // Where no route is, no page has any business.
        let route = self.routes.find(request.uri.path());
        if !headers.all("origin").all(|origin| route.is_some_and(|route| route.policy.takes_origin(origin))) {
            return Err(Refusal::Origin);
        }
        let host = headers.only("host").ok_or(Refusal::NoHost)?;
        if !self.knows_host(host) {
            return Err(Refusal::Host);
        }
        let takes_posts = route.is_some_and(|route| route.policy.takes_posts);
        // RFC 6455, 4.2.1: a GET of HTTP/1.1 or later.
        if method != Method::GET && !takes_posts {
            return Err(Refusal::NotHttp);
        }
        let Route { policy, keys, endpoint, .. } = route.ok_or_else(|| Refusal::Path(self.routes.served()))?;
        let shown = headers.only(policy.token_header).and_then(|header| policy.shown(header));
        let access = shown.and_then(|shown| keys.judge(shown));
        let asks_for_socket = headers.lists("upgrade", "websocket");
        match *method {
            Method::GET if !takes_posts || asks_for_socket => {}
            Method::GET | Method::POST | Method::DELETE => return Ok(Knock::Http(Arc::clone(endpoint), access)),
            _ => return Err(Refusal::Method),
        }
        if !asks_for_socket || !headers.lists("connection", "upgrade") {
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
            access,
        }))
    }

    /// A web page can make a name of its own point here (DNS rebinding); it cannot make a browser send another name.
    fn knows_host(&self, host: &[u8]) -> bool {
        let Ok(host) = std::str::from_utf8(host) else { return false };
        is_this_machine(without_port(host.trim()), self.host, self.local)
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::{
        route::{Keys, Policy},
        *,
    };
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
            Route {
                paths: &["/other"],
                policy: other,
                keys: Keys { token: AuthToken::known("another"), runs: None },
                endpoint,
            },
        ])
    }

    fn request(change: impl Fn(&str) -> Option<String>) -> String {
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
        lines.iter().filter_map(|line| change(line)).fold(String::new(), |text, line| text + &line + "\r\n")
    }

    fn parts(request: &str) -> Parts {
        let mut lines = request.trim_end().split("\r\n");
        let first: Vec<_> = lines.next().unwrap().split(' ').collect();
        let version = if first[2] == "HTTP/1.0" { Version::HTTP_10 } else { Version::HTTP_11 };
        let builder = Request::builder().method(first[0]).uri(first[1]).version(version);
        let headers = lines.map(|line| line.split_once(':').unwrap());
        let request = headers.fold(builder, |builder, (name, value)| builder.header(name, value.trim_start()));
        request.body(()).unwrap().into_parts().0
    }

    fn judge_with(host: &str, local: Option<SocketAddr>, request: &str) -> Result<Upgrade, Refusal> {
        match (Doorkeeper { routes: &routes(), host, local }).judge(&parts(request))? {
            Knock::Upgrade(upgrade) => Ok(upgrade),
            Knock::Http(..) => panic!("none of these doors takes a POST"),
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
        assert!(upgrade.access.is_some());
        assert_eq!(upgrade.accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "RFC 6455, 1.3");
        let response = upgrade.response();
        assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
        assert_eq!(response.headers()["sec-websocket-protocol"], "mcp");
        assert!(!response.headers().contains_key("sec-websocket-extensions"), "no extension is negotiated");
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
            assert!(with("X-Claude", line).unwrap().access.is_none(), "{line}");
        }
        let twice = "X-Claude-Code-Ide-Authorization: guess\r\nX-Claude-Code-Ide-Authorization: secret-secret-secret";
        assert!(with("X-Claude", twice).unwrap().access.is_none(), "one header, one guess");
    }

    #[test]
    fn each_route_has_a_policy_and_a_token_of_its_own() {
        let ask = |origin: &str, subprotocol: &str, token: &str| {
            let text = format!(
                "GET /other HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                 Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                 Origin: {origin}\r\nSec-WebSocket-Protocol: {subprotocol}\r\n{token}\r\n\r\n"
            );
            judge_with("127.0.0.1", None, &text)
        };
        let (page, token) = ("http://127.0.0.1:8", "Authorization: bearer another");
        assert!(ask(page, "other", token).unwrap().access.is_some());
        assert!(ask(page, "other", "Authorization: Bearer secret-secret-secret").unwrap().access.is_none());
        assert!(ask(page, "other", "Authorization: another").unwrap().access.is_none(), "nor without the scheme");
        assert!(ask(page, "other", "X-Claude-Code-Ide-Authorization: another").unwrap().access.is_none());
        assert_eq!(ask("http://127.0.0.1:80", "other", token).err(), Some(Refusal::Origin));
        assert_eq!(ask(page, "mcp", token).err(), Some(Refusal::Subprotocol("other")));
    }
}
