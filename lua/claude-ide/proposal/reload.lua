-- After an accepted diff: shows what was written in the file's buffer.
-- Never asks; unsaved text stays, and what the buffer held before is one `u` away.
local M = {}

---@param buf integer modified
---@param bytes string what is on disk
---@param contents string what was accepted
---@param now claude-ide.proposal.Now
---@param afterwards? claude-ide.proposal.Afterwards
local function keep_unsaved(buf, bytes, contents, now, afterwards)
  local unsaved = require("claude-ide.proposal.unsaved")
  afterwards = afterwards or unsaved.typed_meanwhile(buf, now.disk.bytes, contents)
  local disk = require("claude-ide.buffer.bytes").decode(bytes)
  if not afterwards or not unsaved.settle(buf, afterwards, disk) then
    require("claude-ide.watch.conflict").consider(buf)
  end
end

---@param path string absolute
---@param contents string
---@param now claude-ide.proposal.Now what the diff was against
---@param afterwards? claude-ide.proposal.Afterwards where there is unsaved text to be kept
---@param written fun() it holds just that
function M.await(path, contents, now, afterwards, written)
  require("claude-ide.journal").accepted(path, contents)
  require("claude-ide.watch.awaited").await({
    path = path,
    contents = contents,
    before = now.disk.stat,
    written = written,
    arrived = function(bytes)
      local buf = require("claude-ide.buffer").find(path)
      if not buf or not vim.api.nvim_buf_is_loaded(buf) then
        return
      elseif vim.bo[buf].modified and (now.against ~= "buffer" or afterwards) then
        return keep_unsaved(buf, bytes, contents, now, afterwards)
      elseif now.against == "buffer" then
        -- The user has seen the diff against their unsaved text and accepted it. That text stays in the undo history.
        vim.bo[buf].modified = false
      end
      local ok, err = pcall(require("claude-ide.buffer.disk").reload, buf)
      if not ok then
        require("claude-ide.log").error("could not reload %s: %s", path, err)
      end
    end,
  })
end

return M
