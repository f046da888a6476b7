-- Whether a tool may be used: a kind of decision. Allowed once, or always by a rule that the agent suggests, or not, with a word.
local M = {}

local KIND = "permission"

---@class claude-ide.chat.Permission : claude-ide.Decision
---@field ask table the agent's own words
---@field panel claude-ide.chat.Panel

---@param permission claude-ide.chat.Permission
---@param answer claude-ide.chat.Answer
local function settle(permission, answer)
  if require("claude-ide.decisions").settle(permission, answer) then
    require("claude-ide.chat.panel").close(permission)
  end
end

---@param permission claude-ide.chat.Permission
local function allow_always(permission)
  local suggestions = permission.ask.permission_suggestions
  require("claude-ide.ui.choose").select(suggestions, {
    prompt = "Allow from now on",
    format_item = require("claude-ide.chat.permission_words").describe,
  }, function(choice, index)
    if choice and index then
      settle(permission, { outcome = "accepted", always = { index - 1 } })
    end
  end)
end

---@param permission claude-ide.chat.Permission
local function deny_with_words(permission)
  vim.ui.input({ prompt = "Why not? " }, function(text)
    if text and vim.trim(text) ~= "" then
      if permission.state == "pending" then
        settle(permission, { outcome = "rejected", message = vim.trim(text) })
      else
        require("claude-ide.ui.kept_words").give_back(text, "The question is gone")
      end
    end
  end)
end

---@param permission claude-ide.chat.Permission
---@param is_whole boolean
---@return claude-ide.chat.panel.Text
local function text_of(permission, is_whole)
  local ask = permission.ask
  local suggestions = ask.permission_suggestions
  local allow = {
    keys = { "y" },
    desc = "allow once",
    allows = true,
    run = function()
      settle(permission, { outcome = "accepted" })
    end,
  }
  local deny = {
    keys = { "n" },
    desc = "deny, and stop",
    run = function()
      settle(permission, { outcome = "rejected" })
    end,
  }
  -- Where the agent says that a no is the safe answer, that stands first, and Enter is it.
  local first = ask.default_to_no and deny or allow
  if ask.default_to_no then
    deny.keys = { "n", "<CR>" }
  end
  local is_asked_each_time = ask.suppress_always_allow_rule or ask.requires_user_interaction
  local actions = { first, first == allow and deny or allow }
  if type(suggestions) == "table" and #suggestions > 0 and not is_asked_each_time then
    table.insert(actions, 2, {
      keys = { "a" },
      desc = "allow always …",
      allows = true,
      run = function()
        allow_always(permission)
      end,
    })
  end
  vim.list_extend(actions, {
    {
      keys = { "r" },
      desc = "deny and say why",
      run = function()
        deny_with_words(permission)
      end,
    },
    require("claude-ide.chat.panel").later(),
  })
  local asked = require("claude-ide.chat.permission_words").asked(ask, is_whole and "whole" or nil)
  return {
    title = require("claude-ide.chat.permission_words").title(permission),
    lines = asked.lines,
    is_cut = asked.is_cut,
    actions = actions,
  }
end

---Asks the user.
---@param request claude-ide.chat.Request
function M.ask(request)
  require("claude-ide.decisions").register(
    KIND,
    require("claude-ide.chat.panel").presenter("permission", "permissions", text_of, function()
      return require("claude-ide.chat.remote").permission
    end)
  )
  require("claude-ide.decisions").ask(KIND, request.chat.asker, request, { ask = request.ask })
end

return M
