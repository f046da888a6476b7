-- What an agent wants allowed, line by line, for a user to decide by. Of what is long the beginning and the end are there, and
-- how much is left out, until all of it is asked for: however long it is, it is drawn at once, and nothing is allowed unread.
-- Invariant: nothing hides in it; runs of blanks and characters that show nothing are marked (unseen.lua). A page marks them itself.

---@class claude-ide.chat.AskedLines
---@field lines { [1]: string, [2]: string? }[]
---@field is_cut boolean something of it is left out
---@field private most integer lines of one
---@field private is_marked boolean
---@field private room claude-ide.transcript.Room
local AskedLines = {}
AskedLines.__index = AskedLines

---What is shown of all texts together, and lines of one.
local BYTES, LINES, LINES_OF_ONE = 32 * 1024, 500, 200
---For a page, which folds by itself: a frame takes 512 KiB, and in JSON a byte may be six.
local PAGE_BYTES = 80 * 1024
---Of the end of what is cut.
local END_BYTES, END_LINES = 1024, 5

---@alias claude-ide.chat.AskedLines.For "page"|"whole" nil: a window, whose beginning is seen at once

---@type table<claude-ide.chat.AskedLines.For, integer> bytes
local MOST = {
  page = PAGE_BYTES,
  whole = math.huge --[[@as integer]],
}

---@param what_for? claude-ide.chat.AskedLines.For
---@return claude-ide.chat.AskedLines
function AskedLines.new(what_for)
  local most = what_for and MOST[what_for] or BYTES
  local room =
    require("claude-ide.transcript.room").new(most, what_for and math.huge --[[@as integer]] or LINES)
  return setmetatable({
    lines = {},
    is_cut = false,
    is_marked = what_for ~= "page",
    most = what_for and math.huge or LINES_OF_ONE,
    room = room,
  }, AskedLines)
end

---@param text string
---@return string[]
local function lines_of(text)
  return vim.split((text:gsub("\n$", "")), "\n", { plain = true })
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
  local is_patch, unseen = type(group) == "function", require("claude-ide.unseen")
  local runs = (is_patch or sign ~= "") and unseen.CODE or unseen.WORDS
  local function put_all(lines)
    for _, line in ipairs(self.is_marked and unseen.lines(lines, runs, is_patch and "+ -" or nil) or lines) do
      put(line)
    end
  end
  local lines, note = self.room:lines(text, lines_of, self.most)
  put_all(lines)
  if not note then
    return
  end
  self.is_cut = true
  self.lines[#self.lines + 1] = { note .. ", which ends:", "ClaudeTranscriptNotice" }
  local last =
    lines_of((require("claude-ide.position").valid(text:sub(-END_BYTES)):gsub("^\239\191\189+", "")))
  put_all(vim.list_slice(last, math.max(#last - END_LINES, 0) + 1))
end

---@type table<string, string>
local SIGNS =
  { ["+"] = "ClaudeTranscriptAdded", ["-"] = "ClaudeTranscriptRemoved", ["@"] = "ClaudeTranscriptDim" }

---What differs between two texts; where they are long, the one and then the other.
---@param old? string nil: there was none
---@param new string
function AskedLines:add_change(old, new)
  local patch = old and require("claude-ide.diffview.patch_text").of(old, new)
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

---@param name string
---@param value any
---@param group? string
function AskedLines:add_argument(name, value, group)
  local shown, note = value, nil
  if type(value) ~= "string" then
    shown, note = self.room:json(value)
  end
  self:add(name .. shown, group)
  if note then
    self.is_cut = true
    self.lines[#self.lines + 1] = { note, "ClaudeTranscriptNotice" }
  end
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
