-- Turns a tool's edits into a changeset, proposes or applies it, and reports the result with new diagnostics to the model.
-- Invariant: a cancelled call withdraws its changeset and writes nothing.
local lazy = require("claude-ide.lazy")
local breaks = lazy("claude-ide.language.breaks")
local buffer = lazy("claude-ide.editor.buffer")
local changeset = lazy("claude-ide.edits.changeset")
local changeset_report = lazy("claude-ide.edits.changeset.report")
local config = lazy("claude-ide.config")
local counted = lazy("claude-ide.base.counted")
local fresh = lazy("claude-ide.language.diagnostics.fresh")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local ide_diagnostics = lazy("claude-ide.language.diagnostics")
local locate = lazy("claude-ide.language.locate")
local lsp = lazy("claude-ide.base.lsp")
local modes = lazy("claude-ide.sessions.modes")
local paging = lazy("claude-ide.language.paging")
local position = lazy("claude-ide.base.position")
local proposal = lazy("claude-ide.edits.proposal")
local ready = lazy("claude-ide.language.ready")
local requests = lazy("claude-ide.requests")
local server = lazy("claude-ide.server")
local servers = lazy("claude-ide.language.diagnostics.servers")
local workspace_edit = lazy("claude-ide.edits.changeset.workspace_edit")
local world = lazy("claude-ide.edits.changeset.world")

local M = {}

---About 2,000 tokens of code, including the diagnostics.
local MAX_BYTES, DIAGNOSTICS_BYTES = 6000, 1600

---Maximum number of closed files to load for their diagnostics.
local MAX_LOADED = 40

---Timeout of language servers.
local FRESH_MS = 5000
---Wait after the last report on a file that was left unchanged.
local LEFT_SETTLE_MS = 500

---@class claude-ide.tools.Asked
---@field answered fun(answer?: claude-ide.requests.Answer, err?: string)

local requester_of = require("claude-ide.tools.agent_requester")(function(agent)
  return {
    name = "Claude",
    client = agent,
    writes = "editor",
    answer = function(asked, answer, err)
      asked.answered(answer, err)
    end,
    -- The user's reason is part of the answer.
    tell = function() end,
    cannot_hear = function() end,
  }, { gone = "that Claude is gone" }
end)

---The CLI of an agent, if it is certain: one of each is connected, with the same name.
---@return claude-ide.Client?
local function cli_of(agent)
  local clients, agents = server.clients(), server.agents()
  local known = server.agent(agent)
  local is_sure = known and #clients == 1 and #agents == 1 and clients[1].name == known.name
  return is_sure and clients[1] or nil
end

---Whether the session's mode accepts edits without asking. If it is unknown, the user is asked.
local function is_unasked(task)
  local cli = cli_of(task.call.client)
  if not cli then
    return false
  end
  local mode = task:await(function(resume)
    modes.of_client(cli.id, resume)
  end)
  return modes.UNASKED[mode] == true
end

---Sends changes to servers at once, since diagnostics of files that are loaded next depend on them.
local function flush(paths)
  for _, path in ipairs(paths) do
    local buf = buffer.loaded(path)
    if buf then
      for _, client in ipairs(lsp.clients(buf)) do
        lsp.flush(client, buf)
      end
    end
  end
end

