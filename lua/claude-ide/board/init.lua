-- `:Claude board`: all sessions of the project, or of the machine, in one buffer. The library decides which rows there are and writes
-- their text (`crates/session/src/board`); this module asks for them when something changed, and shows them.
-- Invariants: at most one request is pending; no timer runs while no window shows the board.
local timers = require("claude-ide.base.timer")
local lazy = require("claude-ide.lazy")
local asks = lazy("claude-ide.requests.asks")
local background = lazy("claude-ide.terminal.background")
local bridge = lazy("claude-ide.terminal.bridge")
local bus = lazy("claude-ide.base.bus")
local canvas = lazy("claude-ide.board.canvas")
local catalogue = lazy("claude-ide.sessions.catalogue")
local file_window = lazy("claude-ide.ui.file_window")
local guard = lazy("claude-ide.ui.guard")
local journal = lazy("claude-ide.edits.journal")
local keys = lazy("claude-ide.board.keys")
local outbox_comments = lazy("claude-ide.outbox.comments")
local own = lazy("claude-ide.terminal.own")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local safely = lazy("claude-ide.base.safely")
local sessions = lazy("claude-ide.sessions")
local transport = lazy("claude-ide.sessions.transport")
local waits = lazy("claude-ide.base.waits")
local winbar = lazy("claude-ide.board.winbar")
local window = lazy("claude-ide.base.window")
local window_options = lazy("claude-ide.ui.window_options")

local M = {}

---Least time between two requests.
local LEAST_MS = 200
---Transcripts grow without an event of their own while a session works; and ages change.
local WORKING_MS, RESTING_MS = 1000, 60 * 1000
---A record may be ahead of its transcript.
local BEHIND_MS = 5000
---Ended sessions with a row.
local MOST_ENDED = 200

local GROUP = "claude-ide.board"

---A session. See `Row` in crates/session/src/board.
---@class claude-ide.board.Row
---@field id string
---@field title string
---@field file? string
---@field pid? integer
---@field activity claude-ide.sessions.Activity
---@field worktree? string
---@field lines claude-ide.board.Line[]

---@class claude-ide.board.Line
---@field text string
---@field marks { [1]: integer, [2]: integer, [3]: string }[] first byte, end, highlight group

---@class claude-ide.board.Counts
---@field waiting integer
---@field working integer
---@field idle integer
---@field ended integer
---@field hidden integer

---@class claude-ide.board.Board an answer of the library
---@field rows claude-ide.board.Row[]
---@field counts claude-ide.board.Counts
---@field more boolean not everything is counted yet

---@class claude-ide.board.View
---@field buf integer
---@field all boolean of the machine, not of the project
---@field worktree? string only this one
---@field places? claude-ide.sessions.Scope[] where they are looked for
---@field hidden table<string, true> by session
---@field unhidden? table<string, true> those that were hidden until the last time
---@field rows claude-ide.board.Row[]
---@field counts? claude-ide.board.Counts nil: not known yet
---@field older integer ended sessions without a row
---@field problem? string
---@field canvas claude-ide.board.Canvas
---@field came_from table<integer, integer> previous buffers by window
---@field to_review fun(): table<string, string[]> files by session
---@field refresh fun(fresh?: boolean)
---@field close fun()

---@type claude-ide.board.View?
local view
local timer = timers.new("ask for the board")
local is_pending, is_wanted, is_fresh = false, false, true
local asked_at, changed_at = 0, 0

---@return integer[]
local function windows()
  return view and vim.fn.win_findbuf(view.buf) or {}
end

---The narrowest window's columns for text.
---@return integer
local function width()
  local least = vim.o.columns
  for _, win in ipairs(windows()) do
    least = math.min(least, vim.api.nvim_win_get_width(win) - vim.fn.getwininfo(win)[1].textoff)
  end
  return math.floor(math.max(least, 1))
end

---Files that were changed and are not reviewed, by session.
---@return table<string, string[]>
local function to_review()
  local by_client, files = journal.files_to_review(), {}
  for _, ours in ipairs(own.list()) do
    files[ours.session.id] = by_client[own.journal_client(ours)]
  end
  for _, live in ipairs(background.list()) do
    files[live.id] = files[live.id] or by_client[journal.of_session(live.id)]
  end
  return files
