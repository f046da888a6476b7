-- Rounds: the comments that wait to be sent, as one message.
-- Invariant: a comment counts as sent once the message was handed over, and only with the words that it had.
local lazy = require("claude-ide.lazy")
local comments = lazy("claude-ide.comments")
local counted = lazy("claude-ide.base.counted")
local notice = lazy("claude-ide.base.notice")
local store = lazy("claude-ide.comments.store")
local target = lazy("claude-ide.comments.target")

local M = {}

---@class claude-ide.comments.Said
---@field id integer
---@field words string
---@field session? string that got them

---Comments on their way, by worktree and thread.
---@type table<string, true?>
local on_its_way = {}

---Why comments were not sent, by worktree and thread.
---@type table<string, string?>
local problems = {}

---@param root string
---@param matches? fun(thread: claude-ide.comments.Thread): boolean
---@return claude-ide.comments.Said[]
function M.to_send(root, matches)
  local said = {} ---@type claude-ide.comments.Said[]
  for _, thread in ipairs(comments.in_order(root)) do
    local words = thread.draft
    if words and not on_its_way[store.name(root, thread.id)] and (not matches or matches(thread)) then
      said[#said + 1] = { id = thread.id, words = words }
    end
  end
  return said
end

---A message of comments, perhaps edited by the user, with those that are in it.
---@class claude-ide.comments.Round
---@field root string
---@field said claude-ide.comments.Said[]
---@field text string

---Those that wait to be sent, as one message.
---@param root string
---@param matches? fun(thread: claude-ide.comments.Thread): boolean
---@return claude-ide.comments.Round? nil: there are none, or they cannot be read
---@return string? err why they cannot be read
function M.waiting(root, matches)
  local said = M.to_send(root, matches)
  if not said[1] then
    return nil
  end
  local text, err = M.message(root, said)
  return text and { root = root, said = said, text = text } or nil, err
end

---Those on files.
---@param files string[] absolute
---@return claude-ide.comments.Round? nil: there are none, or they cannot be read
function M.on_files(files)
  local root = store.root_of(files[1])
  local wanted = {} ---@type table<string, true?>
  for _, path in ipairs(files) do
    wanted[target.path_in(path, root)] = true
  end
  return (M.waiting(root, function(thread)
    return wanted[thread.path or ""] == true
  end))
end

---@param root string
---@param id integer
---@return boolean waits its comment is on its way
---@return string? problem why it was not sent
function M.way_of(root, id)
  local name = store.name(root, id)
  return on_its_way[name] == true, problems[name]
end

---@return boolean
function M.is_on_its_way()
  return next(on_its_way) ~= nil
end

---@param root string
---@param said claude-ide.comments.Said[]
---@return string? text
---@return string? err
function M.message(root, said)
  local ids = vim.tbl_map(function(one)
    return one.id
  end, said)
  return store.text(root, { round = { ids = ids, withheld = comments.withheld(root) } })
end

---A message from which comments were removed, with the beginning that fits those that are left.
---@param round claude-ide.comments.Round as it was
---@param left claude-ide.comments.Said[]
---@param text string edited by the user
---@return string
function M.counted_again(round, left, text)
  local function beginning(words)
    return words:match("^[^\n]*") --[[@as string]]
  end
  local before = beginning(round.text)
  if #left == #round.said or text:sub(1, #before) ~= before then
    return text
  end
  local again = M.message(round.root, left)
  return again and beginning(again) .. text:sub(#before + 1) or text
end

---@param root string
---@param said claude-ide.comments.Said[]
---@param are_on_their_way? true
---@param problem? string
local function set(root, said, are_on_their_way, problem)
  for _, one in ipairs(said) do
    local name = store.name(root, one.id)
    on_its_way[name], problems[name] = are_on_their_way, problem
  end
end

---Their message waits in the outbox.
---@param root string
---@param said claude-ide.comments.Said[]
function M.begin(root, said)
  set(root, said, true)
end

---@param root string
---@param said claude-ide.comments.Said[]
---@param session? string that gets them
---@param err? string they wait again; nil: the message was handed over
function M.ended(root, said, session, err)
  set(root, said, nil, err)
  if not err then
    for _, one in ipairs(said) do
      one.session = session
    end
    store.change(root, { sent = said })
  end
end

---The same, and tells the user.
---@param round claude-ide.comments.Round
---@param session? string that gets it
---@param err? string
function M.handed_over(round, session, err)
  M.ended(round.root, round.said, session, err)
  if err then
    notice.warn(("Comments not sent: %s."):format(err))
  else
    notice.info(("Sent %s to Claude."):format(counted(#round.said, "comment")))
  end
end

return M
