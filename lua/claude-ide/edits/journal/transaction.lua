-- Writes that this editor makes for Claude: file contents set, files created, moved and deleted, as one journal step.
-- Invariants: a landing is written completely, or the files are unchanged; each file's bytes are kept before.
local store = require("claude-ide.edits.journal.store")
local lazy = require("claude-ide.lazy")
local announce = lazy("claude-ide.edits.journal.announce")
local buffer = lazy("claude-ide.editor.buffer")
local clients = lazy("claude-ide.edits.journal.clients")
local format = lazy("claude-ide.editor.buffer.format")
local ide_file = lazy("claude-ide.base.file")
local journal_write = lazy("claude-ide.edits.journal.write")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local observe = lazy("claude-ide.edits.journal.observe")
local option = lazy("claude-ide.base.option")
local patch = lazy("claude-ide.editor.buffer.patch")
local shell = lazy("claude-ide.edits.journal.shell")

local M = {}

---No folder is newer than this, so `write` removes none.
local NEVER = 4503599627370496

---@class claude-ide.journal.Landing
---@field turn integer
---@field actor "accepted"|"claude" accepted: reviewed by the user
---@field files table<integer, true>
---@field done { path: string, bytes?: string, text?: claude-ide.journal.Unsaved, moved_to?: string, mode?: integer }[]

---A file that was moved.
---@class claude-ide.journal.Move
---@field from string
---@field to string
---@field digest? string of its contents at the end of the landing
---@field is_aside boolean only for another file to take its place; a later move goes on from there

---New text for a buffer with unsaved changes.
---@class claude-ide.journal.Unsaved
---@field buf integer
---@field lines string[]
---@field format claude-ide.buffer.Format

---Files that this editor moved, in order, by turn.
---@type table<integer, claude-ide.journal.Move[]>
local moved = {}

require("claude-ide.base.bus").on("turn_forgotten", function(turn)
  moved[turn] = nil
end)

local function bytes_of(path)
  return (ide_file.read_now(path, observe.MAX_BYTES))
end

---@param path string
---@return string? nil: no such file
local function digest(path)
  local bytes = bytes_of(path)
  return bytes and native.digest(bytes)
end

---@param client? integer
---@param reviewed boolean accepted by the user
---@return claude-ide.journal.Landing
function M.begin(client, reviewed)
  local turn = store.turn_alone(client or clients.NOBODY)
  return { turn = turn.id, actor = reviewed and "accepted" or "claude", files = {}, done = {} }
end

---Keeps what a file holds now, and its permissions; what is found in it from here on is this landing's.
---@param landing claude-ide.journal.Landing
---@param path string
---@param bytes? string
---@return claude-ide.journal.File
local function keep(landing, path, bytes)
  local name, real, secret = store.named(path)
  local opened = store.open(name, real, secret, bytes)
  local file, stat = opened.file, vim.uv.fs_stat(path)
  if not opened.is_new then
    store.note(file.id, bytes, "user")
  end
  store.set_mode(file.id, stat and stat.mode % 4096)
  store.set_links(file.id, stat and stat.nlink or 1)
  shell.user_wrote(path) -- no command of the turn's has
  store.set_landing(file.id, landing.actor, landing.turn)
  landing.files[file.id] = true
  return file
end

---@param path string
---@param bytes? string nil: there is to be no file
---@param mode? integer
---@return boolean? ok
---@return string? err
local function write(path, bytes, mode)
  if bytes and not buffer.loaded(path) then
    return journal_write.to_disk(path, bytes, mode)
  end
  return journal_write.through_buffer(path, bytes, mode, NEVER)
end

---Gives a file other contents.
---@param landing claude-ide.journal.Landing
---@param path string absolute
---@param bytes? string nil: there is to be no file
---@return boolean? ok
---@return string? err
function M.write(landing, path, bytes)
  local stat = vim.uv.fs_stat(path)
  local before = bytes_of(path)
  local file = keep(landing, path, before)
  table.insert(landing.done, { path = path, bytes = before, mode = stat and stat.mode % 4096 })
  local ok, err = write(path, bytes)
  if ok then
    observe.look_now(file)
  end
  return ok, err
end

---@param unsaved claude-ide.journal.Unsaved
local function set_text(unsaved)
  patch.set_text(unsaved.buf, unsaved.lines, unsaved.format)
