-- Decides a diff remotely, by a client that shows it as a unified diff.
-- Invariant: only what the client has shown is accepted: if the user has changed the proposal, or the file has changed, the decision is
-- made in Neovim.
local lazy = require("claude-ide.lazy")
local acceptance = lazy("claude-ide.edits.proposal.acceptance")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local notice = lazy("claude-ide.base.notice")
local patch_text = lazy("claude-ide.ui.diffview.patch_text")
local presenter = lazy("claude-ide.edits.proposal.presenter")
local user_edits = lazy("claude-ide.edits.proposal.user_edits")

local M = {}

---Base texts of the diffs sent to clients.
---@type table<integer, string>
local bases = {}

---@param diff claude-ide.Diff
---@return { path: string, diff: string, from?: string, change?: string }[]
---@return boolean is_whole false: a file is too long to be shown
local function files_of(diff)
  local as_read = bytes.as_read
  local files, is_whole = {}, true
  for index, file in ipairs(diff.files) do
    local planned, before, after = file.planned, nil, file.proposed
    if planned then
      before, after = as_read(planned.before), as_read(planned.after)
    else
      before = patch_text.on_disk(file.path)
      bases[diff.id] = before
    end
    local unified = before and patch_text.of(before, after --[[@as string]])
    files[index] = { path = file.path, diff = unified or "" }
    files[index].from, files[index].change = file.from, planned and file.kind
    is_whole = is_whole and unified ~= nil
  end
  return files, is_whole
end

---@param diff claude-ide.Diff
---@return claude-ide.requests.Described
function M.describe(diff)
  local files, is_whole = files_of(diff)
  local takes_words = diff.plan ~= nil or diff.requester.cannot_hear() == nil
  local reject = { id = "reject", label = "Reject", message = takes_words or nil }
  return {
    kind = "diff",
    title = diff.plan and diff.tab_name or diff.files[1].path,
    files = files,
    text = not is_whole and "It is too long to be shown here." or nil,
    choices = is_whole and { { id = "accept", label = "Accept" }, reject } or { reject },
  }
end

---@param diff claude-ide.Diff
---@return string? why reason
local function cannot_accept(diff)
  if diff.applying then
    return "it is being written"
  elseif diff.plan then
    local is_as_proposed = acceptance.is_as_proposed(diff)
    return not is_as_proposed and "it was changed in Neovim: answer there" or nil
  end
  local file = diff.files[1]
  if not file.text then
    return "Neovim is still reading the file: try again in a moment"
  elseif user_edits.typed(file) then
    return "it was changed in Neovim: answer there"
  elseif file.text.now.against == "buffer" then
    return "the file has unsaved changes in Neovim: answer there"
  elseif patch_text.on_disk(file.path) ~= bases[diff.id] then
    return "the file has changed since: answer in Neovim"
  end
end

---@param diff claude-ide.Diff
---@param answer claude-ide.requests.RemoteAnswer
---@return string? err
function M.answer(diff, answer)
  if answer.choice == "reject" then
    return not presenter.reject(diff, answer.message) and diff.applying and "it is being written" or nil
  end
  local why, is_over = cannot_accept(diff), false
  if why then
    return why
  end
  local _, err = presenter.accept(diff, function(failed)
    why = ("nothing was written: %s"):format(failed)
    if is_over then
      notice.error(("Nothing was written: %s."):format(failed)) -- the client no longer waits
    end
  end)
  is_over = true
  return err or why
end

---@param diff claude-ide.Diff
function M.over(diff)
  bases[diff.id] = nil
end

return M
