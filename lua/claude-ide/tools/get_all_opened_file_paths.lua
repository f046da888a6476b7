-- get_all_opened_file_paths: the files in the buffer list.
local M = {}

---@param args table
---@param respond claude-ide.Respond
function M.run(args, respond)
  local paths = vim.tbl_map(vim.api.nvim_buf_get_name, require("claude-ide.tools.get_open_editors").buffers())
  respond({ paths = #paths > 0 and paths or require("claude-ide.json").EMPTY_ARRAY })
end

return M
