-- Options of what is sent to Claude: the selection, mentions, diagnostics, and the context of its hooks.

local kind = require("claude-ide.config.kind")

---@type claude-ide.config.Entry[]
return {
  {
    "context",
    doc = "What a Claude that `:Claude` starts is told about your editor while it works: each text at most 2 kB, nothing "
      .. "of private files. `:Claude context` shows it. |claude-ide-context| Needs `hooks.enabled`.",
    fields = {
      {
        "unsaved",
        kind = kind.one_of({ "tell", "save", "off" }),
        default = "tell",
        doc = 'When Claude reads or edits a file with unsaved changes: `"tell"` it the changes, `"save"` them first, or '
          .. '`"off"`. '
          .. "Switching it on applies from Claude's next start, here and below.",
      },
      {
        "saved",
        kind = kind.boolean,
        default = false,
        doc = "Tell Claude during its turn which lines change in a file that you save, also by a formatter on save: its "
          .. "next edit of these lines would fail.",
      },
      {
        "errors",
        kind = kind.boolean,
        default = false,
        doc = "When Claude ends its turn, make it continue if language servers report new errors (at most twice a turn).",
      },
      {
        "prompt",
        kind = kind.list(kind.one_of({ "buffers", "selection", "visible", "diagnostics", "quickfix" })),
        default = {},
        doc = "Context that is added to each prompt, see |claude-ide-contexts|.",
      },
    },
  },
  {
    "selection",
    doc = "What Neovim tells Claude about your current file and selection.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = true,
        doc = "Send it. `:Claude selection off` stops it in this Neovim, `vim.b.claude_private` for one buffer.",
      },
      {
        "debounce_ms",
        kind = kind.integer(0, 60000),
        default = 50,
        doc = "Send at most one update in this time, in milliseconds.",
      },
      {
        "max_bytes",
        kind = kind.integer(0),
        default = 256 * 1024,
        shown = "256 * 1024",
        doc = "Maximum bytes of text that are sent. The range is always that of the whole selection.",
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
        doc = "Globs of files whose text is never sent. A glob with a `/` is matched against the whole path, others "
          .. "against the file name. Claude can still read these files with its own tools.",
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
        doc = "Maximum number of queued mentions.",
      },
      {
        "focus_terminal",
        kind = kind.boolean,
        default = false,
        doc = "Focus the terminal after sending a mention.",
      },
    },
  },
  {
    "code_actions",
    kind = kind.boolean,
    default = true,
    doc = "Offer |claude-ide-code-actions| while a CLI is connected.",
  },
  {
    "diagnostics",
    doc = "Diagnostics of your language servers, which Claude requests before and after each edit.",
    fields = {
      {
        "wait_ms",
        kind = kind.integer(0, 450),
        default = 300,
        doc = "Maximum wait for new diagnostics of one file. The CLI's timeout is 500 ms.",
      },
      {
        "wait_all_ms",
        kind = kind.integer(0, 1900),
        default = 1500,
        doc = "Maximum wait for new diagnostics of all files. The CLI's timeout is 2,000 ms.",
      },
      {
        "load_hidden",
        kind = kind.boolean,
        default = true,
        doc = "Load a file that Claude is about to edit into a hidden buffer, so that its language servers report on it.",
      },
      {
        "max_per_file",
        kind = kind.integer(1),
        default = 200,
        doc = "Maximum number of diagnostics of one file, worst first.",
      },
      {
        "max_total",
        kind = kind.integer(1),
        default = 2000,
        doc = "Maximum number of diagnostics in one answer, worst first.",
      },
      {
        "debounce_ms",
        kind = kind.integer(0, 60000),
        default = 200,
        doc = "Minimum milliseconds between two `diagnostics_changed` messages.",
      },
    },
  },
}
