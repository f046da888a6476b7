//! Infers what a session is doing from its transcript, for CLIs without session records.
//!
//! The rules are the transcript protocol's, corrected by measurement. CLI 2.1.329: a `dequeue` hands a queued prompt to Claude, so the
//! session is not idle; `turn_duration` and "[Request interrupted" end a turn; `cost-state` is written when the user
//! leaves. CLI 2.0.77 writes a text before it knows whether a call follows (`stop_reason` null).

use std::io;
use std::path::Path;
use std::time::Duration;

use claude_ide_system::file::open_regular;
use serde::{Deserialize, Serialize};

use crate::error::SessionError;
use crate::line_buffer::{read_piece, whole_lines};
use crate::line_head::{Flavour, Head, LineKind, MessageHead, is_api_request};
use crate::time::Millis;

/// Tools that ask the user.
const QUESTIONS: [&str; 2] = ["AskUserQuestion", "ExitPlanMode"];
/// A session that should be working but was silent for this long has been killed.
pub(crate) const SILENT: Duration = Duration::from_secs(10 * 60);
/// A text without a `stop_reason` counts as the last one after this much silence.
pub(crate) const QUIET: Duration = Duration::from_secs(3);
/// Bytes read of a transcript's end: at first, and at most.
const FIRST_READ: u64 = 64 * 1024;
const MAX_READ: u64 = 4 * 1024 * 1024;

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Claude is working.
    Working,
    /// Claude waits for the user.
    Waiting,
    /// Claude is done; the next prompt may come.
    Idle,
    /// No process runs it.
    Gone,
}

/// What a session waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WaitingFor {
    /// A permission.
    Permission,
    /// An answer to a question.
    Input,
    /// The user, to close a dialog of the CLI.
    Dialog,
    /// A reason unknown to this crate.
    Other,
}

impl WaitingFor {
    /// Parses the CLI's text: "permission prompt", "sandbox request", "input needed", "dialog open" (CLI 2.1.329).
    pub(crate) fn of(words: &str) -> Self {
        match words {
            "permission prompt" | "sandbox request" => Self::Permission,
            "input needed" => Self::Input,
            "dialog open" => Self::Dialog,
            _ => Self::Other,
        }
    }
}

/// The source of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateSource {
    /// The CLI's record: exact.
    Record,
    /// The transcript, which does not show permission prompts.
    Transcript,
}

/// What a session is doing, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionState {
    /// What it is doing.
    pub activity: Activity,
    /// Set while it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<WaitingFor>,
    /// Since when.
    pub since: Option<Millis>,
    /// The source.
    pub source: StateSource,
}

/// Infers from the end of a transcript what its session is doing.
///
/// # Errors
/// [`SessionError::Read`] if the file cannot be read.
pub fn infer(transcript: &Path, now: Millis) -> Result<SessionState, SessionError> {
    let (guess, modified) = read(transcript, now)?;
    Ok(guess.state(modified, now))
}

fn read(transcript: &Path, now: Millis) -> Result<(Guess, Millis), SessionError> {
    let read = || -> io::Result<(Guess, Millis)> {
        let mut file = open_regular(transcript)?;
        let metadata = file.metadata()?;
        let modified = metadata.modified().map_or(now, Millis::from_system);
        let mut want = FIRST_READ;
        loop {
            let start = metadata.len().saturating_sub(want);
            let piece = read_piece(&mut file, start, want.min(metadata.len()))?;
            let mut guess = Guess::default();
            whole_lines(&piece, start == 0).for_each(|line| guess.observe_line(line));
            if guess.activity.is_some() || start == 0 || want >= MAX_READ {
                return Ok((guess, modified));
            }
            want *= 4;
        }
    };
    read().map_err(SessionError::read(transcript))
}

/// The state after the lines seen so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Guess {
    activity: Option<Activity>,
    since: Option<Millis>,
    /// Start of the previous activity.
    before: Option<Millis>,
    /// Whether the reply of the last line may continue.
    open: bool,
}

