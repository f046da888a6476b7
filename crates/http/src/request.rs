//! Checks of a request's head, before anything is done for it.
//!
//! A web page can point a name of its own here (DNS rebinding), but the browser then sends that name as `Host`. A page
//! of another origin can send requests here, but the browser then sends its `Origin`.

use std::net::SocketAddr;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use claude_ide_system::host::{is_this_machine, without_port};
use hyper::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode, Version};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::body::{Body, empty};
use crate::refusal::Refusal;

/// Length of the key's nonce: RFC 6455, 4.1.
const KEY_BYTES: usize = 16;

/// A request's headers, looked up by name.
#[derive(Clone, Copy)]
pub struct Headers<'h>(pub &'h HeaderMap);

impl<'h> Headers<'h> {
    /// All values of a header.
    pub fn all(self, name: &str) -> impl Iterator<Item = &'h [u8]> + use<'h> {
        self.0.get_all(name).iter().map(|value| value.as_bytes().trim_ascii())
    }

    /// The value of a header that occurs exactly once.
    #[must_use]
    pub fn only(self, name: &str) -> Option<&'h [u8]> {
        only(self.all(name))
    }

    /// The items of a comma-separated list, across all headers of this name.
    pub fn list(self, name: &str) -> impl Iterator<Item = &'h [u8]> + use<'h> {
        self.all(name).flat_map(|value| value.split(|&byte| byte == b',')).map(<[u8]>::trim_ascii)
    }

    fn lists(self, name: &str, wanted: &str) -> bool {
        self.list(name).any(|value| value.eq_ignore_ascii_case(wanted.as_bytes()))
    }

    /// Whether an upgrade to WebSocket is requested.
    #[must_use]
    pub fn ask_for_a_socket(self) -> bool {
        self.lists("upgrade", "websocket")
    }
}

fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

/// The accepted names of this machine.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The configured host; loopback names are always accepted.
    pub host: String,
    /// Other names, of tunnels and proxies. They may use https.
    pub names: Vec<String>,
}

/// The pages whose requests are accepted. A request without `Origin` comes from no page: browsers send it with each
/// upgrade and each request that could change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pages {
    /// None.
    None,
    /// Those served from here.
    Own,
}

/// A route's requirements.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The accepted pages.
    pub pages: Pages,
    /// The headers that may carry a secret, with the prefix before it. The first one present counts.
    pub secrets: &'static [(&'static str, &'static str)],
    /// The WebSocket subprotocol, if one is required.
    pub subprotocol: Option<&'static str>,
}

