-- Buffers that we made: which they are, of which kind, and what they are called.
-- The mark is `b:claude_ide`, for people's own settings too. The name is for people alone: that of the file and what this is of
-- it, as "lua/keys.lua (Claude)". It has no scheme, for Neovim's tab line and `%f` take a scheme for folders ("c//2/keys.lua").
local M = {}

---@class claude-ide.ui.Mark
---@field kind claude-ide.ui.Kind
---@field id? integer of the diff that it belongs to
---@field name? string as Neovim has it, in full
---@field short? string as it was given and is shown

---@alias claude-ide.ui.Kind
---| "proposal" # what Claude proposes
---| "now" # the present text beside it
---| "kept" # a proposal that ended with text of the person's in it
---| "guard" # hidden
---| "review" # a side of a review that is no file
---| "changes" # the list of a review
---| "edit" # a side of an edit of a transcript
---| "conflict" # a side of a conflict
---| "keys" # a list of keys
---| "transcript"
---| "kernel" # what ran in the kernels
---| "code" # that is asked about
---| "place" # in a transcript, as a list of places names it
---| "terminal"
---| "mcp" # how agents find the tools
---| "prompt" # of a chat
---| "question" # of a chat
---| "plan" # of a chat
---| "answer" # of Claude, over the screen

---@param buf integer
---@param kind claude-ide.ui.Kind
---@param id? integer
function M.mark(buf, kind, id)
  vim.b[buf].claude_ide = { kind = kind, id = id }
end

---@param buf integer valid
---@return claude-ide.ui.Mark?
function M.of(buf)
  local mark = vim.b[buf].claude_ide
  return type(mark) == "table" and type(mark.kind) == "string" and mark or nil
end

---@param buf integer valid
---@return claude-ide.ui.Kind? nil: it is none of ours
function M.kind(buf)
  local mark = M.of(buf)
  return mark and mark.kind
end

---Whether a name is free: neither a file's nor a buffer's.
---@param short string
---@param buf integer that is to have it
---@return boolean
local function is_free(short, buf)
  local full = vim.fn.fnamemodify(short, ":p")
  if vim.uv.fs_lstat(full) then
    return false
  end
  return not vim.iter(vim.api.nvim_list_bufs()):any(function(other)
    local name = other ~= buf and vim.api.nvim_buf_get_name(other)
    return name == full or name == short
  end)
end

---@param path string
---@param words string
---@param count integer
---@return string
local function called(path, words, count)
  return ("%s (%s%s)"):format(path, words, count > 1 and " " .. count or "")
end

---Calls a marked buffer after a file, in words that no other buffer and no file has.
---@param buf integer
---@param path string absolute, or words of their own
---@param words string
function M.name(buf, path, words)
  local shown = path:sub(1, 1) == "/" and vim.fn.fnamemodify(path, ":.") or path
  local count = 1
  while not is_free(called(shown, words, count), buf) do
    count = count + 1
  end
  local short = called(shown, words, count)
  -- No file: what looks at files (EditorConfig, for one) need not look.
  require("claude-ide.option").during("eventignore", "BufFilePre,BufFilePost", function()
    vim.api.nvim_buf_set_name(buf, short)
  end)
  local mark = M.of(buf) or {}
  mark.name, mark.short = vim.api.nvim_buf_get_name(buf), short
  vim.b[buf].claude_ide = mark
end

---What stands behind the names of files: see `name`.
local WORDS = {
  "Claude",
  "accepted",
  "after",
  "before",
  "before Claude",
  "before both",
  "deleted",
  "kept",
  "now",
  "on disk",
  "output",
  "plan",
  "prompt",
}

---Whether a buffer is what a saved session has made of one of ours: of such a name, empty, and no file.
---@param buf integer
---@return boolean
function M.is_dead(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if M.of(buf) or vim.bo[buf].buftype ~= "" or vim.bo[buf].modified then
    return false
  elseif vim.startswith(name, "claude://") then
    return not vim.startswith(name, "claude://transcript/")
  end
  local words = name:match(" %(([%a ]-) ?%d*%)$")
  if not words or not vim.list_contains(WORDS, words) or vim.uv.fs_lstat(name) then
    return false
  end
  local lines = vim.api.nvim_buf_get_lines(buf, 0, 2, false)
  return #lines == 0 or #lines == 1 and lines[1] == ""
end

---The file that a name is of, as it is shown.
---@param buf integer
---@return string? nil: it was not named here
function M.shown_path(buf)
  local mark = M.of(buf)
  return mark and mark.short and (mark.short:gsub(" %([^()]*%)$", ""))
end

---Other words for the same file. The name before is free then.
---@param buf integer
---@param words string
function M.rename(buf, words)
  local path, before = M.shown_path(buf), vim.api.nvim_buf_get_name(buf)
  if not path then
    return
  end
  M.name(buf, path, words)
  -- Neovim keeps a buffer of the name before.
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    if other ~= buf and vim.api.nvim_buf_get_name(other) == before and M.is_dead(other) then
      vim.api.nvim_buf_delete(other, { force = true })
    end
  end
end

---Gives a buffer back the name that it was given here.
---@param buf integer
function M.name_again(buf)
  local mark = M.of(buf) or {}
  if mark.name and mark.short and vim.api.nvim_buf_get_name(buf) ~= mark.name then
    local is_same = vim.fn.fnamemodify(mark.short, ":p") == mark.name -- in the present folder
    vim.api.nvim_buf_set_name(buf, is_same and mark.short or mark.name)
  end
end

---Whether a name is that of a marked buffer: in full, or as it was given. Neovim completes that with the folder of now, which
---may be another one.
---@param buf integer
---@param full string
---@param short? string
---@return boolean
function M.is_own_name(buf, full, short)
  local mark = M.of(buf) or {}
  return full == mark.name or (short ~= nil and short == mark.short)
end

return M
