//! What is counted of a whole transcript, line by line: a list shows it, and reads only what was added since.
//!
//! Source of the shapes: CLI 2.1.329, its `sdk-tools.d.ts` for tasks and plans. The cost is the CLI's own; it writes it
//! when a run ends (measured), so that of a running one is unknown.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::prompt::{is_prompt, prompt};
use crate::lenient::{Object, Scalar};
use crate::line_body::Body;
use crate::line_head::{Content, Head, LineKind, is_api_request};
use crate::message::Block;
use crate::model::Usage;
use crate::render::{call_in_words, one_line};
use crate::text::Text;
use crate::tool_result::{EditTexts, Outcome};

/// The last words are cut to this many bytes.
const MAX_WORDS: usize = 400;
/// Limits of the distinct files, of tasks, and of calls at a time.
const MAX_FILES: usize = 500;
const MAX_TASKS: usize = 200;
const MAX_CALLS: usize = 50;

/// Counts prompts and replies; the lines of one reply share an id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MessageCount {
    pub(super) messages: u32,
    last_reply: String,
}

impl MessageCount {
    /// Returns whether a reply begins with this line.
    pub(super) fn add(&mut self, head: &Head<'_>) -> bool {
        if head.sidechain.is_true() || head.inner.is_true() {
            return false;
        }
        match head.line_kind() {
            LineKind::Assistant => {
                let id = head.message.0.as_ref().map(|message| message.id.text()).unwrap_or_default();
                let begins = id.is_empty() || id != self.last_reply;
                if begins {
                    self.messages += 1;
                    id.clone_into(&mut self.last_reply);
                }
                begins
            }
            LineKind::User | LineKind::Attachment if is_prompt(head) => {
                self.messages += 1;
                // Gateways and stubs give replies of several turns one id.
                self.last_reply.clear();
                false
            }
            LineKind::User | LineKind::Attachment => false,
            LineKind::System | LineKind::ApiRequest | LineKind::Other => false,
        }
    }
}

/// The tokens of replies, of which the lines repeat their usage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    /// Of all replies but the last.
    before: Usage,
    last: Usage,
    reply: String,
}

impl Tokens {
    /// Adds a line of a subagent's transcript.
    pub(super) fn add(&mut self, line: &[u8]) {
        if !is_api_request(line)
            && let Some(head) = Head::parse(line)
        {
            self.add_head(&head);
        }
    }

    fn add_head(&mut self, head: &Head<'_>) {
        let replies = head.line_kind() == LineKind::Assistant && !head.inner.is_true();
        let Some(message) = head.message.0.as_ref().filter(|_| replies) else { return };
        let id = message.id.text();
        if id.is_empty() || id != self.reply {
            self.before = self.before.plus(self.last);
            self.last = Usage::default();
            id.clone_into(&mut self.reply);
        }
        if let Some(usage) = message.usage.0 {
            self.last = usage.into();
        }
    }

    pub(super) fn count(&self) -> u64 {
        all(self.before.plus(self.last))
    }
}

/// Input with the cache, and output.
fn all(sum: Usage) -> u64 {
    [sum.input, sum.output, sum.cache_read, sum.cache_write].into_iter().fold(0, u64::saturating_add)
}

/// A task of Claude's list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    id: String,
    /// What is to be done.
    pub subject: String,
    /// "pending", "in_progress", "completed".
    pub status: String,
}

/// What is counted of a session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tally {
    count: MessageCount,
    /// Tokens of all replies but the last, whose lines repeat its usage.
    before: Usage,
    last: Usage,
    /// Of subagents in the same file (older CLIs).
    aside: Tokens,
    /// Tokens of subagents' own files.
    #[serde(skip)]
    pub(super) by_agents: u64,
    /// Lines that Claude's edits added and removed.
    pub added: usize,
    /// See `added`.
    pub removed: usize,
    files: BTreeSet<String>,
    /// Claude's tasks, in order.
    pub tasks: Vec<Task>,
    /// The first line of the last plan that the user accepted.
    pub plan: Option<String>,
    /// The beginning of what was said last.
    pub words: String,
    /// Whether the user said it.
    pub by_user: bool,
    /// Calls without a result: id, and what it does in a few words.
    calls: Vec<(String, String)>,
    /// What the session cost until its last run ended, in dollars.
    pub cost: Option<f64>,
}

