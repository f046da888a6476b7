-- Options of programs: kernels, the CLI in a terminal, the page.

local kind = require("claude-ide.config.kind")
local key = kind.key

---@type claude-ide.config.Entry[]
return {
  {
    "notebook",
    doc = "The tool `executeCode`: Claude runs Python in a Jupyter kernel, if there is a Python with ipykernel. "
      .. "See |claude-ide-notebooks|.",
    fields = {
      {
        "kernel",
        kind = kind.string,
        doc = "Path of a Python, or name of an installed kernel (`jupyter kernelspec list`). Not set: the Python of "
          .. "the active environment or of the project, else `python3` on the PATH.",
      },
      {
        "timeout_ms",
        kind = kind.integer(0),
        default = 600000,
        doc = "Interrupt code after this many milliseconds. 0: never.",
      },
      {
        "max_output",
        kind = kind.integer(1000, 1000000),
        default = 30000,
        doc = "Maximum characters of a run's output. Longer output is cut in the middle.",
      },
      {
        "confirm",
        kind = kind.boolean,
        default = false,
        doc = "Ask before each run, with the keys of a diff. The CLI also asks, unless you have allowed the tool there.",
      },
    },
  },
  {
    "terminal",
    doc = "The terminal in which `:Claude` runs the CLI.",
    fields = {
      {
        "provider",
        kind = kind.any_of({
          kind.one_of({ "native", "snacks", "kitty", "tmux", "wezterm", "zellij", "external", "none" }),
          {
            luacats = "claude-ide.terminal.Provider",
            expects = "a provider table",
            accepts = function(value)
              return type(value) == "table" and type(value.open) == "function"
            end,
          },
        }),
        default = "native",
        doc = "`native`: a split. `snacks`: a window of snacks.nvim. `kitty`, `tmux`, `wezterm`, `zellij`: a pane beside "
          .. "Neovim's. `external`: the command in `external`. `none`: you start `claude` yourself. A table: a custom "
          .. "provider, see |claude-ide-terminal-provider|.",
      },
      {
        "command",
        kind = kind.list(kind.string, 1, '{ "claude", "--verbose" }'),
        default = { "claude" },
        doc = "The CLI and its arguments. No shell is involved.",
      },
      {
        "permission_mode",
        kind = kind.one_of({
          "default",
          "manual",
          "acceptEdits",
          "plan",
          "auto",
          "dontAsk",
          "bypassPermissions",
        }),
        doc = "The permission mode of new sessions, in terminals and chats: `--permission-mode` of the CLI, if you give "
          .. "none. `default` asks before each edit, see |claude-ide-modes|. A resumed session keeps its own. Not set: "
          .. "the CLI's default.",
      },
      {
        "external",
        kind = kind.any_of({
          kind.list(kind.string, 1, '{ "kitty", "--" }'),
          kind.func_of("fun(spec: claude-ide.terminal.Spec): string[]?"),
        }),
        doc = 'For `provider = "external"`: the program that opens a terminal and its arguments. The CLI\'s own command is '
          .. "put at the end, or where an item is `{command}`; `{cwd}` becomes the project's folder. "
          .. "Or a function that returns such a list, or starts `spec.argv` in a terminal itself and returns nil.",
      },
      {
        "env",
        kind = kind.map(kind.string),
        default = {},
        doc = "Additional environment variables for the CLI.",
      },
      {
        "cwd",
        kind = kind.any_of({ kind.string, kind.func_of("fun(): string") }),
        doc = "The CLI's working directory. Not set: the root of the project.",
      },
      {
        "per_tab",
        kind = kind.boolean,
        default = false,
        doc = "`:Claude` starts a separate CLI in each tab page, in the tab page's project (`:tcd`).",
      },
      {
        "editor",
        kind = kind.boolean,
        default = true,
        doc = "Open what the CLI gives to `$EDITOR` (`<C-g>`: the prompt) in this Neovim. |claude-ide-terminal-editor|",
      },
      {
        "on_quit",
        kind = kind.one_of({ "ask", "background", "end" }),
        default = "ask",
        doc = "What happens to sessions that work or wait when Neovim quits: `ask`, continue them in the `background`, or "
          .. "`end` them. |claude-ide-background|",
      },
      {
        "side",
        kind = kind.one_of({ "left", "right", "top", "bottom" }),
        default = "right",
        doc = "Side of the screen for the window.",
      },
      {
        "size",
        kind = kind.above(0),
        default = 0.4,
        doc = "Width (or height): below 1 a share of the screen, else columns (or lines).",
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
        doc = "Start Terminal mode when `:Claude` enters the window.",
      },
      {
        "auto_close",
        kind = kind.boolean,
        default = true,
        doc = "Close the window when the CLI exits without an error. After an error it stays.",
      },
      {
        "keymaps",
        doc = "Keys of the terminal, each with its modes. |claude-ide-terminal-keys| lists keys that the CLI does not use.",
        fields = {
          key("back", "<C-\\><C-\\>", "Return to the previous window. In Normal and Terminal mode."),
          key("normal", false, "Normal mode, to scroll and copy, like `<C-\\><C-n>`. In Terminal mode."),
          key("hide", false, "Hide the window. The CLI keeps running. In Normal and Terminal mode."),
          key("left", false, "Go to the window on the left. In Terminal mode, like `<C-w>h` in Normal mode."),
          key("down", false, "Go to the window below. In Terminal mode."),
          key("up", false, "Go to the window above. In Terminal mode."),
          key("right", false, "Go to the window on the right. In Terminal mode."),
          key(
            "file",
            { "gf", "gF" },
            "Open the file under the cursor in a window for files, at its line. In Normal mode."
          ),
          key(
            "file_click",
            "<C-LeftMouse>",
            "The same for a file that is clicked. In Normal and Terminal mode."
          ),
        },
      },
    },
  },
  {
    "web",
    doc = "The web page: sessions in your browser, see |claude-ide-web|. Changes apply after a restart of Neovim or "
      .. "`:Claude serve stop` and `start`.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = false,
        doc = "Serve the page whenever the server runs. When false, `:Claude serve` starts it.",
      },
      {
        "host",
        kind = kind.string,
        default = "127.0.0.1",
        doc = "Address to listen on. Any other than a loopback address lets other machines connect; "
          .. "|claude-ide-web-remote| shows a safe way to reach it.",
      },
      {
        "port",
        kind = kind.integer(0, 65535),
        default = 12345,
        doc = "Port to listen on, or the next free one, which a message shows. 0: any.",
      },
      {
        "names",
        kind = kind.list(kind.string),
        default = {},
        doc = "Additional host names for requests: that of a tunnel or a proxy on this machine, such as "
          .. "`box.tailnet.ts.net`. Requests for any other name are refused.",
      },
      {
        "write",
        kind = kind.boolean,
        default = false,
        doc = "Allow browsers to send prompts and to answer requests. When false, they only read. See "
          .. "|claude-ide-web-write|.",
      },
      {
        "commands",
        kind = kind.boolean,
        default = false,
        doc = "With `write`: allow prompts that are commands (they begin with `/`, `!`, `#` or `&`) or that exit "
          .. "the CLI. `!` runs in a shell without asking.",
      },
    },
  },
}
