-- Applies accepted changesets: moves, writes, creates and deletes files like the editor's own writes, journalled as one step.
-- Invariants: everything is applied, or nothing. A file that has changed since the proposal was made stops it before the first write.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local format = lazy("claude-ide.editor.buffer.format")
local log = lazy("claude-ide.base.log")
local lsp = lazy("claude-ide.base.lsp")
local safely = lazy("claude-ide.base.safely")
local slice = lazy("claude-ide.base.slice")
local text_edits = lazy("claude-ide.edits.changeset.text_edits")
local transaction = lazy("claude-ide.edits.journal.transaction")
local waits = lazy("claude-ide.base.waits")
local world = lazy("claude-ide.edits.changeset.world")

local M = {}

-- LSP 3.17, "workspace/didChangeWatchedFiles", "workspace/didCreateFiles", "didRenameFiles", "didDeleteFiles".

---@param client vim.lsp.Client
---@param operation "didCreate"|"didRename"|"didDelete"
---@return boolean whether the server registered for the notification
local function wants(client, operation)
  local workspace = (client.server_capabilities or {}).workspace
  local operations = type(workspace) == "table" and workspace.fileOperations
  return type(operations) == "table" and operations[operation] ~= nil
end

---@param operation "didCreate"|"didRename"|"didDelete"
---@param method string
---@param files table[]
local function tell(operation, method, files)
  if #files == 0 then
    return
  end
  for _, client in ipairs(lsp.all()) do
    if wants(client, operation) then
      lsp.notify(client, method, { files = files })
    end
  end
end

