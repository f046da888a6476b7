-- Sends the comments that the user has written as one message, after a look at it: what is removed there is held back.
local lazy = require("claude-ide.lazy")
local comments = lazy("claude-ide.comments")
local comments_round = lazy("claude-ide.comments.round")
local counted = lazy("claude-ide.base.counted")
local guard_window = lazy("claude-ide.ui.guard.window")
local ide_window = lazy("claude-ide.base.window")
local notice = lazy("claude-ide.base.notice")
local outbox = lazy("claude-ide.outbox")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local receivers = lazy("claude-ide.outbox.receiver")
local safely = lazy("claude-ide.base.safely")
local store = lazy("claude-ide.comments.store")
local text_float = lazy("claude-ide.ui.text_float")
local user_write = lazy("claude-ide.ui.user_write")

local M = {}

---The window of the last preview, by worktree.
---@type table<string, integer?>
local previews = {}

---The sessions that have the comments already, or whose changes they are about.
---@param root string
---@param said claude-ide.comments.Said[]
---@return string[]
local function sessions_of(root, said)
  local found = {} ---@type string[]
  for _, one in ipairs(said) do
    local thread = store.thread(root, one.id)
    local session = thread and (thread.round and thread.round.session or thread.session)
    if session and not vim.list_contains(found, session) then
      found[#found + 1] = session
    end
  end
  return found
end

---@param root string
---@param said claude-ide.comments.Said[]
---@param text string
---@param receiver claude-ide.outbox.Receiver
local function hand_over(root, said, text, receiver)
  comments_round.begin(root, said)
  outbox.send({
    kind = "comments",
    session = receiver.session,
    text = text,
    ran = receiver.route.kind ~= "dead",
    done = function(err)
      comments_round.ended(root, said, receiver.session, err)
      if err then
        notice.warn(("Comments not sent: %s."):format(err))
        return
      end
      notice.info(("Sent %s to Claude."):format(counted(#said, "comment")))
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

---@param root string
---@param said claude-ide.comments.Said[]
---@param text string
local function preview(root, said, text)
  local lines = vim.split(text, "\n", { plain = true })
  local buf = own_buffer.create({
    kind = "round",
    name = { "Claude", "comments to send" },
    lines = lines,
    is_private = true,
    bo = { buftype = "acwrite", filetype = "markdown" },
    draw_again = function() end,
  })
  local win = text_float.open(buf, "Comments to send · ZZ send · q not now", #lines + 1)
  previews[root] = win
  vim.wo[win][0].conceallevel = 0 -- what is shown is what is sent
  local function close()
    ide_window.close(win)
    own_buffer.delete(buf)
  end
  ---@return claude-ide.comments.Said[]? left
  ---@return string text
  local function looked_at()
    local now = vim.trim(table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n"))
    local left = left_in(said, now)
    local waits = {} ---@type table<integer, true?>
    for _, one in ipairs(comments_round.to_send(root)) do
      waits[one.id] = true
    end
    local sent = vim.iter(left):find(function(one)
      return not waits[one.id]
    end)
    if not left[1] then
      notice.info("No comments are left to send.")
    elseif sent then
      notice.warn(("Comment %d does not wait any more: remove it here."):format(sent.id))
    else
      return left, now
    end
    return nil, now
  end
  local send = safely.wrap("send comments", function()
    local left = looked_at()
    if not left then
      return
    end
    receivers.find(sessions_of(root, left), function(receiver, why)
      if not vim.api.nvim_buf_is_valid(buf) then
        return -- sent, or put off while the user was asked
      elseif not receiver then
        notice.warn(("Not sent: %s."):format(why))
        return
      end
      local still_left, now = looked_at()
      if still_left then
        hand_over(root, still_left, now, receiver)
        close()
      end
    end)
  end)
  vim.api.nvim_create_autocmd({ "BufWriteCmd", "FileWriteCmd", "FileAppendCmd" }, {
    buffer = buf,
    desc = "Claude Code: a round that is written is sent",
    callback = function(event)
      if not user_write.copied(event, "the comments are not sent") and user_write.is_asked(buf) then
        vim.schedule(send)
      end
    end,
  })
  guard_window.map(buf, { "ZZ" }, "send the comments", send)
  guard_window.map(buf, { "q" }, "send nothing now", close)
end

---The comments that wait, as one message.
---@param root string
---@return string? text
---@return string|claude-ide.comments.Said[] said or why there is none
function M.message(root)
  local said = comments_round.to_send(root)
  if not said[1] then
    local waits = comments_round.is_on_its_way()
    return nil, waits and "The comments wait in the outbox." or "There are no comments to send."
  end
  local text, err = comments_round.message(root, said)
  return text, text and said or err or ""
end

---Shows them, to be sent.
---@return boolean? ok
---@return string? err
function M.send()
  local root = comments.root()
  local shown = previews[root]
  if shown and vim.api.nvim_win_is_valid(shown) then
    vim.api.nvim_set_current_win(shown)
    return true
  end
  local text, said = M.message(root)
  if not text or type(said) == "string" then
    return nil, said --[[@as string]]
  end
  preview(root, said, text)
  return true
end

return M
