-- `:Claude diffs`, `accept` and `reject`: chooses among waiting proposals, steps through them, lists or decides them.

local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local names = lazy("claude-ide.sessions.names")
local modifiers = lazy("claude-ide.ui.modifiers")
local notice = lazy("claude-ide.base.notice")
local proposal = lazy("claude-ide.edits.proposal")
local ui_choose = lazy("claude-ide.ui.choose")

local M = {}

---Added and removed lines.
---@param diff claude-ide.proposal.Item|claude-ide.proposal.ItemFile
local function counts(diff)
  return diff.added and ("+%d −%d"):format(diff.added, diff.removed) or "is being made"
end

---@param diffs claude-ide.proposal.Item[]
---@return table<integer, string> by client
local function names_of(diffs)
  local clients = {}
  for _, diff in ipairs(diffs) do
    clients[#clients + 1] = diff.client
  end
  return names.of_clients(clients)
end

---Unique labels in columns.
---@param diffs claude-ide.proposal.Item[]
---@return table<claude-ide.proposal.Item, string>
local function labels_of(diffs)
  local sessions, files, width = names_of(diffs), {}, 0
  for i, diff in ipairs(diffs) do
    local name = vim.fn.fnamemodify(diff.path, ":~:.")
    if diff.files then
      name = ("%s (%s)"):format(diff.tab_name, counted(#diff.files, "file"))
    end
    files[i] = vim.fn.strtrans(name)
    width = math.max(width, vim.fn.strdisplaywidth(files[i]))
  end
  local labels, seen = {}, {}
  for i, diff in ipairs(diffs) do
    local gap = (" "):rep(width - vim.fn.strdisplaywidth(files[i]) + 2)
    local label = ("%s%s%s · %s"):format(files[i], gap, counts(diff), sessions[diff.client] or diff.source)
    seen[label] = (seen[label] or 0) + 1
    labels[diff] = seen[label] > 1 and ("%s (%d)"):format(label, seen[label]) or label
  end
  return labels
end

---Goes to a listed diff, which may have been decided since.
local function go_to(id, path)
  local ok, err = proposal.focus(id, path)
  if not ok then
    notice.warn(err or "The diff has closed.")
  end
end

---@return boolean? ok
---@return string? err
local function choose()
  local diffs = proposal.list()
  if #diffs == 0 then
    notice.info("No open diffs.")
    return true
  end
  local labels = labels_of(diffs)
  local function format_item(diff)
    return labels[diff]
  end
  ui_choose.select(
    diffs,
    { prompt = "Proposals that wait for you", format_item = format_item },
    function(diff)
      if diff then
        go_to(diff.id)
      end
    end
  )
  return true
end

---Maps Enter in the quickfix window to go to the line's diff instead of the file. The mapping removes itself when another list is
---shown.
local function map_enter()
  local buf = vim.api.nvim_get_current_buf()
  vim.keymap.set("n", "<CR>", function()
    local context = vim.fn.getqflist({ context = 0 }).context
    local places = type(context) == "table" and context.claude_diffs
    if not places then
      pcall(vim.keymap.del, "n", "<CR>", { buffer = buf })
      vim.api.nvim_feedkeys(vim.keycode("<CR>"), "mit", false)
    elseif places[vim.fn.line(".")] then
      go_to(unpack(places[vim.fn.line(".")]))
    end
  end, { buffer = buf, desc = "Claude Code: go to this diff" })
end

---Lists proposals in the quickfix window, each file at its first change.
---@return boolean? ok
---@return string? err
local function quickfix()
  local diffs, items, places, is_in_diff = proposal.list(), {}, {}, false
  local sessions = names_of(diffs)
  for _, diff in ipairs(diffs) do
    is_in_diff = is_in_diff or diff.current
    for _, file in ipairs(diff.files or { diff }) do
      places[#places + 1] = { diff.id, file.path }
      items[#items + 1] = {
        filename = file.path,
        lnum = file.first or 1,
        text = ("%s · %s"):format(counts(file), sessions[diff.client] or diff.source),
      }
    end
  end
  if #items == 0 then
    return nil, "No open diffs."
  end
  vim.fn.setqflist({}, " ", {
    title = "Proposals that wait for you",
    items = items,
    context = { claude_diffs = places },
  })
  vim.cmd.copen({ mods = modifiers.of_command({ split = "botright" }) })
  vim.w.claude_diffs = is_in_diff or nil
  map_enter()
  return true
end

---@param outcome "accepted"|"rejected"
---@return boolean? ok
---@return string? err
local function decide_all(outcome)
  if proposal.count() == 0 then
    return nil, "No open diffs."
  end
  local count, unseen = proposal.decide_all(outcome)
  local said = {} ---@type string[]
  if unseen > 0 then
    said[1] = ("Look at %s first, then accept or reject."):format(counted(unseen, "other proposal"))
  end
  if count > 0 or unseen == 0 then
    said[#said + 1] = ("%s %s."):format(counted(count, "proposal"), outcome)
  end
  notice.info(table.concat(said, " "))
  return true
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.accept(words)
  if words[1] == "all" and not words[2] then
    return decide_all("accepted")
  elseif words[1] then
    return nil,
      ("`:Claude accept %s`: unexpected argument (use `all` or none)."):format(table.concat(words, " "))
  end
  return proposal.accept()
end

---@param _ string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.reject(_, at)
  if at.rest == "all" then
    return decide_all("rejected")
  end
  return proposal.reject(nil, at.rest)
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.run(words)
  if not words[1] then
    return choose()
  elseif words[1] == "quickfix" then
    return quickfix()
  end
  return proposal.step(words[1] == "next" and 1 or -1)
end

return M
