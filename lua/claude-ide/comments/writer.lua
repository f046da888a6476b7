-- The small window under a line in which the user writes a comment. What is typed is kept as it is typed: `:qa!` and a crash lose nothing.
local lazy = require("claude-ide.lazy")
local at_exit = lazy("claude-ide.base.at_exit")
local border = lazy("claude-ide.ui.border")
local bus = lazy("claude-ide.base.bus")
local ide_window = lazy("claude-ide.base.window")
local key_list = lazy("claude-ide.ui.key_list")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local position = lazy("claude-ide.base.position")
local safely = lazy("claude-ide.base.safely")
local store = lazy("claude-ide.comments.store")
local timers = lazy("claude-ide.base.timer")
local user_write = lazy("claude-ide.ui.user_write")

local M = {}

local WIDTH, HEIGHT, MOST_HEIGHT = 72, 3, 12
---Rows of its border.
local BORDER = 2
---Above the floats that show a diff.
local ZINDEX = 60
---After a key.
local PAUSE_MS = 150

---@class claude-ide.comments.Draft
---@field buf integer
---@field win integer
---@field most integer lines that have room
---@field is_typing? boolean
---@field cursor? [integer, integer] where it is being typed
---@field stop fun() ends its timer
---@field count integer lines commented on
---@field operator string that comments on lines
---@field id? integer nil: it has no words yet
---@field begin fun(words: string): integer?, string? makes the thread
---@field root string
---@field kept string the words as kept last
---@field lost? { words: string, err: string } words that could not be kept

local draft ---@type claude-ide.comments.Draft?

---@param one claude-ide.comments.Draft
---@return string
local function words_of(one)
  local text = table.concat(vim.api.nvim_buf_get_lines(one.buf, 0, -1, false), "\n")
  return position.valid(vim.trim(text)) -- bytes of another encoding may have been pasted
end

---@param one claude-ide.comments.Draft
local function keep(one)
  local is_there = vim.api.nvim_buf_is_loaded(one.buf) -- not after `:q!`
  local words = is_there and words_of(one) or one.kept
  if not is_there or words == one.kept then
    return
  end
  local ok, err
  if one.id then
    ok, err = store.change(one.root, { write = { id = one.id, words = words, over = one.kept } })
    one.id = words ~= "" and one.id or nil
  elseif words == "" then
    ok = true
  else
    one.id, err = one.begin(words)
    ok = one.id
  end
  if ok then
    one.kept, one.lost = words, nil
    return
  end
  vim.bo[one.buf].modified = true -- `:qa` does not end Neovim
  if not one.lost or one.lost.err ~= err then
    notice.error(("The comment is not saved: %s."):format(err))
  end
  one.lost = { words = words, err = err or "" }
end

---Keeps the words in a buffer if nothing else keeps them.
---@param one claude-ide.comments.Draft
local function rescue(one)
  if one.lost then
    local lines = vim.split(one.lost.words, "\n", { plain = true })
    local buf = own_buffer.create({
      lines = lines,
      listed = true,
      scratch = false,
      is_private = true,
      bo = { modified = true },
    })
    notice.error(("The comment is not saved, its words are in buffer %d."):format(buf))
  end
end

---@param one claude-ide.comments.Draft
local function resize(one)
  if vim.api.nvim_win_is_valid(one.win) then
    local height = math.min(vim.api.nvim_win_text_height(one.win, {}).all, one.most)
    vim.api.nvim_win_set_config(one.win, { height = math.max(height, HEIGHT) })
  end
end

