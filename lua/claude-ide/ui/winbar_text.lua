-- Fits a winbar into its window by shortening pieces, lowest rank first: the words of hints, then whole pieces. Neovim
-- would cut words and keys in half.
local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local ide_width = lazy("claude-ide.base.width")
local key_list = lazy("claude-ide.ui.key_list")
local window = lazy("claude-ide.base.window")

local M = {}

---@alias claude-ide.ui.Text { [1]: string, [2]: string, [3]?: string } highlight group, text, and keys that a click on it types

---@class claude-ide.ui.Piece
---@field rank number lower ones are shortened first
---@field texts claude-ide.ui.Text[] none: nothing is shown
---@field short? claude-ide.ui.Text what stays in a first round of shortening, such as a hint's key without its words
---@field early? boolean shortened along with the words of hints
---@field reduced? fun(space: integer): claude-ide.ui.Text[] shortens to so many columns; default: drops it
---@field right? boolean right-aligned

---Minimum columns of a shortened name.
local MIN_NAME = 6

local function width_of(text)
  return vim.fn.strdisplaywidth(text)
end

---@param piece claude-ide.ui.Piece
---@return integer columns
local function piece_width(piece)
  local width = 0
  for _, text in ipairs(piece.texts) do
    width = width + width_of(text[2])
  end
  return width
end

---Formats and escapes a text for 'winbar'.
---@param group string
---@param text string
---@return string
function M.part(group, text)
  local shown = vim.fn.strtrans(text):gsub("%%", "%%%%")
  return ("%%#%s#%s"):format(group, shown)
end

---Keys that clicks type, by the number that Neovim gives to the handler.
---@type string[]
local clicked = {}

---@param lhs string
---@return integer
local function number_of(lhs)
  for number, known in ipairs(clicked) do
    if known == lhs then
      return number
    end
  end
  clicked[#clicked + 1] = lhs
  return #clicked
end

---Handles a click on a hint: as if its keys were typed in that window.
---@param number integer
---@param _ integer clicks
---@param button string
function M.click(number, _, button)
  local win, lhs = vim.fn.getmousepos().winid, clicked[number]
  if button == "l" and lhs and vim.api.nvim_win_is_valid(win) then
    window.enter(win)
    vim.api.nvim_input(lhs .. (lhs:find("^:") and "<CR>" or ""))
  end
end

---@param text claude-ide.ui.Text
---@return string
local function clickable(text)
  local part = M.part(text[1], text[2])
  if not text[3] then
    return part
  end
  return ("%%%d@v:lua.require'claude-ide.ui.winbar_text'.click@%s%%X"):format(number_of(text[3]), part)
end

---A piece that is cut after any character, with an ellipsis.
---@param rank number
---@param group string
---@param name string
---@return claude-ide.ui.Piece
function M.name(rank, group, name)
  local shown = " " .. vim.fn.strtrans(name)
  return {
    rank = rank,
    texts = { { group, shown } },
    reduced = function(space)
      local cut = ide_width.beginning(shown, space)
      return width_of(cut) >= MIN_NAME and { { group, cut .. "…" } } or {}
    end,
  }
end

---The name of a file, without its folder.
---@param rank integer
---@param path string
---@return claude-ide.ui.Piece
function M.file(rank, path)
  return M.name(rank, "ClaudeDiffFile", vim.fs.basename(path))
end

---@class claude-ide.ui.HintOpts
---@field group? "ClaudeTranscript" default: "ClaudeDiff"
---@field whole? boolean it keeps its words

---A key and what it does, on the right. Nothing is shown if no key is mapped.
---@param rank integer
---@param keys string|string[]|false
---@param what string
---@param opts? claude-ide.ui.HintOpts
---@return claude-ide.ui.Piece
function M.hint(rank, keys, what, opts)
  local lhs, group = key_list.keys(keys)[1], opts and opts.group
  if not lhs then
    return { rank = rank, texts = {} }
  end
  local key = { (group or "ClaudeDiff") .. "Key", " " .. lhs, lhs }
  local words = { group and group .. "Fact" or "ClaudeDiffHint", " " .. what .. " ", lhs }
  return {
    rank = rank,
    right = true,
    texts = { key, words },
    short = not (opts and opts.whole) and key or nil,
  }
end

---A piece that is cut between words, with an ellipsis.
---@param rank integer
---@param group string
---@param text string
---@return claude-ide.ui.Piece
function M.sentence(rank, group, text)
  local shown = vim.fn.strtrans(text)
  return {
    rank = rank,
    texts = { { group, " " .. shown .. " " } },
    reduced = function(space)
      local cut = shown ---@type string?
      while cut and width_of(cut) + 3 > space do
        cut = cut:match("^(.*%S)%s+%S+$")
      end
      return cut and cut:find("%w") and { { group, " " .. cut .. "… " } } or {}
    end,
  }
end

---A warning of hidden characters and runs of blanks in a text to be approved.
---@param rank integer
---@param count? integer
---@return claude-ide.ui.Piece?
function M.hidden(rank, count)
  if not count or count == 0 then
    return nil
  end
  return M.sentence(rank, "ClaudeDiffHidden", "hidden text in " .. counted(count, "place"))
end

---@param pieces claude-ide.ui.Piece[]
---@param width integer columns available
local function reduce(pieces, width)
  local total, order = 0, {}
  for i, piece in ipairs(pieces) do
    total = total + piece_width(piece)
    order[i] = piece
  end
  table.sort(order, function(a, b)
    return a.rank < b.rank
  end)
  for _, is_first in ipairs({ true, false }) do
    for _, piece in ipairs(order) do
      if total <= width then
        return
      end
      if piece.short or piece.early or not is_first then
        local others = total - piece_width(piece)
        if piece.short and is_first then
          piece.texts = { piece.short }
        else
          piece.texts = piece.reduced and piece.reduced(width - others) or {}
        end
        total = others + piece_width(piece)
      end
    end
  end
end

---@param pieces claude-ide.ui.Piece[] from left to right, with distinct ranks
---@param width integer columns of the window
---@return string winbar
function M.winbar(pieces, width)
  reduce(pieces, width)
  local left, right = {}, {}
  for _, piece in ipairs(pieces) do
    local side = piece.right and right or left
    for _, text in ipairs(piece.texts) do
      side[#side + 1] = clickable(text)
    end
  end
  return table.concat(left) .. "%=" .. table.concat(right)
end

return M
