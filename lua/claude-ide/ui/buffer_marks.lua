-- Marks and names the plugin's own buffers.
-- The mark is `b:claude_ide`, which users' settings may read. The name is for display: the file's name and a role, as in
-- "lua/keys.lua (Claude)". It has no scheme: Neovim's tab line and `%f` take a scheme for folders ("c//2/keys.lua").
-- A conversation's name puts the title in a folder named after the session: "Claude 863faa33/Fix the parser". So the tab line
-- and `%t` show the title, a narrow status line keeps its end, and a saved session identifies it.
local lazy = require("claude-ide.lazy")
local option = lazy("claude-ide.base.option")
local window = lazy("claude-ide.base.window")

local M = {}

---@class claude-ide.ui.Mark
---@field kind claude-ide.ui.Kind
---@field id? integer of its diff
---@field name? string full name in Neovim
---@field short? string as given and displayed

---@alias claude-ide.ui.Kind
---| "proposal" # Claude's proposal
---| "now" # the current text beside it
---| "kept" # a closed proposal that holds the user's text
---| "guard" # hidden
---| "review" # a side of a review without a file
---| "changes" # the list of a review
---| "edit" # one of two texts of a file: of an edit in a transcript, or since a round of comments
---| "conflict" # a side of a conflict
---| "keys" # a list of keys
---| "transcript"
---| "kernel" # code that ran in kernels
---| "code" # code to be approved
---| "text" # a transcript's text in full
---| "place" # a search hit in a transcript
---| "terminal"
---| "mcp" # how agents reach the tools
---| "prompt" # of a chat
---| "question" # of a chat
---| "plan" # of a chat
---| "board" # all sessions
---| "choices" # a list to choose from
---| "answer" # a text of Claude in a float
---| "comment" # being written
---| "round" # comments to be sent
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
---@return claude-ide.ui.Kind? nil: not the plugin's
function M.kind(buf)
  local mark = M.of(buf)
  return mark and mark.kind
end

---Whether no file and no other buffer has this name.
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

---Gives a marked buffer the first free name, and frees its previous one.
---@param buf integer
---@param called fun(number: string): string takes a suffix: "", " 2", " 3", …
local function give_name(buf, called)
  local count, short = 1, called("")
  while not is_free(short, buf) do
    count = count + 1
    short = called(" " .. count)
  end
  local before = vim.api.nvim_buf_get_name(buf)
  -- The name is no file's: plugins that look at files (EditorConfig, for one) need not see it.
  option.during("eventignore", "all", function()
    if before == "" then
      return vim.api.nvim_buf_set_name(buf, short)
    end
    -- Neovim keeps a buffer with the previous name, which `CTRL-^` would go to.
    local set = ("vim.api.nvim_buf_set_name(%d, %q)"):format(buf, short):gsub("\\\n", "\\n")
    vim.api.nvim_cmd({ cmd = "lua", args = { set }, mods = { keepalt = true } }, {})
    for _, other in ipairs(vim.api.nvim_list_bufs()) do
      if other ~= buf and vim.api.nvim_buf_get_name(other) == before then
        pcall(window.delete_buffer, other)
      end
    end
  end)
  local mark = M.of(buf) or {}
  mark.name, mark.short = vim.api.nvim_buf_get_name(buf), short
  vim.b[buf].claude_ide = mark
end

---A role or speaker as it stands in parentheses.
---@param words string
---@return string
local function in_parentheses(words)
  return vim.trim((words:gsub("[/%c()]+", " "):gsub("  +", " ")))
end

---Names a marked buffer after a file and a role, with a number if the name is taken.
---@param buf integer
---@param path string absolute, or a title
---@param words string the role; of a proposal its requester
function M.name(buf, path, words)
  local shown = path:sub(1, 1) == "/" and vim.fn.fnamemodify(path, ":.") or path
  words = in_parentheses(words)
  give_name(buf, function(number)
    return ("%s (%s%s)"):format(shown, words, number)
  end)
end

---Characters of a session's id in a buffer name.
M.SHOWN_ID = 8

---Names a marked buffer after a conversation, or after the speaker alone if it has no title.
---@param buf integer
---@param speaker string
---@param session string id
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

---The transcript that a buffer name refers to: a name from another Neovim, or `claude://transcript/{id}`.
---@param name string the full name
---@return string? session id or its beginning
---@return string? agent a subagent's file name
function M.conversation(name)
  local session, rest = name:match("^claude://transcript/([^/#]+)/?(.*)$")
  if not session then
    session, rest = name:match("/Claude (%x%x%x%x%x%x%x%x)/([^/]+)$")
  end
  return session, rest and rest:match("^agent%-[%w_-]+")
end

---All roles that `name` is given, besides requesters.
local WORDS = {
  "MCP",
  "accepted",
  "address",
  "after",
  "before",
  "before Claude",
  "before both",
  "deleted",
  "now",
  "on disk",
  "output",
  "plan",
  "prompt",
  "question",
  "recovered",
  "terminal",
  "text",
}

---Whether a buffer is left of ours in a restored session: named like one, empty, and no file.
---@param buf integer
---@param requesters string[] names of all
---@return boolean
function M.is_dead(buf, requesters)
  local name = vim.api.nvim_buf_get_name(buf)
  if M.of(buf) or vim.bo[buf].buftype ~= "" or vim.bo[buf].modified then
    return false
  elseif M.conversation(name) then
    return false
  elseif vim.startswith(name, "claude://") then
    return true
  end
  local words = name:match(" %(([^()]+)%)$") or "?"
  local is_role = vim.iter(vim.list_extend(vim.tbl_map(in_parentheses, requesters), WORDS)):any(function(role)
    return words == role or words:match("^(.*) %d+$") == role
  end)
  local is_untitled = name:find("/Claude$") or name:find("/Claude %(%d+%)$") -- a chat without messages
  if not is_untitled and not is_role or vim.uv.fs_lstat(name) then
    return false
  end
  local lines = vim.api.nvim_buf_get_lines(buf, 0, 2, false)
  return #lines == 0 or #lines == 1 and lines[1] == ""
end

---The displayed path of a buffer's file.
---@param buf integer
---@return string? nil: not named by this module
function M.shown_path(buf)
  local mark = M.of(buf)
  return mark and mark.short and (mark.short:gsub(" %([^()]*%)$", ""))
end

---Changes the role in a buffer's name.
---@param buf integer
---@param words string
function M.rename(buf, words)
  local path = M.shown_path(buf)
  if path then
    M.name(buf, path, words)
  end
end

---Restores the name that a buffer was given.
---@param buf integer
function M.name_again(buf)
  local mark = M.of(buf) or {}
  if mark.name and mark.short and vim.api.nvim_buf_get_name(buf) ~= mark.name then
    local is_same = vim.fn.fnamemodify(mark.short, ":p") == mark.name -- in the current folder
    vim.api.nvim_buf_set_name(buf, is_same and mark.short or mark.name)
  end
end

---Whether a name is a marked buffer's: in full, or as given, since Neovim expands that with the current folder.
---@param buf integer
---@param full string
---@param short? string
---@return boolean
function M.is_own_name(buf, full, short)
  local mark = M.of(buf) or {}
  return full == mark.name or (short ~= nil and short == mark.short)
end

return M
