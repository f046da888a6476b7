-- Reads a notebook: from the buffer with its JSON, else from its file. A buffer in which a plugin shows it in another format (Markdown, a
-- script) is neither read nor changed.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local disk = lazy("claude-ide.editor.buffer.disk")
local file = lazy("claude-ide.base.file")
local native = lazy("claude-ide.library.native")
local stamp = lazy("claude-ide.editor.buffer.stamp")

local M = {}

---@class claude-ide.notebook.Cell as the library reads it (nbformat 4)
---@field index integer 0-based, as in the file
---@field kind string "code", "markdown" or "raw"
---@field id? string since nbformat 4.5
---@field source string
---@field count? number of its last run
---@field outputs integer number of outputs

---@class claude-ide.notebook.Notebook
---@field cells claude-ide.notebook.Cell[]
---@field kernel? string name of its kernel
---@field language? string

local MAX_BYTES = 64 * 1024 * 1024

---The loaded buffer of a notebook.
---@param path string absolute
---@return integer? buf
---@return boolean is_json
function M.buffer(path)
  local buf = buffer.find(path)
  if not buf or not vim.api.nvim_buf_is_loaded(buf) then
    return nil, false
  end
  local first = vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] or ""
  local is_json = first:find("^%s*{") ~= nil or not stamp.others_listen("BufWriteCmd", buf)
  return buf, is_json
end

---The text of a notebook, and whether it has unsaved changes.
---@param path string absolute
---@param done fun(text?: string, err?: string, unsaved?: boolean) possibly before this returns
function M.text(path, done)
  local buf, is_json = M.buffer(path)
  if buf and is_json then
    disk.reload(buf) -- no effect with unsaved changes
    local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
    return done(table.concat(lines, "\n"), nil, vim.bo[buf].modified)
  elseif buf and vim.bo[buf].modified then
    return done(
      nil,
      "a plugin shows it as something else than its JSON, with changes that are not saved: `:w` first"
    )
  end
  file.read_later(path, MAX_BYTES, function(bytes)
    if not bytes then
      return done(nil, "it cannot be read")
    end
    done(bytes:sub(1, 3) == "\239\187\191" and bytes:sub(4) or bytes, nil, false)
  end)
end

---The kernel named by a notebook.
---@param path? string
---@param done fun(wanted?: { kernel?: string, language?: string }) possibly before this returns
function M.wanted(path, done)
  if not path then
    return done(nil)
  end
  M.text(path, function(text)
    local notebook = text and native.notebook_read(text)
    done(notebook and { kernel = notebook.kernel, language = notebook.language })
  end)
end

return M
