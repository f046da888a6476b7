-- Undoes changes of a turn that the journal does not track (untracked.lua), from the turn's checkpoints.
-- Invariant: only files that are still as the turn left them are restored.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local checkpoints = lazy("claude-ide.edits.journal.checkpoints")
local file = lazy("claude-ide.base.file")
local paths = lazy("claude-ide.base.path")
local shell = lazy("claude-ide.edits.journal.shell")
local untracked = lazy("claude-ide.edits.journal.untracked")
local write = lazy("claude-ide.edits.journal.write")

local M = {}

---Files whose contents are requested from git at a time.
local PORTION = 40

local EXECUTE, READ = 73, 292 -- 0111, 0444

---@param mode string
---@return "none"|"link"|"file"
local function kind_of(mode)
  return mode == "000000" and "none" or mode:sub(1, 3) == "120" and "link" or "file"
end

local function is_executable(mode)
  return bit.band(tonumber(mode:sub(4), 8) or 0, EXECUTE) ~= 0
end

local function set_executable(path, mode)
  local stat = vim.uv.fs_stat(path)
  if stat then
    local now = stat.mode % 4096
    local wanted = is_executable(mode) and bit.bor(now, bit.rshift(bit.band(now, READ), 2))
      or bit.band(now, bit.bnot(EXECUTE))
    if wanted ~= now then
      vim.uv.fs_chmod(path, wanted)
    end
  end
end

---Whether a file is still as the turn left it.
---@param item claude-ide.journal.Rest
---@param new? string contents
---@return boolean
local function is_untouched(item, new)
  local stat, kind = vim.uv.fs_lstat(item.path), kind_of(item.new_mode)
  if item.mode_only then
    return stat ~= nil
      and stat.type == "file"
      and (bit.band(stat.mode, EXECUTE) ~= 0) == is_executable(item.new_mode)
  elseif kind == "none" or not stat then
    return kind == "none" and not stat
  elseif kind ~= stat.type or not new then
    return false
  elseif kind == "link" then
    return vim.uv.fs_readlink(item.path) == new
  end
  return file.read_now(item.path, #new) == new
end

---Why nothing may be written in the place of an item: git follows no link to a file, and neither does an undo.
---@param item claude-ide.journal.Rest
---@return string? words
local function obstacle(item)
  local folder = vim.fs.dirname(item.path)
  local top = item.path:sub(1, -#item.name - 2)
  local stat = vim.uv.fs_lstat(item.path)
  if paths.real(folder) ~= paths.normalize(paths.real(top) .. folder:sub(#top + 1)) then
    return "a symbolic link has taken the place of its folder, so it stays"
  elseif stat and stat.type == "file" and stat.nlink > 1 then
    return "it has another name now (a hard link), so it stays"
  end
end

---@param item claude-ide.journal.Rest
---@param old? string contents
---@param new? string contents
---@param since integer seconds since the epoch: when the turn began
---@return boolean? ok
---@return string? err
local function put_back(item, old, new, since)
  local stays = obstacle(item)
  if stays then
    return nil, stays
  elseif not is_untouched(item, new) then
    return nil, "you have changed it since, so it stays"
  elseif item.mode_only then
    set_executable(item.path, item.old_mode)
    return true
  end
  local kind, was = kind_of(item.old_mode), kind_of(item.new_mode)
  if kind ~= "none" and not old then
    return nil, "its previous state is no longer known"
  elseif was == "link" or kind == "link" then
    local ok, err = write.replace(item.path, kind == "link" and old or nil, since)
    if not ok or kind ~= "file" then
      return ok, err
    end
  end
  local ok, err
  if kind == "none" or buffer.loaded(item.path) then
    ok, err = write.through_buffer(item.path, kind == "file" and old or nil, nil, since)
  else
    ok, err = write.to_disk(item.path, old --[[@as string]])
  end
  if ok and kind == "file" then
    set_executable(item.path, item.old_mode)
  end
  return ok, err
end

---@param items claude-ide.journal.Rest[]
---@param done fun(old: table<string, string>, new: table<string, string>) by name
local function read(items, done)
  local old, new = {}, {}
  for _, item in ipairs(items) do
    if not item.mode_only then
      old[#old + 1] = kind_of(item.old_mode) ~= "none" and { blob = item.blob, name = item.name } or nil
      new[#new + 1] = kind_of(item.new_mode) ~= "none" and { blob = item.new_blob, name = item.name } or nil
    end
  end
  local folder = items[1].folder
  checkpoints.read(folder, old, function(before)
    checkpoints.read(folder, new, function(after)
      done(before, after)
    end)
  end)
end

---Undoes the changes in portions. Each is tried once, with or without success.
---@param turn integer
---@param since integer seconds since the epoch: when the turn began
---@param pace fun(step: fun(): boolean) calls the step until it returns false, and lets keys be read in between
---@param result fun(result: claude-ide.journal.Undone)
---@param done fun()
function M.undo(turn, since, pace, result, done)
  local items = untracked.items(turn)
  table.sort(items, function(a, b)
    return a.path < b.path
  end)
  local at = 1
  local function portion()
    local these = vim.list_slice(items, at, at + PORTION - 1)
    -- One repository at a time.
    while #these > 1 and these[#these].folder ~= these[1].folder do
      these[#these] = nil
    end
    at = at + #these
    if #these == 0 then
      return done()
    end
    read(these, function(old, new)
      local i = 0
      pace(function()
        i = i + 1
        local item = these[i]
        if not item then
          portion()
          return false
        end
        local ok, err = put_back(item, old[item.name], new[item.name], since)
        if ok then
          shell.user_wrote(item.path)
        end
        -- A `<C-c>` may end the reading of a portion: what could not be read is tried again when it is asked for again.
        if ok or item.mode_only or kind_of(item.new_mode) == "none" or new[item.name] then
          untracked.remove(turn, item)
        end
        result({ path = item.path, ok = ok == true, err = err, left = 0 })
        return true
      end)
    end)
  end
  portion()
end

return M
