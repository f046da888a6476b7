-- Highlight groups. Each links to one that every colour scheme has, so that users and schemes can change it.
local M = {}

---Defines groups that the user and the colour scheme have not defined.
---@param links table<string, string> by group
function M.link(links)
  for group, link in pairs(links) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
end

---Shared by diffs, reviews and other screens of two texts.
local SHARED = {
  ClaudeDiffFile = "Title",
  ClaudeDiffSide = "Comment",
  ClaudeDiffHint = "Comment",
  ClaudeDiffHintFloat = "PmenuSel",
  ClaudeDiffKey = "Special",
  ClaudeDiffAdded = "Added",
  ClaudeDiffRemoved = "Removed",
  ClaudeDiffWarning = "WarningMsg",
  ClaudeDiffHidden = "WarningMsg",
  ClaudeDiffAccepted = "DiagnosticOk",
  ClaudeDiffRejected = "DiagnosticError",
}

function M.define_shared()
  M.link(SHARED)
end

return M
