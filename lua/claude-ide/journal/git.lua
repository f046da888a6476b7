-- Runs git beside the user's repository without changing it.
-- Invariant: no hook, filter, monitor or garbage collection runs. Git runs in its own process.
local M = {}

---A work tree that takes longer is too large.
local TIMEOUT_MS = 15000

---Longer output is discarded.
local MAX_BYTES = 64 * 1024 * 1024

---Settings that keep a repository's configuration from running programs: file monitors, hooks.
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

---Options before git's command.
---@return string[] options
function M.harmless()
  local options = {}
  for _, option in ipairs(HARMLESS) do
    vim.list_extend(options, { "-c", option })
  end
  return options
end

---A shell script: `"$@"` is git with its options, at low priority. A checkpoint uses few processes, because starting one blocks the main
---loop, longer on a busy machine.
---@alias claude-ide.journal.Script string

---@param script claude-ide.journal.Script
---@param where { cwd: string, options?: string[], env?: table<string, string>, stdin?: string }
---@param done fun(out: string?) nil: failed, or the output is too large
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
    done(nil) -- no shell
  end
end

---Filters are programs, too, so they are disabled; files that they change are left out of the comparison.
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

---Variables with which git uses another repository than the folder's, such as when git has started Neovim for a message. They are not
---removed from the environment, because `clear_env` of Neovim 0.10 drops all other variables, too, including ours, and git would write to
---the user's repository.
local MISLEADING = { "GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY" }

---@return string[]
function M.misled_by()
  return vim.tbl_filter(function(name)
    return vim.env[name] ~= nil
  end, MISLEADING)
end

return M
