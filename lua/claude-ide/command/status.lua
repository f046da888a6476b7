-- `:Claude status`: one line, since Neovim would wait for a key after a second one.

local lazy = require("claude-ide.lazy")
local claude_ide = lazy("claude-ide")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local phrases = lazy("claude-ide.sessions.phrases")
local requests = lazy("claude-ide.requests")
local server = lazy("claude-ide.server")
local terminal = lazy("claude-ide.terminal")

local M = {}

local function describe(client)
  local name = client.name or "a client without a name"
  if client.version then
    name = name .. " " .. client.version
  end
  if client.state ~= "ready" then
    return name .. " (connecting)"
  end
  local facts = {}
  facts[1] = client.pid and ("pid %d"):format(client.pid)
  for _, session in ipairs(claude_ide.status().sessions) do
    if session.pid == client.pid then
      if session.name then
        facts[1] = ("“%s”"):format(phrases.title(session))
      end
      facts[#facts + 1] = phrases.activity(session.state)
    end
  end
  return #facts > 0 and ("%s (%s)"):format(name, table.concat(facts, ", ")) or name
end

---@param clients claude-ide.Client[]
---@return string
function M.clients(clients)
  return table.concat(vim.tbl_map(describe, clients), ", ")
end

local counted = require("claude-ide.base.counted")

---The server's port and connected clients.
---@param info claude-ide.server.Info
---@return string
function M.connection(info)
  local clients = server.clients()
  local where = ("Port %d"):format(info.port)
  local lock = info.lock_files[1] and ", lock " .. vim.fn.fnamemodify(info.lock_files[1], ":~") or ""
  local who = #clients == 0 and "no CLI connected yet" or "connected: " .. M.clients(clients)
  local count = #clients == 0 and who or counted(#clients, "CLI") .. " connected"
  return one_line.fitting({
    where .. lock .. ", " .. who,
    where .. ", " .. who,
    where .. ", " .. count,
  })
end

---@return string where a terminal is that is not visible
local function whereabouts()
  local buf = terminal.bufnr()
  return buf and #vim.fn.win_findbuf(buf) > 0 and "in another tab page" or "hidden"
end

---States of connected clients, briefly.
local function states(status)
  return phrases.activities(status.sessions)
    or #status.clients == 0 and "no CLI connected"
    or counted(#status.clients, "CLI")
end

local function connection_of(status, full)
  if not status.running then
    return status.problem and ("off, " .. status.problem) or "off"
  elseif #status.clients == 0 then
    return "no CLI connected"
  end
  return full and M.clients(status.clients) or states(status)
end

---Optional parts of the line.
---@class claude-ide.command.status.Parts
---@field names boolean names and processes of clients, not only states
---@field port boolean
---@field selection boolean also if it is on, the default
---@field terminal boolean

local function line(status, parts)
  local texts = { connection_of(status, parts.names) }
  local function add(text)
    texts[#texts + 1] = text
  end
  vim.list_extend(texts, requests.phrases())
  local files, mentions = status.review.files, status.mentions
  if files > 0 then
    add(counted(files, "file") .. " to review")
  end
  if mentions > 0 then
    add(counted(mentions, "mention") .. " waiting")
  end
  if parts.selection or not status.selection then
    add("selection " .. (status.selection and "on" or "off"))
  end
  if status.terminal.running and parts.terminal then
    add("terminal " .. (status.terminal.visible and "open" or whereabouts()))
  end
  if status.running and parts.port then
    add(("port %d"):format(status.port))
  end
  return "Claude: " .. table.concat(texts, " · ")
end

---The line, shortened to the screen's width; requests that wait for the user are dropped last.
---@return string
function M.line()
  local status = claude_ide.status()
  return one_line.fitting(vim.tbl_map(function(parts)
    return line(status, parts)
  end, {
    { names = true, terminal = true, selection = true, port = true },
    { names = true, terminal = true, selection = true },
    { names = true, terminal = true },
    { terminal = true },
    {},
  }))
end

function M.show()
  notice.info(M.line())
end

return M