impl Guess {
    pub(crate) fn observe_line(&mut self, line: &[u8]) {
        if let Some(head) = (!is_api_request(line)).then(|| Head::parse(line)).flatten() {
            self.observe(&head);
        }
    }

    fn observe(&mut self, head: &Head<'_>) {
        if head.sidechain.is_true() {
            return;
        }
        if let Some(activity) = next_activity(head) {
            if self.activity != Some(activity) {
                self.before = self.since;
                self.since = head.time().or(self.since);
            }
            self.activity = Some(activity);
            self.open = activity == Activity::Idle && is_open(head);
        }
    }

    fn state(mut self, modified: Millis, now: Millis) -> SessionState {
        let is_silent = passed(modified, now) > i64::try_from(SILENT.as_millis()).unwrap_or(i64::MAX);
        if self.activity.is_none() || (self.activity == Some(Activity::Working) && is_silent) {
            self.activity = Some(Activity::Gone);
        }
        self.state_at(modified, now)
    }

    fn state_at(self, modified: Millis, now: Millis) -> SessionState {
        let is_quiet = passed(modified, now) >= i64::try_from(QUIET.as_millis()).unwrap_or(i64::MAX);
        let goes_on = self.open && self.activity == Some(Activity::Idle) && !is_quiet;
        let activity = if goes_on { Activity::Working } else { self.activity.unwrap_or(Activity::Gone) };
        SessionState {
            activity,
            waiting_for: (activity == Activity::Waiting).then_some(WaitingFor::Input),
            since: if goes_on { self.before.or(self.since) } else { self.since },
            source: StateSource::Transcript,
        }
    }
}

/// In milliseconds.
fn passed(since: Millis, now: Millis) -> i64 {
    now.0.saturating_sub(since.0)
}

/// Whether the line is a reply without a stop reason.
fn is_open(head: &Head<'_>) -> bool {
    let message = head.message.0.as_ref();
    head.line_kind() == LineKind::Assistant && message.is_some_and(|message| message.stop_reason.text().is_empty())
}

/// The session's activity after a line; `None` if the line does not change it.
fn next_activity(head: &Head<'_>) -> Option<Activity> {
    if head.inner.is_true() {
        return None; // a script may end after its turn
    }
    match head.line_kind() {
        LineKind::User => after_user(head),
        LineKind::Assistant => after_assistant(head.message.0.as_ref()?),
        LineKind::System => match head.subtype.text() {
            "turn_duration" => Some(Activity::Idle),
            "api_error" => Some(Activity::Working),
            _ => None,
        },
        LineKind::Attachment => {
            let queued = head.attachment.0.as_ref().is_some_and(|attachment| attachment.human_turn.is_true());
            queued.then_some(Activity::Working)
        }
        LineKind::ApiRequest => None,
        LineKind::Other => match head.kind.text() {
            "progress" => Some(Activity::Working),
            "cost-state" => Some(Activity::Gone),
            _ => None,
        },
    }
}

fn after_user(head: &Head<'_>) -> Option<Activity> {
    match head.message.0.as_ref()?.content.flavour()? {
        Flavour::Interrupted => Some(Activity::Idle),
        Flavour::Plain if !head.meta.is_true() && !head.compact_summary.is_true() => Some(Activity::Working),
        Flavour::Plain
        | Flavour::None
        | Flavour::Command
        | Flavour::CommandOutput
        | Flavour::Machine
        | Flavour::Task => None,
    }
}

