-- Runs git beside the user's repository without touching it.
-- Invariant: no hook, filter, monitor or collection of garbage runs. Everything is done by processes of their own.
local M = {}

---A work tree that takes longer is too large.
local TIMEOUT_MS = 15000

---Longer output is none that can be used.
local MAX_BYTES = 64 * 1024 * 1024

---Nothing of a repository's configuration may run a program: file monitors, hooks.
local HARMLESS = {
  "core.fsmonitor=false",
  "core.untrackedCache=false",
  "core.splitIndex=false",
  "core.hooksPath=/dev/null",
  "core.safecrlf=false",
  "core.looseCompression=1",
  "gc.auto=0",
  "maintenance.auto=false",
  "advice.addEmbeddedRepo=false",
}

---What git is told before its command.
---@return string[] options
function M.harmless()
  local options = {}
  for _, option in ipairs(HARMLESS) do
    vim.list_extend(options, { "-c", option })
  end
  return options
end

---For the shell: `"$@"` is git with its options, at low priority. What a checkpoint takes is done in few processes, because
---starting one holds up the main loop, the longer the more is going on on the machine.
---@alias claude-ide.journal.Script string

---@param script claude-ide.journal.Script
---@param where { cwd: string, options?: string[], env?: table<string, string>, stdin?: string }
---@param done fun(out: string?) nil: it failed, or its output is too large
function M.run(script, where, done)
  local command = { "sh", "-c", script, "sh", "nice", "-n", "10", "git", "--no-pager" }
  vim.list_extend(command, M.harmless())
  vim.list_extend(command, where.options or {})
  local env = vim.tbl_extend("force", {
    GIT_OPTIONAL_LOCKS = "0",
    GIT_TERMINAL_PROMPT = "0",
    GIT_NO_LAZY_FETCH = "1",
    LC_ALL = "C",
  }, where.env or {})
  local out, size = {}, 0
  local function collect(_, chunk)
    size = size + #(chunk or "")
    out[#out + 1] = size <= MAX_BYTES and chunk or nil
  end
  local finish = vim.schedule_wrap(function(result)
    if result.code ~= 0 then
      require("claude-ide.log").debug("git: %s: %d %s", script, result.code, result.stderr or "")
    end
    done(result.code == 0 and size <= MAX_BYTES and table.concat(out) or nil)
  end)
  local options = { cwd = where.cwd, env = env, stdin = where.stdin, timeout = TIMEOUT_MS, stdout = collect }
  if not pcall(vim.system, command, options, finish) then
    done(nil) -- there is no shell
  end
end

---Filters are programs too; what they would change is left out of the comparison instead.
---@param keys string[] of the configuration
---@return string[] options
function M.without_filters(keys)
  local options = {}
  for _, key in ipairs(keys) do
    vim.list_extend(options, { "-c", key .. "=" })
    vim.list_extend(options, { "-c", key:match("^(.*)%.") .. ".required=false" })
  end
  return options
end

---With these git would look at another repository than the folder's: as where git itself started Neovim for a message.
---They are not taken away from the processes, because `clear_env` of Neovim 0.10 drops all other variables too, ours with
---them, and git would write where the user's things are.
local MISLEADING = { "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY" }

---@return string[]
function M.misled_by()
  return vim.tbl_filter(function(name)
    return vim.env[name] ~= nil
  end, MISLEADING)
end

return M
