//! The calls that have ended in a transcript: what each changed, read or found, and what let it run. Repeated calls while
//! it grows read no line twice.

use std::collections::HashMap;

use serde::Serialize;

use super::Transcript;
use super::locations::{self, Location};
use crate::arguments::Arguments;
use crate::cancel::Cancel;
use crate::error::SessionError;
use crate::id::{Name, NodeId};
use crate::index::{LineRef, Step};
use crate::line_body::Body;
use crate::message::{Block, Part};
use crate::model::{AllowedBy, ToolStatus};
use crate::time::Millis;
use crate::tool_result::{EditTexts, Outcome};

/// A reader gets so many calls and changes at once, and texts up to so many bytes, or one change: the client handles them
/// within a turn of its event loop.
const MAX_CALLS: usize = 200;
const MAX_CHANGES: usize = 8;
const MAX_BYTES: usize = 512 * 1024;

/// Longer messages are cut before their last line is looked for.
const MAX_SAID: usize = 16 * 1024;
/// What a call was made for is one line.
const MAX_LINE: usize = 200;
/// Limit of a failure's message.
const MAX_WORDS: usize = 600;

/// A tool call with a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EndedCall {
    /// The call.
    pub id: String,
    /// "Read", "Bash", …
    pub name: Name,
    /// How it ended; [`ToolStatus::Running`]: it goes on in the background.
    pub status: ToolStatus,
    /// The message that made it.
    pub message: NodeId,
    /// When it began.
    pub start: Option<Millis>,
    /// When it had its result.
    pub end: Option<Millis>,
    /// What let it run, if known.
    pub allowed_by: Option<AllowedBy>,
    /// Its place in its conversation, if the whole of that is known.
    pub step: Option<Step>,
    /// A shell command that the CLI allowed by itself.
    pub command: Option<String>,
    /// The file that it changed.
    pub change: Option<ChangedFile>,
    /// Where it read, changed or found something.
    pub location: Option<Location>,
    /// If it failed or was rejected.
    pub failure: Option<Failure>,
}

/// A file that a call changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Absolute path.
    pub path: String,
    /// Whether the user changed Claude's proposal.
    pub user_modified: bool,
}

/// A call that did not do what it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The file that it was to change.
    pub path: Option<String>,
    /// The beginning of what the model was told.
    pub words: String,
}

/// Calls that ended in a part of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EndedCalls {
    /// In the order of their results.
    pub calls: Vec<EndedCall>,
    /// Where the next reading continues.
    pub offset: u64,
    /// Whether there are more already.
    pub more: bool,
    /// The texts of the changed files, by call. They are not sent.
    #[serde(skip)]
    pub texts: HashMap<String, EditTexts>,
}

impl EndedCalls {
    fn is_full(&self) -> bool {
        let size = |texts: &EditTexts| texts.after.len() + texts.before.as_ref().map_or(0, String::len);
        self.calls.len() >= MAX_CALLS
            || self.texts.len() >= MAX_CHANGES
            || self.texts.values().map(size).sum::<usize>() >= MAX_BYTES
    }
}

/// How a call was made.
#[derive(Default)]
struct Made {
    /// The last line of what Claude said before it in the same message.
    said: Option<String>,
    arguments: Option<Arguments>,
}

impl Made {
    fn argument(&self, name: &str) -> Option<String> {
        self.arguments.as_ref()?.read().get(name)?.as_str().map(str::to_owned)
    }
}

