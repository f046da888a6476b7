-- `:Claude sessions` and `:Claude grep`: what was typed, to what is done.

local M = {}

---How long completion may wait for the list of sessions.
local COMPLETION_MS = 300

---@param words string[]
---@return boolean? ok
---@return string? err
function M.run(words)
  local verb, id = words[1], words[2]
  if not verb then
    require("claude-ide.sessions.picker").open()
    return true
  elseif verb == "all" and not id then
    require("claude-ide.sessions.picker").open({ all = true })
    return true
  end
  local actions = require("claude-ide.sessions.actions")
  if not vim.tbl_contains(actions.NAMES, verb) then
    return nil, ("`:Claude sessions %s`: expected all, %s."):format(verb, table.concat(actions.NAMES, ", "))
  elseif not id or words[3] then
    return nil, ("`:Claude sessions %s` needs the id of a session."):format(verb)
  end
  actions.run_by_id(verb --[[@as claude-ide.sessions.ActionName]], id)
  return true
end

---@param _ string
---@param before string[]
---@return string[]
function M.complete(_, before)
  local names = require("claude-ide.sessions.actions").NAMES
  if #before == 0 then
    return vim.list_extend({ "all" }, names)
  elseif #before > 1 or not vim.tbl_contains(names, before[1]) then
    return {}
  end
  local ids ---@type string[]?
  local cancel = require("claude-ide.sessions.catalogue").load({}, function(items)
    ids = vim.tbl_map(function(item)
      return item.summary.id
    end, items or {})
  end)
  vim.wait(COMPLETION_MS, function()
    return ids ~= nil
  end, 5)
  if not ids then
    cancel()
  end
  return ids or {}
end

---What may stand before the pattern of `:Claude grep`, as other greps spell it.
---@type table<string, fun(options: claude-ide.sessions.GrepOptions)>
local FLAGS = {
  ["-a"] = function(options)
    options.all = true
  end,
  ["-F"] = function(options)
    options.literal = true
  end,
  ["-i"] = function(options)
    options.case_sensitive = false
  end,
  ["-s"] = function(options)
    options.case_sensitive = true
  end,
}

---@param text string as it was typed: in a pattern every character counts
---@return boolean? ok
---@return string? err
function M.grep(text)
  local options = {} ---@type claude-ide.sessions.GrepOptions
  local rest = vim.trim(text)
  local word, after = rest:match("^(%-%S*)%s*(.*)$")
  while word and after and FLAGS[word] do
    FLAGS[word](options)
    rest = after
    word, after = rest:match("^(%-%S*)%s*(.*)$")
  end
  if word == "--" and after then
    rest = after
  end
  if rest == "" then
    return nil, "`:Claude grep` needs a pattern."
  end
  require("claude-ide.sessions.grep").start(rest, options)
  return true
end

---@param word string
---@return string[]
function M.complete_grep(word)
  local flags = vim.tbl_keys(FLAGS)
  table.sort(flags)
  return vim.startswith(word, "-") and flags or {}
end

return M
