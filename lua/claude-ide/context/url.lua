-- `#url:{address}`, or `#url` for the address under the cursor: names a web page.
-- The page is not fetched here: the agent's tool asks the user for each domain. A page fetched by Neovim would bypass that, and would
-- look like the user's words.
local lazy = require("claude-ide.lazy")
local place = lazy("claude-ide.context.place")

local M = {}

local MOST_BYTES = 4096

local function under_cursor(at)
  if not at.win or not at.buf or not vim.api.nvim_win_is_valid(at.win) or place.withheld(at.buf) then
    return nil
  end
  local lnum, col = unpack(vim.api.nvim_win_get_cursor(at.win))
  local line = vim.api.nvim_buf_get_lines(at.buf, lnum - 1, lnum, false)[1] or ""
  local first_of_line ---@type string?
  for first, address in line:gmatch("()(https?://[^%s<>\"'`]+)") do
    address = address:gsub("[.,;:!?)%]}]+$", "")
    first_of_line = first_of_line or address
    if first <= col + 1 and col + 1 < first + #address then
      return address
    end
  end
  return first_of_line
end

---@param at claude-ide.context.At
---@param argument string?
---@param done claude-ide.context.Done
function M.read(at, argument, done)
  local address = argument or under_cursor(at)
  if not address then
    return done(nil, "there is no address under the cursor: write `#url:https://…`")
  elseif not address:find("^https?://[%w%[]") or #address > MOST_BYTES or address:find("[%c%s]") then
    return done(nil, "this is not a web address")
  elseif address:find("^https?://[^/?#]*@") then
    return done(nil, "the address has a name or a password in it")
  end
  done({ text = address .. "\n(not fetched by the editor: read it with your own tool if you need it)" })
end

return M
