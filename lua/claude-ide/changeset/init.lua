-- Edits of many files at once that somebody proposes, as language servers make them, and that a user decides on as a whole:
-- hunks and files can be dropped. The facade: what the tools and the commands call.
local M = {}

local KIND = "changeset"

---@class claude-ide.Changeset: claude-ide.Decision
---@field title string "Rename add to plus"
---@field entries claude-ide.changeset.Entry[]
---@field notes string[]
---@field unasked boolean it is applied without asking
---@field applying? boolean it is being written

---How one ends that is accepted.
---@class claude-ide.changeset.Answer : claude-ide.decisions.Answer
---@field report claude-ide.changeset.Report
---@field jobs claude-ide.changeset.Job[] of the files that are not dropped
---@field written boolean by the editor; else it is left to its source, which writes

---What a server wants changed.
---@class claude-ide.changeset.ServerEdit : claude-ide.changeset.Asked
---@field edit table lsp.WorkspaceEdit

---@class claude-ide.changeset.Proposal
---@field title string
---@field files claude-ide.changeset.File[]
---@field notes string[]
---@field unasked? boolean the session's mode accepts edits

---How long reading files may take in one go.
local STEP_MS = 6

---@return table
local function presenter()
  return require("claude-ide.changeset.presenter")
end

local attached = false

---Makes changesets a kind of decision, once.
function M.attach()
  if attached then
    return
  end
  attached = true
  require("claude-ide.decisions").register(KIND, {
    one = "changeset",
    many = "changesets",
    present = function(decision)
      presenter().present(decision --[[@as claude-ide.Changeset]])
    end,
    withdraw = function(decision, why)
      presenter().withdraw(decision --[[@as claude-ide.Changeset]], why)
    end,
    remote = function()
      return require("claude-ide.changeset.remote") --[[@as claude-ide.decisions.Remote]]
    end,
    edits = function()
      return require("claude-ide.changeset.as_edit") --[[@as claude-ide.decisions.Edits]]
    end,
  })
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("claude-ide.changeset", { clear = true }),
    desc = "Claude: what was accepted is written before Neovim leaves",
    callback = function()
      require("claude-ide.changeset.apply").finish_all()
    end,
  })
end

---What the thread of a plan yields while it waits for a comparison; else it only lets others have their turn.
local COMPARES = "compares"

---Counts what becomes of a file. Large texts are compared on a thread of their own.
---@param file claude-ide.changeset.File
---@param go_on fun()
local function count(file, go_on)
  local texts = require("claude-ide.changeset.texts")
  local before, after = texts.lines_of(file.before), texts.lines_of(file.after)
  local is_waiting = false
  local size = require("claude-ide.buffer.bytes").size
  require("claude-ide.diffview.comparison").run(
    before,
    after,
    size(before) + size(after),
    function(comparison)
      file.comparison = comparison
      file.counts = { added = comparison.added, removed = comparison.removed, total = #comparison.hunks }
      if is_waiting then
        go_on()
      end
    end,
    function(fn)
      return require("claude-ide.safely").wrap("compare a file of a changeset", fn)
    end
  )
  if not file.counts then
    is_waiting = true
    ---@diagnostic disable-next-line: await-in-sync -- `go_on` goes on
    coroutine.yield(COMPARES)
  end
end

---Works out what steps make of the files. Reads them, and changes nothing.
---@param steps claude-ide.changeset.Step[]
---@param done fun(files: claude-ide.changeset.File[]?, err: string?) err: a sentence without its end
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
      count(file, go_on)
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

---Works out what edits make of the files. Reads them, and changes nothing.
---@param edits claude-ide.changeset.ServerEdit[] of one server, or of several in turn
---@param done fun(files: claude-ide.changeset.File[]?, err: string?, notes: string[]) err: a sentence without its end
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

---Puts a changeset before the user; where the session's mode accepts edits, applies it.
---@param source claude-ide.decisions.Source
---@param request any what the source knows it by
---@param proposal claude-ide.changeset.Proposal with files
---@return claude-ide.Changeset
function M.propose(source, request, proposal)
  M.attach()
  return require("claude-ide.decisions").ask(KIND, source, request, {
    title = proposal.title,
    entries = vim.tbl_map(require("claude-ide.changeset.texts").entry, proposal.files),
    notes = proposal.notes,
    unasked = proposal.unasked == true,
  }) --[[@as claude-ide.Changeset]]
end

---Those that wait for the user, the longest waiting first.
---@return claude-ide.Changeset[]
function M.pending()
  return require("claude-ide.decisions").pending(function(decision)
    ---@cast decision claude-ide.Changeset
    return decision.kind == KIND and not decision.unasked
  end) --[[@as claude-ide.Changeset[] ]]
end

return M
