//! HTTP answers with security headers.

use std::time::Duration;

use bytes::Bytes;
use claude_ide_http::{Body, Headers, full, read};
use http_body_util::{BodyExt as _, Collected};
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::task::spawn_blocking;

pub(crate) type Answer = Response<Body>;

/// On every answer. There is no CORS header: no other origin may read anything.
const HEADERS: [(&str, &str); 8] = [
    (
        "content-security-policy",
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), microphone=(), geolocation=()"),
    ("cache-control", "no-store"),
];

pub(crate) fn with(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(full(body));
    *answer.status_mut() = status;
    dress(answer.headers_mut());
    answer.headers_mut().insert("content-type", HeaderValue::from_static(kind));
    answer
}

/// Adds the headers of every answer.
pub(crate) fn dress(headers: &mut hyper::HeaderMap) {
    for (name, value) in HEADERS {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
}

pub(crate) fn json<T: Serialize>(status: StatusCode, value: &T) -> Answer {
    let body = serde_json::to_vec(value).unwrap_or_default();
    with(status, "application/json; charset=utf-8", body)
}

/// Smaller bodies are sent as they are.
const PACKED_FROM: usize = 1024;
/// Quick rather than small: the text of a list has a third of its size already.
const LEVEL: u8 = 4;

/// In zlib's format, which HTTP calls "deflate".
pub(crate) fn deflated(bytes: &[u8]) -> Vec<u8> {
    miniz_oxide::deflate::compress_to_vec_zlib(bytes, LEVEL)
}

pub(crate) fn mark_deflated(headers: &mut hyper::HeaderMap) {
    headers.insert("content-encoding", HeaderValue::from_static("deflate"));
    headers.insert("vary", HeaderValue::from_static("accept-encoding"));
}

/// Whether a client understands a compressed body.
pub(crate) fn takes_deflate(headers: Headers<'_>) -> bool {
    headers.list("accept-encoding").any(|encoding| encoding == b"deflate")
}

/// Compresses a body, if that is worth it.
pub(crate) async fn packed(answer: Answer, takes_deflate: bool) -> Answer {
    if !takes_deflate {
        return answer;
    }
    let (mut parts, body) = answer.into_parts();
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    if body.len() < PACKED_FROM {
        return Response::from_parts(parts, full(body));
    }
    let whole = body.clone();
    match spawn_blocking(move || deflated(&whole)).await {
        Ok(small) => {
            mark_deflated(&mut parts.headers);
            Response::from_parts(parts, full(small))
        }
        Err(_) => Response::from_parts(parts, full(body)),
    }
}

/// An error in the transcript protocol's form.
pub(crate) fn error(status: StatusCode, words: &str) -> Answer {
    json(status, &json!({ "error": words }))
}

pub(crate) fn not_found() -> Answer {
    error(StatusCode::NOT_FOUND, "Session not found")
}

pub(crate) fn no_permission() -> Answer {
    let mut answer = error(StatusCode::UNAUTHORIZED, "Unauthorized");
    answer.headers_mut().insert("www-authenticate", HeaderValue::from_static("Bearer"));
    answer
}

/// Reads a posted body.
///
/// # Errors
/// The answer for a body that is too large, too slow or malformed.
pub(crate) async fn posted<T: DeserializeOwned>(body: Incoming, limit: usize, time: Duration) -> Result<T, Answer> {
    let bad = || error(StatusCode::BAD_REQUEST, "Bad request");
    let body = read(body, limit, time).await.map_err(|_| bad())?;
    serde_json::from_slice(&body).map_err(|_| bad())
}
