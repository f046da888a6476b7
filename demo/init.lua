-- Neovim for the demo: the plugin as anybody has it, the CLI beside a file, and a top line that says what to do.

vim.opt.runtimepath:prepend(vim.env.CLAUDE_IDE_ROOT)
vim.opt.shortmess:append("I")
vim.opt.number = true
vim.opt.termguicolors = true
vim.opt.showtabline = 2
vim.opt.tabline = "%!v:lua.require'claude-demo'.line()"

require("claude-ide").setup({
  terminal = { command = vim.json.decode(vim.env.CLAUDE_IDE_DEMO_COMMAND), size = 0.5, on_quit = "end" },
})

local M, decided = {}, {}
package.loaded["claude-demo"] = M

---@param keys string|string[]|false
---@return string
local function first(keys)
  return type(keys) == "table" and keys[1] or tostring(keys)
end

---@return string what the user can do now
local function advice()
  if require("claude-ide.edits.proposal").count() > 0 then
    local keys = require("claude-ide.config").get().diff.keymaps
    return ("A change waits for you.  Accept: %s   Reject: %s   Or edit it first."):format(
      first(keys.accept),
      first(keys.reject)
    )
  elseif require("claude-ide").status().review.files > 0 then
    return "Claude changed that without asking.  Look: :Claude review   Take it back: dx there, or :Claude undo"
  elseif #decided == 0 then
    return "Claude reads the project and will propose a change …"
  end
  return ("Last change: %s.  Ask again in Claude's window (<S-Tab> there: without being asked), or leave with :qa"):format(
    decided[#decided]
  )
end

---@return string 'tabline'
function M.line()
  return "%#TabLineSel# DEMO %#TabLine# " .. advice():gsub("%%", "%%%%") .. "%#TabLineFill#"
end

local group = vim.api.nvim_create_augroup("claude-demo", { clear = true })
vim.api.nvim_create_autocmd("User", {
  group = group,
  pattern = {
    "ClaudeDiffOpened",
    "ClaudeDiffClosed",
    "ClaudeFileChanged",
    "ClaudeTurnEnded",
    "ClaudeReviewed",
  },
  callback = function(event)
    if event.match == "ClaudeDiffClosed" then
      table.insert(decided, event.data.outcome)
    end
    vim.cmd.redrawtabline()
  end,
})

-- The scripted model holds its first answer until the CLI has found this Neovim.
vim.api.nvim_create_autocmd("User", {
  group = group,
  pattern = "ClaudeConnected",
  once = true,
  callback = function()
    vim.fn.writefile({}, vim.env.CLAUDE_IDE_DEMO_CONNECTED)
  end,
})

vim.api.nvim_create_autocmd("UIEnter", {
  group = group,
  once = true,
  callback = vim.schedule_wrap(function()
    require("claude-ide").toggle({ vim.env.CLAUDE_IDE_DEMO_PROMPT })
  end),
})
