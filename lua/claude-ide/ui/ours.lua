-- Buffers that we made: which they are, of which kind, and what they are called.
-- The mark is `b:claude_ide`, for people's own settings too. The name is for people alone: that of the file and what this is of
-- it, as "lua/keys.lua (Claude)". It has no scheme, for Neovim's tab line and `%f` take a scheme for folders ("c//2/keys.lua").
-- A conversation stands in a folder, as it were, that is called after its session: "Claude 863faa33/Fix the parser". So the tab
-- line and `%t` leave the title, a status line without room for all of it keeps its end, and a saved session knows which it was.
local M = {}

---@class claude-ide.ui.Mark
---@field kind claude-ide.ui.Kind
---@field id? integer of the diff that it belongs to
---@field name? string as Neovim has it, in full
---@field short? string as it was given and is shown

---@alias claude-ide.ui.Kind
---| "proposal" # what Claude proposes
---| "now" # the present text beside it
---| "kept" # a proposal that ended with text of the user's in it
---| "guard" # hidden
---| "review" # a side of a review that is no file
---| "changes" # the list of a review
---| "edit" # a side of an edit of a transcript
---| "conflict" # a side of a conflict
---| "keys" # a list of keys
---| "transcript"
---| "kernel" # what ran in the kernels
---| "code" # that is asked about
---| "text" # of a transcript, that is cut there
---| "place" # in a transcript, as a list of places names it
---| "terminal"
---| "mcp" # how agents find the tools
---| "prompt" # of a chat
---| "question" # of a chat
---| "plan" # of a chat
---| "choices" # a list to choose from
---| "answer" # of Claude, over the screen
---| "restored" # a conversation that only its agent has, from a saved session

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

---Gives a marked buffer the first of some names that no other buffer and no file has. The name before is free then.
---@param buf integer
---@param called fun(number: string): string from a number behind it: "", " 2", " 3", …
local function give_name(buf, called)
  local count, short = 1, called("")
  while not is_free(short, buf) do
    count = count + 1
    short = called(" " .. count)
  end
  local before = vim.api.nvim_buf_get_name(buf)
  -- No file: what looks at files (EditorConfig, for one) need not look.
  require("claude-ide.option").during("eventignore", "all", function()
    if before == "" then
      return vim.api.nvim_buf_set_name(buf, short)
    end
    -- Neovim keeps a buffer of the name before, and would have `CTRL-^` go there.
    local set = ("vim.api.nvim_buf_set_name(%d, %q)"):format(buf, short):gsub("\\\n", "\\n")
    vim.api.nvim_cmd({ cmd = "lua", args = { set }, mods = { keepalt = true } }, {})
    for _, other in ipairs(vim.api.nvim_list_bufs()) do
      if other ~= buf and vim.api.nvim_buf_get_name(other) == before then
        pcall(require("claude-ide.window").delete_buffer, other)
      end
    end
  end)
  local mark = M.of(buf) or {}
  mark.name, mark.short = vim.api.nvim_buf_get_name(buf), short
  vim.b[buf].claude_ide = mark
end

---Calls a marked buffer after a file, in words that no other buffer and no file has.
---@param buf integer
---@param path string absolute, or words of their own
---@param words string
function M.name(buf, path, words)
  local shown = path:sub(1, 1) == "/" and vim.fn.fnamemodify(path, ":.") or path
  give_name(buf, function(number)
    return ("%s (%s%s)"):format(shown, words, number)
  end)
end

---Characters of a session's id in the name of its buffer.
M.SHOWN_ID = 8

---Calls a marked buffer after a conversation, or after the speaker alone while it has no title.
---@param buf integer
---@param speaker string
---@param session string its id
---@param title? string
function M.name_conversation(buf, speaker, session, title)
  local function part(text)
    text = vim.trim((text:gsub("[/%c]", " ")))
    return text:find("^%.*$") and "…" or text
  end
  local called = part(speaker)
  if title then
    called = ("%s %s/%s"):format(called, part(session:sub(1, M.SHOWN_ID)), part(title))
  end
  give_name(buf, function(number)
    return called .. (number ~= "" and (" (%s)"):format(vim.trim(number)) or "")
  end)
end

---Which transcript a name leads to: one that a buffer had in another Neovim, or `claude://transcript/{id}`.
---@param name string all of it
---@return string? session its id, or the beginning of it
---@return string? agent of a subagent: as its file is called
function M.conversation(name)
  local session, rest = name:match("^claude://transcript/([^/#]+)/?(.*)$")
  if not session then
    session, rest = name:match("/Claude (%x%x%x%x%x%x%x%x)/([^/]+)$")
  end
  return session, rest and rest:match("^agent%-[%w_-]+")
end

---What stands behind the names of files: see `name`.
local WORDS = {
  "Claude",
  "MCP",
  "accepted",
  "address",
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
  "question",
  "terminal",
  "text",
}

---Whether a buffer is what a saved session has made of one of ours: of such a name, empty, and no file.
---@param buf integer
---@return boolean
function M.is_dead(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  if M.of(buf) or vim.bo[buf].buftype ~= "" or vim.bo[buf].modified then
    return false
  elseif M.conversation(name) then
    return false
  elseif vim.startswith(name, "claude://") then
    return true
  end
  local words = name:match(" %(([%a ]-) ?%d*%)$")
  local is_untitled = name:find("/Claude$") or name:find("/Claude %(%d+%)$") -- a chat in which nothing was said
  if not is_untitled and not vim.list_contains(WORDS, words or "?") or vim.uv.fs_lstat(name) then
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

---Other words for the same file.
---@param buf integer
---@param words string
function M.rename(buf, words)
  local path = M.shown_path(buf)
  if path then
    M.name(buf, path, words)
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
