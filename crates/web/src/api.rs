//! One request: who asks, what for, and the answer. A request for a socket leaves a plan, which its connection carries out.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderValue, ORIGIN};
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize;
use serde_json::json;
use tokio_tungstenite::tungstenite::handshake::server::create_response;

use crate::agents;
use crate::answer::{self, Answer};
use crate::display;
use crate::door::{Door, Refusal};
use crate::files;
use crate::gate::{NotYet, Shown};
use crate::listing;
use crate::messages;
use crate::permission;
use crate::router::{Route, query, route};
use crate::server::Site;
use crate::sessions::lock;
use crate::socket::Plan;
use crate::stream::Wish;

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
    local: Option<SocketAddr>,
    upgrade: Upgrade,
    request: Request<Incoming>,
) -> Answer {
    // A name in the request's own line would go past the one in its header.
    if request.uri().authority().is_some() {
        return answer::error(StatusCode::BAD_REQUEST, "Bad request");
    }
    match site.door.judge(request.headers(), local) {
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
            let token = request.headers().get(AUTHORIZATION).and_then(bearer);
            match hook {
                _ if !token.is_some_and(|token| site.gate.is_display(token)) => answer::no_permission(),
                Route::Permission => permission::take(&site, request).await,
                _ => display::take(&site, request).await,
            }
        }
        Some(Route::Login | Route::Display | Route::Permission) => not_so(),
        Some(_) if request.method() != Method::GET => not_so(),
        Some(Route::Subscribe(id)) => subscribe(&site, id, None, upgrade, request).await,
        Some(Route::SubscribeAgent(id, agent)) => subscribe(&site, id, Some(agent), upgrade, request).await,
        Some(route) => match judge(&site, request.headers()) {
            Ok(()) => read(&site, &route, request.uri().query()).await,
            Err(refused) => refused.answer(),
        },
    }
}

fn not_so() -> Answer {
    answer::error(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed")
}

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outside {
    /// Shows nothing.
    Nothing,
    Not(NotYet),
}

impl Outside {
    fn answer(self) -> Answer {
        match self {
            Self::Nothing | Self::Not(NotYet::Wrong) => answer::no_permission(),
            Self::Not(NotYet::Wait(time)) => answer::wait(time),
        }
    }
}

/// Judges what a request shows.
fn judge(site: &Site, headers: &HeaderMap) -> Result<(), Outside> {
    if let Some(shown) = headers.get(AUTHORIZATION) {
        return site.gate.judge(Shown::Token(bearer(shown).unwrap_or_default())).map_err(Outside::Not);
    }
    let cookie = cookie(headers, &site.cookie_name).ok_or(Outside::Nothing)?;
    site.gate.judge(Shown::Cookie(cookie)).map_err(Outside::Not)
}

fn bearer(shown: &HeaderValue) -> Option<&str> {
    let (scheme, token) = shown.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// A code for a cookie.
async fn log_in(site: &Site, request: Request<Incoming>) -> Answer {
    let body = tokio::time::timeout(site.limits.handshake, Limited::new(request.into_body(), MAX_BODY).collect());
    let Ok(Ok(body)) = body.await else { return answer::error(StatusCode::BAD_REQUEST, "Bad request") };
    let Ok(Login { code }) = serde_json::from_slice(&body.to_bytes()) else {
        return answer::error(StatusCode::BAD_REQUEST, "Bad request");
    };
    match site.gate.exchange(&code) {
        Ok(cookie) => {
            let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", site.cookie_name, cookie.reveal());
            answer::with_cookie(answer::json(StatusCode::OK, &json!({ "ok": true })), &cookie)
        }
        Err(not_yet) => Outside::Not(not_yet).answer(),
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

/// Judges a request for a socket before anything is upgraded. A client that shows nothing and is no page may say who it is in its
/// first frame: it is told nothing before.
async fn subscribe(
    site: &Site,
    id: &str,
    agent: Option<&str>,
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
    let unknown = match judge(site, request.headers()) {
        Ok(()) => false,
        Err(Outside::Nothing) if !request.headers().contains_key(ORIGIN) => true,
        Err(outside) => return outside.answer(),
    };
    if !unknown && agents::transcript(&site.sessions, id, agent).await.is_none() {
        return answer::not_found();
    }
    let asked = request.uri().query();
    let wish = Wish {
        from_uuid: query(asked, "fromUuid").map(std::borrow::Cow::into_owned),
        last: query(asked, "last").and_then(|last| last.parse().ok()),
    };
    let wish = (wish != Wish::default()).then_some(wish);
    let is_page = !unknown && !request.headers().contains_key(AUTHORIZATION);
    let plan = Plan { id: id.to_owned(), agent: agent.map(str::to_owned), wish, unknown, is_page };
    *lock(&upgrade) = Some((hyper::upgrade::on(&mut request), plan));
    let (mut parts, ()) = handshake.into_parts();
    answer::dress(&mut parts.headers);
    Response::from_parts(parts, Full::new(Bytes::new()))
}
