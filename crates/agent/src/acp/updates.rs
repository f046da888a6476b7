//! Handles an agent's updates while it works.

use agent_client_protocol_schema::v1::{ContentBlock, ContentChunk, Plan, ToolCall, ToolCallUpdate};
use claude_ide_session::{Block, Text, Usage};
use serde::de::DeserializeOwned;

use serde_json::{Value, json};

use super::calls::Calls;
use super::content::in_text;
use super::settings::Settings;
use crate::backend::Output;
use crate::event::{Event, SlashCommand, TextKind};
use crate::json::{list, text};

/// Longer lines are broken: each piece of a text costs as much as its line.
const MAX_LINE: usize = 32 * 1024;

/// How to treat the messages of a loaded session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Replay {
    /// None is being loaded.
    #[default]
    None,
    /// They are emitted.
    Shown,
    /// They are already shown.
    Hidden,
}

/// Tracks the agent's messages.
#[derive(Debug, Default)]
pub(super) struct Updates {
    pub(super) replay: Replay,
    pub(super) settings: Settings,
    commands: Vec<SlashCommand>,
    calls: Calls,
    /// The current text: its number, its kind, the agent's id for it.
    text: Option<(u64, TextKind, Option<String>)>,
    last_text: u64,
    /// Bytes of its last line so far.
    column: usize,
    /// The user's prompt in a loaded session, which comes in pieces, and the agent's id for it.
    prompt: String,
    prompt_id: Option<String>,
    turn: u64,
    has_plan: bool,
    /// The call that shows a plan with open entries.
    open_plan: Option<String>,
}

impl Updates {
    pub(super) fn new(agent: &str) -> Self {
        Self { settings: Settings::new(agent), ..Self::default() }
    }

    /// A session began.
    pub(super) fn began(&mut self, result: &Value, out: &mut Output) {
        self.settings.began(result);
        self.emit_settings(out);
        out.emit(Event::Commands { commands: self.commands.clone() });
    }

    pub(super) fn emit_settings(&self, out: &mut Output) {
        out.emit(Event::Settings { settings: self.settings.listed() });
    }

    pub(super) fn begin_turn(&mut self) {
        self.turn = self.turn.saturating_add(1);
        self.has_plan = false;
        self.text = None;
    }

    /// The turn is over: ends its open calls.
    pub(super) fn end_turn(
        &mut self,
        is_cancelled: bool,
        is_interrupted: bool,
        unanswered: &[String],
        out: &mut Output,
    ) {
        self.text = None;
        self.calls.end(is_cancelled, unanswered, out);
        self.end_plan(out);
        if is_interrupted {
            out.emit(Event::said("interrupted", Vec::new()));
        }
    }

    /// The loaded session is complete.
    pub(super) fn end_replay(&mut self, out: &mut Output) {
        self.tell_prompt(out);
        self.calls.end(false, &[], out);
        self.end_plan(out);
        self.text = None;
        self.replay = Replay::None;
    }

    /// Between turns no plan is worked on: its row shows what is left.
    fn end_plan(&mut self, out: &mut Output) {
        if let Some(id) = self.open_plan.take() {
            Calls::end_plan(id, out);
        }
    }

    /// Handles an update. Unknown kinds are ignored.
    pub(super) fn take(&mut self, update: Value, out: &mut Output) {
        let kind = update.get("sessionUpdate").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_said = matches!(
            kind.as_str(),
            "user_message_chunk"
                | "agent_message_chunk"
                | "agent_thought_chunk"
                | "tool_call"
                | "tool_call_update"
                | "plan"
        );
        if is_said && self.replay == Replay::Hidden {
            return;
        }
        if is_said && kind != "user_message_chunk" {
            self.tell_prompt(out);
        }
        let known = match kind.as_str() {
            "user_message_chunk" => self.user(update, out),
            "agent_message_chunk" => self.agent(update, TextKind::Text, out),
            "agent_thought_chunk" => self.agent(update, TextKind::Thinking, out),
            "tool_call" => typed::<ToolCall>(update).map(|call| {
                self.text = None;
                self.calls.begin(call, out);
            }),
            "tool_call_update" => typed::<ToolCallUpdate>(update).map(|update| {
                self.text = None;
                self.calls.update(update, out);
            }),
            "plan" => typed::<Plan>(update).map(|plan| self.plan(&plan, out)),
            "available_commands_update" => {
                self.set_commands(&update, out);
                Some(())
            }
            "current_mode_update" => {
                self.settings.mode_changed(&update);
                self.emit_settings(out);
                Some(())
            }
            "config_option_update" => {
                self.settings.options_changed(update.get("configOptions"));
                self.emit_settings(out);
                Some(())
            }
            "session_info_update" => text(update.get("title")).map(|title| out.emit(Event::Title { title })),
            "usage_update" => {
                out.emit(usage(&update));
                Some(())
            }
            "notice" => {
                let words = [update.get("title"), update.get("description")].into_iter().filter_map(text);
                out.notice(words.collect::<Vec<_>>().join("\n"));
                Some(())
            }
            "compaction_update" => {
                let status = update.get("status").and_then(Value::as_str);
                out.emit(Event::Doing { doing: (status == Some("in_progress")).then_some("compacting") });
                if status == Some("completed") {
                    out.emit(Event::Compacted);
                }
                Some(())
            }
            _ => None,
        };
        if known.is_none() {
            tracing::debug!(kind, "an update of an agent is ignored");
        }
    }

