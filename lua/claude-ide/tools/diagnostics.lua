-- getDiagnostics: diagnostics of language servers, which the CLI requests before and after each edit.
-- The CLI gives up after 500 ms for one file and 2 s for all, and compares URIs as text. So the answer has a deadline, and uses the
-- client's own URI of a file.
-- A request for all files also reloads buffers, which shows edits made without a diff.
local lazy = require("claude-ide.lazy")
local baseline = lazy("claude-ide.language.diagnostics.baseline")
local buffer = lazy("claude-ide.editor.buffer")
local claude_client = lazy("claude-ide.tools.claude_client")
local config = lazy("claude-ide.config")
local disk = lazy("claude-ide.editor.buffer.disk")
local fresh = lazy("claude-ide.language.diagnostics.fresh")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local ide_diagnostics = lazy("claude-ide.language.diagnostics")
local journal = lazy("claude-ide.edits.journal")
local log = lazy("claude-ide.base.log")
local lsp = lazy("claude-ide.base.lsp")
local paths = lazy("claude-ide.base.path")
local privacy = lazy("claude-ide.server.privacy")
local problems = lazy("claude-ide.language.problems")
local servers = lazy("claude-ide.language.diagnostics.servers")
local timers = lazy("claude-ide.base.timer")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Time for the disk and this module, in addition to the wait for language servers.
local GRACE_MS = 100

---@class claude-ide.tool.GetDiagnostics.File
---@field uri string
---@field diagnostics claude-ide.Diagnostic[]

