-- The numbers of the journal's clients. A connection has the server's id, which is above zero; what has no connection gets one here.
-- Only this module reads a meaning out of a number: for the library, and for handlers of users, it is an id.
local M = {}

---Of what this editor writes for no client.
M.NOBODY = 0

---No chat has so low a number.
local BACKGROUND = -1000000

---@param count integer of the chat, from 1
---@return integer client
function M.of_chat(count)
  return -count
end

---@param count integer of the session that runs without an editor, from 1
---@return integer client
function M.of_background(count)
  return BACKGROUND - count
end

---@param client integer
---@return boolean
function M.is_connection(client)
  return client > M.NOBODY
end

return M
