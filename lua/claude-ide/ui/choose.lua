-- `vim.ui.select`, with what Neovim's own list needs: it prints all items as messages and asks for a number.
-- Invariant: neither the list nor what is said after a choice makes Neovim wait for Enter.
local M = {}

---Lines of the screen that are not for items: the prompt, the question for a number, and the line above the list.
local OTHER_LINES = 3

---@return boolean
local function is_plain()
  return debug.getinfo(vim.ui.select, "S").source:find("vim/ui.lua", 1, true) ~= nil
end

---@param text string perhaps of an agent; its columns stay
---@return string
local function in_a_line(text)
  return require("claude-ide.width").printable((text:gsub("%s*[\n\r]%s*", " ")))
end

---Neovim's own list, as many items at a time as the screen has room for.
---@param items any[]
---@param options table
---@param on_choice fun(item: any, index: integer?)
---@param first integer
local function page(items, options, on_choice, first)
  local room = math.max(vim.o.lines - OTHER_LINES, 3)
  local rest = #items - first + 1
  local count = rest <= room and rest or room - 1
  local shown = vim.list_slice(items, first, first + count - 1)
  local format = options.format_item or tostring
  local more = {}
  local width = vim.o.columns - #tostring(#items) - 3
  if count < rest then
    shown[#shown + 1] = more
  end
  local shorter = vim.tbl_extend("force", options, {
    prompt = options.prompt and require("claude-ide.width").cut(in_a_line(options.prompt), vim.o.columns - 2),
    format_item = function(item)
      local text = item == more and ("… %d more"):format(rest - count) or format(item)
      return require("claude-ide.width").cut(in_a_line(text), width)
    end,
  })
  vim.ui.select(shown, shorter, function(item, index)
    -- Takes the list away: what is said next would stand below it, and Neovim would wait.
    vim.cmd.redraw()
    if item ~= nil and item == more then
      page(items, options, on_choice, first + count)
    else
      on_choice(item, index and index + first - 1)
    end
  end)
end

---@param items any[]
---@param options table of `vim.ui.select()`
---@param on_choice fun(item: any, index: integer?) nothing: the person chose none
function M.select(items, options, on_choice)
  if is_plain() then
    page(items, options, on_choice, 1)
  else
    vim.ui.select(items, options, on_choice)
  end
end

return M
