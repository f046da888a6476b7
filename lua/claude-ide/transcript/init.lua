-- Transcripts of sessions, to be read: a buffer each, that follows what is said.
-- `heights` knows where each row lies, `canvas` changes the text, `views` keeps what the windows show meanwhile, `loader`
-- decides what is rendered, `render` makes lines of messages. Only what is near a window is text; every other message is
-- one empty line. So `/` finds what is near, folded or not; `:Claude grep` finds everything.

local M = {}

---@class claude-ide.transcript.View
---@field id string the session's; of a subagent the stem of its file
---@field file string
---@field buf integer
---@field canvas claude-ide.transcript.Canvas
---@field transcript? claude-ide.sessions.Transcript nil until it is open
---@field cancel? fun()
---@field known table<integer, claude-ide.sessions.Row> what was asked of rows near the windows
---@field agents table<string, claude-ide.transcript.AgentView> by tool call
---@field uncoloured table<integer, true> rows
---@field coloured table<claude-ide.transcript.Item, true>
---@field generation integer counts how often all ids became void
---@field busy boolean a question is on its way
---@field again boolean something changed meanwhile
---@field colouring boolean
---@field closed boolean
---@field title? string
---@field named? boolean its title is known, or asked for
---@field cwd? string
---@field live? claude-ide.sessions.Live
---@field ran? boolean it was seen running
---@field went_on? string the session its process went on with
---@field problem? string why there is nothing more to see
---@field when_complete? fun()
---@field unsubscribe? fun()
---@field left_at_end? boolean the cursor was there when the buffer was left
---@field came_from table<integer, integer> buffers by window, to go back to

---@type table<integer, claude-ide.transcript.View> by buffer
local views = {}

---@param buf integer
---@return claude-ide.transcript.View?
function M.of_buffer(buf)
  return views[buf]
end

---@param file string
---@return claude-ide.transcript.View?
local function of_file(file)
  for _, view in pairs(views) do
    if view.file == file and not view.closed then
      return view
    end
  end
  return nil
end

---@param view claude-ide.transcript.View
---@param id integer a message
---@param win integer
function M.go_to_message(view, id, win)
  view.transcript:position(id, function(position)
    if view.closed or not vim.api.nvim_win_is_valid(win) or vim.api.nvim_win_get_buf(win) ~= view.buf then
      return
    elseif position and position.place == "row" then
      vim.api.nvim_win_call(win, function()
        require("claude-ide.transcript.motions").go_to_row(view, position.row)
        vim.cmd("normal! zt")
      end)
      require("claude-ide.transcript.loader").update(view)
    elseif position and position.place == "other_branch" then
      view.transcript:show_branch(id, function(delta)
        if delta and not view.closed then
          require("claude-ide.transcript.follow").apply(view, delta)
          M.go_to_message(view, id, win)
        end
      end)
    end
  end)
end

---Goes to the message that a line of the file belongs to.
---@param view claude-ide.transcript.View
---@param line integer from 1
---@param win integer
local function go_to_line(view, line, win)
  local function go()
    view.transcript:message_at_line(line, function(id)
      if id and not view.closed then
        M.go_to_message(view, id, win)
      end
    end)
  end
  if view.transcript and view.transcript:info().complete then
    go()
  else
    view.when_complete = go
  end
end

---@param view claude-ide.transcript.View
local function forget(view)
  views[view.buf] = nil
  view.closed = true
  require("claude-ide.transcript.agents").close_all(view)
  if view.cancel then
    view.cancel()
  end
  if view.unsubscribe then
    view.unsubscribe()
  end
end

---@param view claude-ide.transcript.View
local function learn(view)
  local sessions = require("claude-ide.sessions")
  for _, live in ipairs(sessions.live()) do
    if live.id == view.id then
      view.live, view.ran, view.cwd = live, true, view.cwd or live.cwd
    end
  end
  view.unsubscribe = sessions.on(function(change)
    require("claude-ide.transcript.follow").session_changed(view, change)
  end)
  M.learn_title(view)
