-- Keys of the board. Each acts on the session under the cursor, with the code of other commands: a request is answered by its own
-- presenter, a prompt is delivered like those of the page, and sessions are forked and renamed like by `:Claude sessions`.
local lazy = require("claude-ide.lazy")
local actions = lazy("claude-ide.terminal.session_actions")
local asks = lazy("claude-ide.requests.asks")
local bus = lazy("claude-ide.base.bus")
local catalogue = lazy("claude-ide.sessions.catalogue")
local choose = lazy("claude-ide.ui.choose")
local counted = lazy("claude-ide.base.counted")
local kept_words = lazy("claude-ide.ui.kept_words")
local key_list = lazy("claude-ide.ui.key_list")
local notice = lazy("claude-ide.base.notice")
local outbox = lazy("claude-ide.outbox")
local outbox_route = lazy("claude-ide.outbox.route")
local own = lazy("claude-ide.terminal.own")
local phrases = lazy("claude-ide.sessions.phrases")
local review = lazy("claude-ide.edits.review")
local safely = lazy("claude-ide.base.safely")
local sessions_background = lazy("claude-ide.terminal.background")
local terminals = lazy("claude-ide.terminal")

local M = {}

---@param row claude-ide.board.Row
---@return string
local function elsewhere(row)
  return row.pid and ("This session runs in another terminal (pid %d)."):format(row.pid)
    or "This session is not running."
end

---@param row claude-ide.board.Row
---@return claude-ide.sessions.Live? if it runs in the background
local function in_background(row)
  local live = catalogue.running(row.id)
  return live and live.job and live or nil
end

---@type table<string, fun(row: claude-ide.board.Row, view: claude-ide.board.View)>
local ROW = {}

---Its terminal or chat, else its transcript. One of the background comes into a terminal.
function ROW.open(row, view)
  local background = in_background(row)
  local terminal, other = terminals.of_session(row.id), own.other(row.id)
  if terminal then
    terminals.show(terminal)
  elseif other then
    other.show()
  elseif background then
    sessions_background.open(background)
  else
    ROW.read(row, view)
  end
end

function ROW.read(row)
  if row.file then
    bus.emit("transcript_wanted", { file = row.file })
  else
    notice.info("A session has no transcript before its first prompt.")
  end
end

function ROW.answer(row)
  local waiting = vim.tbl_filter(function(one)
    return asks.session_of(one) == row.id
  end, asks.list())
  local background = in_background(row)
  if waiting[1] then
    asks.answer(waiting)
  elseif background and row.activity == "waiting" then
    sessions_background.open(background)
  else
    notice.info(
      row.activity == "waiting" and elsewhere(row) .. " Answer there."
        or "This session is not waiting for an answer."
    )
  end
end

---@param row claude-ide.board.Row
---@param begun? string
local function write(row, begun)
  local title = phrases.fit(row.title, 30)
  vim.ui.input({ prompt = ("To “%s”: "):format(title), default = begun }, function(text)
    vim.cmd("redraw") -- else the question stays on the command line
    vim.api.nvim_echo({}, false, {})
    if text and vim.trim(text) ~= "" then
      outbox.send({ kind = "board", session = row.id, text = text, ran = row.pid ~= nil })
    elseif begun then
      kept_words.give_back(begun, "The prompt was unqueued")
    end
  end)
end

