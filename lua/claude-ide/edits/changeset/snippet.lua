-- A snippet as the plain text that it has before anything is typed. Pure.
-- LSP 3.17, "Snippet Syntax".
local M = {}

local parse ---@type fun(text: string, at: integer, stop?: string): string?, integer

---`${1|one,two|}`: the first choice.
---@return string?
local function choice(text, at)
  local out = {}
  while at <= #text do
    local char = text:sub(at, at)
    if char == "\\" then
      out[#out + 1] = text:sub(at + 1, at + 1)
      at = at + 1
    elseif char == "," or char == "|" then
      return table.concat(out)
    else
      out[#out + 1] = char
    end
    at = at + 1
  end
end

---What stands in braces: a tabstop or a variable, with a default.
---@param at integer behind "${"
---@return string? text nil: it is no snippet that a plain text can stand for
---@return integer at behind "}"
local function braced(text, at)
  local name, behind = text:match("^([%w_]+)()", at)
  local mark = name and text:sub(behind, behind)
  if mark == "}" then
    return "", behind + 1
  elseif mark == ":" then
    return parse(text, behind + 1, "}")
  elseif mark == "|" then
    local last = select(2, text:find("|}", behind + 1, true))
    local first = last and choice(text, behind + 1)
    return first, (last or 0) + 1
  end
  return nil, at -- a transformation
end

---@param stop? string the character that ends it
---@return string? text nil: it is malformed
---@return integer at behind the end
parse = function(text, at, stop)
  local out = {}
  while at <= #text do
    local char = text:sub(at, at)
    if char == stop then
      return table.concat(out), at + 1
    elseif char == "\\" and text:find("^[\\$}]", at + 1) then
      out[#out + 1], at = text:sub(at + 1, at + 1), at + 2
    elseif char == "$" and text:find("^{", at + 1) then
      local inner
      inner, at = braced(text, at + 2)
      if not inner then
        return nil, at
      end
      out[#out + 1] = inner
    elseif char == "$" and text:find("^[%a_%d]", at + 1) then
      at = text:match("^%d+()", at + 1) or text:match("^[%a_][%w_]*()", at + 1) --[[@as integer]]
    else
      out[#out + 1], at = char, at + 1
    end
  end
  return not stop and table.concat(out) or nil, at
end

---@param text string
---@return string? plain nil: it has a form that no plain text stands for
function M.plain(text)
  return (parse(text, 1))
end

return M