---The place below lines of the current window, without room there above them. Brings the last one into sight.
---@param first integer from 1
---@param last integer
---@return vim.api.keyset.win_config
---@return integer room for lines of text
local function beside(first, last)
  local win, bottom = vim.api.nvim_get_current_win(), vim.o.lines - vim.o.cmdheight
  ---@param lnum integer
  ---@param col integer
  ---@return integer row on the screen from 1; 0: out of sight
  local function row_of(lnum, col)
    vim.fn.line("w$") -- else Neovim takes the rows that it drew last
    return vim.fn.screenpos(win, lnum, col).row
  end
  if row_of(last, vim.v.maxcol) == 0 then
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(win, { last, 0 })
  end
  local end_row = row_of(last, vim.v.maxcol)
  local below, above = bottom - end_row - BORDER, row_of(first, 1) - 1 - BORDER
  if below < HEIGHT and above >= HEIGHT then
    return { bufpos = { first - 1, 0 }, anchor = "SW", row = 0 }, above
  elseif below < HEIGHT then
    vim.api.nvim_win_set_cursor(win, { last, 0 })
    ide_window.scroll_to_row(math.max(vim.fn.winline() + below - HEIGHT, 1))
  end
  return { bufpos = { last - 1, 0 }, row = math.max(end_row - row_of(last, 1), 0) + 1 },
    math.max(below, HEIGHT)
end

---Lets `.` open a comment on as many lines from the cursor on. It would insert the words that were typed last.
---@param count integer
---@param operator string for 'operatorfunc'
local function make_repeatable(count, operator)
  local lines = own_buffer.create({ lines = vim.split(("\n"):rep(count - 1), "\n") })
  vim.api.nvim_buf_call(lines, function()
    vim.go.operatorfunc = "len" -- any function that does nothing
    vim.cmd(("normal! g@%d_"):format(count))
  end)
  own_buffer.delete(lines)
  vim.go.operatorfunc = operator
end

---Runs something once Insert mode has ended.
---@param run fun()
local function after_typing(run)
  if not vim.api.nvim_get_mode().mode:find("^[iR]") then
    return run()
  end
  vim.api.nvim_create_autocmd("InsertLeave", {
    once = true,
    desc = "Claude Code: let `.` repeat a comment",
    callback = vim.schedule_wrap(run),
  })
end

---Keeps the words, and closes the window.
function M.close()
  local one = draft
  if not one then
    return
  end
  keep(one)
  draft = nil
  one.stop()
  if vim.api.nvim_get_current_buf() == one.buf and vim.fn.mode() == "i" then
    vim.cmd.stopinsert()
  end
  ide_window.close(one.win)
  own_buffer.delete(one.buf)
  rescue(one)
  bus.emit("comment_closed")
  after_typing(function()
    make_repeatable(one.count, one.operator)
  end)
end

---@param one claude-ide.comments.Draft
---@param title string
---@param place vim.api.keyset.win_config of the current window
local function show(one, title, place)
  one.win = vim.api.nvim_open_win(
    one.buf,
    true,
    vim.tbl_extend("error", place, {
      relative = "win",
      win = vim.api.nvim_get_current_win(),
      col = 0,
      width = math.max(math.min(WIDTH, vim.api.nvim_win_get_width(0) - 4), 20),
      height = HEIGHT,
      border = border(),
      title = (" %s "):format(title),
      footer = " ZZ keep · empty removes ",
      style = "minimal",
      zindex = ZINDEX,
    })
  )
  local wo = vim.wo[one.win][0]
  wo.wrap, wo.linebreak = true, true
end

---Whether a diff or plan that ended has taken the window of a comment along that is being typed.
---@return boolean
function M.has_lost_window()
  local one = draft
  return one ~= nil
    and one.is_typing == true
    and not vim.api.nvim_win_is_valid(one.win)
    and vim.api.nvim_buf_is_loaded(one.buf)
end

---A diff or plan that ends takes the comment's window along. Insert mode goes on: the next keys would be commands.
function M.show_again()
  local one = draft
  if not one or vim.api.nvim_win_is_valid(one.win) then
    return
  elseif not M.has_lost_window() then
    return M.close()
  end
  one.most = MOST_HEIGHT
  show(one, "Comment", { row = 1 })
  resize(one)
  if one.cursor then
    pcall(vim.api.nvim_win_set_cursor, one.win, one.cursor)
  end
  if vim.fn.mode() ~= "i" then
    vim.cmd.startinsert({ bang = true })
  end
