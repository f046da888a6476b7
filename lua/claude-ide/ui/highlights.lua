-- Highlight groups. Each links to one that every colour scheme has, so that users and schemes can change it.
local M = {}

---Defines groups that the user and the colour scheme have not defined. Neovim keeps them for other schemes, as `:highlight default link`.
---@param links table<string, string> by group
function M.link(links)
  for group, link in pairs(links) do
    vim.api.nvim_set_hl(0, group, { link = link, default = true })
  end
end

---Those of winbars. `ui/diffview/colours.lua` makes them readable there.
---@type table<string, string>
M.IN_WINBARS = {
  ClaudeDiffFile = "Title",
  ClaudeDiffSide = "Comment",
  ClaudeDiffHint = "Comment",
  ClaudeDiffKey = "Special",
  ClaudeDiffAdded = "Added",
  ClaudeDiffRemoved = "Removed",
  ClaudeDiffWarning = "WarningMsg",
  ClaudeDiffHidden = "WarningMsg",
  ClaudeDiffAccepted = "DiagnosticOk",
  ClaudeDiffRejected = "DiagnosticError",
}

---Shared by diffs, reviews and other screens of two texts.
function M.define_shared()
  M.link(M.IN_WINBARS)
  M.link({ ClaudeDiffHintFloat = "PmenuSel" })
end

return M
