-- Which transcript is meant: by its file, by an id or the beginning of one, or the current session.

local M = {}

---What to read.
---@class claude-ide.transcript.Wanted
---@field id? string a session's, or the beginning of it
---@field agent? string with `id`: a subagent of it, as its file is called
---@field file? string a session's or a subagent's
---@field cwd? string the session's, where it is known already
---@field source? claude-ide.transcript.Source the source itself

---@alias claude-ide.transcript.Found fun(file: string, cwd?: string)

---The CLI writes a new session some time after the first prompt.
local PATIENCE_MS = 3000

local function refuse(err)
  require("claude-ide.ui.notice").error(err)
end

---@param id string
---@param cwd? string
---@param found claude-ide.transcript.Found
local function by_id(id, cwd, found)
  local function look(answer)
    require("claude-ide.sessions").find(id, function(file)
      if file then
        answer({ file = file, cwd = cwd })
        return
      end
      local catalogue = require("claude-ide.sessions.catalogue")
      catalogue.find(id, function(item, err)
        if item or catalogue.running(id) then
          answer(item and { file = item.summary.file, cwd = item.summary.cwd })
        else
          refuse(err or ("There is no session %s."):format(id))
        end
      end)
    end)
  end
  require("claude-ide.retry").until_found(look, PATIENCE_MS, function(session)
    if session then
      found(session.file, session.cwd)
    else
      refuse("Nothing was said in this session yet.")
    end
  end)
end

---@param session string the session's file
---@param agent string
---@return string? file nil: it is gone
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

---That of our own terminal or of a connected CLI, else the newest of the project.
---@param found claude-ide.transcript.Found
local function current(found)
  require("claude-ide.sessions.catalogue").load({}, function(items, err)
    local all = require("claude-ide.sessions.ours").list()
    local ours = vim.iter(all):find(function(one)
      return one.terminal
    end) or all[1]
    local newest = items and items[1]
    if ours then
      by_id(ours.session.id, ours.session.cwd, found)
    elseif newest then
      found(newest.summary.file, newest.summary.cwd)
    else
      refuse(err or "This project has no sessions yet. `:Claude sessions all` lists those of all projects.")
    end
  end)
end

---@param wanted claude-ide.transcript.Wanted
---@param found fun(source: claude-ide.transcript.Source) not called where there is none: the user is told
function M.find(wanted, found)
  local function deliver(file, cwd)
    found(require("claude-ide.transcript.source.file").new(file, cwd))
  end
  require("claude-ide.sessions").attach()
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
