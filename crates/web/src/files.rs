//! The page's files, from `web/`, built into the library unchanged. They contain no session data.

use hyper::StatusCode;

use crate::answer::{self, Answer};

macro_rules! file {
    ($name:literal) => {
        (concat!("/", $name), include_bytes!(concat!("../../../web/", $name)).as_slice())
    };
}

/// Paths and contents.
const FILES: &[(&str, &[u8])] = &[
    file!("app.css"),
    file!("app.js"),
    file!("api.js"),
    file!("agents.js"),
    file!("calls.js"),
    file!("code.js"),
    file!("composer.js"),
    file!("conversation.js"),
    file!("decisions.js"),
    file!("diff.js"),
    file!("draft.js"),
    file!("draw.js"),
    file!("exact.js"),
    file!("find.js"),
    file!("growing.js"),
    file!("guard.js"),
    file!("list.js"),
    file!("markdown.js"),
    file!("notify.js"),
    file!("outbox.js"),
    file!("place.js"),
    file!("session.js"),
    file!("socket.js"),
    file!("subagent.js"),
    file!("text.js"),
    file!("typed.js"),
    file!("window.js"),
    file!("write.css"),
];

const PAGE: &[u8] = include_bytes!("../../../web/index.html");

/// The file for a path.
pub(crate) fn find(path: &str) -> Option<Answer> {
    if path == "/" {
        return Some(answer::with(StatusCode::OK, "text/html; charset=utf-8", PAGE));
    }
    let (name, content) = FILES.iter().find(|(known, _)| *known == path)?;
    let kind = if name.ends_with(".css") { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" };
    Some(answer::with(StatusCode::OK, kind, *content))
}
