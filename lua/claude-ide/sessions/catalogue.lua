-- Lists of sessions, of the project or all, newest first, each with its running process.

local lazy = require("claude-ide.lazy")
local phrases = lazy("claude-ide.sessions.phrases")
local process = lazy("claude-ide.base.process")
local safely = lazy("claude-ide.base.safely")
local sessions = lazy("claude-ide.sessions")
local slice = lazy("claude-ide.base.slice")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---@class claude-ide.sessions.CatalogueOptions
---@field all? boolean of all projects
---@field folders? string[] default: those of the workspace
---@field words? string[] filter: each must occur in the title, prompts, branch, folder or id
---@field action? claude-ide.sessions.ActionName for the picker: run it instead of asking
---@field text? string argument of `action`
---@field terminals? boolean for the picker: of terminals, to be chosen from

---Precedence of states when two processes run the same session.
local WEIGHT = { waiting = 3, working = 2, idle = 1, gone = 0 }

---Whether a process has ended since it was reported.
local function has_ended(live)
  return live.liveness == "alive" and not process.runs(live.pid)
end

---The processes that run sessions.
---@return table<string, claude-ide.sessions.Live> by session
local function all_running()
  local found = {} ---@type table<string, claude-ide.sessions.Live>
  for _, live in ipairs(sessions.live()) do
    local weight, other = WEIGHT[live.state.activity] or 1, found[live.id]
    local is_more = not other or weight > (WEIGHT[other.state.activity] or 1)
    if weight > 0 and is_more and not has_ended(live) then
      found[live.id] = live
    end
  end
  return found
end

---The process that runs a session.
---@param id string
---@return claude-ide.sessions.Live?
function M.running(id)
  return all_running()[id]
end

---@param summary claude-ide.sessions.Summary
---@param live? claude-ide.sessions.Live
---@param words string[] each in lower case
local function has_all(summary, live, words)
  if #words == 0 then
    return true
  end
  local text = vim.fn.tolower(table.concat({
    phrases.title(summary),
    live and live.name or "",
    summary.first_prompt or "",
    summary.last_prompt or "",
    summary.branch or "",
    summary.cwd or "",
    summary.id,
  }, "\n"))
  return vim.iter(words):all(function(word)
    return text:find(word, 1, true) ~= nil
  end)
end

---@param summaries claude-ide.sessions.Summary[]
---@param options claude-ide.sessions.CatalogueOptions
---@param pause fun() called between items
---@return claude-ide.sessions.Item[]
local function items_of(summaries, options, pause)
  local seen, items, running = {}, {}, all_running()
  local words = vim.tbl_map(vim.fn.tolower, options.words or {})
  for _, summary in ipairs(summaries) do
    pause()
    local live = running[summary.id] ---@type claude-ide.sessions.Live?
    if live and live.config_dir and live.config_dir ~= summary.config_dir then
      live = nil -- another account has a copy of the session
    end
    if not seen[summary.file] and has_all(summary, live, words) then
      seen[summary.file] = true
      items[#items + 1] = { summary = summary, live = live, worktree = summary.worktree }
    end
  end
  table.sort(items, function(left, right)
    local one, other = left.summary, right.summary
    if one.updated == other.updated then
      return one.file < other.file
    end
    return one.updated > other.updated
  end)
  return items
end

---Where sessions are looked for.
---@param options claude-ide.sessions.CatalogueOptions
---@return claude-ide.sessions.Scope[]
function M.places(options)
  if options.all then
    return { { scope = "all" } }
  end
  local folders = options.folders or workspace.folders_and_worktrees()
  return vim.tbl_map(function(folder)
    return { scope = "tree", folder = folder }
  end, workspace.outermost(folders))
end

---@param options claude-ide.sessions.CatalogueOptions
---@param done fun(summaries?: claude-ide.sessions.Summary[], err?: string) called once, later; in no order
---@return fun() cancel
function M.summaries(options, done)
  sessions.attach()
  local scopes = M.places(options)
  local summaries, left, cancels, failed = {}, #scopes, {}, nil
  for _, scope in ipairs(scopes) do
    cancels[#cancels + 1] = sessions.list(scope, function(found, err)
      left, failed = left - 1, failed or err
      vim.list_extend(summaries, found or {})
      if left == 0 and failed and #summaries == 0 then
        done(nil, failed)
      elseif left == 0 then
        done(summaries)
      end
    end)
  end
  return function()
    for _, cancel in ipairs(cancels) do
      cancel()
    end
  end
end

---@param options claude-ide.sessions.CatalogueOptions
---@param done fun(items?: claude-ide.sessions.Item[], err?: string) called once, later
---@return fun() cancel
function M.load(options, done)
  local cancel_work ---@type fun()?
  local cancel = M.summaries(options, function(summaries, err)
    if not summaries then
      return done(nil, err)
    end
    cancel_work = slice.run("list the sessions", function(pause)
      return items_of(summaries, options, pause)
    end, safely.wrap("list the sessions", done))
  end)
  return function()
    cancel()
    if cancel_work then
      cancel_work()
    end
  end
end

---The only session with this id or prefix.
---@param id string
---@param done fun(item?: claude-ide.sessions.Item, err?: string)
function M.find(id, done)
  M.load({ all = true }, function(items, err)
    if not items then
      return done(nil, err)
    end
    local matches = vim.tbl_filter(function(item)
      return vim.startswith(item.summary.id, id)
    end, items)
    local exact = vim.iter(matches):find(function(item)
      return item.summary.id == id
    end)
    if exact or #matches == 1 then
      done(exact or matches[1])
    elseif #matches == 0 then
      done(nil, ("No session matches %s."):format(id))
    else
      done(nil, ("%d sessions begin with %s."):format(#matches, id))
    end
  end)
end

return M
