//! Clients' answers to open requests to the user.

use std::collections::BTreeMap;

use claude_ide_session::prompt_input;
use serde_json::json;

use super::{Broker, Requester, TOO_MUCH, refusal};
use crate::editor::Ask;
use crate::frames::NOT_DECIDED;

const GONE: &str = "nothing of that number waits: it may have been answered";
/// Limit of a refusal's message, in characters.
const MAX_WORDS: usize = 16 * 1024;

/// The answer to a decision.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) choice: String,
    pub(crate) message: Option<String>,
    pub(crate) answers: Option<BTreeMap<String, String>>,
}

impl Broker {
    /// A client answers a decision. Returns an error for it alone.
    pub(crate) fn decide(&self, from: Requester<'_>, may: bool, decision: u64, answer: Answer) -> Option<String> {
        self.try_decide(from, may, decision, answer).err().map(|reason| refusal(NOT_DECIDED, &reason, &json!(decision)))
    }

    fn try_decide(&self, from: Requester<'_>, may: bool, id: u64, answer: Answer) -> Result<(), String> {
        let writing = self.judge(may)?;
        let Answer { choice, message, answers } = answer;
        let message = message.map(|words| prompt_input::plain(&words)).filter(|words| !words.is_empty());
        let length = answers.iter().flatten().map(|(question, answer)| question.len() + answer.len()).sum::<usize>();
        if length > MAX_WORDS || message.as_ref().is_some_and(|words| words.len() > MAX_WORDS) {
            return Err(format!("words to Claude have at most {MAX_WORDS} bytes"));
        }
        let mut state = self.lock();
        let decision = state.decisions.get(&id).filter(|decision| decision.session == from.session);
        let decision = decision.ok_or(GONE)?;
        let chosen = decision.choices.iter().find(|known| known.id == choice);
        let chosen = chosen.ok_or("there is no such choice")?;
        if message.is_some() && !chosen.message {
            return Err("no words go with that choice".to_owned());
        }
        if chosen.answers && answers.is_none() {
            return Err("that choice needs answers".to_owned());
        }
        let answers = answers.map(|answers| {
            answers
                .into_iter()
                .map(|(question, answer)| (question, prompt_input::plain(&answer)))
                .collect::<BTreeMap<_, _>>()
        });
        if chosen.answers && answers.iter().flatten().all(|(_, answer)| answer.is_empty()) {
            return Err("no question of it is answered".to_owned());
        }
        if !state.bucket.take(self.limits.burst) {
            return Err(TOO_MUCH.to_owned());
        }
        drop(state);
        self.ask(writing, from, (NOT_DECIDED, json!(id)), |key| Ask::Decide {
            key,
            decision: id,
            choice,
            message,
            answers,
        })
    }
}
