-- Types text into the prompt of a CLI in one of our terminals.
-- Invariant: it arrives as plain text. It cannot end the paste, run a command, or exit the CLI.
--
-- Measured with the CLI 2.1.329: `\r` submits. A paste of four lines or about 800 characters becomes an attachment ("[Pasted text
-- #1]"); several smaller ones do not, and reach the model as they are. A paste that loses invisible characters, or ends in a
-- backslash, is not submitted. Blanks around a prompt are dropped before the CLI looks for a command.

local M = {}

---Bytes per paste.
local MAX_PASTE = 400

---Code points that the CLI removes, since they can hide text. Joiners of letters and emoji stay.
---@type [integer, integer][]
local INVISIBLE = {
  { 0x80, 0x9f },
  { 0xad, 0xad },
  { 0x200b, 0x200b },
  { 0x200e, 0x200f },
  { 0x2028, 0x202e },
  { 0x2060, 0x206f },
  { 0xfeff, 0xfeff },
  { 0xfff9, 0xfffb },
  { 0xe0000, 0xe007f },
}

---Prompts that exit the CLI.
local FAREWELLS = { exit = true, quit = true, [":q"] = true, [":q!"] = true, [":wq"] = true, [":wq!"] = true }

local function is_visible(char)
  local code = #char > 1 and vim.fn.char2nr(char, true) or 0
  for _, range in ipairs(INVISIBLE) do
    if code >= range[1] and code <= range[2] then
      return false
    end
  end
  return true
end

---The visible characters of a text.
local function plain(text)
  text = require("claude-ide.position").valid(text):gsub("\r\n?", "\n")
  local kept = {}
  for char in text:gsub("[%z\1-\8\11-\31\127]", ""):gmatch("[%z\1-\127\194-\244][\128-\191]*") do
    kept[#kept + 1] = is_visible(char) and char or nil
  end
  return vim.trim(table.concat(kept))
end

---@return string[] pieces of whole characters
local function pieces_of(line)
  local pieces = {}
  while #line > MAX_PASTE do
    local cut = MAX_PASTE
    while cut > 1 and line:byte(cut + 1) >= 0x80 and line:byte(cut + 1) < 0xc0 do
      cut = cut - 1
    end
    pieces[#pieces + 1] = line:sub(1, cut)
    line = line:sub(cut + 1)
  end
  pieces[#pieces + 1] = line
  return pieces
end

---The bytes to type so that a text becomes a plain prompt.
---@param text string
---@param is_command? boolean allow a slash command
---@return string? bytes nil: the text is empty
function M.encode(text, is_command)
  local words = plain(text)
  if words == "" then
    return nil
  end
  -- `/` is a command, `!` a shell command, `#` a memory, `&` background work.
  if not is_command and (words:find("^[/!#&]") or FAREWELLS[words:lower()]) then
    words = "Reason: " .. words
  end
  local bytes = {}
  for _, line in ipairs(vim.split(words .. " ", "\n", { plain = true })) do
    for _, piece in ipairs(pieces_of(line)) do
      bytes[#bytes + 1] = piece
    end
    bytes[#bytes] = bytes[#bytes] .. "\n"
  end
  bytes[#bytes] = bytes[#bytes]:sub(1, -2)
  return "\27[200~" .. table.concat(bytes, "\27[201~\27[200~") .. "\27[201~\r"
end

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
  local typing = require("claude-ide.ui.guard.keys")
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
  return require("claude-ide.ui.guard.keys").has_unsent(buf)
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
  local words = plain(text)
  local channel = vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].channel or 0
  if words == "" or channel == 0 then
    return false
  end
  require("claude-ide.ui.guard.keys").note_paste(buf)
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
---@param is_command? boolean as for `encode`
---@return boolean sent
function M.submit(buf, text, is_command)
  local bytes = M.encode(text, is_command)
  local channel = vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].channel or 0
  if not bytes or channel == 0 then
    return false
  end
  note_written(buf)
  local ok, err = pcall(vim.api.nvim_chan_send, channel, bytes)
  if not ok then
    require("claude-ide.log").warn("the terminal takes no words: %s", err)
  end
  return ok
end

return M
