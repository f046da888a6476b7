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
  local at = 1
  for index, mode in ipairs(MODES) do
    at = mode == chat.mode and index or at
  end
  M.set_mode(chat, MODES[at % #MODES + 1] --[[@as string]])
end

---@param chat claude-ide.chat.Chat
function M.choose_model(chat)
  if #chat.models == 0 then
    return require("claude-ide.ui.notice").info("Claude has not told yet which models there are.")
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

return M
