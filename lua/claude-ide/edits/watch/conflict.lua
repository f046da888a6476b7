-- Conflicts: a file changes on disk while its buffer has unsaved changes. The user is notified once and decides later.
-- Invariant: neither the buffer nor the file is written before the user has chosen.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_disk = lazy("claude-ide.editor.buffer.disk")
local buffer_format = lazy("claude-ide.editor.buffer.format")
local bus = lazy("claude-ide.base.bus")
local choose = lazy("claude-ide.ui.choose")
local expected_write = lazy("claude-ide.edits.watch.expected_write")
local file = lazy("claude-ide.base.file")
local ide_merge = lazy("claude-ide.editor.merge")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local patch = lazy("claude-ide.editor.buffer.patch")
local path = lazy("claude-ide.base.path")
local stamp = lazy("claude-ide.editor.buffer.stamp")
local winbar = lazy("claude-ide.ui.winbar")
local window = lazy("claude-ide.base.window")

local M = {}

---@param buf integer the user's buffer, for encoding and syntax
---@param words string the version's name
---@param bytes string
---@return integer
local function scratch(buf, words, bytes)
  local lines = buffer_disk.decode(buf, bytes)
  lines = lines or vim.split(bytes:gsub("\n$", ""), "\n", { plain = true })
  for i, line in ipairs(lines) do
    lines[i] = line:gsub("\n", "\0")
  end
  return own_buffer.create({
    kind = "conflict",
    name = { vim.api.nvim_buf_get_name(buf), words },
    lines = lines,
    bo = { bufhidden = "wipe", modifiable = false, syntax = vim.bo[buf].filetype },
  })
end

---`do` and `dp` alone fail with E101 for three buffers: map them to mine and the disk's.
---@param buf integer mine
---@param disk integer the disk's
---@return fun() unmap
local function map_keys(buf, disk)
  vim.keymap.set("n", "dp", function()
    vim.cmd("diffput " .. buf)
  end, { buffer = disk, desc = "Claude: put this change into my version" })
  local before = vim.api.nvim_buf_call(buf, function()
    return vim.fn.maparg("do", "n", false, true)
  end)
  if before.buffer == 1 then
    return function() end -- the user's own
  end
  vim.keymap.set("n", "do", function()
    vim.cmd("diffget " .. disk)
  end, { buffer = buf, desc = "Claude: take this change from disk" })
  return function()
    pcall(vim.keymap.del, "n", "do", { buffer = buf })
  end
end

---The user has compared what is written in this view, so `:write` does not prompt. It does if the disk has changed by then, or if the
---view was left without a write.
---@param buf integer mine
---@param tab integer
---@param group integer
local function ask_nothing(buf, tab, group)
  local seen = stamp.key_now(buf)
  vim.api.nvim_create_autocmd("BufWritePre", {
    group = group,
    buffer = buf,
    nested = true, -- `agree` itself is a write
    desc = "Claude: suppress prompts for a compared text",
    callback = function()
      if seen and vim.api.nvim_get_current_tabpage() == tab and stamp.key_now(buf) == seen then
        seen = nil
        stamp.agree(buf)
        vim.bo[buf].modified = true -- until written
      end
    end,
  })
end

---Ends diff mode before the windows close, so that its options do not stay with the user's buffer.
---@param tab integer
---@param unmap fun()
---@return integer group deleted with the tab page
local function diffoff_when_closed(tab, unmap)
  local group = vim.api.nvim_create_augroup("claude-ide.watch.three_way." .. tab, { clear = true })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    desc = "Claude: end the three-way view",
    callback = function(event)
      local win = tonumber(event.match) --[[@as integer]]
      if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_tabpage(win) == tab then
        vim.api.nvim_win_call(win, function()
          vim.cmd("diffoff")
        end)
      end
    end,
  })
  vim.api.nvim_create_autocmd("TabClosed", {
    group = group,
    desc = "Claude: note that the three-way view has closed",
    callback = vim.schedule_wrap(function()
      -- Later: a closing tab page is still valid.
      if not vim.api.nvim_tabpage_is_valid(tab) and pcall(vim.api.nvim_del_augroup_by_id, group) then
        unmap()
      end
    end),
  })
  return group
end

