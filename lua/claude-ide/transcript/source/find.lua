-- Finds the transcript to open: by file, by id or prefix, or the current session.

local lazy = require("claude-ide.lazy")
local catalogue = lazy("claude-ide.sessions.catalogue")
local notice = lazy("claude-ide.base.notice")
local own = lazy("claude-ide.terminal.own")
local retry = lazy("claude-ide.base.retry")
local sessions = lazy("claude-ide.sessions")
local source_file = lazy("claude-ide.transcript.source.file")

local M = {}

---@class claude-ide.transcript.Wanted
---@field id? string session id or prefix
---@field agent? string with `id`: file name of a subagent
---@field file? string of a session or a subagent
---@field cwd? string of the session, if known
---@field source? claude-ide.transcript.Source to show as is

---@alias claude-ide.transcript.Found fun(file: string, cwd?: string)

---The CLI writes a new session's file some time after the first prompt.
local PATIENCE_MS = 3000

---@param id string
---@param cwd? string
---@param found claude-ide.transcript.Found
local function by_id(id, cwd, found)
  local function look(answer)
    sessions.find(id, function(file)
      if file then
        answer({ file = file, cwd = cwd })
        return
      end
      catalogue.find(id, function(item, err)
        if item or catalogue.running(id) then
          answer(item and { file = item.summary.file, cwd = item.summary.cwd })
        else
          notice.error(err or ("No session matches %s."):format(id))
        end
      end)
    end)
  end
  retry.until_found(look, PATIENCE_MS, function(session)
    if session then
      found(session.file, session.cwd)
    else
      notice.error("This session has no messages yet.")
    end
  end)
end

---@param session string file of the session
---@param agent string
---@return string? file nil: gone
local function file_of_agent(session, agent)
  local folder = session:gsub("%.jsonl$", "")
  for _, place in ipairs({ folder .. "/subagents", vim.fs.dirname(session) }) do
    local file = ("%s/%s.jsonl"):format(place, agent)
    if vim.uv.fs_stat(file) then
      return file
    end
  end
  return nil
end

---The session of our terminal or of a connected CLI, else the newest of the project.
---@param found claude-ide.transcript.Found
local function current(found)
  catalogue.load({}, function(items, err)
    local all = own.list()
    local terminals = package.loaded["claude-ide.terminal"]
    local terminal = type(terminals) == "table" and terminals.current()
    local ours = vim.iter(all):find(function(one)
      return terminal and one.terminal == terminal
    end) or all[1]
    local newest = items and items[1]
    if ours then
      by_id(ours.session.id, ours.session.cwd, found)
    elseif newest then
      found(newest.summary.file, newest.summary.cwd)
    else
      notice.error(
        err or "This project has no sessions yet. `:Claude sessions all` lists those of all projects."
      )
    end
  end)
end

---@param wanted claude-ide.transcript.Wanted
---@param found fun(source: claude-ide.transcript.Source) not called on failure, which is a notice
function M.find(wanted, found)
  local function deliver(file, cwd)
    found(source_file.new(file, cwd))
  end
  sessions.attach()
  if wanted.source then
    found(wanted.source)
  elseif wanted.file then
    deliver(wanted.file, wanted.cwd)
  elseif wanted.id then
    by_id(wanted.id, wanted.cwd, function(file, cwd)
      deliver(wanted.agent and file_of_agent(file, wanted.agent) or file, cwd)
    end)
  else
    current(deliver)
  end
end

return M
