//! Earlier lines of a session, in pieces, for scrolling up.

use std::sync::Arc;

use bytes::Bytes;
use hyper::StatusCode;

use crate::answer::{self, Answer};
use crate::channel::Channel;

const DEFAULT_LIMIT: usize = 50;
const MAX_LIMIT: usize = 1000;
/// Approximate size limit of one answer; at least one line is sent.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The lines before the one with this uuid, else the last ones.
pub(crate) async fn before(channel: Arc<Channel>, uuid: Option<&str>, limit: Option<usize>) -> Answer {
    let unreadable = || answer::error(StatusCode::INTERNAL_SERVER_ERROR, "The transcript cannot be read");
    if channel.know_all().await.is_err() {
        return unreadable();
    }
    let place = match uuid {
        Some(uuid) => match channel.after(uuid).await {
            Some(mut place) => {
                place.number = place.number.saturating_sub(1);
                place
            }
            None => return answer::error(StatusCode::NOT_FOUND, "Message not found"),
        },
        None => channel.before_last(0).await,
    };
    let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let Ok((page, has_more)) = channel.before(place, limit, MAX_BYTES).await else { return unreadable() };
    let mut body = Vec::from(&b"{\"messages\":["[..]);
    for (number, line) in page.lines.iter().enumerate() {
        if number > 0 {
            body.push(b',');
        }
        body.extend_from_slice(line.as_bytes());
    }
    body.extend_from_slice(if has_more { b"],\"hasMore\":true}" } else { b"],\"hasMore\":false}" });
    answer::with(StatusCode::OK, "application/json; charset=utf-8", Bytes::from(body))
}