---Shows base, mine and the disk's text side by side in a tab page. "Mine" is the user's own buffer: `:w` there resolves the conflict.
---@param buf integer
---@param base? string nil: unknown, the view has two sides
---@param theirs string
local function compare(buf, base, theirs)
  vim.cmd("tab split")
  vim.api.nvim_set_current_buf(buf)
  local mine = vim.api.nvim_get_current_win()
  local sides = { { "on disk", theirs, "belowright vsplit" } } ---@type string[][]
  if base then
    table.insert(sides, { "before both", base, "aboveleft vsplit" })
  end
  local disk ---@type integer
  winbar.hold(mine, "mine (edit here, then :w)")
  for _, side in ipairs(sides) do
    window.enter(mine)
    vim.cmd(side[3])
    local win = vim.api.nvim_get_current_win()
    local shown = scratch(buf, side[1], side[2])
    vim.api.nvim_win_set_buf(win, shown)
    disk = side[1] == "on disk" and shown or disk
    winbar.hold(win, side[1])
    vim.cmd("diffthis")
  end
  window.enter(mine)
  vim.cmd("diffthis")
  local tab = vim.api.nvim_get_current_tabpage()
  ask_nothing(buf, tab, diffoff_when_closed(tab, map_keys(buf, disk)))
end

---Limit for the three-way view's base.
local MAX_BYTES = 4 * 1024 * 1024

---@class claude-ide.watch.Conflict
---@field base? string the file before the user changed the buffer
---@field open? boolean reported, not decided yet

---@type table<integer, claude-ide.watch.Conflict>
local conflicts = {}

---@param buf integer
function M.forget(buf)
  local entry = conflicts[buf]
  conflicts[buf] = nil
  if entry and entry.open then
    bus.emit("conflict_over", buf)
  end
end

---The file's text before the user changed its buffer, if known.
---@param buf integer
---@return string?
function M.base(buf)
  return conflicts[buf] and conflicts[buf].base
end

---Keeps the disk's text when a buffer is first modified: only then are both known to be equal.
---@param buf integer
function M.modified_set(buf)
  if not vim.bo[buf].modified then
    return M.forget(buf)
  elseif conflicts[buf] then
    return
  end
  local entry = {}
  conflicts[buf] = entry
  file.read_later(vim.api.nvim_buf_get_name(buf), MAX_BYTES, function(bytes)
    if not vim.api.nvim_buf_is_loaded(buf) or entry.open then
      return
    elseif stamp.is_conflict(buf) then
      return M.consider(buf) -- the user typed as a change was about to be taken over
    end
    entry.base = bytes
  end)
end

---Restarts with the disk's current text as the base of the unsaved text.
---@param buf integer modified
---@param bytes? string of it; nil: it is read
function M.rebase(buf, bytes)
  M.forget(buf)
  if bytes then
    conflicts[buf] = { base = bytes }
  end
  M.modified_set(buf)
end

---Keeps the user's text: the next `:w` overwrites the disk's without a prompt, and a later merge takes nothing of the present one.
---@param buf integer
---@param theirs? string on disk; nil: it is read
local function keep_mine(buf, theirs)
  stamp.agree(buf)
  vim.bo[buf].modified = true
  M.rebase(buf, theirs)
end