function ROW.prompt(row)
  local route, why = outbox_route.of(row.id)
  if not route then
    return notice.error(("This session cannot get a prompt: %s."):format(why))
  end
  local list = outbox.list(row.id)
  local here = vim.tbl_filter(function(entry)
    return entry.rule.is_given_back == true -- the writer of another one has it
  end, list)
  local last = here[#here]
  if not last then
    return write(row)
  end
  local more, back =
    "Write another prompt", ("Unqueue “%s”"):format(phrases.fit(phrases.one_line(last.typed), 40))
  choose.select({ more, back }, {
    prompt = ("%s for “%s”: %s"):format(
      counted(#list, "prompt waits", "prompts wait"),
      phrases.fit(row.title, 30),
      list[1].waits_for
    ),
  }, function(choice)
    if choice == more then
      write(row)
    elseif choice == back and outbox.take_back(last) then
      write(row, last.typed)
    elseif choice == back then
      notice.info("The prompt is sent already.")
    end
  end)
end

function ROW.review(row, view)
  local files = view.to_review()[row.id]
  if not files then
    return notice.info("This session has no changes to review in this Neovim.")
  end
  review.open_at(files[1])
end

---@param row claude-ide.board.Row
---@param view claude-ide.board.View
local function end_it(row, view)
  local terminal = terminals.of_session(row.id)
  local other = own.other(row.id)
  if not terminal and not other and not in_background(row) then
    return notice.info(row.pid and elsewhere(row) .. " End it there." or elsewhere(row))
  end
  local keep, open, stop = "Keep it", "Open it in a terminal", "End its process"
  local title, is_away = phrases.fit(row.title, 40), not terminal and not other
  local choices = is_away and { keep, open, stop } or { keep, stop }
  if is_away then
    title = title .. (row.activity == "working" and " works in the background" or " is in the background")
  end
  choose.select(choices, { prompt = title }, function(choice)
    if choice == open then
      ROW.open(row, view)
    elseif choice == stop then
      actions.run_by_id("stop", row.id)
    end
  end)
end

---Interrupts its turn, or ends it.
function ROW.stop(row, view)
  local is_away = in_background(row) and not terminals.of_session(row.id)
  if row.activity ~= "working" or is_away then
    return end_it(row, view)
  end
  local err = outbox.interrupt(row.id)
  if err then
    notice.error(("The session was not stopped: %s."):format(err))
  end
end

function ROW.rename(row)
  actions.run_by_id("rename", row.id)
end

function ROW.fork(row)
  actions.run_by_id("fork", row.id)
end

function ROW.keep(row)
  actions.run_by_id("keep", row.id)
end

function ROW.hide(row, view)
  view.hidden[row.id] = true
  view.refresh()
end

function ROW.worktree(row, view)
  if not view.worktree and not row.worktree then
    return notice.info("This session is not in a git worktree.")
  end
  view.worktree = not view.worktree and row.worktree or nil
  view.refresh(true)
end

---@type table<string, fun(view: claude-ide.board.View, count: integer)>
local BOARD = {}

function BOARD.unhide(view)
  view.unhidden, view.hidden = view.hidden, {}
  view.refresh(true)
end

function BOARD.projects(view)
  view.all, view.worktree = not view.all, nil
  view.refresh(true)
end

function BOARD.next(view, count)
  view.canvas:step(count)
end

function BOARD.previous(view, count)
  view.canvas:step(-count)
end

function BOARD.close(view)
  view.close()
end

function BOARD.help()
  local help = key_list.option("board", "help").keys
  key_list.open(key_list.options("board"), {}, { of = "the board", group = "ClaudeDiffKey", help = help })
end

---@param view claude-ide.board.View
---@return claude-ide.board.Row|false|nil row under the cursor; false: the key may have been pressed for one that has gone
local function row_here(view)
  local id, gone = view.canvas:session_here()
  if gone and not view.hidden[gone] and not (view.unhidden or {})[gone] then
    notice.info("The session under the cursor has gone from the board: nothing was done.")
    return false
  end
  return id and vim.iter(view.rows):find(function(row)
    return row.id == id
  end)
end

---@param view claude-ide.board.View
function M.map(view)
  for _, option in ipairs(key_list.options("board")) do
    local of_row, of_board = ROW[option.name], BOARD[option.name]
    key_list.map(
      view.buf,
      option,
      safely.wrap(option.desc, function()
        local row = of_row and row_here(view)
        if row then
          of_row(row, view)
        elseif of_board then
          of_board(view, vim.v.count1)
        elseif row == nil and view.worktree and option.name == "worktree" then
          view.worktree = nil
          view.refresh(true)
        end
      end)
    )
  end
end

return M
