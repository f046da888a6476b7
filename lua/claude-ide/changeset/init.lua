-- Plans changes of several files, such as the edits of language servers. Reads files and changes nothing; `apply.lua` writes.
local M = {}

---An edit from a language server.
---@class claude-ide.changeset.ServerEdit : claude-ide.changeset.Asked
---@field edit table lsp.WorkspaceEdit

---Limit for reading files before the event loop gets a turn.
local STEP_MS = 6

---Yielded by a plan's coroutine while it waits for a comparison; nothing is yielded if it only gives the event loop a turn.
local COMPARES = "compares"

---Compares a file's texts before and after. Large texts are compared on a worker thread.
---@param file claude-ide.changeset.File
---@param go_on fun()
local function compare(file, go_on)
  local lines_of, is_waiting = require("claude-ide.buffer.bytes").lines_of, false
  local before, after = lines_of(file.before), lines_of(file.after)
  require("claude-ide.diffview.comparison").run(before, after, function(comparison)
    file.comparison = comparison
    if is_waiting then
      go_on()
    end
  end, function(fn)
    return require("claude-ide.safely").wrap("compare a file of a changeset", fn)
  end)
  if not file.comparison then
    is_waiting = true
    ---@diagnostic disable-next-line: await-in-sync -- `go_on` goes on
    coroutine.yield(COMPARES)
  end
end

---Plans steps. Changes nothing.
---@param steps claude-ide.changeset.Step[]
---@param done fun(files: claude-ide.changeset.File[]?, err: string?) err: a sentence without a full stop
function M.plan_steps(steps, done)
  local world, since = require("claude-ide.changeset.world"), vim.uv.hrtime()
  local function pause()
    if vim.uv.hrtime() - since > STEP_MS * 1e6 then
      ---@diagnostic disable-next-line: await-in-sync -- `go_on` goes on
      coroutine.yield()
    end
  end
  local go_on ---@type fun()
  local thread = coroutine.create(function()
    local files, err = require("claude-ide.changeset.plan").make(steps, {
      read = world.read,
      list = world.list,
      pause = pause,
    })
    err = err or files and require("claude-ide.changeset.apply").obstacle(files, pause)
    for _, file in ipairs(not err and files or {}) do
      pause()
      compare(file, go_on)
    end
    return files, err
  end)
  go_on = function()
    since = vim.uv.hrtime()
    local ok, files, err = coroutine.resume(thread)
    if not ok then
      require("claude-ide.log").error("an edit cannot be worked out: %s", debug.traceback(thread, files))
      done(nil, "the editor could not work out the edit")
    elseif coroutine.status(thread) == "dead" then
      done(not err and files or nil, err)
    elseif files ~= COMPARES then
      vim.defer_fn(go_on, 1)
    end
  end
  go_on()
end

---Plans edits of language servers. Changes nothing.
---@param edits claude-ide.changeset.ServerEdit[] of one server, or of several in turn
---@param done fun(files: claude-ide.changeset.File[]?, err: string?, notes: string[]) err: a sentence without a full stop
function M.plan(edits, done)
  local steps, notes = {}, {}
  for _, one in ipairs(edits) do
    local more, err, said = require("claude-ide.changeset.workspace_edit").steps(one.edit)
    if not more then
      return done(nil, err, {})
    end
    for _, step in ipairs(more) do
      step.asked = one
    end
    vim.list_extend(steps, more)
    vim.list_extend(notes, said)
  end
  M.plan_steps(steps, function(files, err)
    done(files, err, files and notes or {})
  end)
end

return M
