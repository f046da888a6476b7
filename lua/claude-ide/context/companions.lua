-- What the user sees, for CLIs that speak the IDE companion specification: `ide/contextUpdate`.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local editor = lazy("claude-ide.context.editor")
local position = lazy("claude-ide.base.position")
local selection = lazy("claude-ide.context.selection")
local server = lazy("claude-ide.server")

local M = {}

---What the CLIs use of it (Gemini CLI 0.61.0).
local MAX_FILES, MAX_BYTES = 10, 16 * 1024

---Files that were seen on the disk. Others are looked for again: a new file has no name there before it is written.
---@type table<string, true>
local on_disk = {}

---@param path string
local function is_on_disk(path)
  if not on_disk[path] and vim.uv.fs_stat(path) then
    on_disk[path] = true
  end
  return on_disk[path] == true
end

---@param latest? claude-ide.selection.Message
---@return table context times in Unix milliseconds, positions counted from 1, columns in UTF-16
local function context(latest)
  local files = {}
  for _, buf in ipairs(editor.buffers()) do
    local path = vim.api.nvim_buf_get_name(buf)
    local file = { path = path, timestamp = vim.fn.getbufinfo(buf)[1].lastused * 1000 }
    if latest and latest.filePath == path then
      local cursor = latest.selection["end"]
      file.isActive, file.timestamp = true, os.time() * 1000 + 999
      file.cursor = { line = cursor.line + 1, character = cursor.character + 1 }
      file.selectedText = latest.text ~= "" and position.truncate(latest.text, MAX_BYTES) or nil
    end
    files[#files + 1] = file
  end
  table.sort(files, function(a, b)
    return a.timestamp > b.timestamp
  end)
  local open = {}
  for _, file in ipairs(files) do
    if #open < MAX_FILES and is_on_disk(file.path) then
      open[#open + 1] = file
    end
  end
  return { workspaceState = { openFiles = open } }
end

---@param latest? claude-ide.selection.Message
local function report(latest)
  local companions = server.companions()
  if #companions == 0 then
    return
  end
  local message = context(latest)
  for _, companion in ipairs(companions) do
    server.notify("ide/contextUpdate", message, companion.id)
  end
end

---Of several editors in one folder, a CLI chooses the one with this port.
local function name_port()
  local info = server.info()
  for _, name in ipairs({ "GEMINI_CLI_IDE_SERVER_PORT", "QWEN_CODE_IDE_SERVER_PORT" }) do
    vim.env[name] = info and tostring(info.port) or nil
  end
end

---Reports each change while such a CLI is connected, and lets those of this Neovim's terminals find it. Idempotent.
M.attach = require("claude-ide.base.once")(function()
  name_port()
  bus.on("server_started", name_port)
  bus.on("server_stopped", name_port)
  bus.on("selection_changed", report)
  bus.on("agent_ready", function()
    report(selection.latest())
  end)
end)

return M
