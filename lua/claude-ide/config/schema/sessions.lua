-- Options of conversations: prompts, chats, transcripts, notices.

local kind = require("claude-ide.config.kind")
local key = kind.key

---@type claude-ide.config.Entry[]
return {
  {
    "prompts",
    kind = kind.map(kind.string),
    default = {},
    doc = "Texts to be said again and again, by name: `#prompt:name` stands for one wherever you write to Claude. What it names "
      .. "with `#` goes along, see |claude-ide-contexts|.",
  },
  {
    "prompt_folders",
    kind = kind.list(kind.string),
    default = { ".claude/prompts" },
    doc = "Folders with more of them, one a Markdown file: `#prompt:review` is `review.md`. A name that is not absolute is below "
      .. "the project's top folder.",
  },
  {
    "ask",
    doc = "`:Claude ask` and `:Claude edit`: one question to a CLI of its own, which reads files of the project and does nothing else.",
    fields = {
      {
        "args",
        kind = kind.list(kind.string, nil, '{ "--model", "haiku" }'),
        default = {},
        doc = 'More arguments of that CLI, such as `{ "--model", "haiku", "--effort", "low" }`.',
      },
      {
        "keymaps",
        doc = "Keys in the window with an answer, beside those of a transcript.",
        fields = {
          key("close", "q", "Close it. That ends the CLI, too."),
          key("chat", "c", "Go on as a chat, which may do what any other may."),
        },
      },
    },
  },
  {
    "agents",
    kind = kind.map(kind.agent),
    default = {},
    doc = 'Agents that `:Claude chat --agent {name}` talks to beside the CLI, by the Agent Client Protocol: `{ cmd = { "gemini", '
      .. '"--acp" }, env = { … }, name = "Gemini" }`. `claude`, `codex`, `gemini` and `opencode` are known without it. See '
      .. "|claude-ide-agents|.",
  },
  {
    "chat",
    doc = "`:Claude chat`: a conversation in a buffer. It runs the command of `terminal`, stands where the terminal would, and has "
      .. "the keys of a transcript.",
    fields = {
      {
        "prompt_height",
        kind = kind.integer(1),
        default = 6,
        doc = "Lines that the window you write in has at most: it grows with what is written.",
      },
      {
        "keymaps",
        doc = "Keys in that window.",
        fields = {
          key("send", "<CR>", "Send the prompt, in normal mode."),
          key("send_at_once", "<C-s>", "Send the prompt, in insert mode too."),
          key("interrupt", "<C-c>", "Interrupt Claude while it works."),
          key("older", "[p", "Put the prompt before there, from the history."),
          key("newer", "]p", "Put the next one there."),
          key("take_back", "gu", "Take back the prompt that waits."),
          key("mode", "<S-Tab>", "Go to the next permission mode."),
          key("model", "gm", "Choose a model."),
          key("preview", "K", "Show what the `#…` at the cursor would send."),
          key("effort", "gE", "Choose how much effort the model takes."),
          key("rewind", "gz", "Restore files as they were before a prompt: shown first, then asked."),
          key("tasks", "gB", "Stop what Claude runs in the background."),
          key("terminal", "gR", "Go on with the session in the terminal."),
          key("close", "q", "Hide the chat. It goes on."),
          key("help", "g?", "List the keys."),
        },
      },
    },
  },
  {
    "transcript",
    doc = "`:Claude transcript`: what was said and done in a session.",
    fields = {
      {
        "draw_markdown",
        kind = kind.boolean,
        default = true,
        doc = "Draw tables in columns, headings without `#` and code set apart, in chats as well. The text stays Markdown. Switch "
          .. "it off where another plugin does it, see |claude-ide-recipes|.",
      },
      {
        "keymaps",
        doc = "Keys in a transcript. Each has a `<Plug>` there, too, see |claude-ide-transcript-plug|.",
        fields = {
          key("next_prompt", "]]", "Go to the next prompt."),
          key("previous_prompt", "[[", "Go to the prompt before."),
          key("next_tool", "]m", "Go to the next tool call."),
          key("previous_tool", "[m", "Go to the tool call before."),
          key("next_edit", "]c", "Go to the next edit."),
          key("previous_edit", "[c", "Go to the edit before."),
          key("open", "<CR>", "Open what the line offers, or the fold."),
          key("file", "gf", "Go to the file of the call, or under the cursor."),
          key("file_split", "<C-w>f", "The same in a split."),
          key("file_tab", "<C-w>gf", "The same in a tab page."),
          key("branches", "gb", "Choose a branch of the conversation."),
          key("next_branch", "]v", "Show the next branch."),
          key("previous_branch", "[v", "Show the branch before."),
          key("yank_code", "gy", "Yank the code under the cursor: a block, a command, what an edit wrote."),
          key("resume", { "R", "gR" }, "Resume the session in the terminal. A chat goes on there."),
          key("fork", "gC", "Go on in a copy of the session."),
          key("export", "X", "Write the session down as Markdown."),
          key("search_next", "n", "Search on, through all messages."),
          key("search_previous", "N", "The same in the other direction."),
          key("close", "q", "Close the transcript: what was there before comes back."),
          key("help", "g?", "List the keys."),
        },
      },
    },
  },
  {
    "notify",
    doc = "The notice when Claude waits for you, or has finished, while you look elsewhere: at another program, or at Neovim "
      .. "with Claude's terminal out of sight. |claude-ide-states| says when exactly.",
    fields = {
      {
        "channels",
        kind = kind.list(kind.one_of({ "message", "bell", "osc9" })),
        default = { "message" },
        doc = "How you are told. `message`: as any message of Neovim (|vim.notify()|). `bell`: the terminal's bell. `osc9`: a "
          .. "notification of the terminal, where it knows OSC 9. An empty list: not at all.",
      },
      { "waiting", kind = kind.boolean, default = true, doc = "Tell when Claude waits for you." },
      { "finished", kind = kind.boolean, default = true, doc = "Tell when Claude has finished." },
      {
        "min_turn_ms",
        kind = kind.integer(0),
        default = 10000,
        doc = "A turn that took fewer milliseconds ends without a notice.",
      },
    },
  },
}