end

---What only this Neovim knows, by session: requests, files to review, queued prompts, comments, the cost and how full the context is.
---@return table<string, { asks?: string, review?: integer, queued?: integer, to_send?: integer, answered?: integer, cost?: number, context?: integer }>
local function known()
  local facts = {} ---@type table<string, { asks?: string, review?: integer, queued?: integer, to_send?: integer, answered?: integer, cost?: number, context?: integer }>
  local function add(session, name, value)
    if session and value then
      facts[session] = facts[session] or {}
      facts[session][name] = facts[session][name] or value
    end
  end
  local outbox = package.loaded["claude-ide.outbox"]
  for _, waiting in ipairs(asks.list()) do
    add(asks.session_of(waiting), "asks", asks.label(waiting))
  end
  for session, files in pairs(to_review()) do
    add(session, "review", #files)
  end
  for _, ours in ipairs(own.list()) do
    local usage = ours.terminal and bridge.usage(ours.session.pid) or {}
    add(ours.session.id, "cost", ours.other and ours.other.cost or usage.cost)
    add(ours.session.id, "context", usage.context)
  end
  for session, count in pairs(type(outbox) == "table" and outbox.counts() or {}) do
    add(session, "queued", count)
  end
  for session, count in pairs(outbox_comments.counts()) do
    add(session, "to_send", count.to_send)
    add(session, "answered", count.answered)
  end
  return facts
end

---@return table
local function request()
  local shown = view --[[@as claude-ide.board.View]]
  local files = {} ---@type string[]
  for _, row in ipairs(is_fresh and {} or shown.rows) do
    files[#files + 1] = row.file
  end
  if is_fresh or not shown.places then
    shown.places = catalogue.places({ all = shown.all })
  end
  local facts, hidden = known(), vim.tbl_keys(shown.hidden)
  return {
    board = {
      places = shown.places,
      files = files[1] and files,
      options = {
        screen = {
          width = width(),
          ambiguous_is_wide = vim.o.ambiwidth == "double",
          projects = shown.all,
        },
        known = next(facts) and facts or vim.empty_dict(),
        worktree = shown.worktree,
        hidden = hidden[1] and hidden,
        ended = MOST_ENDED,
      },
    },
  }
end

local ask ---@type fun()

---Asks after a while.
---@param milliseconds integer
local function ask_in(milliseconds)
  timer:start(milliseconds, ask)
end

---@param fresh boolean sessions were looked for, not only those known
---@param board? claude-ide.board.Board
---@param err? string
local function take(fresh, board, err)
  is_pending = false
  if not view or not vim.api.nvim_buf_is_valid(view.buf) then
    return
  end
  view.problem = err
  if board then
    view.older = fresh and math.max(board.counts.ended - MOST_ENDED, 0) or view.older
    board.counts.ended = math.min(board.counts.ended, MOST_ENDED) + view.older
    view.rows, view.counts = board.rows, board.counts
    local hidden = vim.tbl_extend("force", {}, view.hidden) -- the library was only asked of those in rows
    for _, row in ipairs(board.rows) do
      hidden[row.id] = nil -- one that waits is shown
    end
    board.counts.hidden = vim.tbl_count(hidden)
    view.canvas:show(board.rows, view.older)
  end
  winbar.refresh(view, windows())
  if is_wanted or (board and board.more) then
    ask_in(LEAST_MS)
  else
    local is_lively = board and board.counts.working > 0 or vim.uv.now() - changed_at < BEHIND_MS
    ask_in(is_lively and WORKING_MS or RESTING_MS)
  end
end

function ask()
  if #windows() == 0 then
    return timer:stop()
  elseif is_pending then
    is_wanted = true
    return
  end
  local left = asked_at + LEAST_MS - vim.uv.now()
  if left > 0 then
    return ask_in(left)
  end
  local asked, fresh = request(), is_fresh
  asked_at, is_pending, is_wanted, is_fresh = vim.uv.now(), true, false, false
  transport.request(asked, {
    reply = function(board, err)
      waits.when_buffers_may_change(function()
        take(fresh, board, err)
      end)
    end,
  })
end

---Something may have changed.
---@param fresh? boolean there may be other sessions
function M.refresh(fresh)
  is_fresh = is_fresh or fresh == true
  if view and #windows() > 0 then
    ask()
  end
end

---@param change claude-ide.sessions.LiveChange
local function session_changed(change)
  local session = change.session
  changed_at = vim.uv.now()
  local is_known = view
    and vim.iter(view.rows):any(function(row)
      return row.id == session.id and row.file ~= nil
    end)
  M.refresh(not is_known or session.state.activity == "gone" or change.previous ~= nil)
end

local follow = require("claude-ide.base.once")(function()
  bus.on("session_changed", session_changed)
  bus.on("outbox_changed", function()
    M.refresh()
  end)
  bus.on("comments_changed", function()
    M.refresh()
  end)
  bus.on("session_renamed", function()
    M.refresh()
  end)
  bus.on("requests_changed", function()
    M.refresh()
  end)
  bus.on("journal_changed", function()
    M.refresh()
  end)
end)

---@param win integer
local function set_window_options(win)
  local wo = window_options.bare(win)
  wo.wrap, wo.spell, wo.cursorline = false, false, true
  wo.foldenable, wo.scrolloff, wo.fillchars = false, 0, "eob: "
end

local function create()
  local opened ---@type claude-ide.board.View
  local buf = own_buffer.create({
    kind = "board",
    name = { "board", "Claude" },
    is_private = true,
    draw_again = function()
      keys.map(opened)
      opened.canvas = canvas.new(opened.buf)
      M.refresh(true)
    end,
    bo = { undolevels = -1, modifiable = false, filetype = "claude-board" },
  })
  opened = {
    buf = buf,
    all = false,
    hidden = {},
    rows = {},
    older = 0,
    came_from = {},
    canvas = canvas.new(buf),
    to_review = to_review,
    refresh = M.refresh,
    close = M.close,
  }
  view = opened
  keys.map(opened)
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  local function on(events, pattern, desc, callback)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      buffer = pattern,
      desc = "Claude Code: " .. desc,
      callback = safely.wrap(desc, callback),
    })
  end
  on("BufWinEnter", buf, "show the board", function()
    set_window_options(vim.api.nvim_get_current_win())
    M.refresh(true)
  end)
  on("BufWipeout", buf, "forget the board", function()
    view = nil
    timer:stop()
  end)
  on({ "WinResized", "VimResized" }, nil, "fit the board into its window", function()
    M.refresh()
  end)
