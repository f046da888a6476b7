-- What auto mode has refused and asks the user about instead: our mod (mod/hooks/register.js) reports each refusal, and waits until it is
-- known whether the user can answer. The dialog that opens then comes here as any other, without the reason: that is kept here for its card.
-- Invariant: what is reported decides nothing but whether there is a question. A command of the model could have written it.
local lazy = require("claude-ide.lazy")
local invisible_text = lazy("claude-ide.base.invisible_text")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local native = lazy("claude-ide.library.native")
local notify = lazy("claude-ide.requests.notify")

local M = {}

---How long after a refusal its request may come.
local REQUEST_MS = 10000
---Limits of what is kept: a text, and how many.
local MOST_BYTES, MOST = 1024, 64

---@class claude-ide.requests.Refusal
---@field tool string
---@field input string beginning of the call's arguments, as JSON
---@field reason string
---@field at integer

---@type claude-ide.requests.Refusal[]
local refusals = {}

---@param line string
---@return claude-ide.requests.Refusal? nil: malformed
local function read(line)
  local ok, refusal = pcall(vim.json.decode, line)
  if not ok or type(refusal) ~= "table" then
    return nil
  end
  for _, field in ipairs({ "tool", "input", "reason" }) do
    if type(refusal[field]) ~= "string" or #refusal[field] > MOST_BYTES then
      return nil
    end
  end
  return { tool = refusal.tool, input = refusal.input, reason = refusal.reason, at = vim.uv.now() }
end

---@param number integer
---@param done fun(): boolean
---@param line string
local function on_refusal(number, done, line)
  local refusal = read(line)
  if not refusal then
    return
  end
  notify.when_known_if_here(function(is_here)
    if is_here then
      refusals[#refusals + 1] = refusal
      refusals[#refusals - MOST] = nil
      hook_folder.ask_after_refusal(number)
    end
    done()
  end)
  return true
end

---Says in a request that auto mode has refused its call, and why.
---@param ask claude-ide.chat.Ask
---@param tool string
---@param input string arguments, as JSON
function M.explain(ask, tool, input)
  local now = vim.uv.now()
  refusals = vim.tbl_filter(function(refusal)
    return now - refusal.at < REQUEST_MS
  end, refusals)
  for at, refusal in ipairs(refusals) do
    if ask.kind == "permission" and refusal.tool == tool and vim.startswith(input, refusal.input) then
      table.remove(refusals, at)
      local reason = native.plain_text(refusal.reason) or ""
      local why = "Auto mode refused: " .. invisible_text.characters(vim.trim((reason:gsub("%s+", " "))))
      ask.title = ask.is_destructive and ("%s. %s"):format(ask.title, why) or why
      ask.parts[#ask.parts + 1] = { part = "text", style = "reason", text = refusal.reason }
      return
    end
  end
end

---Handles refusals.
M.attach = require("claude-ide.base.once")(function()
  hook_folder.on("refusal", on_refusal)
end)

return M