/// Records of tool calls that a tally needs.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Record<'a> {
    /// TodoWrite.
    #[serde(borrow)]
    new_todos: Option<Vec<Todo<'a>>>,
    /// TaskCreate.
    #[serde(borrow)]
    task: Object<Created<'a>>,
    /// TaskUpdate.
    #[serde(borrow)]
    task_id: Scalar<'a>,
    #[serde(borrow)]
    status_change: Object<StatusChange<'a>>,
    /// ExitPlanMode.
    #[serde(borrow)]
    plan: Scalar<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Todo<'a> {
    #[serde(borrow)]
    content: Scalar<'a>,
    #[serde(borrow)]
    status: Scalar<'a>,
    #[serde(borrow)]
    active_form: Scalar<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Created<'a> {
    #[serde(borrow)]
    id: Scalar<'a>,
    #[serde(borrow)]
    subject: Scalar<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusChange<'a> {
    #[serde(borrow)]
    to: Scalar<'a>,
}

#[derive(Deserialize)]
struct CostState {
    #[serde(rename = "totalCostUSD")]
    total: f64,
}

impl Tally {
    /// Prompts and replies.
    #[must_use]
    pub fn messages(&self) -> u32 {
        self.count.messages
    }

    /// Tokens of all replies, also of subagents.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let own = all(self.before.plus(self.last));
        own.saturating_add(self.aside.count()).saturating_add(self.by_agents)
    }

    /// How many files Claude's edits changed.
    #[must_use]
    pub fn files(&self) -> usize {
        self.files.len()
    }

    /// What it does now, or wants to do: the first call without a result.
    #[must_use]
    pub fn call(&self) -> Option<&str> {
        self.calls.first().map(|(_, words)| words.as_str())
    }

    /// Of these lines.
    #[cfg(test)]
    pub(crate) fn of(lines: &[&str]) -> Self {
        let mut tally = Self::default();
        lines.iter().for_each(|line| tally.add(line.as_bytes()));
        tally
    }

    /// Adds a line.
    pub(super) fn add(&mut self, line: &[u8]) {
        if is_api_request(line) {
            return;
        }
        let Some(head) = Head::parse(line) else { return };
        let begins = self.count.add(&head);
        if head.sidechain.is_true() {
            return self.aside.add_head(&head);
        }
        match head.line_kind() {
            LineKind::Assistant => self.add_reply(line, &head, begins),
            LineKind::User | LineKind::Attachment if is_prompt(&head) => {
                // Calls of an interrupted turn get no result.
                self.calls.clear();
                if let Some(words) = prompt(line) {
                    (self.words, self.by_user) = (one_line(&words), true);
                }
            }
            LineKind::User => self.add_result(line, &head),
            LineKind::Other if head.kind.text() == "cost-state" => {
                let state = serde_json::from_slice::<CostState>(line).ok();
                self.cost = state.map(|state| state.total).filter(|total| *total > 0.0).or(self.cost);
            }
            LineKind::Attachment | LineKind::System | LineKind::ApiRequest | LineKind::Other => {}
        }
    }

    fn add_reply(&mut self, line: &[u8], head: &Head<'_>, begins: bool) {
        if begins {
            self.before = self.before.plus(self.last);
            self.last = Usage::default();
        }
        if let Some(usage) = head.message.0.as_ref().and_then(|message| message.usage.0)
            && !head.inner.is_true()
        {
            self.last = usage.into();
        }
        let blocks = Body::parse(line).map(|body| body.blocks(MAX_WORDS)).unwrap_or_default();
        for block in &blocks {
            if let Block::ToolUse { id, .. } = block
                && let Some(words) = call_in_words(block).filter(|_| self.calls.len() < MAX_CALLS)
            {
                self.calls.push((id.clone(), words));
            }
        }
        let said = blocks.iter().rev().find_map(|block| match block {
            Block::Text(text) => Some(one_line(&text.text)).filter(|words| !words.is_empty()),
            _ => None,
        });
        if let Some(said) = said {
            (self.words, self.by_user) = (said, false);
        }
    }

    fn add_result(&mut self, line: &[u8], head: &Head<'_>) {
        if let Some(Content::Blocks(blocks)) = head.message.0.as_ref().map(|message| &message.content) {
            self.calls.retain(|(id, _)| blocks.iter().all(|block| block.tool_use_id.text() != id));
        }
        let has = |name: &[u8]| memchr::memmem::find(line, name).is_some();
        if !has(br#""toolUseResult""#) {
            return;
        }
        let Some(raw) = Body::parse(line).and_then(|body| body.outcome) else { return };
        if has(br#""structuredPatch""#) {
            self.add_change(raw);
        } else if [&br#""newTodos""#[..], br#""statusChange""#, br#""task""#, br#""plan""#].into_iter().any(has) {
            let record = serde_json::from_str(raw.get()).unwrap_or_default();
            self.add_record(&record);
        }
    }

    fn add_change(&mut self, raw: &RawValue) {
        let Some(Outcome::FileChange(change)) = Outcome::parse(raw, 0) else { return };
        // The record of a new file has no hunks.
        let new = change.created && change.added == 0;
        self.added +=
            if new { EditTexts::parse(raw).map_or(0, |texts| texts.after.lines().count()) } else { change.added };
        self.removed += change.removed;
        if self.files.len() < MAX_FILES {
            self.files.insert(change.path);
        }
    }

    fn add_record(&mut self, record: &Record<'_>) {
        if let Some(todos) = &record.new_todos {
            let task = |todo: &Todo<'_>| {
                let active = Some(todo.active_form.text())
                    .filter(|form| todo.status.text() == "in_progress" && !form.is_empty());
                let subject = short(active.unwrap_or_else(|| todo.content.text()));
                Task { id: String::new(), subject, status: todo.status.text().to_owned() }
            };
            self.tasks = todos.iter().take(MAX_TASKS).map(task).collect();
        } else if let Some(created) = &record.task.0 {
            let id = created.id.text();
            let is_new = !id.is_empty() && self.tasks.iter().all(|task| task.id != id);
            // TaskGet answers with a task, too.
            if is_new && self.tasks.len() < MAX_TASKS {
                let subject = short(created.subject.text());
                self.tasks.push(Task { id: id.to_owned(), subject, status: "pending".to_owned() });
            }
        } else if let Some(change) = &record.status_change.0 {
            let id = record.task_id.text();
            self.tasks
                .iter_mut()
                .filter(|task| task.id == id)
                .for_each(|task| change.to.text().clone_into(&mut task.status));
            self.tasks.retain(|task| task.status != "deleted");
        } else if let Some(line) = record.plan.text().lines().find(|line| !line.trim().is_empty()) {
            self.plan = Some(short(line.trim_start_matches(['#', ' '])));
        }
    }
}