impl Transcript {
    /// Calls whose results are at byte `offset` or later, on any branch. Calls that ended before `since` are skipped
    /// without reading the file.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub fn ended_calls(&mut self, offset: u64, since: Millis, cancel: &Cancel) -> Result<EndedCalls, SessionError> {
        let mut found = EndedCalls { offset: self.tail.offset(), ..EndedCalls::default() };
        for at in self.index.results_from(offset, since) {
            if cancel.is_cancelled() {
                break;
            } else if found.is_full() {
                (found.offset, found.more) = (at.offset, true);
                break;
            }
            let bytes = self.line(at)?;
            let Some(body) = Body::parse(&bytes) else { continue };
            // The CLI's own record in a line is of its first result.
            for (number, id) in body.result_ids().into_iter().enumerate() {
                let Some(call) = self.ended_call(at, &body, id, number == 0)? else { continue };
                let texts = call.change.as_ref().and_then(|_| EditTexts::parse(body.outcome()?));
                found.texts.extend(texts.map(|texts| (call.id.clone(), texts)));
                found.calls.push(call);
            }
        }
        Ok(found)
    }

    fn ended_call(
        &mut self,
        at: LineRef,
        body: &Body<'_>,
        id: String,
        is_first: bool,
    ) -> Result<Option<EndedCall>, SessionError> {
        let Some(tool) = self.index.tool_by_id(&id).filter(|tool| tool.result == Some(at)) else { return Ok(None) };
        let (name, message, start) = (tool.name.clone(), tool.node, tool.started);
        let (status, end) = tool.end.map_or((ToolStatus::Running, body.time()), |end| (end.status, end.time));
        let is_done = status == ToolStatus::Done;
        let raw = body.outcome().filter(|_| is_first && is_done);
        let outcome = raw.and_then(|raw| Outcome::parse(raw, 0));
        let change = match &outcome {
            Some(Outcome::FileChange(change)) => {
                Some(ChangedFile { path: change.path.clone(), user_modified: change.user_modified })
            }
            _ => None,
        };
        let step = self.index.step(&id).filter(|_| self.complete);
        let location = raw.and_then(|raw| locations::of_result(raw, outcome));
        let allowed_by = body.allowed_by().filter(|_| is_first && is_done);
        let has_failed = matches!(status, ToolStatus::Failed | ToolStatus::Rejected);
        let is_read = location.is_some() || has_failed || allowed_by == Some(AllowedBy::Cli);
        let made = if is_read { self.made(message, &id)? } else { Made::default() };
        let command = made.argument("command").filter(|_| allowed_by == Some(AllowedBy::Cli) && change.is_none());
        let failure = has_failed.then(|| Failure { path: made.argument("file_path"), words: words_of(body, &id) });
        let location = location.map(|location| Location { said: made.said, ..location });
        Ok(Some(EndedCall {
            id,
            name,
            status,
            message,
            start,
            end,
            allowed_by,
            step,
            command,
            change,
            location,
            failure,
        }))
    }

    fn made(&mut self, message: NodeId, id: &str) -> Result<Made, SessionError> {
        let lines = self.index.node(message).map(|node| node.lines.clone()).unwrap_or_default();
        let mut said = None;
        for line in lines {
            let bytes = self.line(line)?;
            let Some(body) = Body::parse(&bytes) else { continue };
            for block in body.blocks(MAX_SAID) {
                match block {
                    Block::Text(text) => {
                        let last = text.text.lines().rfind(|line| !line.trim().is_empty());
                        said = last.map(|line| line.trim().chars().take(MAX_LINE).collect()).or(said);
                    }
                    Block::ToolUse { id: of, input, .. } if of == id => {
                        return Ok(Made { said, arguments: Some(input) });
                    }
                    _ => {}
                }
            }
        }
        Ok(Made::default())
    }
}

