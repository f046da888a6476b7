//! What the CLI has stored of a session, from the end of its transcript: whether a CLI that resumes it would go on.
//!
//! Measured, CLI 2.1.329: the record of a session says "busy" as soon as the user presses Enter; the transcript has the
//! prompt 0.1 to 1 s later, or once the user's hooks have seen it. A process that ends before has lost the prompt.
//! `--reply-on-resume` asks the model only if the conversation ends with a line for it, without calls that have no result.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use claude_ide_system::file::open_regular;
use serde::Serialize;

use crate::error::SessionError;
use crate::head::{Flavour, Head, LineKind, is_api_request};
use crate::json::mend;
use crate::line_buffer::whole_lines;
use crate::time::Millis;

/// Bytes read of a transcript's end.
const MAX_READ: u64 = 4 * 1024 * 1024;

/// What the end of a transcript tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stored {
    /// The permission mode, which the CLI writes with each prompt and each change of it. Undocumented.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// When the last line of a turn that is not over was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<Millis>,
}

impl Stored {
    /// Reads the end of a transcript.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub fn read(transcript: &Path) -> Result<Self, SessionError> {
        let read = || -> io::Result<Self> {
            let mut file = open_regular(transcript)?;
            let start = file.metadata()?.len().saturating_sub(MAX_READ);
            file.seek(SeekFrom::Start(start))?;
            let mut piece = Vec::new();
            file.take(MAX_READ).read_to_end(&mut piece)?;
            mend(&mut piece);
            let mut stored = Self::default();
            let lines = whole_lines(&piece, start == 0).filter(|line| !is_api_request(line));
            lines.filter_map(Head::parse).for_each(|head| stored.take(&head));
            Ok(stored)
        };
        read().map_err(SessionError::read(transcript))
    }

    fn take(&mut self, head: &Head<'_>) {
        if head.sidechain.is_true() {
            return;
        }
        let mode = head.permission_mode.text();
        if !mode.is_empty() {
            self.mode = Some(mode.to_owned());
        }
        if let Some(goes_on) = goes_on_after(head) {
            self.turn = goes_on.then(|| head.time()).flatten();
        }
    }
}

/// Whether the turn goes on after a line; `None` if the line does not tell.
fn goes_on_after(head: &Head<'_>) -> Option<bool> {
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
        Stored::read(&file).unwrap()
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
        assert_eq!(after(&[]).turn, None);
        assert_eq!(after(&[&answer, &prompt]).turn, Millis::parse("2026-01-01T00:00:01Z"));
        assert_eq!(after(&[&prompt, &call]).turn, Millis::parse("2026-01-01T00:00:02Z"));
        assert!(after(&[&prompt, &call, &result]).turn.is_some());
        assert!(after(&[&prompt, &reply("text", r#""tool_use""#)]).turn.is_some());
        assert!(after(&[&prompt, &reply("thinking", "null")]).turn.is_some());
        assert_eq!(after(&[&prompt, &call, &result, &answer]).turn, None);
        assert_eq!(after(&[&prompt, &answer, duration]).turn, None);
        assert_eq!(after(&[&prompt, duration]).turn, None);
        assert_eq!(after(&[&prompt, r#"{"type":"cost-state"}"#]).turn, None);
    }

    #[test]
    fn what_the_cli_adds_for_the_model_is_a_turn_and_the_output_of_a_command_is_none() {
        let command = user(r#""<command-name>/init</command-name>""#);
        let meta = r#"{"type":"user","isMeta":true,"timestamp":"2026-01-01T00:00:01Z","message":{"content":"Look."}}"#;
        let output = user(r#""<local-command-stdout>done</local-command-stdout>""#);
        let notified = user(r#""<task-notification>it ended</task-notification>""#);
        let interrupted = user(r#"[{"type":"text","text":"[Request interrupted by user]"}]"#);
        assert!(after(&[&command, meta]).turn.is_some());
        assert!(after(&[&notified]).turn.is_some());
        assert_eq!(after(&[&reply("text", r#""end_turn""#), &command, &output]).turn, None);
        assert_eq!(after(&[&user(r#""do it""#), &interrupted]).turn, None);
    }

    #[test]
    fn bookkeeping_and_subagents_say_nothing_of_the_turn() {
        let side = r#"{"type":"user","isSidechain":true,"permissionMode":"plan","timestamp":"2026-01-01T00:00:01Z","message":{"content":"sub"}}"#;
        let attached = r#"{"type":"attachment","attachment":{"type":"date"}}"#;
        let ended = [&reply("text", r#""end_turn""#), side, attached, r#"{"type":"mode","mode":"normal"}"#, "broken"];
        assert_eq!(after(&ended), Stored::default());
        assert!(after(&[&user(r#""do it""#), attached, side]).turn.is_some());
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
