-- The threads of comments, kept by the library (crates/comments): one file a worktree in the state folder, which all Neovims share.
-- Invariant: the library is loaded only where there are comments, or the user writes one.
local lazy = require("claude-ide.lazy")
local at_exit = lazy("claude-ide.base.at_exit")
local bus = lazy("claude-ide.base.bus")
local clock = lazy("claude-ide.base.clock")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local paths = lazy("claude-ide.base.path")

local M = {}

---@alias claude-ide.comments.Side "new"|"old" the file's text as it is, or before a change
---@alias claude-ide.comments.State "draft"|"sent"|"answered"|"done"|"resolved"

---@class claude-ide.comments.Entry
---@field by "user"|"claude"
---@field words string
---@field at integer milliseconds since the epoch
---@field sent? boolean the user's: Claude has got it
---@field done? boolean Claude's: says that it is done

---@class claude-ide.comments.Anchor
---@field first integer from 0
---@field lines string[] as they were
---@field now { kind: "same" }|{ kind: "changed", first: integer, count: integer }|{ kind: "outdated", first: integer, deleted?: boolean }

---@class claude-ide.comments.Thread
---@field id integer
---@field path? string relative to the worktree; nil: about a plan, or about everything
---@field plan? string about the plans of a session
---@field side claude-ide.comments.Side
---@field anchor? claude-ide.comments.Anchor nil: about the whole file
---@field proposed? boolean it is about a proposal's text, which the file has not had since
---@field session? string the one that had changed the file last when the comment was written
---@field step? integer its place in the tour
---@field entries claude-ide.comments.Entry[]
---@field draft? string the user's words that are not sent
---@field round? { at: integer, session?: string } when Claude got the last words
---@field since? "same"|"lines"|"file"|"gone" what became of the file on disk since then: these lines, or others, changed; only of `compared`
---@field state claude-ide.comments.State

---Lines that the editor has followed.
---@class claude-ide.comments.Known
---@field id integer
---@field first integer from 0
---@field count integer 0: they were deleted

---@class claude-ide.comments.Placed
---@field id integer
---@field first integer from 0
---@field count integer
---@field kind "same"|"changed"|"outdated"

---@class claude-ide.comments.Worktree
---@field folder string
---@field threads claude-ide.comments.Thread[]
---@field watcher? uv.uv_fs_event_t
---@field is_there? boolean the folder was seen
---@field problem? string why its threads cannot be read

---@type table<string, claude-ide.comments.Worktree> by its top folder
local worktrees = {}

local FILE = "threads.json"

M.UNREADABLE = "The comments cannot be read: `:checkhealth claude-ide` says why."

---The session that has changed a file last; set by who knows that (edits/journal).
---@type fun(path: string): string?
M.session_of = function() end

at_exit("the comments", function()
  for _, worktree in pairs(worktrees) do
    if worktree.watcher then
      worktree.watcher:close()
      worktree.watcher = nil
    end
  end
end)

---The worktree of a file, or its folder outside of one.
---@param path? string absolute; nil: Neovim's folder
---@return string
function M.root_of(path)
  local cwd = paths.cwd()
  local from = path or cwd
  local root = vim.fs.root(from, ".git") or (paths.within(from, cwd) and cwd) or vim.fs.dirname(from)
  return paths.normalize(root)
end

---@param root string
---@param worktree claude-ide.comments.Worktree
---@param request table
---@param text? string
---@return any? answer
---@return string? err
local function ask(root, worktree, request, text)
  local answer, err = native.comments(worktree.folder, root, vim.json.encode(request), text)
  if err then
    log.warn("comments: %s", err)
  end
  return answer, err
end

---@param root string
---@param worktree claude-ide.comments.Worktree
local function read(root, worktree)
  local threads, err = nil, nil ---@type claude-ide.comments.Thread[]?, string?
  if vim.uv.fs_stat(worktree.folder .. "/" .. FILE) then
    threads, err = ask(root, worktree, { list = vim.empty_dict() })
  end
  if err and err ~= worktree.problem then
    notice.warn(M.UNREADABLE)
  end
  worktree.threads, worktree.problem = threads or {}, err
end

