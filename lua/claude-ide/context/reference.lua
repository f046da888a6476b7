-- Parses and formats references `#name` and `#name:argument`. Pure.
-- A blank in an argument is written `\ `. Punctuation at the end of a sentence is not part of it.
local M = {}

---@class claude-ide.context.Reference
---@field name string
---@field argument? string
---@field first integer byte of the `#`, from 1
---@field last integer its last byte

---@param from integer byte after the colon
---@return string? argument
---@return integer last
local function argument(text, from)
  local last = from - 1
  while last < #text do
    local rest = text:sub(last + 1, last + 2)
    if rest:sub(1, 1) == "\\" and #rest == 2 then
      last = last + 2
    elseif rest:find("^%s") then
      break
    else
      last = last + 1
    end
  end
  local written = text:sub(from, last)
  local kept = written:gsub("[.,;!?)\"']+$", "")
  if kept == "" then
    return nil, from - 2
  end
  return (kept:gsub("\\(.)", "%1")), from + #kept - 1
end

---@param text string
---@return claude-ide.context.Reference[] found in order
function M.find(text)
  local found, at = {}, 1
  while true do
    local hash, last, name = text:find("#(%l+)", at)
    ---@cast last integer?
    if not hash or not last or not name then
      return found
    end
    local before, after = text:sub(hash - 1, hash - 1), text:sub(last + 1, last + 1)
    at = last + 1
    if not (hash > 1 and before:find("[%w#&/]")) and not after:find("[%w_-]") then
      local reference = { name = name, first = hash, last = last } ---@type claude-ide.context.Reference
      if after == ":" then
        reference.argument, reference.last = argument(text, last + 2)
      end
      at = reference.last + 1
      found[#found + 1] = reference
    end
  end
end

---@param of string
---@return string
function M.argument_of(of)
  return (of:gsub("[\\%s]", "\\%0"))
end

---@param name string
---@param of string
---@return string
function M.written(name, of)
  return ("#%s:%s"):format(name, M.argument_of(of))
end

return M
