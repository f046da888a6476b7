-- Tells which Markdown of an answer is meant as markup. `__init__`, `2*3*4`, `list[0]`, `~/a~b` and `handlers[i](event)` parse as
-- Markdown too, but are shown as written. Pure.

local M = {}

---@param source string
---@param byte integer 0-based
---@return string
local function char(source, byte)
  return source:sub(byte + 1, byte + 1)
end

---Emphasis: asterisks around words, not adjacent to a word or a path outside.
---@param node TSNode
---@param source string
---@return boolean
local function is_emphasis(node, source)
  local _, _, from = node:start()
  local _, _, to = node:end_()
  if char(source, from) ~= "*" then
    return false
  end
  local inside, outside = from, to -- `***both***` is two nodes
  while char(source, inside) == "*" do
    inside = inside + 1
  end
  while char(source, from - 1) == "*" do
    from = from - 1
  end
  while char(source, outside) == "*" do
    outside = outside + 1
  end
  local before = from > 0 and char(source, from - 1) or ""
  return char(source, inside):find("^[%w`\"'%[%(<$@#_~\128-\255]") ~= nil
    and (before == "" or before:find("^[%s%(%[{\"'`>|:;,%-\128-\255]") ~= nil)
    and char(source, outside):find("^[%w/\\_$@#%%&+=(]") == nil
end

---@param node TSNode
---@param source string
---@return boolean
local function is_link(node, source)
  local _, _, from = node:start()
  return from == 0 or char(source, from - 1):find("^[%w_%)%]]") == nil
end

local function never()
  return false
end

---@type table<string, fun(node: TSNode, source: string): boolean>
local MEANT = {
  emphasis = is_emphasis,
  strong_emphasis = is_emphasis,
  strikethrough = function(node, source)
    local _, _, from = node:start()
    return source:sub(from + 1, from + 2) == "~~"
  end,
  inline_link = is_link,
  shortcut_link = never,
  collapsed_reference_link = never,
  full_reference_link = never,
}

---Whether a node and its parent are meant as Markdown; otherwise they are not highlighted.
---@param node TSNode of `markdown_inline`
---@param source string
---@return boolean
function M.is_meant(node, source)
  local own, parent = MEANT[node:type()], node:parent()
  local around = parent and MEANT[parent:type()]
  return not (own and not own(node, source)) and not (parent and around and not around(parent, source))
end

---Nodes whose marks are hidden.
local HIDDEN = { code_span = true, emphasis = true, strong_emphasis = true, inline_link = true }

---Whether a mark may be hidden. Not in a table: its columns would lose their alignment.
---@param node TSNode of `markdown_inline`
---@param source string
---@return boolean
function M.may_hide(node, source)
  local parent = node:parent()
  local _, column, byte = node:start()
  if source:find("^%s*|", byte - column + 1) then
    return false
  end
  return parent ~= nil and HIDDEN[parent:type()] == true and M.is_meant(node, source)
end

return M
