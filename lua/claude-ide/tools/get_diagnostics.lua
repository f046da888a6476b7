-- getDiagnostics: what language servers say, before and after each edit of the CLI.
-- The CLI gives up after 500 ms for one file and 2 s for all, and compares URIs as text, so: answer in time, in any case,
-- and name a file as this client named it.
-- Asked for all files, this is also what makes buffers show edits that came without a diff: they are reloaded first.
local M = {}

---So much longer than the wait for language servers an answer may take, for the disk and for us.
local GRACE_MS = 100

---How many files each client's spelling is kept of.
local MAX_ASKED = 500

---@class claude-ide.tool.GetDiagnostics.File
---@field uri string
---@field diagnostics claude-ide.Diagnostic[]

---The URIs that a client asked for, oldest first: it compares later answers with them.
---@type table<integer, string[]> by client
local asked = {}

local follows_clients = false

local function follow_clients()
  if not follows_clients then
    follows_clients = true
    require("claude-ide.server").on("client_disconnected", function(client)
      asked[client.id] = nil
    end)
  end
end

---@param client integer
---@param uri string
local function remember(client, uri)
  follow_clients()
  local list = asked[client] or {}
  asked[client] = list
  for _, known in ipairs(list) do
    if known == uri then
      return
    end
  end
  list[#list + 1] = uri
  if #list > MAX_ASKED then
    table.remove(list, 1)
  end
end

---@param uri string
---@param diagnostics claude-ide.Diagnostic[]
---@return claude-ide.tool.GetDiagnostics.File
local function file(uri, diagnostics)
  return {
    uri = uri,
    diagnostics = #diagnostics > 0 and diagnostics or require("claude-ide.json").EMPTY_ARRAY,
  }
end

---Every file that has diagnostics, and those that the client asked for before, also where they have none any more.
---@param client integer
---@return claude-ide.tool.GetDiagnostics.File[]
local function all_files(client)
  local paths, buffer = require("claude-ide.path"), require("claude-ide.buffer")
  local by_buf = require("claude-ide.diagnostics").of_all()
  local files, named = {}, {}
  for _, uri in ipairs(asked[client] or {}) do
    local path = vim.startswith(uri, "file:") and paths.from_uri(uri)
    local buf = path and buffer.find(path)
    if buf then
      files[#files + 1] = file(uri, by_buf[buf] or {})
      named[buf] = true
    end
  end
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if by_buf[buf] and not named[buf] then
      files[#files + 1] = file(paths.to_uri(vim.api.nvim_buf_get_name(buf)), by_buf[buf])
    end
  end
  return files
end

---Whether a file may be loaded for its language server: one of the project, not one that is kept from Claude.
---@param path string
---@return boolean
local function may_load(path)
  if not require("claude-ide.config").get().diagnostics.load_hidden then
    return false
  elseif require("claude-ide.privacy").denied_by(path) then
    return false
  end
  local paths = require("claude-ide.path")
  local real = paths.real(path)
  return vim.iter(require("claude-ide.workspace").folders()):any(function(folder)
    return paths.within(path, folder) or paths.within(real, paths.real(folder))
  end)
end

---Calls back once a file's buffer has the text on disk, with whether that is new to the language servers.
---@param path string
---@param done fun(buf: integer?, is_new: boolean)
local function bring_up_to_date(path, done)
  local buffer = require("claude-ide.buffer")
  local buf = buffer.find(path)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    buffer.load_hidden(path) -- counts as use, where only we keep it loaded
    buffer.reload_all_from_disk({ buf }, function(changed)
      done(buf, #changed > 0)
    end)
  elseif may_load(path) then
    local loaded, err = buffer.load_hidden(path)
    if not loaded then
      require("claude-ide.log").debug("%s is not loaded for its diagnostics: %s", path, err)
    end
    done(loaded, loaded ~= nil)
  else
    done(buf, false)
  end
end

---@param respond fun()
---@param ms integer
---@return fun() respond_once now, or by itself when the time is up
local function in_time(respond, ms)
  local timer = assert(vim.uv.new_timer())
  local function once()
    if not timer:is_closing() then
      timer:close()
      respond()
    end
  end
  timer:start(ms, 0, vim.schedule_wrap(once))
  return once
end

---@param args { uri?: string }
---@param respond claude-ide.Respond
---@param call claude-ide.Call
local function one_file(args, respond, call)
  local uri = args.uri --[[@as string]]
  remember(call.client, uri)
  -- The sides of a diff (`_claude_fs_right:`) have no language server, so nothing is wrong with them yet.
  local is_file = vim.startswith(uri, "file:") or vim.startswith(uri, "/")
  local path = is_file and require("claude-ide.path").from_uri(uri)
  if not path then
    respond({ file(uri, {}) })
    return
  end
  -- The CLI writes the file as soon as it has the answer, so its bytes are kept first.
  require("claude-ide.journal").before_edit(call.client, path)
  local wait_ms = require("claude-ide.config").get().diagnostics.wait_ms
  local answer = in_time(function()
    local buf = require("claude-ide.buffer").find(path)
    respond({ file(uri, buf and require("claude-ide.diagnostics").of_buffer(buf) or {}) })
  end, wait_ms + GRACE_MS)
  local began = vim.uv.now()
  bring_up_to_date(path, function(buf, is_new)
    if not buf or not is_new then
      return answer()
    end
    vim.uv.update_time()
    require("claude-ide.diagnostics.fresh").wait({ buf }, wait_ms - (vim.uv.now() - began), answer)
  end)
end

---@param respond claude-ide.Respond
---@param call claude-ide.Call
local function every_file(respond, call)
  local wait_ms = require("claude-ide.config").get().diagnostics.wait_all_ms
  local answer = in_time(function(late)
    local files = all_files(call.client, late or {})
    require("claude-ide.diagnostics.baseline").end_of_edits(call.client)
    respond(#files > 0 and files or require("claude-ide.json").EMPTY_ARRAY)
  end, wait_ms + GRACE_MS)
  local began = vim.uv.now()
  require("claude-ide.buffer").reload_all_from_disk(vim.api.nvim_list_bufs(), function(changed)
    vim.uv.update_time()
    require("claude-ide.diagnostics.fresh").wait(changed, wait_ms - (vim.uv.now() - began), answer)
  end)
end

---@param args { uri?: string }
---@param respond claude-ide.Respond
---@param call claude-ide.Call
function M.run(args, respond, call)
  if args.uri then
    one_file(args, respond, call)
  else
    -- Only asked when the edits of a turn are over (measured with the CLI 2.1.329).
    require("claude-ide.diff").end_of_turn(call.client)
    require("claude-ide.journal").edits_over(call.client)
    every_file(respond, call)
  end
end

return M
