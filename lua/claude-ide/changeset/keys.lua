-- The keys of a changeset: those of a diff, which decide, and those of a review, which go from file to file.
local M = {}

---@alias claude-ide.changeset.Verb "accept"|"reject"|"reject_with_reason"|"hunk"|"undo_file"|"next_file"|"previous_file"|"layout"|"help"

---@type table<claude-ide.changeset.Verb, { set: "diff"|"review", desc: string }>
local VERBS = {
  accept = { set = "diff", desc = "accept all that is not dropped, in all files" },
  reject = { set = "diff", desc = "reject all of it" },
  reject_with_reason = { set = "diff", desc = "reject all of it and tell Claude why" },
  hunk = { set = "diff", desc = "drop this change, or take it after all" },
  undo_file = { set = "review", desc = "drop this file, or take it after all" },
  next_file = { set = "review", desc = "the next file" },
  previous_file = { set = "review", desc = "the file before" },
  layout = { set = "diff", desc = "the next layout" },
  help = { set = "diff", desc = "list these keys" },
}

---In the order in which they are listed.
---@type claude-ide.changeset.Verb[]
local NAMES = {
  "accept",
  "reject",
  "reject_with_reason",
  "hunk",
  "undo_file",
  "next_file",
  "previous_file",
  "layout",
  "help",
}

local DECIDES = { accept = true, reject = true, reject_with_reason = true }

---@param verb claude-ide.changeset.Verb
---@return string[]
local function keys_of(verb)
  local keymaps = require("claude-ide.config").get()[VERBS[verb].set].keymaps
  return require("claude-ide.ui.key_list").keys(keymaps[verb])
end

---Maps the keys in a buffer of a changeset.
---@param buf integer
---@param verbs table<claude-ide.changeset.Verb, fun()>
---@param may_decide fun(): boolean the user has seen what a key would decide
function M.map(buf, verbs, may_decide)
  for verb, run in pairs(verbs) do
    for _, lhs in ipairs(keys_of(verb)) do
      vim.keymap.set("n", lhs, function()
        if not DECIDES[verb] or may_decide() then
          run()
        end
      end, { buffer = buf, nowait = true, silent = true, desc = "Claude Code: " .. VERBS[verb].desc })
    end
  end
end

---Lists the keys.
function M.help()
  local key_list, entries = require("claude-ide.ui.key_list"), {}
  for _, verb in ipairs(NAMES) do
    entries[#entries + 1] = key_list.entry(keys_of(verb), VERBS[verb].desc)
  end
  if require("claude-ide.config").get().diff.accept_on_write then
    entries[#entries + 1] = { ":w", "accept as well" }
  end
  vim.list_extend(entries, {
    { ":q", "reject as well" },
    { "]c [c", "next change, change before" },
    { "<CR>", "in the list: go to the file; the key for a change is for all of the file there" },
  })
  key_list.open(entries, { of = "a changeset", group = "ClaudeDiffKey", help = keys_of("help") })
end

return M
