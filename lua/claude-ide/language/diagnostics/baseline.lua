-- Files that each client asked about before its edits: the client's URI, the file's state on disk, and which servers had reported.
-- The CLI shows its model the difference to its next request. So if a server was not ready before the edit, its old diagnostics
-- must not appear as new.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local ide_diagnostics = lazy("claude-ide.language.diagnostics")
local ide_file = lazy("claude-ide.base.file")
local lsp = lazy("claude-ide.base.lsp")
local new_ones = lazy("claude-ide.language.diagnostics.new_ones")
local patch = lazy("claude-ide.editor.buffer.patch")
local servers = lazy("claude-ide.language.diagnostics.servers")

local M = {}

---Maximum number of files per client.
local MAX_FILES = 500

---@class claude-ide.diagnostics.Baseline
---@field uri string as the client wrote it
---@field path? string nil: not a file
---@field key? string state on disk at the last check; nil: did not exist
---@field fresh boolean asked about since the client's last request for all files
---@field edited boolean seen to change since
---@field complete? table<integer, true> servers that had reported; nil: all, since the file did not exist
---@field sent table<integer, claude-ide.Diagnostic[]> last diagnostics sent, by server
---@field old table<integer, table<string, integer>> counts of diagnostics from before the edit that arrived too late to be sent, by server
---@field before? { buf: integer, tick: integer, lines: string[] } text before the edit, while reports are pending

---Oldest first.
---@type table<integer, claude-ide.diagnostics.Baseline[]> by client
local files = {}

local follow_clients = require("claude-ide.base.once")(function()
  bus.on("client_disconnected", function(client)
    files[client.id] = nil
  end)
end)

