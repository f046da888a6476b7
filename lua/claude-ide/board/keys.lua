-- Keys of the board. Each acts on the session under the cursor, with the code of other commands: a request is answered by its own
-- presenter, a prompt is delivered like those of the page, and sessions are forked and renamed like by `:Claude sessions`.
local M = {}

---For notices, and to know our messages again.
local SENDER = "The board"

---@param text string a sentence
local function say(text)
  require("claude-ide.ui.notice").info(text)
end

---@param row claude-ide.board.Row
---@return string
local function elsewhere(row)
  return row.pid and ("It runs elsewhere (pid %d)."):format(row.pid) or "It does not run."
end

---@param row claude-ide.board.Row
---@return claude-ide.sessions.Live? if it runs in the background
local function in_background(row)
  local live = require("claude-ide.sessions.catalogue").running(row.id)
  return live and live.job and live or nil
end

---@type table<string, fun(row: claude-ide.board.Row, view: claude-ide.board.View)>
local ROW = {}

---Its terminal or chat, else its transcript. One of the background comes into a terminal.
function ROW.open(row, view)
  local terminals, background = require("claude-ide.terminal"), in_background(row)
  local terminal, other = terminals.of_session(row.id), require("claude-ide.sessions.ours").other(row.id)
  if terminal then
    terminals.show(terminal)
  elseif other then
    other.show()
  elseif background then
    require("claude-ide.sessions.background").open(background)
  else
    ROW.read(row, view)
  end
end

function ROW.read(row)
  if row.file then
    require("claude-ide.bus").emit("transcript_wanted", { file = row.file })
  else
    say("It has no transcript before its first prompt.")
  end
end

function ROW.answer(row)
  local asks = require("claude-ide.sessions.asks")
  local waiting = vim.tbl_filter(function(one)
    return asks.session_of(one) == row.id
  end, asks.list())
  local background = in_background(row)
  if waiting[1] then
    asks.answer(waiting)
  elseif background and row.activity == "waiting" then
    require("claude-ide.sessions.background").open(background)
  else
    say(row.activity == "waiting" and elsewhere(row) .. " Answer there." or "It asks nothing.")
  end
end

function ROW.prompt(row, view)
  local route, why = require("claude-ide.deliver.route").of(row.id)
  if not route then
    return require("claude-ide.ui.notice").error(
      ("No prompt reaches it: %s."):format(why or "it runs elsewhere")
    )
  end
  local title = require("claude-ide.sessions.phrases").fit(row.title, 30)
  vim.ui.input({ prompt = ("To “%s”: "):format(title) }, function(text)
    if not text or vim.trim(text) == "" then
      return
    end
    require("claude-ide.deliver").send({
      session = row.id,
      text = text,
      ran = row.pid ~= nil,
      sender = SENDER,
      done = function(err)
        if err then
          require("claude-ide.ui.kept_words").give_back(text, err:sub(1, 1):upper() .. err:sub(2))
        end
        view.refresh()
      end,
    })
    view.refresh()
  end)
end

function ROW.review(row, view)
  local files = view.to_review()[row.id]
  if not files then
    return say("It has no changes to review in this Neovim.")
  end
  require("claude-ide.review").open_at(files[1])
end

---@param row claude-ide.board.Row
local function end_it(row)
  local terminal = require("claude-ide.terminal").of_session(row.id)
  local other = require("claude-ide.sessions.ours").other(row.id)
  if not terminal and not other and not in_background(row) then
    return say(row.pid and elsewhere(row) .. " End it there." or elsewhere(row))
  end
  local keep, stop = "Keep it", "End its process"
  local title = require("claude-ide.sessions.phrases").fit(row.title, 40)
  require("claude-ide.ui.choose").select({ keep, stop }, { prompt = title }, function(choice)
    if choice == stop then
      require("claude-ide.sessions.actions").run_by_id("stop", row.id)
    end
  end)
end

---Interrupts its turn, or ends it.
function ROW.stop(row)
  local is_away = in_background(row) and not require("claude-ide.terminal").of_session(row.id)
  if row.activity ~= "working" or is_away then
    return end_it(row)
  end
  local err = require("claude-ide.deliver").interrupt(row.id)
  if err then
    require("claude-ide.ui.notice").error(("It was not stopped: %s."):format(err))
  end
end

function ROW.rename(row)
  require("claude-ide.sessions.actions").run_by_id("rename", row.id)
end

function ROW.fork(row)
  require("claude-ide.sessions.actions").run_by_id("fork", row.id)
end

function ROW.hide(row, view)
  view.hidden[row.id] = true
  view.refresh()
end

function ROW.worktree(row, view)
  if not view.worktree and not row.worktree then
    return say("It is in no Git worktree.")
  end
  view.worktree = not view.worktree and row.worktree or nil
  view.refresh(true)
end

---@type table<string, fun(view: claude-ide.board.View, count: integer)>
local BOARD = {}

function BOARD.unhide(view)
  view.hidden = {}
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
  local key_list = require("claude-ide.ui.key_list")
  local help = key_list.option("board", "help").keys
  key_list.open(key_list.options("board"), {}, { of = "the board", group = "ClaudeDiffKey", help = help })
end

---@param view claude-ide.board.View
---@return claude-ide.board.Row|false|nil row under the cursor; false: the key may have been pressed for one that has gone
local function row_here(view)
  local id, gone = view.canvas:session_here()
  if gone and not view.hidden[gone] then
    say("The session under the cursor has gone from the board: nothing was done.")
    return false
  end
  return id and vim.iter(view.rows):find(function(row)
    return row.id == id
  end)
end

---@param view claude-ide.board.View
function M.map(view)
  local key_list, safely = require("claude-ide.ui.key_list"), require("claude-ide.safely")
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
