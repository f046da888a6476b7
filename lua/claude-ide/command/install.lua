-- `:Claude install`: runs build.lua in a child Neovim, so that this one stays usable, with its modules.
local lazy = require("claude-ide.lazy")
local autostart = lazy("claude-ide.autostart")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local root = lazy("claude-ide.base.root")

local M = {}

---Settings of the user that build.lua reads.
local SETTINGS = { "claude_ide_release_url", "claude_ide_download_args" }

---@type vim.SystemObj?
local running

---@return string[]
local function command()
  local list = { vim.v.progpath, "--clean", "--headless" }
  for _, name in ipairs(SETTINGS) do
    if vim.g[name] ~= nil then
      local setting = ("lua vim.g.%s = %s"):format(name, vim.inspect(vim.g[name], { newline = " " }))
      vim.list_extend(list, { "--cmd", setting })
    end
  end
  return vim.list_extend(list, { "-l", root.dir() .. "/build.lua" })
end

---What the user can do next.
---@param installed string "The library is downloaded"
local function tell_next(installed)
  local problem = native.problem()
  if native.is_loaded() and installed:find("already", 1, true) then
    notice.info(installed .. ", and in use.")
  elseif native.is_loaded() or (problem and problem.restart) then
    notice.info(installed .. ". Restart Neovim to use it.")
  elseif native.load() then
    autostart.run()
    notice.info(installed .. ". `:Claude` opens Claude Code.")
  else
    notice.warn(("%s and cannot be loaded: `:checkhealth claude-ide` says why."):format(installed))
  end
end

---@return boolean? ok
---@return string? err
function M.run()
  if running then
    return nil, "The library is being installed."
  end
  local show = notice.progress("claude-ide.install")
  local said = ""
  local function take(_, chunk)
    said = said .. (chunk or "") -- which may be a single byte
    local line = said:match(".*[\r\n]([^\r\n]+)[\r\n]") or said:match("^([^\r\n]+)[\r\n]")
    vim.schedule(function()
      if running and line then
        show((line:gsub("^claude%-ide%.nvim: ", "Installing: ")))
      end
    end)
  end
  local options = { stdout = take, stderr = take, text = true, env = { NVIM_LOG_FILE = "/dev/null" } }
  show("Installing the library…")
  running = vim.system(
    command(),
    options,
    vim.schedule_wrap(function(result)
      running = nil
      local last = vim.trim(said):match("[^\r\n]*$") or ""
      if result.code == 0 then
        return tell_next((last:gsub("^claude%-ide%.nvim: ", ""):gsub("^%l", string.upper)))
      end
      log.error("the library was not installed: %s", said)
      notice.error({
        ("The library is not installed: %s (`:Claude log` has all)"):format(last),
        "The library is not installed: `:Claude log` says why.",
      })
    end)
  )
  return true
end

return M
