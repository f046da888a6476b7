-- Whether an agent may use a tool. An edit of one file is shown as our diff, one of several as a changeset; what the user makes
-- of it is written by the editor, since this protocol has no way to say it, and the agent is told. All else is asked in words.
local M = {}

---@param options table[]
---@param kinds string[] the first that is offered
---@return table?
local function option_of(options, kinds)
  for _, kind in ipairs(kinds) do
    for _, option in ipairs(options) do
      if option.kind == kind then
        return option
      end
    end
  end
end

---@param options table[]
---@param option? table one without an id is none of the agent's
---@return table result
local function selected(options, option)
  local is_allowing = require("claude-ide.chat.acp.permission_panel").is_allowing
  local id = option and option.optionId
  -- One that refuses and is named as one that allows could be taken for that.
  local is_doubtful = option
    and not is_allowing(option)
    and vim.iter(options):any(function(other)
      return is_allowing(other) and other.optionId == id
    end)
  return {
    outcome = id and not is_doubtful and { outcome = "selected", optionId = id } or { outcome = "cancelled" },
  }
end

---@param call table
---@return table[]
local function diffs_of(call)
  return vim.tbl_filter(function(content)
    return type(content) == "table" and content.type == "diff" and type(content.path) == "string"
  end, type(call.content) == "table" and call.content or {})
end

---@param request claude-ide.chat.acp.Request
---@param respond claude-ide.chat.acp.Answer
---@return fun(answer?: claude-ide.decisions.Answer, err?: string)
local function answers_of(request, respond)
  local chat, params = request.chat, request.params
  local call, options = params.toolCall or {}, params.options or {}
  local path = (diffs_of(call)[1] or {}).path
  local function refuse(option, status)
    chat.refused[call.toolCallId or ""] = status or "rejected"
    for _, diff in ipairs(diffs_of(call)) do
      require("claude-ide.chat.acp.written").refused(chat, diff.path)
    end
    option = option or option_of(options, { "reject_once", "reject_always" })
    respond(selected(options, option))
  end
  local function allow(option)
    chat.acp.unasked = chat.acp.unasked or option and option.kind == "allow_always" or nil
    option = option or option_of(options, { "allow_once", "allow_always" })
    chat.granted[call.toolCallId or ""] = option and true or nil
    if not option then
      require("claude-ide.ui.notice").error(("%s offers no way to allow it: nothing was."):format(chat.name))
    end
    respond(selected(options, option))
  end
  ---@param answer claude-ide.changeset.Answer
  local function took(answer)
    local became = require("claude-ide.chat.acp.changeset").became(answer)
    for _, one in ipairs(became) do
      if answer.written and one.accepted then
        require("claude-ide.chat.acp.written").reviewed(chat, one.path)
      elseif one.bytes then
        require("claude-ide.chat.acp.accepted").note(chat, one.path, one.bytes, one.accepted)
      end
    end
    if not answer.written then
      return allow()
    end
    refuse(nil, "changed")
    require("claude-ide.chat.acp.changed").tell(chat, became, answer.report.words)
  end
  return function(answer, err)
    local words = chat.asker_words
    chat.asker_words = nil
    local option = answer and answer.option ---@diagnostic disable-line: undefined-field -- of our own panel
    if not answer or err or answer.outcome == "closed" then
      chat.refused[call.toolCallId or ""] = "rejected" -- nobody allowed it
      return respond(selected(options))
    elseif answer.outcome ~= "accepted" then
      refuse(option)
      words = answer.words or words
      if words and vim.trim(words) ~= "" then
        -- No answer of this protocol takes words along: they are the next prompt.
        local content = { { type = "text", text = require("claude-ide.position").valid(words) } }
        if not chat:say(words, content) then
          require("claude-ide.ui.kept_words").give_back(words, ("%s is gone"):format(chat.name))
        end
      end
      return
    end
    if answer.jobs then ---@diagnostic disable-line: undefined-field -- of a changeset
      return took(answer --[[@as claude-ide.changeset.Answer]])
    end
    local proposed, accepted = request.proposed, answer.contents
    local files = require("claude-ide.chat.acp.files")
    local bytes = path and accepted and files.in_its_encoding(path, accepted, request.held)
    if not proposed or not bytes or accepted == proposed then
      if bytes then
        require("claude-ide.chat.acp.accepted").note(chat, path, bytes, accepted)
      end
      return allow(option)
    end
    local ok, why = files.put(chat, path, bytes)
    if not ok then
      require("claude-ide.ui.notice").error(("%s was not written: %s."):format(path, why or "unknown"))
      return respond(selected(options))
    end
    refuse(nil, "changed")
    local became = { path = path, proposed = proposed, accepted = accepted }
    require("claude-ide.chat.acp.changed").tell(chat, { became }, nil, answer.on_top)
  end
end

---@param chat claude-ide.chat.Chat
---@param params table
---@param respond claude-ide.chat.acp.Answer
---@param id string
function M.ask(chat, params, respond, id)
  local call = params.toolCall or {}
  local diffs = diffs_of(call)
  local input = type(call.rawInput) == "table" and call.rawInput or {}
  local diff = diffs[1] or {}
  local is_new = type(diff.oldText) ~= "string"
  local with_lf, in_panel =
    require("claude-ide.buffer.bytes").with_lf, require("claude-ide.chat.acp.permission_panel").ask
  local request = {
    chat = chat,
    id = id,
    params = params,
    otherwise = in_panel,
    ask = {
      tool_name = is_new and "Write" or "Edit",
      tool_use_id = call.toolCallId,
      input = {
        file_path = diff.path,
        content = is_new and diff.newText or nil,
        -- The file is compared with LF line ends.
        old_string = not is_new and with_lf(diff.oldText) or nil,
        new_string = not is_new and with_lf(tostring(diff.newText)) or nil,
        replace_all = input.replace_all == true,
      },
    },
  } --[[@as claude-ide.chat.acp.Request]]
  request.reply =
    require("claude-ide.chat.acp.answered").anyway(respond, "a permission", answers_of(request, respond))
  if require("claude-ide.chat.acp.changeset").ask(request, call, diffs, in_panel) then
    return
  elseif #diffs == 1 then
    return require("claude-ide.chat.edit").ask(request)
  end
  in_panel(request)
end

return M
