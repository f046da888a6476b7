-- What is said when a diff goes without the user's doing: why, and where the text is that they typed into it. One line.
local M = {}

---Says it where it stays to be read: leaving insert mode, as happens when the proposal goes, takes a message away.
---@param texts fun(): string[] the fullest first
local function say(texts)
  local function now()
    vim.schedule(function()
      require("claude-ide.ui.notice").info(require("claude-ide.ui.one_line").fitting(texts()))
    end)
  end
  if vim.api.nvim_get_mode().mode:find("^[iR]") then
    vim.api.nvim_create_autocmd("InsertLeave", {
      once = true,
      desc = "Claude Code: say why a diff is gone",
      callback = now,
    })
  else
    now()
  end
end

---@param diff claude-ide.Diff
---@param why? string nil: they know, or did not see it go
---@param kept? integer buffer with what they typed
function M.say(diff, why, kept)
  if not why and not kept then
    return
  end
  say(function()
    local gone = why and ("%s: %s."):format(require("claude-ide.proposal.state").name_of(diff), why)
    local where = kept and ("Your edits to the proposal are kept: `:buffer %d`."):format(kept)
    if gone and where then
      return { gone .. " " .. where, where }
    end
    return {
      where or gone --[[@as string]],
    }
  end)
end

return M