end

---Shows the board. A second call focuses it.
---@param all? boolean of all projects
---@return boolean? ok
---@return string? err
function M.open(all)
  sessions.attach()
  follow()
  if not view or not vim.api.nvim_buf_is_valid(view.buf) then
    create()
  end
  local shown = view --[[@as claude-ide.board.View]]
  if all ~= nil and shown.all ~= all then
    shown.all, shown.worktree, is_fresh = all, nil, true
  end
  local before = {} ---@type table<integer, integer>
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    before[win] = vim.api.nvim_win_get_buf(win)
  end
  local win = file_window.show(shown.buf, guard.request())
  if not win then
    return nil, "There is no window for the board here."
  elseif before[win] ~= shown.buf then
    shown.came_from[win] = before[win]
  end
  M.refresh(true)
  return true
end

---The session under the cursor, if the current window shows the board.
---@return string? id
function M.session_here()
  if view and vim.api.nvim_get_current_buf() == view.buf then
    return (view.canvas:session_here())
  end
end

---Restores the window's previous buffer, or closes the window.
function M.close()
  local win = vim.api.nvim_get_current_win()
  local before = view and view.came_from[win]
  if before and vim.api.nvim_buf_is_valid(before) then
    vim.api.nvim_win_set_buf(win, before)
  elseif not pcall(window.close, win, false) then
    vim.cmd("enew")
  end
end

return M
