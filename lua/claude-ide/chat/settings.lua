-- A chat's settings: mode, model, effort, and the agent's own options. The agent's reports count, not the requested values.
-- Invariant: what lets an agent do everything without asking is chosen by name and confirmed; no key leads to it.
local lazy = require("claude-ide.lazy")
local choose = lazy("claude-ide.ui.choose")
local notice = lazy("claude-ide.base.notice")

local M = {}

---@class claude-ide.chat.Setting
---@field id string
---@field kind "mode"|"model"|"effort"|"other"
---@field name string
---@field value? string|boolean nil: unknown
---@field choices claude-ide.chat.SettingChoice[]
---@field is_listed boolean listed with the models; the others have their own keys
---@field never_asks? boolean its value lets the agent do everything without asking

---@class claude-ide.chat.SettingChoice
---@field value string|boolean
---@field name string
---@field description? string
---@field never_asks? boolean

---@param chat claude-ide.chat.Chat
---@param field "id"|"kind"
---@param value string
---@return claude-ide.chat.Setting?
local function find(chat, field, value)
  return vim.iter(chat.settings):find(function(setting)
    return setting[field] == value
  end)
end

---@param chat claude-ide.chat.Chat
---@param kind string
---@return claude-ide.chat.Setting?
function M.of_kind(chat, kind)
  return find(chat, "kind", kind)
end

---@param chat claude-ide.chat.Chat
---@param kind string
---@param what string a name for the notice if there is none
---@return claude-ide.chat.Setting?
local function settable(chat, kind, what)
  local setting = M.of_kind(chat, kind)
  if setting and #setting.choices > 0 then
    return setting
  end
  notice.info(("%s has not reported any %s."):format(chat.name, what))
end

local function name_of_value(setting)
  local choice = vim.iter(setting.choices):find(function(one)
    return one.value == setting.value
  end)
  return choice and choice.name or setting.value ~= nil and tostring(setting.value) or nil
end

---@param chat claude-ide.chat.Chat
---@param setting claude-ide.chat.Setting
---@param value string|boolean
local function set(chat, setting, value)
  chat:ask("set", { setting = setting.id, value = value }, function(_, err)
    if err then
      return notice.error(("%s was not changed: %s."):format(setting.name, err))
    end
    local now = find(chat, "id", setting.id) or setting
    local words = now.kind == "mode" and now.value or name_of_value(now) or "as the model has it"
    notice.info(("%s: %s."):format(now.name, words))
    chat.on_change()
  end)
end

---The next mode that asks. One that the agent refused, or did not report, is behind: the others can still be reached.
---@param chat claude-ide.chat.Chat
function M.next_mode(chat)
  local setting = settable(chat, "mode", "modes")
  if not setting then
    return
  end
  local tried = chat.tried_mode
  local from = tried and tried.at == setting.value and tried.value or setting.value
  local at, count = 0, #setting.choices
  for index, choice in ipairs(setting.choices) do
    at = choice.value == from and index or at
  end
  for step = 1, count do
    local choice = setting.choices[(at + step - 1) % count + 1]
    if not choice.never_asks and choice.value ~= setting.value then
      chat.tried_mode = { at = setting.value, value = choice.value }
      return set(chat, setting, choice.value)
    end
  end
  notice.info(("%s has no other mode in which it asks."):format(chat.name))
end

---Asks whether the agent shall go on without asking. The first answer, and none, is no.
---@param chat claude-ide.chat.Chat
---@param setting claude-ide.chat.Setting
---@param choice claude-ide.chat.SettingChoice
local function confirm(chat, setting, choice)
  choose.select({ "No", "Yes" }, {
    prompt = ("%s: %s. %s then runs commands and changes files without asking you. Continue?"):format(
      setting.name,
      choice.name,
      chat.name
    ),
  }, function(answer)
    if answer == "Yes" then
      set(chat, setting, choice.value)
    end
  end)
end

---@param chat claude-ide.chat.Chat
---@param setting claude-ide.chat.Setting
local function choose_value(chat, setting)
  choose.select(setting.choices, {
    prompt = setting.name,
    format_item = function(choice)
      local mark = choice.value == setting.value and "* " or "  "
      return mark .. choice.name .. (choice.description and " · " .. choice.description or "")
    end,
  }, function(choice)
    if choice and choice.never_asks and choice.value ~= setting.value then
      confirm(chat, setting, choice)
    elseif choice then
      set(chat, setting, choice.value)
    end
  end)
end

---Lets the user choose a model, or another option that the agent lists with it.
---@param chat claude-ide.chat.Chat
function M.choose_model(chat)
  local listed = vim.tbl_filter(function(setting)
    return setting.is_listed and #setting.choices > 0
  end, chat.settings)
  if #listed == 0 then
    return notice.info(("%s has not reported any models."):format(chat.name))
  elseif #listed == 1 then
    return choose_value(chat, listed[1])
  end
  choose.select(listed, {
    prompt = "Set",
    format_item = function(setting)
      return ("%s: %s"):format(setting.name, setting.value == nil and "unknown" or tostring(setting.value))
    end,
  }, function(setting)
    if setting then
      choose_value(chat, setting)
    end
  end)
end

---@param chat claude-ide.chat.Chat
function M.choose_effort(chat)
  local setting = settable(chat, "effort", "levels of effort")
  if setting then
    choose_value(chat, setting)
  end
end

return M
