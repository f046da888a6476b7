-- A request to a language server within a task: cancelled with the task, and ended by a deadline or by the server's exit.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local lsp = lazy("claude-ide.base.lsp")
local timers = lazy("claude-ide.base.timer")

local M = {}

---Retries of a request that the server dropped because the text had changed.
local MAX_TRIES = 4
local AGAIN_MS = 100

---LSP 3.17, "ErrorCodes": ServerCancelled, ContentModified.
local TRY_AGAIN = { [-32802] = true, [-32801] = true }

local GROUP = "claude-ide.language.request."
local requests_made = 0

local function withdraw(client, id)
  if vim.fn.has("nvim-0.11") == 1 then
    client:cancel_request(id)
  else
    ---@diagnostic disable-next-line: param-type-mismatch, missing-parameter
    client.cancel_request(id)
  end
end

local function is_gone(client)
  return vim.lsp.get_client_by_id(client.id) == nil
end

---@return table? err `{ code?, message }`
---@return any result
local function once(task, client, method, params, buf, on_sent)
  local timeout_ms = config.get().tools.request_timeout_ms
  local timer = timers.new("end a request to a language server")
  requests_made = requests_made + 1
  local group = vim.api.nvim_create_augroup(GROUP .. requests_made, { clear = true })
  local function clean_up()
    timer:stop()
    vim.api.nvim_del_augroup_by_id(group)
  end
  local err, result = task:await(function(resume)
    local id = lsp.request(client, method, params, function(answer_err, answer)
      resume(answer_err, answer)
    end, buf)
    if not id then
      resume({ message = "it has ended" })
      return
    elseif on_sent then
      on_sent(id)
    end
    timer:start(timeout_ms, function()
      withdraw(client, id)
      resume({ message = ("it gave no answer within %d s"):format(math.ceil(timeout_ms / 1000)) })
    end)
    vim.api.nvim_create_autocmd("LspDetach", {
      group = group,
      desc = "Claude: end the requests of a language server that exits",
      callback = function(event)
        if event.data.client_id == client.id then
          vim.schedule(function()
            if is_gone(client) or event.buf == buf then
              resume({ message = "it ended before it answered" })
            end
          end)
        end
      end,
    })
    return function()
      clean_up()
      withdraw(client, id)
    end
  end)
  clean_up()
  return err, result
end

---Sends a request and waits for the response.
---@param task claude-ide.language.Task
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param buf integer
---@param on_sent? fun(id: integer) called with the id of each try
---@return any result nil: none, or failed
---@return string? err names the server
function M.send(task, client, method, params, buf, on_sent)
  for try = 1, MAX_TRIES do
    local err, result = once(task, client, method, params, buf, on_sent)
    if not err then
      return result ~= vim.NIL and result or nil
    elseif not TRY_AGAIN[err.code] or try == MAX_TRIES then
      return nil, ("%s: %s"):format(client.name, tostring(err.message or err.code or "it failed"))
    end
    task:sleep(AGAIN_MS * try)
  end
end

return M
