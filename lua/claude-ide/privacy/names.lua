-- Matches paths against `selection.deny`.
local M = {}

---@class claude-ide.privacy.Deny
---@field glob string
---@field matches fun(text: string): boolean
---@field whole boolean matches paths, not names

---@type claude-ide.privacy.Deny[]?
local denies

-- Globs as in ignore files. `vim.glob` requires one or more characters for `*` up to 0.11, and any number since 0.12, so `.env*` would
-- not match `.env`.

---Vim patterns (very nomagic) for tokens of a glob.
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

---The next token of a glob and its pattern.
---@param at integer 1-based
---@param depth integer number of open braces
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

---Compiles a glob to a case-insensitive predicate for whole texts.
---@param glob string `*` and `?` stop at `/`, `**` does not; `[…]` and `{…,…}` as usual
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

---The compiled deny globs.
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

---A path relative to its innermost workspace folder, else unchanged.
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

---The glob that matches a path. One without a `/` is matched against the file name, one with a `/` against the path in the workspace
---and the whole path. Case is ignored, as some file systems do.
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

---Clears the cache, after a change of the configuration.
function M.reset()
  denies = nil
end

return M
