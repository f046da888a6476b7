-- Decides a diff remotely, by a client that shows it as a unified diff.
-- Invariant: only what the client has shown is accepted: if the user has changed the proposal, or the file has changed, the decision is
-- made in Neovim.
local M = {}

local MAX_FILE = 256 * 1024

---Base texts of the diffs sent to clients.
---@type table<integer, string>
local told = {}

---@param path string
---@return string? text "" for a missing file
local function on_disk(path)
  local bytes, why_not = require("claude-ide.file").read_now(path, MAX_FILE)
  return bytes or why_not == "missing" and "" or nil
end

---@param text? claude-ide.changeset.Text
---@return string
local function joined(text)
  if not text or text.format.empty then
    return ""
  end
  return table.concat(text.lines, "\n") .. (text.format.final and "\n" or "")
end

---@param diff claude-ide.Diff
---@return { path: string, diff: string, from?: string, change?: string }[]
---@return boolean is_whole false: a file is too long to be shown
local function files_of(diff)
  local of = require("claude-ide.diffview.patch_text").of
  if not diff.files then
    told[diff.id] = on_disk(diff.path)
    local unified = told[diff.id] and of(told[diff.id], diff.proposed)
    return { { path = diff.path, diff = unified or "" } }, unified ~= nil
  end
  local files, is_whole = {}, true
  for index, item in ipairs(diff.files) do
    local file = item.file
    local unified = of(joined(file.before), joined(file.after))
    files[index] = { path = file.path, from = file.from, diff = unified or "", change = file.kind }
    is_whole = is_whole and unified ~= nil
  end
  return files, is_whole
end

---@param diff claude-ide.Diff
---@return claude-ide.decisions.Described
function M.describe(diff)
  local files, is_whole = files_of(diff)
  local takes_words = diff.files ~= nil or diff.source.cannot_hear() == nil
  local reject = { id = "reject", label = "Reject", message = takes_words or nil }
  return {
    kind = "diff",
    title = diff.files and diff.tab_name or diff.path,
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
  elseif diff.files then
    local is_as_told = require("claude-ide.proposal.accept_files").is_as_proposed(diff)
    return not is_as_told and "it was changed in Neovim: decide there" or nil
  end
  local entry = require("claude-ide.proposal.state").entry(diff.id)
  if not entry or not entry.text then
    return "Neovim is still reading the file: try again in a moment"
  end
  local buf = require("claude-ide.proposal.rescued").typed(entry)
  if buf then
    return "it was changed in Neovim: decide there"
  elseif entry.text.now.against == "buffer" then
    return "the file has changes in Neovim that are not saved: decide there"
  elseif on_disk(diff.path) ~= told[diff.id] then
    return "the file has changed since: decide in Neovim"
  end
end

---@param diff claude-ide.Diff
---@param answer claude-ide.decisions.RemoteAnswer
---@return string? err
function M.answer(diff, answer)
  local presenter = require("claude-ide.proposal.presenter")
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
      require("claude-ide.ui.notice").error(("Nothing was written: %s."):format(failed)) -- the client no longer waits
    end
  end)
  is_over = true
  return err or why
end

---@param diff claude-ide.Diff
function M.over(diff)
  told[diff.id] = nil
end

return M
