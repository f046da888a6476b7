-- Types text into the prompt of a CLI in one of our terminals.
-- Invariant: it arrives as plain text. It cannot end the paste, run a command, or exit the CLI (`crates/session/src/prompt_input.rs`).

local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local typing = lazy("claude-ide.ui.guard.typing")

local M = {}

---Whether the CLI's prompt is empty, from the screen: a line that begins with `❯`, in a frame. The selected answer of a question
---and a submitted prompt begin likewise.
---@return boolean? empty nil: no prompt is visible
local function looks_empty(buf)
  local lines = vim.api.nvim_buf_get_lines(buf, -vim.o.lines - 1, -1, false)
  for i = #lines - 1, 2, -1 do
    local typed = lines[i]:match("^❯(.*)$")
    if typed and lines[i - 1]:find("^─") then
      -- The CLI also shows the active file here: "[⧉ In a.txt]".
      typed = typed:gsub("\194\160", " "):gsub("^%s*%[⧉.-%]", "")
      if typed:find("%S") then
        return false
      end
      return lines[i + 1]:find("^─") ~= nil or nil
    end
  end
end

---The CLI displays a key well within this time.
local QUIET_MS = 1000

---When this module last typed into a terminal, and the changedtick at that time.
---@type table<integer, { at: integer, tick: integer }>
local written = {}

local function note_written(buf)
  written[buf] = { at = vim.uv.now(), tick = vim.api.nvim_buf_get_changedtick(buf) }
end

---Whether text that this module typed may not be on the screen yet.
local function is_taking(buf)
  local last = written[buf]
  return last ~= nil
    and (last.tick == vim.api.nvim_buf_get_changedtick(buf) or vim.uv.now() - last.at <= QUIET_MS)
end

---Whether the CLI's prompt is visible and empty, and nothing was typed just now, by the user or this module: further text would be
---appended to it.
---@param buf integer
---@return boolean
function M.is_ready(buf)
  local is_quiet = vim.api.nvim_get_current_buf() ~= buf or typing.quiet_for() > QUIET_MS
  return is_quiet and not is_taking(buf) and looks_empty(buf) == true
end

---Whether the user has begun to type a prompt. The keys are not enough: text may have been deleted, or answered a question.
---@param buf integer
---@return boolean
function M.has_draft(buf)
  local empty = looks_empty(buf)
  if empty ~= nil then
    return not empty
  end
  return typing.has_unsent(buf)
end

---Whether the user's hooks have a prompt before the CLI takes it: it is stored nowhere, and the session's record does not tell. While the
---turn before it runs, the CLI shows "✢ Working… (running UserPromptSubmit hook · 5s)"; then it looks busy: "✢ Working… (9s)" (2.1.329).
---@param buf integer
---@param is_idle boolean as the record says
---@return boolean
function M.is_held(buf, is_idle)
  local lines = vim.api.nvim_buf_get_lines(buf, -vim.o.lines - 1, -1, false)
  return vim.iter(lines):any(function(line)
    local is_text = vim.startswith(line, "●") or vim.startswith(line, "❯")
    local is_busy = not is_text and line:find("^%S+ .*…") ~= nil
    return is_busy and (is_idle or line:find("running UserPromptSubmit hook", 1, true) ~= nil)
  end)
end

---Whether the CLI shows its prompt, and no question.
---@param buf integer
---@return boolean
function M.is_shown(buf)
  return looks_empty(buf) ~= nil
end

---Appends text to the prompt without submitting it. The CLI must be idle.
---@param buf integer of the terminal
---@param text string
---@return boolean done
function M.paste(buf, text)
  local words = native.typed_text(text) or ""
  local channel = vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].channel or 0
  if words == "" or channel == 0 then
    return false
  end
  typing.note_paste(buf)
  note_written(buf)
  return (pcall(vim.api.nvim_chan_send, channel, "\27[200~" .. words .. "\27[201~"))
end

---Interrupts a working CLI with Esc.
---@param buf integer of the terminal
---@return boolean sent
function M.interrupt(buf)
  local channel = vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].channel or 0
  return channel ~= 0 and (pcall(vim.api.nvim_chan_send, channel, "\27"))
end

---Types a prompt and submits it. The CLI must be idle, with an empty prompt.
---@param buf integer of the terminal
---@param text string
---@param is_command? boolean allow a slash command
---@return boolean sent
function M.submit(buf, text, is_command)
  local keys = native.typed_keys(text, is_command == true)
  local channel = vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].channel or 0
  if not keys or channel == 0 then
    return false
  end
  note_written(buf)
  local ok, err = pcall(vim.api.nvim_chan_send, channel, keys)
  if not ok then
    log.warn("the terminal takes no words: %s", err)
  end
  return ok
end

return M