fn words_of(body: &Body<'_>, id: &str) -> String {
    let parts = body.result_of(id, MAX_WORDS).map(|result| result.content).unwrap_or_default();
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        Part::Image(_) | Part::Unknown { .. } => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const CALL: &str = r#"{"type":"assistant","uuid":"a$","timestamp":"2026-01-19T04:45:1$.000Z","message":{"id":"m$","content":[{"type":"tool_use","id":"t$","name":"Write","input":{}}]}}"#;
    const RESULT: &str = r#"{"type":"user","uuid":"r$","parentUuid":"a$","timestamp":"2026-01-19T04:45:1$.500Z","message":{"content":[{"type":"tool_result","tool_use_id":"t$","content":"ok"}]},"toolUseResult":{"type":"create","filePath":"/p/$","content":"x","structuredPatch":[],"originalFile":null}}"#;

    fn append(path: &std::path::Path, number: u32) {
        let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
        for line in [CALL, RESULT] {
            let line = line.replace("1$.", &format!("{}.", 10 + number % 10));
            writeln!(file, "{}", line.replace('$', &number.to_string())).unwrap();
        }
    }

    #[test]
    fn each_change_is_reported_once_and_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let cancel = Cancel::default();
        (1..4).for_each(|number| append(&path, number));
        let mut transcript = Transcript::open(&path, &cancel).unwrap();
        let since = Millis::parse("2026-01-19T04:45:12.000Z").unwrap();
        let first = transcript.ended_calls(0, since, &cancel).unwrap();
        let paths = |found: &EndedCalls| {
            found.calls.iter().filter_map(|call| Some(call.change.as_ref()?.path.clone())).collect::<Vec<_>>()
        };
        assert_eq!(paths(&first), ["/p/2", "/p/3"]);
        assert_eq!((first.calls[0].id.as_str(), first.calls[0].name.as_str()), ("t2", "Write"));
        assert_eq!(first.calls[0].start, Some(since));
        assert_eq!(first.calls[0].end, Millis::parse("2026-01-19T04:45:12.500Z"));
        append(&path, 4);
        transcript.refresh(&cancel).unwrap();
        let second = transcript.ended_calls(first.offset, since, &cancel).unwrap();
        assert_eq!(paths(&second), ["/p/4"]);
        assert_eq!(paths(&transcript.ended_calls(second.offset, since, &cancel).unwrap()), [""; 0]);
    }

    #[test]
    fn a_change_names_its_turn_and_step() {
        let prompt = |id: &str, parent: &str| {
            format!(
                r#"{{"type":"user","uuid":"{id}","parentUuid":{parent},"timestamp":"2026-01-19T04:45:10.000Z","message":{{"role":"user","content":"do it"}}}}"#
            )
        };
        let call = |number: u32, parent: &str| {
            let uuid = format!(r#""uuid":"a{number}","parentUuid":"{parent}""#);
            [CALL.replace(r#""uuid":"a$""#, &uuid), RESULT.to_owned()].join("\n").replace('$', &number.to_string())
        };
        let lines = [
            prompt("p1", "null"),
            call(1, "p1"),
            call(2, "r1"),
            prompt("p2", r#""r2""#), // stopped before an answer
            prompt("p3", r#""p2""#),
            call(3, "p3"),
            call(4, "r3"),
        ];
        let dir = tempfile::tempdir().unwrap();
        let cancel = Cancel::default();
        let steps = |name: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, lines.join("\n") + "\n").unwrap();
            let found = Transcript::open(&path, &cancel).unwrap().ended_calls(0, Millis(0), &cancel).unwrap();
            let step = |call: &EndedCall| call.step.map(|step| (step.turn, step.number));
            found.calls.iter().filter_map(step).collect::<Vec<_>>()
        };
        assert_eq!(steps("s.jsonl"), [(Some(1), 1), (Some(1), 2), (Some(2), 1), (Some(2), 2)]);
        assert_eq!(steps("agent-1.jsonl"), [(None, 1), (None, 2), (None, 3), (None, 4)]);
        let mut end = Transcript::open_end(dir.path().join("s.jsonl"), 600, &cancel).unwrap();
        let found = end.ended_calls(0, Millis(0), &cancel).unwrap();
        assert!(
            found.calls.iter().all(|call| call.change.is_some() && call.step.is_none()),
            "the turns before are unknown"
        );
    }

    #[test]
    fn what_let_a_call_run_is_reported() {
        const BASH: &str = r#"{"type":"assistant","uuid":"a$","timestamp":"2026-01-19T04:45:1$.000Z","message":{"id":"m$","content":[{"type":"tool_use","id":"t$","name":"Bash","input":{"command":"git diff"}}]}}"#;
        let result = |outcome: &str, permission: &str| {
            let (head, _) = RESULT.split_once(r#","toolUseResult""#).unwrap();
            format!(r#"{head},"toolUseResult":{outcome},"permissionDecision":{{"decision":"accept",{permission}}}}}"#)
        };
        let ran = |permission| [BASH.to_owned(), result(r#"{"stdout":""}"#, permission)];
        let (_, wrote) = RESULT.split_once(r#""toolUseResult":"#).unwrap();
        let wrote = |permission| [CALL.to_owned(), result(wrote.strip_suffix('}').unwrap(), permission)];
        let lines = [
            wrote(r#""source":"config","reasonType":"rule","ruleSource":"projectSettings""#),
            wrote(r#""source":"config","reasonType":"rule","ruleSource":"localSettings""#),
            wrote(r#""source":"config","reasonType":"mode""#),
            wrote(r#""source":"user_temporary","grantScope":"once""#),
            wrote(r#""source":"classifier""#),
            ran(r#""source":"config","reasonType":"subcommandResults""#),
            ran(r#""source":"hook","reasonType":"hook""#),
            ran(r#""source":"config""#),
        ];
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let lines = lines.iter().zip(1..).map(|(pair, number)| pair.join("\n").replace('$', &number.to_string()));
        std::fs::write(&path, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
        let cancel = Cancel::default();
        let found = Transcript::open(&path, &cancel).unwrap().ended_calls(0, Millis(0), &cancel).unwrap();
        let (changes, calls): (Vec<_>, Vec<_>) = found.calls.iter().partition(|call| call.change.is_some());
        let allowed: Vec<_> = changes.iter().map(|change| change.allowed_by).collect();
        let user = Some(AllowedBy::User);
        assert_eq!(allowed, [Some(AllowedBy::Project), user, Some(AllowedBy::Mode), user, None]);
        let calls: Vec<_> = calls.iter().map(|call| (call.allowed_by, call.command.as_deref())).collect();
        assert_eq!(calls, [(Some(AllowedBy::Cli), Some("git diff")), (Some(AllowedBy::Hook), None), (None, None)]);
    }

    #[test]
    fn a_failed_change_is_a_failure_with_its_file_and_what_the_model_was_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let call = CALL.replace(r#""input":{}"#, r#""input":{"file_path":"/p/a"}"#);
        let result = RESULT.replace(r#""content":"ok""#, r#""content":"no","is_error":true"#);
        std::fs::write(&path, format!("{call}\n{result}\n").replace('$', "1")).unwrap();
        let mut transcript = Transcript::open(&path, &Cancel::default()).unwrap();
        let found = transcript.ended_calls(0, Millis(0), &Cancel::default()).unwrap();
        let call = &found.calls[0];
        assert_eq!((call.status, &call.change, &call.location), (ToolStatus::Failed, &None, &None));
        assert_eq!(call.failure, Some(Failure { path: Some("/p/a".into()), words: "no".into() }));
        assert!(found.texts.is_empty());
    }

    #[test]
    fn a_call_that_goes_on_in_the_background_has_its_result_already() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let call = CALL.replace("Write", "Agent");
        let (head, _) = RESULT.split_once(r#","toolUseResult""#).unwrap();
        let result = format!(r#"{head},"toolUseResult":{{"isAsync":true,"status":"async_launched","agentId":"b"}}}}"#);
        std::fs::write(&path, format!("{call}\n{result}\n").replace('$', "1")).unwrap();
        let mut transcript = Transcript::open(&path, &Cancel::default()).unwrap();
        let found = transcript.ended_calls(0, Millis(0), &Cancel::default()).unwrap();
        let told: Vec<_> = found.calls.iter().map(|call| (call.status, call.end)).collect();
        assert_eq!(told, [(ToolStatus::Running, Millis::parse("2026-01-19T04:45:11.500Z"))]);
    }

    #[test]
    fn all_results_of_a_line_are_told_and_the_record_is_of_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let call =
            CALL.replace(r#""input":{}}]"#, r#""input":{}},{"type":"tool_use","id":"u$","name":"Read","input":{}}]"#);
        let result = RESULT.replace(
            r#""content":"ok"}]"#,
            r#""content":"ok"},{"type":"tool_result","tool_use_id":"u$","content":"ok"}]"#,
        );
        std::fs::write(&path, format!("{call}\n{result}\n").replace('$', "1")).unwrap();
        let mut transcript = Transcript::open(&path, &Cancel::default()).unwrap();
        let found = transcript.ended_calls(0, Millis(0), &Cancel::default()).unwrap();
        let told: Vec<_> = found.calls.iter().map(|call| (call.id.as_str(), call.change.is_some())).collect();
        assert_eq!(told, [("t1", true), ("u1", false)]);
    }

    #[test]
    fn many_changes_are_told_in_parts_with_their_texts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let cancel = Cancel::default();
        (10..30).for_each(|number| append(&path, number));
        let mut transcript = Transcript::open(&path, &cancel).unwrap();
        let (mut offset, mut parts, mut told) = (0, Vec::new(), Vec::new());
        loop {
            let found = transcript.ended_calls(offset, Millis(0), &cancel).unwrap();
            assert!(found.calls.iter().all(|call| found.texts.contains_key(&call.id)));
            told.extend(found.calls.iter().map(|call| call.id.clone()));
            parts.push(found.calls.len());
            offset = found.offset;
            if !found.more {
                break;
            }
        }
        assert_eq!(parts, [8, 8, 4]);
        assert_eq!(told, (10..30).map(|number| format!("t{number}")).collect::<Vec<_>>());
    }

    #[test]
    fn each_place_is_told_once_with_what_was_said_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let append = |number: u32| {
            let call = r#"{"type":"assistant","uuid":"a$","timestamp":"2026-01-19T04:45:1$.000Z","message":{"id":"m$","content":[{"type":"text","text":"Well.\nNow $:\n\n"},{"type":"tool_use","id":"t$","name":"Read","input":{}}]}}"#;
            let result = r#"{"type":"user","uuid":"r$","parentUuid":"a$","timestamp":"2026-01-19T04:45:1$.500Z","message":{"content":[{"type":"tool_result","tool_use_id":"t$","content":"ok"}]},"toolUseResult":{"type":"text","file":{"filePath":"/p/$","startLine":2,"numLines":1}}}"#;
            let mut file = std::fs::File::options().append(true).create(true).open(&path).unwrap();
            for line in [call, result] {
                writeln!(file, "{}", line.replace('$', &number.to_string())).unwrap();
            }
        };
        let cancel = Cancel::default();
        (1..4).for_each(append);
        let mut transcript = Transcript::open(&path, &cancel).unwrap();
        let since = Millis::parse("2026-01-19T04:45:12.000Z").unwrap();
        let first = transcript.ended_calls(0, since, &cancel).unwrap();
        let locations =
            |found: &EndedCalls| found.calls.iter().filter_map(|call| call.location.clone()).collect::<Vec<_>>();
        let paths = |found: &EndedCalls| locations(found).into_iter().map(|location| location.path).collect::<Vec<_>>();
        assert_eq!(paths(&first), ["/p/2", "/p/3"]);
        assert_eq!(locations(&first)[0].said.as_deref(), Some("Now 2:"));
        append(4);
        transcript.refresh(&cancel).unwrap();
        assert_eq!(paths(&transcript.ended_calls(first.offset, since, &cancel).unwrap()), ["/p/4"]);
    }
}
