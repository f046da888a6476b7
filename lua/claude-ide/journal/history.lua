-- The history of each file that Claude was about to edit: its text after every step, and whose step it was.
-- Invariant: what is still unreviewed is known from the last mark on, whatever older steps were dropped for space.
local M = {}

---A file with so many steps forgets its oldest.
local MAX_STEPS = 100

---@class claude-ide.journal.Step
---@field actor claude-ide.journal.Actor
---@field blob? integer nil: there was no file
---@field turn? integer of Claude's steps
---@field at? number `vim.uv.hrtime()` at which it was seen; nil: put in afterwards
---@field undone? table<integer, true> of an undo: the turns that it took changes back of
---@field mark? claude-ide.journal.Mark of an undo: what was unreviewed before it, while nothing else was decided since

---What was unreviewed at one step.
---@class claude-ide.journal.Mark
---@field at integer
---@field base integer the last step at which nothing was
---@field regions claude-ide.journal.Region[]

---@alias claude-ide.journal.Source
---| "announced" # by getDiagnostics, before the edit
---| "checkpoint" # found by comparing checkpoints of a git work tree
---| "transcript" # named in the session's transcript

---@class claude-ide.journal.History
---@field path string as it was named first
---@field real string with links followed
---@field steps claude-ide.journal.Step[]
---@field mark claude-ide.journal.Mark
---@field mark_before? claude-ide.journal.Mark of the step before the last, where that is known
---@field decided claude-ide.journal.Mark as it was when the user decided last, or at first
---@field turn? integer the turn that announced an edit and is not over: changes on disk are Claude's
---@field announced? number `vim.uv.hrtime()` at which that turn announced it
---@field undoing? table<integer, true> while an undo is being written: the turns it takes changes back of
---@field landing? { actor: "accepted"|"claude", turn: integer } while this editor writes it for Claude: whose that is
---@field revision integer another one after everything that changes what is known of it
---@field mode? integer permissions of the file, to make it again with
---@field source claude-ide.journal.Source
---@field secret boolean a file that is kept from Claude: its texts stay off the disk

---@type table<string, claude-ide.journal.History> by path with links followed
local histories = {}

---@param path string
---@return claude-ide.journal.History?
function M.find(path)
  if next(histories) == nil then
    return nil
  end
  return histories[require("claude-ide.path").real(path)]
end

---@param history claude-ide.journal.History
---@return boolean whether it was not forgotten
function M.knows(history)
  return histories[history.real] == history
end

---@return claude-ide.journal.History[] by path
function M.all()
  local list = vim.tbl_values(histories)
  table.sort(list, function(left, right)
    return left.path < right.path
  end)
  return list
end

---The bytes after a step; nil where there was no file.
---@param step claude-ide.journal.Step
---@return string?
function M.bytes(step)
  return require("claude-ide.journal.blob").get(step.blob)
end

---Another number after everything that changes what is known of a file.
---@param history claude-ide.journal.History
---@return integer
function M.state(history)
  return history.revision
end

local revision = 0

---@param history claude-ide.journal.History
local function changed(history)
  revision = revision + 1
  history.revision = revision
end

---Brings the mark up to the last step.
---@param history claude-ide.journal.History
local function fold(history)
  local steps = history.steps
  local from = history.mark
  if from.at >= #steps then
    return
  end
  for i = from.at + 1, #steps do
    from = steps[i].actor == "undo" and history.decided or from
  end
  local replay = require("claude-ide.journal.replay")
  history.mark, history.mark_before = replay.run(history, from, #steps, function(index)
    return steps[index].actor
  end)
end

---@param mark claude-ide.journal.Mark
---@return claude-ide.journal.Mark? with one step fewer before it; nil: its own step goes
local function shifted(mark)
  return mark.at > 1 and { at = mark.at - 1, base = math.max(mark.base - 1, 1), regions = mark.regions }
    or nil
end