end

---Asks for the title, until it is known: a session that has just begun is not listed yet.
---@param view claude-ide.transcript.View
function M.learn_title(view)
  if view.named or view.closed then
    return
  end
  view.named = true
  if vim.startswith(view.id, "agent-") then
    view.title = "Subagent " .. view.id:sub(7, 14)
    return
  end
  require("claude-ide.sessions.catalogue").find(view.id, function(item)
    view.named = item ~= nil
    if not item or view.closed then
      return
    end
    view.title = require("claude-ide.sessions.phrases").title(item.summary)
    if item.summary.cwd and view.cwd ~= item.summary.cwd then
      view.cwd = item.summary.cwd
      for _, rendered in pairs(view.canvas.rows) do
        rendered.stale = true -- paths are shown from there
      end
      require("claude-ide.transcript.loader").update(view)
    end
    require("claude-ide.transcript.winbar").refresh(view)
  end)
end

---@param view claude-ide.transcript.View
---@param err? string
local function break_off(view, err)
  view.problem = err or "it cannot be read"
  require("claude-ide.transcript.winbar").refresh(view)
  if not view.transcript then
    require("claude-ide.ui.notice").error("The transcript cannot be opened: " .. view.problem)
  end
end

---Makes the text anew, of an empty buffer.
---@param view claude-ide.transcript.View
local function lay_out(view)
  view.canvas = require("claude-ide.transcript.canvas").new(view.buf)
  view.uncoloured = {}
  vim.bo[view.buf].modifiable = true
  vim.api.nvim_buf_set_lines(view.buf, 0, -1, false, { "" })
  vim.bo[view.buf].modifiable = false
  if view.transcript then
    view.canvas:edit(function()
      view.canvas:resize(view.transcript:info().len)
    end)
    for _, win in ipairs(vim.fn.win_findbuf(view.buf)) do
      require("claude-ide.transcript.viewport").go_to_end(win)
    end
    require("claude-ide.transcript.loader").update(view)
  end
end

---@param view claude-ide.transcript.View
local function watch_buffer(view)
  local group = vim.api.nvim_create_augroup("claude-ide.transcript." .. view.buf, { clear = true })
  local function on(events, desc, callback)
    vim.api.nvim_create_autocmd(events, {
      group = group,
      buffer = view.buf,
      desc = "Claude Code: " .. desc,
      callback = require("claude-ide.transcript.guard").wrap(desc, callback),
    })
  end
  on("BufWinEnter", "dress the window of a transcript", function()
    local win = vim.api.nvim_get_current_win()
    require("claude-ide.transcript.buffer").dress(win)
    require("claude-ide.transcript.fold").create_all(view.canvas, win)
    if view.left_at_end then
      require("claude-ide.transcript.viewport").go_to_end(win)
    end
    require("claude-ide.transcript.loader").update(view)
    require("claude-ide.transcript.winbar").refresh(view)
  end)
  on("BufLeave", "remember whether a transcript was left at its end", function()
    view.left_at_end = require("claude-ide.transcript.viewport").is_at_end(vim.api.nvim_get_current_win())
  end)
  on("BufReadCmd", "read a transcript again", function()
    require("claude-ide.transcript.buffer").prepare(view.buf)
    lay_out(view)
  end)
  on("BufWipeout", "close a transcript", function()
    forget(view)
    vim.schedule(function()
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end)
  end)
  on("CursorMoved", "show where in a transcript the cursor is", function()
    require("claude-ide.transcript.loader").update(view)
  end)
  vim.api.nvim_create_autocmd({ "WinScrolled", "WinResized" }, {
    group = group,
    desc = "Claude Code: render what comes near",
    callback = require("claude-ide.transcript.guard").wrap("render what comes near", function()
      if #vim.fn.win_findbuf(view.buf) > 0 then
        require("claude-ide.transcript.loader").update(view)
      end
    end),
  })
  vim.api.nvim_create_autocmd("ColorScheme", {
    group = group,
    desc = "Claude Code: the colours of a transcript",
    callback = function()
      require("claude-ide.transcript.colour").define()
    end,
  })