---Notifies language servers of files created, changed, moved and deleted on disk.
---@param jobs claude-ide.changeset.Job[] completed ones
local function notify_servers(jobs)
  if not package.loaded["vim.lsp"] then
    return
  end
  local uri = vim.uri_from_fname
  local changes = {} ---@type table<string, claude-ide.lsp.FileChange>
  local created, renamed, deleted = {}, {}, {}
  for _, job in ipairs(jobs) do
    local file = job.file
    local kind = job.away and "aside" or file.kind
    if kind == "created" then
      changes[file.path] = lsp.FileChange.created
      created[#created + 1] = { uri = uri(file.path) }
    elseif kind == "deleted" then
      changes[file.path] = lsp.FileChange.deleted
      deleted[#deleted + 1] = { uri = uri(file.path) }
    elseif kind == "renamed" then
      changes[file.from] = changes[file.from] or lsp.FileChange.deleted
      changes[file.path] = lsp.FileChange.created
      renamed[#renamed + 1] = {
        oldUri = uri(file.from --[[@as string]]),
        newUri = uri(file.path),
      }
    elseif kind == "modified" then
      changes[file.path] = not buffer.loaded(file.path) and lsp.FileChange.changed or nil
    end
  end
  lsp.files_changed(changes)
  tell("didCreate", "workspace/didCreateFiles", created)
  tell("didRename", "workspace/didRenameFiles", renamed)
  tell("didDelete", "workspace/didDeleteFiles", deleted)
end

---The change of one file.
---@class claude-ide.changeset.Job
---@field file claude-ide.changeset.File
---@field text? claude-ide.changeset.Text nil: delete the file
---@field away? string the file is only moved here, for another to take its place
---@field from? string where it was moved to before, instead of `file.from`

local short = require("claude-ide.base.path").short

---@param job claude-ide.changeset.Job
---@param leaves? table<string, true> the files that are moved elsewhere; default: all that the plan moves
---@return string? err
local function check(job, leaves)
  local file = job.file
  for _, path in ipairs({ file.path, file.from }) do
    local err = world.refused(path)
    if err then
      return err
    end
  end
  for _, source in ipairs({ file.source or false, file.replaced or false }) do
    if source and not world.is_unchanged(source) then
      return ("%s has changed meanwhile"):format(short(source.path))
    end
  end
  local stat = file.kind == "deleted" and vim.uv.fs_lstat(file.path)
  if stat and stat.type == "link" then
    -- The journal keeps the target's text, so an undo would not restore the link.
    return ("%s is a symbolic link"):format(short(file.path))
  end
  local is_new = file.kind == "created" or file.kind == "renamed" and not file.replaced
  is_new = is_new and not (file.vacated and (not leaves or leaves[file.path]))
  if is_new and vim.uv.fs_lstat(file.path) then
    return ("%s exists by now"):format(short(file.path))
  end
  local buf = buffer.loaded(file.path)
  if is_new and buf and vim.bo[buf].modified then
    return ("%s has unsaved text in a buffer"):format(short(file.path))
  end
  local unsaved = file.source and file.source.unsaved or file.replaced and file.replaced.unsaved
  if unsaved and file.kind ~= "modified" then
    return ("%s has unsaved changes: save it first"):format(short(file.from or file.path))
  end
end

---Why the changes cannot be applied now; checked before the user is asked.
---@param files claude-ide.changeset.File[]
---@param pause fun() called between two files; may yield to the event loop
---@return string? err a sentence without a full stop
function M.obstacle(files, pause)
  for _, file in ipairs(files) do
    pause()
    local err = check({ file = file, text = file.after })
    if err then
      return err
    end
  end
end

---The buffer of a file that is not UTF-8: only Neovim can encode its bytes.
---@param file claude-ide.changeset.File
---@return integer? buf
local function encoded(file)
  local buf = file.source and file.source.buf
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    return not format.is_utf8(vim.bo[buf].fileencoding) and buf or nil
  end
end

---@param landing claude-ide.journal.Landing
---@param job claude-ide.changeset.Job
---@return boolean? ok
---@return string? err
local function do_job(landing, job)
  local file = job.file
  if job.away then
    return transaction.move(landing, file.from --[[@as string]], job.away, true)
  elseif file.kind == "renamed" then
    local ok, err = transaction.move(landing, job.from or file.from --[[@as string]], file.path)
    if not ok then
      return nil, err
    end
    local same = text_edits.same
    if
      same(job.text --[[@as claude-ide.changeset.Text]], file.before --[[@as claude-ide.changeset.Text]])
    then
      return true
    end
  end
  local text = job.text
  if not text then
    return transaction.write(landing, file.path, nil)
  elseif file.source and file.source.unsaved then
    local buf = file.source.buf --[[@as integer]]
    transaction.write_unsaved(landing, file.path, { buf = buf, lines = text.lines, format = text.format })
    return true
  end
  local buf = encoded(file)
  if buf then
    return transaction.write_encoded(
      landing,
      file.path,
      { buf = buf, lines = text.lines, format = text.format }
    )
  end
  return transaction.write(landing, file.path, bytes.encode(text.lines, text.format))
end

---A path beside a file that no other program uses.
---@param path string
---@return string
local function beside(path)
  return ("%s/.claude-ide.%d.%s"):format(vim.fs.dirname(path), vim.uv.os_getpid(), vim.fs.basename(path))
end

---Moves come first; a move away from a path before a move onto it. In a ring one file is moved aside first.
---@param jobs claude-ide.changeset.Job[]
---@return claude-ide.changeset.Job[]
local function in_order(jobs)
  local moves, others = {}, {} ---@type claude-ide.changeset.Job[], claude-ide.changeset.Job[]
  for _, job in ipairs(jobs) do
    table.insert(job.file.kind == "renamed" and moves or others, job)
  end
  ---@param job claude-ide.changeset.Job
  ---@return claude-ide.changeset.Job? other whose file is still in the way
  local function waits_for(job)
    return vim.iter(moves):find(function(other)
      return other ~= job and not other.from and other.file.from == job.file.path
    end)
  end
  local ordered = {} ---@type claude-ide.changeset.Job[]
  while #moves > 0 do
    local at ---@type integer?
    for i, job in ipairs(moves) do
      if not waits_for(job) then
        at = i
        break
      end
    end
    if not at then
      local other = waits_for(moves[1]) --[[@as claude-ide.changeset.Job]]
      other.from = beside(other.file.from --[[@as string]])
      ordered[#ordered + 1] = { file = other.file, away = other.from }
    else
      ordered[#ordered + 1] = table.remove(moves, at)
    end
  end
  return vim.list_extend(ordered, others)
end

---@class claude-ide.changeset.Applying
---@field finish fun() applies the rest at once, when Neovim exits

---@type table<claude-ide.changeset.Applying, true>
local going_on = {}

---@param jobs claude-ide.changeset.Job[]
---@param opts { client?: integer, reviewed: boolean }
---@param done fun(err: string?) nil: everything is applied. Called later, once
function M.run(jobs, opts, done)
  local leaves = {} ---@type table<string, true>
  for _, job in ipairs(jobs) do
    leaves[job.file.from or ""] = true
  end
  jobs = in_order(jobs)
  local landing ---@type claude-ide.journal.Landing?
  local at, checking, ended = 0, true, false

  local function finish(err)
    ended = true
    if landing and err then
      local take_back = safely.wrap("take a changeset back", transaction.take_back)
      for _, problem in ipairs(take_back(landing) or { "an error, which the log has" }) do
        log.error("a changeset could not be taken back: %s", problem)
        err = err .. "; not restored: " .. problem
      end
    elseif landing then
      safely.wrap("end the record of a changeset", transaction.finish)(landing)
      safely.wrap("report moved files", notify_servers)(jobs)
    end
    done(err)
  end

  local function step()
    at = at + 1
    local job = jobs[at]
    if checking then
      local err = job and check(job, leaves)
      if err then
        return finish(err)
      elseif not job then
        at, checking = 0, false
        landing = transaction.begin(opts.client, opts.reviewed)
      end
      return
    elseif not job then
      return finish()
    end
    local did, err = do_job(landing --[[@as claude-ide.journal.Landing]], job)
    if not did then
      finish(("%s could not be written: %s"):format(short(job.file.path), err))
    end
  end

  local safe_step = safely.catch(step, function(trace)
    local path = short(jobs[math.max(at, 1)].file.path)
    log.error("%s could not be written: %s", path, trace)
    if not ended then
      finish(("%s could not be written: an error, which the log has"):format(path))
    end
  end)

  local applying = {}
  local function run(is_hurried)
    local is_over = slice.begin()
    while not ended do
      safe_step()
      if is_over() and not is_hurried then
        break
      end
    end
    if ended then
      going_on[applying] = nil
    else
      slice.later(run)
    end
  end
  applying.finish = function()
    run(true)
  end
  going_on[applying] = true
  if waits.is_command_pending() then
    waits.when_text_may_change("changeset " .. tostring(applying), function()
      run()
    end)
  else
    run()
  end
end

---Completes the running changesets: Neovim is exiting.
function M.finish_all()
  for applying in pairs(vim.tbl_extend("force", {}, going_on)) do
    applying.finish()
  end
end

return M
