-- What undos in a review have made of files, by state of the buffer's undo tree: what `u` and CTRL-R bring back is written, too. A file
-- that such an undo has deleted is made again, one that it has made again is deleted; of a move, both.
-- Invariant: only texts that the file had before are written, and only if no one else has changed it.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local file = lazy("claude-ide.base.file")
local format = lazy("claude-ide.editor.buffer.format")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local journal = lazy("claude-ide.edits.journal")
local journal_undo = lazy("claude-ide.edits.journal.undo")
local log = lazy("claude-ide.base.log")
local observe = lazy("claude-ide.edits.journal.observe")
local patch = lazy("claude-ide.editor.buffer.patch")
local paths = lazy("claude-ide.base.path")
local stamp = lazy("claude-ide.editor.buffer.stamp")
local write = lazy("claude-ide.edits.journal.write")

local M = {}

local GROUP = "claude-ide.review.again"

---@class claude-ide.review.Written
---@field text string
---@field format claude-ide.buffer.Format
---@field mode? integer permissions; nil: there was no file
---@field since integer seconds since the epoch: an undo has made or deleted the file's folders since
---@field before? claude-ide.buffer.Format|"none" what an undo has changed of which the undo tree knows nothing: the format, or that there was no file
---@field was? claude-ide.review.Gone of a file that is gone

---@class claude-ide.review.Gone
---@field file claude-ide.review.Written what it was
---@field state integer of the undo tree
---@field by_u boolean `u` has deleted it

---A move of Claude's that an undo has taken back.
---@class claude-ide.review.Move
---@field from string
---@field to string
---@field bytes string
---@field mode? integer
---@field since integer seconds since the epoch
---@field scope claude-ide.journal.Scope
---@field is_undone boolean false: `u` has moved the file again

---@type table<string, claude-ide.review.Move> by either path
local moves = {}

---@type table<integer, table<integer, claude-ide.review.Written>> by buffer: undo tree state → the file at that state
local written = {}

---The state that each was in last.
---@type table<integer, integer?>
local latest = {}

---@param buf integer
---@return integer state of the undo tree
local function state_of(buf)
  return vim.api.nvim_buf_call(buf, function()
    return vim.fn.undotree().seq_cur
  end)
end