end

---Sets the text of a buffer with unsaved changes. Saving it is left to the user.
---@param landing claude-ide.journal.Landing
---@param path string
---@param text claude-ide.journal.Unsaved
function M.write_unsaved(landing, path, text)
  local before = buffer.text(text.buf)
  local file = keep(landing, path, before)
  table.insert(landing.done, {
    path = path,
    text = {
      buf = text.buf,
      lines = vim.api.nvim_buf_get_lines(text.buf, 0, -1, false),
      format = format.of(text.buf),
    },
  })
  set_text(text)
  store.note(file.id, buffer.text(text.buf))
end

---Sets the text of a file that is not UTF-8, through its buffer: Neovim encodes it.
---@param landing claude-ide.journal.Landing
---@param path string
---@param text claude-ide.journal.Unsaved
---@return boolean? ok
---@return string? err
function M.write_encoded(landing, path, text)
  local before, stat = bytes_of(path), vim.uv.fs_stat(path)
  local file = keep(landing, path, before)
  table.insert(landing.done, { path = path, bytes = before, mode = stat and stat.mode % 4096 })
  set_text(text)
  local ok, err = journal_write.save(text.buf, text.format)
  if ok then
    observe.look_now(file)
  end
  return ok, err
end

---Moves a file's buffer along with its text and undo history, and notifies language servers.
---@param buf integer
---@param to string
---@return string? err
local function follow(buf, to)
  local old, fix = vim.api.nvim_buf_get_name(buf), vim.bo[buf].fixendofline
  vim.bo[buf].fixendofline = false
  local ok, err = pcall(option.without_events, "BufWritePre", function()
    vim.api.nvim_buf_call(buf, function()
      vim.cmd("silent keepalt keepjumps saveas! ++p " .. vim.fn.fnameescape(to))
    end)
  end)
  vim.bo[buf].fixendofline = fix
  -- `:saveas` leaves a buffer with the old name behind.
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    if other ~= buf and vim.api.nvim_buf_get_name(other) == old and not vim.api.nvim_buf_is_loaded(other) then
      pcall(vim.api.nvim_buf_delete, other, { force = true })
    end
  end
  return not ok and tostring(err) or nil
end

---Moves a file, and the buffer that shows it.
---@param from string
---@param to string
---@return boolean? ok
---@return string? err
local function move(from, to)
  local can, why = journal_write.make_folders(to)
  if not can then
    return nil, why
  end
  local buf = buffer.loaded(from)
  local ok, err = vim.uv.fs_rename(from, to)
  if not ok then
    return nil, err
  end
  err = buf and follow(buf, to) or nil
  return not err or nil, err
end

---Moves a file. What is at the new place goes.
---@param landing claude-ide.journal.Landing
---@param from string
---@param to string
---@param is_aside? boolean only for another file to take its place
---@return boolean? ok
---@return string? err
function M.move(landing, from, to, is_aside)
  local there, stat = bytes_of(to), vim.uv.fs_stat(to)
  local source, target = keep(landing, from, bytes_of(from)), keep(landing, to, there)
  if there then
    table.insert(landing.done, { path = to, bytes = there, mode = stat and stat.mode % 4096 })
  end
  table.insert(landing.done, { path = from, moved_to = to })
  local ok, err = move(from, to)
  if ok then
    observe.look_now(source)
    observe.look_now(target)
    local one = { from = from, to = to, digest = digest(to), is_aside = is_aside == true }
    moved[landing.turn] = vim.list_extend(moved[landing.turn] or {}, { one })
  end
  return ok, err
end

---Whether a moved file is still as its turn left it.
---@param one claude-ide.journal.Move
---@return boolean
local function is_as_left(one)
  local stat, buf = vim.uv.fs_lstat(one.to), buffer.loaded(one.to)
  return stat ~= nil
    and stat.type == "file"
    and one.digest ~= nil
    and one.digest == digest(one.to)
    and not (buf and vim.bo[buf].modified)
end

---Whether nothing is in a file's old place.
---@param path string
---@return boolean
local function is_free(path)
  return not vim.uv.fs_lstat(path) and not buffer.loaded(path)
end

