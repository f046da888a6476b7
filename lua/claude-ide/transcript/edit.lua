-- An edit of a transcript beside what was before it: two texts to read, in a tab page of their own.

local M = {}

local count = 0

---@param text? string
---@return string[]
local function lines_of(text)
  if not text or text == "" then
    return {}
  end
  local lines = vim.split(text, "\n", { plain = true })
  if lines[#lines] == "" then
    lines[#lines] = nil
  end
  for at, line in ipairs(lines) do
    lines[at] = line:gsub("\r$", ""):gsub("[%z\n]", " ")
  end
  return lines
end

---@param side "before"|"after"
---@param path string
---@param lines string[]
---@return integer buf
local function make(side, path, lines)
  return require("claude-ide.ui.own_buffer").create_side({
    kind = "edit",
    name = { path, side },
    lines = lines,
    bo = { modifiable = false, filetype = vim.filetype.match({ filename = path, contents = lines }) or "" },
  })
end

---@param path string
---@param what string
---@param keys boolean
---@return string
local function winbar(path, what, keys)
  local part = require("claude-ide.ui.winbar_text").part
  local text = part("ClaudeDiffFile", " " .. vim.fs.basename(path))
    .. "%<"
    .. part("ClaudeDiffSide", " · " .. what)
  if keys then
    text = text
      .. " %="
      .. part("ClaudeDiffKey", " ]c")
      .. part("ClaudeDiffHint", " next ")
      .. part("ClaudeDiffKey", " q")
      .. part("ClaudeDiffHint", " back ")
  end
  return text
end

---@param wins integer[]
---@param bufs integer[]
---@param from_tab integer
local function close(wins, bufs, from_tab)
  for _, win in ipairs(wins) do
    if vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_call(win, function()
        vim.cmd("diffoff")
      end)
    end
  end
  require("claude-ide.window").close_all(wins)
  for _, buf in ipairs(bufs) do
    require("claude-ide.ui.own_buffer").delete(buf)
  end
  if vim.api.nvim_tabpage_is_valid(from_tab) then
    vim.api.nvim_set_current_tabpage(from_tab)
  end
end

---Whether diff mode would hold Neovim up.
---@param before string[]
---@param after string[]
---@return boolean
local function is_much(before, after)
  return #before + #after > 40000
end

---Shows both texts.
---@param texts claude-ide.sessions.EditTexts
function M.show(texts)
  local dress = require("claude-ide.ui.window_look")
  require("claude-ide.ui.highlights").define_shared()
  count = count + 1
  local from_tab = vim.api.nvim_get_current_tabpage()
  local stacked = require("claude-ide.diffview.layout").preferred() == "horizontal"
  local before, after = lines_of(texts.before), lines_of(texts.after)
  local bufs, wins = {}, {}
  require("claude-ide.ui.quietly").run(function()
    bufs = { make("before", texts.path, before), make("after", texts.path, after) }
    vim.cmd(("noautocmd keepalt tab sbuffer %d"):format(bufs[1]))
    wins[1] = vim.api.nvim_get_current_win()
    wins[2] = vim.api.nvim_open_win(bufs[2], true, { split = stacked and "below" or "right", win = wins[1] })
    dress.window(wins[1], winbar(texts.path, texts.before and "before this edit" or "did not exist", false))
    dress.window(wins[2], winbar(texts.path, "after this edit", true))
    if not is_much(before, after) then
      for _, win in ipairs(wins) do
        vim.api.nvim_win_call(win, vim.cmd.diffthis)
      end
    end
    return true
  end)
  for _, buf in ipairs(bufs) do
    require("claude-ide.ui.own_buffer").highlight(buf)
    vim.keymap.set("n", "q", function()
      close(wins, bufs, from_tab)
    end, { buffer = buf, nowait = true, desc = "Claude Code: back to the transcript" })
  end
  vim.api.nvim_win_call(wins[2], function()
    vim.cmd("silent! normal! gg]c")
  end)
  -- One window of it alone says nothing.
  vim.api.nvim_create_autocmd("WinClosed", {
    group = vim.api.nvim_create_augroup("claude-ide.transcript.edit." .. count, { clear = true }),
    pattern = { tostring(wins[1]), tostring(wins[2]) },
    once = true,
    desc = "Claude Code: an edit is shown with both sides or not at all",
    callback = function()
      vim.schedule(function()
        close(wins, bufs, from_tab)
      end)
    end,
  })
end

---Shows what a tool call changed.
---@param source claude-ide.transcript.Source the one it is in
---@param tool_id string
function M.open(source, tool_id)
  local guard = require("claude-ide.ui.guard")
  local request = guard.ask()
  local function show(texts, err)
    local notice = require("claude-ide.ui.notice")
    if texts then
      -- What is typed by now is meant for something else.
      guard.when_asked("edit " .. tool_id, "An edit of a conversation", function()
        M.show(texts)
      end, request)
    elseif err then
      notice.error("This edit cannot be shown: " .. err)
    else
      notice.info("The session did not record the file before and after this call.")
    end
  end
  if source.edit_texts then
    source:edit_texts(tool_id, show)
  else
    show()
  end
end

return M