---All files of the client's worktree with diagnostics, and those that the client asked about before, possibly with none.
---@param late table<integer, table<integer, true>> clients that have not reported yet, by buffer
---@return claude-ide.tool.GetDiagnostics.File[]
local function all_files(client, late)
  local files, named = {}, {}
  for _, known in ipairs(baseline.files(client)) do
    local buf = known.path and buffer.find(known.path)
    if buf then
      local diagnostics = known.key and baseline.since(known, buf, late[buf] or {}) or {}
      files[#files + 1] = { uri = known.uri, diagnostics = diagnostics }
      named[buf] = true
    end
  end
  local by_buf = ide_diagnostics.of_all()
  local is_elsewhere = workspace.elsewhere(workspace.of_client(client))
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if by_buf[buf] and not named[buf] and not is_elsewhere(name) then
      files[#files + 1] = { uri = paths.to_uri(name), diagnostics = by_buf[buf] }
    end
  end
  return files
end

---Whether a file may be loaded for its language servers: part of the project, and not withheld.
local function may_load(path)
  if not config.get().diagnostics.load_hidden then
    return false
  elseif privacy.denied_by(path) then
    return false
  end
  local real = paths.real(path)
  return vim.iter(workspace.folders()):any(function(folder)
    return paths.within(path, folder) or paths.within(real, paths.real(folder))
  end)
end

---Calls back once a file's buffer has the text on disk, and whether it was changed.
---@param done fun(buf: integer?, is_new: boolean)
local function bring_up_to_date(path, done)
  local buf = buffer.find(path)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    hidden.load(path) -- extends the life of a hidden buffer
    disk.reload_all({ buf }, function(changed)
      done(buf, #changed > 0)
    end)
  elseif may_load(path) then
    local loaded, err = hidden.load(path)
    if not loaded then
      log.debug("%s is not loaded for its diagnostics: %s", path, err)
    end
    done(loaded, loaded ~= nil)
  else
    done(buf, false)
  end
end

---@alias claude-ide.tool.GetDiagnostics.Late table<integer, table<integer, true>>

---@param respond fun(late?: claude-ide.tool.GetDiagnostics.Late)
---@return fun(late?: claude-ide.tool.GetDiagnostics.Late) respond_once also called at the deadline
local function in_time(respond, ms)
  local timer = timers.new("answer getDiagnostics in time")
  timer:start(ms, respond)
  return function(late)
    if timer:is_active() then
      timer:stop()
      respond(late)
    end
  end
end

---Functions to run after the current look at the disk, by client, once servers were notified.
---@type table<integer, fun()[]>
local looking = {}

---Notifies language servers of files that were created or deleted since the client asked about them, and loads new ones: a server that
---is not notified keeps reporting them as missing.
---@param done fun(loaded: integer[]) buffers of new files
---@param list? claude-ide.diagnostics.Baseline[] default: files asked about so far
local function tell_servers(client, done, list)
  list = list or baseline.fresh(client) -- now: on a slow disk they are no longer fresh after the look
  if looking[client] then
    table.insert(looking[client], function()
      tell_servers(client, done, list)
    end)
    return
  end
  looking[client] = {}
  baseline.look(list, function(changes)
    for _, look_again in ipairs(looking[client]) do
      vim.schedule(look_again)
    end
    looking[client] = nil
    local loaded = {}
    local notified = lsp.files_changed(changes)
    for path, change in pairs(changes) do
      local buf = buffer.find(path)
      if change == lsp.FileChange.deleted then
        hidden.drop(path)
      elseif
        change == lsp.FileChange.created
        and not (buf and vim.api.nvim_buf_is_loaded(buf))
        and may_load(path)
      then
        loaded[#loaded + 1] = hidden.load(path)
      end
    end
    for _, known in ipairs(baseline.files(client)) do
      local buf = known.path and buffer.find(known.path)
      if buf then
        servers.expect(notified, buf)
      end
    end
    done(loaded)
  end)
end

---@param args { uri?: string }
local function one_file(args, respond, call)
  local uri = args.uri --[[@as string]]
  -- The sides of a diff (`_claude_fs_right:`) have no language server: no diagnostics.
  local is_file = vim.startswith(uri, "file:") or vim.startswith(uri, "/")
  local path = is_file and paths.from_uri(uri) or nil
  local known = baseline.note(call.client, uri, path)
  if not path then
    respond({ { uri = uri, diagnostics = {} } })
    return
  end
  -- The CLI writes the file as soon as it has the answer: keep its bytes first.
  journal.before_edit(call.client, path)
  local wait_ms = config.get().diagnostics.wait_ms
  local answer = in_time(function(late)
    local buf = buffer.find(path)
    local new = baseline.before_edit(known, buf, late and buf and late[buf] or {})
    respond({ { uri = uri, diagnostics = new } })
  end, wait_ms + GRACE_MS)
  local began = vim.uv.now()
  tell_servers(call.client, function() end)
  bring_up_to_date(path, function(buf, is_new)
    if not buf or not is_new then
      return answer()
    end
    vim.uv.update_time()
    fresh.wait({ buf }, wait_ms - (vim.uv.now() - began), answer)
  end)
end

---Buffers that servers may have new diagnostics for: changed ones, and those of finished edits that a server has not reported on.
local function not_judged(client, changed)
  local bufs, seen = {}, {}
  local function add(buf)
    if buf and not seen[buf] and vim.api.nvim_buf_is_loaded(buf) then
      seen[buf] = true
      bufs[#bufs + 1] = buf
    end
  end
  vim.iter(changed):each(add)
  for _, known in ipairs(baseline.files(client)) do
    local buf = known.path and buffer.find(known.path)
    local clients = buf and lsp.clients(buf) or {}
    ---@cast buf integer
    for _, server in ipairs(clients) do
      local owes = not servers.has_judged(server.id, buf) or servers.is_working(server.id)
      if servers.is_expected(server.id, buf) or known.edited and owes then
        add(buf)
      end
    end
  end
  return bufs
end

local function every_file(respond, call)
  local wait_ms = config.get().diagnostics.wait_all_ms
  local answer = in_time(function(late)
    local files = all_files(call.client, late or {})
    baseline.end_of_edits(call.client)
    respond(files)
  end, wait_ms + GRACE_MS)
  local began = vim.uv.now()
  tell_servers(call.client, function(loaded)
    disk.reload_all(vim.api.nvim_list_bufs(), function(changed)
      vim.uv.update_time()
      local bufs = not_judged(call.client, vim.list_extend(loaded, changed))
      fresh.wait(bufs, wait_ms - (vim.uv.now() - began), answer)
    end)
  end)
end

M.get_diagnostics = {
  ---@param args { uri?: string }
  ---@param respond claude-ide.Respond
  ---@param call claude-ide.Call
  run = function(args, respond, call)
    if args.uri then
      return one_file(args, respond, call)
    end
    -- Requested only when the edits of a turn are over (measured with the CLI 2.1.329).
    claude_client.end_of_turn(call.client)
    journal.edits_over(call.client)
    every_file(respond, call)
  end,
}

---Diagnostics of a file or of all files, as text.
M.diagnostics = require("claude-ide.language.task").tool(function(task, args)
  return problems.text(task, args)
end)

return M
