-- Shows the threads of a file in its buffer and beside Claude's changes: a sign, and a line below the lines commented on.
-- Invariant: while a buffer is loaded, extmarks follow these lines, through undo too. A deleted line is never taken for one that looks
-- alike. The library says whether the lines are still the same.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local counted = lazy("claude-ide.base.counted")
local highlights = lazy("claude-ide.ui.highlights")
local ide_width = lazy("claude-ide.base.width")
local redraw = lazy("claude-ide.base.redraw")
local safely = lazy("claude-ide.base.safely")
local store = lazy("claude-ide.comments.store")
local target = lazy("claude-ide.comments.target")
local timers = lazy("claude-ide.base.timer")

local M = {}

local GROUP = "claude-ide.comments"
local namespace = vim.api.nvim_create_namespace(GROUP)
---Of the extmarks that follow lines: of a thread by its id, and of the whole text, which goes when all of it is replaced.
local following = vim.api.nvim_create_namespace(GROUP .. ".following")
local WHOLE = vim.v.maxcol --[[@as integer]]

---Above the signs of Claude's changes (5), below those of git and of diagnostics.
local PRIORITY = 6
---After a key that changes the text.
local PAUSE_MS = 250
---Shown of a thread in one line.
local MOST_CELLS = 160
---Lines of an unfolded thread.
local MOST_LINES = 60
---Places of a text that are remembered until it is drawn.
local MOST_REPLACED = 16

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

---@alias claude-ide.comments.Rows { first: integer, count: integer }

---@class claude-ide.comments.Text
---@field is_fresh? boolean it was read again, also by an undo, so that extmarks know nothing of it
---@field deleted table<integer, true?> threads whose lines are known to have gone
---@field wide table<integer, true?> threads whose lines are somewhere in those that are followed
---@field replaced claude-ide.comments.Rows[] those that took the place of others since the last look: an undo sets extmarks after it

---Buffers whose text is watched.
---@type table<integer, claude-ide.comments.Text?>
local texts = {}

---@class claude-ide.comments.How
---@field is_level boolean diff mode is on
---@field cells integer

---How buffers were drawn.
---@type table<integer, claude-ide.comments.How?>
local drawn = {}

---Threads that are shown whole. A resolved one is shown if it was unfolded as such.
---@type table<string, true|"resolved"|nil>
local unfolded = {}

---@param thread? claude-ide.comments.Thread
---@return true|"resolved"
local function unfolded_as(thread)
  return thread and thread.state == "resolved" and "resolved" or true
end

---Pauses before buffers are drawn again.
---@type table<integer, claude-ide.Timer?>
local pauses = {}

---@param entry claude-ide.comments.Entry
---@return string name
---@return string group
local function author(entry)
  if entry.by == "claude" then
    return "Claude", "ClaudeCommentClaude"
  end
  return "you", "ClaudeCommentUser"
end

---@type table<claude-ide.comments.State, string?>
local STATES = { draft = "not sent", sent = "no answer yet", done = "says it is done", resolved = "resolved" }

