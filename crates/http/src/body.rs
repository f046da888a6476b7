//! Bodies of responses, and reading those of requests.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Full, LengthLimitError, Limited, combinators::UnsyncBoxBody};
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;

use crate::refusal::Refusal;

/// A response's body.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// An empty body.
#[must_use]
pub fn empty() -> Body {
    Empty::new().boxed_unsync()
}

/// A body in one piece.
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed_unsync()
}

/// Reads a body of at most `limit` bytes within `time`.
///
/// # Errors
/// [`Refusal::TooLarge`], [`Refusal::TooSlow`], [`Refusal::Broken`].
pub async fn read(body: Incoming, limit: usize, time: Duration) -> Result<Bytes, Refusal> {
    if usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX) > limit {
        return Err(Refusal::TooLarge);
    }
    let read = timeout(time, Limited::new(body, limit).collect()).await.map_err(|_| Refusal::TooSlow)?;
    let read =
        read.map_err(|error| if error.is::<LengthLimitError>() { Refusal::TooLarge } else { Refusal::Broken })?;
    Ok(read.to_bytes())
}
