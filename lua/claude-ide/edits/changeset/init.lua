-- Plans changes of several files, such as the edits of language servers. Reads files and changes nothing; `apply.lua` writes.
local lazy = require("claude-ide.lazy")
local apply = lazy("claude-ide.edits.changeset.apply")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local diffview_comparison = lazy("claude-ide.ui.diffview.comparison")
local listed = lazy("claude-ide.base.listed")
local merge = lazy("claude-ide.editor.merge")
local path = lazy("claude-ide.base.path")
local plan = lazy("claude-ide.edits.changeset.plan")
local safely = lazy("claude-ide.base.safely")
local slice = lazy("claude-ide.base.slice")
local workspace_edit = lazy("claude-ide.edits.changeset.workspace_edit")
local world = lazy("claude-ide.edits.changeset.world")

local M = {}

---An edit from a language server.
---@class claude-ide.changeset.ServerEdit : claude-ide.changeset.Asked
---@field edit table lsp.WorkspaceEdit

---Compares a file's texts before and after. Large texts are compared on a worker thread.
---@param file claude-ide.changeset.File
---@param wait fun(start: fun(go_on: fun()))
local function compare(file, wait)
  local lines_of = bytes.lines_of
  wait(function(go_on)
    diffview_comparison.run(lines_of(file.before), lines_of(file.after), function(comparison)
      file.comparison = comparison
      go_on()
    end, function(fn)
      return safely.wrap("compare a file of a changeset", fn)
    end)
  end)
end

---Works out files, a little per turn of the event loop.
---@param work fun(pause: fun(), wait: fun(start: fun(go_on: fun()))): claude-ide.changeset.File[]?, string?
---@param done fun(files: claude-ide.changeset.File[]?, err: string?)
local function work_out(work, done)
  slice.run("work out an edit", work, function(files, err)
    done(not err and files or nil, err)
  end, function()
    done(nil, "the editor could not work out the edit")
  end)
end

---Plans steps. Changes nothing.
---@param steps claude-ide.changeset.Step[]
---@param done fun(files: claude-ide.changeset.File[]?, err: string?) err: a sentence without a full stop
function M.plan_steps(steps, done)
  work_out(function(pause, wait)
    local files, err = plan.make(steps, {
      read = world.read,
      list = world.list,
      stamp = world.stamp,
      pause = pause,
    })
    err = err or files and apply.obstacle(files, pause)
    for _, file in ipairs(not err and files or {}) do
      pause()
      compare(file, wait)
    end
    return files, err
  end, done)
end

---A file's change on top of what the file is like now.
---@param job claude-ide.changeset.Job
---@return claude-ide.changeset.File? file nil without an error: it has changed in the same places
---@return string? err a sentence without a full stop
local function renewed(job)
  local old = job.file
  local file = vim.tbl_extend("force", {}, old) --[[@as claude-ide.changeset.File]]
  file.after, file.comparison = job.text, nil
  if not old.source or world.is_unchanged(old.source) then
    return file
  end
  local now, err = world.read(old.source.path)
  if not now then
    return nil, err or path.short(old.source.path) .. " is gone"
  end
  file.source, file.before = now, now.text
  if not job.text then
    return file -- deleted; shown with its new text
  end
  local before, after = old.before, job.text --[[@as claude-ide.changeset.Text]]
  ---@cast before claude-ide.changeset.Text
  local lines_of = bytes.lines_of
  local lines, overlaps = merge.three_way(lines_of(before), lines_of(after), lines_of(now.text))
  if overlaps > 0 then
    return nil
  end
  local format = vim.tbl_extend("force", {}, now.text.format) --[[@as claude-ide.bytes.Format]]
  if before.format.final ~= after.format.final then
    format.final = after.format.final
  end
  format.empty = #lines == 0
  file.after = { lines = #lines > 0 and lines or { "" }, format = format }
  return file
end

---Whether files have changed since they were planned.
---@param jobs claude-ide.changeset.Job[]
---@return boolean
function M.is_outdated(jobs)
  return vim.iter(jobs):any(function(job)
    return job.file.source ~= nil and not world.is_unchanged(job.file.source)
  end)
end

---Plans changes anew, on top of what others have changed meanwhile. Changes nothing.
---@param jobs claude-ide.changeset.Job[]
---@param done fun(files: claude-ide.changeset.File[]?, err: string?) err: a sentence without a full stop; the files are as the jobs
function M.renew(jobs, done)
  work_out(function(pause, wait)
    local files, overlapping = {}, {} ---@type claude-ide.changeset.File[], string[]
    for i, job in ipairs(jobs) do
      pause()
      local file, err = renewed(job)
      if err then
        return nil, err
      elseif file then
        compare(file, wait)
        files[i] = file
      else
        overlapping[#overlapping + 1] = path.short((job.file.source or job.file).path)
      end
    end
    if overlapping[1] then
      local them, have = "it", "has"
      if overlapping[2] then
        them, have = "them", "have"
      end
      local text = "%s %s changed in the same places: drop %s, or reject"
      return nil, text:format(listed(overlapping), have, them)
    end
    return files, apply.obstacle(files, pause)
  end, done)
end

---Plans edits of language servers. Changes nothing.
---@param edits claude-ide.changeset.ServerEdit[] of one server, or of several in turn
---@param done fun(files: claude-ide.changeset.File[]?, err: string?, notes: string[], needs_confirmation?: boolean) err: a sentence
---  without a full stop; needs_confirmation: a server wants the user to look
function M.plan(edits, done)
  local steps, notes, needs_confirmation = {}, {}, false
  for _, one in ipairs(edits) do
    local more, err, said, needs = workspace_edit.steps(one.edit)
    needs_confirmation = needs_confirmation or needs == true
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
    done(files, err, files and notes or {}, needs_confirmation)
  end)
end

return M
