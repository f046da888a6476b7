-- Says that changes wait for a review: at the end of each turn that left some and, once in a project, as soon as the first edit lands that
-- the user was not asked about, with how to be asked.
-- Invariant: it is said of what waits when it can be read. So both are one notice, made late: a terminal's mode delays it, the user may
-- review in the meantime, and of several turns one line tells enough.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local clients = lazy("claude-ide.edits.journal.clients")
local config = lazy("claude-ide.config")
local conflict = lazy("claude-ide.edits.watch.conflict")
local counted = lazy("claude-ide.base.counted")
local current = lazy("claude-ide.edits.review.current")
local files = lazy("claude-ide.base.file")
local journal = lazy("claude-ide.edits.journal")
local key_list = lazy("claude-ide.ui.key_list")
local modes = lazy("claude-ide.sessions.modes")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local notify = lazy("claude-ide.requests.notify")
local own = lazy("claude-ide.terminal.own")
local server = lazy("claude-ide.server")
local store = lazy("claude-ide.edits.journal.store")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---What the next notice is about.
---@class claude-ide.review.Reminder
---@field client integer
---@field turn? integer
---@field is_first? boolean an edit has landed that the user was not asked about

---@type claude-ide.review.Reminder?
local due
---The turn with the first edit that the user was not asked about: its end says how to be asked, too.
---@type integer?
local first_turn
---The last notice.
---@type { turn?: integer, text: string }?
local said
---Files that are there if the user of their project knows that Claude edits unasked.
---@type table<string, true>
local known = {}

---@return string path of this project's file
local function mark()
  local folder = vim.fn.stdpath("state") .. "/claude-ide/unasked"
  return ("%s/%s"):format(folder, native.digest(workspace.folders()[1]) or "")
end

---@return boolean
local function is_known()
  local path = mark()
  known[path] = known[path] or vim.uv.fs_stat(path) ~= nil or nil
  return known[path] == true
end

---@return boolean is_first false: another Neovim has said it
local function remember()
  local path = mark()
  files.make_folder(vim.fs.dirname(path), files.PRIVATE)
  known[path] = true
  return files.write_private(path, "", true)
end

---How the user makes a client ask.
---@param client integer
---@return string? nil: no key does
local function way_to_be_asked(client)
  if clients.is_connection(client) then
    return "`<S-Tab>` in its terminal"
  end
  local key = key_list.keys(config.get().chat.keymaps.mode)[1]
  return key and ("`%s` in its prompt"):format(key)
end

---@param changes claude-ide.journal.Change[]
---@param to_ask? string
---@return string[]
local function texts_of(changes, to_ask)
  local added, removed = 0, 0
  for _, change in ipairs(changes) do
    added, removed = added + change.added, removed + change.removed
  end
  local what = counted(#changes, "file")
  local named = #changes == 1 and vim.fn.strtrans(vim.fs.basename(changes[1].path)) or what
  local lines, way = (", +%d −%d"):format(added, removed), notice.way_to("review")
  local texts = {
    ("%s%s to review: %s"):format(named, lines, way),
    ("%s%s to review: %s"):format(what, lines, way),
  }
  if not to_ask then
    return texts
  end
  return vim.list_extend({
    ("Claude changed %s%s: %s shows it. To be asked first: %s, or terminal.permission_mode."):format(
      named,
      lines,
      way,
      to_ask
    ),
    ("Claude changed %s%s: %s shows it. To be asked first: %s."):format(named, lines, way, to_ask),
    ("%s%s: %s. To be asked first: %s."):format(named, lines, way, to_ask),
    ("%s: %s. To be asked: %s."):format(what, way, to_ask), -- fits 80 columns
  }, texts)
end

---On the message line this takes the place of what was said of conflicts.
---@param texts string[]
---@return string[]
local function with_conflicts(texts)
  local count = #conflict.list()
  if count == 0 then
    return texts
  end
  local way = notice.way_to("resolve")
  local both = vim.tbl_map(function(text)
    local what = counted(count, "file") .. " in conflict with your unsaved changes"
    return ("%s. %s: %s"):format((text:gsub("%.$", "")), what, way)
  end, texts)
  both[#both + 1] = ("To review: %s. Conflicts: %s"):format(notice.way_to("review"), way)
  return both
end

---@return string[]? notice
local function make()
  local now = due
  due = nil
  local changes = now and not current.get() and journal.changes() or {}
  if not now or #changes == 0 then
    return nil
  end
  if now.is_first and remember() then
    first_turn = now.turn
  end
  local is_asked_for = now.turn ~= nil and now.turn == first_turn
  local texts = texts_of(changes, is_asked_for and way_to_be_asked(now.client) or nil)
  if said and said.turn == now.turn and said.text == texts[1] then
    return nil
  end
  said = { turn = now.turn, text = texts[1] }
  return with_conflicts(texts)
end

---@param reminder claude-ide.review.Reminder
---@param say fun(notice: claude-ide.LateNotice)
local function remind(reminder, say)
  local is_waiting = due ~= nil
  reminder.is_first = reminder.is_first or due and due.is_first
  due = reminder
  if not is_waiting then
    say(make)
  end
end

---Whether a turn has changes that the user has not reviewed. Edits that a tool of ours made meanwhile are turns of their own.
---@param turn claude-ide.journal.Turn
---@return boolean
local function leaves_changes(turn)
  return vim.iter(journal.changes()):any(function(change)
    return vim.iter(change.turns):any(function(id)
      local other = store.turn(id)
      return id == turn.id or id > turn.id and other ~= nil and server.agent(other.client) ~= nil
    end)
  end)
end

---Whether the user is to be told how a client asks before it edits.
---@param client integer
---@param done fun(is_first: boolean)
local function is_first(client, done)
  local function decide(mode)
    done(not is_known() and (not mode or modes.UNASKED[mode] == true))
  end
  if is_known() then
    return done(false)
  elseif server.client(client) then
    return modes.of_client(client, decide)
  end
  local chat = vim.iter(own.list()):find(function(ours)
    return own.journal_client(ours) == client
  end)
  if chat then
    decide(chat.other.mode)
  else
    done(false) -- it has no prompt here
  end
end

---@param turn claude-ide.journal.Turn
local function on_end(turn)
  if not config.get().review.remind or vim.v.exiting ~= vim.NIL or server.agent(turn.client) then
    return
  end
  if not leaves_changes(turn) then
    return
  end
  is_first(turn.client, function(first)
    remind({ client = turn.client, turn = turn.id, is_first = first }, function(late)
      notify.with_finish(turn.client, late)
    end)
  end)
end

---Clients whose mode was looked at, with the turn: it seldom changes within one.
---@type table<integer, integer>
local looked = {}

local function on_change()
  if not config.get().review.remind or is_known() then
    return
  end
  for client in pairs(journal.files_to_review()) do
    local turn = store.last_turn(client)
    if turn and looked[client] ~= turn then
      looked[client] = turn
      is_first(client, function(first)
        if first then
          remind({ client = client, turn = turn, is_first = true }, notice.info)
        end
      end)
    end
  end
end

---Starts to say it.
M.attach = require("claude-ide.base.once")(function()
  bus.on("turn_ended", on_end)
  bus.on("journal_changed", on_change)
end)

return M
