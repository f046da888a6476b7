-- Keys of a diff, and their help. Each acts only on the diff that the user sees.
local lazy = require("claude-ide.lazy")
local comments_keys = lazy("claude-ide.comments.keys")
local config = lazy("claude-ide.config")
local key_list = lazy("claude-ide.ui.key_list")
local queue = lazy("claude-ide.edits.proposal.queue")
local state = lazy("claude-ide.edits.proposal.state")
local typing = lazy("claude-ide.ui.guard.typing")
local window = lazy("claude-ide.ui.guard.window")

local M = {}

local DECIDES = { "accept", "reject", "reject_with_reason" }

---@alias claude-ide.proposal.Verb "accept"|"reject"|"reject_with_reason"|"hunk"|"undo_file"|"next_file"|"previous_file"|"removed"|"layout"|"help"

---Of several files, the keys that mean something else there, and those of a review.
---@type table<string, string>
local OF_SEVERAL = {
  accept = "accept all that is not dropped, in all files",
  reject = "reject all of it",
  reject_with_reason = "reject all of it with a reason",
  undo_file = "drop or restore this file",
  next_file = "go to the next file",
  previous_file = "go to the previous one",
}

---@param are_several boolean several files
---@return claude-ide.ui.key_list.Option[] options in display order
local function options(are_several)
  local found = key_list.options("diff")
  for _, option in ipairs(are_several and key_list.options("review") or {}) do
    if OF_SEVERAL[option.name] then
      table.insert(found, #found - 2, option) -- before those of the screen
    end
  end
  for _, option in ipairs(found) do
    option.desc = are_several and OF_SEVERAL[option.name] or option.desc
  end
  return found
end

---Keys that accept or reject.
---@return string[]
function M.deciding_keys()
  local keymaps, keys = config.get().diff.keymaps, key_list.keys
  return vim
    .iter(DECIDES)
    :map(function(verb)
      return keys(keymaps[verb])
    end)
    :flatten()
    :totable()
end

---Whether keys accept or reject the diff of the current buffer.
---@param typed string
---@return boolean
function M.is_deciding(typed)
  local map = vim.fn.maparg(vim.fn.keytrans(typed), "n", false, true)
  return map.buffer == 1
    and vim.iter(vim.list_extend(options(false), options(true))):any(function(option)
      return vim.tbl_contains(DECIDES, option.name) and map.desc == "Claude Code: " .. option.desc
    end)
end

---Wraps a key's action. The screen may have changed since the key, after a decision.
---@param entry claude-ide.proposal.Entry
---@param verb claude-ide.proposal.Verb
---@param run fun()
---@return fun()
local function pressed(entry, verb, run)
  local decides = vim.tbl_contains(DECIDES, verb)
  return function()
    local diff = entry.diff
    local here = vim.tbl_contains(state.bufs(entry), vim.api.nvim_get_current_buf())
    if diff.state == "pending" and not diff.applying and here then
      if entry.waits then
        -- Neovim refused to quit and showed its buffer in some window, and the key came before that was corrected.
        queue.fix_misplaced_buffers()
      end
      local sight = state.sight(entry)
      if not decides or window.proposal_accepts_key(sight) then
        run()
      else
        window.say_too_soon(sight)
      end
    elseif not here and not decides then
      typing.pass_on()
    end
  end
end

---@param entry claude-ide.proposal.Entry
---@param buf integer
---@param verbs table<claude-ide.proposal.Verb, fun()>
function M.map(entry, buf, verbs)
  for _, option in ipairs(options(#entry.diff.files > 1)) do
    local verb = option.name --[[@as claude-ide.proposal.Verb]]
    key_list.map(buf, option, pressed(entry, verb, verbs[verb]))
  end
  comments_keys.map(buf)
end

---@param are_several boolean several files
function M.help(are_several)
  local others = {} ---@type claude-ide.ui.key_list.Entry[]
  if config.get().diff.accept_on_write then
    others[1] = { ":w", "accept as well" }
  end
  vim.list_extend(others, { { ":q", "reject as well" }, { "]c [c", "next change, previous change" } })
  others[#others + 1] = are_several
      and { "<CR>", "in the list: go to the file; keys for a change act on the whole file there" }
    or { "do dp", "restore the current text of a change: `do` on the proposal's side, `dp` on the other" }
  key_list.open(options(are_several), others, {
    of = are_several and "a changeset" or "a diff",
    group = "ClaudeDiffKey",
    help = key_list.option("diff", "help").keys,
  })
end

return M
