//! The code of the fuzz target (`fuzz/`) and of a test with its own frames: feeds the frames of a writing socket to an
//! editor that checks its requests.

use std::sync::Arc;

use claude_ide_session::{SessionId, prompt_input};

use crate::broker::{Broker, Requester};
use crate::editor::{Act, Ask, Choice, Decision, Editor, Report, Writing};
use crate::frames;
use crate::options::Limits;
use crate::participant::{Part, Participant};

/// Asserts the invariants of all requests to the editor.
struct Strict;

impl Editor for Strict {
    fn ask(&self, ask: Ask) -> bool {
        let is_plain = |text: &str| prompt_input::plain(text) == text;
        match ask {
            Ask::Deliver { text, command, .. } => {
                assert!(is_plain(&text) && !text.is_empty() && text.len() <= Limits::default().message_bytes);
                assert!(!command && !prompt_input::is_command(&text));
            }
            Ask::TakeBack { .. } | Ask::Interrupt { .. } => {}
            Ask::Comment { act, words, .. } => {
                assert_eq!(words.is_some(), act == Act::Reply);
                assert!(words.iter().all(|text| is_plain(text) && !text.is_empty()));
            }
            Ask::Decide { choice, message, answers, .. } => {
                assert!(choice == "allow" || choice == "answer");
                assert!(choice != "answer" || answers.iter().flatten().any(|(_, text)| !text.is_empty()));
                assert!(
                    message
                        .iter()
                        .chain(answers.iter().flat_map(|answers| answers.values()))
                        .all(|text| is_plain(text))
                );
            }
        }
        true
    }
}

/// Handles frames in order.
pub fn hear<'a>(frames: impl Iterator<Item = &'a str>) {
    let session = SessionId::new("s").to_string();
    let writing = Writing { editor: Arc::new(Strict), commands: false };
    let (broker, _wanted) = Broker::new(Some(writing), Limits::default());
    let choice = |id: &str, answers| Choice { id: id.to_owned(), label: String::new(), message: true, answers };
    let choices = vec![choice("allow", false), choice("answer", true)];
    let about = serde_json::Map::new();
    broker.take(Report::Decision(Decision { id: 1, session: session.clone(), choices, about }));
    let mut participant = Participant::new(&broker, Part::Client);
    participant.listen(&broker, &session, None);
    for frame in frames {
        let answer = match frames::read(frame) {
            Ok(inward) => {
                let from = Requester { session: &session, before: None, socket: participant.socket, runs: true };
                participant.handle(&broker, from, inward)
            }
            Err(text) => Some(text),
        };
        if let Some(text) = answer {
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        }
        while let Some((queued, _)) = broker.next(&session) {
            broker.deliver(&session, &queued);
            broker.take(Report::Failed { key: queued.key, reason: "no".to_owned(), all: false });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::json;

    use super::hear;

    /// Texts close to the limits of what is accepted, and others.
    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            prop::sample::select(vec!["a", "nvim-1", "allow", "answer", "/clear", "quit", "", " ", "\u{1b}[201~\r!ls"])
                .prop_map(str::to_owned),
            "(\\PC|[\\x00-\\x1f\\x7f-\\x9f]|\u{1b}\\[|\u{1b}\\]|\u{feff}|\u{202e}){0,40}",
            (0_usize..70_000).prop_map(|count| "x".repeat(count)),
        ]
    }

    fn value() -> impl Strategy<Value = serde_json::Value> {
        prop_oneof![
            4 => text().prop_map(|text| json!(text)),
            2 => prop::sample::select(vec![json!(1), json!(-1), json!(1e300), json!(null), json!(true)]),
            1 => (text(), text()).prop_map(|(name, text)| json!({ name: text })),
            1 => vec(text(), 0..3).prop_map(|texts| json!(texts)),
        ]
    }

    /// Frames of every type with random fields, and malformed ones.
    fn frame() -> impl Strategy<Value = String> {
        let kinds = vec!["user_message", "cancel_message", "decide", "write", "subscribe", "auth", "eval"];
        let names = vec!["content", "id", "choice", "message", "answers", "on", "fromUuid", "last", "token", "type"];
        let fields = vec((prop::sample::select(names), value()), 0..5);
        let decide = (prop::sample::select(vec![json!(1), json!(2)]), text(), text(), text());
        prop_oneof![
            4 => (prop::sample::select(kinds), fields).prop_map(|(kind, fields)| {
                let mut frame = json!({ "type": kind });
                fields.into_iter().for_each(|(name, value)| frame[name] = value);
                frame.to_string()
            }),
            2 => (text(), text()).prop_map(|(id, content)| json!({ "type": "user_message", "id": id, "content": content }).to_string()),
            2 => decide.prop_map(|(id, choice, question, answer)| {
                json!({ "type": "decide", "id": id, "choice": choice, "answers": { question: answer } }).to_string()
            }),
            1 => (text(), prop::sample::select(vec!["reply", "send", "resolve"])).prop_map(|(words, act)| {
                json!({ "type": "comment", "id": "c", "thread": "t", "act": act, "words": words }).to_string()
            }),
            1 => text(),
            1 => vec(any::<u8>(), 0..200).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        ]
    }

    proptest! {
        #[test]
        fn only_words_reach_the_editor(frames in vec(frame(), 1..40)) {
            hear(frames.iter().map(String::as_str));
        }
    }
}
