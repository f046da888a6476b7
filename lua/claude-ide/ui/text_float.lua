-- Shows a text in a float, which `q` closes.
local lazy = require("claude-ide.lazy")
local border = lazy("claude-ide.ui.border")
local file_window = lazy("claude-ide.ui.file_window")
local guard = lazy("claude-ide.ui.guard")
local guard_window = lazy("claude-ide.ui.guard.window")
local ide_width = lazy("claude-ide.base.width")
local ide_window = lazy("claude-ide.base.window")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local position = lazy("claude-ide.base.position")

local M = {}

local WIDTH, HEIGHT = 0.7, 0.7
---Above the card, where a command is changed, and below what asks for words.
local ZINDEX = 46

---A float in the middle of the screen.
---@param width integer
---@param height integer
---@param more vim.api.keyset.win_config
---@return vim.api.keyset.win_config
local function centred(width, height, more)
  return vim.tbl_extend("error", {
    relative = "editor",
    width = width,
    height = height,
    row = math.max(math.floor((vim.o.lines - height) / 2) - 1, 0),
    col = math.max(math.floor((vim.o.columns - width) / 2), 0),
    border = border(),
  }, more)
end

---@param more vim.api.keyset.win_config
---@return integer win with the focus
function M.open_centred(buf, width, height, more)
  return vim.api.nvim_open_win(buf, true, centred(width, height, more))
end

---@param lines? integer maximum height
---@param title string
---@return vim.api.keyset.win_config
function M.place(lines, title)
  local width = math.max(math.min(math.floor(vim.o.columns * WIDTH), 100), math.min(vim.o.columns - 4, 40))
  local most = math.max(math.floor(vim.o.lines * HEIGHT), 3)
  local height = math.max(math.min(lines or most, most), 3)
  return centred(width, height, {
    title = (" %s "):format(ide_width.in_a_line(title, width - 6)),
    title_pos = "left",
    zindex = ZINDEX,
  })
end

---Gives a float the height of its text, as the window breaks it.
---@param win integer
---@param title string
---@param spare? integer lines below it
function M.fit(win, title, spare)
  local rows = vim.api.nvim_win_text_height(win, {}).all + (spare or 0)
  vim.api.nvim_win_set_config(win, M.place(rows, title))
end

---Opens a float of full height: `fit` gives it that of its text.
---@param buf integer
---@param title string
---@return integer win
function M.open(buf, title)
  local config = M.place(nil, title)
  config.style = "minimal"
  local win = vim.api.nvim_open_win(buf, file_window.may_focus(), config)
  local wo = vim.wo[win][0]
  wo.wrap, wo.linebreak, wo.conceallevel = true, true, 2
  return win
end

---@param text string|string[] or its lines
---@param title string
---@param filetype? string default: Markdown
---@return integer win
function M.show(text, title, filetype)
  local lines = type(text) == "table" and text
    or vim.split(position.valid(text --[[@as string]]), "\n", { plain = true })
  local buf = own_buffer.create({
    kind = "answer",
    name = { "Claude", "text" },
    lines = lines,
    bo = { bufhidden = "wipe", modifiable = false, filetype = filetype or "markdown" },
  })
  local win = M.open(buf, title)
  M.fit(win, title)
  guard_window.map(buf, { "q", "<Esc>" }, "close this", function()
    ide_window.close(win)
  end)
  return win
end

---Shows an unprompted text once the user pauses. Queued keys do not close it.
---@param text string
---@param title string
---@param words string for the hint: "Claude answers"
function M.show_in_time(text, title, words)
  local id = {}
  guard.when_idle(id, title, function(typed)
    local buf = vim.api.nvim_win_get_buf(M.show(text, title))
    if typed then
      guard_window.opened(buf)
      vim.api.nvim_create_autocmd("BufWipeout", {
        buffer = buf,
        desc = "Claude Code: end the wait for a key of a closed text",
        callback = function()
          guard_window.forget(buf)
        end,
      })
    end
  end, words)
end

return M