impl Policy {
    /// Checks the host and the origin of a request.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn judge(&self, request: &Parts, hosts: &Hosts, local: Option<SocketAddr>) -> Result<(), Refusal> {
        if request.uri.authority().is_some() {
            return Err(Refusal::Authority);
        }
        let headers = Headers(&request.headers);
        let host = headers.only("host").ok_or(Refusal::NoHost)?;
        let host = std::str::from_utf8(host).map_err(|_| Refusal::Host)?;
        let name = without_port(host);
        let is_named = hosts.names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if !is_named && !is_this_machine(name, &hosts.host, local) {
            return Err(Refusal::Host);
        }
        let is_own = |origin: &[u8]| {
            let after = |scheme: &str| origin.strip_prefix(scheme.as_bytes());
            let authority = after("http://").or_else(|| after("https://").filter(|_| is_named));
            self.pages == Pages::Own
                && authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host.as_bytes()))
        };
        if headers.all("origin").count() > 1 || !headers.all("origin").all(is_own) {
            return Err(Refusal::Origin);
        }
        Ok(())
    }

    /// The presented secret. Only one header counts, so a request is one guess.
    #[must_use]
    pub fn shown<'h>(&self, headers: Headers<'h>) -> Option<&'h [u8]> {
        let after = |value: &'h [u8], prefix: &str| {
            let (before, secret) = value.split_at_checked(prefix.len())?;
            before.eq_ignore_ascii_case(prefix.as_bytes()).then(|| secret.trim_ascii())
        };
        let mut secrets = self.secrets.iter();
        secrets.find_map(|(name, prefix)| only(headers.all(name).filter_map(|value| after(value, prefix))))
    }

    /// The response that upgrades to a WebSocket. No extensions: the codec supports none.
    ///
    /// # Errors
    /// Why it cannot be upgraded (RFC 6455, 4.2.1).
    pub fn upgrade(&self, request: &Parts) -> Result<Response<Body>, Refusal> {
        if request.method != Method::GET || request.version != Version::HTTP_11 {
            return Err(Refusal::NotGet);
        }
        let headers = Headers(&request.headers);
        if !headers.ask_for_a_socket() || !headers.lists("connection", "upgrade") {
            return Err(Refusal::NotUpgrade);
        }
        if headers.only("sec-websocket-version") != Some(b"13") {
            return Err(Refusal::Version);
        }
        let key = headers.only("sec-websocket-key").ok_or(Refusal::Key)?;
        if !BASE64.decode(key).is_ok_and(|nonce| nonce.len() == KEY_BYTES) {
            return Err(Refusal::Key);
        }
        let mut response = Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header(UPGRADE, "websocket")
            .header(CONNECTION, "Upgrade")
            .header(SEC_WEBSOCKET_ACCEPT, derive_accept_key(key));
        if let Some(wanted) = self.subprotocol {
            if !headers.list("sec-websocket-protocol").any(|value| value == wanted.as_bytes()) {
                return Err(Refusal::Subprotocol(wanted));
            }
            response = response.header(SEC_WEBSOCKET_PROTOCOL, wanted);
        }
        Ok(response.body(empty()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    /// The CLI's route, and the page's.
    const IDE: Policy = Policy { pages: Pages::None, secrets: &[("x-ide", "")], subprotocol: Some("mcp") };
    const PAGE: Policy =
        Policy { pages: Pages::Own, secrets: &[("x-key", ""), ("authorization", "Bearer ")], subprotocol: None };

    const UPGRADE: [&str; 7] = [
        "GET / HTTP/1.1",
        "Host: localhost:8",
        "Connection: keep-alive, Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: mcp",
    ];

    /// A client's request, in which `replacement` takes the place of the lines with this prefix; an empty one removes
    /// them.
    fn request(prefix: &str, replacement: &str) -> Parts {
        let kept = UPGRADE.into_iter().filter(|line| !line.starts_with(prefix));
        let lines: Vec<_> = replacement.lines().chain(kept).collect();
        let first = lines.iter().find(|line| line.contains(" HTTP/")).unwrap();
        let first: Vec<_> = first.split(' ').collect();
        let version = if first[2] == "HTTP/1.0" { Version::HTTP_10 } else { Version::HTTP_11 };
        let mut builder = Request::builder().method(first[0]).uri(first[1]).version(version);
        for (name, value) in lines.iter().filter_map(|line| line.split_once(": ")) {
            builder = builder.header(name, value);
        }
        builder.body(()).unwrap().into_parts().0
    }

    fn judge(policy: Policy, prefix: &str, replacement: &str) -> Result<(), Refusal> {
        let hosts = Hosts { host: "127.0.0.1".to_owned(), names: vec!["box.tail.ts.net".to_owned()] };
        policy.judge(&request(prefix, replacement), &hosts, None)
    }

    #[test]
    fn every_route_knows_this_machine_by_its_own_names_alone() {
        for policy in [IDE, PAGE] {
            for host in
                ["localhost", "LOCALHOST:1", "127.0.0.1:12345", "127.1.2.3", "[::1]:8", "[::1]", "box.tail.ts.net"]
            {
                assert_eq!(judge(policy, "Host", &format!("Host: {host}")), Ok(()), "{host}");
            }
            for host in ["evil.example", "localhost.evil.example:1", "192.168.0.9", "127.0.0.1.evil"] {
                assert_eq!(judge(policy, "Host", &format!("Host: {host}")), Err(Refusal::Host), "{host}");
            }
            assert_eq!(judge(policy, "Host", ""), Err(Refusal::NoHost));
            assert_eq!(judge(policy, "Host", "Host: localhost\nHost: evil.example"), Err(Refusal::NoHost));
            let named = judge(policy, "GET", "GET http://evil.example/ HTTP/1.1");
            assert_eq!(named, Err(Refusal::Authority), "a name in the request line is none of its names either");
        }
    }

    #[test]
    fn the_configured_host_and_the_address_it_was_reached_by_are_names_of_it() {
        let local = "172.17.0.1:41234".parse().ok();
        for (configured, host, expected) in [
            ("ide.internal", "ide.internal:41234", Ok(())),
            ("0.0.0.0", "172.17.0.1:41234", Ok(())),
            ("0.0.0.0", "172.17.0.2:41234", Err(Refusal::Host)),
        ] {
            let hosts = Hosts { host: configured.to_owned(), names: Vec::new() };
            assert_eq!(IDE.judge(&request("Host", &format!("Host: {host}")), &hosts, local), expected, "{host}");
        }
    }

    #[test]
    fn a_route_takes_no_page_but_its_own() {
        for (host, origin, is_own) in [
            ("localhost:8", "http://localhost:8", true),
            ("box.tail.ts.net", "https://box.tail.ts.net", true),
            ("localhost:8", "https://localhost:8", false),
            ("localhost:8", "http://localhost:9", false),
            ("localhost:8", "http://127.0.0.1:8", false),
            ("localhost:8", "http://evil.example", false),
            ("localhost:8", "null", false),
            ("localhost:8", "http://localhost:8\nOrigin: http://localhost:8", false),
        ] {
            let lines = format!("Host: {host}\nOrigin: {origin}");
            let expected = |taken| if taken { Ok(()) } else { Err(Refusal::Origin) };
            assert_eq!(judge(PAGE, "Host", &lines), expected(is_own), "{origin}");
            assert_eq!(judge(IDE, "Host", &lines), expected(false), "{origin}");
        }
    }

    #[test]
    fn a_secret_is_shown_in_the_headers_of_its_route_once() {
        for (policy, lines, expected) in [
            (IDE, "X-Ide: secret", Some("secret")),
            (IDE, "X-Ide: guess\nX-Ide: secret", None),
            (IDE, "Authorization: Bearer secret", None),
            (PAGE, "Authorization: bearer secret", Some("secret")),
            (PAGE, "Authorization: Basic eDp5\nAuthorization: Bearer secret", Some("secret")),
            (PAGE, "Authorization: Bearer guess\nAuthorization: Bearer secret", None),
            (PAGE, "Authorization: secret", None),
            (PAGE, "Authorization: Basic eDp5\nX-Key: secret", Some("secret")),
            (PAGE, "X-Ide: secret", None),
        ] {
            let request = request("X-", lines);
            assert_eq!(policy.shown(Headers(&request.headers)), expected.map(str::as_bytes), "{lines}");
        }
    }

    #[test]
    fn an_upgrade_is_answered_with_its_proof_alone() {
        for (policy, subprotocol) in [(IDE, Some("mcp")), (PAGE, None)] {
            let response = policy.upgrade(&request("none", "")).unwrap();
            assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
            let header = |name| response.headers().get(name).map(|value| value.to_str().unwrap());
            assert_eq!(header("sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "RFC 6455, 1.3");
            assert_eq!(header("sec-websocket-protocol"), subprotocol);
            assert_eq!(header("sec-websocket-extensions"), None, "no extension is negotiated");
        }
    }

    #[test]
    fn a_broken_body_is_not_called_a_wrong_method() {
        assert_eq!(Refusal::Broken.reason(), "the request's body ends early or is malformed");
        assert!(Refusal::NotGet.reason().contains("GET"));
    }

    #[test]
    fn a_request_without_an_upgrade_is_refused() {
        for policy in [IDE, PAGE] {
            for (prefix, line, refusal) in [
                ("Upgrade", "", Refusal::NotUpgrade),
                ("Connection", "Connection: keep-alive", Refusal::NotUpgrade),
                ("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8", Refusal::Version),
                ("Sec-WebSocket-Key", "Sec-WebSocket-Key: test", Refusal::Key),
                ("Sec-WebSocket-Key", "", Refusal::Key),
                ("GET", "GET / HTTP/1.0", Refusal::NotGet),
                ("GET", "POST / HTTP/1.1", Refusal::NotGet),
            ] {
                assert_eq!(policy.upgrade(&request(prefix, line)).err(), Some(refusal), "{line}");
            }
        }
        for (line, refusal) in [
            ("Sec-WebSocket-Protocol: other, mcp", None),
            ("Sec-WebSocket-Protocol: mcp2", Some(Refusal::Subprotocol("mcp"))),
            ("", Some(Refusal::Subprotocol("mcp"))),
        ] {
            assert_eq!(IDE.upgrade(&request("Sec-WebSocket-Protocol", line)).err(), refusal, "{line}");
        }
    }
}
