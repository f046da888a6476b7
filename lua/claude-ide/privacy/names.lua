-- Which paths are withheld by what they are called (`selection.deny`).
local M = {}

---@class claude-ide.privacy.Deny
---@field glob string
---@field matches fun(text: string): boolean
---@field whole boolean compared with paths, not with names

---@type claude-ide.privacy.Deny[]?
local denies

---The deny globs, ready to match.
---@return claude-ide.privacy.Deny[]
local function compiled()
  if denies then
    return denies
  end
  denies = {}
  for _, glob in ipairs(require("claude-ide.config").get().selection.deny) do
    local expanded = glob:sub(1, 2) == "~/" and vim.fs.normalize(glob) or glob
    local matches, err = require("claude-ide.privacy.glob").compile(expanded)
    if matches then
      table.insert(denies, { glob = glob, matches = matches, whole = glob:find("/", 1, true) ~= nil })
    else
      require("claude-ide.ui.notice").warn(("selection.deny: %q withholds nothing: %s"):format(glob, err))
    end
  end
  return denies
end

---A path as seen from the innermost workspace folder that holds it, or as it is.
---@param path string absolute
local function inside_workspace(path)
  local paths = require("claude-ide.path")
  local shortest = path
  for _, folder in ipairs(require("claude-ide.workspace").folders()) do
    local relative = paths.relative(path, folder)
    if #relative < #shortest then
      shortest = relative
    end
  end
  return shortest
end

---The glob that withholds a path, if one does. One without a `/` is compared with the file's name, one with a `/` with
---the path inside the workspace and with the whole path. Case does not count: it does not for every disk.
---@param path string absolute
---@return string? glob
function M.denied_by(path)
  local name = vim.fs.basename(path)
  local relative ---@type string?
  for _, deny in ipairs(compiled()) do
    if not deny.whole then
      if deny.matches(name) then
        return deny.glob
      end
    else
      relative = relative or inside_workspace(path)
      if deny.matches(relative) or deny.matches(path) then
        return deny.glob
      end
    end
  end
  return nil
end

---Forgets the globs: the configuration may have changed.
function M.reset()
  denies = nil
end

return M
