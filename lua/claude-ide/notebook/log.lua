-- The log of code that ran in kernels and its output: a Markdown buffer for the user.
-- Invariant: its lines and images are bounded.
local lazy = require("claude-ide.lazy")
local log = lazy("claude-ide.base.log")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local split = lazy("claude-ide.ui.split")
local window = lazy("claude-ide.base.window")

local M = {}

local MAX_LINES = 20000
local MAX_IMAGES = 100
local FENCE = "~~~~~~~~"

local buf ---@type integer?
---Whether the last line is incomplete.
local is_open = false
local in_fence = false
local images ---@type string?
local image_files = {} ---@type string[]

---The folder for images, deleted with Neovim's temporary folder.
---@return string
function M.images()
  images = images or vim.fn.tempname()
  vim.fn.mkdir(images, "p", "0o700")
  return images
end

local function buffer()
  if buf and vim.api.nvim_buf_is_valid(buf) then
    return buf
  end
  vim.treesitter.language.register("markdown", "claude-kernel")
  buf = own_buffer.create({
    kind = "kernel",
    name = { "kernel", "output" },
    bo = { modifiable = false, filetype = "claude-kernel" },
  })
  is_open, in_fence = true, false -- a new buffer has one empty line
  return buf
end

---Scrolls windows that were at the end.
---@param last integer previous last line
local function follow(of, last)
  for _, win in ipairs(vim.fn.win_findbuf(of)) do
    if vim.api.nvim_win_get_cursor(win)[1] >= last then
      vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(of), 0 })
    end
  end
end

local function append(text)
  local target = buffer()
  local lines = vim.split(text, "\n", { plain = true })
  local ends = lines[#lines] == ""
  if ends then
    lines[#lines] = nil
  end
  local last = vim.api.nvim_buf_line_count(target)
  own_buffer.change(target, function()
    if is_open and lines[1] then
      local before = vim.api.nvim_buf_get_lines(target, last - 1, last, false)[1] or ""
      lines[1] = before .. lines[1]
      vim.api.nvim_buf_set_lines(target, last - 1, last, false, lines)
    else
      vim.api.nvim_buf_set_lines(target, last, last, false, lines)
    end
    local extra = vim.api.nvim_buf_line_count(target) - MAX_LINES
    if extra > 0 then
      vim.api.nvim_buf_set_lines(target, 0, extra, false, {})
    end
  end)
  is_open = not ends
  follow(target, last)
end

local function fence(want)
  if in_fence ~= want then
    append((is_open and "\n" or "") .. FENCE .. "\n")
    in_fence = want
  end
end

---@param kernel claude-ide.notebook.Kernel
---@param run claude-ide.notebook.Run
function M.began(kernel, run)
  buffer()
  fence(false)
  local ticks = "```"
  while run.code:find(ticks, 1, true) do
    ticks = ticks .. "`"
  end
  local code = run.code:gsub("\n+$", "")
  append(
    ("%s## %s · %s · %s\n\n%spython\n%s\n%s\n\n"):format(
      is_open and vim.api.nvim_buf_line_count(buffer()) == 1 and "" or "\n",
      kernel.name,
      run.who,
      os.date("%H:%M:%S"),
      ticks,
      code,
      ticks
    )
  )
end

local function keep_image(path)
  image_files[#image_files + 1] = path
  while #image_files > MAX_IMAGES do
    vim.uv.fs_unlink(table.remove(image_files, 1), function() end)
  end
end

---@param event table
function M.output(event)
  if event.kind == "text" then
    fence(true)
    append(event.text)
  elseif event.kind == "image" then
    keep_image(event.path)
    fence(false)
    append(("\n![%s, %d bytes](%s)\n\n"):format(event.mime, event.bytes, event.path))
  end
end

---@param run claude-ide.notebook.Run
---@param how string
function M.ended(run, how)
  if not run.overdue then
    fence(false)
    append(("\n*%s*\n"):format(how))
  end
end

---Draws images in the buffer with snacks.nvim, if available. Their lines name the files anyway.
local function draw_images(target)
  local snacks = package.loaded["snacks"]
  if type(snacks) ~= "table" then
    return
  end
  local ok, err = pcall(function()
    if snacks.config and snacks.config.image and snacks.config.image.enabled then
      snacks.image.doc.attach(target)
    end
  end)
  if not ok then
    log.debug("snacks.image cannot draw: %s", err)
  end
end

---@return boolean? ok
---@return string? err
function M.open()
  if not (buf and vim.api.nvim_buf_is_valid(buf)) then
    return nil, "Nothing has run in a kernel yet."
  end
  local win = vim.fn.win_findbuf(buf)[1]
  if win then
    window.enter(win)
  else
    split.enter_below(buf, 0.5)
    vim.wo[0][0].wrap = true
    vim.wo[0][0].conceallevel = 2 -- hides the fences around output
  end
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(buf), 0 })
  pcall(vim.treesitter.start, buf, "markdown")
  draw_images(buf)
  return true
end

return M
