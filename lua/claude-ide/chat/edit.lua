-- An edit that the agent asks for, as a diff; and what the user made of it, as the arguments of the call.
-- Invariant: what is written is what was accepted. The CLI reads a file with LF line ends and a byte order mark as a character, so texts
-- are compared in that form. An Edit is given in it, too, and gets the line ends that the file has; a Write has those that it is given
-- (CLI 2.1.329).
local M = {}

local BOM, with_lf = require("claude-ide.buffer.bytes").BOM, require("claude-ide.buffer.bytes").with_lf

---A text with another piece in it.
---@param text string
---@param old string
---@param new string
---@param all boolean each time that it is there
---@return string? nil: it is not there, or not only there
function M.replaced(text, old, new, all)
  if old == "" then
    return vim.trim(text) == "" and new or nil
  end
  local pieces, from = {}, 1
  while true do
    local first, last = text:find(old, from, true)
    if not first then
      break
    elseif #pieces > 0 and not all then
      return nil
    end
    pieces[#pieces + 1] = text:sub(from, first - 1) .. new
    from = last + 1
  end
  if #pieces == 0 then
    return nil
  end
  pieces[#pieces + 1] = text:sub(from)
  return table.concat(pieces)
end

---@param text string
---@return string[] lines with their ends
local function lines_of(text)
  local lines = {}
  for line in text:gmatch("[^\n]*\n?") do
    if line ~= "" then
      lines[#lines + 1] = line
    end
  end
  return lines
end

---@param text string
---@param piece string
---@return boolean
local function is_once(text, piece)
  local first = piece ~= "" and text:find(piece, 1, true)
  return first and not text:find(piece, first + 1, true) or false
end

---The arguments of an Edit that makes one text of another: the lines that differ, and as many around them as make them the
---only ones of their kind.
---@param before string
---@param after string
---@return { old_string: string, new_string: string, replace_all: boolean }
function M.arguments(before, after)
  local old, new = lines_of(before), lines_of(after)
  local first, from_end = 1, 0
  while first <= #old and first <= #new and old[first] == new[first] do
    first = first + 1
  end
  while
    from_end < #old - first + 1
    and from_end < #new - first + 1
    and old[#old - from_end] == new[#new - from_end]
  do
    from_end = from_end + 1
  end
  local function piece(lines, above, below)
    return table.concat(lines, "", first - above, #lines - from_end + below)
  end
  local above, below = 0, 0
  local context = 0
  while not is_once(before, piece(old, above, below)) do
    if above == first - 1 and below == from_end then
      break
    end
    context = context == 0 and 1 or context * 2
    above, below = math.min(context, first - 1), math.min(context, from_end)
  end
  return { old_string = piece(old, above, below), new_string = piece(new, above, below), replace_all = false }
end

---Asks in words, where the edit cannot be shown.
---@param request claude-ide.chat.Request
local function ask_otherwise(request)
  local ask = request.otherwise or require("claude-ide.chat.permission").ask
  ask(request)
end

---What the call would make of the file.
---@param ask table
---@param before? string as the CLI reads it; nil: there is no such file
---@return string? after nil: it cannot be known
local function proposal(ask, before)
  local input = ask.input
  if ask.tool_name == "Write" then
    return type(input.content) == "string" and input.content or nil
  elseif type(input.old_string) ~= "string" or type(input.new_string) ~= "string" then
    return nil
  end
  return M.replaced(before or "", input.old_string, input.new_string, input.replace_all == true)
end

---What a file holds that is given a text: its byte order mark and its line ends are those that it had.
---@param held? string nil: there is no such file
---@param text string
---@return string bytes
function M.as_written(held, text)
  local before = held and with_lf(held)
  if not held or not before then
    return text
  elseif vim.startswith(before, BOM) and not vim.startswith(text, BOM) then
    text = BOM .. text
  end
  local is_crlf = before ~= held and not held:find("[^\r]\n")
  return is_crlf and (with_lf(text):gsub("\n", "\r\n")) or text
end

---@param request claude-ide.chat.Request
---@param disk claude-ide.diff.Disk
local function propose(request, disk)
  local ask = request.ask
  local path = ask.input.file_path
  local held = disk.bytes and require("claude-ide.buffer.bytes").text(disk.bytes)
  local before = held and with_lf(held)
  local after = not disk.problem and proposal(ask, before)
  if not after then
    return ask_otherwise(request)
  end
  -- The CLI keeps it.
  local bom = before and vim.startswith(before, BOM) and not vim.startswith(after, BOM)
  local proposed = M.as_written(held, after)
  request.changes = function(answer)
    local accepted = answer.contents or proposed
    if bom and vim.startswith(accepted, BOM) then
      accepted = accepted:sub(#BOM + 1)
    end
    if ask.tool_name == "Write" then
      return { content = accepted }
    end
    return M.arguments((bom and before and before:sub(#BOM + 1) or before) or "", with_lf(accepted))
  end
  require("claude-ide.ui.guard.keys").listen()
  request.proposed, request.held = proposed, disk.bytes
  require("claude-ide.diff").propose(request.chat.asker, request, {
    path = path,
    contents = proposed,
  })
end

---Asks the user for an edit.
---@param request claude-ide.chat.Request
function M.ask(request)
  local input = request.ask.input
  local path = type(input) == "table" and input.file_path
  if type(path) ~= "string" or path:sub(1, 1) ~= "/" then
    return ask_otherwise(request)
  end
  local reading = require("claude-ide.chat.reading")
  reading.begin(request)
  require("claude-ide.diff.present_text").read(
    path,
    require("claude-ide.safely").catch(function(disk)
      if reading.done(request) then
        propose(request, disk)
      end
    end, function(trace)
      require("claude-ide.log").error("an edit cannot be shown: %s", trace)
      ask_otherwise(request)
    end)
  )
end

return M
