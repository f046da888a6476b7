-- Buffers of ours, which show a text and are no file: their colours, and their end.
local M = {}

---Past so many bytes the colours go: they would cost more time than a person waits.
local MAX_HIGHLIGHTED_BYTES = 512 * 1024

---Colours, without the FileType event that would bring language servers and formatters along.
---@param buf integer
---@param source? integer the file's own buffer
function M.highlight(buf, source)
  local filetype = vim.bo[buf].filetype
  local bytes = vim.api.nvim_buf_get_offset(buf, vim.api.nvim_buf_line_count(buf))
  if filetype == "" or bytes > MAX_HIGHLIGHTED_BYTES then
    return
  end
  local highlighters = vim.treesitter.highlighter.active
  local language = vim.treesitter.language.get_lang(filetype) or filetype
  local by_syntax = source
    and vim.api.nvim_buf_is_loaded(source)
    and not highlighters[source]
    and vim.bo[source].syntax ~= ""
  if not by_syntax and pcall(vim.treesitter.start, buf, language) then
    return
  end
  vim.bo[buf].syntax = filetype
end

---@param buf integer
function M.delete(buf)
  if require("claude-ide.ui.typing").is_function_chosen() then
    -- It may be one that this buffer maps.
    pcall(vim.api.nvim_set_option_value, "modified", false, { buf = buf })
    return vim.schedule(function()
      M.delete(buf)
    end)
  end
  if vim.api.nvim_buf_is_valid(buf) then
    require("claude-ide.ui.quietly").run(function()
      pcall(vim.treesitter.stop, buf)
      pcall(vim.api.nvim_buf_delete, buf, { force = true })
      return true
    end)
  end
end

return M
