//! When calls ran that may change any file: commands, tools of MCP servers, subagents.

use serde::Serialize;

use super::Index;
use super::node::Tool;
use crate::model::RowKind;
use crate::time::Millis;

/// Tools that change no file, or only the one that they name (CLI 2.1.329). Of others nothing is known.
const HARMLESS: [&str; 26] = [
    "AskUserQuestion",
    "BashOutput",
    "Edit",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "KillShell",
    "LS",
    "LSP",
    "MultiEdit",
    "NotebookEdit",
    "NotebookRead",
    "Read",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskStop",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
    "WebFetch",
    "WebSearch",
    "Write",
];

/// When such a call ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CommandTime<'a> {
    /// When it was made.
    pub start: Millis,
    /// When it was over; `None` while it runs, maybe in the background.
    pub end: Option<Millis>,
    /// The files that it changed, if the CLI says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<&'a [Box<str>]>,
}

impl Tool {
    /// When it ran, if it may have changed any file. One without a result has ended before the next `prompt`, with its CLI.
    fn command_time(&self, prompt: Option<Millis>) -> Option<CommandTime<'_>> {
        if self.never_ran || HARMLESS.contains(&self.name.as_str()) {
            return None;
        }
        let end = match self.goes_on {
            Some(until) => Some(until).filter(|until| *until < Millis::MAX),
            None if self.result.is_none() => prompt.filter(|prompt| self.started < Some(*prompt)),
            None => self.end.and_then(|end| end.time),
        };
        Some(CommandTime { start: self.started.unwrap_or_default(), end, files: self.changed.as_deref() })
    }
}

impl Index {
    /// When calls ran, at `since` or later, that may have changed any file.
    pub(crate) fn commands(&self, since: Millis) -> Vec<CommandTime<'_>> {
        let mut prompts = self.nodes.iter().rev().filter(|node| node.kind == RowKind::Prompt && !node.side);
        let prompt = prompts.find_map(|node| node.start);
        let times = self.tools.iter().filter_map(|tool| tool.command_time(prompt));
        times.filter(|time| time.end.is_none_or(|end| end >= since)).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::cancel::Cancel;
    use crate::time::Millis;
    use crate::transcript::Transcript;

    #[test]
    fn a_command_counts_while_it_runs_also_in_the_background() {
        let made = |second: u32, id: &str, name: &str| {
            format!(
                r#"{{"type":"assistant","uuid":"a{id}","timestamp":"2026-01-19T04:45:{second}.000Z","message":{{"id":"m{id}","content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{{}}}}]}}}}"#
            )
        };
        let ended = |second: u32, id: &str, rest: &str| {
            format!(
                r#"{{"type":"user","uuid":"r{id}","timestamp":"2026-01-19T04:45:{second}.000Z","message":{{"content":[{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}]}},{rest}}}"#
            )
        };
        let task = r#""toolUseResult":{"stdout":"","backgroundTaskId":"b1"}"#;
        let over = r#"{"type":"user","uuid":"n","timestamp":"2026-01-19T04:45:40.000Z","origin":{"kind":"task-notification"},"message":{"role":"user","content":"<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>t4</tool-use-id>\n<status>completed</status>\n</task-notification>"}}"#;
        let lines = [
            made(10, "t1", "Edit"),
            ended(11, "t1", r#""toolUseResult":{}"#),
            made(12, "t2", "Bash"),
            ended(15, "t2", r#""toolUseResult":{"stdout":""}"#),
            made(16, "t3", "Bash"),
            ended(
                17,
                "t3",
                r#""toolUseResult":"Error: it was rejected","toolDenialKind":"user-rejected","toolDenialBeforeRun":true"#,
            ),
            made(18, "t4", "mcp__files__write"),
            ended(19, "t4", task),
            made(20, "t6", "Bash"),
            ended(21, "t6", r#""toolUseResult":"User rejected tool use","toolDenialKind":"user-rejected""#),
            made(22, "t7", "Monitor"),
            ended(23, "t7", r#""toolUseResult":{"taskId":"m1","timeoutMs":20000}"#),
            made(24, "t8", "Bash"),
            ended(
                25,
                "t8",
                r#""toolUseResult":{"stdout":"","bashEditDiff":{"files":[],"moreFiles":0,"changedFiles":["/p/a \"b"]}}"#,
            ),
            made(30, "t5", "Bash"),
        ];
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.jsonl");
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let mut transcript = Transcript::open(&path, &Cancel::default()).unwrap();
        let at = |second: i64| Millis(Millis::parse("2026-01-19T04:45:00.000Z").unwrap().0 + second * 1000);
        let times = |transcript: &Transcript, since: i64| -> Vec<_> {
            let found = transcript.commands(at(since)).into_iter();
            found.map(|time| ((time.start.0 - at(0).0) / 1000, time.end.map(|end| (end.0 - at(0).0) / 1000))).collect()
        };
        let after = [(20, Some(21)), (22, None), (24, Some(25)), (30, None)];
        assert_eq!(times(&transcript, 0), [[(12, Some(15)), (18, None)].as_slice(), &after].concat());
        assert_eq!(times(&transcript, 22), [[(18, None)].as_slice(), &after[1..]].concat());
        let files: Vec<_> = transcript.commands(at(0)).into_iter().filter_map(|time| time.files).collect();
        assert_eq!(files, [["/p/a \"b".into()]]);
        std::fs::write(&path, [lines.join("\n").as_str(), over, ""].join("\n")).unwrap();
        transcript.refresh(&Cancel::default()).unwrap();
        assert_eq!(times(&transcript, 40), [(18, Some(40)), (22, None), (30, None)]);
        assert_eq!(times(&transcript, 41), [(22, None), (30, None)]);
        let prompt = r#"{"type":"user","uuid":"p","timestamp":"2026-01-19T04:45:50.000Z","message":{"role":"user","content":"go on"}}"#;
        std::fs::write(&path, [lines.join("\n").as_str(), over, prompt, ""].join("\n")).unwrap();
        transcript.refresh(&Cancel::default()).unwrap();
        assert_eq!(times(&transcript, 41), [(22, None), (30, Some(50))], "its CLI was killed");
    }
}
