-- Searches the project for a word, beside what language servers know: a server knows only what is in its index.
-- Invariants: the search is bounded in time and size; files that are withheld are not named.
local lazy = require("claude-ide.lazy")
local locate = lazy("claude-ide.language.locate")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

local TIMEOUT_MS, MAX_BYTES = 3000, 64 * 1024

---@param word string
---@return string[]? argv nil: no program that searches
local function command(word)
  if vim.fn.executable("rg") == 1 then
    return { "rg", "--no-config", "--no-heading", "--color=never", "-nwF", "-M", "400", "-e", word, "." }
  elseif vim.fn.executable("grep") == 1 then
    local skipped = { "--exclude-dir=.git", "--exclude-dir=node_modules", "--exclude-dir=target" }
    return vim.list_extend({ "grep", "-rnwFI" }, vim.list_extend(skipped, { "-e", word, "." }))
  end
end

---@class claude-ide.language.Word
---@field path string absolute
---@field lnum integer 1-based

---Where a word stands in the workspace.
---@param task claude-ide.language.Task
---@param word string
---@return claude-ide.language.Word[]? found nil: it could not be searched for
function M.find(task, word)
  local folder, argv = workspace.folders()[1], command(word)
  if not folder or not argv then
    return nil
  end
  local pieces, size = {}, 0
  local function collect(_, data)
    if data and size < MAX_BYTES then
      pieces[#pieces + 1] = data
      size = size + #data
    end
  end
  local did = task:await(function(resume)
    local options = { cwd = folder, timeout = TIMEOUT_MS, stdout = collect, stderr = false }
    local ok, process = pcall(vim.system, argv, options, function(result)
      vim.schedule(function()
        resume(result.code <= 1 and result.signal == 0 or size > 0)
      end)
    end)
    if not ok then
      return resume(false)
    end
    return function()
      process:kill("sigterm")
    end
  end)
  if not did then
    return nil
  end
  local found = {} ---@type claude-ide.language.Word[]
  for line in table.concat(pieces):gmatch("([^\n]+)\n") do
    local name, lnum = line:match("^%./(.-):(%d+):")
    local path, row = name and folder .. "/" .. name, tonumber(lnum) --[[@as integer?]]
    if path and row and not locate.refusal(path) then
      found[#found + 1] = { path = path, lnum = row }
    end
    task:breathe()
  end
  return found
end

return M
