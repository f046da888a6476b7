-- Options of edits: proposals, the review, files that change on disk.

local kind = require("claude-ide.config.kind")
local key = kind.key

---@type claude-ide.config.Entry[]
return {
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
          .. "it. `auto`: side by side where the screen has 100 columns, else as one text. A key changes it for this diff and those that follow. `:Claude review` has the same layouts. "
          .. "A large file, and one that goes, is shown as one text in any layout.",
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
          key(
            "accept",
            { "ZZ", "gA" },
            "Accept the proposal as it now stands. The second key does nothing in other windows, where `ZZ` closes a file."
          ),
          key("reject", { "ZQ", "gX" }, "Reject it."),
          key(
            "reject_with_reason",
            "ZW",
            "Ask for a reason, reject it and tell Claude why, see |:Claude-reject|."
          ),
          key("hunk", "dx", "Drop the change under the cursor, or take it after all. `u` takes back either."),
          key("layout", "gl", "Show the diff, or the review, in the next layout."),
          key("help", "g?", "List the keys of the diff, or of the review."),
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
          key("keep_hunk", "ga", "Keep the change under the cursor."),
          key("undo_hunk", "dx", "Take the change under the cursor back."),
          key("keep_file", "gA", "Keep all changes of the file."),
          key("undo_file", "dX", "Take all changes of the file back."),
          key("next_file", "]f", "Go to the next file that waits."),
          key("previous_file", "[f", "Go to the one before."),
          key("close", "q", "Close the review. `:q` in any of its windows does the same."),
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
}
