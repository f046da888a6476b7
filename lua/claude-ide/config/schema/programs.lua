-- Options of programs: kernels, the CLI in a terminal, the page.

local kind = require("claude-ide.config.kind")
local key = kind.key

---@type claude-ide.config.Entry[]
return {
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
          key("back", "<C-\\><C-\\>", "Go back to the window you came from."),
          key("normal", false, "Normal mode, to scroll and copy, as `<C-\\><C-n>` does."),
          key("hide", false, "Hide the window. The CLI goes on."),
          key("left", false, "Go to the window on the left."),
          key("down", false, "Go to the window below."),
          key("up", false, "Go to the window above."),
          key("right", false, "Go to the window on the right."),
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
      {
        "write",
        kind = kind.boolean,
        default = false,
        doc = "Let who is let in write: prompts to Claude, and answers to what it asks. When false, they only read. See "
          .. "|claude-ide-web-write|.",
      },
      {
        "commands",
        kind = kind.boolean,
        default = false,
        doc = "With `write`: prompts may be commands, that is begin with `/`, `!`, `#` or `&`, or be words that end the "
          .. "CLI. `!` runs in a shell without a question.",
      },
    },
  },
}