---What is special about a thread.
---@param root string
---@param thread claude-ide.comments.Thread
---@param kind "same"|"changed"|"outdated"
---@return string
local function note(root, thread, kind)
  local notes = {} ---@type string[]
  if thread.path and not thread.anchor then
    notes[1] = "on the file"
  end
  if thread.step then
    local tour = store.tour(root)
    notes[#notes + 1] = ("step %d of %d"):format(thread.step, tour[#tour].step)
  end
  notes[#notes + 1] = STATES[thread.state]
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
local function in_a_line(words)
  return ide_width.printable((vim.trim(words):gsub("%s+", " ")))
end

---What was said last, in a line.
---@param thread claude-ide.comments.Thread
---@return string
function M.last_words(thread)
  local last = thread.entries[#thread.entries]
  return (last.by == "claude" and "Claude: " or "") .. in_a_line(last.words)
end

---All that was said in a thread, as text.
---@param root string
---@param thread claude-ide.comments.Thread
---@return string
function M.text(root, thread)
  local notes = note(root, thread, "same")
  local said = notes ~= "" and { notes } or {} ---@type string[]
  for _, entry in ipairs(thread.entries) do
    local words = vim.tbl_map(ide_width.printable, vim.split(vim.trim(entry.words), "\n", { plain = true }))
    said[#said + 1] = ("%s: %s"):format((author(entry)), table.concat(words, "\n"))
  end
  return table.concat(said, "\n\n")
end

---A thread in one line: its first words, and the last answer.
---@param root string
---@param thread claude-ide.comments.Thread
---@param kind "same"|"changed"|"outdated"
---@param cells integer
---@return { [1]: string, [2]: string }[] chunks
local function brief(root, thread, kind, cells)
  local first, last = thread.entries[1], thread.entries[#thread.entries]
  local notes = note(root, thread, kind)
  local rest = notes ~= "" and (" (%s)"):format(notes) or ""
  local more = #thread.entries > 2 and (" (%d)"):format(#thread.entries) or ""
  local left = cells - 1 - ide_width.of(rest) - #more
  local said = {} ---@type { label: string, group: string, words: string, cells: integer }[]
  for at, entry in ipairs(last ~= first and { first, last } or { first }) do
    local who, group = author(entry)
    local label, words = (at > 1 and " · " or "") .. who .. ": ", in_a_line(entry.words)
    said[at] = { label = label, group = group, words = words, cells = ide_width.of(words) }
    left = left - ide_width.of(label)
  end
  local chunks = { { "▎", "ClaudeCommentSign" } }
  for at, one in ipairs(said) do
    local other = said[3 - at] -- what is short leaves its room to the other
    local room = other and math.max(math.floor(left / 2), left - other.cells) or left
    chunks[#chunks + 1] = { one.label, one.group }
    chunks[#chunks + 1] = { ide_width.cut(one.words, math.max(room, 10)), "ClaudeComment" }
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
---@param root string
---@param thread claude-ide.comments.Thread
---@param kind "same"|"changed"|"outdated"
---@param cells integer
---@return { [1]: string, [2]: string }[][] lines
local function whole(root, thread, kind, cells)
  local lines = {} ---@type { [1]: string, [2]: string }[][]
  local function add(...)
    if #lines < MOST_LINES then
      lines[#lines + 1] = { { "▎", "ClaudeCommentSign" }, ... }
    end
  end
  local notes = note(root, thread, kind)
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
---@return claude-ide.comments.How
local function how_to_draw(buf)
  return { is_level = is_level(buf), cells = cells_of(buf) }
end

---@param buf integer
---@param shown claude-ide.comments.Shown
---@param placed claude-ide.comments.Placed
---@param how claude-ide.comments.How
---@param thread? claude-ide.comments.Thread
---@param below table<integer, { [1]: string, [2]: string }[][]> lines to draw below each row
---@return claude-ide.comments.Mark?
local function put(buf, shown, placed, how, thread, below)
  local name = thread and store.name(shown.root, thread.id) or ""
  if not thread or thread.state == "resolved" and unfolded[name] ~= "resolved" then
    return nil
  end
  unfolded[name] = unfolded[name] and unfolded_as(thread)
  local last_row = vim.api.nvim_buf_line_count(buf) - 1
  local row = math.min(placed.first, last_row)
  -- The last line has the words, the first one the extmark that is followed.
  local bottom = math.min(placed.first + math.max(placed.count, 1) - 1, last_row)
  local is_whole = unfolded[name] ~= nil
  local words = not is_whole and brief(shown.root, thread, placed.kind, how.cells)
  if words and how.is_level then
    local at_end = { virt_text = words, virt_text_pos = "eol", priority = PRIORITY }
    vim.api.nvim_buf_set_extmark(buf, namespace, bottom, 0, at_end)
  else
    local lines = words and { words } or whole(shown.root, thread, placed.kind, how.cells)
    below[bottom] = vim.list_extend(below[bottom] or {}, lines)
  end
  local extmark = vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, {
    sign_text = "▎",
    sign_hl_group = "ClaudeCommentSign",
    priority = PRIORITY,
  })
  return { id = thread.id, extmark = extmark, kind = placed.kind, count = placed.count }
end

---@param buf integer
---@param id integer
---@param first integer row
---@param end_row integer
local function follow(buf, id, first, end_row)
  local range = { id = id, end_row = end_row, end_col = 0, invalidate = true }
  vim.api.nvim_buf_set_extmark(buf, following, first, 0, range)
end

---Lines were replaced at once, as formatters do: those of a thread are among the new ones, if anywhere. Extmarks take them for deleted.
---@param buf integer
---@param text claude-ide.comments.Text
---@param first integer row
---@param last integer end of the former lines
---@param new_last integer end of the lines in their place
local function follow_replaced(buf, text, first, last, new_last)
  local is_replaced = first < last and first < new_last
  local from, to, opts = { first, 0 }, { new_last, 0 }, { details = true }
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, following, from, to, opts)) do
    local id, details = mark[1], mark[4] or {}
    if is_replaced and id ~= WHOLE and details.invalid and not text.deleted[id] then
      follow(buf, id, first, new_last)
      text.wide[id] = true
    else
      text.deleted[id] = details.invalid and true or nil
    end
  end
  for _, rows in ipairs(text.replaced) do
    rows.first = rows.first + (last <= rows.first and new_last - last or 0)
  end
  if is_replaced then
    table.insert(text.replaced, { first = first, count = new_last - first })
    if #text.replaced > MOST_REPLACED then
      table.remove(text.replaced, 1)
    end
  end
end

---@param buf integer
---@return claude-ide.comments.Text
local function text_of(buf)
  local text = texts[buf]
  if not text then
    text = { is_fresh = true, deleted = {}, wide = {}, replaced = {} }
    texts[buf] = text
    vim.api.nvim_buf_attach(buf, false, {
      on_lines = safely.wrap("follow the lines of comments", function(_, _, _, first, last, new_last)
        follow_replaced(buf, text, first, last, new_last)
      end),
      on_reload = function()
        text.is_fresh = true
      end,
      on_detach = function()
        texts[buf] = nil
      end,
    })
  end
  return text
end

---@param replaced claude-ide.comments.Rows[]
---@param row integer
---@return claude-ide.comments.Rows?
local function rows_at(replaced, row)
  return vim.iter(replaced):find(function(rows)
    return rows.first <= row and row <= rows.first + rows.count
  end)
end

---Where the lines of threads are, or that they were deleted. Nothing is known of a text that was read again or replaced.
---@param buf integer
---@return claude-ide.comments.Known[]
local function known(buf)
  local found = {} ---@type claude-ide.comments.Known[]
  local text = text_of(buf)
  local is_replaced = text.is_fresh
  local replaced = text.replaced
  text.is_fresh, text.replaced = nil, {}
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, following, 0, -1, { details = true })) do
    local id, row, details = mark[1], mark[2], mark[4] or {}
    local count = details.invalid and 0 or (details.end_row or row) - row --[[@as integer]]
    local is_undone = details.invalid and id ~= WHOLE and not text.deleted[id]
    local rows = is_undone and rows_at(replaced, row)
    text.deleted[id] = details.invalid and not rows or nil
    if rows then
      text.wide[id] = true
      found[#found + 1] = { id = id, first = rows.first, count = rows.count }
    elseif id == WHOLE then
      is_replaced = is_replaced or count == 0
    elseif count >= 0 then
      found[#found + 1] = { id = id, first = row, count = count }
    else
      vim.api.nvim_buf_del_extmark(buf, following, id) -- `:move` may turn it around
    end
  end
  if is_replaced then
    text.deleted, text.wide = {}, {}
    vim.api.nvim_buf_clear_namespace(buf, following, 0, -1)
    return {}
  end
  return found
end

---Follows the lines of threads that are found.
---@param buf integer
---@param places claude-ide.comments.Placed[]
---@param known_before claude-ide.comments.Known[]
local function follow_found(buf, places, known_before)
  local count_of = {} ---@type table<integer, integer?>
  for _, one in ipairs(known_before) do
    count_of[one.id] = one.count
  end
  local end_row, wide = vim.api.nvim_buf_line_count(buf), text_of(buf).wide
  for _, placed in ipairs(places) do
    local count = count_of[placed.id]
    local is_found = placed.kind == "same" and placed.count > 0 and count ~= placed.count
      or placed.kind == "changed" and (count == nil or wide[placed.id])
    if is_found and placed.first + placed.count <= end_row then
      follow(buf, placed.id, placed.first, placed.first + placed.count)
      wide[placed.id] = nil
    end
  end
  follow(buf, WHOLE, 0, end_row)
end

---Draws the threads of a buffer.
---@param buf integer
function M.draw(buf)
  if not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  local shown = target.shown_in(buf)
  local threads = shown and store.of_text(shown) or {}
  local is_renamed = shown
    and not threads[1]
    and shown.is_file
    and not vim.bo[buf].modified
    and store.missing(shown.root)[1] -- then the library looks whether this is it
  if not shown or not threads[1] and not is_renamed then
    if marks[buf] then
      marks[buf] = nil
      vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
      vim.api.nvim_buf_clear_namespace(buf, following, 0, -1)
    end
    return
  end
  local followed = known(buf)
  local passing = not shown.plan and (not shown.is_file or vim.bo[buf].modified)
  local places = store.place(shown, followed, passing, target.text(buf))
  follow_found(buf, places, followed)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  local how, found = how_to_draw(buf), {} ---@type claude-ide.comments.How, claude-ide.comments.Mark[]
  drawn[buf] = how
  local by_id = {} ---@type table<integer, claude-ide.comments.Thread>
  for _, thread in ipairs(store.of_text(shown)) do
    by_id[thread.id] = thread
  end
  local below = {} ---@type table<integer, { [1]: string, [2]: string }[][]>
  for _, placed in ipairs(places) do
    found[#found + 1] = put(buf, shown, placed, how, by_id[placed.id], below)
  end
  for row, lines in pairs(below) do -- one mark a row: Neovim draws the lines of several in an order of its own
    vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, { virt_lines = lines, priority = PRIORITY })
  end
  marks[buf] = (found[1] or threads[1]) and found or nil
end

---@param buf integer
local function draw_in_a_pause(buf)
  if not marks[buf] then
    return
  end
  local pause = pauses[buf] or timers.new("draw comments")
  pauses[buf] = pause
  pause:start(PAUSE_MS, function()
    pauses[buf] = nil
    M.draw(buf)
  end)
end

---Draws all that is on the screen.
function M.refresh()
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    M.draw(vim.api.nvim_win_get_buf(win))
  end
end

---The threads at a line.
---@param buf integer
---@param lnum integer from 1
---@return integer[] ids
function M.at(buf, lnum)
  local ids = {} ---@type integer[]
  for _, mark in ipairs(marks[buf] or {}) do
    local at = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, mark.extmark, {})
    local first = at[1]
    if first and lnum - 1 >= first and lnum - 1 < first + math.max(mark.count, 1) then
      ids[#ids + 1] = mark.id
    end
  end
  return ids
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

---Scrolls the current window until the threads at the cursor are visible below their lines, if they have room there.
function M.reveal()
  local buf, row = vim.api.nvim_get_current_buf(), vim.fn.line(".") - 1
  local bottom = row
  for _, mark in ipairs(marks[buf] or {}) do
    local first = vim.api.nvim_buf_get_extmark_by_id(buf, namespace, mark.extmark, {})[1]
    local count = math.max(mark.count, 1)
    if first and row >= first and row < first + count then
      bottom = math.max(bottom, first + count - 1)
    end
  end
  local below, at_bottom, opts = 0, { bottom, 0 }, { details = true }
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, namespace, at_bottom, at_bottom, opts)) do
    local details = mark[4] or {}
    below = below + #(details.virt_lines or {})
  end
  if below == 0 then
    return
  end
  local shown = vim.api.nvim_win_text_height(0, { start_row = vim.fn.line("w0") - 1, end_row = bottom }).all
  local hidden = shown + below - vim.fn.winheight(0)
  local scrolled = math.min(hidden, vim.fn.winline() - 1 - vim.wo.scrolloff)
  if scrolled > 0 then
    vim.cmd("normal! " .. scrolled .. vim.keycode("<C-e>"))
  end
end

---Shows a thread whole, also one that is resolved, and brings it into sight at the cursor.
---@param root string
---@param id integer
function M.unfold(root, id)
  unfolded[store.name(root, id)] = unfolded_as(store.thread(root, id))
  M.refresh()
  M.reveal()
end

---Shows threads whole, or in one line each if all of them are shown whole.
---@param root string
---@param threads claude-ide.comments.Thread[]
function M.toggle(root, threads)
  local are_whole = vim.iter(threads):all(function(thread)
    return unfolded[store.name(root, thread.id)] ~= nil
  end)
  for _, thread in ipairs(threads) do
    unfolded[store.name(root, thread.id)] = not are_whole and unfolded_as(thread) or nil
  end
  M.refresh()
  M.reveal()
end

---Threads in closed folds of the window that is drawn, by the row at which the fold begins.
---@type table<integer, integer?>
local folded = {}

---@param win integer
---@param buf integer
---@param top integer row
---@param bottom integer row
---@return table<integer, integer?>
local function count_folded(win, buf, top, bottom)
  local counts = {} ---@type table<integer, integer?>
  local signs = vim.api.nvim_buf_get_extmarks(buf, namespace, { top, 0 }, { bottom, -1 }, { type = "sign" })
  if signs[1] and vim.wo[win].foldenable then
    vim.api.nvim_win_call(win, function()
      for _, mark in ipairs(signs) do
        local first = vim.fn.foldclosed(mark[2] + 1) - 1 --[[@as integer]]
        counts[first] = (counts[first] or 0) + 1
      end
    end)
  end
  return counts
end

---Starts to show threads.
M.attach = require("claude-ide.base.once")(function()
  highlights.link(LINKS)
  bus.on("comments_changed", M.refresh)
  bus.on("comment_closed", M.reveal)
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
  on(
    { "BufReadPost", "FileChangedShellPost", "BufWinEnter", "BufWritePost", "WinResized" },
    "draw comments",
    M.draw
  )
  on({ "TextChanged", "InsertLeave" }, "follow the lines of comments", draw_in_a_pause)
  -- Diff mode, folds and columns beside the text come and go without events: the first sign brings one.
  local on_screen = {} ---@type table<integer, true?>
  redraw.on(namespace, "draw comments", {
    on_win = function(_, win, buf, top, bottom)
      on_screen[buf] = marks[buf] and true
      folded = marks[buf] and count_folded(win, buf, top, bottom) or {}
      return next(folded) ~= nil
    end,
    on_line = function(_, _, buf, row)
      if folded[row] then
        local words = ("▎%s "):format(counted(folded[row], "comment"))
        local hint =
          { virt_text = { { words, "ClaudeCommentSign" } }, virt_text_pos = "right_align", ephemeral = true }
        vim.api.nvim_buf_set_extmark(buf, namespace, row, 0, hint)
      end
    end,
    on_end = function()
      for buf in pairs(on_screen) do
        local how = how_to_draw(buf)
        if not vim.deep_equal(drawn[buf], how) then
          drawn[buf] = how
          vim.schedule(function()
            M.draw(buf)
          end)
        end
      end
      on_screen = {}
    end,
  })
  on("BufWipeout", "forget the comments of a buffer", function(buf)
    marks[buf], drawn[buf] = nil, nil
  end)
  M.refresh()
end)

return M
