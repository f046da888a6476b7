-- Comments on lines of files, for agents: they list, answer and add them. What the user has not sent is not listed.
local task = require("claude-ide.language.task")
local tool = task.tool
local lazy = require("claude-ide.lazy")
local comments = lazy("claude-ide.comments")
local locate = lazy("claude-ide.language.locate")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local store = lazy("claude-ide.comments.store")
local target = lazy("claude-ide.comments.target")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local MOST_WORDS = 8192

---@return string root of the client's worktree
local function root_of_client()
  return store.root_of(workspace.folders()[1])
end

---@param running claude-ide.language.Task
---@param err? string
local function fail(running, err)
  running:fail(err or "it cannot be done")
end

---@param running claude-ide.language.Task
---@param text string
---@return string without invisible characters
local function words_of(running, text)
  if #text > MOST_WORDS then
    running:fail(("it is too long: %d bytes at most"):format(MOST_WORDS), "invalid_params")
  end
  local words = native.plain_text(text) or ""
  if not words:find("%S") then
    running:fail("it has no words", "invalid_params")
  end
  return words
end

M.comments = tool(function(running, args)
  local root = root_of_client()
  local state = args.state ~= "open" and args.state or nil
  local text, err = store.text(root, { tell = { state = state, withheld = comments.withheld(root) } })
  return text and { text = text } or fail(running, err)
end)

M.comment_reply = tool(function(running, args)
  local root = root_of_client()
  local reply = { id = args.id, words = words_of(running, args.text), done = args.done }
  local ok, err = store.change(root, { reply = reply })
  if not ok then
    return fail(running, err)
  end
  notice.info(("Claude answered comment %d."):format(args.id))
  return { text = "The user sees it." }
end)

M.comment_add = tool(function(running, args)
  local buf = locate.buffer(running, args.path)
  local last = vim.api.nvim_buf_line_count(buf)
  local to = args.end_line or args.line
  if to < args.line then
    running:fail("it ends before it begins", "invalid_params")
  elseif args.step == 0 then
    running:fail("steps are counted from 1", "invalid_params")
  elseif args.line > last then
    running:fail(("the file has %d lines"):format(last), "invalid_params")
  end
  local of = target.of(buf, args.line, math.min(to, last))
  if not of then
    return fail(running, "it is no file")
  end
  local id, err = store.add(of, "claude", words_of(running, args.text), args.step)
  if not id then
    return fail(running, err)
  elseif args.step == 1 then
    notice.info("Claude begins a tour: `:Claude comments tour` goes to its first step.")
  end
  return { text = ("Shown to the user as comment %d."):format(id) }
end)

return M
