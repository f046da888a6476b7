-- readFile, a plain method: the text that the user sees. A loaded buffer's text wins over the disk.
local M = {}

---@param args { path: string } absolute
---@param respond claude-ide.Respond
function M.run(args, respond)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(args.path)
  if not buf or not vim.api.nvim_buf_is_loaded(buf) or not buffer.is_file(buf) then
    respond({ loaded = false })
    return
  end
  if require("claude-ide.privacy").verdict(buf) ~= "tell" and vim.bo[buf].modified then
    -- What the user has typed and kept from Claude stays with them; the file on disk is not ours to hide.
    respond({ loaded = false })
    return
  end
  require("claude-ide.buffer.disk").reload(buf)
  respond({ loaded = true, contents = buffer.text(buf) })
end

return M
