-- What lines of a buffer belong to: its file, the file of which a buffer of ours shows a text, or a plan.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local file = lazy("claude-ide.base.file")
local file_side = lazy("claude-ide.ui.file_side")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local paths = lazy("claude-ide.base.path")
local position = lazy("claude-ide.base.position")
local store = lazy("claude-ide.comments.store")

local M = {}

---A larger file is not read for its comments.
M.MAX_BYTES = 4 * 1024 * 1024

---A text that a buffer shows.
---@class claude-ide.comments.Shown
---@field root string
---@field path? string of a file: relative to the root
---@field plan? string the session whose plan it is
---@field side claude-ide.comments.Side
---@field is_file boolean the buffer is the file's own
---@field is_proposed? boolean the text is a proposal's

---@class claude-ide.comments.Target: claude-ide.comments.Shown
---@field text string
---@field first integer from 0
---@field count integer

---The plans' sessions, by buffer.
---@type table<integer, string?>
local plans = {}

---Buffers of ours that show all of a file's text.
---@type table<claude-ide.ui.Kind, true?>
local SIDES = { now = true, proposal = true, review = true }

---The path of a file in its worktree. A link to another file of it has that one's comments.
---@param path string absolute
---@param root string
---@return string
function M.path_in(path, root)
  local stat = vim.uv.fs_lstat(path)
  local real = stat and stat.type == "link" and vim.uv.fs_realpath(path)
  local real_root = real and vim.uv.fs_realpath(root)
  if real and real_root and paths.within(real, real_root) then
    return paths.relative(real, real_root)
  end
  return paths.relative(path, root)
end

---@param path string absolute
---@param side claude-ide.comments.Side
---@param is_file boolean
---@return claude-ide.comments.Shown
local function shown(path, side, is_file)
  local root = store.root_of(path)
  return { root = root, path = M.path_in(path, root), side = side, is_file = is_file }
end

---A buffer shows a plan.
---@param buf integer
---@param session string
function M.set_plan(buf, session)
  for known in pairs(plans) do
    plans[known] = vim.api.nvim_buf_is_valid(known) and plans[known] or nil -- wiping emits no event
  end
  plans[buf] = session
end

---The buffer that shows a session's plan.
---@param session string
---@return integer?
function M.plan_buffer(session)
  return vim.iter(pairs(plans)):find(function(buf, of)
    return of == session and vim.api.nvim_buf_is_valid(buf)
  end)
end

---@param buf integer
---@return string
function M.text(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n") .. "\n"
end

---The text that a buffer shows.
---@param buf integer
---@return claude-ide.comments.Shown?
function M.shown_in(buf)
  if plans[buf] then
    return { root = store.root_of(), plan = plans[buf], side = "new", is_file = false }
  elseif buffer.is_file(buf) then
    return shown(vim.api.nvim_buf_get_name(buf), "new", true)
  end
  local kind = buffer_marks.kind(buf) or ""
  local path = SIDES[kind] and file_side.at(buf, 1, 1)
  local found = path and shown(path, file_side.is_old(buf) and "old" or "new", false) or nil
  if found then
    found.is_proposed = kind == "proposal" or nil
  end
  return found
end

---Whether a file has the bytes of its lines in a buffer, but for the ends of lines and a mark at its beginning.
---@param bytes string
---@return boolean
local function is_plain(bytes)
  local is_text = not bytes:find("\0", 1, true) and position.valid(bytes) == bytes
  return is_text and (bytes:find("\n", 1, true) ~= nil or not bytes:find("\r", 1, true))
end

---All of a file, as its buffer has it or, if there is none, as it is on disk.
---@param path string absolute
---@return claude-ide.comments.Target?
function M.of_file(path)
  local bytes = not buffer.loaded(path) and file.read_now(path, M.MAX_BYTES) or nil
  if not bytes or not is_plain(bytes) then
    local buf = hidden.load(path)
    return buf and M.of(buf, 1, vim.api.nvim_buf_line_count(buf))
  end
  local target = shown(path, "new", true) --[[@as claude-ide.comments.Target]]
  local _, ends = bytes:gsub("\n", "")
  target.text, target.first = bytes, 0
  target.count = math.max(ends + (bytes:sub(-1) ~= "\n" and 1 or 0), 1)
  return target
end

---@param buf integer
---@param first integer from 1
---@param last integer
---@return claude-ide.comments.Target?
function M.of(buf, first, last)
  local found = M.shown_in(buf) --[[@as claude-ide.comments.Target?]]
  if found then
    found.text, found.first, found.count = M.text(buf), first - 1, last - first + 1
    return found
  end
  local path, lnum = file_side.at(buf, first, last)
  local in_file = path and M.of_file(path)
  if not in_file or not lnum then
    return nil
  end
  in_file.first = lnum - 1
  in_file.count = math.min(last - first + 1, in_file.count - lnum + 1)
  return in_file
end

return M
