//! The words that all readers of a transcript share: kinds of messages, the status of a call, what let it run, tokens.

use serde::{Deserialize, Serialize};

use crate::line_head::UsageHead;

/// What kind of message a row shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RowKind {
    /// What the user asked.
    Prompt,
    /// Claude's answer, with its tool calls and their results.
    Reply,
    /// A slash command or a shell line that the user ran.
    Command,
    /// A command's output.
    Output,
    /// "Request interrupted by user".
    Interrupted,
    /// A message of the CLI to the user: an API error, a warning.
    Notice,
    /// The conversation was compacted here.
    Compaction,
    /// The summary that replaces the compacted messages.
    Summary,
    /// Reminders of the CLI to the model. Hidden by default.
    Meta,
    /// Results whose tool call is not in this file.
    Results,
    /// A type unknown to this crate.
    Other,
}

/// The status of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolStatus {
    /// No result yet, or it continues in the background.
    Running,
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
    /// The user rejected it.
    Rejected,
    /// The user allowed something else in its place. Set by the client that asked; the file does not record it.
    Changed,
    /// Its outcome will never be reported.
    Void,
}

/// What let a call run. Source: `permissionDecision` in lines of results, and `tool_result_meta` of the stream, CLI 2.1.329 and
/// 2.1.332.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AllowedBy {
    /// The user: when asked, or by a rule of their own.
    User,
    /// The permission mode.
    Mode,
    /// A rule of the project's shared settings.
    Project,
    /// A rule of the project, the administrator or the command's arguments: a stream does not say which.
    Rule,
    /// A hook.
    Hook,
    /// The CLI, of a shell command: a rule allows each part of it, or it counts as reading only.
    Cli,
}

/// The author of the text with the hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HitRole {
    /// The user.
    Prompt,
    /// Claude's answer.
    Reply,
    /// Claude's thinking.
    Thinking,
    /// Arguments of a tool call.
    ToolInput,
    /// A tool's result.
    ToolResult,
    /// The CLI.
    System,
}

/// Tokens of one request, or a sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Input outside the cache.
    pub input: u64,
    /// Output.
    pub output: u64,
    /// Input written to the cache.
    pub cache_write: u64,
    /// Input read from the cache.
    pub cache_read: u64,
}

impl Usage {
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_read: self.cache_read.saturating_add(other.cache_read),
        }
    }
}

/// Models with a context of 200,000 tokens; all others have a million. Source: the table of the CLI 2.1.329. Some of these
/// have a million if the user chose so, which no record tells.
const SMALL: [&str; 8] = [
    "claude-3",
    "claude-haiku-4",
    "claude-sonnet-4",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-2",
    "claude-opus-4-5",
    "claude-opus-4-6",
];

impl Usage {
    /// How full the context of the model was, as the CLI shows it; `None`: the model is unknown, or it has not reported.
    pub(crate) fn context_percent(self, model: &str) -> Option<u8> {
        const SMALL_WINDOW: u64 = 200_000;
        let used = self.input.saturating_add(self.cache_write).saturating_add(self.cache_read);
        let is_small = SMALL.iter().any(|small| model.starts_with(small));
        let window = if is_small && used <= SMALL_WINDOW { SMALL_WINDOW } else { 1_000_000 };
        let percent = used.saturating_mul(100).saturating_add(window / 2) / window;
        (model.starts_with("claude-") && used > 0).then(|| u8::try_from(percent.min(100)).unwrap_or(100))
    }
}

impl From<UsageHead> for Usage {
    fn from(head: UsageHead) -> Self {
        Self {
            input: head.input_tokens.0,
            output: head.output_tokens.0,
            cache_write: head.cache_creation_input_tokens.0,
            cache_read: head.cache_read_input_tokens.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_as_full_as_the_window_of_its_model_allows() {
        let usage = |input, cache_read| Usage { input, cache_read, cache_write: 1_000, output: 9_000 };
        for (model, usage, percent) in [
            ("claude-sonnet-4-5-20250929", usage(1_000, 98_000), Some(50)),
            ("claude-opus-4-20250514", usage(0, 199_000), Some(100)),
            ("claude-opus-4-6", usage(0, 499_000), Some(50)),
            ("claude-opus-4-7", usage(0, 99_000), Some(10)),
            ("claude-opus-5", usage(0, 5_000_000), Some(100)),
            ("gpt-5", usage(1_000, 0), None),
            ("claude-opus-5", Usage::default(), None),
        ] {
            assert_eq!(usage.context_percent(model), percent, "{model}");
        }
    }
}
