-- Finds the files with comments that have another name now: Claude's renames at once, others' when the user comes back to Neovim.
-- What a file must be to count as one: crates/comments.
local lazy = require("claude-ide.lazy")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local bus = lazy("claude-ide.base.bus")
local file = lazy("claude-ide.base.file")
local renames = lazy("claude-ide.server.renames")
local store = lazy("claude-ide.comments.store")
local target = lazy("claude-ide.comments.target")

local M = {}

---@param root string
---@param path string relative
---@param bytes string
local function claim(root, path, bytes)
  store.claim(root, path, (buffer_bytes.text(bytes)))
end

---Starts to look for them.
M.attach = require("claude-ide.base.once")(function()
  bus.on("file_changed", function(path)
    local root = store.root_of(path)
    local bytes = store.missing(root)[1] and file.read_now(path, target.MAX_BYTES)
    if bytes then
      claim(root, target.path_in(path, root), bytes)
    end
  end)
  renames.seek(store.roots, store.missing, claim)()
end)

return M
