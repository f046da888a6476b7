-- Keeps sessions: a copy in the state folder stays when the CLI deletes its own, and is put back where the CLI looks when it is resumed.
-- The library copies (`crates/session/src/kept.rs`), and adds to the copies what their sessions get.
local lazy = require("claude-ide.lazy")
local choose = lazy("claude-ide.ui.choose")
local guard = lazy("claude-ide.ui.guard")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local phrases = lazy("claude-ide.sessions.phrases")
local transport = lazy("claude-ide.sessions.transport")

local M = {}

---@param summary claude-ide.sessions.Summary
---@param act "keep"|"put_back"|"remove"|"delete"
---@param failed string what could not be done, with "%s" for the title
---@param done fun(file: string)
---@param on_error? fun()
local function request(summary, act, failed, done, on_error)
  transport.request({ kept = { file = summary.file, act = act } }, {
    reply = function(file, err)
      if file then
        return done(file --[[@as string]])
      end
      log.warn("%s: %s: %s", act, summary.file, err)
      notice.error((failed .. ": %s"):format(phrases.fit(phrases.title(summary), 30), err))
      if on_error then
        on_error()
      end
    end,
  })
end

---Copies a session, or brings its copy up to date.
---@param summary claude-ide.sessions.Summary
function M.keep(summary)
  local title = phrases.fit(phrases.title(summary), 40)
  if summary.kept == "only" then
    return notice.info(("“%s” is kept; Claude Code has deleted its own file."):format(title))
  end
  request(summary, "keep", "“%s” could not be kept", function()
    notice.info(
      summary.kept and ("“%s” is kept already. The copy is up to date."):format(title)
        or ("Kept “%s”."):format(title)
    )
    summary.kept = "beside"
  end)
end

---Removes the copy of a session, if the user confirms it.
---@param summary claude-ide.sessions.Summary
function M.remove(summary)
  local title = phrases.fit(phrases.title(summary), 40)
  if not summary.kept then
    return notice.info(("“%s” is not kept."):format(title))
  end
  local is_only = summary.kept == "only"
  local remove = is_only and "Delete the session" or "Remove the copy"
  choose.select({ "Keep it", remove }, {
    prompt = is_only and ("Only the copy of “%s” is left"):format(title)
      or ("Claude Code still has “%s”, until it expires"):format(title),
  }, function(choice)
    if choice ~= remove then
      return
    end
    request(summary, is_only and "delete" or "remove", "The copy of “%s” could not be removed", function()
      summary.kept = nil
      notice.info(
        is_only and ("Deleted “%s”."):format(title) or ("Removed the copy of “%s”."):format(title)
      )
    end)
  end)
end

---Has the CLI find a session, before it resumes it: puts it back if only a copy is left.
---@param summary claude-ide.sessions.Summary gets the path of the CLI's file
---@param go_on fun() at once if there is nothing to do
---@param on_error? fun() after the notice
function M.put_back(summary, go_on, on_error)
  if summary.kept ~= "only" then
    return go_on()
  end
  request(summary, "put_back", "“%s” cannot be resumed", function(file)
    summary.file, summary.kept = file, "beside"
    go_on()
  end, on_error)
end

---The same before a window opens for it.
---@param summary claude-ide.sessions.Summary
---@param go_on fun()
function M.put_back_and_show(summary, go_on)
  if summary.kept ~= "only" then
    return go_on()
  end
  local asked = guard.request()
  M.put_back(summary, function()
    -- Keys typed meanwhile are not meant for what opens now.
    guard.when_requested("session " .. summary.id, "The session", go_on, asked)
  end)
end

return M