---@param buf integer
---@return string
local function text_of(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
end

---@param path string
---@return integer? permissions; nil: no file
local function mode_of(path)
  local stat = vim.uv.fs_stat(path)
  return stat and stat.mode % 4096
end

---Whether `u` can take back what was done in a buffer, as long as that stays loaded.
---@param buf integer
---@return boolean
function M.has_history(buf)
  return written[buf] ~= nil
end

---What was written of a buffer in the state that it has now.
---@param buf integer
---@return claude-ide.review.Written?
local function written_now(buf)
  local known = written[buf] and written[buf][state_of(buf)]
  return known and known.text == text_of(buf) and known or nil
end

---@param buf integer
---@param since integer
---@return claude-ide.review.Written
local function now(buf, since)
  local mode = mode_of(vim.api.nvim_buf_get_name(buf))
  return { text = text_of(buf), format = format.as_read(buf), mode = mode, since = since }
end

---@param buf integer
---@param known claude-ide.review.Written
---@return boolean? ok
---@return string? err
local function write_as(buf, known)
  patch.set_format(buf, known.format)
  local ok, err = write.save(buf, known.format, known.mode)
  if not ok then
    log.warn("what `u` brought back was not written: %s", err)
  end
  return ok, not ok and ("It could not be written: %s"):format(err) or nil
end

---@param path string
---@return integer? buf loaded, unmodified
local function unmodified(path)
  local buf = buffer.loaded(path)
  return buf and not vim.bo[buf].modified and buf or nil
end

local follow ---@type fun(buf: integer)

---@param buf integer
---@param state integer of the undo tree
---@param known claude-ide.review.Written
local function note(buf, state, known)
  latest[buf] = state
  if written[buf] then
    written[buf][state] = known
    return
  end
  written[buf] = { [state] = known }
  local group = vim.api.nvim_create_augroup(("%s.%d"):format(GROUP, buf), { clear = true })
  vim.api.nvim_create_autocmd("TextChanged", {
    group = group,
    buffer = buf,
    nested = true, -- the journal and others follow what is written
    desc = "Claude Code: write the result of `u` after an undo",
    callback = function()
      follow(buf)
    end,
  })
  vim.api.nvim_create_autocmd({ "BufUnload", "BufWipeout" }, {
    group = group,
    buffer = buf,
    desc = "Claude Code: forget the history of a buffer with its text",
    callback = function()
      written[buf], latest[buf] = nil, nil
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end,
  })
end

---Runs an undo in a file, and records the texts before and after.
---@generic T
---@param path string
---@param undo fun(): T?, string?, integer?
---@return T?
---@return string?
---@return integer?
function M.around(path, undo)
  local buf, since = unmodified(path), os.time()
  local was_there = vim.uv.fs_stat(path) ~= nil
  local state, before ---@type integer?, claude-ide.review.Written?
  if buf and was_there then
    state, before = state_of(buf), now(buf, since)
  end
  local ok, err, left = undo()
  local is_there = vim.uv.fs_stat(path) ~= nil
  if ok and is_there and not was_there then
    buf = hidden.load(path) -- or there is nothing that `u` could act on
  end
  if not ok or not buf or unmodified(path) ~= buf or not (was_there or is_there) then
    return ok, err, left
  end
  local after, after_state = now(buf, since), state_of(buf)
  if state and before then
    note(buf, state, before)
    after.was = not is_there and { file = before, state = state, by_u = false } or nil
  end
  if not was_there then
    after.before = "none"
  elseif before and after_state == state and is_there then
    after.before = before.format
  end
  note(buf, after_state, after) -- last: the state may be the same
  return ok, err, left
end

---Runs an undo of both ends of a move.
---@param from string
---@param to string
---@param scope claude-ide.journal.Scope
---@param undo fun(): boolean?, string?, integer?
---@return boolean?
---@return string?
---@return integer?
function M.around_move(from, to, scope, undo)
  local bytes, mode, since = file.read_now(to, observe.MAX_BYTES), mode_of(to), os.time()
  local ok, err, left = undo()
  local move ---@type claude-ide.review.Move?
  if ok and bytes and not vim.uv.fs_stat(to) then
    move =
      { from = from, to = to, bytes = bytes, mode = mode, since = since, scope = scope, is_undone = true }
  end
  moves[from], moves[to] = move, move
  return ok, err, left
end

---Deletes a file again that an undo has made again.
---@param buf integer
---@param known claude-ide.review.Written
---@return boolean? ok
---@return string? err
local function delete_again(buf, known)
  local state, path = state_of(buf), vim.api.nvim_buf_get_name(buf)
  local ok, err = journal_undo.delete(path, known.since)
  if ok and buffer.loaded(path) == buf then
    local gone = now(buf, known.since)
    gone.was = { file = known, state = state, by_u = true }
    note(buf, state_of(buf), gone)
  end
  return ok, err
end

---What a file that is gone was, if its buffer is as it was left.
---@param path string
---@return claude-ide.review.Gone?
---@return integer? buf unmodified
local function gone_now(path)
  local buf = unmodified(path)
  local known = buf and not vim.uv.fs_stat(path) and written_now(buf) or nil
  return known and known.was, buf
end

---@param buf integer
---@param was claude-ide.review.Gone
---@return boolean? ok
---@return string? err
local function make_again(buf, was)
  if was.state ~= state_of(buf) then
    vim.api.nvim_buf_call(buf, function()
      vim.cmd("silent normal! u")
    end)
  end
  note(buf, was.state, was.file)
  return write_as(buf, was.file)
end

---@param path string
---@return claude-ide.review.Move? that was undone, and can be taken back at this end
local function undone_move(path)
  local move = moves[path]
  return move and move.is_undone and journal.is_undone(path) and move or nil
end

---Moves one end of a file again.
---@param move claude-ide.review.Move
---@param path string
---@return boolean? ok
---@return string? err
local function move_end(move, path)
  if not undone_move(path) then
    return nil, ("%s has changed since the undo, so it stays."):format(paths.short(path))
  elseif path == move.from then
    local buf = buffer.loaded(path)
    local known = buf and written_now(buf)
    if buf and vim.bo[buf].modified then
      return nil, ("%s has unsaved changes, so it stays."):format(paths.short(path))
    elseif buf and known and known.before == "none" then
      return delete_again(buf, known)
    end
    return journal_undo.delete(path, move.since)
  end
  local was, buf = gone_now(path)
  if buf and was then
    return make_again(buf, was)
  end
  local ok, err = write.through_buffer(path, move.bytes, move.mode, move.since)
  observe.user_wrote(path)
  return ok, err
end

function follow(buf)
  local known = not stamp.is_conflict(buf) and written_now(buf)
  local path, state = vim.api.nvim_buf_get_name(buf), state_of(buf)
  local is_again = latest[buf] ~= state -- by `u` or CTRL-R; else the file was made by others
  latest[buf] = state
  if known and known.was and is_again and vim.uv.fs_stat(path) then
    local move = journal_undo.delete(path, known.since) and moves[path]
    if move and not move.is_undone and path == move.to then
      M.around(move.from, function()
        move.is_undone = journal_undo.undo(move.from, nil, move.scope) == true
        return move.is_undone
      end)
    end
  elseif known and not known.was and vim.bo[buf].modified then
    local move = undone_move(path)
    if write_as(buf, known) and move and path == move.to then
      move_end(move, move.from)
      move.is_undone = false
    end
  end
end

---Takes note of what was typed in a file just before a key: no event has come for it.
---@param path string
function M.catch_up(path)
  local buf = buffer.loaded(path)
  if buf and written[buf] then
    follow(buf)
  end
end

---@param move claude-ide.review.Move
---@param first string where the user is
---@return boolean? ok
---@return string? err
local function move_again(move, first)
  local ok, err = move_end(move, first)
  if ok then
    ok, err = move_end(move, first == move.from and move.to or move.from)
    move.is_undone = false
  end
  return ok, err
end

---Takes an undo back of which the undo tree knows nothing: it has changed the format of a file alone, or has made the file again.
---@param buf integer
---@return boolean? done false: there is no such undo; nil: it stays
---@return string? err
function M.take_back(buf)
  local known, path = written_now(buf), vim.api.nvim_buf_get_name(buf)
  local before = known and known.before
  if not known or not before or unmodified(path) ~= buf or not vim.uv.fs_stat(path) then
    return false
  elseif before ~= "none" then
    known.format, known.before = before, nil
    write_as(buf, known)
    return true
  end
  local move = undone_move(path)
  if move then
    return move_again(move, path)
  end
  return delete_again(buf, known)
end

---Whether `u` has deleted a file that an undo had made again.
---@param path string
---@return boolean
function M.is_taken_back(path)
  local was = gone_now(path)
  return was ~= nil and was.by_u
end

---Makes a file again that an undo has deleted.
---@param path string
---@return boolean? ok
---@return string? err
function M.bring_back(path)
  local move, was, buf = undone_move(path), gone_now(path)
  if move then
    return move_again(move, path)
  elseif buf and was and not was.by_u then
    return make_again(buf, was)
  elseif buf and not was and state_of(buf) > 0 and text_of(buf) == "" then
    -- The undo of a turn is not noted here.
    vim.api.nvim_buf_call(buf, function()
      vim.cmd("silent normal! u")
    end)
    return true -- `:w` creates it
  end
  return nil, "There is nothing to undo here."
end

return M
