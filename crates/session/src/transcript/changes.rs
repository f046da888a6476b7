//! Lists the files changed by a transcript's calls, and what let each call run. Repeated calls while it grows read no line twice.

use serde::Serialize;

use super::Transcript;
use crate::cancel::Cancel;
use crate::error::SessionError;
use crate::index::ResultAt;
use crate::line_body::Body;
use crate::message::Block;
use crate::model::AllowedBy;
use crate::time::Millis;
use crate::tool_result::Outcome;

/// A tool call that changed a file. [`Transcript::edit_texts`] gives the texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// The call.
    pub tool_use_id: String,
    /// Absolute path.
    pub path: String,
    /// Whether the user changed Claude's proposal.
    pub user_modified: bool,
    /// When the call began.
    pub start: Option<Millis>,
    /// When the call ended.
    pub end: Option<Millis>,
    /// What let it run, if known.
    pub allowed_by: Option<AllowedBy>,
}

/// Another tool call, of which is known what let it run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Call {
    /// What let it run.
    pub allowed_by: AllowedBy,
    /// A shell command that the CLI allowed by itself.
    pub command: Option<String>,
    /// When the call began.
    pub start: Option<Millis>,
    /// When the call ended.
    pub end: Option<Millis>,
}

/// Changed files in a part of a transcript.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangedFiles {
    /// In the order of the results.
    pub changes: Vec<ChangedFile>,
    /// Calls that report no changed file, likewise.
    pub calls: Vec<Call>,
    /// Where the next call continues.
    pub offset: u64,
}

impl Transcript {
    /// Calls that changed a file and whose results are at byte `offset` or later, on any branch. Calls that ended
    /// before `since` are skipped without reading the file.
    ///
    /// # Errors
    /// [`SessionError::Read`] if the file cannot be read.
    pub fn changed_files(&mut self, offset: u64, since: Millis, cancel: &Cancel) -> Result<ChangedFiles, SessionError> {
        let mut found = ChangedFiles { changes: Vec::new(), calls: Vec::new(), offset: self.tail.offset() };
        self.each_result(offset, since, cancel, |transcript, result, body, tool_use_id| {
            let outcome = body.outcome().and_then(|raw| Outcome::parse(raw, 0));
            let (start, end, allowed_by) = (result.started, result.ended, body.allowed_by());
            if let Some(Outcome::FileChange(change)) = outcome {
                let (path, user_modified) = (change.path, change.user_modified);
                found.changes.push(ChangedFile { tool_use_id, path, user_modified, start, end, allowed_by });
            } else if let Some(allowed_by) = allowed_by {
                let command = if allowed_by == AllowedBy::Cli { transcript.command_of(&tool_use_id)? } else { None };
                found.calls.push(Call { allowed_by, command, start, end });
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Reads the results at byte `offset` or later of calls that did not end before `since`, until it is cancelled.
    pub(super) fn each_result(
        &mut self,
        offset: u64,
        since: Millis,
        cancel: &Cancel,
        mut each: impl FnMut(&mut Self, &ResultAt, &Body<'_>, String) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        for result in self.index.results_from(offset, since) {
            if cancel.is_cancelled() {
                break;
            }
            let bytes = self.line(result.at)?;
            let Some(body) = Body::parse(&bytes) else { continue };
            let Some(tool_use_id) = body.result_id() else { continue };
            each(self, &result, &body, tool_use_id)?;
        }
        Ok(())
    }

    /// The shell command of a call.
    fn command_of(&mut self, tool_use_id: &str) -> Result<Option<String>, SessionError> {
        let Some(node) = self.message_of_tool(tool_use_id) else { return Ok(None) };
        let blocks = self.message(node, 0)?.blocks;
        let input = blocks.into_iter().find_map(|block| match block {
            Block::ToolUse { id, input, .. } if id == tool_use_id => Some(input),
            _ => None,
        });
        Ok(input.and_then(|input| input.read().get("command")?.as_str().map(str::to_owned)))
    }
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
        let first = transcript.changed_files(0, since, &cancel).unwrap();
        let paths = |found: &ChangedFiles| found.changes.iter().map(|change| change.path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&first), ["/p/2", "/p/3"]);
        assert_eq!(first.changes[0].tool_use_id, "t2");
        assert_eq!(first.changes[0].start, Some(since));
        assert_eq!(first.changes[0].end, Millis::parse("2026-01-19T04:45:12.500Z"));
        append(&path, 4);
        transcript.refresh(&cancel).unwrap();
        let second = transcript.changed_files(first.offset, since, &cancel).unwrap();
        assert_eq!(paths(&second), ["/p/4"]);
        assert_eq!(paths(&transcript.changed_files(second.offset, since, &cancel).unwrap()), [""; 0]);
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
        let found = Transcript::open(&path, &cancel).unwrap().changed_files(0, Millis(0), &cancel).unwrap();
        let allowed: Vec<_> = found.changes.iter().map(|change| change.allowed_by).collect();
        let user = Some(AllowedBy::User);
        assert_eq!(allowed, [Some(AllowedBy::Project), user, Some(AllowedBy::Mode), user, None]);
        let calls: Vec<_> = found.calls.iter().map(|call| (call.allowed_by, call.command.as_deref())).collect();
        assert_eq!(calls, [(AllowedBy::Cli, Some("git diff")), (AllowedBy::Hook, None)]);
    }

    #[test]
    fn a_failed_or_empty_change_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        let result = RESULT.replace(r#""content":"ok""#, r#""content":"no","is_error":true"#);
        std::fs::write(&path, format!("{CALL}\n{result}\n").replace('$', "1")).unwrap();
        let mut transcript = Transcript::open(&path, &Cancel::default()).unwrap();
        let found = transcript.changed_files(0, Millis(0), &Cancel::default()).unwrap();
        assert!(found.changes.is_empty());
    }
}
