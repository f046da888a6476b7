-- Writes the outputs and execution count of a cell into the notebook's buffer.
-- Invariants: the file is not written; all other bytes stay (crates/notebook); one undo reverts both; a buffer that is not a readable
-- notebook is not changed.
local M = {}

---@param cell claude-ide.notebook.Cell
---@param answer claude-ide.notebook.Answer
---@return string? err
local function put_into(buf, cell, answer)
  if not vim.bo[buf].modifiable then
    return "it cannot be changed"
  end
  require("claude-ide.buffer.disk").reload(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
  local ran = vim.json.encode({
    index = cell.index,
    id = cell.id,
    source = cell.source,
    count = answer.count,
    outputs = answer.outputs,
  })
  local changed, err = require("claude-ide.native").notebook_put(text, ran)
  if changed then
    local format = require("claude-ide.buffer.format").of(buf)
    local lines = require("claude-ide.buffer.bytes").split(changed, "\n")
    require("claude-ide.buffer.patch").set_text(buf, lines, format)
  end
  return err
end

---Writes the outputs of a run into the notebook's buffer, if any.
---@param path string of the notebook
---@param cell claude-ide.notebook.Cell as run
---@param answer claude-ide.notebook.Answer
---@return string? remark for the requester; nil: no buffer
function M.put(path, cell, answer)
  local buf, is_json = require("claude-ide.notebook.document").buffer(path)
  if not buf or not answer.outputs then
    return nil
  elseif not is_json then
    return "[A plugin shows the notebook as something else than its JSON in the user's editor: the outputs were not put there.]"
  end
  local waits = require("claude-ide.ui.guard.waits")
  local failure ---@type string?
  local function put()
    failure = vim.api.nvim_buf_is_loaded(buf) and put_into(buf, cell, answer) or nil
    if failure then
      require("claude-ide.log").warn("outputs were not put into %s: %s", path, failure)
    end
  end
  if waits.is_command_pending() then
    waits.when_text_may_change(("outputs %d %s"):format(buf, cell.id or cell.index), put)
  else
    put()
  end
  if failure then
    return ("[The outputs were not put into the user's buffer of the notebook: %s.]"):format(failure)
  end
  return "[The outputs are in the user's buffer of the notebook, which is not saved.]"
end

return M
