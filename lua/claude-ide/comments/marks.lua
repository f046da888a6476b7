-- Shows the threads of a file in its buffer and beside Claude's changes: a sign, and a line below the lines commented on.
-- While a buffer is loaded its extmarks know where these lines are; the library says whether they are still the same.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local highlights = lazy("claude-ide.ui.highlights")
local ide_width = lazy("claude-ide.base.width")
local store = lazy("claude-ide.comments.store")
local target = lazy("claude-ide.comments.target")

local M = {}

local GROUP = "claude-ide.comments"
local namespace = vim.api.nvim_create_namespace(GROUP)

---Above the signs of Claude's changes (5), below those of git and of diagnostics.
local PRIORITY = 6
---After a key that changes the text.
local PAUSE_MS = 250
---Shown of a thread in one line.
local MOST_CELLS = 160
---Lines of an unfolded thread.
local MOST_LINES = 60

local LINKS = {
  ClaudeComment = "Comment",
  ClaudeCommentSign = "DiagnosticInfo",
  ClaudeCommentUser = "Title",
  ClaudeCommentClaude = "Special",
  ClaudeCommentNote = "WarningMsg",
}

---A thread in a buffer.
---@class claude-ide.comments.Mark
---@field id integer of the thread
---@field extmark integer
---@field kind "same"|"changed"|"outdated"
---@field count integer

---@type table<integer, claude-ide.comments.Mark[]> by buffer
local marks = {}

---Buffers that were drawn in diff mode.
---@type table<integer, boolean?>
local drawn_level = {}

---Threads that are shown whole.
---@type table<string, true?>
local unfolded = {}

---@type table<integer, uv.uv_timer_t> by buffer
local timers = {}

---@param entry claude-ide.comments.Entry
---@return string name
---@return string group
local function author(entry)
  if entry.by == "claude" then
    return "Claude", "ClaudeCommentClaude"
  end
  return "you", "ClaudeCommentUser"
end

