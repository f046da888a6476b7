-- A chat's settings: mode, model, effort, and the agent's own options. The agent's reports count, not the requested values.
local M = {}

---@class claude-ide.chat.Setting
---@field id string
---@field kind "mode"|"model"|"effort"|"other"
---@field name string
---@field value? string|boolean nil: unknown
---@field choices { value: string|boolean, name: string, description?: string }[]
---@field is_listed boolean listed with the models; the others have their own keys

---@param chat claude-ide.chat.Chat
---@param kind string
---@return claude-ide.chat.Setting?
function M.of_kind(chat, kind)
  return vim.iter(chat.settings):find(function(setting)
    return setting.kind == kind
  end)
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
  require("claude-ide.ui.notice").info(("%s has told of no %s."):format(chat.name, what))
end

---@param chat claude-ide.chat.Chat
---@param id string
---@return claude-ide.chat.Setting?
local function of_id(chat, id)
  return vim.iter(chat.settings):find(function(setting)
    return setting.id == id
  end)
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
      return require("claude-ide.ui.notice").error(("%s was not changed: %s."):format(setting.name, err))
    end
    local now = of_id(chat, setting.id) or setting
    local words = now.kind == "mode" and now.value or name_of_value(now) or "as the model has it"
    require("claude-ide.ui.notice").info(("%s: %s."):format(now.name, words))
    chat.on_change()
  end)
end

---@param chat claude-ide.chat.Chat
function M.next_mode(chat)
  local setting = settable(chat, "mode", "modes")
  if setting then
    local at = 0
    for index, choice in ipairs(setting.choices) do
      at = choice.value == setting.value and index or at
    end
    set(chat, setting, setting.choices[at % #setting.choices + 1].value)
  end
end

---@param chat claude-ide.chat.Chat
---@param setting claude-ide.chat.Setting
local function choose_value(chat, setting)
  require("claude-ide.ui.choose").select(setting.choices, {
    prompt = setting.name,
    format_item = function(choice)
      local mark = choice.value == setting.value and "* " or "  "
      return mark .. choice.name .. (choice.description and " · " .. choice.description or "")
    end,
  }, function(choice)
    if choice then
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
    return require("claude-ide.ui.notice").info(("%s has told of no models."):format(chat.name))
  elseif #listed == 1 then
    return choose_value(chat, listed[1])
  end
  require("claude-ide.ui.choose").select(listed, {
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
