-- Actions of Enter and `gf` on lines of a transcript, by type of target.

local lazy = require("claude-ide.lazy")
local agent_reader = lazy("claude-ide.transcript.agent_reader")
local branch = lazy("claude-ide.transcript.branch")
local bus = lazy("claude-ide.base.bus")
local file_link = lazy("claude-ide.ui.file_link")
local guard = lazy("claude-ide.ui.guard")
local key = lazy("claude-ide.ui.key")
local loader = lazy("claude-ide.transcript.loader")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local open_views = lazy("claude-ide.transcript.open_views")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local render = lazy("claude-ide.transcript.render")
local two_texts = lazy("claude-ide.ui.diffview.two_texts")
local viewport = lazy("claude-ide.transcript.viewport")

local M = {}

---@class claude-ide.transcript.TargetKind
---@field enter? fun(view: claude-ide.transcript.View, target: claude-ide.transcript.Target, item: claude-ide.transcript.Item): boolean? Enter; false or absent: toggle the fold
---@field go? fun(view: claude-ide.transcript.View, target: claude-ide.transcript.Target, at: claude-ide.transcript.TargetPlace, how: claude-ide.ui.HowToOpen) `gf`; absent: the path under the cursor

---@class claude-ide.transcript.TargetPlace
---@field item claude-ide.transcript.Item
---@field offset integer line of the item, from 0

---@type table<claude-ide.transcript.Target["type"], claude-ide.transcript.TargetKind>
local KINDS = {}

KINDS.branch = {
  enter = function(view)
    branch.choose(view)
  end,
}

---The line of the file at a line of a diff.
---@param item claude-ide.transcript.Item
---@param offset integer
---@return integer?
local function diff_line(item, offset)
  local after = 0
  for at = offset, 0, -1 do
    local text = item.lines[at + 1]
    local start = tonumber(text:match("^%s*@@ %-%d+,%d+ %+(%d+),%d+ @@$"))
    if start then
      return math.floor(start) + math.max(after - 1, 0)
    end
    local sign = text:match("^%s%s%s%s(.)")
    after = after + ((sign == "-" and at ~= offset) and 0 or 1)
  end
  return nil
end

