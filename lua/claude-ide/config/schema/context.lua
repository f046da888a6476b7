-- Options of what is sent to Claude: the selection, mentions, diagnostics.

local kind = require("claude-ide.config.kind")

---@type claude-ide.config.Entry[]
return {
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
}
