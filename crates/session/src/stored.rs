//! What the CLI has stored of a session, from the end of its transcript: whether a CLI that resumes it would go on.
//!
//! Measured, CLI 2.1.329: the record of a session says "busy" as soon as the user presses Enter; the transcript has the
//! prompt 0.1 to 1 s later, or once the user's hooks have seen it. A process that ends before has lost the prompt.
//! `--reply-on-resume` asks the model only if the conversation ends with a line for it, without calls that have no result.
//! A prompt that waits for the turn's end is stored as a `queue-operation`, which no resume reads: it ends with its process.
//! So does one that was taken from there, until it is stored as a message 0.2 s later.

use std::io;
use std::path::Path;

use claude_ide_system::file::open_regular;
use serde::{Deserialize, Serialize};

use crate::error::SessionError;
use crate::index::{Class, classify};
use crate::line_buffer::{read_piece, whole_lines};
use crate::line_head::{Flavour, Head, LineKind, is_api_request};
use crate::time::Millis;

/// Bytes read of a transcript's end.
const MAX_READ: u64 = 4 * 1024 * 1024;

/// What the end of a transcript tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stored {
    /// The permission mode, which the CLI writes with each prompt and each change of it. Undocumented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// Whether it has a turn that is not over.
    pub turn: bool,
    /// The prompts that wait for its end, or to be stored as messages, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queued: Vec<String>,
    /// Those that are no longer in the queue, and are no messages yet.
    #[serde(skip)]
    taken: Vec<String>,
}

/// A change of the prompts that wait.
#[derive(Deserialize)]
struct QueueOperation {
    operation: String,
    content: Option<String>,
}

impl Stored {
    /// Reads the end of a transcript. The turn and the prompts are those `since` its process began: earlier ones may have left some.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub fn read(transcript: &Path, since: Millis) -> Result<Self, SessionError> {
        let read = || -> io::Result<Self> {
            let mut file = open_regular(transcript)?;
            let size = file.metadata()?.len();
            let start = size.saturating_sub(MAX_READ);
            let piece = read_piece(&mut file, start, size - start)?;
            let mut stored = Self::default();
            let lines = whole_lines(&piece, start == 0).filter(|line| !is_api_request(line));
            for line in lines {
                if let Some(head) = Head::parse(line) {
                    stored.take(line, &head, since);
                }
            }
            let taken = std::mem::take(&mut stored.taken);
            stored.queued.splice(0..0, taken);
            stored.queued.retain(|text| Flavour::of(text) == Flavour::Plain); // not those of the CLI
            Ok(stored)
        };
        read().map_err(SessionError::read(transcript))
    }

    fn take(&mut self, line: &[u8], head: &Head<'_>, since: Millis) {
        if head.sidechain.is_true() {
            return;
        }
        let mode = head.permission_mode.text();
        if !mode.is_empty() {
            self.mode = Some(mode.to_owned());
        }
        let is_new = head.time().is_some_and(|time| time.0 >= since.0);
        if let Some(goes_on) = goes_on_after(head) {
            self.turn = goes_on && is_new;
        }
        if is_new && head.kind.text() == "queue-operation" {
            self.queue(line);
        } else if matches!(classify(head), Class::Node(_)) {
            self.taken.clear(); // results of calls come before the prompts that were taken with them
        }
    }

    fn queue(&mut self, line: &[u8]) {
        let Ok(QueueOperation { operation, content }) = serde_json::from_slice(line) else { return };
        match (operation.as_str(), content) {
            ("enqueue", Some(text)) => self.queued.push(text),
            (operation, Some(text)) => {
                if let Some(at) = self.queued.iter().position(|queued| *queued == text) {
                    self.queued.remove(at);
                    self.taken.extend((operation != "popAll").then_some(text)); // else the user has it back
                }
            }
            ("dequeue", None) if !self.queued.is_empty() => self.taken.push(self.queued.remove(0)),
            ("popAll", None) => self.queued.clear(),
            (_, None) => {}
        }
    }
}

