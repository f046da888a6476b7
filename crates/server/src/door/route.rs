//! Which doors there are: the paths of each, what it asks of whoever knocks, and what is behind it.

use std::sync::Arc;

use claude_ide_protocol::ide::{AUTHORIZATION_HEADER, SUBPROTOCOL};

use crate::{endpoint::Endpoint, options::Identity, run::Run, token::AuthToken};

/// Seed 000 connects to `/`, as the CLI does; seed 001 to `/mcp`.
const IDE_PATHS: [&str; 2] = ["/", "/mcp"];
const NVIM_PATHS: [&str; 1] = ["/nvim"];

/// One door.
pub(crate) struct Route {
    pub(crate) paths: &'static [&'static str],
    pub(crate) policy: Policy,
    /// What opens it.
    pub(crate) keys: Keys,
    pub(crate) endpoint: Arc<Endpoint>,
}

/// What opens a door.
pub(crate) struct Keys {
    pub(crate) token: AuthToken,
    /// Each run of an agent has a secret of its own.
    pub(crate) runs: Option<Identity>,
}

/// A client that showed the right token.
pub(crate) struct Access {
    /// The run that it was made for.
    pub(crate) run: Option<Arc<Run>>,
}

impl Keys {
    pub(crate) fn judge(&self, shown: &[u8]) -> Option<Access> {
        if self.token.matches(shown) {
            return Some(Access { run: None });
        }
        let run = self.runs.as_ref()?.run_of(shown)?;
        Some(Access { run: Some(run) })
    }
}

/// What a door asks for, beside a sound upgrade and a host that is this machine.
#[derive(Debug)]
pub(crate) struct Policy {
    /// The web pages that may knock, word for word; browsers name theirs in the `Origin` header, others have none.
    pub(crate) origins: Vec<String>,
    /// The header that carries the token.
    pub(crate) token_header: &'static str,
    /// What stands before it there.
    pub(crate) token_prefix: &'static str,
    pub(crate) subprotocol: &'static str,
    /// Messages may come by POST too.
    pub(crate) takes_posts: bool,
}

impl Policy {
    /// The token that stands in the header.
    pub(crate) fn shown<'h>(&self, header: &'h [u8]) -> Option<&'h [u8]> {
        let (prefix, token) = header.split_at_checked(self.token_prefix.len())?;
        prefix.eq_ignore_ascii_case(self.token_prefix.as_bytes()).then_some(token)
    }

    pub(crate) fn takes_origin(&self, origin: &[u8]) -> bool {
        self.origins.iter().any(|known| known.as_bytes() == origin)
    }
}

impl Route {
    /// For the clients that find the server by its lock file. No web page is one.
    pub(crate) fn ide(token: AuthToken, endpoint: Arc<Endpoint>) -> Self {
        let policy = Policy {
            origins: Vec::new(),
            token_header: AUTHORIZATION_HEADER,
            token_prefix: "",
            subprotocol: SUBPROTOCOL,
            takes_posts: false,
        };
        Self { paths: &IDE_PATHS, policy, keys: Keys { token, runs: None }, endpoint }
    }

    /// For agents, which are told the token by whoever starts them. No web page is one either.
    pub(crate) fn nvim(identity: &Identity, endpoint: Arc<Endpoint>) -> Self {
        let policy = Policy {
            origins: Vec::new(),
            token_header: "authorization",
            token_prefix: "Bearer ",
            subprotocol: SUBPROTOCOL,
            takes_posts: true,
        };
        let keys = Keys { token: identity.agents_token(), runs: Some(identity.clone()) };
        Self { paths: &NVIM_PATHS, policy, keys, endpoint }
    }
}

/// Every door of the server.
pub(crate) struct Routes(Vec<Route>);

impl Routes {
    pub(crate) fn new(routes: Vec<Route>) -> Self {
        Self(routes)
    }

    pub(crate) fn find(&self, path: &str) -> Option<&Route> {
        self.0.iter().find(|route| route.paths.contains(&path))
    }

    /// The endpoint of that name, if there is a door to it.
    pub(crate) fn endpoint(&self, name: &str) -> Option<&Arc<Endpoint>> {
        self.0.iter().map(|route| &route.endpoint).find(|endpoint| endpoint.name == name)
    }

    /// Every path, for a user to read.
    pub(crate) fn served(&self) -> String {
        let paths: Vec<_> = self.0.iter().flat_map(|route| route.paths).copied().collect();
        match paths.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }
}
