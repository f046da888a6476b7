-- Finds and highlights a match of `:Claude grep` in its message.

local lazy = require("claude-ide.lazy")
local grep_text = lazy("claude-ide.sessions.grep_text")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.transcript.match")

---A match as the search reports it.
---@class claude-ide.transcript.Match
---@field role claude-ide.sessions.Hit["role"]
---@field text string its line, possibly cut at both ends
---@field start integer byte in `text`, 0-based
---@field stop integer end
---@field before? string the line above
---@field after? string the line below
---@field nth integer which of identical matches, from 1

---Kinds of items that contain a role's text.
---@type table<claude-ide.sessions.Hit["role"], string>
local KINDS =
  { thinking = "thinking", tool_input = "tool", tool_result = "tool", prompt = "text", reply = "text" }

---A piece of a line as the transcript shows it, with surrounding blanks.
---@param piece string
---@return string
local function shown(piece)
  return ((native.plain_lines("." .. piece .. ".") or {})[1] or ".."):sub(2, -2)
end

---Whether a line is the reported neighbour of the match.
---@param line? string
---@param neighbour string empty: none, or an empty line
---@return boolean
local function is_beside(line, neighbour)
  if not line or not line:find("%S") then
    return not neighbour:find("%S")
  end
  return neighbour ~= "" and vim.endswith(line, neighbour)
end

---@class claude-ide.transcript.MatchPlace
---@field line integer of the row's text, 0-based
---@field col integer byte
---@field end_col integer

---Locates a match in the items of its message by the most similar line. Pure.
---@param items claude-ide.transcript.Item[]
---@param match claude-ide.transcript.Match
---@return claude-ide.transcript.MatchPlace?
function M.find(items, match)
  local text = match.text:gsub("\r+$", "")
  local lead, word = shown(text:sub(1, match.start)), shown(text:sub(match.start + 1, match.stop))
  local rest = shown(text:sub(match.stop + 1))
  if word == "" then
    return nil
  end
  local best ---@type claude-ide.transcript.MatchPlace?
  local best_score, left, first = 0, 0, 0 ---@type integer, integer, integer
  local before, after = shown(match.before or ""), shown(match.after or "")
  for _, item in ipairs(items) do
    for at, line in ipairs(item.lines) do
      local from = line:find(lead .. word .. rest, 1, true)
      local col = from and from - 1 + #lead
      local score = from and 100 or 0 ---@type integer
      if not col then
        from = line:find(word, 1, true)
        col, score = from and from - 1, 10
      end
      if col then
        score = score
          + (KINDS[match.role] == item.kind and 40 or 0)
          + (vim.trim(line) == vim.trim(lead .. word .. rest) and 20 or 0)
          + (is_beside(item.lines[at - 1], before) and 5 or 0)
          + (is_beside(item.lines[at + 1], after) and 5 or 0)
        if score > best_score then
          best, best_score, left = nil, score, match.nth
        end
        if score == best_score then
          left = left - 1
          if left == 0 or not best then
            best = { line = first + at - 1, col = col, end_col = col + #word }
          end
        end
      end
    end
    first = first + #item.lines
  end
  return best
end

---The line that offers the omitted part of a message, where the match is then.
---@param items claude-ide.transcript.Item[]
---@return integer? line
local function more_line(items)
  local first = 0
  for _, item in ipairs(items) do
    for _, target in ipairs(item.targets) do
      if target.type == "more" then
        return first + target.first
      end
    end
    first = first + #item.lines
  end
  return nil
end

---@param view claude-ide.transcript.View
---@param lnum integer from 1
---@param place claude-ide.transcript.MatchPlace
local function light(view, lnum, place)
  vim.api.nvim_buf_set_extmark(view.buf, namespace, lnum - 1, place.col, {
    end_col = place.end_col,
    hl_group = "ClaudeGrepMatch",
    priority = 200,
    strict = false,
  })
end

---Clears the highlight once the cursor leaves its line.
---@param view claude-ide.transcript.View
function M.moved(view)
  local marks = vim.api.nvim_buf_get_extmarks(view.buf, namespace, 0, -1, { limit = 1 })
  if marks[1] and marks[1][2] ~= vim.api.nvim_win_get_cursor(0)[1] - 1 then
    vim.api.nvim_buf_clear_namespace(view.buf, namespace, 0, -1)
  end
end

---Moves to the match in the current window.
---@param view claude-ide.transcript.View
---@param row integer rendered
---@param match claude-ide.transcript.Match
function M.go(view, row, match)
  vim.api.nvim_buf_clear_namespace(view.buf, namespace, 0, -1)
  local rendered = view.canvas.rows[row]
  if not rendered then
    return
  end
  local place = M.find(rendered.items, match)
  local line = place and place.line or more_line(rendered.items)
  if not line then
    return
  end
  grep_text.define()
  local lnum = view.canvas:before(row) + line + 1
  vim.api.nvim_win_set_cursor(0, { lnum, place and place.col or 0 })
  vim.cmd("normal! zvzz")
  if place then
    light(view, lnum, place)
  else
    notice.info("The match is in hidden text: Enter shows it.")
  end
end

return M