---Follows what other Neovims change.
---@param root string
---@param worktree claude-ide.comments.Worktree
local function watch(root, worktree)
  if worktree.watcher or not vim.uv.fs_stat(worktree.folder) then
    return
  end
  worktree.is_there = true
  local watcher = assert(vim.uv.new_fs_event())
  local changed = vim.schedule_wrap(function()
    if worktree.watcher then
      local before = worktree.threads
      read(root, worktree)
      if not vim.deep_equal(worktree.threads, before) then
        bus.emit("comments_changed", root)
      end
    end
  end)
  local ok = watcher:start(worktree.folder, {}, function(_, name)
    if name == FILE then
      changed()
    end
  end)
  if ok then
    worktree.watcher = watcher
  else
    watcher:close() -- too many watches: others' comments are seen with the next change here
  end
end

---@param root string
---@return claude-ide.comments.Worktree
local function of(root)
  local worktree = worktrees[root]
  if not worktree then
    local name = native.digest(root)
    if not name then
      return { folder = "", threads = {} } -- without the library; its own error says so
    end
    worktree =
      { folder = vim.fn.stdpath("state") .. "/claude-ide/comments/" .. name:sub(1, 16), threads = {} }
    worktrees[root] = worktree
    read(root, worktree)
    watch(root, worktree)
  elseif not worktree.is_there and vim.uv.fs_stat(worktree.folder) then
    watch(root, worktree) -- another Neovim has written the first comment
    read(root, worktree)
  end
  return worktree
end

---The threads of a worktree, oldest first.
---@param root string
---@return claude-ide.comments.Thread[]
function M.threads(root)
  return of(root).threads
end

---Why the threads of a worktree cannot be read.
---@param root string
---@return string?
function M.problem(root)
  return of(root).problem
end

---The threads, with what became of their files since Claude got the last words.
---@param root string
---@return claude-ide.comments.Thread[]
function M.compared(root)
  return ask(root, of(root), { list = { since = true } }) or {}
end

---@param root string
---@param id integer
---@return claude-ide.comments.Thread?
function M.thread(root, id)
  return vim.iter(M.threads(root)):find(function(thread)
    return thread.id == id
  end)
end

---The steps of Claude's tour.
---@param root string
---@return claude-ide.comments.Thread[] steps in order
function M.tour(root)
  local steps = vim.tbl_filter(function(thread)
    return thread.step ~= nil and thread.state ~= "resolved"
  end, M.threads(root))
  table.sort(steps, function(a, b)
    return a.step == b.step and a.id < b.id or a.step < b.step
  end)
  return steps
end

---Whether Claude alone has said something.
---@param thread claude-ide.comments.Thread
---@return boolean
function M.is_remark(thread)
  return vim.iter(thread.entries):all(function(entry)
    return entry.by == "claude"
  end)
end

