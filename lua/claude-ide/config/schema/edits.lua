-- Options of edits: proposals, the review, files that change on disk.

local kind = require("claude-ide.config.kind")
local key = kind.key

---@type claude-ide.config.Entry[]
return {
  {
    "diff",
    doc = "Proposals: edits that wait for your answer.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = true,
        doc = "Show proposals in Neovim. When false, the CLI asks in its terminal.",
      },
      {
        "layout",
        kind = kind.one_of({ "vertical", "horizontal", "unified", "auto" }),
        default = "vertical",
        doc = "Layout of a diff: side by side, stacked, or one text with removed lines as virtual lines. `auto`: side by "
          .. "side with 100 columns or more, else unified. A key changes it for this diff and later ones. `:Claude "
          .. "review` has the same layouts. Large files and deleted files are always unified.",
      },
      {
        "open_in",
        kind = kind.one_of({ "tab", "current", "float" }),
        default = "tab",
        doc = "Where a diff opens: in its own tab page, in the current tab page, or in a float. Your windows are "
          .. "restored afterwards. `:Claude review` always has its own tab page.",
      },
      { "accept_on_write", kind = kind.boolean, default = true, doc = "Let `:w` in the proposal accept it." },
      {
        "focus",
        kind = kind.boolean,
        default = true,
        doc = "Focus a new diff when it opens, unless you are typing.",
      },
      {
        "keymaps",
        doc = "Keys in the windows of a diff. `]c` and `[c` go to the next and previous change in every layout.",
        fields = {
          key(
            "accept",
            { "ZZ", "gA" },
            "Accept the proposal with your changes. Prefer `gA` if you tend to press keys twice: outside of a diff it does "
              .. "nothing, while `ZZ` closes a window."
          ),
          key("reject", { "ZQ", "gX" }, "Reject it."),
          key("reject_with_reason", "ZW", "Reject it with a reason for Claude, see |:Claude-reject|."),
          key("hunk", "dx", "Drop or restore the change (hunk) under the cursor. `u` undoes either."),
          key(
            "removed",
            "gK",
            "Show all removed lines of the change under the cursor. The unified layout has room for as many as fit in its window. "
              .. "A review and an edit of a transcript have this key, too."
          ),
          key("layout", "gl", "Switch to the next layout. A review has this key, too."),
          key("help", "g?", "List the keys. A review has this key, too."),
        },
      },
    },
  },
  {
    "review",
    doc = "Changes that Claude has made, with or without asking: `:Claude review`.",
    fields = {
      {
        "signs",
        kind = kind.boolean,
        default = true,
        doc = "Signs on lines that Claude changed and you have not reviewed, in any buffer.",
      },
      {
        "remind",
        kind = kind.boolean,
        default = true,
        doc = "Show in one line what there is to review, at the end of each turn that left changes: "
          .. '"3 files, +20 −4 to review". The first time in a project, it also says how to be asked before edits.',
      },
      {
        "checkpoints",
        kind = kind.boolean,
        default = true,
        doc = "Detect changes by shell commands in git repositories: at each prompt, files whose bytes git does not have "
          .. "(changed, not tracked, or converted by git) are copied into Neovim's state folder for as long as the CLI is "
          .. "connected, except for files over 4 MB, those of `.gitignore` and `selection.deny`, and more than 64 MB at a "
          .. "time.",
      },
      {
        "keymaps",
        doc = "Keys in the windows of a review. In the list they apply to the whole file.",
        fields = {
          key("keep_hunk", "ga", "Keep the change under the cursor."),
          key("undo_hunk", "dx", "Undo the change under the cursor."),
          key("keep_file", "gA", "Keep all changes of the file."),
          key("undo_file", "dX", "Undo all changes of the file."),
          key(
            "undo_comments",
            "dc",
            "Undo all changes of the file that are of comments only; needs a tree-sitter parser. `u` restores them "
              .. "together."
          ),
          key(
            "stage_file",
            "gs",
            "Stage in git what you have kept of Claude's changes to the file, and nothing else."
          ),
          key("next_file", "]f", "Go to the next unreviewed file."),
          key("previous_file", "[f", "Go to the previous one."),
          key("close", "q", "Close the review. `:q` in any of its windows does the same."),
        },
      },
    },
  },
  {
    "comments",
    doc = "Comments for Claude on lines of files, and its answers: `:Claude comment`.",
    fields = {
      {
        "keymaps",
        doc = "Keys in the windows of a diff, a review and a plan. Elsewhere: |<Plug>(claude-comment)|.",
        fields = {
          key(
            "comment",
            "gc",
            "Comment on the lines of a motion or of a selection. Words in the window are kept as you type; `ZZ` closes it, and "
              .. "an empty comment is removed."
          ),
          key("line", "gcc", "Comment on this line, or continue its comment."),
          key("next", "]t", "Go to the next comment, also in the next file."),
          key("previous", "[t", "Go to the previous comment."),
          key("unfold", "gC", "Show all of the comment at this line, or one line."),
          key("resolve", "gR", "Resolve the comment at this line."),
          key("since", "g=", "Show what changed in this file since Claude got the comment."),
          key("send", "gS", "Send the comments to Claude, after a look at the message."),
        },
      },
    },
  },
  {
    "watch",
    doc = "Reload buffers that change on disk, while the server runs.",
    fields = {
      {
        "enabled",
        kind = kind.boolean,
        default = true,
        doc = "Reload an unmodified buffer as soon as its file changes on disk, without a question and undoable with `u`. "
          .. "A modified one is never changed: a message asks you to use `:Claude resolve`.",
      },
    },
  },
}
