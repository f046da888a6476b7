-- The layers of lua/claude-ide, from the bottom. Each line is a layer. A name stands for a module and all below it in its
-- folder, but for what is named itself. What a name stands for may require one another, and whatever is in a layer below;
-- what stands beside it on the line, or above, it reaches through bus.lua only.
-- `make lint` checks that (scripts/require-graph.lua), for what is required inside functions as well.
return {
  -- What needs nothing of ours.
  {
    "address",
    "clock",
    "file",
    "hunk",
    "install",
    "json",
    "line_breaks",
    "log",
    "once",
    "option",
    "path",
    "position",
    "process",
    "root",
    "tty",
    "types",
    "sessions.types",
    "ui.guard.times",
    "unseen",
    "window",
  },
  { "width" },
  { "bus", "lsp", "retry", "safely", "ui.one_line" },
  { "ui.guard.waits" },
  { "ui.notice" },
  { "config", "decisions", "event" },
  -- Files, as buffers and on disk; the library.
  { "buffer" },
  { "format", "update" },
  { "native" },
  { "merge", "wake" },
  -- What draws for any feature.
  { "ui" },
  { "diffview" },
  -- The folders, what of them is withheld, and who is connected.
  { "workspace" },
  { "privacy", "server" },
  { "listening" },
  -- What Claude does, as its files tell.
  { "sessions.waits" },
  { "sessions.phrases", "sessions.live" },
  { "sessions" },
  -- The features.
  { "terminal", "watch" },
  { "diagnostics", "journal", "mention", "notebook", "selection", "sessions.next_prompt", "sessions.ours" },
  -- What language servers know, for whoever asks.
  { "language" },
  { "changeset" },
  { "proposal", "neotest", "review" },
  -- What a prompt may name of the editor.
  { "context" },
  { "sessions.actions", "sessions.notify" },
  { "sessions.announce", "sessions.picker", "transcript" },
  { "chat", "sessions.grep" },
  { "inline" },
  { "sessions.api", "web" },
  -- What shows, asks or starts all of them.
  { "status", "tools" },
  { "statusline" },
  { "app", "leave" },
  { "autostart", "init" },
  { "command" },
  { "health" },
}
