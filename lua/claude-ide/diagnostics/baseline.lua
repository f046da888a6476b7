-- The files that each client asked about before its edits: how it spells them, what was on disk then, and which language
-- servers had their say. The CLI tells its model what a later answer has and this one had not; so where a server was not
-- ready before the edit, what it says afterwards may be old and would be told as new.
local M = {}

---How many files each client's spelling is kept of.
local MAX_FILES = 500

---@class claude-ide.diagnostics.Baseline
---@field uri string as the client wrote it
---@field path? string nil: not a file
---@field key? string what the file on disk looked like when it was last looked at; nil: it was not there
---@field fresh boolean asked about since the client last asked for all
---@field edited boolean it was seen to change since
---@field complete? table<integer, true> the servers that had judged it; nil: all of them, for the file was not there
---@field told table<integer, claude-ide.Diagnostic[]> what was last told of each server's diagnostics
---@field old table<integer, table<string, integer>> how often each thing was wrong before the edit, by a server that was too late to be told of then
---@field before? { buf: integer, tick: integer, lines: string[] } the text before the edit, while servers owe their word on it

---Oldest first.
---@type table<integer, claude-ide.diagnostics.Baseline[]> by client
local files = {}

local follows_clients = false

local function follow_clients()
  if not follows_clients then
    follows_clients = true
    require("claude-ide.bus").on("client_disconnected", function(client)
      files[client.id] = nil
    end)
  end
end

local function key(stat)
  return stat and require("claude-ide.buffer.stamp").key(stat) or nil
end

