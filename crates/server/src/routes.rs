//! Routes and their authentication, one route for each endpoint; reasons to refuse a request.
//!
//! A wrong request is refused over HTTP, with a reason that the user can read. A wrong token for a WebSocket is not:
//! the socket is upgraded and closed with 1008, as the IDEs of the seeds do, so that the CLI can tell it from a broken
//! connection.

use std::{borrow::Cow, net::SocketAddr, sync::Arc};

use claude_ide_http::{self as http, Body, Headers, Hosts, Pages, Policy, Secret, full};
use claude_ide_protocol::ide::{AUTHORIZATION_HEADER, SUBPROTOCOL};
use hyper::{Method, Response, StatusCode, Version, header, http::request::Parts};

use crate::{
    discovery::companions::COMPANIONS,
    endpoint::Endpoint,
    identity::{Access, Identity},
};

/// For clients that find the server by its lock file. The file protocol connects to `/`, as the CLI does; the JetBrains protocol to `/mcp`.
const IDE: Policy =
    Policy { pages: Pages::None, secrets: &[(AUTHORIZATION_HEADER, "")], subprotocol: Some(SUBPROTOCOL) };
/// For agents, which get the token from the program that starts them.
const NVIM: Policy =
    Policy { pages: Pages::None, secrets: &[("authorization", "Bearer ")], subprotocol: Some(SUBPROTOCOL) };

/// A route to an endpoint.
pub(crate) struct Route {
    paths: &'static [&'static str],
    policy: Policy,
    /// Whether messages may come by POST too.
    takes_posts: bool,
    /// Each may belong to a program.
    tokens: Vec<(Secret, Option<&'static str>)>,
    /// Each run of an agent has its own secret.
    runs: Option<Identity>,
    endpoint: Arc<Endpoint>,
}

/// A valid request; without [`Access`] if its token is wrong.
pub(crate) enum Admission {
    /// A WebSocket upgrade.
    Upgrade(Arc<Endpoint>, Option<Access>, Response<Body>),
    /// MCP over HTTP.
    Http(Arc<Endpoint>, Option<Access>),
}

impl Route {
    pub(crate) fn ide(identity: &Identity, endpoint: Endpoint) -> Self {
        let (tokens, endpoint) = (vec![(identity.token(), None)], Arc::new(endpoint));
        Self { paths: &["/", "/mcp"], policy: IDE, takes_posts: false, tokens, runs: None, endpoint }
    }

    pub(crate) fn nvim(identity: &Identity, endpoint: Endpoint) -> Self {
        let (tokens, runs) = (vec![(identity.agents_token(), None)], Some(identity.clone()));
        Self { paths: &["/nvim"], policy: NVIM, takes_posts: true, tokens, runs, endpoint: Arc::new(endpoint) }
    }

    /// For our mod inside of a CLI that the editor has started: each such CLI has its own secret, and no other is valid.
    pub(crate) fn mods(identity: &Identity, endpoint: Endpoint) -> Self {
        let runs = Some(identity.clone());
        Self {
            paths: &["/mod"],
            policy: NVIM,
            takes_posts: true,
            tokens: Vec::new(),
            runs,
            endpoint: Arc::new(endpoint),
        }
    }

    /// For companions, which post to the path at which CLIs open a socket.
    pub(crate) fn companions(identity: &Identity, endpoint: Endpoint) -> Self {
        let tokens = identity.companions().into_iter().zip(&COMPANIONS);
        let tokens = tokens.map(|(token, companion)| (token, Some(companion.name))).collect();
        Self { paths: &["/mcp"], policy: NVIM, takes_posts: true, tokens, runs: None, endpoint: Arc::new(endpoint) }
    }

    fn access(&self, shown: &[u8]) -> Option<Access> {
        if let Some((_, program)) = self.tokens.iter().find(|(token, _)| token.matches(shown)) {
            return Some(Access { run: None, program: *program });
        }
        let run = self.runs.as_ref()?.run_of(shown, self.endpoint.name)?;
        Some(Access { run: Some(run), program: None })
    }
}

/// All routes.
pub(crate) struct Routes {
    routes: Vec<Route>,
    hosts: Hosts,
}

/// What containers call the machine that they run on. No page of the web has such a name: the top-level domain is
/// reserved for private ones.
const NAMES_FOR_CONTAINERS: [&str; 2] = ["host.docker.internal", "host.containers.internal"];

impl Routes {
    /// `host` is the configured one.
    pub(crate) fn new(routes: Vec<Route>, host: &str) -> Self {
        Self { routes, hosts: Hosts { host: host.to_owned(), names: NAMES_FOR_CONTAINERS.map(str::to_owned).to_vec() } }
    }

    /// The endpoint with this name, if there is a route to it.
    pub(crate) fn endpoint(&self, name: &str) -> Option<&Arc<Endpoint>> {
        self.routes.iter().map(|route| &route.endpoint).find(|endpoint| endpoint.name == name)
    }