---What is special about a thread.
---@param thread claude-ide.comments.Thread
---@param kind "same"|"changed"|"outdated"
---@return string
local function note(thread, kind)
  local notes = {} ---@type string[]
  if thread.state == "draft" then
    notes[1] = "not sent"
  elseif thread.state == "done" then
    notes[1] = "says it is done"
  end
  if kind == "changed" then
    notes[#notes + 1] = "changed since"
  elseif kind == "outdated" and thread.proposed then
    notes[#notes + 1] = "on a proposal"
  elseif kind == "outdated" then
    notes[#notes + 1] = "its lines are gone"
  end
  return table.concat(notes, ", ")
end

---@param words string possibly of a model
---@return string
function M.in_a_line(words)
  return ide_width.printable((vim.trim(words):gsub("%s+", " ")))
end

---A thread in one line: its first words, and the last answer.
---@param thread claude-ide.comments.Thread
---@param kind "same"|"changed"|"outdated"
---@param cells integer
---@return { [1]: string, [2]: string }[] chunks
local function brief(thread, kind, cells)
  local first, last = thread.entries[1], thread.entries[#thread.entries]
  local notes = note(thread, kind)
  local rest = notes ~= "" and (" (%s)"):format(notes) or ""
  local more = #thread.entries > 2 and (" (%d)"):format(#thread.entries) or ""
  local left = cells - 4 - ide_width.of(rest) - #more
  local shown = last ~= first and { first, last } or { first }
  local each = math.max(math.floor(left / #shown) - 10, 10)
  local chunks = { { "▎", "ClaudeCommentSign" } }
  for at, entry in ipairs(shown) do
    local who, group = author(entry)
    chunks[#chunks + 1] = { (at > 1 and " · " or "") .. who .. ": ", group }
    chunks[#chunks + 1] = { ide_width.cut(M.in_a_line(entry.words), each), "ClaudeComment" }
  end
  chunks[#chunks + 1] = { more, "ClaudeComment" }
  chunks[#chunks + 1] = { rest, "ClaudeCommentNote" }
  return chunks
end

---@param text string one line
---@param cells integer
---@return string[]
local function wrapped(text, cells)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if line ~= "" and ide_width.of(line) + 1 + ide_width.of(word) > cells then
      lines[#lines + 1], line = line, ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return lines
end

---All of a thread.
---@param thread claude-ide.comments.Thread
---@param kind "same"|"changed"|"outdated"
---@param cells integer
---@return { [1]: string, [2]: string }[][] lines
local function whole(thread, kind, cells)
  local lines = {} ---@type { [1]: string, [2]: string }[][]
  local function add(...)
    if #lines < MOST_LINES then
      lines[#lines + 1] = { { "▎", "ClaudeCommentSign" }, ... }
    end
  end
  local notes = note(thread, kind)
  if notes ~= "" then
    add({ notes, "ClaudeCommentNote" })
  end
  if kind == "outdated" and thread.anchor then
    for _, line in ipairs(thread.anchor.lines) do
      add({ "> " .. ide_width.cut(ide_width.printable(line), cells - 4), "ClaudeComment" })
    end
  end
  for _, entry in ipairs(thread.entries) do
    local who, group = author(entry)
    local first = true
    for _, line in ipairs(vim.split(vim.trim(entry.words), "\n", { plain = true })) do
      for _, part in ipairs(wrapped(ide_width.printable(line), cells - 12)) do
        add({ first and who .. ": " or (" "):rep(#who + 2), group }, { part, "ClaudeComment" })
        first = false
      end
    end
  end
  if #lines == MOST_LINES then
    lines[MOST_LINES] = { { "▎…", "ClaudeCommentSign" } }
  end
  return lines
end

---@param buf integer
---@return integer cells of the narrowest window that shows it
local function cells_of(buf)
  local cells = MOST_CELLS
  for _, win in ipairs(vim.fn.win_findbuf(buf)) do
    local info = vim.fn.getwininfo(win)[1]
    cells = math.min(cells, info.width - info.textoff)
  end
  return math.max(cells, 20)
end

---Whether a buffer is in diff mode, whose windows would no longer be level with lines between those of the text.
---@param buf integer
---@return boolean
local function is_level(buf)
  return vim.iter(vim.fn.win_findbuf(buf)):any(function(win)
    return vim.wo[win].diff
  end)
end

---@param buf integer
---@param shown claude-ide.comments.Shown
---@param placed claude-ide.comments.Placed
---@param cells integer
---@param thread? claude-ide.comments.Thread
---@return claude-ide.comments.Mark?
local function put(buf, shown, placed, cells, thread)
  if not thread or thread.state == "resolved" then
    return nil
  end
  local last_row = vim.api.nvim_buf_line_count(buf) - 1
  local row = math.min(placed.first, last_row)
  -- The last line has the words, the first one the extmark that is followed.
  local bottom = math.min(placed.first + math.max(placed.count, 1) - 1, last_row)
  local words = { priority = PRIORITY } ---@type vim.api.keyset.set_extmark
  if unfolded[store.name(shown.root, thread.id)] then
    words.virt_lines = whole(thread, placed.kind, cells)
  elseif drawn_level[buf] then
    words.virt_text, words.virt_text_pos = brief(thread, placed.kind, cells), "eol"
  else
    words.virt_lines = { brief(thread, placed.kind, cells) }
  end
  vim.api.nvim_buf_set_extmark(buf, namespace, bottom, 0, words)
  local extmark = vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, {
    sign_text = "▎",
    sign_hl_group = "ClaudeCommentSign",
    priority = PRIORITY,
  })
  return { id = thread.id, extmark = extmark, kind = placed.kind, count = placed.count }
end

---Where the extmarks of a buffer are.
---@param buf integer
---@return { id: integer, first: integer }[]
local function known(buf)
  local found = {} ---@type { id: integer, first: integer }[]
  for _, mark in ipairs(marks[buf] or {}) do
    local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, mark.extmark, {})
    if at[1] and mark.kind == "same" then
      found[#found + 1] = { id = mark.id, first = at[1] }
    end
  end
  return found
end

---Draws the threads of a buffer.
---@param buf integer
---@param is_fresh? boolean its text was read anew, so that its extmarks know nothing
function M.draw(buf, is_fresh)
  if not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  local shown = target.shown_in(buf)
  local threads = shown and store.of_file(shown.root, shown.path, shown.side) or {}
  if not shown or not threads[1] then
    if marks[buf] then
      marks[buf] = nil
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
    end
    return
  end
  local places = store.place(shown.root, {
    path = shown.path,
    side = shown.side,
    known = is_fresh and {} or known(buf),
    passing = not shown.is_file or vim.bo[buf].modified,
  }, target.text(buf))
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local cells, found = cells_of(buf), {} ---@type integer, claude-ide.comments.Mark[]
  drawn_level[buf] = is_level(buf)
  local by_id = {} ---@type table<integer, claude-ide.comments.Thread>
  for _, thread in ipairs(store.of_file(shown.root, shown.path, shown.side)) do
    by_id[thread.id] = thread
  end
  for _, placed in ipairs(places) do
    found[#found + 1] = put(buf, shown, placed, cells, by_id[placed.id])
  end
  marks[buf] = found
end

---@param buf integer
local function draw_in_a_pause(buf)
  if not marks[buf] then
    return
  end
  local timer = timers[buf] or assert(vim.uv.new_timer())
  timers[buf] = timer
  timer:start(
    PAUSE_MS,
    0,
    vim.schedule_wrap(function()
      if timers[buf] == timer then
        timers[buf] = nil
        timer:close()
        M.draw(buf)
      end
    end)
  )
end

---Draws all that is on the screen.
function M.refresh()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    M.draw(vim.api.nvim_win_get_buf(win))
  end
end

---The thread at a line, the last one that begins above its end.
---@param buf integer
---@param lnum integer from 1
---@return integer? id
function M.at(buf, lnum)
  local id ---@type integer?
  for _, mark in ipairs(marks[buf] or {}) do
    local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, mark.extmark, {})
    local first = at[1]
    if first and lnum - 1 >= first and lnum - 1 < first + math.max(mark.count, 1) then
      id = mark.id
    end
  end
  return id
end

---The lines of a buffer at which threads begin, from the top.
---@param buf integer
---@return integer[] from 1
function M.lines(buf)
  local lines = {} ---@type integer[]
  for _, mark in ipairs(marks[buf] or {}) do
    local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, mark.extmark, {})
    lines[#lines + 1] = at[1] and at[1] + 1
  end
  table.sort(lines)
  return lines
end

---Shows a thread whole, or in one line.
---@param root string
---@param id integer
function M.toggle(root, id)
  local name = store.name(root, id)
  unfolded[name] = not unfolded[name] or nil
  M.refresh()
end

---Starts to show threads.
M.attach = require("claude-ide.base.once")(function()
  local function define()
    highlights.link(LINKS)
  end
  define()
  bus.on("comments_changed", M.refresh)
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  ---@param events vim.api.keyset.events|vim.api.keyset.events[]
  ---@param desc string
  ---@param run fun(buf: integer)
  local function on(events, desc, run)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      desc = "Claude Code: " .. desc,
      callback = function(event)
        run(event.buf)
      end,
    })
  end
  on("ColorScheme", "colours of comments", define)
  on({ "BufReadPost", "FileChangedShellPost" }, "place comments in a text read anew", function(buf)
    M.draw(buf, true)
  end)
  on({ "BufWinEnter", "BufWritePost", "WinResized" }, "draw comments", M.draw)
  on({ "TextChanged", "InsertLeave" }, "follow the lines of comments", draw_in_a_pause)
  -- Diff mode comes and goes without events.
  vim.api.nvim_set_decoration_provider(namespace, {
    on_win = function(_, _, buf)
      if marks[buf] and drawn_level[buf] ~= is_level(buf) then
        drawn_level[buf] = is_level(buf)
        vim.schedule(function()
          M.draw(buf)
        end)
      end
      return false
    end,
  })
  on("BufWipeout", "forget the comments of a buffer", function(buf)
    marks[buf], drawn_level[buf] = nil, nil
  end)
  M.refresh()
end)

return M
