-- Files with changes of Claude's that the user has renamed: their histories go on under the new name.
-- A file has another name if nothing is at the old one, and the new one has the very text that was recorded last.
local store = require("claude-ide.edits.journal.store")
local lazy = require("claude-ide.lazy")
local announce = lazy("claude-ide.edits.journal.announce")
local buffer = lazy("claude-ide.editor.buffer")
local bus = lazy("claude-ide.base.bus")
local clock = lazy("claude-ide.base.clock")
local file = lazy("claude-ide.base.file")
local observe = lazy("claude-ide.edits.journal.observe")
local pending = lazy("claude-ide.edits.journal.pending")
local renames = lazy("claude-ide.server.renames")

local M = {}

---@param path string
---@return string? root
local function root_of(path)
  return vim.fs.root(path, ".git")
end

---Tracked files at whose names is nothing, though no one is known to have deleted them. What becomes of those that a turn may be writing
---is taken for Claude's doing.
---@return claude-ide.journal.File[]
local function missing()
  return vim.tbl_filter(function(one)
    return not vim.uv.fs_lstat(one.path)
      and not store.turn_of(one.id)
      and not store.is_last(one.id)
      and store.may_have(one.id, "all")
  end, store.files())
end

---Takes a file for a missing one that had its text.
---@param path string
---@param text string
local function claim(path, text)
  local from = text:find("%S")
    and vim.iter(missing()):find(function(one)
      return store.is_last(one.id, text)
    end)
  local name, real = store.named(path)
  if from and store.rename(from.id, name, real) then
    bus.emit("file_renamed", from.path, path)
  end
end

---@return string[]
local function roots()
  local found = {} ---@type table<string, true>
  for _, one in ipairs(missing()) do
    announce.tell(one.id) -- no event has told that it is gone
    found[root_of(one.path) or ""] = true
  end
  found[""] = nil
  return vim.tbl_keys(found)
end

---@param root string
---@return string[] paths
---@return integer since
local function missing_in(root)
  local paths = {}
  for _, one in ipairs(missing()) do
    paths[#paths + 1] = root_of(one.path) == root and one.path or nil
  end
  local oldest = store.turns()[1]
  return paths, oldest and oldest.began or clock.now()
end

local seek ---@type fun(done: fun())

---Starts to look for them when the user comes back to Neovim.
M.attach = require("claude-ide.base.once")(function()
  seek = renames.seek(roots, missing_in, function(root, path, text)
    claim(root .. "/" .. path, text)
  end)
end)

---Looks whether a file is a renamed one.
---@param path string
function M.look_at(path)
  local text = missing()[1] and file.read_now(path, observe.MAX_BYTES)
  if text then
    claim(path, text)
  end
end

---Looks for them now, also in folders without git among the files of buffers. The journal is complete when that is done.
function M.look()
  if not missing()[1] then
    return
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and buffer.is_file(buf) then
      M.look_at(vim.api.nvim_buf_get_name(buf))
    end
  end
  seek(pending.begin())
end

return M
