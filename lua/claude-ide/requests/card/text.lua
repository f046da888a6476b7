-- The lines of a permission request. Long texts are cut to their beginning and end, with the number of omitted lines, until the user
-- requests the rest: drawing takes no time, and nothing is allowed unread.
-- Invariant: nothing is hidden; runs of blanks and invisible characters are marked (base/invisible_text.lua). A page marks them itself.

local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local invisible_text = lazy("claude-ide.base.invisible_text")
local patch_text = lazy("claude-ide.ui.diffview.patch_text")
local phrases = lazy("claude-ide.sessions.phrases")
local position = lazy("claude-ide.base.position")

---@class claude-ide.card.AskedLines
---@field lines { [1]: string, [2]: string? }[]
---@field is_cut boolean parts are omitted
---@field command? { first: integer, last: integer } lines of a shell's command
---@field private most number lines of one text
---@field private is_marked boolean
---@field private bytes number budget left, for all texts together; `math.huge`: all of it
---@field private count number lines left, likewise
local AskedLines = {}
AskedLines.__index = AskedLines

---Limits of all texts together, and lines of one.
local BYTES, LINES, LINES_OF_ONE = 32 * 1024, 500, 200
---Limit for a page, which folds long texts: a frame has 512 KiB, and a byte takes up to six in JSON.
local PAGE_BYTES = 80 * 1024
---The part shown of the end of a cut text.
local END_BYTES, END_LINES = 1024, 5

---@alias claude-ide.card.AskedLines.For "page"|"whole" nil: a window, which shows the beginning

---@type table<claude-ide.card.AskedLines.For, number> bytes
local MOST = {
  page = PAGE_BYTES,
  whole = math.huge,
}

---@param what_for? claude-ide.card.AskedLines.For
---@return claude-ide.card.AskedLines
function AskedLines.new(what_for)
  return setmetatable({
    lines = {},
    is_cut = false,
    is_marked = what_for ~= "page",
    most = what_for and math.huge or LINES_OF_ONE,
    bytes = what_for and MOST[what_for] or BYTES,
    count = what_for and math.huge or LINES,
  }, AskedLines)
end

local function lines_of(text)
  return vim.split((text:gsub("\n$", "")), "\n", { plain = true })
end

---The beginning of a text, cut between characters.
---@param text string
---@param most number bytes
---@return string
local function head_of(text, most)
  if most >= #text then
    return text -- LuaJIT takes `math.huge` as an index for 0
  end
  local last = math.floor(most)
  while last > 0 and text:byte(last + 1) >= 0x80 and text:byte(last + 1) < 0xC0 do
    last = last - 1
  end
  return text:sub(1, math.max(last, 0))
end

---Takes lines of a text from the budget.
---@private
---@param text string
---@return string[] lines
---@return string? note number of omitted lines
function AskedLines:take(text)
  local head = head_of(text, self.bytes)
  local lines, left = lines_of(head), #text - #head
  local most = math.floor(math.min(self.count, self.most, #lines))
  local over = #lines - most
  for at = #lines, most + 1, -1 do
    left = left > 0 and left + #lines[at] + 1 or 0
    lines[at] = nil
  end
  self.bytes, self.count = self.bytes - #head, self.count - #lines
  if left > 0 then
    return lines, ("… %s more"):format(phrases.size(left))
  end
  return lines, over > 0 and "… " .. counted(over, "more line") or nil
end

---@param text string
---@param group? string|fun(line: string): string?
---@param sign? string before each of its lines
function AskedLines:add(text, group, sign)
  sign = sign or ""
  local function put(line)
    local its = type(group) == "string" and group or nil
    if type(group) == "function" then
      its = group(line)
    end
    self.lines[#self.lines + 1] = { sign .. line, its }
  end
  local is_patch = type(group) == "function"
  local runs = (is_patch or sign ~= "") and invisible_text.CODE or invisible_text.WORDS
  local function put_all(lines)
    for _, line in
      ipairs(self.is_marked and invisible_text.lines(lines, runs, is_patch and "+ -" or nil) or lines)
    do
      put(line)
    end
  end
  local lines, note = self:take(text)
  put_all(lines)
  if not note then
    return
  end
  self.is_cut = true
  self.lines[#self.lines + 1] = { note .. ", which ends:", "ClaudeTranscriptNotice" }
  local last = lines_of((position.valid(text:sub(-END_BYTES)):gsub("^\239\191\189+", "")))
  put_all(vim.list_slice(last, math.max(#last - END_LINES, 0) + 1))
end

---@type table<string, string>
local SIGNS =
  { ["+"] = "ClaudeTranscriptAdded", ["-"] = "ClaudeTranscriptRemoved", ["@"] = "ClaudeTranscriptDim" }

---The difference between two texts; if they are long, one text and then the other.
---@param old? string nil: no such file
---@param new string
function AskedLines:add_change(old, new)
  local patch = old and patch_text.of(old, new)
  if patch and patch ~= "" then
    return self:add(patch, function(line)
      return SIGNS[line:sub(1, 1)]
    end)
  end
  if old then
    self:add(old, "ClaudeTranscriptRemoved", "-")
  end
  self:add(new, "ClaudeTranscriptAdded", "+")
end

---@return string
function AskedLines:text()
  return vim
    .iter(self.lines)
    :map(function(line)
      return line[1]
    end)
    :join("\n")
end

return AskedLines
