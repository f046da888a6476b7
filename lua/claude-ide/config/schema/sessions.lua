-- Options of sessions: prompts, chats, transcripts, the board, notifications.

local kind = require("claude-ide.config.kind")
local key = kind.key

---@type claude-ide.config.Entry[]
return {
  {
    "sessions",
    doc = "Sessions that are listed, read and searched.",
    fields = {
      {
        "config_dirs",
        kind = kind.list(kind.string, nil, '{ "~/.claude-work" }'),
        default = {},
        doc = 'Configuration folders of other accounts (`CLAUDE_CONFIG_DIR` of their CLIs), such as `{ "~/.claude-work" }`. Those '
          .. "of `terminal.env` and, on Linux, of connected CLIs are read without it. |claude-ide-accounts|",
      },
    },
  },
  {
    "prompts",
    kind = kind.map(kind.string),
    default = {},
    doc = "Named prompts: `#prompt:name` inserts one wherever you write to Claude, including its `#…` contexts, "
      .. "see |claude-ide-contexts|.",
  },
  {
    "prompt_folders",
    kind = kind.list(kind.string),
    default = { ".claude/prompts" },
    doc = "Folders with more prompts, as Markdown files: `#prompt:review` is `review.md`. Relative to the project's root.",
  },
  {
    "ask",
    doc = "`:Claude ask` and `:Claude edit`: one request to a separate CLI that only reads files of the project.",
    fields = {
      {
        "args",
        kind = kind.list(kind.string, nil, '{ "--model", "haiku" }'),
        default = {},
        doc = 'Additional arguments of that CLI, such as `{ "--model", "haiku", "--effort", "low" }`.',
      },
      {
        "keymaps",
        doc = "Keys in the window with an answer, in addition to those of a transcript.",
        fields = {
          key("close", "q", "Close it and end the CLI."),
          key("chat", "c", "Continue as a regular chat."),
        },
      },
    },
  },
  {
    "agents",
    kind = kind.map(kind.agent),
    default = {},
    doc = 'Agents for `:Claude chat --agent {name}` that speak the Agent Client Protocol: `{ cmd = { "gemini", "--acp" '
      .. '}, env = { … }, name = "Gemini" }`. |claude-ide-agents| names those that are built in.',
  },
  {
    "chat",
    doc = "`:Claude chat`: a session in a buffer, in the terminal's place, with the command of `terminal` and the keys of "
      .. "a transcript.",
    fields = {
      {
        "prompt_height",
        kind = kind.integer(1),
        default = 6,
        doc = "Maximum height of the prompt's window, which grows with the text.",
      },
      {
        "keymaps",
        doc = "Keys in the prompt's window.",
        fields = {
          key("send", "<CR>", "Send the prompt, in Normal mode; if it is empty, show postponed requests."),
          key("send_at_once", "<C-s>", "Send the prompt, in Insert mode too."),
          key("interrupt", "<C-c>", "Interrupt Claude while it works."),
          key("older", "[p", "Recall the previous prompt."),
          key("newer", "]p", "Recall the next prompt."),
          key("take_back", "gu", "Unqueue the queued prompt, to edit it."),
          key("mode", "<S-Tab>", "Go to the next permission mode that asks."),
          key("model", "gm", "Choose a model."),
          key("preview", "K", "Show what the `#…` at the cursor would send."),
          key("effort", "gE", "Choose the model's effort."),
          key("rewind", "gz", "Restore files to their state before a prompt: previews and asks first."),
          key("tasks", "gB", "Stop background tasks of Claude."),
          key("terminal", "gR", "Continue the session in the terminal."),
          key("close", "q", "Hide the chat, which continues."),
          key("help", "g?", "List the keys."),
        },
      },
    },
  },
  {
    "transcript",
    doc = "`:Claude transcript`: the text of a session.",
    fields = {
      {
        "draw_markdown",
        kind = kind.boolean,
        default = true,
        doc = "Render tables, headings and code blocks, also in chats. The text stays Markdown. Disable it if "
          .. "another plugin does this, see |claude-ide-recipes|.",
      },
      {
        "keymaps",
        doc = "Keys in a transcript. Each also has a `<Plug>` mapping, see |claude-ide-transcript-plug|.",
        fields = {
          key("next_prompt", "]]", "Go to the next prompt."),
          key("previous_prompt", "[[", "Go to the previous prompt."),
          key("next_tool", "]m", "Go to the next tool call."),
          key("previous_tool", "[m", "Go to the previous tool call."),
          key("next_edit", "]c", "Go to the next edit."),
          key("previous_edit", "[c", "Go to the previous edit."),
          key(
            "open",
            "<CR>",
            "Open what the line refers to: an edit as a diff, a subagent's messages, a truncated text in full. Otherwise "
              .. "toggle the fold."
          ),
          key("file", "gf", "Open the file of the call, or under the cursor."),
          key("file_split", "<C-w>f", "The same in a split."),
          key("file_tab", "<C-w>gf", "The same in a tab page."),
          key("branches", "gb", "Choose a branch of the session."),
          key("next_branch", "]v", "Show the next branch."),
          key("previous_branch", "[v", "Show the previous branch."),
          key("yank_code", "gy", "Yank the code under the cursor: a block, a command, the text of an edit."),
          key("resume", { "R", "gR" }, "Resume the session in the terminal, also from a chat."),
          key("fork", "gC", "Continue in a copy of the session."),
          key("export", "X", "Export the session as Markdown."),
          key("close", "q", "Close the transcript and restore the previous buffer."),
          key("help", "g?", "List the keys."),
        },
      },
    },
  },
  {
    "board",
    doc = "`:Claude board`: all sessions at a glance.",
    fields = {
      {
        "keymaps",
        doc = "Keys on the board, for the session under the cursor.",
        fields = {
          key("open", "<CR>", "Go to its terminal or chat, else show its transcript."),
          key("read", "t", "Show its transcript."),
          key("answer", "a", "Open its request."),
          key("prompt", "i", "Write a prompt, which is sent when Claude is free; or unqueue a waiting one."),
          key("review", "r", "Review what it changed."),
          key("stop", "x", "Interrupt its turn. If it is idle, end its process (asks first)."),
          key("rename", "R", "Rename it."),
          key("fork", "F", "Fork it: continue in a copy."),
          key("keep", "K", "Keep a copy, which does not expire."),
          key("hide", "d", "Hide it until it waits for you."),
          key("unhide", "u", "Show the hidden ones again."),
          key("worktree", "w", "Show only sessions of its worktree, or all."),
          key("projects", "p", "Show the sessions of all projects, or of this one."),
          key("next", "]]", "Go to the next session."),
          key("previous", "[[", "Go to the previous session."),
          key("close", "q", "Close the board and restore the previous buffer."),
          key("help", "g?", "List the keys."),
        },
      },
    },
  },
  {
    "notify",
    doc = "Notifications when Claude waits for you or has finished while you are in another program, or Claude's terminal "
      .. "is hidden. |claude-ide-states| has the details.",
    fields = {
      {
        "channels",
        kind = kind.list(kind.one_of({ "message", "bell", "osc9" })),
        default = { "message" },
        doc = "How to notify you. `message`: a message in Neovim (|vim.notify()|). `bell`: the terminal's bell. "
          .. "`osc9`: a notification of the terminal, if it supports OSC 9. Empty: no notifications.",
      },
      { "waiting", kind = kind.boolean, default = true, doc = "Notify when Claude waits for you." },
      { "finished", kind = kind.boolean, default = true, doc = "Notify when Claude has finished." },
      {
        "min_turn_ms",
        kind = kind.integer(0),
        default = 10000,
        doc = "Do not notify after turns shorter than this, in milliseconds.",
      },
    },
  },
}