---A client asks about a file that it is about to edit.
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
    found = { uri = uri, fresh = true, edited = false, told = {}, old = {} }
    list[#list + 1] = found
    if #list > MAX_FILES then
      table.remove(list, 1)
    end
  end
  found.path, found.fresh, found.edited, found.complete, found.told = path, true, false, {}, {}
  found.old, found.before = {}, nil
  found.key = path and key(vim.uv.fs_stat(path))
  return found
end

---The files that a client has asked about, oldest first.
---@param client integer
---@return claude-ide.diagnostics.Baseline[]
function M.files(client)
  return files[client] or {}
end

---The files that a client has asked about since it last asked for all.
---@param client integer
---@return claude-ide.diagnostics.Baseline[]
function M.fresh(client)
  return vim.tbl_filter(function(file)
    return file.fresh and file.path ~= nil
  end, M.files(client))
end

---The client has asked for all: its edits are over.
---@param client integer
function M.end_of_edits(client)
  for _, file in ipairs(M.files(client)) do
    file.fresh, file.edited = false, false
  end
end

---Looks in the background at what became of these files on disk.
---@param list claude-ide.diagnostics.Baseline[] each with a path
---@param done fun(changes: table<string, claude-ide.lsp.FileChange>) on the main loop
function M.look(list, done)
  local kinds = require("claude-ide.lsp").FileChange
  local changes, open = {}, #list
  if open == 0 then
    return done(changes)
  end
  for _, file in ipairs(list) do
    vim.uv.fs_stat(
      file.path --[[@as string]],
      vim.schedule_wrap(function(_, stat)
        local before, now = file.key, key(stat)
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

---Which server each diagnostic of a buffer comes from.
---@return fun(diagnostic: vim.Diagnostic): integer?
local function author_in(buf)
  local servers, lsp = require("claude-ide.diagnostics.servers"), require("claude-ide.lsp")
  local clients = lsp.clients(buf)
  return function(diagnostic)
    return servers.author(diagnostic.namespace, clients)
  end
end

local function what_of(diagnostic)
  return ("%s\n%s\n%s"):format(diagnostic.severity, tostring(diagnostic.code), diagnostic.message)
end

---@param list claude-ide.Diagnostic[]
---@return table<string, integer>
local function counted(list)
  local counts = {}
  for _, diagnostic in ipairs(list) do
    local what = what_of(diagnostic)
    counts[what] = (counts[what] or 0) + 1
  end
  return counts
end

---Those that were not wrong before.
---@param list claude-ide.Diagnostic[]
---@param old table<string, integer> what is right by now is taken out
---@return claude-ide.Diagnostic[]
local function new_ones(list, old)
  local now, left, new = counted(list), {}, {}
  for what, count in pairs(old) do
    old[what] = now[what] and math.min(count, now[what]) or nil
    left[what] = old[what]
  end
  for _, diagnostic in ipairs(list) do
    local what = what_of(diagnostic)
    if (left[what] or 0) > 0 then
      left[what] = left[what] - 1
    else
      new[#new + 1] = diagnostic
    end
  end
  return new
end

---What was wrong before the edit, of what a server says of the text after it: all that is not in lines that the edit changed.
---@param known claude-ide.diagnostics.Baseline
---@param list claude-ide.Diagnostic[]
---@return table<string, integer>
local function outside_of_edit(known, buf, list)
  if not known.before then
    return counted(list)
  end
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local hunks = require("claude-ide.buffer.patch").hunks(known.before.lines, lines)
  return counted(vim.tbl_filter(function(diagnostic)
    local first, last = diagnostic.range.start.line + 1, diagnostic.range["end"].line + 1
    return not vim.iter(hunks):any(function(hunk)
      return first < hunk.new + hunk.new_count and last >= hunk.new
    end)
  end, list))
end

---A server has had its say on a buffer. What it says of the text before the edit is old, though too late to have been told.
---@param client_id integer
---@param buf integer
function M.heard(client_id, buf)
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
          require("claude-ide.diagnostics").of_buffer(buf, function(raw, converted)
            local namespace = raw.namespace --[[@as integer]]
            if client and require("claude-ide.diagnostics.servers").author(namespace, { client }) then
              said[#said + 1] = converted
            end
          end)
          known.old[client_id] = counted(said)
        end
      end
    end
  end
end

---What to tell of a file that was asked about before: of a server that is late what was told last, of one that had not
---judged the file before the edit what is new, as far as that can be known.
---@param known claude-ide.diagnostics.Baseline
---@param buf integer
---@param late table<integer, true>
---@return claude-ide.Diagnostic[]
function M.since(known, buf, late)
  local told, list = {}, {} ---@type table<integer, claude-ide.Diagnostic[]>, claude-ide.Diagnostic[]
  local author_of = author_in(buf)
  require("claude-ide.diagnostics").of_buffer(buf, function(raw, converted)
    local author = author_of(raw)
    if not author then
      list[#list + 1] = converted
    elseif not late[author] then
      told[author] = told[author] or {}
      table.insert(told[author], converted)
    end
  end)
  for client_id in pairs(late) do
    told[client_id] = known.told[client_id]
  end
  known.told = told
  for client_id, diagnostics in pairs(told) do
    if not known.complete or known.complete[client_id] then
      vim.list_extend(list, diagnostics)
    elseif not late[client_id] then
      known.old[client_id] = known.old[client_id] or outside_of_edit(known, buf, diagnostics)
      vim.list_extend(list, new_ones(diagnostics, known.old[client_id]))
    end
  end
  return list
end

---What to tell of a file that is about to be edited.
---@param known claude-ide.diagnostics.Baseline
---@param buf? integer
---@param late table<integer, true>
---@return claude-ide.Diagnostic[]
function M.before_edit(known, buf, late)
  local is_new = known.path and not known.key
  known.complete = not is_new and {} or nil
  if not buf or is_new then
    return {}
  end
  local servers = require("claude-ide.diagnostics.servers")
  for _, client in ipairs(require("claude-ide.lsp").clients(buf)) do
    servers.listen(client)
    if not late[client.id] and servers.is_settled(client.id, buf) then
      known.complete[client.id] = true
    elseif not known.before and vim.api.nvim_buf_is_loaded(buf) then
      known.before = {
        buf = buf,
        tick = vim.api.nvim_buf_get_changedtick(buf),
        lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false),
      }
    end
  end
  local late_now = vim.tbl_extend("force", {}, late)
  for _, client in ipairs(require("claude-ide.lsp").clients(buf)) do
    late_now[client.id] = late_now[client.id] or not known.complete[client.id] or nil -- nothing is new yet
  end
  return M.since(known, buf, late_now)
end

return M
