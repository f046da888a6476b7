-- Dispatches calls to tools and returns their answers.
-- Invariant: a call is answered exactly once, or not at all after a cancel, even if the tool answers twice, late, or fails.
local safely = require("claude-ide.base.safely")
local lazy = require("claude-ide.lazy")
local guard = lazy("claude-ide.ui.guard")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local PREFIX = "claude-ide.tools."

---Names of tools by module. A tool's name is the last word of a call's name.
local MODULES = {
  code_actions = "apply_action code_actions organize_imports",
  claude_client = "close_all_diff_tabs close_tab open_diff permission",
  comments = "comment_add comment_reply comments",
  companion = "show_diff withdraw_diff",
  diagnostics = "diagnostics get_diagnostics",
  edits = "format insert_after_symbol insert_before_symbol rename replace_symbol_body safe_delete",
  editor = "check_document_dirty get_all_opened_file_paths get_current_file get_open_editors get_open_files "
    .. "get_workspace_folders open_buffers quickfix",
  files = "read_file reformat_file save_document write_file",
  mod = "mod_next mod_refused mod_report",
  navigation = "call_hierarchy definition hover implementations outline references symbols type_hierarchy",
  notebooks = "execute_code notebook_cells run_cell",
  offers = "prompt read_resource",
  open_file = "open_file open_files",
  tests = "run_test",
}

---@class claude-ide.tools.Running
---@field tool claude-ide.Tool
---@field call claude-ide.Call

---Calls without an answer yet.
---@type table<integer, claude-ide.tools.Running>
local running = {}

---The tool for a call's name.
---@param call string
---@return claude-ide.Tool?
---@return string? err
function M.find(call)
  local name = call:match("[%l_]+$") or call
  for module, names in pairs(MODULES) do
    if (" %s "):format(names):find((" %s "):format(name), 1, true) then
      local ok, loaded = pcall(require, PREFIX .. module)
      local tool = ok and loaded[name]
      if type(tool) == "table" and type(tool.run) == "function" then
        return tool
      end
      return nil, ok and ("%s%s has no tool %s"):format(PREFIX, module, name) or tostring(loaded)
    end
  end
  return nil, "no such tool: " .. call
end

local function send_result(call, result)
  if result == nil then
    result = vim.NIL
  end
  local ok, json = pcall(vim.json.encode, result)
  if not ok then
    log.error("the result of %s cannot be sent: %s", call.name, json)
    native.fail(call.id, "failed", "the editor's answer cannot be sent: " .. safely.brief(json))
    return
  end
  local sent, err = native.respond(call.id, json)
  if not sent then
    log.debug("the answer to %s came too late: %s", call.name, err)
  end
end

---@param err claude-ide.CallError
local function send_error(call, err)
  local code = err.code == "invalid_params" and "invalid_params" or "failed"
  local sent, reason = native.fail(call.id, code, tostring(err.message))
  if not sent then
    log.debug("the error of %s came too late: %s", call.name, reason)
  end
end

---@return claude-ide.Respond
local function responder(call)
  return function(result, err)
    if not running[call.id] then
      log.debug("%s answered a call that is answered or cancelled", call.name)
      return
    end
    running[call.id] = nil
    if err then
      send_error(call, err)
    else
      send_result(call, result)
    end
  end
end

---Wraps a function of a call: its error is the answer.
local function answering(call, respond, fn)
  return safely.catch(fn, function(trace)
    log.error("%s failed: %s", call.name, trace)
    respond(nil, { code = "failed", message = ("%s failed: %s"):format(call.name, safely.brief(trace)) })
  end)
end

local function waiting_id(id)
  return "call " .. id
end

---Calls `show` once no key of the user's typing can reach it. Later calls wait behind it.
---@param call claude-ide.Call
---@param respond claude-ide.Respond
---@param show fun()
function M.when_no_key(call, respond, show)
  guard.when_no_key(waiting_id(call.id), answering(call, respond, show))
end

local function run(call, args)
  local tool, missing = M.find(call.name)
  if not tool then
    log.error("call of %s: %s", call.name, missing)
    send_error(call, { code = "failed", message = "the editor cannot run " .. call.name })
    return
  end
  running[call.id] = { tool = tool, call = call }
  local respond = responder(call)
  workspace.serve(call.client, answering(call, respond, tool.run), args, respond, call)
end

local function cancel(id)
  local entry = running[id]
  if not entry then
    return
  end
  running[id] = nil
  guard.forget(waiting_id(id))
  if entry.tool.cancel then
    safely.wrap("cancel " .. entry.call.name, entry.tool.cancel)(entry.call)
  end
end

---@class claude-ide.tools.Event
---@field type "call"|"cancel"
---@field id integer
---@field client integer
---@field name string
---@field args? table
---@field at integer
---@field progress? string|integer

---Handles a `call` or `cancel` event of the server. Never raises.
---@param event claude-ide.tools.Event
function M.dispatch(event)
  if event.type == "cancel" then
    cancel(event.id)
  else
    local call =
      { id = event.id, client = event.client, name = event.name, at = event.at, progress = event.progress }
    run(call, event.args or {})
  end
end

---Number of calls without an answer.
---@return integer
function M.pending()
  return vim.tbl_count(running)
end

return M
