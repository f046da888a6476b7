//! Threads of comments, changed by clients.

use claude_ide_session::prompt_input;
use serde_json::{Value as Json, json};

use super::{Broker, Requester, TOO_MUCH, refusal};
use crate::editor::{Act, Ask};
use crate::frames::{MAX_ID, NOT_COMMENTED};

/// Limit of a reply and the name of its thread, in bytes.
const MAX_WORDS: usize = 16 * 1024;

/// What a client does with a thread.
#[derive(Debug)]
pub(crate) struct Comment {
    pub(crate) thread: String,
    pub(crate) act: Act,
    pub(crate) words: Option<String>,
}

impl Broker {
    /// A client replies to a thread, sends or resolves it. Returns an error for it alone.
    pub(crate) fn comment(&self, from: Requester<'_>, may: bool, id: &str, comment: Comment) -> Option<String> {
        let name = json!(id.chars().take(MAX_ID).collect::<String>());
        let asked = self.try_comment(from, may, name.clone(), comment);
        asked.err().map(|reason| refusal(NOT_COMMENTED, &reason, &name))
    }

    fn try_comment(&self, from: Requester<'_>, may: bool, name: Json, comment: Comment) -> Result<(), String> {
        let writing = self.judge(may)?;
        let Comment { thread, act, words } = comment;
        let words = words.map(|words| prompt_input::plain(&words)).filter(|words| !words.is_empty());
        if words.as_ref().map_or(0, String::len) + thread.len() > MAX_WORDS {
            return Err(format!("a reply has at most {MAX_WORDS} bytes"));
        }
        if words.is_some() != (act == Act::Reply) {
            return Err("a reply has words, and nothing else does".to_owned());
        }
        if !self.lock().bucket.take(self.limits.burst) {
            return Err(TOO_MUCH.to_owned());
        }
        let session = from.session.to_owned();
        let ask = |key| Ask::Comment { key, session, thread, act, words };
        self.ask(writing, from, (NOT_COMMENTED, name), ask)
    }
}
