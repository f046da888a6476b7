-- Files that the user saves while Claude works, also as a formatter changes them then: Claude is told the changes before its next request
-- to the model. Between turns the CLI finds them by itself; during one, its next edit of a changed line would fail (2.1.329).
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local hook_folder = lazy("claude-ide.terminal.hook_folder")
local patch_text = lazy("claude-ide.ui.diffview.patch_text")
local privacy = lazy("claude-ide.server.privacy")
local process = lazy("claude-ide.base.process")
local stamp = lazy("claude-ide.editor.buffer.stamp")
local unsaved = lazy("claude-ide.context.hook_context.unsaved")

local M = {}

local WORDS = "The user has saved %s in the editor, which changed it on disk:\n%s"

---Texts of saved files when Claude last knew them, by process of a CLI and path. A process is there once it had a prompt.
---@type table<integer, table<string, string>>
local known = {}
---@type table<integer, string> bytes on disk before the write, by buffer
local before = {}

---@param pid integer
local function write(pid)
  local parts = {}
  for path, old in vim.spairs(known[pid]) do
    local new = patch_text.on_disk(path)
    local diff = new and patch_text.of(old, new, unsaved.LINES_AROUND) or ""
    parts[#parts + 1] = diff ~= "" and WORDS:format(path, diff) or nil
  end
  hook_folder.after_calls(pid, "saved", #parts > 0 and table.concat(parts, "\n") or nil)
end

---@param pid integer
local function begin_anew(pid)
  known[pid] = {}
  write(pid)
end

---@param buf integer
local function about_to_be_written(buf)
  local path = vim.api.nvim_buf_get_name(buf)
  local is_told = next(known)
    and vim.uv.fs_stat(path)
    and buffer.is_file(buf)
    and privacy.verdict(buf) == "tell"
  before[buf] = is_told and patch_text.on_disk(path) or nil
end

---@param buf integer
local function written(buf)
  local path, old = vim.api.nvim_buf_get_name(buf), before[buf]
  before[buf] = nil
  for pid, files in pairs(old and known or {}) do
    if not process.runs(pid) then
      known[pid] = nil
    else
      files[path] = files[path] or old
      write(pid)
    end
  end
end

---Follows writes once a CLI has hooks.
M.attach = require("claude-ide.base.once")(function()
  hook_folder.on("turn", begin_anew)
  hook_folder.on("told", begin_anew)
  local group = vim.api.nvim_create_augroup("claude-ide.hook_context.user_saves", { clear = true })
  vim.api.nvim_create_autocmd("BufWritePre", {
    group = group,
    desc = "Claude Code: note the text of a file before it is saved",
    callback = function(event)
      about_to_be_written(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd("BufWritePost", {
    group = group,
    desc = "Claude Code: tell Claude of a saved file",
    callback = function(event)
      if stamp.is_done(event) then
        written(event.buf)
      end
    end,
  })
end)

return M