    /// Completes a permission request from the known call. The request need not repeat it: Codex sends the diff only
    /// with the call. The call may also be new.
    pub(super) fn of_permission(&mut self, params: &mut Value, out: &mut Output) {
        let Some(asked) = params.get_mut("toolCall") else { return };
        let Some(update) = typed::<ToolCallUpdate>(asked.clone()) else { return };
        let id = update.tool_call_id.0.to_string();
        self.text = None;
        self.calls.update(update, out);
        if let (Some(Value::Object(known)), Some(asked)) = (self.calls.known(&id), asked.as_object_mut()) {
            for (field, value) in known {
                let said = asked.entry(field).or_insert(Value::Null);
                if said.is_null() {
                    *said = value;
                }
            }
        }
    }

    fn user(&mut self, update: Value, out: &mut Output) -> Option<()> {
        let chunk = typed::<ContentChunk>(update)?;
        // In our own turn some agents repeat the prompt.
        if self.replay == Replay::Shown {
            let id = chunk.message_id.map(|id| id.0.to_string());
            if id != self.prompt_id {
                self.tell_prompt(out);
            }
            self.prompt_id = id;
            let is_plain = matches!(chunk.content, ContentBlock::Text(_));
            if !is_plain && !self.prompt.is_empty() && !self.prompt.ends_with('\n') {
                self.prompt.push('\n');
            }
            self.prompt.push_str(&in_text(&chunk.content));
            if !is_plain {
                self.prompt.push('\n');
            }
        }
        Some(())
    }

    fn tell_prompt(&mut self, out: &mut Output) {
        let mut text = std::mem::take(&mut self.prompt);
        text.truncate(text.trim_end().len());
        if !text.trim().is_empty() {
            self.text = None;
            let bytes = text.len();
            out.emit(Event::said("prompt", vec![Block::Text(Text { text, bytes })]));
        }
    }

    fn agent(&mut self, update: Value, kind: TextKind, out: &mut Output) -> Option<()> {
        let chunk = typed::<ContentChunk>(update)?;
        let message = chunk.message_id.map(|id| id.0.to_string());
        // Pieces of a text are text; a link, an image or a file is a block of its own.
        let is_piece = matches!(chunk.content, ContentBlock::Text(_));
        let block = match &self.text {
            Some((block, known, name)) if is_piece && *known == kind && *name == message => *block,
            _ => {
                self.last_text = self.last_text.saturating_add(1);
                self.last_text
            }
        };
        if self.text.as_ref().is_none_or(|(known, ..)| *known != block) {
            self.column = 0;
        }
        self.text = is_piece.then_some((block, kind, message));
        let text = self.in_lines(in_text(&chunk.content));
        out.emit(Event::Text { by: None, block, kind, text });
        Some(())
    }

    /// Breaks very long lines.
    fn in_lines(&mut self, text: String) -> String {
        let last = text.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let longest = text.split('\n').map(str::len).max().unwrap_or_default();
        if self.column.saturating_add(longest) <= MAX_LINE {
            let rest = text.len().saturating_sub(last);
            self.column = if last == 0 { self.column.saturating_add(rest) } else { rest };
            return text;
        }
        let mut broken = String::with_capacity(text.len().saturating_add(1024));
        for character in text.chars() {
            if character == '\n' {
                self.column = 0;
            } else if self.column >= MAX_LINE {
                broken.push('\n');
                self.column = 0;
            }
            broken.push(character);
            self.column = self.column.saturating_add(character.len_utf8());
        }
        broken
    }

    fn set_commands(&mut self, update: &Value, out: &mut Output) {
        let command = |command: &Value| {
            let description = text(command.get("description")).unwrap_or_default();
            Some(SlashCommand { name: text(command.get("name"))?, description })
        };
        self.commands = list(update.get("availableCommands")).filter_map(command).collect();
        out.emit(Event::Commands { commands: self.commands.clone() });
    }

    /// A plan is one row of its turn, updated in place.
    fn plan(&mut self, plan: &Plan, out: &mut Output) {
        let todos: Vec<Value> = plan
            .entries
            .iter()
            .map(|entry| json!({ "content": entry.content, "status": entry.status, "priority": entry.priority }))
            .collect();
        let is_over = plan.entries.iter().all(|entry| json!(entry.status) == "completed");
        let id = format!("plan-{}", self.turn);
        if !self.has_plan {
            self.text = None;
        }
        self.has_plan = true;
        Calls::plan(id.clone(), &json!({ "todos": todos }), out);
        self.open_plan = Some(id);
        if is_over {
            self.end_plan(out);
        }
    }
}

/// A higher cost is an error.
const MOST_DOLLARS: f64 = 1e9;

/// Context usage and cost. Some agents do not know the context's size and send 0.
fn usage(update: &Value) -> Event {
    let tokens = |key: &str| update.get(key).and_then(Value::as_u64);
    let cost = update.get("cost").filter(|cost| cost.get("currency").and_then(Value::as_str) == Some("USD"));
    Event::Usage {
        cost: cost.and_then(|cost| cost.get("amount")?.as_f64()).filter(|amount| (0.0..MOST_DOLLARS).contains(amount)),
        window: Some(tokens("size").unwrap_or_default()),
        used: tokens("used").map(|input| Usage { input, ..Usage::default() }),
    }
}

fn typed<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).inspect_err(|error| tracing::debug!(%error, "an update does not match its kind")).ok()
}
