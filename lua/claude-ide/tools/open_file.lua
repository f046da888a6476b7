-- openFile and open_files: show or load a file, and select a range.
-- `preview`: Neovim has no preview tabs. When the next preview opens, the previous one leaves the buffer list, unless it was changed or
-- is visible; it stays loaded (`:b` finds it).
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local disk = lazy("claude-ide.editor.buffer.disk")
local file = lazy("claude-ide.base.file")
local file_window = lazy("claude-ide.ui.file_window")
local hidden = lazy("claude-ide.editor.buffer.hidden")
local locate = lazy("claude-ide.language.locate")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")
local swap = lazy("claude-ide.editor.buffer.swap")
local tools = lazy("claude-ide.tools")
local tracker = lazy("claude-ide.context.selection.tracker")

local M = {}

---@class claude-ide.tool.OpenFile.Args
---@field filePath string absolute
---@field preview? boolean
---@field startText? string literal text at the start of the selection
---@field endText? string literal text after startText, at its end
---@field selectToEndOfLine? boolean
---@field makeFrontmost? boolean
---@field line? integer 1-based, used if startText selects nothing
---@field endLine? integer 1-based, inclusive

---@class claude-ide.tool.OpenFile.Range 0-based bytes, exclusive end
---@field start [integer, integer]
---@field finish? [integer, integer] nil: only a position
---@field linewise boolean

---Larger files are not opened unasked: Neovim reads 16 MB in one line in a second, and reacts to nothing meanwhile.
local MAX_BYTES = 16 * 1024 * 1024

local group = vim.api.nvim_create_augroup("claude-ide.tools.open_file", { clear = true })

---Finds text in a buffer from a byte offset on.
---@param text string the buffer's lines, joined by "\n"
---@param from integer 1-based
---@return integer? first
---@return integer? last inclusive
local function find_text(text, wanted, from)
  if wanted == "" then
    return nil
  end
  return text:find((wanted:gsub("\r\n", "\n")), from, true)
end

---@param offset integer 0-based
---@return [integer, integer] 0-based row and byte column
local function to_position(text, offset)
  local row, line_start = 0, 0
  while true do
    local newline = text:find("\n", line_start + 1, true)
    if not newline or newline > offset then
      return { row, offset - line_start }
    end
    row, line_start = row + 1, newline
  end
end

