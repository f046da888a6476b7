-- Extracts the replacement for a region from Claude's answer. Pure.
local M = {}

M.FIRST, M.LAST = "<replacement>", "</replacement>"

---@param text string
---@return string[] lines
local function lines_of(text)
  text = text:gsub("\r\n", "\n"):gsub("^\n", "", 1):gsub("\n$", "", 1)
  return text == "" and {} or vim.split(text, "\n", { plain = true })
end

---The text between the first and the last of the requested tags; else the only code block.
---@param text string
---@return string[]? lines nil: no replacement
function M.lines(text)
  local first = text:find(M.FIRST, 1, true)
  local last ---@type integer?
  local at = first
  while at do
    at = text:find(M.LAST, at + 1, true)
    last = at or last
  end
  if first and last then
    return lines_of(text:sub(first + #M.FIRST, last - 1))
  elseif first then
    return nil -- incomplete
  end
  local blocks = {}
  for body in ("\n" .. text .. "\n"):gmatch("\n```[^\n`]*\n(.-)\n?```%f[^`]") do
    blocks[#blocks + 1] = body
  end
  return #blocks == 1 and lines_of(blocks[1]) or nil
end

return M