end

---@param opts claude-ide.ui.own_buffer.Opts
local function follow(one, opts)
  local timer = timers.new("keep what is typed in a comment")
  ---@param events vim.api.keyset.events|vim.api.keyset.events[]
  ---@param desc string
  ---@param run fun(event: vim.api.keyset.create_autocmd.callback_args)
  local function on(events, desc, run)
    vim.api.nvim_create_autocmd(events, {
      buffer = one.buf,
      desc = "Claude Code: " .. desc,
      callback = safely.wrap(desc, function(event)
        if draft == one then
          run(event)
        end
      end),
    })
  end
  on({ "TextChanged", "TextChangedI" }, "keep what is typed in a comment", function()
    vim.bo[one.buf].modified = false
    timer:start(PAUSE_MS, function()
      if draft == one then
        if words_of(one) ~= "" then -- an emptied comment goes with its window: until then words may follow
          keep(one)
        end
        resize(one)
      end
    end)
  end)
  on({ "CursorMovedI", "TextChangedI" }, "where a comment is being typed", function()
    one.cursor = vim.api.nvim_win_get_cursor(0)
  end)
  on("BufUnload", "keep a comment at `:edit`", function()
    opts.lines = vim.api.nvim_buf_get_lines(one.buf, 0, -1, false)
    keep(one)
  end)
  user_write.follow(one.buf, { desc = "a written comment is kept", still = "the comment stays" }, function()
    if draft == one then
      vim.bo[one.buf].modified = false
      keep(one)
      vim.schedule(function()
        if draft == one then
          M.close()
        end
      end)
    end
  end)
  on({ "WinLeave", "BufWinLeave" }, "close a comment that was left", function()
    keep(one) -- Neovim may end before the next turn of the event loop
    vim.schedule(function()
      if draft == one and vim.api.nvim_get_current_win() ~= one.win then -- else it was shown again
        M.close()
      end
    end)
  end)
  on({ "InsertEnter", "InsertLeave" }, "whether a comment is being typed", function(event)
    one.is_typing = event.event == "InsertEnter"
  end)
  -- Wiping a buffer of ours emits no event.
  one.stop = function()
    timer:stop()
  end
end

---Opens a window for words about a line of the current window.
---@param opts { root: string, id?: integer, words: string, begin: (fun(words: string): integer?, string?), count?: integer, operator: string } count: of lines
---@param lnum integer from 1
---@param title string
function M.open(opts, lnum, title)
  M.close()
  at_exit("a comment", function()
    if draft then
      keep(draft)
    end
  end)
  ---@type claude-ide.ui.own_buffer.Opts
  local buffer_opts = {
    kind = "comment",
    name = { "Claude", "comment" },
    lines = vim.split(opts.words, "\n", { plain = true }),
    is_private = true,
    bo = { buftype = "acwrite", filetype = "markdown" },
    draw_again = function() end,
  }
  local count = opts.count or 1
  local place, room = beside(lnum - count + 1, lnum)
  local buf = own_buffer.create(buffer_opts)
  ---@type claude-ide.comments.Draft
  local one = {
    buf = buf,
    win = 0,
    id = opts.id,
    begin = opts.begin,
    root = opts.root,
    kept = opts.words,
    count = count,
    most = math.min(room, MOST_HEIGHT),
    operator = opts.operator,
    stop = function() end,
  }
  show(one, title, place)
  draft = one
  -- `ZZ` as it is would close the comment after the next keys, of which one may be `.`.
  local option = { name = "close", keys = { "ZZ", "q" }, desc = "keep the comment" }
  key_list.map(buf, option, M.close)
  follow(one, buffer_opts)
  resize(one)
  bus.emit("comment_opened", buf)
  vim.cmd.startinsert({ bang = true })
end

return M
