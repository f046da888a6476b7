-- Finds the files with comments that have another name now: Claude's renames at once, others' when the user comes back to Neovim.
-- What a file must be to count as one: crates/comments.
local lazy = require("claude-ide.lazy")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local bus = lazy("claude-ide.base.bus")
local file = lazy("claude-ide.base.file")
local git = lazy("claude-ide.server.git")
local slice = lazy("claude-ide.base.slice")
local store = lazy("claude-ide.comments.store")
local target = lazy("claude-ide.comments.target")

local M = {}

---New files that are looked at.
local MOST_FILES = 200
---Files that are not found are looked for again after this time, and then after ever longer ones: they may have been deleted.
local PAUSE_MS, LONGER = 30 * 1000, 4

---The last searches, by worktree.
---@type table<string, { missing: string, at: integer, pause: integer }?>
local last = {}

---@param root string
---@param path string relative
local function look_at(root, path)
  local text = file.read_now(root .. "/" .. path, target.MAX_BYTES)
  if text then
    store.claim(root, path, (buffer_bytes.text(text)))
  end
end

---Files that are new in a worktree, or were committed as new since a time.
---@param root string
---@param since integer milliseconds since the epoch
---@param done fun(paths: string[])
local function new_files(root, since, done)
  local status =
    { "--no-optional-locks", "status", "--porcelain", "-z", "--untracked-files=all", "--no-renames" }
  local log = { "log", "--diff-filter=A", "--no-renames", "--name-only", "-z", "--format=" }
  vim.list_extend(log, { "-n", tostring(MOST_FILES), ("--since=@%d"):format(math.floor(since / 1000)) })
  git.ask(root, status, function(changed)
    git.ask(root, log, function(committed)
      local paths = vim.split(committed or "", "\0", { trimempty = true })
      for _, entry in ipairs(vim.split(changed or "", "\0", { trimempty = true })) do
        local is_new = entry:sub(1, 2):find("[?A]") ~= nil
        paths[#paths + 1] = is_new and entry:sub(4) or nil
      end
      done(vim.list_slice(paths, 1, MOST_FILES))
    end)
  end)
end

---Looks for the files of a worktree that are missing.
---@param root string
local function look(root)
  local missing, since = store.missing(root)
  local key, before, now = table.concat(missing, "\0"), last[root], vim.uv.now()
  before = before and before.missing == key and before or nil
  if not missing[1] or before and now - before.at < before.pause then
    return
  end
  last[root] = { missing = key, at = now, pause = before and before.pause * LONGER or PAUSE_MS }
  slice.run("find files that were renamed", function(pause, wait)
    local found = {} ---@type string[]
    wait(function(go_on)
      new_files(root, since, function(paths)
        found = paths
        go_on()
      end)
    end)
    for _, path in ipairs(found) do
      look_at(root, path)
      pause()
    end
  end, function() end)
end

---Starts to look for them.
M.attach = require("claude-ide.base.once")(function()
  bus.on("file_changed", function(path)
    local root = store.root_of(path)
    if store.missing(root)[1] then
      look_at(root, target.path_in(path, root))
    end
  end)
  local function look_everywhere()
    for _, root in ipairs(store.roots()) do
      look(root)
    end
  end
  vim.api.nvim_create_autocmd({ "FocusGained", "ShellCmdPost", "TermLeave" }, {
    group = vim.api.nvim_create_augroup("claude-ide.comments.renames", { clear = true }),
    desc = "Claude Code: find files with comments that were renamed",
    callback = look_everywhere,
  })
  look_everywhere()
end)

return M
