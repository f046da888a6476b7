-- Handles an update of the plugin's files while Neovim runs. Modules are loaded on first use, so versions would mix. Therefore all
-- modules are read into a cache while Neovim is idle, a few at a time; and if the files have changed, a notice asks once to restart
-- Neovim.

local lazy = require("claude-ide.lazy")
local ide_file = lazy("claude-ide.base.file")
local notice = lazy("claude-ide.base.notice")
local root = lazy("claude-ide.base.root")
local soon = lazy("claude-ide.base.soon")

local M = {}

---Time slice for reading modules, and the pause after it. Not by base/slice.lua: that may be of the update already.
local TICK_NS, GAP_MS = 4 * 1000 * 1000, 10
---Size of a step of the garbage collector.
local STEP_KIB = 800
---Minimum interval of checks at FocusGained; one within it is made at its end.
local LOOK_EVERY_MS = 5000

local MODULE = "claude-ide.library.update"
local NOTICE = "claude-ide.nvim was updated on disk: restart Neovim to use it."

---@class claude-ide.update.File
---@field module string
---@field path string
---@field stamp string state of the file when first seen

---@type claude-ide.update.File[]? nil: not listed yet
local files
local keeping, is_notified = false, false
---@type number?
local looked_at

local function stamp_of(stat)
  return ide_file.key(stat) or "gone"
end

---@param prefix string of module names
---@param found claude-ide.update.File[]
local function collect(folder, prefix, found)
  for name, kind in vim.fs.dir(folder) do
    local path = folder .. "/" .. name
    if kind == "directory" then
      collect(path, prefix .. name .. ".", found)
    elseif name:sub(-4) == ".lua" then
      local module = name == "init.lua" and prefix:sub(1, -2) or prefix .. name:sub(1, -5)
      found[#found + 1] = { module = module, path = path, stamp = stamp_of(vim.uv.fs_stat(path)) }
    end
  end
end

---@return claude-ide.update.File[]
local function all_files()
  if not files then
    files = {}
    collect(root.dir() .. "/lua/claude-ide", "claude-ide.", files)
    table.sort(files, function(left, right)
      return left.path < right.path
    end)
  end
  return files
end

---`require` without the cache.
local function load_from_disk(module)
  local tried = {}
  for index = 2, #package.loaders do
    local loader = package.loaders[index](module)
    if type(loader) == "function" then
      return loader(module)
    end
    tried[#tried + 1] = loader
  end
  error(("module '%s' not found:%s"):format(module, table.concat(tried)), 0)
end

---Maximum size of a module.
local MAX_BYTES = 1024 * 1024

---@return string? text nil: changed, or unreadable
local function read(file)
  local fd = vim.uv.fs_open(file.path, "r", 0)
  if not fd then
    return nil
  end
  local same = stamp_of(vim.uv.fs_fstat(fd)) == file.stamp
  local text = same and vim.uv.fs_read(fd, MAX_BYTES, 0) or nil
  vim.uv.fs_close(fd)
  return text
end

---An unnamed file with the cached modules: deleted with this Neovim, inaccessible to others, and outside of Neovim's memory. false: it
---cannot be created, and they are cached in memory.
---@type integer|false|nil
local fd
local size = 0

---@return integer|false
local function open()
  if fd == nil then
    local path = vim.fn.tempname()
    fd = vim.uv.fs_open(path, "wx+", 384) or false -- 0600
    if fd then
      vim.uv.fs_unlink(path)
    end
  end
  return fd
end

---@return fun(): string? read
local function keep_text(text)
  local file, at = open(), size
  if not file or vim.uv.fs_write(file, text, at) ~= #text then
    return function()
      return text
    end
  end
  local length = #text
  size = size + length
  return function()
    local kept = vim.uv.fs_read(file, length, at)
    return kept and #kept == length and kept or nil
  end
end

local function is_changed(file)
  return stamp_of(vim.uv.fs_stat(file.path)) ~= file.stamp
end

---Caches a module as it is on disk, for a later `require`.
local function keep(file)
  local module = file.module
  if package.loaded[module] ~= nil or package.preload[module] ~= nil then
    return
  end
  local text = read(file)
  if not text then
    if is_changed(file) then
      M.tell()
    end
    return
  end
  -- Compile now, while idle: that is most of the time of loading.
  local chunk = loadstring(text, "@" .. file.path)
  local kept = keep_text(chunk and string.dump(chunk) or text)
  package.preload[module] = function(...)
    package.preload[module] = nil
    -- After a reload (`:Lazy reload`) use the version on disk.
    local own = package.loaded[MODULE] == M and kept()
    if not own then
      return load_from_disk(module)
    end
    return assert(loadstring(own, "@" .. file.path))(...)
  end
end

---Frees what compiling has left, in steps of less than 1 ms: else 1.4 MiB of garbage stays for long. The collector's first cycle may
---have begun before, the second finds all of it.
---@param cycles integer
local function collect_garbage(cycles)
  local left = collectgarbage("step", STEP_KIB) and cycles - 1 or cycles
  if left > 0 then
    vim.defer_fn(function()
      collect_garbage(left)
    end, GAP_MS)
  end
end

local function keep_some(from)
  local list, deadline = all_files(), vim.uv.hrtime() + TICK_NS
  for index = from, #list do
    if vim.uv.hrtime() > deadline then
      collectgarbage("step", STEP_KIB)
      vim.defer_fn(function()
        keep_some(index)
      end, GAP_MS)
      return
    end
    keep(list[index])
  end
  collect_garbage(2)
end

---Asks once to restart Neovim.
function M.tell()
  if not is_notified then
    is_notified = true
    vim.schedule(function()
      notice.warn(NOTICE)
    end)
  end
end

---Whether any file on disk has changed. Checks all of them.
---@return boolean
function M.is_outdated()
  for _, file in ipairs(all_files()) do
    if is_changed(file) then
      return true
    end
  end
  return false
end

---Checks the files asynchronously, and notifies if one has changed.
function M.look()
  if is_notified or not files then
    return
  end
  looked_at = vim.uv.now()
  for _, file in ipairs(files) do
    vim.uv.fs_stat(file.path, function(_, stat)
      if stamp_of(stat) ~= file.stamp then
        vim.schedule(M.tell)
      end
    end)
  end
end

---Starts checking at events that may follow an update. Idempotent.
function M.attach()
  if files then
    return
  end
  all_files()
  -- Modules needed to report an update must not be from that update.
  require("claude-ide.base.notice")
  require("claude-ide.base.one_line")
  require("claude-ide.base.log")
  local group = vim.api.nvim_create_augroup(MODULE, { clear = true })
  local options =
    { group = group, callback = M.look, desc = "Claude Code: see whether the plugin was updated" }
  vim.api.nvim_create_autocmd(
    "User",
    vim.tbl_extend("error", options, {
      pattern = { "LazyUpdate", "LazySync", "LazyRestore", "PackerComplete", "ClaudeConnected" },
    })
  )
  if vim.fn.exists("##PackChanged") == 1 then
    vim.api.nvim_create_autocmd("PackChanged", options)
  end
  local look_later = soon(M.look, LOOK_EVERY_MS)
  vim.api.nvim_create_autocmd("FocusGained", {
    group = group,
    callback = function()
      if not looked_at or vim.uv.now() - looked_at > LOOK_EVERY_MS then
        M.look()
      else
        look_later()
      end
    end,
    desc = options.desc,
  })
end

---Caches all modules once Neovim is idle. Idempotent.
function M.keep()
  if keeping then
    return
  end
  keeping = true
  vim.schedule(function()
    M.attach()
    keep_some(1)
  end)
end

return M
