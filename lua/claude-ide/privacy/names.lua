-- Which paths are withheld by what they are called (`selection.deny`).
local M = {}

---@class claude-ide.privacy.Deny
---@field glob string
---@field matches fun(text: string): boolean
---@field whole boolean compared with paths, not with names

---@type claude-ide.privacy.Deny[]?
local denies

-- Globs are as in ignore files. `vim.glob` reads a `*` as one or more characters up to 0.11 and as any number from 0.12 on, so
-- `.env*` would let `.env` through.

---What a glob's signs mean in a Vim pattern (very nomagic).
---@type table<string, string>
local MEANS = {
  ["**/"] = "\\%(\\.\\*/\\)\\?",
  ["**"] = "\\.\\*",
  ["*"] = "\\[^/]\\*",
  ["?"] = "\\[^/]",
  ["{"] = "\\%(",
  ["}"] = "\\)",
  ["\\"] = "\\\\",
}

---The next sign of a glob and what it means.
---@param at integer 1-based
---@param depth integer how many braces are open
---@return string sign, string pattern
local function sign_at(glob, at, depth)
  local sign = glob:match("^%*%*/", at)
    or glob:match("^%*%*", at)
    or glob:match("^%[[^%]/]+%]", at)
    or glob:sub(at, at)
  if #sign > 2 and sign:sub(1, 1) == "[" then
    return sign, "\\[" .. sign:sub(2):gsub("^!", "^"):gsub("\\", "\\\\")
  elseif sign == "," and depth > 0 then
    return sign, "\\|"
  end
  return sign, MEANS[sign] or sign
end

---A function that tells whether a text matches the whole glob, in whatever case.
---@param glob string `*` and `?` stop at a `/`, `**` does not; `[…]` and `{…,…}` as usual
---@return (fun(text: string): boolean)? matches
---@return string? err
local function compile(glob)
  local pieces, at, depth = { "\\V\\c\\^" }, 1, 0
  while at <= #glob do
    local sign, pattern = sign_at(glob, at, depth)
    depth = depth + (sign == "{" and 1 or sign == "}" and -1 or 0)
    if depth < 0 then
      return nil, "a `}` without its `{`"
    end
    pieces[#pieces + 1] = pattern
    at = at + #sign
  end
  if depth > 0 then
    return nil, "a `{` without its `}`"
  end
  pieces[#pieces + 1] = "\\$"
  local ok, regex = pcall(vim.regex, table.concat(pieces))
  if not ok then
    return nil, tostring(regex)
  end
  return function(text)
    return regex:match_str(text) ~= nil
  end
end

---The deny globs, ready to match.
---@return claude-ide.privacy.Deny[]
local function compiled()
  if denies then
    return denies
  end
  denies = {}
  for _, glob in ipairs(require("claude-ide.config").get().selection.deny) do
    local expanded = glob:sub(1, 2) == "~/" and vim.fs.normalize(glob) or glob
    local matches, err = compile(expanded)
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
