-- The line above each side of a diff: what it is, and which keys decide.
local M = {}

local LINKS = {
  ClaudeDiffFile = "Title",
  ClaudeDiffSide = "Comment",
  ClaudeDiffHint = "Comment",
  ClaudeDiffHintFloat = "PmenuSel",
  ClaudeDiffKey = "Special",
  ClaudeDiffAdded = "Added",
  ClaudeDiffRemoved = "Removed",
  ClaudeDiffWarning = "WarningMsg",
  ClaudeDiffAccepted = "DiagnosticOk",
  ClaudeDiffRejected = "DiagnosticError",
}

---Windows of so many columns have room for all of it, or for most.
local SPACIOUS = 100
local ROOMY = 68

---Defines the highlight groups where the person or the colour scheme has not.
function M.define_highlights()
  for group, link in pairs(LINKS) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
end

---A piece of a winbar, whatever characters a file's name has.
---@param group string
---@param text string
---@return string
function M.part(group, text)
  local shown = vim.fn.strtrans(text):gsub("%%", "%%%%")
  return ("%%#%s#%s"):format(group, shown)
end
local part = M.part

---@param keys string|string[]|false
---@param otherwise string what does it where there is no key
---@return string
function M.key_name(keys, otherwise)
  if type(keys) == "table" then
    keys = keys[1]
  end
  return keys or otherwise
end
local key_name = M.key_name

---@param diff claude-ide.Diff
---@param now claude-ide.diff.Now
---@param unseen? string what changes beside the lines
---@return string
function M.of_now(diff, now, unseen)
  local group, what = "ClaudeDiffSide", "now"
  if now.disk.problem then
    group, what = "ClaudeDiffWarning", now.disk.problem
  elseif now.against == "buffer" then
    group, what = "ClaudeDiffWarning", "now, with your unsaved changes"
  elseif now.against == "nothing" then
    what = "does not exist yet"
  end
  local name = part("ClaudeDiffFile", " " .. vim.fs.basename(diff.old_path))
  return name
    .. part(group, " · " .. what .. " ")
    .. "%="
    .. part("ClaudeDiffWarning", unseen and unseen .. " " or "")
end

---What a person should know of the present text before they decide.
---@param now claude-ide.diff.Now
---@return string? nil: nothing
local function warning_of(now)
  return now.disk.problem or now.against == "buffer" and "with your unsaved changes" or nil
end

---@class claude-ide.diff.WinbarOpts
---@field added integer
---@field removed integer
---@field kept integer proposed hunks that are left
---@field total integer proposed hunks
---@field others integer how many more diffs wait
---@field width integer of the window
---@field now? claude-ide.diff.Now where no other window tells of it
---@field unseen? string what changes beside the lines, in the same case

---@param opts claude-ide.diff.WinbarOpts
---@return string[][] key and what it does
local function hints_of(opts)
  local config = require("claude-ide.config").get().diff
  local keymaps = config.keymaps
  local hints = {
    { key_name(keymaps.accept, config.accept_on_write and ":w" or ":Claude accept"), "accept" },
    { key_name(keymaps.reject, ":q"), "reject" },
  }
  if opts.width >= ROOMY then
    table.insert(hints, { "]c", "next" })
  end
  if opts.width >= SPACIOUS then
    if keymaps.hunk then
      table.insert(hints, { key_name(keymaps.hunk, ""), "drop" })
    end
    if keymaps.layout then
      table.insert(hints, { key_name(keymaps.layout, ""), "layout" })
    end
  end
  return hints
end

---@param diff claude-ide.Diff
---@param opts claude-ide.diff.WinbarOpts
---@return string
function M.of_proposal(diff, opts)
  local title = opts.width < ROOMY and " · proposal " or " · Claude's proposal "
  local choice = ""
  if opts.kept < opts.total then
    choice = part("ClaudeDiffWarning", ("%d of %d kept "):format(opts.kept, opts.total))
    title = opts.width < ROOMY and " · " or title
  end
  local parts = {
    part("ClaudeDiffFile", " " .. vim.fs.basename(diff.path)),
    "%<" .. part("ClaudeDiffSide", title) .. choice,
    part("ClaudeDiffAdded", (" +%d"):format(opts.added)),
    part("ClaudeDiffRemoved", (" −%d "):format(opts.removed)),
  }
  for _, warning in ipairs({ opts.unseen or false, opts.now and warning_of(opts.now) or false }) do
    if warning then
      parts[#parts + 1] = part("ClaudeDiffWarning", " " .. warning .. " ")
    end
  end
  parts[#parts + 1] = "%="
  if opts.others > 0 then
    parts[#parts + 1] = part("ClaudeDiffHint", (" %d more "):format(opts.others))
  end
  for _, hint in ipairs(hints_of(opts)) do
    parts[#parts + 1] = part("ClaudeDiffKey", " " .. hint[1]) .. part("ClaudeDiffHint", " " .. hint[2] .. " ")
  end
  return table.concat(parts)
end

---What stands there while a decided diff is still on the screen.
---@param diff claude-ide.Diff
---@return string
function M.of_decided(diff)
  local name = part("ClaudeDiffFile", " " .. vim.fs.basename(diff.path))
  if diff.state == "accepted" then
    return name .. part("ClaudeDiffAccepted", " · accepted")
  end
  return name .. part("ClaudeDiffRejected", " · rejected")
end

return M