---Checks a change on disk of a modified buffer's file, and notifies the user if it matters.
---@param buf integer
function M.consider(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if expected_write.includes(name) then
    return -- the user accepted this change over their unsaved text
  end
  file.read_later(name, MAX_BYTES, function(bytes, _, stat)
    if not vim.api.nvim_buf_is_loaded(buf) then
      return
    end
    if not vim.bo[buf].modified then
      buffer_disk.reload_all({ buf }, function() end)
      return
    elseif not stamp.is_conflict(buf) then
      return
    elseif stat and file.key(stat) ~= stamp.key_now(buf) then
      return M.consider(buf) -- it was written since it was read
    elseif bytes and buffer.text(buf) == bytes then
      stamp.agree(buf)
      return M.forget(buf)
    end
    local entry = conflicts[buf] or {}
    conflicts[buf] = entry
    if bytes and entry.base == bytes then
      return keep_mine(buf, bytes) -- it was only touched, or is back
    elseif entry.open then
      return
    end
    entry.open = true
    notice.warn(one_line.of_file(name, {
      "%s changed on disk, and you have unsaved changes. `:Claude resolve` "
        .. (
          entry.base and "merges them, keeps yours or takes the disk's." or "keeps yours or takes the disk's."
        ),
      "%s changed on disk, and you have unsaved changes: `:Claude resolve`",
      "`:Claude resolve`: %s changed on disk",
    }))
  end)
end

---Buffers with unsaved changes whose file has changed on disk.
---@return integer[]
function M.list()
  local bufs = {}
  for buf, entry in pairs(conflicts) do
    if entry.open and vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].modified then
      bufs[#bufs + 1] = buf
    end
  end
  table.sort(bufs)
  return bufs
end

---Takes the disk's text; `u` brings the user's back.
---@param buf integer
---@return boolean? ok
---@return string? err
local function take_theirs(buf)
  vim.bo[buf].modified = false
  local _, why_not = buffer_disk.reload(buf)
  if why_not then
    vim.bo[buf].modified = true
    return nil, ("%s could not be reloaded: %s"):format(vim.api.nvim_buf_get_name(buf), why_not)
  end
  M.forget(buf)
  return true
end

---Merges both texts if they changed different lines.
---@param buf integer
---@param theirs string on disk
---@return string[]? merged nil: not possible
---@return string? err
local function merge(buf, theirs)
  local base = conflicts[buf].base
  local before = base and buffer_disk.decode(buf, base)
  local disk = buffer_disk.decode(buf, theirs)
  if not before or not disk then
    return nil, "The text before both changes is not known."
  end
  local mine = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local merged, overlaps = ide_merge.three_way(before, mine, disk)
  if overlaps > 0 then
    return nil, "You and the disk have changed the same lines: `:Claude resolve compare` shows them."
  end
  return merged, nil
end

---@param buf integer
---@param theirs string
---@return boolean? ok
---@return string? err
local function take_both(buf, theirs)
  local merged, err = merge(buf, theirs)
  if not merged then
    return nil, err
  end
  local format = buffer_format.of(buf)
  format.empty = false
  patch.set_text(buf, merged, format)
  keep_mine(buf, theirs)
  return true
end

---@alias claude-ide.watch.Choice "mine"|"theirs"|"merge"|"compare"

---Resolves one buffer's conflict.
---@param buf integer
---@param choice claude-ide.watch.Choice
---@return boolean? ok
---@return string? err
function M.decide(buf, choice)
  if not vim.api.nvim_buf_is_loaded(buf) or not conflicts[buf] then
    return nil, "There is nothing to resolve in this file."
  elseif choice == "mine" then
    keep_mine(buf)
    return true
  elseif choice == "theirs" then
    return take_theirs(buf)
  end
  local theirs, why_not = file.read_now(vim.api.nvim_buf_get_name(buf), MAX_BYTES)
  if not theirs then
    return nil, "The file cannot be shown: " .. why_not
  end
  if choice == "merge" then
    return take_both(buf, theirs)
  end
  compare(buf, conflicts[buf].base, theirs)
  return true
end

---@param buf integer
---@return claude-ide.watch.Choice[] best first
local function choices(buf)
  local theirs = file.read_now(vim.api.nvim_buf_get_name(buf), MAX_BYTES)
  local both = theirs and merge(buf, theirs) and { "merge" } or {}
  return vim.list_extend(both, { "mine", "theirs", "compare" })
end

local LABELS = {
  merge = "Merge both (no line conflicts)",
  mine = "Keep mine (the next :w overwrites the file)",
  theirs = "Take the version on disk (u restores mine)",
  compare = "Compare them with their base, side by side",
}

local WITHOUT_BASE = "Compare them, side by side"

---Resolves the current buffer's conflict, else the first open one; without a choice, asks with `vim.ui.select`.
---@param choice? claude-ide.watch.Choice
---@return boolean? ok
---@return string? err
function M.resolve(choice)
  local waiting, current = M.list(), vim.api.nvim_get_current_buf()
  local buf = vim.tbl_contains(waiting, current) and current or waiting[1]
  if not buf then
    return nil, "No file with unsaved changes has changed on disk."
  elseif choice then
    return M.decide(buf, choice)
  end
  local name = path.short(vim.api.nvim_buf_get_name(buf))
  choose.select(choices(buf), {
    prompt = name .. " changed on disk",
    format_item = function(item)
      return item == "compare" and not M.base(buf) and WITHOUT_BASE or LABELS[item]
    end,
  }, function(picked)
    if picked then
      local ok, err = M.decide(buf, picked)
      if not ok then
        notice.warn(err or "The conflict was not resolved.")
      end
    end
  end)
  return true
end

return M
