-- Tells language servers of files that a changeset made, changed, moved and removed on disk.
-- LSP 3.17, "workspace/didChangeWatchedFiles", "workspace/didCreateFiles", "didRenameFiles", "didDeleteFiles".
local M = {}

---@param client vim.lsp.Client
---@param operation "didCreate"|"didRename"|"didDelete"
---@return boolean whether the server asks to be told
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
  for _, client in ipairs(vim.lsp.get_clients()) do
    if wants(client, operation) then
      require("claude-ide.lsp").notify(client, method, { files = files })
    end
  end
end

---@param jobs claude-ide.changeset.Job[] that are done
function M.send(jobs)
  if not package.loaded["vim.lsp"] then
    return
  end
  local lsp, uri, buffer = require("claude-ide.lsp"), vim.uri_from_fname, require("claude-ide.buffer")
  local changes = {} ---@type table<string, claude-ide.lsp.FileChange>
  local created, renamed, deleted = {}, {}, {}
  for _, job in ipairs(jobs) do
    local file = job.file
    if file.kind == "created" then
      changes[file.path] = lsp.FileChange.created
      created[#created + 1] = { uri = uri(file.path) }
    elseif file.kind == "deleted" then
      changes[file.path] = lsp.FileChange.deleted
      deleted[#deleted + 1] = { uri = uri(file.path) }
    elseif file.kind == "renamed" then
      changes[file.from] = changes[file.from] or lsp.FileChange.deleted
      changes[file.path] = lsp.FileChange.created
      renamed[#renamed + 1] = {
        oldUri = uri(file.from --[[@as string]]),
        newUri = uri(file.path),
      }
    else
      local buf = buffer.find(file.path)
      if not (buf and vim.api.nvim_buf_is_loaded(buf)) then
        changes[file.path] = lsp.FileChange.changed
      end
    end
  end
  lsp.files_changed(changes)
  tell("didCreate", "workspace/didCreateFiles", created)
  tell("didRename", "workspace/didRenameFiles", renamed)
  tell("didDelete", "workspace/didDeleteFiles", deleted)
end

return M
