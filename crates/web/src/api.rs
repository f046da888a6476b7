//! One request: who asks, what for, and the answer. A request for a socket leaves a plan, which its connection carries out.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio_tungstenite::tungstenite::handshake::server::create_response;

use crate::agents;
use crate::answer::{self, Answer};
use crate::caller::Caller;
use crate::display;
use crate::door::{Door, Refusal};
use crate::files;
use crate::gate::Guest;
use crate::listing;
use crate::messages;
use crate::permission;
use crate::router::{Route, query, route};
use crate::server::Site;
use crate::sessions::lock;
use crate::socket::Plan;
use crate::stream::Wish;

/// Carries a page's key: `Authorization` may be a proxy's.
const KEY: &str = "x-claude-ide-key";
/// Bytes of a request's body.
const MAX_BODY: usize = 4 * 1024;

/// What a connection is to become.
pub(crate) type Upgrade = Arc<Mutex<Option<(OnUpgrade, Plan)>>>;

#[derive(Deserialize)]
struct Login {
    code: String,
}

/// Answers a request.
pub(crate) async fn answer(
    site: Arc<Site>,
    caller: Arc<Caller>,
    upgrade: Upgrade,
    request: Request<Incoming>,
) -> Answer {
    // A name in the request's own line would go past the one in its header.
    if request.uri().authority().is_some() {
        return answer::error(StatusCode::BAD_REQUEST, "Bad request");
    }
    match site.door.judge(request.headers(), caller.local) {
        Ok(()) => {}
        Err(Refusal::Host) => return answer::error(StatusCode::FORBIDDEN, "Host not allowed"),
        Err(Refusal::Origin) => return answer::error(StatusCode::FORBIDDEN, "Origin not allowed"),
    }
    let path = request.uri().path().to_owned();
    if let Some(file) = files::find(&path) {
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        return if reads { file } else { not_so() };
    }
    if Door::is_of_another_site(request.headers()) {
        return answer::error(StatusCode::FORBIDDEN, "Origin not allowed");
    }
    match route(&path) {
        None => answer::error(StatusCode::NOT_FOUND, "Not found"),
        Some(Route::Login) if request.method() == Method::POST => log_in(&site, request).await,
        Some(hook @ (Route::Display | Route::Permission)) if request.method() == Method::POST => {
            let Some(owner) = shown(request.headers()).and_then(|token| site.gate.owner(token)) else {
                return answer::no_permission();
            };
            if !caller.is_owner(&owner, &site.sessions).await {
                return answer::error(StatusCode::FORBIDDEN, "This process is not the CLI that the token was made for");
            }
            caller.let_in();
            match hook {
                Route::Permission => permission::take(&site, request).await,
                _ => display::take(&site, request).await,
            }
        }
        Some(Route::Login | Route::Display | Route::Permission) => not_so(),
        Some(_) if request.method() != Method::GET => not_so(),
        Some(route) => {
            let shown = shown(request.headers());
            let guest = shown.and_then(|secret| site.gate.who(secret));
            if guest.is_some() {
                caller.let_in();
            }
            match route {
                // One that shows nothing may say who it is in its first frame: it is told nothing before.
                Route::Subscribe(id) if guest.is_some() || shown.is_none() => {
                    subscribe(&site, id, None, guest, upgrade, request).await
                }
                Route::SubscribeAgent(id, agent) if guest.is_some() || shown.is_none() => {
                    subscribe(&site, id, Some(agent), guest, upgrade, request).await
                }
                _ if guest.is_none() => answer::no_permission(),
                route => read(&site, &route, request.uri().query()).await,
            }
        }
    }
}

fn not_so() -> Answer {
    answer::error(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed")
}

/// The secret that a request shows: a page's key, else a client's token.
fn shown(headers: &HeaderMap) -> Option<&str> {
    let key = headers.get(KEY).and_then(|key| key.to_str().ok());
    key.or_else(|| headers.get_all(AUTHORIZATION).iter().find_map(bearer))
}

fn bearer(shown: &HeaderValue) -> Option<&str> {
    let (scheme, token) = shown.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// A code for a key.
async fn log_in(site: &Site, request: Request<Incoming>) -> Answer {
    let body = tokio::time::timeout(site.limits.handshake, Limited::new(request.into_body(), MAX_BODY).collect());
    let Ok(Ok(body)) = body.await else { return answer::error(StatusCode::BAD_REQUEST, "Bad request") };
    let Ok(Login { code }) = serde_json::from_slice(&body.to_bytes()) else {
        return answer::error(StatusCode::BAD_REQUEST, "Bad request");
    };
    match site.gate.exchange(&code) {
        Some(key) => answer::json(StatusCode::OK, &json!({ "key": key.reveal() })),
        None => answer::error(StatusCode::UNAUTHORIZED, "This address was used already, or is older than ten minutes"),
    }
}

async fn read(site: &Site, route: &Route<'_>, asked: Option<&str>) -> Answer {
    let failed = |error: String| {
        tracing::warn!(error, "sessions cannot be listed for a page");
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
        Route::Login | Route::Display | Route::Permission | Route::Subscribe(_) | Route::SubscribeAgent(..) => {
            answer::error(StatusCode::NOT_FOUND, "Not found")
        }
    }
}

/// Answers a request for a socket before anything is upgraded.
async fn subscribe(
    site: &Site,
    id: &str,
    agent: Option<&str>,
    guest: Option<Guest>,
    upgrade: Upgrade,
    mut request: Request<Incoming>,
) -> Answer {
    let handshake = {
        let mut bare = Request::new(());
        *bare.method_mut() = request.method().clone();
        *bare.version_mut() = request.version();
        *bare.headers_mut() = request.headers().clone();
        create_response(&bare)
    };
    let Ok(handshake) = handshake else {
        return answer::error(StatusCode::BAD_REQUEST, "Expected a WebSocket");
    };
    if guest.is_some() && agents::transcript(&site.sessions, id, agent).await.is_none() {
        return answer::not_found();
    }
    let asked = request.uri().query();
    let wish = Wish {
        from_uuid: query(asked, "fromUuid").map(std::borrow::Cow::into_owned),
        last: query(asked, "last").and_then(|last| last.parse().ok()),
    };
    let wish = (wish != Wish::default()).then_some(wish);
    let plan = Plan { id: id.to_owned(), agent: agent.map(str::to_owned), wish, guest };
    *lock(&upgrade) = Some((hyper::upgrade::on(&mut request), plan));
    let (mut parts, ()) = handshake.into_parts();
    answer::dress(&mut parts.headers);
    Response::from_parts(parts, Full::new(Bytes::new()))
}
