-- `vim.ui.select` in a floating window that shows each item whole. It replaces only Neovim's own list, which asks for a number.
-- Invariants: a list is answered once; losing the focus cancels it. Its question is seen before an item is at the cursor. A list that
-- opens unprompted has a typeahead guard (ui/guard).
local lazy = require("claude-ide.lazy")
local border = lazy("claude-ide.ui.border")
local guard_window = lazy("claude-ide.ui.guard.window")
local ide_width = lazy("claude-ide.base.width")
local ide_window = lazy("claude-ide.base.window")
local menu = lazy("claude-ide.ui.menu")
local modifiers = lazy("claude-ide.ui.modifiers")
local own_buffer = lazy("claude-ide.ui.own_buffer")

local M = {}

---Above the floats that open it: diffs, questions, texts.
local ZINDEX = 65
local HEIGHT = 0.6
local KEYS = " <CR> choose · q cancel "

---@class claude-ide.ui.choose.List
---@field buf integer
---@field opts claude-ide.ui.own_buffer.Opts
---@field win integer 0: not yet opened
---@field options table of `vim.ui.select()`
---@field choices claude-ide.ui.menu.Choice[]
---@field from integer window that had the focus
---@field mode string what the user did there
---@field items any[]
---@field on_choice fun(item: any, index: integer?)

local shown ---@type claude-ide.ui.choose.List?

---Whether `select` shows a list of its own: the user has no other `vim.ui.select`.
---@return boolean
function M.is_plain()
  return assert(debug.getinfo(vim.ui.select, "S")).source:find("vim/ui.lua", 1, true) ~= nil
end

---@return boolean
function M.is_open()
  return shown ~= nil and vim.api.nvim_win_is_valid(shown.win)
end

---@param text string possibly of an agent; keeps its columns
---@return string
local function in_a_line(text)
  return ide_width.printable((text:gsub("%s*[\n\r]%s*", " ")))
end

---@param list claude-ide.ui.choose.List
---@param index? integer
local function finish(list, index)
  if shown ~= list then
    return
  end
  shown = nil
  local had_focus = vim.api.nvim_get_current_win() == list.win
  guard_window.forget(list.buf)
  ide_window.close(list.win)
  if had_focus and vim.api.nvim_win_is_valid(list.from) then
    ide_window.enter(list.from)
    if list.mode:find("^[it]") then
      vim.cmd.startinsert({ bang = vim.fn.col(".") >= vim.fn.col("$") - 1 })
    end
  end
  list.on_choice(index and list.items[index] or nil, index)
end

---@param list claude-ide.ui.choose.List
local function map(list)
  local typed = ""
  local function on(keys, desc, run)
    guard_window.map(list.buf, keys, desc, run)
  end
  on({ "<CR>", "<2-LeftMouse>" }, "choose this", function()
    local at = menu.at_cursor(list.buf)
    if at then
      finish(list, at)
    else -- at the question
      menu.go(0, list.options.at or 1)
    end
  end)
  on({ "q", "<Esc>", "<C-c>" }, "choose nothing", function()
    finish(list)
  end)
  on({ "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" }, "go to the item of this number", function(digit)
    typed = list.items[
      tonumber(typed .. digit) --[[@as integer]]
    ] ~= nil and typed .. digit or digit
    menu.go(0, tonumber(typed) --[[@as integer]])
  end)
  vim.api.nvim_create_autocmd({ "WinLeave", "BufWipeout" }, {
    buffer = list.buf,
    desc = "Claude Code: cancel a list that loses the focus",
    callback = function()
      vim.schedule(function()
        if shown == list and vim.api.nvim_get_current_win() ~= list.win then
          finish(list)
        end
      end)
    end,
  })
end

---@return integer
local function max_height()
  return math.max(math.floor(vim.o.lines * HEIGHT), 1)
end