---Files with threads that are not there any more. They may have got other names.
---@param root string
---@return string[] paths relative to it
---@return integer since when the first of their comments was written: milliseconds since the epoch
function M.missing(root)
  local seen, missing, since = {}, {}, clock.now() ---@type table<string, true>, string[], integer
  for _, thread in ipairs(M.threads(root)) do
    local path = thread.path
    if path and not seen[path] then
      seen[path] = true
      missing[#missing + 1] = vim.uv.fs_stat(root .. "/" .. path) == nil and path or nil
    end
    if path and missing[#missing] == path then
      since = math.min(since, thread.entries[1].at)
    end
  end
  return missing, since
end

---The threads of a text.
---@param shown claude-ide.comments.Shown
---@return claude-ide.comments.Thread[]
function M.of_text(shown)
  return vim.tbl_filter(function(thread)
    return thread.path == shown.path and thread.plan == shown.plan and thread.side == shown.side
  end, M.threads(shown.root))
end

---The worktrees of this Neovim, and that of its folder.
---@return string[]
function M.roots()
  of(M.root_of())
  return vim.tbl_keys(worktrees)
end

---The threads of all of them.
---@param visit fun(thread: claude-ide.comments.Thread, root: string)
function M.each(visit)
  for _, root in ipairs(M.roots()) do
    for _, thread in ipairs(M.threads(root)) do
      visit(thread, root)
    end
  end
end

---@param root string
---@param worktree claude-ide.comments.Worktree
local function have_changed(root, worktree)
  read(root, worktree)
  watch(root, worktree)
  bus.emit("comments_changed", root)
end

---Carries out a request that changes threads (crates/comments/src/request.rs).
---@param root string
---@param request table
---@param text? string of the file, in its buffer
---@return any? answer
---@return string? err for the user
function M.change(root, request, text)
  local worktree = of(root)
  local answer, err = ask(root, worktree, request, text)
  if err then
    return nil, err
  end
  have_changed(root, worktree)
  return answer
end

---@alias claude-ide.comments.To { root: string, path?: string, plan?: string, side?: claude-ide.comments.Side, first?: integer, count?: integer, text?: string, is_proposed?: boolean } lines, a file, a plan, or everything

---@param to claude-ide.comments.To
---@param by "user"|"claude"
---@param words string
---@param step? integer of a tour
---@param lines? { first: integer, count: integer } others than those of `to`
---@return table request
local function addition(to, by, words, step, lines)
  return {
    by = by,
    words = words,
    path = to.path,
    plan = to.plan,
    side = to.side,
    lines = lines or to.first and { first = to.first, count = to.count },
    proposed = to.is_proposed,
    session = to.path and M.session_of(to.root .. "/" .. to.path),
    step = step,
  }
end

---Adds a comment.
---@param to claude-ide.comments.To
---@param by "user"|"claude"
---@param words string
---@param step? integer of a tour
---@return integer? id
---@return string? err for the user
function M.add(to, by, words, step)
  return M.change(to.root, { add = addition(to, by, words, step) }, to.text)
end

---@class claude-ide.comments.Remark the user's words on lines
---@field first integer from 0
---@field count integer
---@field words string

---Adds the user's comments on texts, and shows them together.
---@param texts { to: claude-ide.comments.Target, remarks: claude-ide.comments.Remark[] }[]
---@return integer added
---@return string? err for the user
function M.add_all(texts)
  local added, problem = 0, nil ---@type integer, string?
  local changed = {} ---@type table<string, true?>
  for _, one in ipairs(texts) do
    local adds = vim.tbl_map(function(remark)
      local lines = { first = remark.first, count = remark.count }
      return addition(one.to, "user", remark.words, nil, lines)
    end, one.remarks)
    local root = one.to.root
    local ids, err = ask(root, of(root), { add_all = adds }, one.to.text)
    problem = problem or err
    for _, id in ipairs(ids or {}) do
      added = added + (id ~= vim.NIL and 1 or 0)
    end
    changed[root] = changed[root] or ids ~= nil or nil
  end
  for root in pairs(changed) do
    have_changed(root, of(root))
  end
  return added, problem
end

---The name of a thread among those of all worktrees.
---@param root string
---@param id integer
---@return string
function M.name(root, id)
  return root .. "\n" .. id
end

---Where the threads of a text are now.
---@param shown claude-ide.comments.Shown
---@param known claude-ide.comments.Known[]
---@param passing boolean only look
---@param text string
---@return claude-ide.comments.Placed[]
function M.place(shown, known, passing, text)
  local worktree = of(shown.root)
  local place = { path = shown.path, plan = shown.plan, side = shown.side, known = known, passing = passing }
  local places = ask(shown.root, worktree, { place = place }, text) or {}
  if not passing then
    read(shown.root, worktree)
  end
  return places
end

---Gives a file the threads of the one that it was before it was renamed, if there is one.
---@param root string
---@param path string relative to it
---@param text string of the file
function M.claim(root, path, text)
  local shown = { root = root, path = path, side = "new", is_file = true } ---@type claude-ide.comments.Shown
  if not M.of_text(shown)[1] then
    M.place(shown, {}, false, text)
    if M.of_text(shown)[1] then
      bus.emit("comments_changed", root)
    end
  end
end

---The threads of sessions, for the web page: `shown` in crates/comments/src/page.rs.
---@param root string
---@param sessions table<string, integer[]> ids of threads
---@param withheld string[] files of which nothing is quoted
---@return table<string, table[]> by session
function M.for_page(root, sessions, withheld)
  return ask(root, of(root), { page = { sessions = sessions, withheld = withheld } }) or {}
end

---A text about threads: the message of a round, or what a model asks for.
---@param root string
---@param request table
---@return string? text
---@return string? err
function M.text(root, request)
  return ask(root, of(root), request)
end

return M
