//! Leave to write a file: the CLI asks for it before each edit, a subagent's too, and waits. What the file holds is kept then.
//!
//! Source: CLI 2.1.329, the hook `PreToolUse` as `initialize` takes it. It is asked in every permission mode, also where settings
//! switch hooks off, and before the user is. A tool whose hook is not answered within its timeout is not run.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What names our hook.
const HOOK: &str = "before_edit";
const WRITING_TOOLS: &str = "Edit|MultiEdit|Write|NotebookEdit";
/// Seconds; we answer long before.
const HOOK_TIMEOUT: u64 = 600;
/// Neovim may be busy with a command of the user's: the CLI goes on without it.
const PATIENCE: Duration = Duration::from_secs(10);

/// An edit that waits for leave.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) path: String,
    pub(super) call: Option<String>,
}

/// What waits for leave.
#[derive(Debug, Default)]
pub(super) struct Leave {
    waiting: HashMap<String, Instant>,
}

impl Leave {
    /// What `initialize` says of hooks.
    pub(super) fn hooks() -> Value {
        json!({"PreToolUse": [{"matcher": WRITING_TOOLS, "hookCallbackIds": [HOOK], "timeout": HOOK_TIMEOUT}]})
    }

    /// Whether a request is ours to answer.
    pub(super) fn is_asked(subtype: &str, ask: &Value) -> bool {
        subtype == "hook_callback" && ask.get("callback_id").and_then(Value::as_str) == Some(HOOK)
    }

    /// Leave is asked for, for which edit. Without a file there is nothing to wait for.
    pub(super) fn asked(&mut self, id: &str, ask: &Value) -> Option<Edit> {
        let input = ask.get("input")?;
        let arguments = input.get("tool_input")?;
        let named = ["file_path", "notebook_path"].iter().find_map(|name| arguments.get(name)?.as_str())?;
        let folder = input.get("cwd").and_then(Value::as_str).unwrap_or_default();
        let path = Path::new(folder).join(named);
        self.waiting.insert(id.to_owned(), Instant::now().checked_add(PATIENCE)?);
        let call = ask.get("tool_use_id").and_then(Value::as_str).map(str::to_owned);
        Some(Edit { path: path.to_string_lossy().into_owned(), call })
    }

    /// Nobody waits for it any more; whether somebody did.
    pub(super) fn done(&mut self, id: &str) -> bool {
        self.waiting.remove(id).is_some()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.waiting.values().min().copied()
    }

    /// Those that have waited for too long.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<String> {
        self.waiting.extract_if(|_, at| *at <= now).map(|(id, _)| id).collect()
    }
}