    /// Judges a request's head; `local` is the address on which it arrived.
    ///
    /// # Errors
    /// Why it is refused.
    pub(crate) fn judge(&self, request: &Parts, local: Option<SocketAddr>) -> Result<Admission, Refusal> {
        if request.version != Version::HTTP_11 {
            return Err(http::Refusal::NotGet.into());
        }
        let headers = Headers(&request.headers);
        let mut routes = self.routes.iter().filter(|route| route.paths.contains(&request.uri.path()));
        let is_post = |route: &&Route| route.takes_posts && !headers.ask_for_a_socket();
        let route = routes.clone().find(is_post).or_else(|| routes.next());
        let policy = route.map_or(IDE, |route| route.policy);
        policy.judge(request, &self.hosts, local)?;
        let takes_posts = route.is_some_and(|route| route.takes_posts);
        if request.method != Method::GET && !takes_posts {
            return Err(http::Refusal::NotGet.into());
        }
        let route = route.ok_or_else(|| Refusal::Path(self.served()))?;
        let access = policy.shown(headers).and_then(|shown| route.access(shown));
        let endpoint = Arc::clone(&route.endpoint);
        match request.method {
            Method::GET if !takes_posts || headers.ask_for_a_socket() => {
                Ok(Admission::Upgrade(endpoint, access, policy.upgrade(request)?))
            }
            Method::GET | Method::POST | Method::DELETE => Ok(Admission::Http(endpoint, access)),
            _ => Err(Refusal::Method),
        }
    }

    /// All paths, for the user.
    fn served(&self) -> String {
        let paths: Vec<_> = self.routes.iter().flat_map(|route| route.paths).copied().collect();
        match paths.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
            _ => paths.concat(),
        }
    }
}

/// Why a request was refused over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    Http(http::Refusal),
    /// The message lists the served paths.
    Path(String),
    TooManyClients,
    /// It comes from a program that an agent runs.
    Process,
    /// The system does not show which program it comes from.
    UnknownProcess,
    // From here on: MCP over HTTP.
    Method,
    MediaType,
    NotText,
    NotAcceptable,
    ProtocolVersion,
    NoSession,
    UnknownSession,
    UnknownEvent,
    Unauthorized,
}

impl From<http::Refusal> for Refusal {
    fn from(refusal: http::Refusal) -> Self {
        Self::Http(refusal)
    }
}

impl Refusal {
    const fn status(&self) -> StatusCode {
        match self {
            Self::Http(refusal) => refusal.status(),
            Self::NotText | Self::ProtocolVersion | Self::NoSession => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Process | Self::UnknownProcess => StatusCode::FORBIDDEN,
            Self::Path(_) | Self::UnknownSession | Self::UnknownEvent => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable => StatusCode::NOT_ACCEPTABLE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooManyClients => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// A reason for the user, and for the log.
    pub(crate) fn reason(&self) -> Cow<'static, str> {
        let reason = match self {
            Self::Http(refusal) => return refusal.reason().into(),
            Self::Path(served) => return format!("only {served} are served here").into(),
            Self::TooManyClients => "too many clients are connected",
            Self::Process => "this process is not the agent that the token was made for, or the agent started it",
            Self::UnknownProcess => "the system does not show which process this is, so an agent may have started it",
            Self::Method => {
                "send messages with POST, listen with GET, end a session with DELETE, or connect with ws://"
            }
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

    /// The response.
    pub(crate) fn response(&self) -> Response<Body> {
        let builder = Response::builder()
            .status(self.status())
            .header(header::CONTENT_TYPE, "text/plain; charset=utf-8")
            .header(header::CONNECTION, "close");
        let builder = match self {
            Self::Http(http::Refusal::NotUpgrade | http::Refusal::Version) => {
                builder.header(header::UPGRADE, "websocket").header(header::SEC_WEBSOCKET_VERSION, "13")
            }
            Self::Method => builder.header(header::ALLOW, "GET, POST, DELETE"),
            Self::Unauthorized => builder.header(header::WWW_AUTHENTICATE, "Bearer"),
            _ => builder,
        };
        builder.body(full(format!("{}\n", self.reason()))).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;
    use crate::options::ServerOptions;

    #[test]
    fn each_route_has_a_token_of_its_own() {
        let (identity, options) = (Identity::generate().unwrap(), ServerOptions::default());
        let routes =
            vec![Route::ide(&identity, Endpoint::ide(&options)), Route::nvim(&identity, Endpoint::nvim(&options))];
        let routes = Routes::new(routes, "127.0.0.1");
        let run = identity.begin_run("agent", "nvim").unwrap();
        let judge = |path: &str, header: &str, token: &str| {
            let request = Request::builder().uri(path).header("Host", "host.docker.internal:1").header(header, token);
            let request = request
                .header("Connection", "Upgrade")
                .header("Upgrade", "websocket")
                .header("Sec-WebSocket-Version", "13")
                .header("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")
                .header("Sec-WebSocket-Protocol", "mcp");
            match routes.judge(&request.body(()).unwrap().into_parts().0, None)? {
                Admission::Upgrade(endpoint, access, _) => Ok((endpoint.name, access.is_some())),
                Admission::Http(..) => panic!("it asks for a socket"),
            }
        };
        let (token, agents) = (identity.token().reveal().to_owned(), identity.agents_token().reveal().to_owned());
        let bearer = |token: &str| format!("Bearer {token}");
        for path in ["/", "/mcp", "/mcp?session=1"] {
            assert_eq!(judge(path, AUTHORIZATION_HEADER, &token), Ok(("ide", true)), "{path}");
            assert_eq!(judge(path, AUTHORIZATION_HEADER, &agents), Ok(("ide", false)));
            assert_eq!(judge(path, "Authorization", &bearer(&token)), Ok(("ide", false)));
        }
        for (shown, is_known) in [(&*agents, true), (run.reveal(), true), (&*token, false)] {
            assert_eq!(judge("/nvim", "Authorization", &bearer(shown)), Ok(("nvim", is_known)));
            assert_eq!(judge("/nvim", AUTHORIZATION_HEADER, shown), Ok(("nvim", false)));
        }
        assert_eq!(
            judge("/x", AUTHORIZATION_HEADER, &token).err(),
            Some(Refusal::Path("/, /mcp and /nvim".to_owned()))
        );
    }
}
