-- What auto mode has refused and asks the user about instead: our mod (mod/hooks/register.js) tells each refusal, and waits until it is
-- known whether the user can answer. The dialog that opens then comes here as any other, without the reason: that is kept here for its
-- card or diff. A refusal that stays one gets a notice.
-- Invariant: what is told decides nothing but whether there is a question. What the hook tells could be of a command of the model.
local lazy = require("claude-ide.lazy")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local invisible_text = lazy("claude-ide.base.invisible_text")
local json_table = lazy("claude-ide.base.json_table")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local notify = lazy("claude-ide.requests.notify")
local paths = lazy("claude-ide.base.path")

local M = {}

---How long after a refusal its request may come.
local REQUEST_MS = 10000
---Limits of what is kept: a text, and how many.
local MOST_BYTES, MOST = 4096, 64

---@class claude-ide.requests.Refusal
---@field id string of the call
---@field tool string
---@field path string of the file that the call writes; "": none
---@field input string beginning of the call's arguments, as JSON
---@field reason string
---@field at integer

---Those that the user is asked about.
---@type claude-ide.requests.Refusal[]
local refusals = {}

---Ids of calls that the mod has reported: the hook of the same refusal has nothing to add. The latest is last.
---@type string[]
local reported = {}

---@param text string the input of the hook PermissionDenied, as JSON
---@return { tool_use_id: string, tool_name: string, reason: string }? nil: malformed
local function read(text)
  local fields = json_table(text)
  if not fields then
    return nil
  end
  for _, name in ipairs({ "tool_use_id", "tool_name", "reason" }) do
    if type(fields[name]) ~= "string" or #fields[name] > MOST_BYTES then
      return nil
    end
  end
  return fields
end

---@param text string
---@return string text on one line, without what is not seen
local function shown(text)
  local plain = native.plain_text(text) or ""
  return invisible_text.characters(vim.trim((plain:gsub("%s+", " "))))
end

---@param reason string
---@return string
local function why(reason)
  return "Auto mode refused: " .. shown(reason)
end

---@param tool string
---@param reason string
local function say(tool, reason)
  notice.info({ ("Auto mode refused %s: %s"):format(shown(tool), shown(reason)) })
end

---Takes what our mod tells of a refusal: the user is asked if they are here, else told.
---@param refusal claude-ide.requests.Refusal
---@param respond claude-ide.Respond whether they shall be asked
function M.refused(refusal, respond)
  reported[#reported + 1] = refusal.id
  if #reported > MOST then
    table.remove(reported, 1)
  end
  notify.when_known_if_here(function(is_here)
    refusal.at = vim.uv.now()
    if is_here then
      refusals[#refusals + 1] = refusal
      if #refusals > MOST then
        table.remove(refusals, 1)
      end
    else
      say(refusal.tool, refusal.reason)
    end
    respond(is_here)
  end)
end

---@param text string the hook's input
local function on_denied(_, _, text)
  local denied = read(text)
  if denied and not vim.list_contains(reported, denied.tool_use_id) then
    say(denied.tool_name, denied.reason)
  end
end

---Takes the refusal of a call, if it was one.
---@param fits fun(refusal: claude-ide.requests.Refusal): boolean
---@return string? reason
local function take(fits)
  local now = vim.uv.now()
  refusals = vim.tbl_filter(function(refusal)
    return now - refusal.at < REQUEST_MS
  end, refusals)
  for at, refusal in ipairs(refusals) do
    if fits(refusal) then
      return table.remove(refusals, at).reason
    end
  end
end

---Says in a request that auto mode has refused its call, and why.
---@param ask claude-ide.chat.Ask
---@param tool string
---@param input string arguments, as JSON
---@return boolean is_refusal
function M.explain(ask, tool, input)
  local reason = ask.kind == "permission"
    and take(function(refusal)
      return refusal.tool == tool and vim.startswith(input, refusal.input)
    end)
  if reason then
    ask.title = ask.is_destructive and ("%s. %s"):format(ask.title, why(reason)) or why(reason)
    ask.parts[#ask.parts + 1] = { part = "text", style = "reason", text = reason }
  end
  return reason ~= nil and reason ~= false
end

---Why an edit is asked about.
---@param path string of its file
---@return string? note nil: not refused
function M.of_edit(path)
  local reason = take(function(refusal)
    return refusal.path ~= "" and paths.normalize(refusal.path) == paths.normalize(path)
  end)
  return reason and why(reason)
end

---Handles refusals.
M.attach = require("claude-ide.base.once")(function()
  hook_folder.on("denied", on_denied)
end)

return M
