//! Permission to write a file: the CLI asks before each edit, also by a subagent, and waits. The file's content is
//! stored first.
//!
//! Source: CLI 2.1.329, the hook `PreToolUse` as given to `initialize`. It runs in every permission mode, also if
//! settings disable hooks, and before the user is asked. A tool whose hook times out is not run.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::writes;

/// The id of our hook.
const HOOK: &str = "before_edit";
/// In seconds; we answer long before.
const HOOK_TIMEOUT: u64 = 600;
/// Neovim may be busy with a command of the user; then the CLI continues without it.
const PATIENCE: Duration = Duration::from_secs(10);

/// An edit that waits for permission.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) path: String,
    pub(super) call: Option<String>,
}

/// The waiting edits.
#[derive(Debug, Default)]
pub(super) struct WritePermission {
    waiting: HashMap<String, Instant>,
}

impl WritePermission {
    /// The hooks for `initialize`.
    pub(super) fn hooks() -> Value {
        json!({"PreToolUse": [{"matcher": writes::matcher(), "hookCallbackIds": [HOOK], "timeout": HOOK_TIMEOUT}]})
    }

    /// Whether a request is for our hook.
    pub(super) fn is_asked(subtype: &str, ask: &Value) -> bool {
        subtype == "hook_callback" && ask.get("callback_id").and_then(Value::as_str) == Some(HOOK)
    }

    /// Handles a request; returns the edit. Without a file there is nothing to wait for.
    pub(super) fn asked(&mut self, id: &str, ask: &Value) -> Option<Edit> {
        let input = ask.get("input")?;
        let named = writes::path(input.get("tool_input")?)?;
        let folder = input.get("cwd").and_then(Value::as_str).unwrap_or_default();
        let path = Path::new(folder).join(named);
        self.waiting.insert(id.to_owned(), Instant::now().checked_add(PATIENCE)?);
        let call = ask.get("tool_use_id").and_then(Value::as_str).map(str::to_owned);
        Some(Edit { path: path.to_string_lossy().into_owned(), call })
    }

    /// Ends the wait for an edit; returns whether it was waiting.
    pub(super) fn done(&mut self, id: &str) -> bool {
        self.waiting.remove(id).is_some()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.values().min().copied()
    }

    /// The edits that have waited too long.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<String> {
        self.waiting.extract_if(|_, at| *at <= now).map(|(id, _)| id).collect()
    }
}
