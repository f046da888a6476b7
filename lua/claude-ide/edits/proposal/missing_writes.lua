-- Tells the user that an edit they accepted was not written, and keeps their version of it.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local conflict = lazy("claude-ide.edits.watch.conflict")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local user_edits = lazy("claude-ide.edits.proposal.user_edits")

local M = {}

---Texts of tools for a file that has changed since it was read.
local CHANGED = { "changed since", "modified since", "unexpectedly modified", "not found in file" }

---@param name string of the requester
---@param said string error text of the tool
---@param is_there boolean
---@return string? why end of a sentence; nil: unknown
---@return string? short a shorter version
local function reason(name, said, is_there)
  local words = vim.trim((said:gsub("</?tool_use_error>", ""):gsub("^%s*Error:%s*", ""):gsub("%s+", " ")))
  local why = words:match("^(.-)%.%s") or (words:gsub("%.$", ""))
  local short = why
  for _, about in ipairs(CHANGED) do
    if words:find(about, 1, true) then
      short = is_there and "it had changed" or "it is no longer there"
      why = is_there and ("%s since %s read it"):format(short, name) or short
    end
  end
  if why == "" then
    return nil, nil
  end
  return why .. ".", short .. "."
end

---@param requester claude-ide.requests.Requester
---@param why? string
---@param short? string
---@return string[] formats longest first
local function formats(requester, why, short)
  local start = requester.name .. " did not write %s"
  local elsewhere = requester.client and "its terminal says why." or "the chat says why."
  return {
    ("%s, which you accepted: %s"):format(start, why or elsewhere),
    ("%s: %s"):format(start, why or elsewhere),
    ("%s: %s"):format(start, short or elsewhere),
    start .. ".",
  }
end

---@param requester claude-ide.requests.Requester
---@param why? string
---@param short? string
---@param kept integer buffer with the user's edits
---@return string[] formats longest first
local function formats_with_text(requester, why, short, kept)
  local start, failed = requester.name .. " did not write %s", "its tool failed."
  local where = ("`:buffer %d`."):format(kept)
  return {
    ("%s: %s Your edits to the proposal are saved: %s"):format(start, why or failed, where),
    ("%s: %s Your edits: %s"):format(start, short or failed, where),
    ("%s. Your edits: %s"):format(start, where),
  }
end

---@param diff claude-ide.Diff accepted
---@param typed? claude-ide.proposal.Text the user's version of the proposal
---@param said string error text of the tool
---@param is_there boolean there is such a file
---@param was_watched boolean its changes were not shown meanwhile
function M.report(diff, typed, said, is_there, was_watched)
  local requester, path = diff.requester, diff.files[1].path
  local buf = buffer.loaded(path)
  if was_watched and buf then
    -- Show later changes of the file, or ask if it has unsaved changes.
    conflict.consider(buf)
  end
  local kept = typed and user_edits.put(diff.id, path, typed)
  local why, short = reason(requester.name, said, is_there)
  local texts = kept and formats_with_text(requester, why, short, kept) or formats(requester, why, short)
  notice.warn(one_line.of_file(path, texts))
end

return M
