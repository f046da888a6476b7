-- How a chat is set: the model and the permission mode. What the agent answers counts, not what was asked for.
local M = {}

local MODES = { "default", "acceptEdits", "plan" }

---@param err? string
---@param what string
local function refused(err, what)
  require("claude-ide.ui.notice").error(("%s was not changed: %s"):format(what, err or "no answer"))
end

---@param chat claude-ide.chat.Chat
---@param mode string
function M.set_mode(chat, mode)
  chat:ask("set_permission_mode", { mode = mode }, function(result, err)
    if err or type(result) ~= "table" then
      return refused(err, "The mode")
    end
    chat.mode = result.mode or chat.mode
    require("claude-ide.ui.notice").info(("Permission mode: %s."):format(chat.mode))
    chat:redraw()
  end)
end

---@param chat claude-ide.chat.Chat
function M.next_mode(chat)
  if chat.acp then
    return require("claude-ide.chat.acp.options").next_mode(chat)
  end
  local at = 1
  for index, mode in ipairs(MODES) do
    at = mode == chat.mode and index or at
  end
  M.set_mode(chat, MODES[at % #MODES + 1] --[[@as string]])
end

---@param chat claude-ide.chat.Chat
---@return boolean
local function knows_models(chat)
  if #chat.models == 0 then
    require("claude-ide.ui.notice").info("Claude has not told yet which models there are.")
  end
  return #chat.models > 0
end

---@param chat claude-ide.chat.Chat
function M.choose_model(chat)
  if chat.acp then
    return require("claude-ide.chat.acp.options").choose(chat)
  end
  if not knows_models(chat) then
    return
  end
  require("claude-ide.ui.choose").select(chat.models, {
    prompt = "Model",
    format_item = function(model)
      local name = model.displayName or model.value
      return model.description and ("%s · %s"):format(name, model.description) or name
    end,
  }, function(model)
    if model then
      chat:ask("set_model", { model = model.value }, function(result, err)
        if err then
          return refused(err, "The model")
        end
        chat.model = type(result) == "table" and result.model or model.resolvedModel or model.value
        require("claude-ide.ui.notice").info(("Model: %s."):format(model.displayName or model.value))
        chat:redraw()
      end)
    end
  end)
end

---The effort levels of the model in use, as the agent told them.
---@param chat claude-ide.chat.Chat
---@return string[]
local function efforts(chat)
  local levels = {}
  for _, model in ipairs(chat.models) do
    local is_it = model.value == chat.model or model.resolvedModel == chat.model
    if type(model.supportedEffortLevels) == "table" and (is_it or #levels == 0) then
      levels = model.supportedEffortLevels
      if is_it then
        break
      end
    end
  end
  return levels
end

---@param chat claude-ide.chat.Chat
function M.choose_effort(chat)
  if chat.acp then
    return require("claude-ide.chat.acp.options").choose_effort(chat)
  elseif not knows_models(chat) then
    return
  end
  local levels = efforts(chat)
  if #levels == 0 then
    return require("claude-ide.ui.notice").info("This model has no levels of effort.")
  end
  require("claude-ide.ui.choose").select(levels, { prompt = "Effort" }, function(level)
    if not level then
      return
    end
    chat:ask("apply_flag_settings", { settings = { effortLevel = level } }, function(_, err)
      if err then
        return refused(err, "The effort")
      end
      chat:ask("get_settings", {}, function(result)
        local applied = type(result) == "table" and type(result.applied) == "table" and result.applied or {}
        chat.effort = type(applied.effort) == "string" and applied.effort or nil
        require("claude-ide.ui.notice").info(("Effort: %s."):format(chat.effort or "as the model has it"))
        chat:redraw()
      end)
    end)
  end)
end

return M
