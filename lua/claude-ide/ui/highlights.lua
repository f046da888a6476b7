-- Highlight groups of ours. Each is a link to one that every colour scheme has, for the user or the scheme to change.
local M = {}

---Defines groups where the user or the colour scheme has not.
---@param links table<string, string> by group
function M.link(links)
  for group, link in pairs(links) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
end

---Those that diffs, reviews and what else shows two texts have in common.
local SHARED = {
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

function M.define_shared()
  M.link(SHARED)
end

return M
