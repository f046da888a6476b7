-- What was accepted before it is written: an agent asks for permission first, and then has the editor write what it asked for.
-- Invariant: it is written once, in the turn in which it was accepted, and over the file that the user saw.
local M = {}

---@class claude-ide.chat.acp.Accepted
---@field bytes string that the file is to hold
---@field text string as agents have it
---@field stamp? string of the file; nil: there is none

---@param path string
---@return string
local function normal(path)
  return require("claude-ide.path").normalize(path)
end

---@param chat claude-ide.chat.Chat
---@param path string
---@param bytes string
---@param text? string where the bytes are in another encoding
function M.note(chat, path, bytes, text)
  chat.acp.accepted[normal(path)] =
    { bytes = bytes, text = text or bytes, stamp = require("claude-ide.chat.acp.written").stamp_of(path) }
end

---What an agent wants written, if it was accepted: with the line ends and the byte order mark that the file has.
---@param chat claude-ide.chat.Chat
---@param path string
---@param contents string
---@return string? bytes
function M.take(chat, path, contents)
  local accepted = chat.acp.accepted[normal(path)]
  local is_it = accepted
    and require("claude-ide.buffer.bytes").same_text(accepted.text, contents)
    and accepted.stamp == require("claude-ide.chat.acp.written").stamp_of(path)
  if is_it then
    chat.acp.accepted[normal(path)] = nil
    return accepted.bytes
  end
end

return M
