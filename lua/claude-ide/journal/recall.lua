-- Fits an edit that a transcript tells of into what is known of the file: what was seen already is not counted again, what
-- was taken for the user's is Claude's after all, what nobody saw is added where it belongs.
local M = {}

local BOM = "\239\187\191"

---The CLI tells of texts with line feeds and without byte order mark, whatever the file has.
---@type (fun(text: string): string)[]
local FORMS = {
  function(text)
    return text
  end,
  function(text)
    return (text:gsub("\r?\n", "\r\n"))
  end,
  function(text)
    return BOM .. text
  end,
  function(text)
    return BOM .. text:gsub("\r?\n", "\r\n")
  end,
}

---@class claude-ide.journal.Told an edit, as the transcript tells of it
---@field path string
---@field before? string nil: the file was made
---@field after string
---@field turn integer
---@field by_user boolean the user changed what was proposed, so they have seen it

---@return table
local function histories()
  return require("claude-ide.journal.history")
end

---The edit in the bytes that the file has.
---@param told claude-ide.journal.Told
---@param steps (string?)[] what the file is known to have held
---@param current? string what it holds now
---@return string? before
---@return string after
local function in_bytes(told, steps, current)
  local function known(text)
    return text == current or vim.tbl_contains(steps, text)
  end
  for _, form in ipairs(FORMS) do
    local before, after = told.before and form(told.before), form(told.after)
    if known(after) or (before and known(before)) then
      return before, after
    end
  end
  local has_bom = current ~= nil and current:sub(1, 3) == BOM
  local form = FORMS[(has_bom and 2 or 0) + (current and current:find("\r\n", 1, true) and 2 or 1)]
  return told.before and form(told.before), form(told.after)
end

---The same text may have been there before: Claude does once more what was undone.
---@param steps claude-ide.journal.Step[]
---@param turn integer
---@return integer index of the last step of an earlier turn of the same client; 0: there is none
local function last_of_earlier_turns(steps, turn)
  local turns = require("claude-ide.journal.turns")
  local client = (turns.get(turn) or {}).client
  for i = #steps, 1, -1 do
    local other = steps[i].turn
    if other and other < turn and (turns.get(other) or {}).client == client then
      return i
    end
  end
  return 0
end

---@param history claude-ide.journal.History
---@param told claude-ide.journal.Told
---@param before? string
---@param after string
---@param current? string
---@return boolean changed
local function amend(history, told, before, after, current)
  local steps, first = history.steps, history.decided.at
  local who = told.by_user and "accepted" or "claude"
  local known_turn, from, to = false, 0, 0
  local earlier = last_of_earlier_turns(steps, told.turn)
  local texts = {} ---@type table<integer, string?>
  for i = 1, #steps do
    texts[i] = histories().bytes(steps[i])
    known_turn = known_turn or steps[i].turn == told.turn
    if i >= first and i >= earlier and texts[i] == before then
      from = i
    end
    if i >= first and i > earlier and to == 0 and texts[i] == after then
      to = i
    end
  end
  local reviewed = to == first and to > 1
  if reviewed or (to > 0 and steps[to].actor ~= "user") then
    return false -- seen as it happened
  elseif to > 0 then
    if to == 1 or texts[to - 1] ~= before then
      require("claude-ide.journal.steps").insert(history, to, { actor = "user" }, before)
      to = to + 1
    end
    steps[to].actor, steps[to].turn = who, told.turn
  elseif from == #steps and histories().goes_on(history, after, told.turn, who) then
    return true
  elseif from > 0 and (from == #steps or steps[from + 1].actor == "user") then
    local goes_on = who == "claude" and steps[from].actor == who and steps[from].turn == told.turn
    if goes_on and from > first and from < #steps then
      histories().hold(history, steps[from], after) -- what stands behind it was seen on disk before this was told
    else
      require("claude-ide.journal.steps").insert(history, from + 1, { actor = who, turn = told.turn }, after)
    end
  elseif from == 0 and not known_turn and current == after then
    require("claude-ide.journal.steps").insert(history, #steps + 1, { actor = "user" }, before)
    require("claude-ide.journal.steps").insert(history, #steps + 1, { actor = who, turn = told.turn }, after)
  else
    return false -- a part of what was seen, or of what nobody knows any more
  end
  histories().amended(history)
  return true
end

---@param told claude-ide.journal.Told
---@return boolean changed
function M.edit(told)
  local observe = require("claude-ide.journal.observe")
  if math.max(#told.after, #(told.before or "")) > observe.MAX_BYTES then
    return false
  end
  local current, why_not = require("claude-ide.file").read_now(told.path, observe.MAX_BYTES)
  if not current and why_not ~= "missing" then
    return false
  end
  local history = histories().find(told.path)
  local texts = {}
  for i, step in ipairs(history and history.steps or {}) do
    texts[i] = histories().bytes(step)
  end
  local before, after = in_bytes(told, vim.tbl_values(texts), current)
  if observe.was_accepted(told.path, after) then
    told.by_user = true
  end
  if not history then
    history = histories().open(told.path, before, "transcript")
    histories().record(history, told.by_user and "accepted" or "claude", after, told.turn)
  elseif not amend(history, told, before, after, current) then
    return false
  end
  observe.announce(history, told.turn, told.by_user and "accepted" or "claude")
  return true
end

---What became of a file after all edits that are told of.
---@param path string
function M.look(path)
  local history = histories().find(path)
  if history then
    require("claude-ide.journal.observe").look_now(history)
  end
end

return M
