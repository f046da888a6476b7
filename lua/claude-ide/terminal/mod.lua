-- Passes our mod to CLIs in terminals: JavaScript that runs inside them (mod/), the other end of terminal/bridge.lua.
-- Source: CLI 2.1.329. It reads a mod from a folder or a zip archive. It loads one from a folder again whenever a file there changes, so
-- that a command of the model could put another in its place, which allows what it likes; and it writes files there. It unpacks an
-- archive once, to a folder that it does not watch. CLI 2.0.77 has the flag, and ignores the mod; a missing archive is ignored, too.
-- The hook PermissionDenied is for a CLI that has it, but no mods. It is in the archive, since older ones refuse settings with it.
-- Invariant: the archive is made anew for each CLI, and goes with it. Its token is valid at the endpoint for mods alone, and only for the
-- process that used it first: the CLI.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local file = lazy("claude-ide.base.file")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local log = lazy("claude-ide.base.log")
local root = lazy("claude-ide.base.root")
local server = lazy("claude-ide.server")

local M = {}

local HOOKS = "hooks/hooks.json"
local FILES = { ".claude-plugin/plugin.json", HOOKS, "hooks/register.js" }
local MAX_BYTES = 64 * 1024

---The hook's command: it passes on what the CLI says of a call that auto mode has refused for good.
local DENIED = [[
cat >"denied.tmp.$$" && mv "denied.tmp.$$" "denied.$$"]]
local TIMEOUT_S = 5

---@param value integer
---@param bytes integer
---@return string little-endian
local function number(value, bytes)
  local text = {}
  for at = 0, bytes - 1 do
    text[#text + 1] = string.char(bit.band(bit.rshift(value, 8 * at), 0xff))
  end
  return table.concat(text)
end

---@param text string
---@return integer
local function crc32(text)
  local crc = -1
  for at = 1, #text do
    crc = bit.bxor(crc, text:byte(at))
    for _ = 1, 8 do
      local polynomial = bit.band(crc, 1) == 1 and 0xedb88320 or 0
      crc = bit.bxor(bit.rshift(crc, 1), polynomial)
    end
  end
  return bit.bnot(crc)
end

---A zip archive, of files as they are.
---@param files table<string, string> text by path
---@return string bytes
local function zip(files)
  local entries, directory, at, count = {}, {}, 0, 0
  for path, text in vim.spairs(files) do
    -- version, flags, method, time, 1980-01-01, checksum, both sizes, length of the name, no extra field
    local head = number(20, 2) .. number(0, 6) .. number(33, 2) .. number(crc32(text), 4)
    head = head .. number(#text, 4):rep(2) .. number(#path, 2) .. number(0, 2)
    local entry = "PK\3\4" .. head .. path .. text
    -- version, the same, no comment, first disk, attributes, offset
    directory[#directory + 1] = "PK\1\2" .. number(20, 2) .. head .. number(0, 10) .. number(at, 4) .. path
    entries[#entries + 1] = entry
    at, count = at + #entry, count + 1
  end
  local listed = table.concat(directory)
  local ending = "PK\5\6" .. number(0, 4) .. number(count, 2):rep(2) .. number(#listed, 4) .. number(at, 4)
  return table.concat(entries) .. listed .. ending .. number(0, 2)
end

---@param access { url: string, token: string }
---@param asks boolean whether a refusal of auto mode becomes a question
---@return string path
local function packed(access, asks)
  local neovim = { url = "http://" .. access.url, token = access.token, asks = asks }
  local files = { ["hooks/neovim.js"] = ("export const neovim = %s\n"):format(vim.json.encode(neovim)) }
  for _, name in ipairs(FILES) do
    local text, why = file.read_now(("%s/mod/%s"):format(root.dir(), name), MAX_BYTES)
    files[name] = assert(text, ("%s cannot be read: %s"):format(name, why or "unknown"))
  end
  if asks then
    local hooks = vim.json.decode(files[HOOKS])
    local denied = assert(hook_folder.command(DENIED), "no folder can be made")
    local command = { type = "command", command = denied, timeout = TIMEOUT_S }
    hooks.hooks = { PermissionDenied = { { hooks = { command } } } }
    files[HOOKS] = vim.json.encode(hooks)
  end
  local path = assert(file.private(".zip", zip(files)), "no file can be written")
  return path
end

---Makes the archive for a CLI, if the options ask for it.
---@param run string name of the CLI
---@return string? path
function M.archive(run)
  local options = config.get()
  local access = options.hooks.enabled and options.hooks.mod and server.mod_access(run)
  if not access then
    return nil
  end
  local ok, path = pcall(packed, access, options.auto_mode.refusals == "ask")
  if not ok then
    log.warn("Claude starts without our mod: %s", path)
  end
  return ok and path or nil
end

return M