---@return claude-ide.tool.OpenFile.Range?
local function wanted_range(buf, args)
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  if args.startText and args.startText ~= "" then
    local text = table.concat(lines, "\n")
    local first, last = find_text(text, args.startText, 1)
    if first and last then
      local _, end_last = find_text(text, args.endText or "", last + 1)
      local finish = to_position(text, end_last or last)
      if args.selectToEndOfLine then
        finish[2] = #lines[finish[1] + 1]
      end
      return { start = to_position(text, first - 1), finish = finish, linewise = false }
    end
  end
  if args.line then
    local first = math.max(math.min(args.line, #lines), 1)
    local last = math.max(math.min(args.endLine or first, #lines), first)
    local selects = args.endLine ~= nil or args.selectToEndOfLine == true
    return {
      start = { first - 1, 0 },
      finish = selects and { last - 1, #lines[last] } or nil,
      linewise = true,
    }
  end
  return nil
end

---The byte of the last character before an exclusive end.
---@param finish [integer, integer]
---@return [integer, integer] 0-based
local function last_character(buf, finish)
  local row, col = finish[1], finish[2]
  if col == 0 and row > 0 then
    row = row - 1
    col = #vim.api.nvim_buf_get_lines(buf, row, row + 1, true)[1] + 1
  end
  local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, true)[1]
  local at = math.max(math.min(col, #line) - 1, 0)
  if at < #line then
    at = at + vim.str_utf_start(line, at + 1)
  end
  return { row, at }
end

---@param visually boolean the user is in normal mode in this window
local function select_range(win, buf, range, visually)
  vim.api.nvim_win_set_cursor(win, { range.start[1] + 1, range.start[2] })
  vim.api.nvim_win_call(win, function()
    vim.cmd("normal! zvzz")
  end)
  if not range.finish then
    return
  end
  local last = last_character(buf, range.finish)
  if visually then
    vim.cmd("normal! " .. (range.linewise and "V" or "v"))
    local col = last[2]
    if vim.o.selection == "exclusive" and not range.linewise then
      col = range.finish[1] == last[1] and range.finish[2] or col + 1
    end
    vim.api.nvim_win_set_cursor(win, { last[1] + 1, col })
  else
    -- for `gv`
    vim.api.nvim_buf_set_mark(buf, "<", range.start[1] + 1, range.start[2], {})
    vim.api.nvim_buf_set_mark(buf, ">", last[1] + 1, last[2], {})
  end
end

local function forget_preview(buf)
  vim.b[buf].claude_preview = nil
  vim.api.nvim_clear_autocmds({ group = group, buffer = buf })
end

---Makes a buffer the preview. The previous one leaves the buffer list, unless it is used.
local function become_preview(buf, was_listed)
  for _, other in ipairs(vim.api.nvim_list_bufs()) do
    if other ~= buf and vim.b[other].claude_preview then
      if not vim.bo[other].modified and #vim.fn.win_findbuf(other) == 0 then
        vim.bo[other].buflisted = false
      end
      forget_preview(other)
    end
  end
  if was_listed then
    return
  end
  vim.b[buf].claude_preview = true
  vim.api.nvim_create_autocmd({ "TextChanged", "InsertEnter", "BufWritePost" }, {
    group = group,
    buffer = buf,
    desc = "A preview that is edited is a file like any other",
    callback = function(event)
      forget_preview(event.buf)
    end,
  })
end

---The buffer of a regular file.
---@param path string absolute
---@return integer? buf
---@return string? err
local function find_or_add(path)
  local buf = buffer.find(path)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    return buf
  end
  local stat, why_not, is_missing = file.stat_regular(path)
  if not stat then
    return nil, is_missing and "File not found: " .. path or ("Cannot open %s: %s"):format(path, why_not)
  elseif stat.size > MAX_BYTES then
    local size = stat.size / (1024 * 1024)
    return nil,
      ("%s has %.0f MB, too much to be opened unasked: the user can, with `:edit`"):format(path, size)
  elseif not vim.uv.fs_access(path, "R") then
    return nil, "Cannot read " .. path
  end
  return buf or buffer.add(path)
end

---Shows a buffer, and loads it if necessary.
---@return integer? win nil: no window available; the buffer is loaded
---@return boolean focused
local function show(buf)
  local is_new = not vim.api.nvim_buf_is_loaded(buf)
  if is_new then
    vim.bo[buf].swapfile = false -- no prompt about another Neovim's swap file
  end
  local win, focused = file_window.show(buf)
  if not win then
    if is_new then
      assert(hidden.read(buf))
    end
    local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ":~:.")
    notice.info(("Claude opened %s: `:b %d`"):format(name, buf))
  elseif is_new then
    swap.enable(buf)
  end
  return win, focused
end

---Shows a file and selects a range, which does not count as the user's.
---@param place fun(): integer? win
local function by_client(buf, place)
  local outside = not locate.is_inside(vim.api.nvim_buf_get_name(buf))
  return tracker.by_client(buf, outside, place)
end

---Sets the cursor when the buffer is shown next.
local function select_later(buf, range)
  vim.api.nvim_create_autocmd("BufWinEnter", {
    group = group,
    buffer = buf,
    once = true,
    desc = "Claude Code: go to the requested position",
    callback = function()
      local last = (range.finish or range.start)[1]
      if last < vim.api.nvim_buf_line_count(buf) then
        by_client(buf, function()
          local win = vim.api.nvim_get_current_win()
          select_range(win, buf, range, false)
          return win
        end)
      end
    end,
  })
end

---@return { filePath: string, languageId: string, lineCount: integer }? result
---@return string? err
local function open(args)
  local path = paths.normalize(args.filePath)
  local buf, problem = find_or_add(path)
  if not buf then
    return nil, problem
  end
  disk.reload(buf)
  hidden.adopt(buf)
  local was_listed = vim.bo[buf].buflisted
  if not was_listed then
    vim.b[buf].claude_opened = true -- its project must not become part of the workspace
  end
  vim.bo[buf].buflisted = true
  local win, focused, range ---@type integer?, boolean?, claude-ide.tool.OpenFile.Range?
  if args.makeFrontmost ~= false then
    local ok, err = pcall(by_client, buf, function()
      win, focused = show(buf)
      range = win and wanted_range(buf, args)
      if win and range then
        select_range(win, buf, range, focused == true and vim.api.nvim_get_mode().mode == "n")
      end
      return win
    end)
    if not ok then
      return nil, ("Cannot open %s: %s"):format(path, err)
    end
  elseif not vim.api.nvim_buf_is_loaded(buf) then
    local ok, err = hidden.read(buf)
    if not ok then
      return nil, ("Cannot open %s: %s"):format(path, err)
    end
  end
  if not was_listed then
    vim.b[buf].claude_opened = vim.api.nvim_buf_get_changedtick(buf) -- an edit makes it the user's
  end
  range = range or wanted_range(buf, args)
  if range and not win and #vim.fn.win_findbuf(buf) == 0 then
    select_later(buf, range)
  end
  if args.preview then
    become_preview(buf, was_listed)
  end
  return {
    filePath = path,
    languageId = buffer.language(buf),
    lineCount = vim.api.nvim_buf_line_count(buf),
  }
end

---A tool that shows something once no key of the user's typing can reach it.
---@param open_those fun(args: table): table?, string?
---@return claude-ide.Tool
local function tool(open_those)
  return {
    run = function(args, respond, call)
      tools.when_no_key(call, respond, function()
        local result, err = open_those(args)
        respond(result, not result and { code = "failed", message = err or "" } or nil)
      end)
    end,
  }
end

M.open_file = tool(open)

---Several files: the first one is shown, the others are loaded and listed.
M.open_files = tool(function(args)
  local opened, first_error = {}, nil
  for _, path in ipairs(args.file_paths) do
    local result, err = open({ filePath = path, makeFrontmost = #opened == 0 })
    opened[#opened + 1] = result and path
    first_error = first_error or err
  end
  if #opened == 0 and first_error then
    return nil, first_error
  end
  return { opened_files = opened }
end)

return M
