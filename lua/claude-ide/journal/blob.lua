-- Texts of files as they once were: in memory first, the oldest moved to the state folder when they are many.
-- Invariant: only this user can read what is stored (0600 in 0700), it is bounded, and it goes with this Neovim; what a
-- killed one left behind goes with the next.
local M = {}

local MAX_MEMORY_BYTES = 32 * 1024 * 1024

---Of memory and disk together. Who puts blobs here drops old ones when `M.is_full()`.
local MAX_TOTAL_BYTES = 256 * 1024 * 1024

local OWNER_ONLY = 384 -- 0600
local OWNER_ONLY_FOLDER = 448 -- 0700

---@class claude-ide.journal.Blob
---@field id integer
---@field size integer
---@field bytes? string nil: on disk
---@field secret boolean never leaves the memory

---@type table<integer, claude-ide.journal.Blob>
local blobs = {}
local newest, oldest_in_memory = 0, 1
local total, in_memory = 0, 0
local folder ---@type string?

---@return string
local function journals()
  return vim.fn.stdpath("state") .. "/claude-ide/journal"
end

---Several machines may share a home folder, and process ids mean something on one of them only.
---@param pid string
---@return string
local function folder_name(pid)
  return ("%s.%s"):format(vim.uv.os_gethostname():gsub("[^%w-]", "_"), pid)
end

---@param path string
local function remove_folder(path)
  for name, kind in vim.fs.dir(path) do
    if kind == "directory" then
      remove_folder(path .. "/" .. name)
    else
      vim.uv.fs_unlink(path .. "/" .. name)
    end
  end
  vim.uv.fs_rmdir(path)
end

---Removes what Neovims that are no more have left.
function M.clean()
  local pattern = "^" .. vim.pesc(folder_name("")) .. "(%d+)$"
  for name, kind in vim.fs.dir(journals()) do
    local pid = kind == "directory" and tonumber(name:match(pattern))
    if
      pid and not require("claude-ide.process").runs(pid --[[@as integer]])
    then
      remove_folder(journals() .. "/" .. name)
    end
  end
end

---This Neovim's folder, made when it is first needed.
---@return string? path
function M.folder()
  if folder then
    return folder
  end
  local path = journals() .. "/" .. folder_name(tostring(vim.uv.os_getpid()))
  vim.fn.mkdir(journals(), "p", "0o700")
  if vim.uv.fs_stat(path) then
    remove_folder(path) -- of an earlier process with our id
  end
  if not vim.uv.fs_mkdir(path, OWNER_ONLY_FOLDER) then
    return nil
  end
  folder = path
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("claude-ide.journal.blob", { clear = true }),
    desc = "Claude: the journal goes with this Neovim",
    callback = function()
      remove_folder(path)
    end,
  })
  return folder
end

---@param id integer
---@return string
local function file_of(id)
  return ("%s/%d"):format(folder, id)
end

---Moves a blob to the disk, in the background. It stays in memory until it is written.
---@param blob claude-ide.journal.Blob
local function spill(blob)
  if not M.folder() then
    return
  end
  vim.uv.fs_open(file_of(blob.id), "wx", OWNER_ONLY, function(_, fd)
    if not fd or not blob.bytes then
      return
    end
    vim.uv.fs_write(fd, blob.bytes, 0, function(_, written)
      vim.uv.fs_close(fd, function() end)
      if blobs[blob.id] ~= blob then
        vim.uv.fs_unlink(file_of(blob.id), function() end)
      elseif written == blob.size then
        blob.bytes = nil
      end
    end)
  end)
end

---@param bytes string
---@param secret boolean keep it off the disk
---@return integer id
function M.put(bytes, secret)
  newest = newest + 1
  local blob = { id = newest, size = #bytes, bytes = bytes, secret = secret }
  blobs[newest] = blob
  total, in_memory = total + blob.size, in_memory + blob.size
  while in_memory > MAX_MEMORY_BYTES and oldest_in_memory < newest do
    local old = blobs[oldest_in_memory]
    oldest_in_memory = oldest_in_memory + 1
    if old and not old.secret then
      in_memory = in_memory - old.size
      spill(old)
    end
  end
  return blob.id
end

---@param id? integer
---@return string? bytes nil: there is none, it was dropped, or the disk lost it
function M.get(id)
  local blob = id and blobs[id]
  if not id or not blob then
    return nil
  elseif blob.bytes then
    return blob.bytes
  end
  local bytes = require("claude-ide.file").read_now(file_of(id), blob.size)
  return bytes and #bytes == blob.size and bytes or nil
end

---@param id integer
function M.drop(id)
  local blob = blobs[id]
  if not blob then
    return
  end
  blobs[id] = nil
  total = total - blob.size
  if id >= oldest_in_memory or blob.secret then
    in_memory = in_memory - blob.size
  elseif folder then
    vim.uv.fs_unlink(file_of(id), function() end)
  end
end

---Whether old ones should be dropped.
---@return boolean
function M.is_full()
  return total > MAX_TOTAL_BYTES
end

---@return { total: integer, memory: integer, count: integer }
function M.counts()
  return { total = total, memory = in_memory, count = vim.tbl_count(blobs) }
end

return M