---@param view claude-ide.transcript.View
---@return string[] folders that a path in it may be relative to
local function folders_of(view)
  local folders = {} ---@type string[]
  folders[1] = view.cwd
  folders[#folders + 1] = vim.fn.getcwd()
  return folders
end

---A chat keeps its window: files open in a window for files.
---@param view claude-ide.transcript.View
---@param link? claude-ide.ui.FileLink
---@param how claude-ide.ui.HowToOpen
local function open_file(view, link, how)
  file_link.open(link, folders_of(view), how == "edit" and view.source.is_chat and "file_window" or how)
end

KINDS.file = {
  go = function(view, target, at, how)
    local lnum = at.offset > 0 and diff_line(at.item, at.offset) or target.lnum
    open_file(view, target.path and { path = target.path, lnum = lnum }, how)
  end,
}

local SAYS = { before = "before this edit", after = "after this edit", back = "the transcript" }

---Shows what a tool call changed.
---@param source claude-ide.transcript.Source that has the call
---@param tool_id string
local function show_edit(source, tool_id)
  local request = guard.request()
  source:edit_texts(tool_id, function(texts, err)
    if texts then
      -- Keys typed since the request are not meant for it.
      guard.when_requested("edit " .. tool_id, "An edit of a session", function()
        two_texts.show({ path = texts.path, before = texts.before, after = texts.after, says = SAYS })
      end, request)
    elseif err then
      notice.error("This edit cannot be shown: " .. err)
    else
      notice.info("The session did not record the file before and after this call.")
    end
  end)
end

KINDS.edit = {
  enter = function(view, target)
    local tool_id = target.tool_id
    if not tool_id then
      return false
    end
    show_edit(target.owner or view.source, tool_id)
  end,
  go = KINDS.file.go,
}

---A subagent: its messages here, or in a transcript of its own.
KINDS.agent = {
  ---On the line of the call, its messages open and close with the fold.
  enter = function(view, target, item)
    local is_open = agent_reader.is_open(view, target)
    if not target.call then
      agent_reader.toggle(view, target, item)
    elseif vim.fn.foldclosed(".") > 0 then
      vim.cmd("normal! zo")
      if not is_open then
        agent_reader.toggle(view, target, item)
      end
    else
      if is_open then
        agent_reader.toggle(view, target, item)
      end
      vim.cmd("normal! zc")
    end
  end,
  go = function(view, target, _, how)
    local agent = render.agent_of(view, target.tool_id or "")
    if not agent then
      notice.info("This subagent has no file of its own.")
      return
    end
    vim.cmd("normal! m'")
    if how ~= "edit" then
      vim.cmd(how == "split" and "split" or "tab split")
    end
    local win = vim.api.nvim_get_current_win()
    bus.emit("transcript_wanted", { source = agent_reader.source_of(view, agent) }, { win = win })
  end,
}

---Size limit of a text shown in full.
local MOST = 8 * 1024 * 1024

---@param block claude-ide.sessions.Block
---@param argument? string
---@return string
local function text_of(block, argument)
  if argument then
    local value = type(block.input) == "table" and block.input[argument]
    return type(value) == "string" and value or vim.json.encode(value)
  elseif block.text then
    return block.text
  end
  local texts = {}
  for _, part in ipairs(block.result and block.result.content or {}) do
    texts[#texts + 1] = part.type == "text" and part.text or nil
  end
  return table.concat(texts, "\n")
end

---@param block claude-ide.sessions.Block
---@param argument? string
local function show_text(block, argument)
  local text = text_of(block, argument)
  if #text > MOST then
    text = text:sub(1, MOST + vim.str_utf_start(text, MOST + 1))
  end
  -- An argument is shown unchanged, byte for byte.
  local lines = argument and vim.split(text, "\n", { plain = true }) or native.plain_lines(text) or {}
  local buf = own_buffer.create({
    kind = "text",
    name = { "Claude", "text" },
    lines = lines,
    is_private = true,
    bo = { bufhidden = "wipe", modifiable = false },
  })
  vim.cmd("belowright sbuffer " .. buf)
  key.map(buf, "q", "close the text", "<Cmd>close<CR>")
end

---Reads the block of a cut text in full.
---@param view claude-ide.transcript.View
---@param target claude-ide.transcript.Target
---@param done fun(block: claude-ide.sessions.Block)
function M.read_more(view, target, done)
  local id, at = target.message, target.block
  if not id or not at then
    return
  end
  local source = target.owner or view.source
  source:messages({ id }, MOST, function(messages, err)
    local block = messages and messages[1] and messages[1].blocks[at]
    if block then
      done(block)
    else
      notice.error("This text cannot be read: " .. (err or "it is gone"))
    end
  end)
end

---A cut text: shows it in full in a window.
KINDS.more = {
  enter = function(view, target)
    local request = guard.request()
    M.read_more(view, target, function(block)
      local id = ("text %s %d %d"):format((target.owner or view.source).key, target.message, target.block)
      -- Keys typed since the request are not meant for it.
      guard.when_requested(id, "A text of a session", function()
        show_text(block, target.argument)
      end, request)
    end)
  end,
}

---@param item? claude-ide.transcript.Item
---@param offset integer
---@return claude-ide.transcript.Target?
local function target_at(item, offset)
  for _, target in ipairs(item and item.targets or {}) do
    if offset >= target.first and offset <= target.last then
      return target
    end
  end
  return nil
end

---The file of the edit that lines are part of, and the first one's line after the edit.
---@param view claude-ide.transcript.View
---@param first integer line
---@param last integer
---@return string? path existing
---@return integer? lnum
function M.edited_file(view, first, last)
  local spot, item = view.canvas:spot(first)
  local stop, last_item = view.canvas:spot(last)
  local target = target_at(item, spot.offset)
  if not item or item ~= last_item or not target or target.type ~= "edit" or stop.offset > target.last then
    return nil
  end
  return target.path and file_link.find(target.path, folders_of(view)), diff_line(item, spot.offset)
end

---Enter on the line under the cursor.
---@param view claude-ide.transcript.View
function M.enter(view)
  local lnum = vim.api.nvim_win_get_cursor(0)[1]
  if view.canvas:is_head(lnum) then
    vim.api.nvim_win_set_cursor(0, { lnum + 1, 0 }) -- stays beside what it was above
    return loader.load_more(view)
  end
  local spot, item = view.canvas:spot(lnum)
  local went_on = not item and open_views.went_on(view)
  if went_on and viewport.is_at_end(0) then
    local win = vim.api.nvim_get_current_win()
    bus.emit("transcript_wanted", { id = went_on }, { win = win })
    return
  end
  local target = target_at(item, spot.offset)
  local kind = target and KINDS[target.type]
  local is_done = item and target and kind and kind.enter and kind.enter(view, target, item) ~= false
  if not is_done and vim.fn.foldlevel(".") > 0 then
    vim.cmd("normal! za")
  end
end

---`gf`: the target of the line, or the file named under the cursor.
---@param view claude-ide.transcript.View
---@param how claude-ide.ui.HowToOpen
function M.go(view, how)
  local cursor = vim.api.nvim_win_get_cursor(0)
  local spot, item = view.canvas:spot(cursor[1])
  local target = target_at(item, spot.offset)
  local kind = target and KINDS[target.type]
  if item and target and kind and kind.go then
    kind.go(view, target, { item = item, offset = spot.offset }, how)
  else
    local line = vim.api.nvim_get_current_line()
    open_file(view, file_link.existing_at(line, cursor[2], folders_of(view)), how)
  end
end

return M