fn after_assistant(message: &MessageHead<'_>) -> Option<Activity> {
    if message.content.calls().any(|block| QUESTIONS.contains(&block.name.text())) {
        return Some(Activity::Waiting);
    }
    Some(if message.goes_on() { Activity::Working } else { Activity::Idle })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> Option<Activity> {
        let mut guess = Guess::default();
        lines.iter().for_each(|line| guess.observe_line(line.as_bytes()));
        guess.activity
    }

    const PROMPT: &str = r#"{"type":"user","message":{"content":"do it"}}"#;
    const CALL: &str =
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Bash"}],"stop_reason":"tool_use"}}"#;
    const RESULT: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","content":"ok"}]}}"#;
    const ANSWER: &str =
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"}}"#;

    #[test]
    fn a_turn_is_work_until_its_answer() {
        assert_eq!(after(&[PROMPT]), Some(Activity::Working));
        assert_eq!(after(&[PROMPT, CALL]), Some(Activity::Working));
        assert_eq!(after(&[PROMPT, CALL, RESULT]), Some(Activity::Working));
        assert_eq!(after(&[PROMPT, CALL, RESULT, ANSWER]), Some(Activity::Idle));
    }

    #[test]
    fn thinking_and_text_before_a_call_are_still_work() {
        let thinking = r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm"}],"stop_reason":"end_turn"}}"#;
        let text =
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"let me"}],"stop_reason":"tool_use"}}"#;
        assert_eq!(after(&[PROMPT, thinking]), Some(Activity::Working));
        assert_eq!(after(&[PROMPT, text]), Some(Activity::Working));
    }

    #[test]
    fn a_queued_prompt_taken_up_is_not_idle() {
        let dequeue = r#"{"type":"queue-operation","operation":"dequeue"}"#;
        assert_eq!(after(&[PROMPT, dequeue]), Some(Activity::Working));
        assert_eq!(
            after(&[ANSWER, dequeue]),
            Some(Activity::Idle),
            "until the prompt itself is written, at once after"
        );
    }

    #[test]
    fn a_question_waits_and_an_interruption_ends_the_turn() {
        let question = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"AskUserQuestion"}]}}"#;
        let interrupted =
            r#"{"type":"user","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}"#;
        assert_eq!(after(&[PROMPT, question]), Some(Activity::Waiting));
        assert_eq!(after(&[PROMPT, question, RESULT]), Some(Activity::Working));
        assert_eq!(after(&[PROMPT, interrupted]), Some(Activity::Idle));
        assert_eq!(after(&[ANSWER, r#"{"type":"cost-state"}"#]), Some(Activity::Gone));
    }

    #[test]
    fn subagents_and_bookkeeping_say_nothing() {
        let side = r#"{"type":"user","isSidechain":true,"message":{"content":"sub"}}"#;
        let meta = r#"{"type":"user","isMeta":true,"message":{"content":"reminder"}}"#;
        assert_eq!(after(&[ANSWER, side, meta, r#"{"type":"mode"}"#, "broken"]), Some(Activity::Idle));
    }

    #[test]
    fn a_text_that_does_not_say_why_it_stops_is_the_end_once_nothing_follows() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        let text = r#"{"type":"assistant","timestamp":"2026-01-01T00:00:05Z","message":{"content":[{"type":"text","text":"let me"}],"stop_reason":null}}"#;
        let prompt = r#"{"type":"user","timestamp":"2026-01-01T00:00:01Z","message":{"content":"do it"}}"#;
        std::fs::write(&file, format!("{prompt}\n{text}\n")).unwrap();
        let now = Millis::from_system(std::fs::metadata(&file).and_then(|file| file.modified()).unwrap());
        let started = Millis::parse("2026-01-01T00:00:01Z");
        let at = |now| infer(&file, now).map(|state| (state.activity, state.since)).unwrap();
        assert_eq!(at(now), (Activity::Working, started));
        assert_eq!(at(Millis(now.0 + 5000)), (Activity::Idle, Millis::parse("2026-01-01T00:00:05Z")));
    }

    #[test]
    fn long_silence_while_working_means_gone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("s.jsonl");
        std::fs::write(&file, format!("{PROMPT}\n{}\n", r#"{"type":"half"#)).unwrap();
        let now = Millis::now();
        assert_eq!(infer(&file, now).unwrap().activity, Activity::Working);
        assert_eq!(infer(&file, Millis(now.0 + 2 * 600_000)).unwrap().activity, Activity::Gone);
        assert!(infer(&dir.path().join("none"), now).is_err());
    }
}