/// Whether the turn goes on after a line; `None` if the line does not tell.
fn goes_on_after(head: &Head<'_>) -> Option<bool> {
    if head.inner.is_true() {
        return None; // a script may end after its turn
    }
    match head.line_kind() {
        LineKind::User => match head.message.0.as_ref()?.content.flavour()? {
            Flavour::Interrupted => Some(false),
            Flavour::Plain | Flavour::Task => (!head.compact_summary.is_true()).then_some(true),
            Flavour::None | Flavour::Command | Flavour::CommandOutput | Flavour::Machine => None,
        },
        LineKind::Assistant => Some(head.message.0.as_ref()?.goes_on()),
        LineKind::System if head.subtype.text() == "turn_duration" => Some(false),
        LineKind::Other if head.kind.text() == "cost-state" => Some(false), // it ended with its process
        LineKind::System | LineKind::Attachment | LineKind::ApiRequest | LineKind::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> Stored {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        std::fs::write(&file, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        Stored::read(&file, Millis::parse("2026-01-01T00:00:00Z").unwrap()).unwrap()
    }

    fn user(content: &str) -> String {
        format!(r#"{{"type":"user","timestamp":"2026-01-01T00:00:01Z","message":{{"content":{content}}}}}"#)
    }

    fn reply(kind: &str, stop: &str) -> String {
        let block = format!(r#"{{"type":"{kind}","text":"x","name":"Bash"}}"#);
        format!(
            r#"{{"type":"assistant","timestamp":"2026-01-01T00:00:02Z","message":{{"content":[{block}],"stop_reason":{stop}}}}}"#
        )
    }

    #[test]
    fn a_turn_goes_on_from_its_prompt_to_its_answer() {
        let (prompt, answer) = (user(r#""do it""#), reply("text", r#""end_turn""#));
        let call = reply("tool_use", r#""tool_use""#);
        let result = user(r#"[{"type":"tool_result","content":"ok"}]"#);
        let duration = r#"{"type":"system","subtype":"turn_duration"}"#;
        assert!(!after(&[]).turn);
        assert!(after(&[&answer, &prompt]).turn);
        assert!(after(&[&prompt, &call]).turn);
        assert!(after(&[&prompt, &call, &result]).turn);
        assert!(after(&[&prompt, &reply("text", r#""tool_use""#)]).turn);
        assert!(after(&[&prompt, &reply("thinking", "null")]).turn);
        assert!(!after(&[&prompt, &call, &result, &answer]).turn);
        assert!(!after(&[&prompt, &answer, duration]).turn);
        assert!(!after(&[&prompt, duration]).turn);
        assert!(!after(&[&prompt, r#"{"type":"cost-state"}"#]).turn);
    }

    #[test]
    fn a_turn_of_an_earlier_process_is_none() {
        let before = r#"{"type":"user","timestamp":"2025-12-31T23:59:59Z","message":{"content":"do it"}}"#;
        assert!(!after(&[&user(r#""do it""#), before]).turn);
    }

    #[test]
    fn prompts_wait_until_they_are_taken() {
        let operation = |name: &str, more: &str| {
            format!(r#"{{"type":"queue-operation","operation":"{name}","timestamp":"2026-01-01T00:00:01Z"{more}}}"#)
        };
        let enqueue = |text: &str| operation("enqueue", &format!(r#","content":"{text}""#));
        let (one, two, notified) = (enqueue("one"), enqueue("two"), enqueue("<task-notification>it ended"));
        let old = one.replace("2026", "2025");
        let absorbed = operation("remove", r#","content":"two","reason":"absorbed_mid_turn""#);
        let (taken, withdrawn) = (operation("dequeue", ""), operation("popAll", r#","content":"one""#));
        assert_eq!(after(&[&old, &one, &notified, &two]).queued, ["one", "two"]);
        let (prompt, result) = (user(r#""one""#), user(r#"[{"type":"tool_result","content":"ok"}]"#));
        let typed = r#"{"type":"attachment","attachment":{"type":"queued_command","humanTurn":true,"prompt":"two"}}"#;
        assert_eq!(after(&[&one, &two, &taken, &prompt]).queued, ["two"]);
        assert_eq!(after(&[&notified, &one, &taken]).queued, ["one"]);
        assert_eq!(after(&[&one, &two, &absorbed, &result, typed]).queued, ["one"]);
        assert_eq!(after(&[&one, &two, &withdrawn]).queued, ["two"]);
        // They are no messages yet.
        assert_eq!(after(&[&one, &two, &taken]).queued, ["one", "two"]);
        assert_eq!(after(&[&one, &two, &absorbed, &result]).queued, ["two", "one"]);
        assert!(after(&[&taken, &one, &operation("popAll", ""), "{}"]).queued.is_empty());
    }

    #[test]
    fn what_the_cli_adds_for_the_model_is_a_turn_and_the_output_of_a_command_is_none() {
        let command = user(r#""<command-name>/init</command-name>""#);
        let meta = r#"{"type":"user","isMeta":true,"timestamp":"2026-01-01T00:00:01Z","message":{"content":"Look."}}"#;
        let output = user(r#""<local-command-stdout>done</local-command-stdout>""#);
        let notified = user(r#""<task-notification>it ended</task-notification>""#);
        let interrupted = user(r#"[{"type":"text","text":"[Request interrupted by user]"}]"#);
        assert!(after(&[&command, meta]).turn);
        assert!(after(&[&notified]).turn);
        assert!(!after(&[&reply("text", r#""end_turn""#), &command, &output]).turn);
        assert!(!after(&[&user(r#""do it""#), &interrupted]).turn);
    }

    #[test]
    fn bookkeeping_and_subagents_say_nothing_of_the_turn() {
        let side = r#"{"type":"user","isSidechain":true,"permissionMode":"plan","timestamp":"2026-01-01T00:00:01Z","message":{"content":"sub"}}"#;
        let attached = r#"{"type":"attachment","attachment":{"type":"date"}}"#;
        let ended = [&reply("text", r#""end_turn""#), side, attached, r#"{"type":"mode","mode":"normal"}"#, "broken"];
        assert_eq!(after(&ended), Stored::default());
        assert!(after(&[&user(r#""do it""#), attached, side]).turn);
    }

    #[test]
    fn the_last_mode_counts_and_only_the_line_s_own_field() {
        let prompt = r#"{"type":"user","permissionMode":"plan","message":{"content":"do it"}}"#;
        let changed = r#"{"type":"permission-mode","permissionMode":"acceptEdits"}"#;
        let quoted = user(r#""{\"permissionMode\":\"bypassPermissions\"}""#);
        assert_eq!(after(&[prompt, changed, &quoted, r#"{"permissionMode":7}"#]).mode.as_deref(), Some("acceptEdits"));
        assert_eq!(after(&[changed, prompt]).mode.as_deref(), Some("plan"));
    }
}
