-- Every option: its name, kind, default and meaning, stated once. The defaults, the validation, the LuaCATS types
-- (config/types.lua) and the option list of the help file are all made from this table.
-- An entry with `fields` is a section; one with `kind` is an option. No default means: not set.

local kind = require("claude-ide.config.kind")

---@class claude-ide.config.Entry
---@field [1] string name
---@field doc string for the person who sets it
---@field kind? claude-ide.config.Kind
---@field default? any
---@field shown? string how the help writes the default, where the value itself reads badly
---@field fields? claude-ide.config.Entry[]

---@type claude-ide.config.Entry[]
return {
  {
    "auto_start",
    kind = kind.boolean,
    default = true,
    doc = "Start the server when Neovim's screen is up, so that a CLI in any terminal can connect. "
      .. "Not in a Neovim that git or Claude Code started as an editor, nor in a pager. "
      .. "When false, `:ClaudeConnect` or `:Claude` starts it.",
  },
  {
    "log",
    doc = "The log file. `:Claude log` opens it.",
    fields = {
      {
        "level",
        kind = kind.one_of({ "trace", "debug", "info", "warn", "error", "off" }),
        default = "info",
        doc = "The least important lines that are written. Only `trace` writes text of your buffers.",
      },
    },
  },
  {
    "server",
    doc = "The server that the CLI connects to. A change counts from the next start of Neovim or `:Claude restart`.",
    fields = {
      {
        "host",
        kind = kind.string,
        default = "127.0.0.1",
        doc = "Address to listen on. Anything but a loopback address lets other machines try to connect; "
          .. "only a container setup should need that.",
      },
      {
        "port",
        kind = kind.integer(0, 65535),
        default = 0,
        doc = "Port to listen on. 0 takes any free one and keeps it for the life of this Neovim.",
      },
      {
        "port_range",
        kind = kind.port_range,
        doc = "First and last port to try, for firewalls and containers. Comes before `port`.",
      },
      {
        "handshake_timeout_ms",
        kind = kind.integer(100),
        default = 5000,
        doc = "How long a new connection may take to become a WebSocket, in milliseconds.",
      },
      {
        "max_connections",
        kind = kind.integer(1, 1024),
        default = 16,
        doc = "Most connections at one time.",
      },
      {
        "max_message_bytes",
        kind = kind.integer(65536),
        default = 64 * 1024 * 1024,
        shown = "64 * 1024 * 1024",
        doc = "Largest message that is accepted. A larger one closes its connection.",
      },
      {
        "keepalive",
        doc = "How a connection that died without a word is found out.",
        fields = {
          {
            "interval_ms",
            kind = kind.integer(100),
            default = 30000,
            doc = "Milliseconds between two pings. Strict, as some IDEs do it: 5000, with a `timeout_ms` of 3000.",
          },
          {
            "timeout_ms",
            kind = kind.integer(100),
            default = 90000,
            doc = "A client that stays silent for so many milliseconds after a ping is dropped. Anything it sends counts as life.",
          },
          {
            "mcp_ping",
            kind = kind.boolean,
            default = true,
            doc = "Send MCP's `ping` request beside the ping of WebSocket.",
          },
        },
      },
      {
        "write_file",
        kind = kind.one_of({ "review", "allow", "off" }),
        default = "review",
        doc = "What becomes of `writeFile`, with which other clients than the CLI change files. `review` shows a diff and "
          .. "writes what you accept, `allow` writes at once, `off` has no such method.",
      },
      {
        "lock_dir",
        kind = kind.string,
        doc = "Folder of the lock file. Not set: `ide` in `$CLAUDE_CONFIG_DIR`, else in `~/.claude`, as the CLI reads them.",
      },
    },
  },
  {
    "tools",
    doc = "What Claude may ask of the editor: its language servers, its buffers, its lists. |claude-ide-tools| A change counts "
      .. "from the next start of Neovim or `:Claude restart`.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = true,
        doc = "Serve the tools, and hand them to every Claude that `:Claude` starts.",
      },
      {
        "hidden",
        kind = kind.list(kind.string),
        default = {},
        doc = 'Tools that are neither listed nor served, by name: `{ "hover", "quickfix" }`.',
      },
      {
        "server_wait_ms",
        kind = kind.integer(0),
        default = 30000,
        doc = "How long a call waits for a language server that is still starting or reading the project.",
      },
      {
        "request_timeout_ms",
        kind = kind.integer(100),
        default = 60000,
        doc = "How long a call waits for the answer of a language server.",
      },
    },
  },
  {
    "workspace",
    doc = "Which folders count as your project. A CLI that runs in one of them finds this Neovim.",
    fields = {
      {
        "root_markers",
        kind = kind.list(kind.string),
        default = { ".git", ".hg", ".jj", "Cargo.toml", "package.json", "pyproject.toml", "go.mod" },
        doc = "Names that mark the top folder of a project.",
      },
      {
        "folders",
        kind = kind.any_of({ kind.list(kind.string, 1), kind.func_of("fun(): string[]") }),
        doc = "The folders themselves, or a function that returns them. Not set: found by `root_markers`.",
      },
    },
  },
  {
    "selection",
    doc = "What Claude is told about the file you are in and the text you selected.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = true,
        doc = "Send it. `:Claude selection off` switches it off for this Neovim, `vim.b.claude_private` for one buffer.",
      },
      {
        "debounce_ms",
        kind = kind.integer(0, 60000),
        default = 50,
        doc = "Least milliseconds between two messages.",
      },
      {
        "max_bytes",
        kind = kind.integer(0),
        default = 256 * 1024,
        shown = "256 * 1024",
        doc = "Longest text that is sent. The range that is sent is always the whole selection.",
      },
      {
        "deny",
        kind = kind.list(kind.string),
        default = {
          ".env*",
          "*.pem",
          "*.key",
          "*.p12",
          "*.pfx",
          "*.kdbx",
          "*.gpg",
          "*.age",
          "id_rsa*",
          "id_dsa*",
          "id_ecdsa*",
          "id_ed25519*",
          ".netrc",
          ".pgpass",
          ".npmrc",
          ".pypirc",
          "credentials*",
        },
        doc = "Names of files that are never sent, as globs. One with a `/` is compared with the whole path, "
          .. "any other with the file's name.",
      },
    },
  },
  {
    "mention",
    doc = "`:ClaudeSend` and `:Claude add`.",
    fields = {
      {
        "max_pending",
        kind = kind.integer(1, 10000),
        default = 200,
        doc = "Most mentions that wait for a connection.",
      },
      {
        "focus_terminal",
        kind = kind.boolean,
        default = false,
        doc = "Go to Claude's terminal once a mention was sent.",
      },
    },
  },
  {
    "diagnostics",
    doc = "Errors and warnings of your language servers, which Claude asks for around each edit.",
    fields = {
      {
        "wait_ms",
        kind = kind.integer(0, 450),
        default = 300,
        doc = "Longest wait for fresh diagnostics of one file. The CLI gives up after 500 ms.",
      },
      {
        "wait_all_ms",
        kind = kind.integer(0, 1900),
        default = 1500,
        doc = "Longest wait for fresh diagnostics of all files. The CLI gives up after 2,000 ms.",
      },
      {
        "load_hidden",
        kind = kind.boolean,
        default = true,
        doc = "Load a file that Claude is about to edit into a hidden buffer, so that its language server can speak.",
      },
      {
        "max_per_file",
        kind = kind.integer(1),
        default = 200,
        doc = "Most diagnostics of one file, worst first.",
      },
      {
        "max_total",
        kind = kind.integer(1),
        default = 2000,
        doc = "Most diagnostics in one answer, worst first.",
      },
      {
        "debounce_ms",
        kind = kind.integer(0, 60000),
        default = 200,
        doc = "Least milliseconds between two `diagnostics_changed` messages.",
      },
    },
  },
  {
    "diff",
    doc = "Edits that Claude proposes and waits for you to decide.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = true,
        doc = "Show them in Neovim. When false the CLI asks in its own terminal.",
      },
      {
        "layout",
        kind = kind.one_of({ "vertical", "horizontal", "unified", "auto" }),
        default = "vertical",
        doc = "How a diff is laid out: side by side, one above the other, or as one text with the removed lines drawn in "
          .. "it. `auto`: side by side where the screen has 100 columns, else as one text. A key changes it for this diff and those that follow. `:Claude review` has the same layouts.",
      },
      {
        "open_in",
        kind = kind.one_of({ "tab", "current", "float" }),
        default = "tab",
        doc = "Where a diff opens: in a tab page of its own, among the windows of the current tab page, or in a frame over "
          .. "them. Your windows are as they were when it is decided. `:Claude review` has a tab page always.",
      },
      { "accept_on_write", kind = kind.boolean, default = true, doc = "Let `:w` in the proposal accept it." },
      {
        "focus",
        kind = kind.boolean,
        default = true,
        doc = "Go to a new diff when it opens, unless you are typing.",
      },
      {
        "keymaps",
        doc = "Keys in the windows of a diff. `]c` and `[c` go from change to change in every layout.",
        fields = {
          {
            "accept",
            kind = kind.keys,
            default = { "ZZ", "gA" },
            doc = "Accept the proposal as it now stands. The second key does nothing in other windows, where `ZZ` closes a file.",
          },
          { "reject", kind = kind.keys, default = { "ZQ", "gX" }, doc = "Reject it." },
          {
            "reject_with_reason",
            kind = kind.keys,
            default = "ZW",
            doc = "Ask for a reason, reject it and tell Claude why, see |:Claude-reject|.",
          },
          {
            "hunk",
            kind = kind.keys,
            default = "dx",
            doc = "Drop the change under the cursor, or take it after all. `u` takes back either.",
          },
          {
            "layout",
            kind = kind.keys,
            default = "gl",
            doc = "Show the diff, or the review, in the next layout.",
          },
          { "help", kind = kind.keys, default = "g?", doc = "List the keys of the diff, or of the review." },
        },
      },
    },
  },
  {
    "review",
    doc = "Edits that Claude has made already: `:Claude review` shows them, whether it asked before or not.",
    fields = {
      {
        "signs",
        kind = kind.boolean,
        default = true,
        doc = "A sign beside each line that Claude changed and that you have not reviewed, in any buffer.",
      },
      {
        "checkpoints",
        kind = kind.boolean,
        default = true,
        doc = "See what shell commands change, in git repositories: at each prompt, files that differ from the last commit "
          .. "are copied into Neovim's state folder for as long as the CLI is connected. Never copied are files over 4 MB, "
          .. "what `.gitignore` and `selection.deny` leave out, and more than 64 MB at a time.",
      },
      {
        "keymaps",
        doc = "Keys in the windows of a review. In the list, the keys for a change are for the whole file.",
        fields = {
          { "keep_hunk", kind = kind.keys, default = "ga", doc = "Keep the change under the cursor." },
          { "undo_hunk", kind = kind.keys, default = "dx", doc = "Take the change under the cursor back." },
          { "keep_file", kind = kind.keys, default = "gA", doc = "Keep all changes of the file." },
          { "undo_file", kind = kind.keys, default = "dX", doc = "Take all changes of the file back." },
          { "next_file", kind = kind.keys, default = "]f", doc = "Go to the next file that waits." },
          { "previous_file", kind = kind.keys, default = "[f", doc = "Go to the one before." },
          {
            "close",
            kind = kind.keys,
            default = "q",
            doc = "Close the review. `:q` in any of its windows does the same.",
          },
        },
      },
    },
  },
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
    },
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
        doc = "Lines of the window that you write in.",
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
          { "resume", kind = kind.keys, default = "R", doc = "Resume the session in the terminal." },
          { "fork", kind = kind.keys, default = "gR", doc = "Go on in a copy of the session." },
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
    "watch",
    doc = "Buffers follow the disk while the server runs.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = true,
        doc = "Reload an unmodified buffer as soon as its file changes on disk, without a question and undoable with `u`. "
          .. "A modified one is never touched: you are told, and `:Claude resolve` decides.",
      },
    },
  },
  {
    "notebook",
    doc = "The tool `executeCode`: Python code that Claude runs in a Jupyter kernel, where there is a Python with ipykernel. "
      .. "See |claude-ide-notebooks|.",
    fields = {
      {
        "kernel",
        kind = kind.string,
        doc = "The Python that runs the code, as a path, or the name of an installed kernel (`jupyter kernelspec list`). Not "
          .. "set: the environment that is active or lies in the project, else `python3` on the PATH.",
      },
      {
        "timeout_ms",
        kind = kind.integer(0),
        default = 600000,
        doc = "What runs for more milliseconds is interrupted. 0: never.",
      },
      {
        "max_output",
        kind = kind.integer(1000, 1000000),
        default = 30000,
        doc = "Most characters of output of one run. Of more, the beginning and the end are kept.",
      },
      {
        "confirm",
        kind = kind.boolean,
        default = false,
        doc = "Ask you before each run, with the keys of a diff. The CLI asks itself, unless you have allowed the tool there.",
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
  {
    "terminal",
    doc = "Where `:Claude` runs the CLI.",
    fields = {
      {
        "provider",
        kind = kind.any_of({
          kind.one_of({ "native", "snacks", "external", "none" }),
          {
            luacats = "claude-ide.terminal.Provider",
            expects = "a provider table",
            accepts = function(value)
              return type(value) == "table" and type(value.open) == "function"
            end,
          },
        }),
        default = "native",
        doc = "`native`: a split of Neovim. `snacks`: a window of snacks.nvim. `external`: the command in `external`. "
          .. "`none`: you start `claude` yourself. A table: your own, see |claude-ide-terminal-provider|.",
      },
      {
        "command",
        kind = kind.list(kind.string, 1, '{ "claude", "--verbose" }'),
        default = { "claude" },
        doc = "The CLI and its arguments, one item each. No shell is involved.",
      },
      {
        "external",
        kind = kind.any_of({
          kind.list(kind.string, 1, '{ "kitty", "--" }'),
          kind.func_of("fun(spec: claude-ide.terminal.Spec): string[]?"),
        }),
        doc = 'For `provider = "external"`: the program that opens a terminal and its arguments. The CLI\'s own command is '
          .. "put at the end, or where an item is `{command}`; `{cwd}` becomes the project's folder. "
          .. "Or a function that returns such a list, or starts the terminal itself and returns nil.",
      },
      {
        "env",
        kind = kind.map(kind.string),
        default = {},
        doc = "More environment variables for the CLI.",
      },
      {
        "cwd",
        kind = kind.any_of({ kind.string, kind.func_of("fun(): string") }),
        doc = "Folder the CLI starts in. Not set: the top folder of the project.",
      },
      {
        "side",
        kind = kind.one_of({ "left", "right", "top", "bottom" }),
        default = "right",
        doc = "Side of the screen the window takes.",
      },
      {
        "size",
        kind = kind.above(0),
        default = 0.4,
        doc = "Its width (or height): below 1 a share of the screen, from 1 on columns (or lines).",
      },
      {
        "snacks",
        kind = kind.options,
        default = {},
        doc = 'For `provider = "snacks"`: options of `Snacks.win`, e.g. `{ position = "float" }`.',
      },
      {
        "start_insert",
        kind = kind.boolean,
        default = true,
        doc = "Be ready to type when the window is entered by `:Claude`.",
      },
      {
        "auto_close",
        kind = kind.boolean,
        default = true,
        doc = "Close the window when the CLI ends without an error. After an error it always stays.",
      },
      {
        "keymaps",
        doc = "Keys while you type in the terminal. |claude-ide-terminal-keys| says which ones the CLI leaves free.",
        fields = {
          {
            "back",
            kind = kind.keys,
            default = "<C-\\><C-\\>",
            doc = "Go back to the window you came from.",
          },
          {
            "normal",
            kind = kind.keys,
            default = false,
            doc = "Normal mode, to scroll and copy, as `<C-\\><C-n>` does.",
          },
          { "hide", kind = kind.keys, default = false, doc = "Hide the window. The CLI goes on." },
          { "left", kind = kind.keys, default = false, doc = "Go to the window on the left." },
          { "down", kind = kind.keys, default = false, doc = "Go to the window below." },
          { "up", kind = kind.keys, default = false, doc = "Go to the window above." },
          { "right", kind = kind.keys, default = false, doc = "Go to the window on the right." },
        },
      },
    },
  },
  {
    "web",
    doc = "Sessions on a page in your browser, see |claude-ide-web|. A change counts from the next start of Neovim or "
      .. "`:Claude serve stop` and `start`.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = false,
        doc = "Serve as soon as the server runs. When false, `:Claude serve` begins it.",
      },
      {
        "host",
        kind = kind.string,
        default = "127.0.0.1",
        doc = "Address to listen on. Anything but a loopback address lets other machines knock; |claude-ide-web-remote| "
          .. "says how to reach it from another one without that.",
      },
      {
        "port",
        kind = kind.integer(0, 65535),
        default = 12345,
        doc = "Port to listen on; if it is taken, the next free one, which is said. 0 takes any.",
      },
      {
        "names",
        kind = kind.list(kind.string),
        default = {},
        doc = "More names under which browsers may ask for it: that of a tunnel or a proxy on this machine, such as "
          .. "`box.tailnet.ts.net`. Requests for any other name are refused.",
      },
    },
  },
}
