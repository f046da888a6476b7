-- Globs as people write them in ignore files. `vim.glob` reads a `*` as one or more characters up to 0.11 and as any
-- number from 0.12 on, so `.env*` would let `.env` through.
local M = {}

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
function M.compile(glob)
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

return M
