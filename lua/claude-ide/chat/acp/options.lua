-- Modes, models and other options of an agent, as it tells them. What it answers counts, not what was asked for.
-- Invariant: what has not the form that it should have is passed over where it is told, so that nothing trips over it later.
local M = {}

---The entries of a list of an agent's that can be named.
---@param list any
---@param key string what names one
---@return table[]
local function named(list, key)
  local entries = {}
  for _, one in ipairs(type(list) == "table" and list or {}) do
    if type(one) == "table" and type(one[key]) == "string" then
      one.name = type(one.name) == "string" and one.name ~= "" and one.name or one[key]
      entries[#entries + 1] = one
    end
  end
  return entries
end

---Options as an agent tells them.
---@param list any
---@return table[]
function M.told(list)
  return named(list, "id")
end

---Modes, or models, as an agent tells them.
---@param told any
---@param list "availableModes"|"availableModels"
---@param key string what names one
---@return table?
function M.told_choice(told, list, key)
  if type(told) ~= "table" then
    return nil
  end
  local entries = named(told[list], key)
  return #entries > 0 and vim.tbl_extend("force", told, { [list] = entries }) or nil
end

---What can be chosen, without what is: that is of one session, and of one process of the agent. Nobody else's tables.
---@param acp { modes?: table, models?: table, config_options?: table[] }
---@return claude-ide.chat.acp.Choices
function M.choices(acp)
  local choices = vim.deepcopy({
    modes = acp.modes,
    models = acp.models,
    config_options = acp.config_options or {},
  }) --[[@as claude-ide.chat.acp.Choices]]
  if choices.modes then
    choices.modes.currentModeId = nil
  end
  if choices.models then
    choices.models.currentModelId = nil
  end
  for _, option in ipairs(choices.config_options) do
    option.currentValue = nil
  end
  return choices
end

---The agent is started anew: what it was set to is not known until it tells, or is set again.
---@param chat claude-ide.chat.Chat
function M.forget(chat)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  local choices = M.choices(acp)
  acp.modes, acp.models, acp.config_options = choices.modes, choices.models, choices.config_options
  chat.mode, chat.model = nil, nil
end

---@param chat claude-ide.chat.Chat
---@param category string
---@return table? option
local function option_of(chat, category)
  return vim.iter(chat.acp.config_options):find(function(option)
    return option.category == category
  end)
end

---@param chat claude-ide.chat.Chat
---@param mode? string
function M.set_mode(chat, mode)
  if type(mode) == "string" then
    chat.mode = mode
    if chat.acp.modes then
      chat.acp.modes.currentModeId = mode
    end
    local option = option_of(chat, "mode")
    if option then
      option.currentValue = mode
    end
  end
end

---Takes over what is told of modes and models.
---@param chat claude-ide.chat.Chat
function M.read(chat)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  local mode, model = option_of(chat, "mode"), option_of(chat, "model")
  -- Of a session that is loaded the mode may have been told before the modes were known.
  M.set_mode(chat, mode and mode.currentValue or acp.modes and acp.modes.currentModeId or chat.mode)
  local current = model and model.currentValue or acp.models and acp.models.currentModelId
  chat.model = type(current) == "string" and current or chat.model
end

---@param what string
---@param err? string
local function refused(what, err)
  require("claude-ide.ui.notice").error(("%s was not changed: %s."):format(what, err or "no answer"))
end

---The values of an option, in one list.
---@param option table
---@return { value: any, name: string, description?: string }[]
local function values_of(option)
  if option.type == "boolean" then
    return { { value = true, name = "on" }, { value = false, name = "off" } }
  end
  local values = {}
  for _, one in ipairs(type(option.options) == "table" and option.options or {}) do
    local is_group = type(one) == "table" and type(one.options) == "table"
    vim.list_extend(values, named(is_group and one.options or { one }, "value"))
  end
  return values
end

---@param chat claude-ide.chat.Chat
---@param option table
---@param value any
local function set_option(chat, option, value)
  local fields = { configId = option.id, value = value }
  if option.type == "boolean" then
    fields.type = "boolean"
  end
  chat:ask("set_config_option", fields, function(result, err)
    if err then
      return refused(option.name, err)
    end
    if type(result) == "table" and type(result.configOptions) == "table" then
      chat.acp.config_options = M.told(result.configOptions)
    else
      option.currentValue = value
    end
    M.read(chat)
    chat:redraw()
  end)
end

---@param chat claude-ide.chat.Chat
---@param mode string
local function ask_for_mode(chat, mode)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  acp.told_mode = nil
  chat:ask("set_mode", { modeId = mode }, function(_, err)
    if err then
      return refused("The mode", err)
    end
    -- It may have told of another one before it answered.
    M.set_mode(chat, acp.told_mode or mode)
    require("claude-ide.ui.notice").info(("Mode: %s."):format(chat.mode))
    chat:redraw()
  end)
end

---@param list table[]
---@param key string
---@param current any
---@return any
local function after(list, key, current)
  local at = 0
  for index, one in ipairs(list) do
    at = one[key] == current and index or at
  end
  return list[at % #list + 1][key]
end

---@param chat claude-ide.chat.Chat
function M.next_mode(chat)
  local modes, option = chat.acp.modes, option_of(chat, "mode")
  -- Where there are both, the modes are there for those who do not know of options.
  if option and #values_of(option) > 0 then
    return set_option(chat, option, after(values_of(option), "value", option.currentValue))
  elseif modes and #(modes.availableModes or {}) > 0 then
    return ask_for_mode(chat, after(modes.availableModes, "id", modes.currentModeId))
  end
  require("claude-ide.ui.notice").info(("%s has told of no modes."):format(chat.name))
end

---@param option table
local function choose_value(option)
  require("claude-ide.ui.choose").select(values_of(option), {
    prompt = option.name,
    format_item = function(value)
      local mark = value.value == option.currentValue and "* " or "  "
      local about = type(value.description) == "string" and " · " .. value.description or ""
      return mark .. tostring(value.name) .. about
    end,
  }, function(value)
    if value then
      option.set(value.value)
    end
  end)
end

---What can be chosen: the options, and what agents had before there were options.
---@param chat claude-ide.chat.Chat
---@return table[]
local function all(chat)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  local options = {}
  for _, option in ipairs(acp.config_options) do
    -- One of a kind that is not known here has no values to choose from.
    if #values_of(option) > 0 then
      options[#options + 1] = vim.tbl_extend("force", option, {
        set = function(value)
          set_option(chat, option, value)
        end,
      })
    end
  end
  if acp.models and not option_of(chat, "model") then
    table.insert(options, 1, {
      name = "Model",
      currentValue = acp.models.currentModelId,
      options = vim.tbl_map(function(model)
        return { value = model.modelId, name = model.name, description = model.description }
      end, acp.models.availableModels or {}),
      set = function(value)
        chat:ask("set_model", { modelId = value }, function(_, err)
          if err then
            return refused("The model", err)
          end
          acp.models.currentModelId, chat.model = value, value
          chat:redraw()
        end)
      end,
    })
  end
  return options
end

---@param chat claude-ide.chat.Chat
function M.choose(chat)
  local options = all(chat)
  if #options == 0 then
    return require("claude-ide.ui.notice").info(("%s has told of no models."):format(chat.name))
  elseif #options == 1 then
    return choose_value(options[1])
  end
  require("claude-ide.ui.choose").select(options, {
    prompt = "Set",
    format_item = function(option)
      local current = option.currentValue
      return ("%s: %s"):format(option.name, current == nil and "unknown" or tostring(current))
    end,
  }, function(option)
    if option then
      choose_value(option)
    end
  end)
end

---@param chat claude-ide.chat.Chat
function M.choose_effort(chat)
  local option = vim.iter(all(chat)):find(function(one)
    return one.category == "thought_level"
  end)
  if not option then
    return require("claude-ide.ui.notice").info(("%s has told of no levels of effort."):format(chat.name))
  end
  choose_value(option)
end

return M
