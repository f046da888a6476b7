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

---Windows of so many columns have room for all of it.
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

---@class claude-ide.diff.WinbarOpts
---@field added integer
---@field removed integer
---@field others integer how many more diffs wait
---@field width integer of the window

---@param diff claude-ide.Diff
---@param opts claude-ide.diff.WinbarOpts
---@return string
function M.of_proposal(diff, opts)
  local config = require("claude-ide.config").get().diff
  local accept = key_name(config.keymaps.accept, config.accept_on_write and ":w" or ":Claude accept")
  local reject = key_name(config.keymaps.reject, ":q")
  local parts = {
    part("ClaudeDiffFile", " " .. vim.fs.basename(diff.path)),
    "%<" .. part("ClaudeDiffSide", opts.width < ROOMY and " · proposal " or " · Claude's proposal "),
    part("ClaudeDiffAdded", (" +%d"):format(opts.added)),
    part("ClaudeDiffRemoved", (" −%d "):format(opts.removed)),
  }
  parts[#parts + 1] = "%="
  if opts.others > 0 then
    parts[#parts + 1] = part("ClaudeDiffHint", (" %d more "):format(opts.others))
  end
  ---@type string[][]
  local hints = {
    { accept, "accept" },
    { reject, "reject" },
  }
  if opts.width >= ROOMY then
    table.insert(hints, { "]c", "next" })
  end
  for _, hint in ipairs(hints) do
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
