-- Comments on lines of files, and what Claude answers: threads, which the user writes beside the code, sends in one round, and resolves.
-- Who sends them: outbox/comments.lua. What Claude calls: tools/comments.lua.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local bus = lazy("claude-ide.base.bus")
local choose = lazy("claude-ide.ui.choose")
local file = lazy("claude-ide.base.file")
local file_window = lazy("claude-ide.ui.file_window")
local key_list = lazy("claude-ide.ui.key_list")
local marks = lazy("claude-ide.comments.marks")
local notice = lazy("claude-ide.base.notice")
local privacy = lazy("claude-ide.server.privacy")
local renames = lazy("claude-ide.comments.renames")
local store = lazy("claude-ide.comments.store")
local target = lazy("claude-ide.comments.target")
local text_float = lazy("claude-ide.ui.text_float")
local two_texts = lazy("claude-ide.ui.diffview.two_texts")
local window = lazy("claude-ide.base.window")
local writer = lazy("claude-ide.comments.writer")

local M = {}

---For 'operatorfunc'.
local OPERATOR = "v:lua.require'claude-ide.comments'.operate"

local SAYS = { before = "when Claude got your comment", after = "now", back = "the file" }

---@param lnum? integer default: that of the cursor
---@param on_lines? true not those on the whole file, which stand at its first line
---@return string? root
---@return claude-ide.comments.Thread[] threads at the line
local function threads_at(lnum, on_lines)
  local buf = vim.api.nvim_get_current_buf()
  local shown = target.shown_in(buf)
  local threads = {} ---@type claude-ide.comments.Thread[]
  for _, id in ipairs(shown and marks.at(buf, lnum or vim.fn.line(".")) or {}) do
    local thread = shown and store.thread(shown.root, id)
    threads[#threads + 1] = thread and (thread.anchor or not on_lines) and thread or nil
  end
  return shown and shown.root, threads
end

---Runs something with a thread, of several with the one that the user chooses.
---@param root? string
---@param threads claude-ide.comments.Thread[]
---@param prompt string
---@param run fun(root: string, thread: claude-ide.comments.Thread): boolean?, string?
---@return boolean? ok
---@return string? err
local function with_one(root, threads, prompt, run)
  if not root or not threads[1] then
    return nil, "There is no comment here."
  elseif not threads[2] then
    return run(root, threads[1])
  end
  choose.select(threads, { prompt = prompt, format_item = marks.last_words }, function(thread)
    if thread then
      local ok, err = run(root, thread)
      if not ok and err then
        notice.warn(err)
      end
    end
  end)
  return true
end

---The worktree of the file here, or of Neovim's folder.
---@return string root
function M.root()
  local shown = target.shown_in(vim.api.nvim_get_current_buf())
  return shown and shown.root or store.root_of()
end

---The step of the tour that `]t` went to last, by worktree: several may be on one line.
---@type table<string, integer?>
local last_step = {}

---The line of a thread in its file.
---@param thread claude-ide.comments.Thread
---@return integer from 1
function M.lnum(thread)
  local anchor = thread.anchor
  return anchor and (anchor.now.first or anchor.first) + 1 or 1
end

---@param lnum integer
---@param root string
---@param thread claude-ide.comments.Thread
local function continue(lnum, root, thread)
  local words = thread.draft or ""
  local is_reply = #thread.entries > 1 or words == ""
  writer.open({
    root = root,
    operator = OPERATOR,
    id = thread.id,
    words = words,
    begin = function(text)
      local ok, err = store.change(root, { write = { id = thread.id, words = text, over = "" } })
      return ok and thread.id or nil, err
    end,
  }, lnum, is_reply and "Reply" or "Comment")
end

---Opens a window for a comment on lines of the current buffer, or for the one that they have.
---@param first integer from 1
---@param last integer
---@return boolean? ok
---@return string? err
function M.write(first, last)
  M.attach()
  local buf = vim.api.nvim_get_current_buf()
  local root, threads = threads_at(first, true)
  if first == last and threads[1] then
    return with_one(root, threads, "Continue a comment", function(in_root, thread)
      continue(last, in_root, thread)
      return true
    end)
  end
  local of = target.of(buf, first, last)
  if not of then
    return nil, "There are no lines of a file here."
  elseif of.path and privacy.withholds(of.root .. "/" .. of.path) then
    notice.info("This file is withheld from Claude: a comment names it, and quotes nothing.")
  end
  writer.open({
    root = of.root,
    operator = OPERATOR,
    words = "",
    begin = function(words)
      return store.add(of, "user", words)
    end,
    count = of.count,
  }, last, "Comment")
  return true
end

---Opens a window for a comment on the whole file, or on everything, or for the one that is there.
---@param what "file"|"all"
---@return boolean? ok
---@return string? err
function M.write_about(what)
  M.attach()
  local shown = target.shown_in(vim.api.nvim_get_current_buf())
  local path = what == "file" and shown and shown.path or nil
  if what == "file" and not path then
    return nil, "There is no file here."
  end
  local root = M.root()
  local lnum = vim.fn.line(".")
  for _, thread in ipairs(M.in_order(root)) do
    if not thread.anchor and not thread.plan and thread.path == path then
      continue(lnum, root, thread)
      return true
    end
  end
  writer.open({
    root = root,
    operator = OPERATOR,
    words = "",
    begin = function(words)
      return store.add({ root = root, path = path }, "user", words)
    end,
  }, lnum, path and "Comment on the file" or "Comment on everything")
  return true
end

---@class claude-ide.comments.Wanted
---@field path string absolute
---@field first integer from 1
---@field last integer
---@field words string

---The comments to be added to a file, except those that it has.
---@param path string absolute
---@param wanted claude-ide.comments.Wanted[]
---@return { to: claude-ide.comments.Target, remarks: claude-ide.comments.Remark[] }?
---@return integer failed
local function remarks_on(path, wanted)
  local to = target.of_file(path)
  if not to then
    return nil, #wanted
  end
  local known = {} ---@type table<string, true?>
  for _, thread in ipairs(store.of_text(to)) do
    known[M.lnum(thread) .. "\n" .. thread.entries[1].words] = true
  end
  local remarks, failed = {}, 0 ---@type claude-ide.comments.Remark[], integer
  for _, one in ipairs(wanted) do
    local name = one.first .. "\n" .. one.words
    if one.first > to.count then
      failed = failed + 1
    elseif not known[name] then
      known[name] = true
      local lines = math.min(one.last, to.count) - one.first + 1
      remarks[#remarks + 1] = { first = one.first - 1, count = lines, words = one.words }
    end
  end
  return remarks[1] and { to = to, remarks = remarks }, failed
end

---Adds comments on lines of files, unless they have them.
---@param wanted claude-ide.comments.Wanted[]
---@return integer added
---@return integer failed
---@return string? err
function M.add_all(wanted)
  M.attach()
  local of_file, order = {}, {} ---@type table<string, claude-ide.comments.Wanted[]>, string[]
  for _, one in ipairs(wanted) do
    if not of_file[one.path] then
      of_file[one.path] = {}
      order[#order + 1] = one.path
    end
    table.insert(of_file[one.path], one)
  end
  local texts, to_add, failed = {}, 0, 0
  for _, path in ipairs(order) do
    local text, without = remarks_on(path, of_file[path])
    texts[#texts + 1] = text
    to_add, failed = to_add + (text and #text.remarks or 0), failed + without
  end
  local added, err = store.add_all(texts)
  return added, failed + to_add - added, err
end

---'operatorfunc'.
function M.operate()
  local first, last = vim.api.nvim_buf_get_mark(0, "[")[1], vim.api.nvim_buf_get_mark(0, "]")[1]
  local ok, err = M.write(first, last)
  if not ok then
    notice.warn(err or "")
  end
end

---For an <expr> mapping.
---@return string keys
function M.operator()
  vim.o.operatorfunc = OPERATOR
  return "g@"
end

---Resolves the thread at the cursor, or opens it again.
---@return boolean? ok
---@return string? err
function M.resolve()
  local here, threads = threads_at()
  return with_one(here, threads, "Resolve a comment", function(root, thread)
    if thread.state == "draft" then
      return nil, "This comment is not sent. Without words, it is removed."
    end
    return store.change(root, { resolve = { id = thread.id, resolved = thread.state ~= "resolved" } })
  end)
end

---Shows the threads at the cursor whole, or in one line each.
---@return boolean? ok
---@return string? err
function M.toggle()
  local root, threads = threads_at()
  if not root or not threads[1] then
    return nil, "There is no comment here."
  end
  marks.toggle(root, threads)
  return true
end

---In a buffer of texts as they were: keys that comment elsewhere say where.
---@param buf integer
local function map_hint(buf)
  for _, option in ipairs(key_list.options("comments")) do
    if option.name == "comment" or option.name == "line" then
      key_list.map(buf, option, function()
        notice.info("Comment in the file itself: `q` leads there.")
      end)
    end
  end
end

---Shows what changed in the file here since Claude got the comment at the cursor, else the last one on the file.
---@return boolean? ok
---@return string? err
function M.show_since()
  local shown = target.shown_in(vim.api.nvim_get_current_buf())
  local root, threads = threads_at()
  local thread = vim.iter(threads):find(function(one)
    return one.round ~= nil
  end) --[[@as claude-ide.comments.Thread?]]
  if not root or not shown or not shown.path then
    return nil, "There is no file here."
  elseif not thread then
    for _, one in ipairs(store.threads(root)) do
      if one.path == shown.path and one.round and not (thread and thread.round.at > one.round.at) then
        thread = one
      end
    end
  end
  if not thread then
    return nil, "Claude has no comment on this file: send one first."
  end
  local before = store.text(root, { before = { id = thread.id } })
  if not before then
    return nil, "The text of this file is not known from when Claude got the comment."
  end
  local path = root .. "/" .. shown.path
  local buf = buffer.loaded(path)
  local bytes = not buf and file.read_now(path, target.MAX_BYTES)
  local now = buf and target.text(buf) or bytes and buffer_bytes.text(bytes) or nil
  if now == before then
    return nil, "Nothing has changed in this file since Claude got the comment."
  end
  two_texts.show({ path = path, before = before, after = now, says = SAYS, map = map_hint })
  return true
end

---Titles of threads that no file shows.
local ON = { plan = "Comment on the plan", all = "Comment on everything · `:Claude comment all` replies" }

---Goes to a thread, in its file. One of no file is opened, and so is one without lines that the user has not sent.
---@param root string
---@param thread claude-ide.comments.Thread
---@return boolean? ok
---@return string? err
function M.go_to(root, thread)
  local path = thread.path and root .. "/" .. thread.path
  local plan = thread.plan and target.plan_buffer(thread.plan)
  local win = plan and vim.fn.win_findbuf(plan)[1]
  if plan and win then
    window.enter(win)
    vim.api.nvim_win_set_cursor(win, { math.min(M.lnum(thread), vim.api.nvim_buf_line_count(plan)), 0 })
    return true
  elseif not path and thread.draft then
    continue(vim.fn.line("."), root, thread)
    return true
  elseif not path then
    text_float.show(marks.text(root, thread), ON[thread.plan and "plan" or "all"], "text")
    return true
  elseif not (vim.uv.fs_stat(path) or buffer.loaded(path)) then
    return nil, ("There is no %s any more."):format(thread.path)
  end
  M.attach()
  local buf = buffer.find(path) or buffer.add(path)
  vim.bo[buf].buflisted = true
  vim.cmd("normal! m'")
  if not file_window.show(buf) then
    return nil, "There is no window to show it in."
  end
  marks.draw(buf)
  thread = store.thread(root, thread.id) or thread
  vim.api.nvim_win_set_cursor(0, { math.min(M.lnum(thread), vim.api.nvim_buf_line_count(buf)), 0 })
  vim.cmd("normal! zv")
  marks.reveal()
  if not thread.anchor and thread.draft then
    continue(1, root, thread)
  elseif not thread.anchor then
    marks.unfold(root, thread.id)
  end
  return true
end

---The open threads of the project by file and line; those of the text before a change are with the file.
---@param root string
---@param all? claude-ide.comments.Thread[] default: those of the project
---@return claude-ide.comments.Thread[]
function M.in_order(root, all)
  local threads = vim.tbl_filter(function(thread)
    return thread.state ~= "resolved"
  end, all or store.threads(root))
  table.sort(threads, function(a, b)
    local one, other = a.path or "", b.path or ""
    if one ~= other then
      return one < other
    elseif M.lnum(a) ~= M.lnum(b) then
      return M.lnum(a) < M.lnum(b)
    end
    return a.id < b.id
  end)
  return threads
end

---Files with comments that are withheld from Claude: they are named, and nothing of them is quoted.
---@param root string
---@return string[] paths relative to it
function M.withheld(root)
  local seen, withheld = {}, {} ---@type table<string, true?>, string[]
  for _, thread in ipairs(store.threads(root)) do
    local path = thread.path
    if path and not seen[path] and privacy.withholds(root .. "/" .. path) then
      withheld[#withheld + 1] = path
    end
    seen[path or ""] = true
  end
  return withheld
end

---Goes to the first of these threads that can be shown. Says what is missing before it.
---@param root string
---@param threads claude-ide.comments.Thread[]
---@param none string there is none
---@return boolean? ok
---@return string? err
local function go_to_first(root, threads, none)
  local missing ---@type string?
  for _, thread in ipairs(threads) do
    local ok, err = M.go_to(root, thread)
    if ok then
      if thread.step then
        last_step[root] = thread.id
        marks.unfold(root, thread.id)
      end
      if missing then
        notice.info(missing)
      end
      return true
    end
    missing = missing or err
  end
  return nil, missing or none
end

---@param threads claude-ide.comments.Thread[]
---@param first integer
---@param step 1|-1
---@return claude-ide.comments.Thread[]
local function from(threads, first, step)
  local found = {} ---@type claude-ide.comments.Thread[]
  for at = first, step > 0 and #threads or 1, step do
    found[#found + 1] = threads[at]
  end
  return found
end

---Goes to the first step of Claude's tour.
---@return boolean? ok
---@return string? err
function M.begin_tour()
  local root = M.root()
  return go_to_first(
    root,
    store.tour(root),
    "There is no tour: ask Claude for one, see `:help claude-ide-tour`."
  )
end

---@param root string
---@param tour claude-ide.comments.Thread[]
---@return integer? index of the step at the cursor
local function step_here(root, tour)
  local _, threads = threads_at()
  local here, found = {}, nil ---@type table<integer, true?>, integer?
  for _, thread in ipairs(threads) do
    here[thread.id] = true
  end
  for index, step in ipairs(tour) do
    if here[step.id] and (not found or step.id == last_step[root]) then
      found = index
    end
  end
  return found
end

---@param step 1|-1
---@return boolean? ok
---@return string? err
local function go_on(step)
  local buf, lnum = vim.api.nvim_get_current_buf(), vim.fn.line(".")
  local shown = target.shown_in(buf)
  local root = M.root()
  local tour = store.tour(root)
  local at_step = tour[1] and step_here(root, tour)
  if at_step then
    local none = step > 0 and "The tour ends here." or "The tour begins here."
    return go_to_first(root, from(tour, at_step + step, step), none)
  end
  local lines = marks.lines(buf)
  for at = step > 0 and 1 or #lines, step > 0 and #lines or 1, step do
    if (lines[at] - lnum) * step > 0 then
      vim.cmd("normal! m'")
      vim.api.nvim_win_set_cursor(0, { lines[at], 0 })
      vim.cmd("normal! zv")
      marks.reveal()
      return true
    end
  end
  local here, threads = shown and shown.path or "", M.in_order(root)
  local others = vim.tbl_filter(function(thread)
    return thread.path ~= nil and thread.path ~= here and (thread.path > here) == (step > 0)
  end, from(threads, step > 0 and 1 or #threads, step))
  return go_to_first(root, others, threads[1] and "No more comments." or "There are no comments.")
end

---Goes to the next or previous thread, as often as a count says: of this file, then of the project's other files. From a step of a tour
---to the next one.
---@param step 1|-1
---@return boolean? ok
---@return string? err
function M.jump(step)
  M.attach()
  local count = vim.v.count1
  for at = 1, count do
    local ok, err = go_on(step)
    if not ok then
      return at > 1 or nil, err
    end
  end
  return true
end

---Open comments by file.
---@return table<string, integer> counts by absolute path
function M.count_by_file()
  local counts = {} ---@type table<string, integer>
  store.each(function(thread, root)
    if thread.path and thread.state ~= "resolved" then
      local path = root .. "/" .. thread.path
      counts[path] = (counts[path] or 0) + 1
    end
  end)
  return counts
end

---Comments that wait to be sent.
---@return integer
function M.count_drafts()
  local count = 0
  store.each(function(thread)
    count = count + (thread.state == "draft" and 1 or 0)
  end)
  return count
end

---What the keys of `comments.keymaps` do, by option.
---@type table<string, fun(): boolean?, string?>
M.ACTIONS = {
  line = function()
    local first = vim.fn.line(".")
    local last = math.min(first + vim.v.count1 - 1, vim.api.nvim_buf_line_count(0))
    local fold, fold_end = vim.fn.foldclosed(first), vim.fn.foldclosedend(last)
    return M.write(fold > 0 and fold or first, math.max(fold_end, last))
  end,
  next = function()
    return M.jump(1)
  end,
  previous = function()
    return M.jump(-1)
  end,
  unfold = M.toggle,
  resolve = M.resolve,
  since = M.show_since,
  send = function()
    bus.emit("comments_to_send")
    return true
  end,
}

---Runs one of them, and says why it cannot.
---@param name string
function M.run(name)
  notice.unless_done(M.ACTIONS[name]())
end

---Follows the comments of the project.
function M.attach()
  marks.attach()
  renames.attach()
end

return M
