-- Which places of a text are code: neither in a comment nor in a string. By its syntax tree, else by its marks of comments and strings.
local M = {}

---@param name string type of a node
---@return boolean? is_code nil: look at the node around
local function verdict(name)
  if name:find("interpolation", 1, true) or name:find("substitution", 1, true) then
    return true
  elseif name:find("comment", 1, true) or name:find("string", 1, true) then
    return false
  end
end

---@return (fun(row: integer, col: integer): boolean)?
local function by_tree(buf)
  local ok, parser = pcall(vim.treesitter.get_parser, buf)
  local trees = ok and parser and select(2, pcall(parser.parse, parser))
  local root = type(trees) == "table" and trees[1] and trees[1]:root()
  if not root then
    return nil
  end
  return function(row, col)
    local node = root:descendant_for_range(row, col, row, col + 1)
    while node do
      local is_code = verdict(node:type())
      if is_code ~= nil then
        return is_code
      end
      node = node:parent()
    end
    return true
  end
end

local TRIPLE = { ['"""'] = true, ["'''"] = true }

---The marks of a language, by what its comments look like.
---@return string[] line comments
---@return boolean has_blocks
local function marks_of(buf)
  local leader = vim.bo[buf].commentstring:match("^%s*(.-)%s*%%s")
  if not leader or leader == "" or leader == "//" or leader == "/*" then
    return { "//" }, true
  end
  return { leader }, false
end

---Spans of a line that are no code.
---@param line string
---@param state { closer?: string } of a comment or a string over several lines
---@param marks string[]
---@param quotes table<string, boolean> of strings within a line
---@return integer[][] spans 0-based first column, exclusive last
local function spans_of(line, state, marks, has_blocks, quotes)
  local spans, col = {}, 1
  ---@param closer string
  local function close(first, from, closer)
    local at, last = line:find(closer, from, true)
    spans[#spans + 1] = { first - 1, last or #line }
    state.closer = not at and closer or nil
    col = (last or #line) + 1
  end
  if state.closer then
    close(1, 1, state.closer)
  end
  while col <= #line do
    local at = line:find("[^%w%s_]", col)
    if not at then
      break
    end
    local char, triple = line:sub(at, at), line:sub(at, at + 2)
    local is_comment = vim.iter(marks):any(function(mark)
      return line:sub(at, at + #mark - 1) == mark
    end)
    col = at + 1
    if is_comment then
      spans[#spans + 1] = { at - 1, #line }
      break
    elseif has_blocks and line:sub(at, at + 1) == "/*" then
      close(at, at + 2, "*/")
    elseif TRIPLE[triple] then
      close(at, at + 3, triple)
    elseif char == "`" and has_blocks then
      close(at, at + 1, "`")
    elseif quotes[char] then
      -- Without its other end in this line it is none, but an apostrophe.
      local last = at + 1
      while last <= #line and line:sub(last, last) ~= char do
        last = last + (line:sub(last, last) == "\\" and 2 or 1)
      end
      if last <= #line then
        spans[#spans + 1] = { at - 1, last }
        col = last + 1
      end
    end
  end
  return spans
end

---@return fun(row: integer, col: integer): boolean rows must not decrease
local function by_marks(buf)
  local marks, has_blocks = marks_of(buf)
  local quotes = { ['"'] = true, ["'"] = vim.bo[buf].filetype ~= "rust" } -- lifetimes
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  local at, state, spans = -1, {}, {} ---@type integer, { closer?: string }, integer[][]
  return function(row, col)
    while at < row do
      at = at + 1
      spans = spans_of(lines[at + 1] or "", state, marks, has_blocks, quotes)
    end
    return not vim.iter(spans):any(function(span)
      return span[1] <= col and col < span[2]
    end)
  end
end

---A function that tells whether a place is code. It is asked in the order of the rows.
---@param buf integer
---@return fun(row: integer, col: integer): boolean
function M.judge(buf)
  return by_tree(buf) or by_marks(buf)
end

return M
