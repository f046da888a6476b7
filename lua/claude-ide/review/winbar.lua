-- The lines above the windows of a review: what is shown, and which keys do what.
local M = {}

---Windows of so many columns have room for all of it; narrower than the other, for no keys: the list names them too.
local ROOMY, NARROW = 60, 44

---@param hints string[][] key and word
---@return string
local function hints_of(hints)
  local part = require("claude-ide.diff.winbar").part
  return vim
    .iter(hints)
    :filter(function(hint)
      return hint[1] ~= nil and hint[1] ~= ""
    end)
    :map(function(hint)
      return part("ClaudeDiffKey", " " .. hint[1]) .. part("ClaudeDiffHint", " " .. hint[2] .. " ")
    end)
    :join("")
end

---@param name string
---@return string
local function key(name)
  local keys = require("claude-ide.config").get().review.keymaps[name]
  return require("claude-ide.diff.winbar").key_name(keys or false, "")
end

---@return string
function M.of_list()
  return "%<"
    .. hints_of({ { key("keep_hunk"), "keep" }, { key("undo_hunk"), "undo" }, { key("close"), "close" } })
end

---@param entry claude-ide.review.Entry
---@return string
function M.of_before(entry)
  local part = require("claude-ide.diff.winbar").part
  local what = entry.change and entry.change.kind == "created" and "did not exist" or "before Claude"
  return part("ClaudeDiffFile", " " .. vim.fs.basename(entry.path))
    .. "%<"
    .. part("ClaudeDiffSide", " · " .. what)
end

---@param entry claude-ide.review.Entry
---@param width integer of the window
---@return string
function M.of_file(entry, width)
  local part, change = require("claude-ide.diff.winbar").part, entry.change
  local parts = { part("ClaudeDiffFile", " " .. vim.fs.basename(entry.path)), "%<" }
  if not entry.waits then
    local group = entry.outcome == "undone" and "ClaudeDiffRejected" or "ClaudeDiffAccepted"
    parts[#parts + 1] = part(group, " · " .. (entry.outcome or "reviewed"))
    parts[#parts + 1] = "%=" .. hints_of({ { key("next_file"), "next file" } })
    return table.concat(parts)
  end
  if not change then
    return table.concat(parts)
  elseif change.kind == "deleted" then
    parts[#parts + 1] = part("ClaudeDiffWarning", " · deleted")
  elseif width >= ROOMY then
    parts[#parts + 1] = part("ClaudeDiffSide", " · now")
  end
  if change.added > 0 then
    parts[#parts + 1] = part("ClaudeDiffAdded", (" +%d"):format(change.added))
  end
  if change.removed > 0 then
    parts[#parts + 1] = part("ClaudeDiffRemoved", (" −%d"):format(change.removed))
  end
  if change.conflicts > 0 then
    parts[#parts + 1] = part("ClaudeDiffWarning", (" !%d"):format(change.conflicts))
  end
  if width < NARROW then
    return table.concat(parts)
  end
  parts[#parts + 1] = " %="
  local hints = { { key("keep_hunk"), "keep" }, { key("undo_hunk"), "undo" } }
  if width >= ROOMY then
    hints[#hints + 1] = { "]c", "next" }
    hints[#hints + 1] = { key("next_file"), "file" }
  end
  return table.concat(parts) .. hints_of(hints)
end

return M
