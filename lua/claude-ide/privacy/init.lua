-- Which buffers Claude may be told of: real files that the person has not withheld.
-- A verdict about a name is remembered, so that the cursor moves without a look at the disk.
local M = {}

local api, uv = vim.api, vim.uv

---@alias claude-ide.privacy.Verdict
---| "tell" a file, not withheld
---| "private" a file that is withheld
---| "elsewhere" no file: a terminal, a help page, a folder, a buffer without a name

---@type table<string, claude-ide.privacy.Verdict> by buffer name
local verdicts = {}

---@class claude-ide.privacy.Deny
---@field glob string
---@field matches fun(text: string): boolean
---@field whole boolean compared with paths, not with names

---@type claude-ide.privacy.Deny[]?
local denies

---The deny globs, ready to match.
---@return claude-ide.privacy.Deny[]
local function compiled()
  if denies then
    return denies
  end
  denies = {}
  for _, glob in ipairs(require("claude-ide.config").get().selection.deny) do
    local expanded = glob:sub(1, 2) == "~/" and vim.fs.normalize(glob) or glob
    local matches, err = require("claude-ide.privacy.glob").compile(expanded)
    if matches then
      table.insert(denies, { glob = glob, matches = matches, whole = glob:find("/", 1, true) ~= nil })
    else
      require("claude-ide.ui.notice").warn(("selection.deny: %q withholds nothing: %s"):format(glob, err))
    end
  end
  return denies
end

---A path as seen from the innermost workspace folder that holds it, or as it is.
---@param path string absolute
---@return string
local function inside_workspace(path)
  local paths = require("claude-ide.path")
  local shortest = path
  for _, folder in ipairs(require("claude-ide.workspace").folders()) do
    local relative = paths.relative(path, folder)
    if #relative < #shortest then
      shortest = relative
    end
  end
  return shortest
end

---The glob that withholds a path, if one does. One without a `/` is compared with the file's name, one with a `/` with
---the path inside the workspace and with the whole path. Case does not count: it does not for every disk.
---@param path string absolute
---@return string? glob
local function denied_by(path)
  local name = vim.fs.basename(path)
  local relative ---@type string?
  for _, deny in ipairs(compiled()) do
    if not deny.whole then
      if deny.matches(name) then
        return deny.glob
      end
    else
      relative = relative or inside_workspace(path)
      if deny.matches(relative) or deny.matches(path) then
        return deny.glob
      end
    end
  end
  return nil
end

---Withheld files of the workspace that have further names, and when they were looked for.
---@type table<string, string>
local linked, linked_at = {}, nil ---@type table<string, string>, integer?

---Looking for them takes tens of milliseconds, and is done only where a file with several names is met.
local LOOK_AGAIN_MS, MAX_ENTRIES, MAX_DEPTH = 5000, 5000, 6
local NO_SOURCES = { [".git"] = true, node_modules = true, target = true }

---@param stat uv.fs_stat.result
---@return string
local function node_of(stat)
  return ("%d %d"):format(stat.dev, stat.ino)
end

---@return table<string, string> glob by file
local function linked_files()
  if linked_at and uv.now() - linked_at < LOOK_AGAIN_MS then
    return linked
  end
  linked, linked_at = {}, uv.now()
  local seen = 0
  for _, folder in ipairs(require("claude-ide.workspace").folders()) do
    local function enters(name)
      return not NO_SOURCES[vim.fs.basename(name)]
    end
    for name, kind in vim.fs.dir(folder, { depth = MAX_DEPTH, skip = enters }) do
      seen = seen + 1
      if seen > MAX_ENTRIES then
        return linked
      end
      local glob = kind == "file" and denied_by(folder .. "/" .. name)
      local stat = glob and uv.fs_stat(folder .. "/" .. name)
      if glob and stat and stat.nlink > 1 then
        linked[node_of(stat)] = glob
      end
    end
  end
  return linked
end

---The glob that withholds a path, the file behind a symbolic link, or another name of the file (a hard link) in the workspace.
---@param path string absolute
---@return string? glob
function M.denied_by(path)
  local glob = denied_by(path)
  if glob then
    return glob
  end
  local real = uv.fs_realpath(path)
  glob = real and real ~= path and denied_by(real) or nil
  local stat = real and not glob and uv.fs_stat(real)
  if stat and stat.type == "file" and stat.nlink > 1 then
    glob = linked_files()[node_of(stat)]
  end
  return glob
end

---Whether a file is withheld: by a glob, or by the buffer that holds it, which need not be loaded.
---@param path string absolute
---@return boolean
function M.withholds(path)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(path)
  return buf ~= nil and buffer.is_private(buf) or M.denied_by(path) ~= nil
end

---What may be told of a buffer.
---@param buf integer
---@return claude-ide.privacy.Verdict
function M.verdict(buf)
  if not api.nvim_buf_is_valid(buf) or vim.bo[buf].buftype ~= "" then
    return "elsewhere"
  end
  local name = api.nvim_buf_get_name(buf)
  local verdict = verdicts[name]
  if not verdict then
    if not require("claude-ide.path").is_plain(name) or vim.fn.isdirectory(name) == 1 then
      verdict = "elsewhere"
    else
      verdict = M.denied_by(name) and "private" or "tell"
    end
    verdicts[name] = verdict
  end
  if verdict == "tell" and require("claude-ide.buffer").is_private(buf) then
    return "private"
  end
  return verdict
end

---Forgets every verdict: the configuration, a link or the workspace may have changed.
function M.reset()
  verdicts, denies, linked_at = {}, nil, nil
end

return M
