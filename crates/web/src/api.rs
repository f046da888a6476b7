//! Answers one request: authentication, routing, response. A request for a socket leaves a plan, which its connection
//! carries out.

use std::sync::{Arc, Mutex};

use claude_ide_http::{Caller, Headers, Pages, Policy, Refusal};
use claude_ide_session::{ServiceError, chain};
use hyper::body::Incoming;
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};
use serde::Deserialize;
use serde_json::json;

use crate::agents;
use crate::answer::{self, Answer};
use crate::authentication::Guest;
use crate::files;
use crate::listing;
use crate::messages;
use crate::router::{Route, query, route};
use crate::sessions::lock;
use crate::site::Site;
use crate::socket::Plan;
use crate::stream::Wish;

/// A page's key has its own header, since `Authorization` may be a proxy's.
const POLICY: Policy =
    Policy { pages: Pages::Own, secrets: &[("x-claude-ide-key", ""), ("authorization", "Bearer ")], subprotocol: None };
/// Size limit of a request's body.
const MAX_BODY: usize = 4 * 1024;

#[derive(Deserialize)]
struct Login {
    code: String,
}

/// One connection.
pub(crate) struct Visit {
    pub(crate) site: Arc<Site>,
    pub(crate) caller: Arc<Caller>,
    /// The socket to open after the upgrade.
    pub(crate) plan: Mutex<Option<Plan>>,
}

pub(crate) async fn answer(visit: &Visit, request: Request<Incoming>) -> Answer {
    let Visit { site, caller, .. } = visit;
    let (head, body) = request.into_parts();
    match POLICY.judge(&head, &site.hosts, caller.local()) {
        Ok(()) => {}
        Err(Refusal::Host | Refusal::NoHost) => return answer::error(StatusCode::FORBIDDEN, "Host not allowed"),
        Err(Refusal::Origin) => return answer::error(StatusCode::FORBIDDEN, "Origin not allowed"),
        Err(_) => return answer::error(StatusCode::BAD_REQUEST, "Bad request"),
    }
    let path = head.uri.path();
    let headers = Headers(&head.headers);
    let takes_deflate = answer::takes_deflate(headers);
    if let Some(file) = files::find(path, takes_deflate) {
        let reads = matches!(head.method, Method::GET | Method::HEAD);
        return if reads { file } else { not_so() };
    }
    // Browsers also send this with requests without `Origin`.
    if headers.all("sec-fetch-site").any(|site| !matches!(site, b"same-origin" | b"none")) {
        return answer::error(StatusCode::FORBIDDEN, "Origin not allowed");
    }
    let shown = POLICY.shown(headers);
    match route(path) {
        None => answer::error(StatusCode::NOT_FOUND, "Not found"),
        Some(Route::Login) if head.method == Method::POST => log_in(site, body).await,
        Some(Route::Login) => not_so(),
        Some(_) if head.method != Method::GET => not_so(),
        Some(route) => {
            let guest = shown.and_then(|secret| site.authentication.who(secret));
            if guest.is_some() {
                caller.set_known();
            }
            match route {
                // A client without a header may authenticate in its first frame, before anything is sent.
                Route::Subscribe(id) if guest.is_some() || shown.is_none() => {
                    subscribe(visit, id, None, guest, &head).await
                }
                Route::SubscribeAgent(id, agent) if guest.is_some() || shown.is_none() => {
                    subscribe(visit, id, Some(agent), guest, &head).await
                }
                _ if guest.is_none() => answer::no_permission(),
                route => answer::packed(read(site, &route, head.uri.query()).await, takes_deflate).await,
            }
        }
    }
}

fn not_so() -> Answer {
    answer::error(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed")
}

/// Exchanges a code for a key.
async fn log_in(site: &Site, body: Incoming) -> Answer {
    let Login { code } = match answer::posted(body, MAX_BODY, site.limits.handshake).await {
        Ok(login) => login,
        Err(bad) => return bad,
    };
    match site.authentication.exchange(&code) {
        Some(key) => answer::json(StatusCode::OK, &json!({ "key": key.reveal() })),
        None => answer::error(StatusCode::UNAUTHORIZED, "This address was used already, or is older than ten minutes"),
    }
}

async fn read(site: &Site, route: &Route<'_>, asked: Option<&str>) -> Answer {
    let failed = |error: ServiceError| {
        tracing::warn!(error = chain(&error), "sessions cannot be listed for a page");
        answer::error(StatusCode::INTERNAL_SERVER_ERROR, "Sessions cannot be listed")
    };
    match route {
        Route::List => {
            let project = query(asked, "project");
            match listing::all(&site.sessions, project.as_deref()).await {
                Ok(listed) if project.is_some() => answer::json(StatusCode::OK, &json!({ "sessions": listed })),
                Ok(listed) => {
                    let since = query(asked, "since").and_then(|since| since.parse().ok());
                    answer::json(StatusCode::OK, &site.listed.since(listed, since))
                }
                Err(error) => failed(error),
            }
        }
        Route::One(id) => match listing::one(&site.sessions, id).await {
            Ok(Some(listed)) => answer::json(StatusCode::OK, &listed),
            Ok(None) => answer::not_found(),
            Err(error) => failed(error),
        },
        Route::Messages(id) => {
            let file = site.sessions.find(id).await;
            let Some(channel) = file.and_then(|file| site.sessions.channel(&file)) else { return answer::not_found() };
            let limit = query(asked, "limit").and_then(|limit| limit.parse().ok());
            messages::before(channel, query(asked, "before").as_deref(), limit).await
        }
        Route::Agents(id) => match agents::all(&site.sessions, id).await {
            Some(agents) => answer::json(StatusCode::OK, &json!({ "agents": agents })),
            None => answer::not_found(),
        },
        Route::Agent(id, agent) => match agents::one(&site.sessions, id, agent).await {
            Some(agent) => answer::json(StatusCode::OK, &agent),
            None => answer::not_found(),
        },
        Route::Login | Route::Subscribe(_) | Route::SubscribeAgent(..) => {
            answer::error(StatusCode::NOT_FOUND, "Not found")
        }
    }
}

/// Checks a request for a socket before the upgrade.
async fn subscribe(visit: &Visit, id: &str, agent: Option<&str>, guest: Option<Guest>, head: &Parts) -> Answer {
    let Ok(mut upgrade) = POLICY.upgrade(head) else {
        return answer::error(StatusCode::BAD_REQUEST, "Expected a WebSocket");
    };
    if guest.is_some() && agents::transcript(&visit.site.sessions, id, agent).await.is_none() {
        return answer::not_found();
    }
    let asked = head.uri.query();
    let wish = Wish {
        from_uuid: query(asked, "fromUuid").map(std::borrow::Cow::into_owned),
        last: query(asked, "last").and_then(|last| last.parse().ok()),
    };
    let wish = (wish != Wish::default()).then_some(wish);
    *lock(&visit.plan) = Some(Plan { id: id.to_owned(), agent: agent.map(str::to_owned), wish, guest });
    answer::dress(upgrade.headers_mut());
    upgrade
}
