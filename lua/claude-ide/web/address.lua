-- A float with the page's address, and a QR code of it.
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local kept_words = lazy("claude-ide.ui.kept_words")
local key = lazy("claude-ide.ui.key")
local key_list = lazy("claude-ide.ui.key_list")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local text_float = lazy("claude-ide.ui.text_float")
local web = lazy("claude-ide.web")
local window = lazy("claude-ide.base.window")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.web.address")
local ZINDEX = 70

---@param lines string[]
---@return integer
local function width_of(lines)
  local width = 0
  for _, line in ipairs(lines) do
    width = math.max(width, vim.api.nvim_strwidth(line))
  end
  return math.min(width, vim.o.columns - 2)
end

---@param lines string[]
---@param width integer
---@return integer
local function rows_of(lines, width)
  local rows = 0
  for _, line in ipairs(lines) do
    rows = rows + math.max(math.ceil(vim.api.nvim_strwidth(line) / width), 1)
  end
  return rows
end

---@param url string
---@return string[] lines
---@return integer pictured number of lines of the code
local function lines_of(url)
  local text = {
    "",
    " " .. url,
    "",
    " The address opens once, within ten minutes.",
    " From another machine: :h claude-ide-web-remote",
    " y copies the address, t the token for other clients.",
    " q closes.",
  }
  local lines = {}
  for _, row in
    ipairs(native.web_picture(url) or {} --[[@as string[] ]])
  do
    lines[#lines + 1] = " " .. row .. " "
  end
  local pictured = #lines
  vim.list_extend(lines, text)
  local width = width_of(lines)
  -- Without room for the code, only the address is shown.
  if rows_of(lines, width) > math.min(pictured + rows_of(text, width), vim.o.lines - 4) then
    return text, 0
  end
  return lines, pictured
end

local function copy(text, what)
  notice.info(("%s is in %s."):format(what, kept_words.copy(text)))
end

---@param buf integer
---@param url string
---@param close fun()
local function set_keys(buf, url, close)
  key.map(buf, "q", "close", close)
  key.map(buf, "<Esc>", "close", close)
  key.map(buf, "y", "copy the address", function()
    copy(url, "The address")
  end)
  key.map(buf, "t", "copy the token", function()
    local info = web.info()
    if info then
      copy(info.token, "The token")
    end
  end)
  key_list.map_help(buf, "the web page's address")
end

---Shows an address until it is closed or left.
---@param url string
function M.show(url)
  local lines, pictured = lines_of(url)
  local width = width_of(lines)
  local buf ---@type integer
  local function colour()
    for row = 0, pictured - 1 do
      vim.api.nvim_buf_set_extmark(buf, namespace, row, 1, {
        end_col = #lines[row + 1] - 1,
        hl_group = "ClaudeWebPicture",
      })
    end
  end
  buf = own_buffer.create({
    kind = "keys",
    name = { "Claude", "address" },
    lines = lines,
    draw_again = colour,
    bo = { bufhidden = "wipe", modifiable = false },
  })
  local height = math.max(math.min(rows_of(lines, width), vim.o.lines - 4), 1)
  local win = text_float.open_centred(buf, width, height, {
    style = "minimal",
    title = " Web page ",
    zindex = ZINDEX,
  })
  vim.wo[win][0].wrap, vim.wo[win][0].linebreak = true, false
  colour()
  -- White on black regardless of the colour scheme, for a camera.
  vim.api.nvim_set_hl(0, "ClaudeWebPicture", { fg = "#ffffff", bg = "#000000", ctermfg = 15, ctermbg = 0 })
  vim.api.nvim_win_set_cursor(win, { math.min(pictured + 2, #lines), 0 })
  local function close()
    window.close(win)
  end
  set_keys(buf, url, close)
  local group = vim.api.nvim_create_augroup("claude-ide.web.address", { clear = true })
  vim.api.nvim_create_autocmd("WinEnter", {
    group = group,
    desc = "Claude Code: close the address when it is left, but for its list of keys",
    callback = vim.schedule_wrap(function()
      if buffer_marks.kind(vim.api.nvim_get_current_buf()) ~= "keys" then
        close()
        vim.api.nvim_clear_autocmds({ group = group })
      end
    end),
  })
end

return M
