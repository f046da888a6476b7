-- Reports edits that the user changed before they were written: the protocol's answers cannot say so, so it is a prompt.
local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local hunk = lazy("claude-ide.base.hunk")

local M = {}

---Limit of all patches: the agent can read the rest.
local MOST_BYTES = 16 * 1024

---Up to this number, files are reported one by one.
local MOST_APART = 3

---@param one claude-ide.chat.Became
---@param budget integer bytes
---@return string
local function words_for(one, budget)
  if not one.accepted then
    return ("%s was left as it was: do not make your edit of it."):format(one.path)
  elseif one.accepted == one.proposed then
    return ("%s is as you proposed it."):format(one.path)
  end
  local is_small = #(one.proposed or "") + #one.accepted <= 2 * 1024 * 1024
  local patch = is_small and hunk.xdiff(one.proposed or "", one.accepted, { ctxlen = 3 }) or nil --[[@as string?]]
  if not patch or #patch > budget then
    return ("What is in %s now differs from what you proposed: read it again."):format(one.path)
  end
  return ("This is how what is in %s now differs from what you proposed:\n```diff\n%s```"):format(
    one.path,
    patch
  )
end

---@param list claude-ide.chat.Became[]
---@param of_many string
---@return string[]
local function words_for_alike(list, of_many)
  if #list <= MOST_APART then
    return vim.tbl_map(function(one)
      return words_for(one, 0)
    end, list)
  end
  local paths = vim.tbl_map(function(one)
    return one.path
  end, list)
  return { ("%s: %s"):format(of_many:format(#list), table.concat(paths, ", ")) }
end

---@param became claude-ide.chat.Became[]
---@return string[]
local function words_for_all(became)
  local left, same, words, budget = {}, {}, {}, MOST_BYTES
  for _, one in ipairs(became) do
    if not one.accepted then
      left[#left + 1] = one
    elseif one.accepted == one.proposed then
      same[#same + 1] = one
    else
      words[#words + 1] = words_for(one, budget)
      budget = budget - #words[#words]
    end
  end
  vim.list_extend(
    words,
    words_for_alike(left, "These %d files were left as they were, do not make your edits of them")
  )
  return vim.list_extend(words, words_for_alike(same, "These %d files are as you proposed them"))
end

---Reports the result of an edit to the agent as the next prompt.
---@param chat claude-ide.chat.Chat
---@param became claude-ide.chat.Became[] by file
---@param words? string the user's message
---@param on_top? boolean the file had changed since the proposal
function M.tell(chat, became, words, on_top)
  local what = #became == 1 and became[1].path or counted(#became, "file")
  local how = "I changed your edit of %s before it was written, and the editor wrote it."
  if on_top then
    how =
      "%s had changed by the time that I accepted your edit of it, and the editor put it into what was there."
  end
  local lines = { how:format(what) .. " Do not make that edit again." }
  vim.list_extend(lines, words_for_all(became))
  lines[#lines + 1] = words
  chat:say(table.concat(lines, "\n"))
end

return M
