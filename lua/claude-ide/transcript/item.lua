-- An item: a piece of a message as lines, with what is to be coloured, folded and done there. Rows count from 0. Pure.

---@class claude-ide.transcript.Mark
---@field row integer
---@field col integer byte
---@field end_col integer byte; -1: to the end of the line
---@field group string
---@field eol? boolean colour what is right of the text, too
---@field behind? claude-ide.transcript.Chunk[] shown behind the text instead of a colour

---A text and its highlight group, as virtual text and 'foldtext' take it.
---@class claude-ide.transcript.Chunk
---@field [1] string
---@field [2] string

---@class claude-ide.transcript.Fold
---@field key string names it within its item
---@field first integer
---@field last integer
---@field closed boolean at first
---@field left claude-ide.transcript.Chunk[] what its line says; the first but one gives way where there is no room
---@field right claude-ide.transcript.Chunk[] at the right edge

---Text of a language, to be coloured when there is time.
---@class claude-ide.transcript.Prose
---@field row integer
---@field count integer lines
---@field indent integer bytes before each line
---@field language string "markdown", "prompt" (see `pieces`), or that of code
---@field fence? claude-ide.transcript.Fence the code that it begins in, where a text goes on from another row
---@field painted? integer pieces that are coloured
---@field is_done? boolean all are
---@field has_table? boolean how that is drawn depends on the windows' width
---@field pieces? claude-ide.transcript.Pieces kept where the text may go on
---@field mark? claude-ide.transcript.PiecesMark before the line where it does

---What Enter and `gf` do on a line.
---@class claude-ide.transcript.Target
---@field type "edit"|"file"|"agent"|"more"|"branch"
---@field tool_id? string edit, agent
---@field path? string file
---@field lnum? integer file
---@field source? string more: the key of the source that has it all
---@field message? integer more
---@field block? integer more: which of the message's blocks, from 1
---@field argument? string more: which of a call's, where it is no result
---@field agent? claude-ide.sessions.Agent agent
---@field call? boolean agent: the line of the call that started it
---@field first? integer agent: first message, where it lies in the same file

---@class claude-ide.transcript.Item
---@field key string names it when its message is shown anew
---@field kind "gap"|"heading"|"text"|"thinking"|"tool"|"note"
---@field edit? boolean
---@field code? string the command of a call
---@field lines string[]
---@field marks claude-ide.transcript.Mark[]
---@field folds claude-ide.transcript.Fold[] inner ones before those around them
---@field prose claude-ide.transcript.Prose[]
---@field targets table<integer, claude-ide.transcript.Target> by row
---@field open_end? claude-ide.transcript.OpenEnd where its text may go on
local Item = {}
Item.__index = Item

---Most lines of one text: the rest is behind a line that tells how much it is.
local MAX_LINES = 1000

---@param kind string
---@param key string
---@return claude-ide.transcript.Item
function Item.new(kind, key)
  return setmetatable({
    key = key,
    kind = kind,
    lines = {},
    marks = {},
    folds = {},
    prose = {},
    targets = {},
  }, Item)
end

---@param row integer
---@param group string
---@param col? integer
---@param end_col? integer
function Item:mark(row, group, col, end_col)
  self.marks[#self.marks + 1] = { row = row, col = col or 0, end_col = end_col or -1, group = group }
end

---Adds a line.
---@param text string
---@param group? string
---@param col? integer where the colour begins
---@return integer row
function Item:line(text, group, col)
  self.lines[#self.lines + 1] = text
  local row = #self.lines - 1
  if group and #text > (col or 0) then
    self:mark(row, group, col)
  end
  return row
end

---Adds a line of coloured pieces.
---@param chunks claude-ide.transcript.Chunk[]
---@return integer row
function Item:chunks(chunks)
  local row, col = #self.lines, 0
  for _, chunk in ipairs(chunks) do
    if chunk[2] ~= "" and chunk[1] ~= "" then
      self:mark(row, chunk[2], col, col + #chunk[1])
    end
    col = col + #chunk[1]
  end
  return self:line(table.concat(vim.tbl_map(function(chunk)
    return chunk[1]
  end, chunks)))
end

---Adds lines.
---@param lines string[]
---@param indent integer cells before each that is not empty
---@param group? string
---@param language? string "markdown", "sh", …: coloured later
---@param most? integer
---@return integer left out, because they are too many
function Item:block(lines, indent, group, language, most)
  local blanks, row = (" "):rep(indent), #self.lines
  local count = math.min(#lines, most or MAX_LINES)
  for at = 1, count do
    local text = lines[at]
    self:line(text == "" and "" or blanks .. text, group, indent)
  end
  if language and count > 0 then
    self.prose[#self.prose + 1] = { row = row, count = count, indent = indent, language = language }
  end
  return #lines - count
end

---Adds a line that leads to the whole of what is cut short.
---@param context claude-ide.transcript.Context
---@param block integer which of the message, from 1
---@param note? string what is cut; nil: nothing is
---@param indent integer
---@param argument? string of a call
function Item:more(context, block, note, indent, argument)
  if note then
    local row =
      self:line((" "):rep(indent) .. note .. " · Enter shows it all", "ClaudeTranscriptDim", indent)
    self.targets[row] = {
      type = "more",
      source = context.source,
      message = context.message,
      block = block,
      argument = argument,
    }
  end
end

---Folds the lines from a row to the last one, if there is more than one.
---@param key string
---@param first integer
---@param closed boolean
---@param left claude-ide.transcript.Chunk[]
---@param right? claude-ide.transcript.Chunk[]
function Item:fold(key, first, closed, left, right)
  if #self.lines - 1 > first then
    self.folds[#self.folds + 1] =
      { key = key, first = first, last = #self.lines - 1, closed = closed, left = left, right = right or {} }
  end
end

---Takes the lines of another item in, and all that belongs to them.
---@param other claude-ide.transcript.Item
---@param indent integer
function Item:adopt(other, indent)
  local from, blanks = #self.lines, (" "):rep(indent)
  for _, text in ipairs(other.lines) do
    self.lines[#self.lines + 1] = text == "" and "" or blanks .. text
  end
  for _, mark in ipairs(other.marks) do
    local end_col = mark.end_col < 0 and -1 or mark.end_col + indent
    self.marks[#self.marks + 1] = vim.tbl_extend("force", mark, {
      row = mark.row + from,
      col = mark.col + (other.lines[mark.row + 1] == "" and 0 or indent),
      end_col = end_col,
    })
  end
  for _, fold in ipairs(other.folds) do
    local left = vim.list_slice(fold.left)
    left[1] = { blanks .. left[1][1], left[1][2] }
    self.folds[#self.folds + 1] = vim.tbl_extend("force", fold, {
      key = other.key .. "/" .. fold.key,
      first = fold.first + from,
      last = fold.last + from,
      left = left,
    })
  end
  for _, prose in ipairs(other.prose) do
    self.prose[#self.prose + 1] =
      vim.tbl_extend("force", prose, { row = prose.row + from, indent = prose.indent + indent })
  end
  for row, target in pairs(other.targets) do
    self.targets[row + from] = target
  end
end

return Item
