-- Sends the comments that the user has written as one message, after a look at it: what is removed there is held back.
local lazy = require("claude-ide.lazy")
local asks = lazy("claude-ide.requests.asks")
local choose = lazy("claude-ide.ui.choose")
local comments = lazy("claude-ide.comments")
local comments_round = lazy("claude-ide.comments.round")
local guard_window = lazy("claude-ide.ui.guard.window")
local ide_window = lazy("claude-ide.base.window")
local kept_words = lazy("claude-ide.ui.kept_words")
local notice = lazy("claude-ide.base.notice")
local outbox = lazy("claude-ide.outbox")
local own = lazy("claude-ide.terminal.own")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local receivers = lazy("claude-ide.outbox.receiver")
local requests = lazy("claude-ide.requests")
local route_to = lazy("claude-ide.outbox.route")
local safely = lazy("claude-ide.base.safely")
local store = lazy("claude-ide.comments.store")
local text_float = lazy("claude-ide.ui.text_float")
local typing = lazy("claude-ide.ui.guard.typing")
local user_write = lazy("claude-ide.ui.user_write")

local M = {}

---The last preview, by worktree.
---@type table<string, { win: integer, close: fun(), is_edited: fun(): boolean }?>
local previews = {}

---Messages that the user has edited and not sent, by worktree.
---@type table<string, { of: string, text: string }?> of: the message as it was made of the comments
local put_off = {}

---The session that has a comment already, or whose change it is about.
---@param thread? claude-ide.comments.Thread
---@return string?
local function session_of(thread)
  return thread and (thread.round and thread.round.session or thread.session)
end