---Moves a turn's moved files back, with their buffers, before their texts are undone. A file that has changed since is left: it is undone
---as a created and a deleted file.
---@param id integer
function M.move_back(id)
  local turn = store.turn(id)
  local moves = moved[id] or {}
  local function holds(one)
    return one.is_aside or is_as_left(one)
  end
  if vim.iter(moves):any(function(one)
    return one.is_aside
  end) and not vim.iter(moves):all(holds) then
    moves = {} -- or a file would be left aside
  end
  for i = #moves, 1, -1 do
    local one = moves[i]
    local source, target = store.find(one.to), store.find(one.from)
    if turn and source and target and is_as_left(one) and is_free(one.from) then
      local files = { source, target }
      for _, file in ipairs(files) do
        -- An undo: changes of earlier turns are Claude's again.
        store.undo(file.id, tostring(id), "recorded")
        store.set_undoing(file.id, true)
      end
      local ok, err = move(one.to, one.from)
      if not ok then
        log.warn("%s could not be moved back: %s", one.to, err)
      end
      for _, file in ipairs(files) do
        observe.look_now(file)
        store.set_undoing(file.id, false)
        shell.user_wrote(file.path) -- no command of the turn's has
      end
      journal_write.remove_folders(one.to, turn.started)
    end
  end
  moved[id] = nil
end

---Ends the landing: later writes belong to others.
---@param landing claude-ide.journal.Landing
function M.finish(landing)
  local written = {} ---@type table<string, true>
  for _, done in ipairs(landing.done) do
    written[done.path] = true
  end
  -- Files moved by an earlier landing of the turn may have been changed by the user since.
  for _, one in ipairs(moved[landing.turn] or {}) do
    if not one.digest or written[one.to] then
      one.digest = digest(one.to)
    end
  end
  for id in pairs(landing.files) do
    store.set_landing(id)
  end
  announce.tell()
end

---Keeps files that another program is about to write for this landing.
---@param landing claude-ide.journal.Landing
---@param paths string[] without those that are too large to be kept (`can_keep`)
function M.expect(landing, paths)
  for _, path in ipairs(paths) do
    local bytes, stat = bytes_of(path), vim.uv.fs_stat(path)
    keep(landing, path, bytes)
    table.insert(landing.done, { path = path, bytes = bytes, mode = stat and stat.mode % 4096 })
  end
end

---Whether a file is there and can be kept, or is not there.
---@param path string
---@return boolean
function M.can_keep(path)
  return bytes_of(path) ~= nil or vim.uv.fs_lstat(path) == nil
end

---Records what the other program has written. Some files get back what they held.
---@param landing claude-ide.journal.Landing
---@param spared table<string, true> paths
---@return string[] problems files that could not be restored
function M.came(landing, spared)
  local problems = {}
  for _, step in ipairs(landing.done) do
    if spared[step.path] and bytes_of(step.path) ~= step.bytes then
      local ok, err = write(step.path, step.bytes, step.mode)
      problems[#problems + 1] = not ok and ("%s: %s"):format(step.path, err or "unknown") or nil
    end
  end
  for id in pairs(landing.files) do
    local file = store.file(id)
    if file then
      observe.look_now(file)
    end
  end
  M.finish(landing)
  return problems
end

---Restores everything after a failed write.
---@param landing claude-ide.journal.Landing
---@return string[] problems files that could not be restored
function M.take_back(landing)
  local problems = {}
  for i = #landing.done, 1, -1 do
    local step, ok, err = landing.done[i], true, nil ---@type table, boolean?, string?
    if step.text then
      set_text(step.text)
      local file = store.find(step.path)
      if file then
        store.note(file.id, buffer.text(step.text.buf))
      end
    elseif step.moved_to then
      if vim.uv.fs_stat(step.moved_to) and not vim.uv.fs_stat(step.path) then
        ok, err = move(step.moved_to, step.path)
      end
    elseif bytes_of(step.path) ~= step.bytes then
      ok, err = write(step.path, step.bytes, step.mode)
    end
    for _, path in ipairs({ step.path, step.moved_to }) do
      local file = store.find(path)
      if file and not step.text then
        observe.look_now(file)
      end
    end
    if not ok then
      problems[#problems + 1] = ("%s: %s"):format(step.path, err or "unknown")
    end
  end
  M.finish(landing)
  return problems
end

return M
