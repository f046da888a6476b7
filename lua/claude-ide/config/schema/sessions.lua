-- Options of conversations: prompts, chats, transcripts, what is told of them.

local kind = require("claude-ide.config.kind")

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
          { "close", kind = kind.keys, default = "q", doc = "Close it. That ends the CLI, too." },
          {
            "chat",
            kind = kind.keys,
            default = "c",
            doc = "Go on as a chat, which may do what any other may.",
          },
        },
      },
    },
  },
  {
    "agents",
    kind = kind.map(kind.agent),
    default = {},
    doc = 'Agents that `:Claude chat --agent {name}` talks to beside the CLI, by the Agent Client Protocol: `{ cmd = { "gemini", '
      .. '"--acp" }, env = { … }, name = "Gemini" }`. `claude`, `codex` and `gemini` are known without it. See '
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
          { "send", kind = kind.keys, default = "<CR>", doc = "Send the prompt, in normal mode." },
          {
            "send_at_once",
            kind = kind.keys,
            default = "<C-s>",
            doc = "Send the prompt, in insert mode too.",
          },
          { "interrupt", kind = kind.keys, default = "<C-c>", doc = "Interrupt Claude while it works." },
          {
            "older",
            kind = kind.keys,
            default = "[p",
            doc = "Put the prompt before there, from the history.",
          },
          { "newer", kind = kind.keys, default = "]p", doc = "Put the next one there." },
          { "take_back", kind = kind.keys, default = "gu", doc = "Take back the prompt that waits." },
          { "mode", kind = kind.keys, default = "<S-Tab>", doc = "Go to the next permission mode." },
          { "model", kind = kind.keys, default = "gm", doc = "Choose a model." },
          {
            "preview",
            kind = kind.keys,
            default = "K",
            doc = "Show what the `#…` at the cursor would send.",
          },
          { "effort", kind = kind.keys, default = "gE", doc = "Choose how much effort the model takes." },
          {
            "rewind",
            kind = kind.keys,
            default = "gz",
            doc = "Restore files as they were before a prompt: shown first, then asked.",
          },
          { "tasks", kind = kind.keys, default = "gB", doc = "Stop what Claude runs in the background." },
          { "terminal", kind = kind.keys, default = "gR", doc = "Go on with the session in the terminal." },
          { "close", kind = kind.keys, default = "q", doc = "Hide the chat. It goes on." },
          { "help", kind = kind.keys, default = "g?", doc = "List the keys." },
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
          { "next_prompt", kind = kind.keys, default = "]]", doc = "Go to the next prompt." },
          { "previous_prompt", kind = kind.keys, default = "[[", doc = "Go to the prompt before." },
          { "next_tool", kind = kind.keys, default = "]m", doc = "Go to the next tool call." },
          { "previous_tool", kind = kind.keys, default = "[m", doc = "Go to the tool call before." },
          { "next_edit", kind = kind.keys, default = "]c", doc = "Go to the next edit." },
          { "previous_edit", kind = kind.keys, default = "[c", doc = "Go to the edit before." },
          { "open", kind = kind.keys, default = "<CR>", doc = "Open what the line offers, or the fold." },
          {
            "file",
            kind = kind.keys,
            default = "gf",
            doc = "Go to the file of the call, or under the cursor.",
          },
          { "file_split", kind = kind.keys, default = "<C-w>f", doc = "The same in a split." },
          { "file_tab", kind = kind.keys, default = "<C-w>gf", doc = "The same in a tab page." },
          { "branches", kind = kind.keys, default = "gb", doc = "Choose a branch of the conversation." },
          { "next_branch", kind = kind.keys, default = "]v", doc = "Show the next branch." },
          { "previous_branch", kind = kind.keys, default = "[v", doc = "Show the branch before." },
          {
            "yank_code",
            kind = kind.keys,
            default = "gy",
            doc = "Yank the code under the cursor: a block, a command, what an edit wrote.",
          },
          {
            "resume",
            kind = kind.keys,
            default = { "R", "gR" },
            doc = "Resume the session in the terminal. A chat goes on there.",
          },
          { "fork", kind = kind.keys, default = "gC", doc = "Go on in a copy of the session." },
          { "export", kind = kind.keys, default = "X", doc = "Write the session down as Markdown." },
          { "search_next", kind = kind.keys, default = "n", doc = "Search on, through all messages." },
          { "search_previous", kind = kind.keys, default = "N", doc = "The same in the other direction." },
          {
            "close",
            kind = kind.keys,
            default = "q",
            doc = "Close the transcript: what was there before comes back.",
          },
          { "help", kind = kind.keys, default = "g?", doc = "List the keys." },
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
