-- Options of connections: the server, its tools and hooks, other agents' connections, the folders, the log.

local kind = require("claude-ide.config.kind")

---@type claude-ide.config.Entry[]
return {
  {
    "auto_start",
    kind = kind.boolean,
    default = true,
    doc = "Start the server when the UI is ready, so that a CLI in any terminal can connect. Does not apply to a Neovim "
      .. "that was started as a pager, or as an editor by git or Claude Code. When false, `:ClaudeConnect` or `:Claude` "
      .. "starts it.",
  },
  {
    "log",
    doc = "The log file. `:Claude log` opens it.",
    fields = {
      {
        "level",
        kind = kind.one_of({ "trace", "debug", "info", "warn", "error", "off" }),
        default = "info",
        doc = "Minimum level of lines. Only `trace` writes text of your buffers.",
      },
    },
  },
  {
    "server",
    doc = "The server that the CLI connects to. Changes apply after a restart of Neovim or `:Claude restart`.",
    fields = {
      {
        "host",
        kind = kind.string,
        default = "127.0.0.1",
        doc = "Address to listen on. Any other than a loopback address lets other machines try to connect; only "
          .. "containers should need that.",
      },
      {
        "port",
        kind = kind.integer(0, 65535),
        default = 0,
        doc = "Port to listen on. 0: any free one, kept until Neovim exits.",
      },
      {
        "port_range",
        kind = kind.port_range,
        doc = "First and last port to try, for firewalls and containers. Takes precedence over `port`.",
      },
      {
        "handshake_timeout_ms",
        kind = kind.integer(100),
        default = 5000,
        doc = "Timeout of the WebSocket handshake, in milliseconds.",
      },
      {
        "max_connections",
        kind = kind.integer(1, 1024),
        default = 16,
        doc = "Maximum number of connections.",
      },
      {
        "max_message_bytes",
        kind = kind.integer(65536),
        default = 64 * 1024 * 1024,
        shown = "64 * 1024 * 1024",
        doc = "Maximum size of a message. A larger one closes its connection.",
      },
      {
        "keepalive",
        doc = "Detection of dead connections.",
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
            doc = "Disconnect a client that sends nothing for this many milliseconds after a ping.",
          },
          {
            "mcp_ping",
            kind = kind.boolean,
            default = true,
            doc = "Send MCP's `ping` request in addition to WebSocket pings.",
          },
        },
      },
      {
        "write_file",
        kind = kind.one_of({ "review", "allow", "off" }),
        default = "review",
        doc = "The method `writeFile`, with which clients other than the CLI change files. `review`: show a diff and "
          .. "write what you accept, `allow`: write at once, `off`: no such method.",
      },
      {
        "lock_dir",
        kind = kind.string,
        doc = "Folder of the lock file. Not set: `ide` in `$CLAUDE_CONFIG_DIR`, else in `~/.claude`, where the CLI "
          .. "looks for it.",
      },
    },
  },
  {
    "agents_ide",
    kind = kind.boolean,
    default = false,
    doc = "Let Gemini CLI and Qwen Code find this Neovim, too: they show their edits as diffs here, and learn the open files, "
      .. "the cursor and the selection. |claude-ide-companions| Changes apply after a restart of Neovim or "
      .. "`:Claude restart`.",
  },
  {
    "tools",
    doc = "Editor tools for Claude: language servers, buffers, lists. |claude-ide-tools| Changes apply after a "
      .. "restart of Neovim or `:Claude restart`.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = true,
        doc = "Serve the tools, and pass them to every Claude that `:Claude` starts.",
      },
      {
        "hidden",
        kind = kind.list(kind.string),
        default = {},
        doc = 'Tools to hide, by name: `{ "hover", "quickfix" }`.',
      },
      {
        "offers",
        kind = kind.boolean,
        default = true,
        doc = "Offer the editor's state and your prompts to each connected CLI: `@ide:nvim://quickfix`, `/ide:{prompt}`. "
          .. "|claude-ide-offers|",
      },
      {
        "server_wait_ms",
        kind = kind.integer(0),
        default = 30000,
        doc = "How long a call waits for a language server that is starting or loading the project, in milliseconds.",
      },
      {
        "request_timeout_ms",
        kind = kind.integer(100),
        default = 60000,
        doc = "How long a call waits for the response of a language server, in milliseconds.",
      },
    },
  },
  {
    "hooks",
    doc = "Hooks of a Claude started by `:Claude`. |claude-ide-decide| Changes apply from its next start.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = true,
        doc = "Show Claude's requests in Neovim and on the web page, too; the first answer wins. Show its answers line by "
          .. "line in transcripts and on the page.",
      },
      {
        "held_dialog_s",
        kind = kind.integer(0),
        default = 60,
        doc = "Claude opens the dialog for a subagent's request or an MCP server's form only after Neovim has answered. "
          .. "How long Neovim holds them for you, in seconds. 0, or while Neovim is not focused and no page is served: "
          .. "ask in the terminal only.",
      },
      {
        "mod",
        kind = kind.boolean,
        default = true,
        doc = "Run a small program of ours inside Claude (`mod/` in the plugin's folder). It sends prompts without the "
          .. "keyboard, beside what you have typed there, tells `:Claude follow` at once what Claude does, and asks you "
          .. "about what auto mode refuses. Needs Claude Code 2.1.287 or newer; without it Neovim types, and reads "
          .. "transcripts.",
      },
    },
  },
  {
    "auto_mode",
    doc = "Auto mode of a Claude started by `:Claude`. |claude-ide-modes| Changes apply from its next start.",
    fields = {
      {
        "refusals",
        kind = kind.one_of({ "ask", "leave" }),
        default = "ask",
        doc = "What becomes of a call that auto mode refuses. `ask`: you are asked, while Neovim is focused or a page is "
          .. "served. `leave`: it stays refused. Needs `hooks.enabled` and `hooks.mod`, and Claude Code 2.1.287 or newer.",
      },
    },
  },
  {
    "workspace",
    doc = "The folders of your project. A CLI that runs in one of them finds this Neovim.",
    fields = {
      {
        "root_markers",
        kind = kind.list(kind.string),
        default = { ".git", ".hg", ".jj", "Cargo.toml", "package.json", "pyproject.toml", "go.mod" },
        doc = "Files and folders that mark the root of a project.",
      },
      {
        "folders",
        kind = kind.any_of({ kind.list(kind.string, 1), kind.func_of("fun(): string[]") }),
        doc = "The folders, or a function that returns them. Not set: the projects, found by `root_markers`, of the "
          .. "current directories and of your open files, the current one first.",
      },
      {
        "worktrees",
        kind = kind.one_of({ "open", "all", "off" }),
        default = "open",
        doc = "Worktrees of the project's git repository in which a CLI in another terminal finds this Neovim, too. "
          .. "`open`: those of tab pages and open files. `all`: each; a CLI that finds several Neovims waits for `/ide`. "
          .. "`off`: none. Not used with `folders`. |claude-ide-worktrees|",
      },
      {
        "path_map",
        kind = kind.map(kind.string),
        default = {},
        doc = "Folders that Claude sees under another path, in a container or on the Windows side of WSL: "
          .. '`{ ["/home/me/project"] = "/workspaces/project" }`. |claude-ide-elsewhere| Changes apply after a restart of '
          .. "Neovim or `:Claude restart`.",
      },
    },
  },
}