---@param items any[]
---@param options table
---@param width integer
---@param head string[] lines above the items
---@return string[] lines
---@return claude-ide.ui.menu.Choice[]
local function lines_of(items, options, width, head)
  local format, lines, choices = options.format_item or tostring, vim.list_slice(head), {}
  local digits = #tostring(#items)
  for index, item in ipairs(items) do
    local line = ("%" .. digits .. "d  %s"):format(index, in_a_line(format(item)))
    local first = #lines + 1
    vim.list_extend(lines, ide_width.pieces(line, width, max_height()))
    choices[index] = { first = first, last = #lines, value = index }
  end
  return lines, choices
end

local function place(height, width)
  height = math.min(height, max_height())
  return {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(vim.o.lines - height - vim.o.cmdheight - 3, 0),
    col = math.max(math.floor((vim.o.columns - width) / 2) - 1, 0),
    border = border(),
    zindex = ZINDEX,
  }
end

---Shows the items below the question: it is the title, and where that has no room for it, in the text.
---@param list claude-ide.ui.choose.List
---@return boolean is_asked_above the question is in the text
local function draw(list)
  local most = math.max(vim.o.columns - 4, 10)
  local title = in_a_line(list.options.prompt or "Choose")
  local fits = vim.fn.strdisplaywidth(title) <= most - 2
  local head = fits and {} or ide_width.pieces(title, most, max_height())
  local lines, choices = lines_of(list.items, list.options, most, head)
  local widest = math.max(#KEYS + 2, vim.fn.strdisplaywidth(title) + 4)
  for _, line in ipairs(lines) do
    widest = math.max(widest, vim.fn.strdisplaywidth(line))
  end
  local width = math.min(widest, most)
  list.opts.lines, list.choices = lines, choices
  own_buffer.change(list.buf, function()
    vim.api.nvim_buf_set_lines(list.buf, 0, -1, false, lines)
  end)
  local config = place(#lines, width)
  config.footer, config.footer_pos = KEYS, "right"
  if list.win > 0 then
    vim.api.nvim_win_set_config(list.win, config)
  else
    config.style = "minimal"
    list.win = vim.api.nvim_open_win(list.buf, true, config)
    local wo = vim.wo[list.win][0]
    wo.wrap, wo.linebreak, wo.breakindent, wo.winfixbuf = true, true, true, true
    wo.breakindentopt, wo.scrolloff = ("shift:%d"):format(#tostring(#list.items) + 2), 0
  end
  local height = vim.api.nvim_win_text_height(list.win, {}).all
  config = place(height, width)
  local has_title = fits or height > config.height -- else all of the text is seen
  config.title = has_title and (" %s "):format(ide_width.cut(title, width - 2)) or ""
  config.title_pos = "left"
  vim.api.nvim_win_set_config(list.win, config)
  vim.api.nvim_win_set_cursor(list.win, { 1, 0 }) -- scrolls up
  menu.set(list.buf, choices)
  return not fits
end

---Goes to the item that the list begins at. A question that has no room above it is read first.
---@param list claude-ide.ui.choose.List
---@param is_asked_above boolean
local function begin(list, is_asked_above)
  local at = list.options.at or 1
  local last = list.choices[at].last - 1 --[[@as integer]]
  local rows = vim.api.nvim_win_text_height(list.win, { end_row = last }).all
  if not is_asked_above or rows <= vim.api.nvim_win_get_height(list.win) then
    menu.go(list.win, at)
  end
end

---@param items any[]
---@param options table
---@param on_choice fun(item: any, index: integer?)
local function open(items, options, on_choice)
  ---@type claude-ide.ui.own_buffer.Opts
  local opts = {
    kind = "choices",
    name = { "Claude", "choices" },
    is_private = true,
    lines = {},
    draw_again = vim.schedule_wrap(function() -- once the cursor is back
      if shown then
        menu.set(shown.buf, shown.choices)
      end
    end),
    bo = { bufhidden = "wipe", modifiable = false },
  }
  local list = {
    items = items,
    options = options,
    on_choice = on_choice,
    from = vim.api.nvim_get_current_win(),
    mode = vim.api.nvim_get_mode().mode,
    buf = own_buffer.create(opts),
    opts = opts,
    win = 0,
    choices = {},
  } ---@type claude-ide.ui.choose.List
  vim.cmd.stopinsert()
  local is_asked_above = draw(list)
  shown = list
  begin(list, is_asked_above)
  if options.is_unasked then
    guard_window.opened(list.buf)
  end
  map(list)
  vim.api.nvim_create_autocmd("VimResized", {
    buffer = list.buf,
    desc = "Claude Code: keep a list on the screen",
    callback = function()
      if shown == list then
        local at = menu.at_cursor(list.buf)
        draw(list)
        menu.go(list.win, at or list.options.at or 1)
      end
    end,
  })
end

---@param items any[]
---@param options table of `vim.ui.select()`; `is_unasked`: opened unprompted; `at`: the item that the cursor begins at
---@param on_choice fun(item: any, index: integer?) nil: cancelled
function M.select(items, options, on_choice)
  on_choice = modifiers.keep(on_choice)
  local mode = vim.api.nvim_get_mode().mode
  if not M.is_plain() or mode:find("^c") or vim.fn.getcmdwintype() ~= "" then
    return vim.ui.select(items, options, on_choice)
  end
  if shown then
    finish(shown)
  end
  if #items == 0 then
    return on_choice()
  end
  open(items, options, on_choice)
end

return M