fn short(text: &str) -> String {
    one_line(&Text::cut(text.to_owned(), MAX_WORDS).text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(record: &str) -> String {
        format!(
            r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t"}}]}},"toolUseResult":{record}}}"#
        )
    }

    #[test]
    fn the_lines_of_a_reply_share_their_tokens() {
        let line = |id: &str, output: u32| {
            format!(
                r#"{{"type":"assistant","message":{{"id":"{id}","content":[{{"type":"text","text":"one\n two"}}],"usage":{{"input_tokens":10,"cache_read_input_tokens":100,"output_tokens":{output}}}}}}}"#
            )
        };
        let tally = Tally::of(&[&line("a", 1), &line("a", 5), &line("b", 7)]);
        assert_eq!((tally.tokens(), tally.messages()), (115 + 117, 2));
        assert_eq!((tally.words.as_str(), tally.by_user), ("one two", false));
        let aside = |id: &str, output| line(id, output).replacen('{', r#"{"isSidechain":true,"#, 1);
        let tally = Tally::of(&[&line("a", 5), &aside("x", 1), &aside("x", 3), &aside("y", 2)]);
        assert_eq!((tally.tokens(), tally.messages()), (115 + 113 + 112, 1), "subagents' count, too");
    }

    #[test]
    fn edits_are_counted_by_line_and_file() {
        let edit = |path: &str| {
            result(&format!(
                r#"{{"filePath":"{path}","oldString":"a","newString":"b","structuredPatch":[{{"oldStart":1,"oldLines":1,"newStart":1,"newLines":2,"lines":["-a","+b","+c"]}}]}}"#
            ))
        };
        let new = result(r#"{"type":"create","filePath":"/p/new","content":"1\n2\n3\n","structuredPatch":[]}"#);
        let tally = Tally::of(&[&edit("/p/a"), &edit("/p/a"), &new, "broken"]);
        assert_eq!((tally.added, tally.removed, tally.files()), (7, 2, 2));
    }

    #[test]
    fn tasks_are_those_of_either_tool() {
        let created = |id: u8| result(&format!(r#"{{"task":{{"id":"{id}","subject":"Step {id}"}}}}"#));
        let moved = |id: u8, to: &str| {
            result(&format!(r#"{{"success":true,"taskId":"{id}","statusChange":{{"from":"pending","to":"{to}"}}}}"#))
        };
        let tasks = Tally::of(&[
            &created(1),
            &created(2),
            &created(2),
            &created(3),
            &moved(1, "completed"),
            &moved(2, "in_progress"),
            &moved(3, "deleted"),
        ])
        .tasks;
        let shown: Vec<_> = tasks.iter().map(|task| (task.subject.as_str(), task.status.as_str())).collect();
        assert_eq!(shown, [("Step 1", "completed"), ("Step 2", "in_progress")]);
        let todos = result(
            r#"{"oldTodos":[],"newTodos":[{"content":"Run it","status":"in_progress","activeForm":"Running it"},{"content":"b","status":"pending"}]}"#,
        );
        assert_eq!(Tally::of(&[&todos]).tasks[0].subject, "Running it");
    }

    #[test]
    fn a_call_without_a_result_is_what_it_does() {
        let call = |id: &str, tool: &str, input: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"id":"{id}","content":[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}]}}}}"#
            )
        };
        let bash = call("t", "Bash", r#"{"command":"npm\n test"}"#);
        let ask = call("q", "AskUserQuestion", r#"{"questions":[{"question":"Which one?"}]}"#);
        assert_eq!(Tally::of(&[&bash]).call(), Some("Bash npm test"));
        assert_eq!(Tally::of(&[&bash, &result("{}"), &ask]).call(), Some("Which one?"));
        let prompt = r#"{"type":"user","message":{"role":"user","content":"no, stop"}}"#;
        assert_eq!(Tally::of(&[&bash, prompt]).call(), None);
    }

    #[test]
    fn what_was_said_last_an_accepted_plan_and_the_cost_are_kept() {
        let said = r#"{"type":"user","message":{"role":"user","content":"do\nit"}}"#;
        let plan = result(r##"{"plan":"\n# The parser\n1. Read","isAgent":false}"##);
        let cost = |dollars: f64| format!(r#"{{"type":"cost-state","sessionId":"s","totalCostUSD":{dollars}}}"#);
        let tally = Tally::of(&[&plan, said, &cost(0.5), &cost(0.0)]);
        assert_eq!((tally.words.as_str(), tally.by_user), ("do it", true));
        assert_eq!((tally.plan.as_deref(), tally.cost), (Some("The parser"), Some(0.5)));
    }
}
