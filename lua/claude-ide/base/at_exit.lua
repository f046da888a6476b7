---Runs a function when Neovim exits. Another one for the same topic replaces it.
---@param topic string
---@param run fun()
return function(topic, run)
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("claude-ide.at_exit." .. topic, { clear = true }),
    desc = "Claude Code: the end of " .. topic,
    callback = function()
      run()
    end,
  })
end