---Records a file that a client is about to edit.
---@param client integer
---@param uri string
---@param path? string
---@return claude-ide.diagnostics.Baseline
function M.note(client, uri, path)
  follow_clients()
  local list = files[client] or {}
  files[client] = list
  local found
  for _, file in ipairs(list) do
    if file.uri == uri then
      found = file
    end
  end
  if not found then
    found = { uri = uri, fresh = true, edited = false, sent = {}, old = {} }
    list[#list + 1] = found
    if #list > MAX_FILES then
      table.remove(list, 1)
    end
  end
  found.path, found.fresh, found.edited, found.complete, found.sent = path, true, false, {}, {}
  found.old, found.before = {}, nil
  found.key = path and ide_file.key_now(path)
  return found
end

---Files that a client asked about, oldest first.
---@param client integer
---@return claude-ide.diagnostics.Baseline[]
function M.files(client)
  return files[client] or {}
end

---Files that a client asked about since its last request for all.
---@param client integer
---@return claude-ide.diagnostics.Baseline[]
function M.fresh(client)
  return vim.tbl_filter(function(file)
    return file.fresh and file.path ~= nil
  end, M.files(client))
end

---The client has requested all files: its edits are over.
---@param client integer
function M.end_of_edits(client)
  for _, file in ipairs(M.files(client)) do
    file.fresh, file.edited = false, false
  end
end

---Checks in the background how these files have changed on disk.
---@param list claude-ide.diagnostics.Baseline[] each with a path
---@param done fun(changes: table<string, claude-ide.lsp.FileChange>) on the main loop
function M.look(list, done)
  local kinds = lsp.FileChange
  local changes, open = {}, #list
  if open == 0 then
    return done(changes)
  end
  for _, file in ipairs(list) do
    vim.uv.fs_stat(
      file.path --[[@as string]],
      vim.schedule_wrap(function(_, stat)
        local before, now = file.key, ide_file.key(stat)
        file.key = now
        if before ~= now then
          file.edited = true
          changes[file.path] = not before and kinds.created or not now and kinds.deleted or kinds.changed
        end
        open = open - 1
        if open == 0 then
          done(changes)
        end
      end)
    )
  end
end

---Returns a function from a buffer's diagnostics to their servers.
---@return fun(diagnostic: vim.Diagnostic): integer?
local function author_in(buf)
  local clients = lsp.clients(buf)
  return function(diagnostic)
    return servers.author(diagnostic.namespace, clients)
  end
end

---Counts of a server's diagnostics outside of the edited lines, which are from before the edit.
---@param known claude-ide.diagnostics.Baseline
---@param list claude-ide.Diagnostic[]
---@return table<string, integer>
local function outside_of_edit(known, buf, list)
  if not known.before then
    return new_ones.counted(list)
  end
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local hunks = patch.hunks(known.before.lines, lines)
  return new_ones.counted(vim.tbl_filter(function(diagnostic)
    local first, last = diagnostic.range.start.line + 1, diagnostic.range["end"].line + 1
    return not vim.iter(hunks):any(function(hunk)
      return first < hunk.new + hunk.new_count and last >= hunk.new
    end)
  end, list))
end

---A server has reported on a buffer. If the buffer has the text before the edit, its diagnostics are old, though not sent yet.
---@param client_id integer
---@param buf integer
function M.published(client_id, buf)
  for _, list in pairs(files) do
    for _, known in ipairs(list) do
      local before = known.before
      if
        before
        and before.buf == buf
        and not known.old[client_id]
        and not (known.complete or {})[client_id]
      then
        local is_loaded = vim.api.nvim_buf_is_loaded(buf)
        if is_loaded and vim.api.nvim_buf_get_changedtick(buf) == before.tick then
          local said, client = {}, vim.lsp.get_client_by_id(client_id)
          ide_diagnostics.of_buffer(buf, function(raw, converted)
            local namespace = raw.namespace --[[@as integer]]
            if client and servers.author(namespace, { client }) then
              said[#said + 1] = converted
            end
          end)
          known.old[client_id] = new_ones.counted(said)
        end
      end
    end
  end
end

---Diagnostics to send for a file: the last ones of late servers; of servers that had not reported before the edit only new ones, as far
---as known.
---@param known claude-ide.diagnostics.Baseline
---@param buf integer
---@param late table<integer, true>
---@return claude-ide.Diagnostic[]
function M.since(known, buf, late)
  local sent, list = {}, {} ---@type table<integer, claude-ide.Diagnostic[]>, claude-ide.Diagnostic[]
  local author_of = author_in(buf)
  ide_diagnostics.of_buffer(buf, function(raw, converted)
    local author = author_of(raw)
    if not author then
      list[#list + 1] = converted
    elseif not late[author] then
      sent[author] = sent[author] or {}
      table.insert(sent[author], converted)
    end
  end)
  for client_id in pairs(late) do
    sent[client_id] = known.sent[client_id]
  end
  known.sent = sent
  for client_id, diagnostics in pairs(sent) do
    if not known.complete or known.complete[client_id] then
      vim.list_extend(list, diagnostics)
    elseif not late[client_id] then
      known.old[client_id] = known.old[client_id] or outside_of_edit(known, buf, diagnostics)
      vim.list_extend(list, new_ones.since(diagnostics, known.old[client_id]))
    end
  end
  return list
end

---Diagnostics to send for a file that is about to be edited.
---@param known claude-ide.diagnostics.Baseline
---@param buf? integer
---@param late table<integer, true>
---@return claude-ide.Diagnostic[]
function M.before_edit(known, buf, late)
  local is_new = known.path and not known.key
  local complete = {} ---@type table<integer, true>
  known.complete = not is_new and complete or nil
  if not buf or is_new then
    return {}
  end
  for _, client in ipairs(lsp.clients(buf)) do
    servers.listen(client)
    if not late[client.id] and servers.is_settled(client.id, buf) then
      complete[client.id] = true
    elseif not known.before and vim.api.nvim_buf_is_loaded(buf) then
      known.before = {
        buf = buf,
        tick = vim.api.nvim_buf_get_changedtick(buf),
        lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false),
      }
    end
  end
  local late_now = vim.tbl_extend("force", {}, late)
  for _, client in ipairs(lsp.clients(buf)) do
    late_now[client.id] = late_now[client.id] or not complete[client.id] or nil -- nothing is new yet
  end
  return M.since(known, buf, late_now)
end

return M
