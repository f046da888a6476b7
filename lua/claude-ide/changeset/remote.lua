-- A changeset decided by somebody who does not see its windows, and saw unified diffs instead.
-- Invariant: what is accepted is what was told: where the user at the windows dropped or changed something, they decide.
local M = {}

---@param text? claude-ide.changeset.Text
---@return string
local function shown(text)
  if not text or text.format.empty then
    return ""
  end
  return table.concat(text.lines, "\n") .. (text.format.final and "\n" or "")
end

---@param changeset claude-ide.Changeset
---@return claude-ide.decisions.Described
function M.describe(changeset)
  local files, is_whole = {}, true
  for _, entry in ipairs(changeset.entries) do
    local file = entry.file
    local unified = require("claude-ide.diffview.patch_text").of(shown(file.before), shown(file.after))
    is_whole = is_whole and unified ~= nil
    files[#files + 1] = { path = file.path, from = file.from, diff = unified or "", change = file.kind }
  end
  local reject = { id = "reject", label = "Reject", message = true }
  return {
    kind = "diff",
    title = changeset.title,
    files = files,
    text = not is_whole and "It is too long to be shown here." or nil,
    choices = is_whole and { { id = "accept", label = "Accept" }, reject } or { reject },
  }
end

---@param changeset claude-ide.Changeset
---@param answer claude-ide.decisions.RemoteAnswer
---@return string? err
function M.answer(changeset, answer)
  local presenter = require("claude-ide.changeset.presenter")
  if changeset.applying then
    return "it is being written"
  elseif answer.choice == "reject" then
    presenter.reject(changeset, answer.message)
    return nil
  end
  for _, entry in ipairs(changeset.entries) do
    local outcome = require("claude-ide.changeset.report").outcome(entry)
    if outcome.dropped or outcome.edited or outcome.kept < outcome.total then
      return "it was changed in Neovim: decide there"
    end
  end
  local why, is_over = nil, false ---@type string?, boolean
  presenter.accept(changeset, function(err)
    why = ("nothing was written: %s"):format(err)
    if is_over then
      require("claude-ide.ui.notice").error(("Nothing was written: %s."):format(err)) -- nobody waits for it elsewhere any more
    end
  end)
  is_over = true
  return why
end

return M
