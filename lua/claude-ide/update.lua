-- An update while Neovim runs. Modules are loaded when they are first used, so files of another version would mix with those
-- that run. Therefore all modules are read once the plugin is in use and their texts kept, a few at a time
-- while Neovim is idle; and a user whose files are no longer those is told, once, that Neovim has to be restarted.

local M = {}

---How long reading modules may hold the main loop, and how long it then leaves it alone.
local TICK_NS, GAP_MS = 4 * 1000 * 1000, 10
---At FocusGained the files are looked at no more often than this.
local LOOK_EVERY_MS = 5000

local MODULE = "claude-ide.update"
M.NOTICE = "claude-ide.nvim was updated on disk: restart Neovim to use it."

---@class claude-ide.update.File
---@field module string
---@field path string
---@field stamp string what the file was when it was first seen

---@type claude-ide.update.File[]? nil: not looked at yet
local files
local keeping, told = false, false
---@type number?
local looked_at

local function stamp_of(stat)
  return stat and require("claude-ide.buffer.stamp").key(stat) or "gone"
end

---@param prefix string of the modules in it
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
    collect(require("claude-ide.root").dir() .. "/lua/claude-ide", "claude-ide.", files)
    table.sort(files, function(left, right)
      return left.path < right.path
    end)
  end
  return files
end

---What `require` does where nothing is kept.
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

---Larger is no module.
local MAX_BYTES = 1024 * 1024

---@return string? text nil: it is not what it was, or cannot be read
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

---The file of texts that are kept, which has no name: it goes with this Neovim, nobody else can open or change it, and it takes none
---of this Neovim's own memory. false: there can be none, and they are kept in memory.
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

---Keeps a module as it is on disk now, for the `require` to come.
local function keep(file)
  local module = file.module
  if package.loaded[module] ~= nil or package.preload[module] ~= nil then
    return
  end
  local text = read(file)
  if not text then
    return M.tell()
  end
  -- Compiled now, while Neovim is idle: that is most of what loading takes.
  local chunk = loadstring(text, "@" .. file.path)
  local kept = keep_text(chunk and string.dump(chunk) or text)
  collectgarbage("step", 200) -- what was read of hundreds of modules else stays for long: 1.4 MiB
  package.preload[module] = function(...)
    package.preload[module] = nil
    -- The plugin was loaded anew (`:Lazy reload`): that is to be the one on disk.
    local own = package.loaded[MODULE] == M and kept()
    if not own then
      return load_from_disk(module)
    end
    return assert(loadstring(own, "@" .. file.path))(...)
  end
end

local function keep_some(from)
  local list, deadline = all_files(), vim.uv.hrtime() + TICK_NS
  for index = from, #list do
    if vim.uv.hrtime() > deadline then
      vim.defer_fn(function()
        keep_some(index)
      end, GAP_MS)
      return
    end
    keep(list[index])
  end
end

---Says that Neovim has to be restarted, unless that was said.
function M.tell()
  if not told then
    told = true
    vim.schedule(function()
      require("claude-ide.ui.notice").warn(M.NOTICE)
    end)
  end
end

---Whether the files on disk are others than those that run. Looks at all of them.
---@return boolean
function M.is_outdated()
  for _, file in ipairs(all_files()) do
    if stamp_of(vim.uv.fs_stat(file.path)) ~= file.stamp then
      return true
    end
  end
  return false
end

---Looks at the files, without waiting for a slow disk, and tells if they are others.
function M.look()
  if told or not files then
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

---Begins to look at the files when they may have changed. Cheap to call again.
function M.attach()
  if files then
    return
  end
  all_files()
  -- What it takes to tell of an update must not be of that update.
  require("claude-ide.ui.notice")
  require("claude-ide.ui.one_line")
  require("claude-ide.log")
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
  vim.api.nvim_create_autocmd("FocusGained", {
    group = group,
    callback = function()
      if not looked_at or vim.uv.now() - looked_at > LOOK_EVERY_MS then
        M.look()
      end
    end,
    desc = options.desc,
  })
end

---Keeps all of the plugin as it is now, once Neovim has nothing else to do. Cheap to call again.
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