---Forgets the oldest step; the mark never points at one that is gone.
---@param history claude-ide.journal.History
local function forget_oldest(history)
  fold(history)
  local old = table.remove(history.steps, 1)
  history.mark = shifted(history.mark) or history.mark
  history.mark_before = history.mark_before and shifted(history.mark_before)
  history.decided = shifted(history.decided) or history.mark
  changed(history)
  for _, step in ipairs(history.steps) do
    step.mark = step.mark and shifted(step.mark)
  end
  if old.blob then
    require("claude-ide.journal.blob").drop(old.blob)
  end
end

---Makes room: old steps of reviewed files first, then reviewed files, then old steps of others, then the others.
local function make_room()
  local is_full = require("claude-ide.journal.blob").is_full
  if not is_full() then
    return
  end
  for _, keep in ipairs({ 1, 0 }) do
    for _, reviewed_only in ipairs({ true, false }) do
      for key, history in pairs(histories) do
        fold(history)
        while is_full() and #history.steps > 1 and (not reviewed_only or #history.mark.regions == 0) do
          forget_oldest(history)
        end
        if
          is_full()
          and keep == 0
          and not history.turn
          and (not reviewed_only or #history.mark.regions == 0)
        then
          forget_oldest(history)
          histories[key] = nil
          require("claude-ide.journal.changed").tell(history)
        end
      end
    end
  end
end

---The user brought back what they had undone, by one undo or several: it is as if they had not.
---@param history claude-ide.journal.History
---@param bytes? string
---@return boolean done
local function take_undo_back(history, bytes)
  local steps, first = history.steps, nil
  for i = #steps, 2, -1 do
    if not steps[i].mark then
      break
    elseif M.bytes(steps[i - 1]) == bytes then
      first = i
    end
  end
  if not first then
    return false
  end
  history.mark = steps[first].mark --[[@as claude-ide.journal.Mark]]
  history.mark_before = nil
  for i = #steps, first, -1 do
    if steps[i].blob then
      require("claude-ide.journal.blob").drop(steps[i].blob)
    end
    steps[i] = nil
  end
  changed(history)
  return true
end

---When the files were copied last for a turn, and before that for another one: what a turn does to a file that was copied for
---another one since is a step of its own, or it could not be told from what that one does.
---@type { at: number, turn: integer }, { at: number, turn: integer }
local copied, copied_before = { at = 0, turn = 0 }, { at = 0, turn = 0 }

---A checkpoint of a turn was taken.
---@param turn integer
---@param at number `vim.uv.hrtime()`
function M.copied_for(turn, at)
  if copied.turn ~= turn then
    copied_before = copied
  end
  copied = { at = at, turn = turn }
end

---@param step claude-ide.journal.Step of a turn
---@return boolean whether the files were copied for another turn since
local function was_copied_since(step)
  local other = copied.turn ~= step.turn and copied or copied_before
  return (step.at or 0) < other.at
end

---Whether a file was seen in a text, and what became of it since is known, and later than a moment. What an announcement found
---may be anybody's.
---@param history claude-ide.journal.History
---@param bytes? string
---@param at number `vim.uv.hrtime()`
---@return boolean
function M.was_known(history, bytes, at)
  local steps = history.steps
  for i = #steps, 1, -1 do
    if M.bytes(steps[i]) == bytes then
      return true
    elseif steps[i].actor == "user" or (steps[i].at or 0) < at then
      return false
    end
  end
  return false
end

---Lets a step hold another text.
---@param history claude-ide.journal.History
---@param step claude-ide.journal.Step
---@param bytes? string
function M.hold(history, step, bytes)
  if step.blob then
    require("claude-ide.journal.blob").drop(step.blob)
  end
  step.blob = bytes and require("claude-ide.journal.blob").put(bytes, history.secret)
  changed(history)
end

---What Claude does to a file within one turn is one step, so that a file that was seen half written leaves no trace.
---@param history claude-ide.journal.History
---@param bytes? string
---@param turn? integer
---@param actor claude-ide.journal.Actor
---@return boolean done
function M.goes_on(history, bytes, turn, actor)
  local steps = history.steps
  local last = steps[#steps]
  if
    actor ~= "claude"
    or #steps < 2
    or last.actor ~= "claude"
    or last.turn ~= turn
    or history.decided.at >= #steps
    or was_copied_since(last)
  then
    return false
  end
  if history.mark.at >= #steps then
    local before = history.mark_before
    history.mark = before and before.at == #steps - 1 and before or history.decided
  end
  M.hold(history, last, bytes)
  return true
end

---Notes what a file holds now.
---@param history claude-ide.journal.History
---@param actor claude-ide.journal.Actor
---@param bytes? string nil: there is no file
---@param of? integer|table<integer, true> the turn of Claude's step; the turns that an undo is of
---@return boolean changed
function M.record(history, actor, bytes, of)
  local last = history.steps[#history.steps]
  if last and M.bytes(last) == bytes then
    return false
  elseif actor == "user" and take_undo_back(history, bytes) then
    return true
  elseif type(of) == "number" and M.goes_on(history, bytes, of, actor) then
    make_room()
    return true
  end
  local blob = bytes and require("claude-ide.journal.blob").put(bytes, history.secret)
  local step = { actor = actor, blob = blob, at = vim.uv.hrtime() }
  if type(of) == "table" then
    fold(history)
    step.undone, step.mark = of, history.mark
  else
    step.turn = of
  end
  history.steps[#history.steps + 1] = step
  changed(history)
  if #history.steps > MAX_STEPS then
    forget_oldest(history)
  end
  make_room()
  return true
end

---The history of a file; a new one begins with what the file holds now.
---@param path string
---@param bytes? string nil: there is no file yet
---@param source claude-ide.journal.Source
---@return claude-ide.journal.History
---@return boolean is_new
function M.open(path, bytes, source)
  local key = require("claude-ide.path").real(path)
  local history = histories[key]
  if history then
    return history, false
  end
  history = {
    path = path,
    real = key,
    steps = {},
    mark = { at = 1, base = 1, regions = {} },
    decided = { at = 1, base = 1, regions = {} },
    revision = 0,
    source = source,
    secret = require("claude-ide.privacy").denied_by(path) ~= nil,
  }
  histories[key] = history
  M.record(history, "user", bytes)
  return history, true
end

---How many steps count where a file holds something: those but for undos that the user took back without saving yet.
---@param history claude-ide.journal.History
---@param bytes? string what it holds now
---@return integer
function M.length(history, bytes)
  local steps, count = history.steps, #history.steps
  if M.bytes(steps[count]) == bytes then
    return count
  end
  for i = count, 2, -1 do
    if not steps[i].mark or not steps[i].blob then
      break -- nor is a file back before it is saved
    elseif M.bytes(steps[i - 1]) == bytes then
      count = i - 1
    end
  end
  return count
end

---@param history claude-ide.journal.History
---@param count integer of `M.length()`
---@return claude-ide.journal.Region[] of the text after so many steps
---@return integer first the first step that is not reviewed
function M.unreviewed(history, count)
  fold(history)
  local next_step = history.steps[count + 1]
  local mark = next_step and next_step.mark or history.mark
  return mark.regions, mark.base + 1
end

---Sets what is unreviewed of the text that was recorded last.
---@param history claude-ide.journal.History
---@param regions claude-ide.journal.Region[]
function M.set_unreviewed(history, regions)
  local last = #history.steps
  history.mark = { at = last, base = #regions == 0 and last or history.mark.base, regions = regions }
  history.decided, history.mark_before = history.mark, nil
  changed(history)
  for _, step in ipairs(history.steps) do
    step.mark = nil
  end
end

---Steps after the last decision were put in or are somebody else's now.
---@param history claude-ide.journal.History
function M.amended(history)
  history.mark, history.mark_before = history.decided, nil
  for _, step in ipairs(history.steps) do
    step.mark = nil
  end
  if history.decided.at == 1 then
    history.decided = { at = 1, base = 1, regions = {} }
    history.mark = history.decided
  end
  changed(history)
  make_room()
end

return M