end

---@param file string
---@param cwd? string the session's
---@return claude-ide.transcript.View
local function create(file, cwd)
  require("claude-ide.transcript.colour").define()
  local id = vim.fs.basename(file):gsub("%.jsonl$", "")
  local buf = require("claude-ide.transcript.buffer").make(id)
  local view = {
    id = id,
    file = file,
    buf = buf,
    canvas = require("claude-ide.transcript.canvas").new(buf),
    known = {},
    agents = {},
    uncoloured = {},
    coloured = setmetatable({}, { __mode = "k" }),
    generation = 0,
    busy = false,
    again = false,
    colouring = false,
    closed = false,
    came_from = {},
    cwd = cwd,
    title = "Session " .. id:sub(1, 8),
  }
  views[buf] = view
  watch_buffer(view)
  require("claude-ide.transcript.keys").map(view)
  return view
end

---@param view claude-ide.transcript.View
---@param opened fun()
local function read(view, opened)
  local guard = require("claude-ide.transcript.guard")
  local function take(transcript, err)
    if view.closed then
      return
    elseif not transcript then
      return break_off(view, err)
    end
    view.transcript = transcript
    lay_out(view)
    require("claude-ide.transcript.winbar").refresh(view)
    opened()
  end
  local function change(delta)
    require("claude-ide.transcript.follow").apply(view, delta)
  end
  view.cancel = require("claude-ide.sessions").open(
    view.file,
    guard.wrap("open a transcript", take),
    guard.wrap("follow a transcript", change)
  )
  learn(view)
end

---@param view claude-ide.transcript.View
---@param chosen? integer the window to show it in
---@return integer? win
local function show(view, chosen)
  local before = {}
  for _, win in ipairs(vim.api.nvim_list_wins()) do
    before[win] = vim.api.nvim_win_get_buf(win)
  end
  local win = chosen
  if win and vim.api.nvim_win_is_valid(win) then
    vim.api.nvim_win_set_buf(win, view.buf)
  else
    win = require("claude-ide.ui.file_window").show(view.buf)
  end
  if win and before[win] and before[win] ~= view.buf then
    view.came_from[win] = before[win]
  end
  return win
end

---@class claude-ide.transcript.OpenOpts
---@field line? integer of the file, from 1: go to the message it belongs to
---@field win? integer the window to show it in; otherwise one that is fit for it

---@param file string
---@param cwd? string the session's
---@param opts claude-ide.transcript.OpenOpts
local function open_file(file, cwd, opts)
  file = require("claude-ide.path").normalize(file)
  local view = of_file(file)
  local is_new = not view
  view = view or create(file, cwd)
  local win = show(view, opts.win)
  local function go()
    if opts.line and win then
      go_to_line(view, opts.line, win)
    end
  end
  if is_new then
    read(view, go)
  else
    go()
  end
end

---Shows a transcript; a second time goes to its buffer. Nothing is raised: what fails is a notice.
---@param source? claude-ide.transcript.Source default: the current session
---@param opts? claude-ide.transcript.OpenOpts
function M.open(source, opts)
  require("claude-ide.transcript.source.find").find(source or {}, function(file, cwd)
    open_file(file, cwd, opts or {})
  end)
end

---Takes a transcript out of the current window: what was there before comes back, or the window goes.
---@param view claude-ide.transcript.View
function M.leave(view)
  local win = vim.api.nvim_get_current_win()
  local before = view.came_from[win]
  view.came_from[win] = nil
  if before and vim.api.nvim_buf_is_valid(before) then
    vim.api.nvim_win_set_buf(win, before)
  elseif not pcall(vim.api.nvim_win_close, win, false) then
    vim.cmd("enew")
  end
end

return M
