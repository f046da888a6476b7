-- Options of connections: the server, its tools, the folders, the log.

local kind = require("claude-ide.config.kind")

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
        doc = "The folders themselves, or a function that returns them. Not set: the projects, found by `root_markers`, of the "
          .. "current folders and of the files that you have open. The project that you are in comes first.",
      },
    },
  },
}
