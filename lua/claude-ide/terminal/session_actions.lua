-- Actions on a session: read, resume, fork, copy the id, export, rename, keep, stop.

local lazy = require("claude-ide.lazy")
local background = lazy("claude-ide.terminal.background")
local bus = lazy("claude-ide.base.bus")
local catalogue = lazy("claude-ide.sessions.catalogue")
local choose = lazy("claude-ide.ui.choose")
local environment = lazy("claude-ide.terminal.environment")
local export = lazy("claude-ide.sessions.export")
local guard = lazy("claude-ide.ui.guard")
local keep = lazy("claude-ide.sessions.keep")
local kept_words = lazy("claude-ide.ui.kept_words")
local notice = lazy("claude-ide.base.notice")
local own = lazy("claude-ide.terminal.own")
local phrases = lazy("claude-ide.sessions.phrases")
local rename = lazy("claude-ide.sessions.rename")
local terminals = lazy("claude-ide.terminal")

local M = {}

---@alias claude-ide.sessions.ActionName "read"|"resume"|"fork"|"copy"|"export"|"rename"|"keep"|"unkeep"|"stop"

---In display order, the most common first.
---@type claude-ide.sessions.ActionName[]
M.NAMES = { "read", "resume", "fork", "copy", "export", "rename", "keep", "unkeep", "stop" }

---@param item claude-ide.sessions.Item
---@return claude-ide.sessions.ActionName[] those that make sense
function M.names(item)
  return vim.tbl_filter(function(name)
    local is_kept = item.summary.kept ~= nil
    if name == "keep" or name == "unkeep" then
      return (name == "unkeep") == is_kept
    end
    return name ~= "stop" or item.live ~= nil
  end, M.NAMES)
end

---@return boolean whether it runs in Neovim's own terminal
local function is_in_terminal(item)
  return terminals.of_session(item.summary.id) ~= nil
end

---@param summary claude-ide.sessions.Summary
---@param go_on fun(cwd?: string)
local function choose_folder(summary, go_on)
  local cwd = summary.cwd
  if not cwd or vim.fn.isdirectory(cwd) == 1 then
    return go_on(cwd)
  end
  local here = environment.folder()
  local function shown(folder)
    return phrases.fit_end(vim.fn.fnamemodify(folder, ":~"), 40)
  end
  choose.select({ ("Continue in %s"):format(shown(here)), "Leave it" }, {
    prompt = ("“%s” began in %s, which is gone"):format(
      phrases.fit(phrases.title(summary), 40),
      shown(cwd)
    ),
  }, function(_, index)
    if index == 1 then
      go_on(here)
    end
  end)
end

---The folder where a session goes on, where the CLI finds it: its own; if that is gone, the user says whether Neovim's is meant. Nothing
---tells that a folder was moved, and the CLI resumes a session by its id in any (2.1.329).
---@param summary claude-ide.sessions.Summary
---@param go_on fun(cwd?: string)
function M.with_folder(summary, go_on)
  choose_folder(summary, function(cwd)
    keep.put_back_and_show(summary, function()
      go_on(cwd)
    end)
  end)
end

---@param args string[] for the CLI
---@param doing string verb: "resume", "fork"
---@param before? fun(go_on: fun()) ends the other process of the session
local function start(item, args, doing, before)
  local summary = item.summary
  M.with_folder(summary, function(cwd)
    terminals.open(args, {
      cwd = cwd,
      purpose = ("%s “%s”"):format(doing, phrases.fit(phrases.title(summary), 40)),
      before = before,
      config_dir = summary.config_dir,
    })
  end)
end

---@type table<claude-ide.sessions.ActionName, fun(item: claude-ide.sessions.Item, text?: string)>
local RUN = {}

function RUN.read(item)
  bus.emit("transcript_wanted", { file = item.summary.file })
end

function RUN.fork(item)
  start(item, { "--resume", item.summary.id, "--fork-session" }, "fork")
end

---Two processes that write to one session would fork it, each unaware of the other's branch.
function RUN.resume(item)
  local id = item.summary.id
  local terminal = terminals.of_session(id)
  if terminal then
    return terminals.show(terminal)
  end
  local other = own.other(id)
  if other then
    return start(item, { "--resume", id }, "resume", other.release)
  end
  local live = catalogue.running(id)
  if not live then
    return start(item, { "--resume", id }, "resume")
  end
  if live.job then
    return background.open(live)
  end
  local fork, anyway = "Fork it: continue in a copy", "Resume it here too"
  choose.select({ fork, anyway }, {
    prompt = ("This session runs in another terminal (pid %d, %s)"):format(
      live.pid,
      phrases.activity(live.state)
    ),
  }, function(choice)
    if choice == fork then
      RUN.fork(item)
    elseif choice == anyway then
      start(item, { "--resume", id }, "resume")
    end
  end)
end

---Ends its process. The session stays.
function RUN.stop(item)
  local id = item.summary.id
  local terminal, other = terminals.of_session(id), own.other(id)
  local live = catalogue.running(id)
  if live and live.job then
    background.stop(live)
  elseif terminal then
    terminal:close()
  elseif other then
    other.release(function() end)
  elseif live then
    notice.error(("This session runs in another terminal (pid %d)."):format(live.pid))
  else
    notice.info("This session is not running.")
  end
end

function RUN.copy(item)
  kept_words.keep({ item.summary.id }, "c")
  notice.info("Copied " .. item.summary.id)
end

---@param title? string default: ask
function RUN.rename(item, title)
  rename.run(item, title)
end

function RUN.keep(item)
  keep.keep(item.summary)
end

---Asks first.
function RUN.unkeep(item)
  keep.remove(item.summary)
end

function RUN.export(item)
  export.open(item.summary)
end

---@type table<claude-ide.sessions.ActionName, string>
local LABELS = {
  read = "Read it",
  resume = "Resume it in the terminal",
  fork = "Fork it: continue in a copy",
  copy = "Copy its id",
  export = "Export it as Markdown",
  rename = "Rename it",
  keep = "Keep a copy, which does not expire",
  unkeep = "Remove the kept copy",
  stop = "Stop it",
}

---@param name claude-ide.sessions.ActionName
---@param item claude-ide.sessions.Item
---@return string
function M.label(name, item)
  if name == "resume" and is_in_terminal(item) then
    return "Go to its terminal"
  end
  return LABELS[name]
end

---@param name claude-ide.sessions.ActionName
---@param item claude-ide.sessions.Item
---@param text? string rename: the title
function M.run(name, item, text)
  RUN[name](item, text)
end

---Runs an action on a session that was looked up: at once, unless the user has pressed keys since.
---@param request claude-ide.ui.guard.Request
---@param name claude-ide.sessions.ActionName
---@param item claude-ide.sessions.Item
---@param text? string as for `run`
function M.run_in_time(request, name, item, text)
  guard.when_requested("session " .. item.summary.id, "The session", function()
    M.run(name, item, text)
  end, request)
end

---Runs an action on a session by id or prefix.
---@param name claude-ide.sessions.ActionName
---@param id string
---@param text? string as for `run`
function M.run_by_id(name, id, text)
  local request = guard.request()
  catalogue.find(id, function(item, err)
    if item then
      M.run_in_time(request, name, item, text)
    else
      notice.error(err or ("No session matches %s."):format(id))
    end
  end)
end

return M
