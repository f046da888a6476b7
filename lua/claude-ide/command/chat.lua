-- `:Claude chat`: which chat is meant, and what is said to it.
local M = {}

local FLAGS = { "--resume", "--continue", "--fork", "--new" }

---Goes on with a session that was found.
---@param item claude-ide.sessions.Item
---@param fork boolean
---@param text? string
local function go_on(item, fork, text)
  local summary = item.summary
  local live = require("claude-ide.sessions.catalogue").running(summary.id)
  local function open(in_a_copy)
    local ok, err = require("claude-ide.chat").open({
      resume = summary.id,
      fork = in_a_copy,
      file = summary.file,
      cwd = summary.cwd,
      title = require("claude-ide.sessions.phrases").title(summary),
      text = text,
    })
    if not ok then
      require("claude-ide.ui.notice").error(err or "The chat did not begin.")
    end
  end
  if not live or fork then
    return open(fork)
  end
  -- Two processes that write to one session leave it with two ends.
  local copy, anyway = "Go on in a copy", "Go on with it here too"
  require("claude-ide.ui.choose").select({ copy, anyway }, {
    prompt = ("It runs elsewhere (pid %d)"):format(live.pid),
  }, function(choice)
    if choice then
      open(choice == copy)
    end
  end)
end

---@param item? claude-ide.sessions.Item
---@param err? string
---@param fork boolean
---@param text? string
local function found(item, err, fork, text)
  if item then
    go_on(item, fork, text)
  else
    require("claude-ide.ui.notice").error(err or "This project has no sessions yet.")
  end
end

---@param flag string
---@param rest string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
local function by_flag(flag, rest, at)
  local catalogue = require("claude-ide.sessions.catalogue")
  local after = vim.trim(at.rest:sub(#flag + 1))
  if flag == "--new" then
    return require("claude-ide.chat").open({ text = after })
  elseif flag == "--continue" then
    catalogue.load({}, function(items, err)
      found(items and items[1], err, false, after)
    end)
    return true
  end
  local id = rest[1]
  if not id then
    return nil, ("`:Claude chat %s` needs the id of a session."):format(flag)
  end
  local text = vim.trim(after:sub(#id + 1))
  catalogue.find(id, function(item, err)
    found(item, err, flag == "--fork", text)
  end)
  return true
end

---@param words string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.run(words, at)
  local chats = require("claude-ide.chat")
  if words[1] and vim.startswith(words[1], "--") then
    if not vim.list_contains(FLAGS, words[1]) then
      return nil, ("`:Claude chat %s`: expected %s."):format(words[1], table.concat(FLAGS, ", "))
    end
    return by_flag(words[1], vim.list_slice(words, 2), at)
  elseif words[1] == "close" and not words[2] then
    local chat = chats.current()
    if not chat then
      return nil, "There is no chat."
    end
    chats.close(chat)
    return true
  elseif at.rest ~= "" then
    return chats.open({ text = at.rest })
  elseif chats.show() then
    return true
  end
  return chats.open()
end

---@param word string
---@param before string[]
---@return string[]
function M.complete(word, before)
  if #before == 0 then
    return vim.list_extend({ "close" }, vim.startswith(word, "-") and FLAGS or {})
  elseif before[1] == "--resume" or before[1] == "--fork" then
    return #before == 1 and require("claude-ide.command.sessions").complete_id() or {}
  end
  return {}
end

return M
