-- netrw of Neovim 0.10 to 0.12. Its own function for the name under the cursor presses keys on banner lines, so this module parses the
-- lines, in each of the four styles; `netrw#Expose` returns the marked files. A name counts only if the file exists: the suffixes
-- `/`, `@`, `*`, `=`, `|` may be part of it.
local lazy = require("claude-ide.lazy")
local ide_path = lazy("claude-ide.base.path")

local M = {}

local LONG, WIDE, TREE = 1, 2, 3

---@return string? path existing
local function existing(path)
  for _, candidate in ipairs({ path, (path:gsub("[/@*=|]$", "")) }) do
    if vim.uv.fs_lstat(candidate) then
      return ide_path.normalize(candidate)
    end
  end
end

local function line_at(lnum)
  return vim.api.nvim_buf_get_lines(0, lnum - 1, lnum, false)[1] or ""
end

local function without_link_target(line)
  return (line:gsub("\t %-%->.*$", ""))
end

---Depth and name of a line of the tree; each level adds a bar and a blank.
---@return integer depth, string name
local function tree_line(line)
  local depth, rest = 0, without_link_target(line)
  while true do
    local after = rest:match("^| (.*)$") or rest:match("^│ (.*)$")
    if not after then
      return depth, rest
    end
    depth, rest = depth + 1, after
  end
end

---@return string? path
---@return boolean? top whether it is the root of the tree
local function tree_path(lnum)
  local depth, name = tree_line(line_at(lnum))
  local parts = { name }
  for above = lnum - 1, 1, -1 do
    if depth <= 1 then
      break
    end
    local its_depth, its_name = tree_line(line_at(above))
    if its_depth == depth - 1 then
      depth = its_depth
      table.insert(parts, 1, (its_name:gsub("/$", "")))
    end
  end
  local top = vim.w.netrw_treetop or vim.b.netrw_curdir
  if depth == 0 then
    return name ~= "../" and existing(top) or nil, true
  end
  return existing(top:gsub("/$", "") .. "/" .. table.concat(parts, "/"))
end

---Names on a line of the wide style: all, or the one at the cursor.
local function wide_names(line, only_cursor)
  local width = vim.b.netrw_cpf ---@type integer?
  if not width or width <= 0 then
    return { (line:gsub("%s+$", "")) }
  end
  local names, start = {}, 0
  if only_cursor then
    start = math.floor((vim.fn.virtcol(".") - 1) / width) * width --[[@as integer]]
  end
  repeat
    local name = vim.fn.strcharpart(line, start, width):gsub("%s+$", "")
    if name ~= "" then
      names[#names + 1] = name
    end
    start = start + width
  until only_cursor or start >= vim.fn.strchars(line)
  return names
end

---Files on a line. The listed folder itself counts only under the cursor: a range means its content.
---@return string[] paths
local function paths_on(lnum, only_cursor)
  if lnum < (vim.w.netrw_bannercnt or 0) then
    return {}
  end
  local line, style = line_at(lnum), vim.w.netrw_liststyle or vim.g.netrw_liststyle or 0
  if style == TREE then
    local path, top = tree_path(lnum)
    return path and (only_cursor or not top) and { path } or {}
  end
  local names = { without_link_target(line) }
  if style == LONG then
    -- Size and date follow two blanks, or one if the name is as long as its column.
    names = { line:match("^(.-)%s%s+%S") or line, line:match("^(.-)%s+%d+%s") }
  elseif style == WIDE then
    names = wide_names(line, only_cursor)
  end
  local found = {}
  for _, name in ipairs(names) do
    local is_name = name ~= "" and name ~= "../" and (name ~= "./" or only_cursor)
    local path = is_name and existing(vim.b.netrw_curdir .. "/" .. name)
    if path and not (style == LONG and #found > 0) then
      found[#found + 1] = path
    end
  end
  return found
end

local function marked()
  local ok, list = pcall(vim.fn["netrw#Expose"], "netrwmarkfilelist")
  if not ok or type(list) ~= "table" then
    return {}
  end
  return vim.iter(list):map(existing):totable() --[[@as string[] ]]
end

---Files on these lines; without a range the marked ones, if any.
---@param first integer
---@param last integer
---@param is_range boolean
---@return string[]
function M.paths(first, last, is_range)
  local paths = is_range and {} or marked()
  if #paths == 0 then
    for lnum = first, last do
      vim.list_extend(paths, paths_on(lnum, not is_range))
    end
  end
  return paths
end

return M
