//! What the fuzz target runs (`fuzz/`): frames of one socket that may write, against an editor that checks what it is asked.

use std::sync::Arc;

use claude_ide_session::SessionId;

use crate::desk::Desk;
use crate::editor::{Ask, Choice, Decision, Editor, Told, Writing};
use crate::frames;
use crate::options::Limits;
use crate::pen::{Part, Pen};
use crate::words;

/// Asserts what must hold of all that clients may ask for.
struct Strict;

impl Editor for Strict {
    fn ask(&self, ask: Ask) -> bool {
        let is_plain = |text: &str| words::plain(text) == text;
        match ask {
            Ask::Deliver { text, command, .. } => {
                assert!(is_plain(&text) && !text.is_empty() && text.len() <= Limits::default().message_bytes);
                assert!(!command && !words::is_command(&text));
            }
            Ask::TakeBack { .. } => {}
            Ask::Decide { choice, message, answers, .. } => {
                assert!(choice == "allow" || choice == "answer");
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

/// Hears frames, one after the other.
pub fn hear<'a>(frames: impl Iterator<Item = &'a str>) {
    let session = SessionId::new("s").to_string();
    let writing = Writing { editor: Arc::new(Strict), commands: false };
    let (desk, _wanted) = Desk::new(Some(writing), Limits::default());
    let choice = |id: &str, answers| Choice { id: id.to_owned(), label: String::new(), message: true, answers };
    let choices = vec![choice("allow", false), choice("answer", true)];
    desk.take(Told::Decision(Decision { id: 1, session: session.clone(), choices, about: serde_json::Map::new() }));
    let mut pen = Pen::new(&desk, Part::Client);
    for frame in frames {
        let answer = match frames::read(frame) {
            Ok(inward) => pen.hear(&desk, &session, inward),
            Err(text) => Some(text),
        };
        if let Some(text) = answer {
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        }
        while let Some((parcel, _)) = desk.next(&session) {
            desk.deliver(&session, &parcel);
            desk.take(Told::Failed { key: parcel.key, reason: "no".to_owned(), all: false });
        }
    }
}
