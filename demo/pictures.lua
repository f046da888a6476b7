-- Neovim for the pictures: the plugin as anybody has it, Claude in a terminal that is out of sight.

vim.opt.runtimepath:prepend(vim.env.CLAUDE_IDE_ROOT)
vim.opt.shortmess:append("I")
vim.opt.number = true
vim.opt.termguicolors = true
vim.opt.ruler = false
vim.opt.showmode = false
vim.opt.showcmd = false

require("claude-ide").setup(vim.tbl_deep_extend("error", {
  terminal = { command = vim.json.decode(vim.env.CLAUDE_IDE_DEMO_COMMAND) },
  notify = { finished = false }, -- a turn is short, unless the machine is busy
  review = { remind = false }, -- it comes before the picture or after it
}, vim.json.decode(vim.env.CLAUDE_IDE_DEMO_OPTIONS)))

vim.api.nvim_create_autocmd("User", {
  pattern = "ClaudeTurnEnded",
  callback = function()
    vim.g.claude_demo_idle = true
  end,
})

-- The CLI is asked once it is connected: an edit must not be proposed before it knows this Neovim.
vim.api.nvim_create_autocmd("UIEnter", {
  once = true,
  callback = vim.schedule_wrap(function()
    if vim.env.CLAUDE_IDE_DEMO_CHAT then
      vim.opt.laststatus = 3
      return vim.cmd.Claude({ args = { "chat", vim.env.CLAUDE_IDE_DEMO_PROMPT } })
    end
    local terminal = require("claude-ide.terminal")
    terminal.open({})
    terminal.hide()
    vim.cmd.stopinsert()
  end),
})
vim.api.nvim_create_autocmd("User", {
  pattern = "ClaudeConnected",
  once = true,
  callback = vim.schedule_wrap(function()
    local buf = assert(require("claude-ide.terminal").bufnr())
    if vim.env.CLAUDE_IDE_DEMO_PROMPT ~= "" then
      require("claude-ide.terminal.prompt").submit(buf, vim.env.CLAUDE_IDE_DEMO_PROMPT)
    end
  end),
})

local ready = assert(loadstring("return " .. vim.env.CLAUDE_IDE_DEMO_READY))
local timer = assert(vim.uv.new_timer())
timer:start(
  50,
  50,
  vim.schedule_wrap(function()
    if ready() and timer:is_active() then
      timer:stop()
      -- For a picture of the page: where it is.
      local url = vim.env.CLAUDE_IDE_DEMO_PAGE and assert(require("claude-ide.web").url())
      vim.fn.writefile({ url }, "../ready")
    end
  end)
)
