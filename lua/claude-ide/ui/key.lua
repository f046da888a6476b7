-- Keys of windows of ours, mapped in their buffers.
-- Invariant: `q` ends the recording of a macro, as everywhere. As the result of an expression it is not part of the macro.
local M = {}

---What `q` does otherwise.
local ACTION = "<Plug>(claude-q)"

---@param buf integer
---@param lhs string
---@param desc string
---@param run string|fun()
---@param modes? string|string[] default: normal mode
function M.map(buf, lhs, desc, run, modes)
  local opts = { buffer = buf, nowait = true, silent = true, desc = "Claude Code: " .. desc }
  if lhs == "q" then
    vim.keymap.set(modes or "n", ACTION, run, opts)
    run = function()
      return vim.fn.reg_recording() == "" and ACTION or "q"
    end
    opts.expr, opts.remap = true, true
  end
  vim.keymap.set(modes or "n", lhs, run, opts)
end

---@param buf integer
---@param lhs string
---@param modes? string|string[]
function M.unmap(buf, lhs, modes)
  for _, mapped in ipairs({ lhs, lhs == "q" and ACTION or nil }) do
    pcall(vim.keymap.del, modes or "n", mapped, { buffer = buf })
  end
end

return M
