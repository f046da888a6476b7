-- A diff decided by somebody who does not see its windows, and saw a unified diff instead.
-- Invariant: what is accepted is what was told: where the user at the windows changed something, or the file did, they decide.
local M = {}

local MAX_FILE = 256 * 1024

---What was told of a diff: the text that it was compared with.
---@type table<integer, string>
local told = {}

---@param path string
---@return string? text "" where there is no file
local function on_disk(path)
  local bytes, why_not = require("claude-ide.file").read_now(path, MAX_FILE)
  return bytes or why_not == "missing" and "" or nil
end

---@param diff claude-ide.Diff
---@return claude-ide.decisions.Described
function M.describe(diff)
  local old = on_disk(diff.path)
  local unified = old and require("claude-ide.diffview.patch_text").of(old, diff.proposed)
  local about = { kind = "diff", title = diff.path, files = { { path = diff.path, diff = unified or "" } } }
  local reject = { id = "reject", label = "Reject", message = diff.source.cannot_hear() == nil or nil }
  if not unified then
    about.text = "It is too long to be shown here."
    about.choices = { reject }
    return about
  end
  told[diff.id] = old
  about.choices = { { id = "accept", label = "Accept" }, reject }
  return about
end

---@param diff claude-ide.Diff
---@return string? why not
local function cannot_accept(diff)
  local entry = require("claude-ide.diff.on_screen").get(diff.id)
  if not entry or not entry.text then
    return "Neovim is still reading the file: try again in a moment"
  end
  local buf = require("claude-ide.diff.rescued").typed(entry)
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
  local presenter = require("claude-ide.diff.presenter")
  if answer.choice == "reject" then
    presenter.reject(diff, answer.message)
    return nil
  end
  local why = cannot_accept(diff)
  if why then
    return why
  end
  local _, err = presenter.accept(diff)
  return err
end

---@param diff claude-ide.Diff
function M.over(diff)
  told[diff.id] = nil
end

return M
