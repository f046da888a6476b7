-- Starts the server once Neovim's screen is up. Silent on success.

local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local ide_process = lazy("claude-ide.base.process")
local log = lazy("claude-ide.base.log")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local server = lazy("claude-ide.server")
local update = lazy("claude-ide.library.update")

require("claude-ide.app")

local M = {}

---File names for git's editor.
local OF_GIT = {
  ["COMMIT_EDITMSG"] = true,
  ["EDIT_DESCRIPTION"] = true,
  ["MERGE_MSG"] = true,
  ["NOTES_EDITMSG"] = true,
  ["SQUASH_MSG"] = true,
  ["TAG_EDITMSG"] = true,
  ["addp-hunk-edit.diff"] = true,
  ["git-rebase-todo"] = true,
}

---Maximum number of parent processes to check.
local MAX_ANCESTORS = 20

local function is_of_git()
  local exec_path = vim.env.GIT_EXEC_PATH
  return (exec_path ~= nil and exec_path ~= "")
    or vim.iter(vim.fn.argv() --[[@as string[] ]]):any(function(name)
      return OF_GIT[vim.fs.basename(name)] == true
    end)
end

local function is_a_pager()
  if vim.g.claude_ide_read_stdin then
    return true
  end
  for i = 2, #vim.v.argv do
    local argument = vim.v.argv[i]
    if argument == "-" or argument:find("^%+Man!?$") then
      return true
    end
  end
  return vim.startswith(vim.api.nvim_buf_get_name(0), "man://")
end

local function is_of_claude()
  local get = ide_process.get
  local process = get(vim.uv.os_getppid() --[[@as integer]])
  for _ = 1, MAX_ANCESTORS do
    if not process then
      return false
    elseif process.name == "claude" then
      return true
    end
    process = process.parent > 1 and get(process.parent) or nil
  end
  return false
end

---Why CLIs should not find this Neovim. A CLI that finds two matching servers connects to neither.
---@return string? reason nil: they should
function M.why_not()
  if is_of_git() then
    return "git started it as an editor"
  elseif is_a_pager() then
    return "it is a pager"
  elseif is_of_claude() then
    return "Claude Code started it"
  end
  return nil
end

function M.run()
  update.attach()
  if not config.get().auto_start then
    return
  end
  local reason = M.why_not()
  if reason then
    log.info("no server by itself: %s", reason)
    return
  end
  local info, err = server.start()
  if not info then
    local short = "Claude cannot connect: `:checkhealth claude-ide` says what to do"
    notice.warn(one_line.fitting({ err or short, short }))
  end
end

return M