---@return integer[] bufs with language servers
local function judged(task, paths)
  local bufs, loaded = {}, 0
  local may_load = config.get().diagnostics.load_hidden
  for _, path in ipairs(paths) do
    local buf = buffer.loaded(path)
    if not buf and may_load and loaded < MAX_LOADED and vim.uv.fs_stat(path) then
      loaded, buf = loaded + 1, hidden.load(path)
    end
    bufs[#bufs + 1] = buf
    task:breathe()
  end
  return bufs
end

---@type table<string, { at: integer, word: string }>
local SEVERITIES = { Error = { at = 1, word = "error" }, Warning = { at = 2, word = "warning" } }

---Files that were left unchanged may have new errors: a name that they use has changed. Servers often repeat their old diagnostics
---first, and report new ones a moment later (pyright 1.1.414: up to 120 ms).
---@param left string[] paths
---@return integer? settle_ms
local function expect_of(left)
  local settle ---@type integer?
  for _, path in ipairs(left) do
    local buf = buffer.find(path)
    local clients = buf and lsp.clients(buf) or {}
    if buf and #clients > 0 then
      local ids = vim.tbl_map(function(client)
        return client.id
      end, clients)
      servers.expect(ids, buf)
      settle = LEFT_SETTLE_MS
    end
  end
  return settle
end

---@param late table<integer, table<integer, true>> servers that have not reported, by buffer
---@return string[] busy names of servers that are still to report
---@return integer silent number of buffers that no server reports on
local function servers_of(bufs, late)
  local names, silent = {}, 0
  for _, buf in ipairs(bufs) do
    local speaks = false
    for _, client in ipairs(lsp.clients(buf)) do
      local may_speak = servers.has_spoken(client.id) or servers.is_working(client.id)
      speaks = speaks or may_speak
      names[client.name] = may_speak and (late[buf] or {})[client.id] or names[client.name]
    end
    local is_starting = lsp.is_starting(buf)
    names["a language server that is starting"] = is_starting or names["a language server that is starting"]
    speaks = speaks or #vim.diagnostic.get(buf) > 0 or is_starting
    silent = speaks and silent or silent + 1
  end
  local busy = vim.tbl_keys(names)
  table.sort(busy)
  return busy, silent
end

---Diagnostics of the files after the change.
---@param left string[] files left unchanged
---@return string[] lines
local function diagnostics(task, paths, left)
  flush(paths)
  local bufs = judged(task, paths)
  local settle = expect_of(left)
  local late = task:await(function(resume)
    local speaking = vim.tbl_filter(ready.speaks_of, bufs)
    fresh.wait(speaking, FRESH_MS, resume, settle)
  end)
  local lines, counts = {}, { 0, 0 }
  for _, buf in ipairs(bufs) do
    local shown = locate.shown(vim.api.nvim_buf_get_name(buf))
    for _, found in ipairs(ide_diagnostics.of_buffer(buf)) do
      local severity = SEVERITIES[found.severity]
      if severity then
        counts[severity.at] = (counts[severity.at] or 0) + 1
        local message = found.message:gsub("%s+", " ")
        lines[#lines + 1] = ("  %s:%d: %s: %s"):format(
          shown,
          found.range.start.line + 1,
          severity.word,
          position.truncate(message, 200)
        )
      end
    end
  end
  local busy, silent = servers_of(bufs, late)
  local who = #busy > 0 and ("%s has not reported on the change yet."):format(table.concat(busy, ", ")) or nil
  if #bufs == 0 then
    return {}
  elseif #lines == 0 and who then
    return { "Diagnostics now: none yet; " .. who }
  elseif #lines == 0 then
    local none = silent == #bufs and "not known: no language server reports on these files."
      or silent > 0 and ("no error, no warning in those that a language server reports on (not in %d of %d)."):format(
        silent,
        #bufs
      )
      or "no error, no warning."
    return { "Diagnostics now: " .. none }
  end
  local head = ("Diagnostics now in these files: %s, %s."):format(
    counted(counts[1], "error"),
    counted(counts[2], "warning")
  )
  local text = paging.cut(table.concat(lines, "\n"), DIAGNOSTICS_BYTES)
  return { who and ("%s (%s)"):format(head, who) or head, text }
end

---@return string[] paths files that may have new errors, including those whose changes were dropped
---@return string[] left files left unchanged
local function concerned(report)
  local paths, left = {}, {}
  for _, file in ipairs(report.files) do
    if file.kind ~= "deleted" then
      paths[#paths + 1] = file.path
      left[#left + 1] = file.dropped and file.path or nil
    end
  end
  return paths, left
end

---Proposes to the user, and waits for the decision.
---@param edit claude-ide.proposal.Edit
---@return claude-ide.requests.Answer? answer
---@return string? err
local function decide(task, edit)
  return task:await(function(resume)
    local asked = { answered = resume } ---@type claude-ide.tools.Asked
    local diff = proposal.propose(requester_of(task.call.client), asked, edit)
    return function()
      requests.cancel(diff, "Claude withdrew it")
    end
  end)
end

---Records a server's text versions right before it is asked for edits. The function that it returns is called at once when the server has
---answered: it records the files that the answer edits, of which many are not open.
---@param client vim.lsp.Client
---@param old_name? string for a rename
---@return fun(edit: table): claude-ide.changeset.ServerEdit
function M.asked(client, old_name)
  local versions = {} ---@type table<string, integer>
  for buf in pairs(client.attached_buffers or {}) do
    versions[vim.api.nvim_buf_get_name(buf)] = vim.lsp.util.buf_versions[buf]
  end
  return function(edit)
    local stamps = {} ---@type table<string, string>
    for _, path in ipairs(workspace_edit.paths(edit)) do
      stamps[path] = world.stamp(path)
    end
    return {
      edit = edit,
      stamps = stamps,
      encoding = client.offset_encoding or "utf-16",
      breaks = breaks.known(client.id),
      old_name = old_name,
      versions = versions,
    }
  end
end

---@class claude-ide.tools.Changes
---@field title string "Rename add to plus"
---@field edits claude-ide.changeset.ServerEdit[]
---@field none string answer if nothing would change
---@field doubt? string why the user decides in every mode: a clause for the notes

---Proposes changes and returns a report.
---@param task claude-ide.language.Task
---@param changes claude-ide.tools.Changes
---@return { text: string }
function M.propose(task, changes)
  local files, err, notes, needs_confirmation = task:await(function(resume)
    changeset.plan(changes.edits, resume)
  end)
  if not files then
    task:fail(("nothing was changed: %s"):format(err))
  elseif #files == 0 then
    return { text = table.concat(vim.list_extend({ changes.none }, notes), "\nNote: ") }
  end
  notes[#notes + 1] = changes.doubt
  local unasked = not needs_confirmation and not changes.doubt and is_unasked(task)
  task:progress(unasked and "Writing" or "Waiting for the user to review the changes in the editor")
  local plan = { notes = notes, unasked = unasked }
  local answer, failed = decide(task, { tab_name = changes.title, files = files, plan = plan })
  if not answer then
    task:fail(failed or "nobody can be asked")
    error("a task that failed has ended")
  elseif answer.outcome == "rejected" then
    local why = answer.words and ("They say: " .. answer.words)
      or "They did not say why. Ask before you make these changes in another way."
    task:fail(("%s: the user rejected it, and nothing was written. %s"):format(changes.title, why))
  elseif answer.outcome ~= "accepted" then
    task:fail(("%s: nobody decided, and nothing was written"):format(changes.title))
  end
  local report = answer.report --[[@as claude-ide.changeset.Report]]
  local lines = { changeset_report.text(report, MAX_BYTES - DIAGNOSTICS_BYTES) }
  vim.list_extend(lines, diagnostics(task, concerned(report)))
  return { text = table.concat(lines, "\n") }
end

return M
