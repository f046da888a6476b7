-- Contexts that go along with each prompt of the CLI in its terminal, as `#…` in a chat. Kept up to date, so that no prompt waits for Neovim.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local context = lazy("claude-ide.context")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local place = lazy("claude-ide.context.place")
local safely = lazy("claude-ide.base.safely")
local server = lazy("claude-ide.server")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local PAUSE_MS = 200
local EVENTS = { "BufEnter", "BufDelete", "BufModifiedSet", "DiagnosticChanged", "ModeChanged", "CursorHold" }

local is_due = false

local function look()
  is_due = false
  local at = place.here(workspace.folders()[1])
  local names = server.is_running() and config.get().context.prompt or {}
  local texts, left = {}, #names + 1
  local function put()
    left = left - 1
    if left == 0 then
      local text = vim.trim(table.concat(texts, "\n"))
      hook_folder.put("prompt", "UserPromptSubmit", text ~= "" and hook_folder.bounded(text) or nil)
    end
  end
  for index, name in ipairs(names) do
    texts[index] = ""
    context.read({ name = name }, at, function(part)
      texts[index] = part.text and context.written(part) or ""
      put()
    end)
  end
  put()
end

---Reads the context after a pause.
function M.look_soon()
  if not is_due then
    is_due = true
    vim.defer_fn(safely.wrap("read the context of a prompt", look), PAUSE_MS)
  end
end

local function begin()
  if #config.get().context.prompt == 0 then
    return
  end
  vim.api.nvim_create_autocmd(EVENTS, {
    group = vim.api.nvim_create_augroup("claude-ide.hook_context.with_prompt", { clear = true }),
    desc = "Claude Code: update the context of the next prompt",
    -- For a callback Neovim would convert all diagnostics.
    command = "call v:lua.require'claude-ide.context.hook_context.with_prompt'.look_soon()",
  })
  bus.on("privacy_changed", M.look_soon)
  M.look_soon()
end

---Follows the editor once a CLI has hooks.
M.attach = require("claude-ide.base.once")(function()
  bus.on("hooks_given", begin)
  bus.on("server_stopped", M.look_soon)
  if hook_folder.is_used() then
    begin()
  end
end)

return M
