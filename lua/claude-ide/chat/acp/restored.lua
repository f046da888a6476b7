-- A conversation with another agent in a restored Neovim session: an empty buffer with its name. The agent has the messages, so the buffer
-- shows how to resume.
local lazy = require("claude-ide.lazy")
local agents = lazy("claude-ide.chat.acp.agents")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local chat = lazy("claude-ide.chat")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local window_options = lazy("claude-ide.ui.window_options")

local M = {}

---@class claude-ide.chat.acp.Restored
---@field agent claude-ide.chat.acp.Agent
---@field session string the beginning of its id
---@field title string

---@param name string of a buffer
---@return claude-ide.chat.acp.Restored? nil: not such a name
local function of_name(name)
  local folder, title = name:match("/([^/]+)/([^/]+)$")
  if not folder or not title then
    return nil
  end
  for _, key in ipairs(agents.names()) do
    local agent = agents.get(key)
    local session = agent and vim.startswith(folder, agent.name .. " ") and folder:sub(#agent.name + 2) or ""
    if agent and session ~= "" and #session <= buffer_marks.SHOWN_ID then
      return { agent = agent, session = session, title = title }
    end
  end
end

---@param buf integer
---@param it claude-ide.chat.acp.Restored
local function go_on(buf, it)
  local cwd, err = agents.check(it.agent)
  local ok ---@type boolean?
  if cwd then
    own_buffer.delete(buf) -- the chat takes its window
    ok, err = chat.open(M.opened(it.agent, it.session))
  end
  if not ok then
    notice.error(err or "The chat could not be started.")
  end
end

---Options that resume a session by the beginning of its id.
---@param agent claude-ide.chat.acp.Agent
---@param session string
---@return claude-ide.chat.OpenOpts
function M.opened(agent, session)
  return { agent = agent, list = session, title = agent.name }
end

---Fills a restored buffer of such a conversation.
---@param buf integer
---@param name string the buffer's full name
function M.read_into(buf, name)
  local is_empty = vim.api.nvim_buf_line_count(buf) == 1
    and vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
  local it = is_empty and vim.bo[buf].buftype == "" and not vim.uv.fs_lstat(name) and of_name(name)
  if not it then
    return
  end
  local agent = it.agent
  own_buffer.renew(buf, {
    kind = "restored",
    is_private = true,
    lines = {
      ("A session with %s: %s"):format(agent.name, it.title),
      "",
      ("%s has saved this session. <CR> resumes it, as does"):format(agent.name),
      ("`:Claude chat --agent %s --resume %s`"):format(agent.key, it.session),
    },
    bo = { modifiable = false, filetype = "markdown" },
  })
  vim.keymap.set("n", "<CR>", function()
    go_on(buf, it)
  end, { buffer = buf, desc = "Claude Code: resume the session" })
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local wo = window_options.bare(win)
    wo.wrap, wo.linebreak = true, true
  end
end

return M