---The sessions of several.
---@param round claude-ide.comments.Round
---@return string[]
local function sessions_of(round)
  local found = {} ---@type string[]
  for _, one in ipairs(round.said) do
    local session = session_of(store.thread(round.root, one.id))
    if session and not vim.list_contains(found, session) then
      found[#found + 1] = session
    end
  end
  return found
end

---@param receiver claude-ide.outbox.Receiver
---@param round claude-ide.comments.Round
---@param has_references boolean the user has written it in this editor
local function give_to(receiver, round, has_references)
  comments_round.begin(round.root, round.said)
  outbox.send({
    kind = "comments",
    session = receiver.session,
    text = round.text,
    has_references = has_references,
    ran = receiver.route.kind ~= "dead",
    done = function(err)
      comments_round.handed_over(round, receiver.session, err)
    end,
  })
end

---Those of which the text still has the number.
---@param said claude-ide.comments.Said[]
---@param text string
---@return claude-ide.comments.Said[]
local function left_in(said, text)
  return vim.tbl_filter(function(one)
    return ("\n" .. text):find(("\n[%d]"):format(one.id), 1, true) ~= nil
  end, said)
end

---@class claude-ide.outbox.comments.Way
---@field title string
---@field hand_over fun(look: (fun(): claude-ide.comments.Round?), done: fun(is_sent: boolean)) look: the message as it is in the preview; nil: it cannot be sent, and the user knows why

---The user's version of a message, put off earlier.
---@param round claude-ide.comments.Round
---@return string?
local function take_put_off(round)
  local before = put_off[round.root]
  put_off[round.root] = nil
  if not before or before.of == round.text then
    return before and before.text
  end
  kept_words.give_back(before.text, "The comments have changed since you edited this message")
end

local function preview(round, way)
  typing.listen() -- a write counts if a key asked for it
  local root, said, edited = round.root, round.said, take_put_off(round)
  local lines = vim.split(round.text, "\n", { plain = true })
  local buf = own_buffer.create({
    kind = "round",
    name = { "Claude", "comments to send" },
    lines = edited and vim.split(edited, "\n", { plain = true }) or lines,
    is_private = true,
    bo = { buftype = "acwrite", filetype = "markdown" },
    draw_again = function() end,
  })
  local title = way.title .. " · q not now"
  local win = text_float.open(buf, title)
  vim.wo[win][0].conceallevel = 0 -- what is shown is what is sent
  text_float.fit(win, title, 1)
  local written ---@type string? by `:wq`, after which the window is gone
  ---@return string
  local function text()
    return vim.trim(table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n"))
  end
  local function is_edited()
    return vim.api.nvim_buf_is_loaded(buf) and text() ~= vim.trim(round.text)
  end
  local function close()
    written = nil
    ide_window.close(win)
    own_buffer.delete(buf)
  end
  vim.api.nvim_create_autocmd("BufWinLeave", {
    buffer = buf,
    desc = "Claude Code: keep a message that was edited and not sent",
    callback = function()
      local now = text()
      put_off[root] = now ~= "" and is_edited() and { of = round.text, text = now } or nil
    end,
  })
  previews[root] = { win = win, close = close, is_edited = is_edited }
  ---@return claude-ide.comments.Round?
  local function look()
    local now = vim.api.nvim_buf_is_loaded(buf) and text() or written
    if not now then
      return nil -- sent, or put off while the user was asked
    end
    local left = left_in(said, now)
    local waiting = {} ---@type table<integer, string?>
    for _, one in ipairs(comments_round.to_send(root)) do
      waiting[one.id] = one.words
    end
    local other = vim.iter(left):find(function(one)
      return waiting[one.id] ~= one.words
    end) --[[@as claude-ide.comments.Said?]]
    if not left[1] then
      notice.info("No comments are left to send.")
    elseif other and waiting[other.id] then
      notice.warn(("Comment %d has other words now: close this with `q`, and send again."):format(other.id))
    elseif other then
      notice.warn(("Comment %d does not wait any more: remove it here."):format(other.id))
    else
      return { root = root, said = left, text = comments_round.counted_again(round, left, now) }
    end
  end
  local send = safely.wrap("send comments", function()
    way.hand_over(look, function(is_sent)
      if is_sent then
        close()
        put_off[root] = nil
      elseif written and put_off[root] then
        written = nil
        preview(round, way) -- `:wq` closed the one that was edited
      end
    end)
  end)
  user_write.follow(
    buf,
    { desc = "a round that is written is sent", still = "the comments are not sent" },
    function()
      if user_write.is_asked(buf) then
        written, vim.bo[buf].modified = text(), false
        vim.schedule(send)
      end
    end
  )
  guard_window.map(buf, { "ZZ" }, "send the comments", send)
  guard_window.map(buf, { "q" }, "send nothing now", close)
end

---Open comments by session: those that it would get, and those that it has answered.
---@return table<string, { to_send: integer, answered: integer }>
function M.counts()
  local counts = {} ---@type table<string, { to_send: integer, answered: integer }>
  local current = receivers.current()
  ---@param session? string
  ---@param what "to_send"|"answered"
  local function add(session, what)
    if session then
      counts[session] = counts[session] or { to_send = 0, answered = 0 }
      counts[session][what] = counts[session][what] + 1
    end
  end
  store.each(function(thread)
    if thread.state == "draft" then
      add(session_of(thread) or current, "to_send")
    elseif thread.state == "answered" or thread.state == "done" then
      add(thread.round and thread.round.session, "answered")
    end
  end)
  return counts
end

---Threads by the session that they belong to: it has a comment, or they are about its changes or its plan. Others belong to the one that
---prompts go to.
---@return table<string, table<string, integer[]>> ids by worktree and session
function M.by_session()
  local found = {} ---@type table<string, table<string, integer[]>>
  local current = receivers.current()
  store.each(function(thread, root)
    local session = session_of(thread) or thread.plan or current
    if session then
      local sessions = found[root] or {}
      sessions[session] = sessions[session] or {}
      table.insert(sessions[session], thread.id)
      found[root] = sessions
    end
  end)
  return found
end

---Sends the user's words in a thread to a session, as a round of their own.
---@param session string
---@param root string
---@param id integer of the thread
---@param words? string a reply; nil: the words that wait
---@return boolean? ok it is kept until it is sent
---@return string? err
function M.reply(session, root, id, words)
  local thread = store.thread(root, id)
  local route, why = route_to.of(session)
  if not thread then
    return nil, "this comment is not there any more"
  elseif not route then
    return nil, why or "Claude is not running"
  elseif words and thread.draft then
    return nil, "another reply of this thread is not sent yet"
  elseif words then
    local ok, err = store.change(root, { write = { id = id, words = words, over = "" } })
    if not ok then
      return nil, err
    end
  end
  local round, err = comments_round.waiting(root, function(one)
    return one.id == id
  end)
  if not round then
    return nil, err or "there is nothing to send"
  end
  give_to({ session = session, route = route }, round, false)
  return true
end

---The comments that wait, as one message.
---@param root string
---@return claude-ide.comments.Round?
---@return string? why there is none
function M.round(root)
  local round, err = comments_round.waiting(root)
  if round or err then
    return round, err
  end
  local waits = comments_round.is_on_its_way()
  return nil, waits and "The comments wait in the outbox." or "There are no comments to send."
end

---What waits for the user's answer in the session that gets the comments, and can be rejected with them.
---@param round claude-ide.comments.Round
---@return claude-ide.Request?
local function waiting_request(round)
  local wanted = sessions_of(round)
  local session = wanted[1] or receivers.current()
  return requests.pending(function(request)
    return not wanted[2]
      and session ~= nil
      and requests.rejection(request) ~= nil
      and own.of_request(request) == session
  end)[1]
end

---@type claude-ide.outbox.comments.Way
local TO_SEND = {
  title = "Comments to send · ZZ send",
  hand_over = function(look, done)
    local round = look()
    if not round then
      return done(false)
    end
    receivers.find(sessions_of(round), function(receiver, why)
      local latest = receiver and look() -- it may have been edited while the user was asked
      if receiver and latest then
        give_to(receiver, latest, true)
      elseif why then
        notice.warn(("Not sent: %s."):format(why))
      end
      done(latest ~= nil)
    end)
  end,
}

---@param request claude-ide.Request
---@return claude-ide.outbox.comments.Way
local function rejecting(request)
  return {
    title = "Comments to reject with · ZZ reject and send",
    hand_over = function(look, done)
      local round, reject = look(), requests.rejection(request)
      local is_sent = round ~= nil and reject ~= nil and reject(request, round) == true
      if round and not is_sent then
        notice.warn("Not sent: the request has ended, or is being written.")
      end
      done(is_sent)
    end,
  }
end

---Shows them, to be sent. They may go with the rejection of what Claude waits for.
---@return boolean? ok
---@return string? err
function M.send()
  local root = comments.root()
  local shown = previews[root]
  if shown and vim.api.nvim_win_is_valid(shown.win) then
    if shown.is_edited() then
      ide_window.enter(shown.win)
      return true
    end
    shown.close() -- other comments may have been written since
  end
  local round, why = M.round(root)
  if not round then
    return nil, why
  end
  local request = waiting_request(round)
  if not request then
    preview(round, TO_SEND)
    return true
  end
  choose.select({ "Reject it with the comments", "Send them after your answer" }, {
    prompt = "Claude waits for your answer: " .. asks.label(request),
  }, function(_, index)
    if index then
      preview(round, index == 1 and rejecting(request) or TO_SEND)
    end
  end)
  return true
end

return M
