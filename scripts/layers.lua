-- The layers of lua/claude-ide, from the bottom. Each line is a layer. A name stands for a module and those in its folder, except
-- modules that have a name here themselves. The modules of one name may require each other and any lower layer; those beside
-- them on the line, or above, are only reached through bus.lua.
-- `make lint` checks this (scripts/require-graph.lua), including requires inside functions.
return {
  -- Independent of other modules.
  {
    "address",
    "at_exit",
    "clock",
    "counted",
    "file",
    "hunk",
    "install",
    "lazy",
    "line_breaks",
    "log",
    "once",
    "option",
    "path",
    "position",
    "process",
    "root",
    "soon",
    "tty",
    "types",
    "sessions.types",
    "ui.guard.times",
    "invisible_text",
    "window",
  },
  { "width" },
  { "bus", "lsp", "retry", "safely", "ui.one_line" },
  { "slice" },
  { "ui.guard.waits" },
  { "ui.notice" },
  { "config", "event", "requests" },
  -- Files in buffers and on disk; the library.
  { "buffer" },
  { "format", "update" },
  { "native" },
  { "merge", "wake" },
  -- Drawing for all features.
  { "ui" },
  { "diffview" },
  -- The workspace, private files, and the server's clients.
  { "workspace" },
  { "privacy", "server" },
  { "listening" },
  -- Claude's activity, from its files.
  { "sessions.waits" },
  { "sessions.phrases", "sessions.live" },
  { "sessions" },
  -- The features.
  { "terminal", "unapproved", "watch" },
  { "sessions.background" },
  {
    "diagnostics",
    "journal",
    "mention",
    "notebook",
    "selection",
    "sessions.rejection_reason",
    "sessions.own",
  },
  -- Queries to language servers.
  { "language" },
  { "changeset" },
  { "proposal", "neotest", "review" },
  -- Context that a prompt can name, and that hooks of the CLI print.
  { "context" },
  { "hook_context" },
  { "sessions.actions", "sessions.notify", "sessions.asks" },
  { "sessions.announce", "sessions.picker", "transcript" },
  { "card" },
  { "chat", "sessions.grep" },
  { "inline", "deliver", "worktree" },
  { "board", "sessions.api", "web" },
  -- Modules that show, query or start all features.
  { "status", "tools" },
  { "statusline" },
  { "app", "leave" },
  { "autostart", "init" },
  { "command" },
  { "health" },
}
