-- Reads files from windows of other plugins and of the quickfix list, one row per filetype. Loads nothing of a plugin before
-- the user is in its window. Each row names the plugin's commit that it was written against.
local lazy = require("claude-ide.lazy")
local netrw = lazy("claude-ide.context.mention.netrw")
local paths = lazy("claude-ide.base.path")

local M = {}

local NOT_LOCAL = "This folder is not on this machine, so Claude cannot read it."
local NO_PICKER = "This is not a window of an open picker."

---A module of a plugin, untyped.
local function plugin(name)
  return require(name)
end

local function entry(path, first, last)
  return { path = path, first = first, last = first and (last or first) }
end

---The files on a range of lines, without duplicates.
---@param path_on fun(lnum: integer): any path, if any
---@return claude-ide.mention.Entry[]
local function on_lines(first, last, path_on)
  local found, seen = {}, {}
  for lnum = first, last do
    local path = path_on(lnum)
    if path and not seen[path] then
      seen[path] = true
      found[#found + 1] = entry(path)
    end
  end
  return found
end

---`on_lines` for a plugin that only reports the line under the cursor.
---@param path_here fun(): any
local function under_cursor(first, last, path_here)
  local view = vim.fn.winsaveview()
  local found = on_lines(first, last, function(lnum)
    vim.api.nvim_win_set_cursor(0, { lnum, 0 })
    return path_here()
  end)
  vim.fn.winrestview(view)
  return found
end

---The files on these lines of the current window. Without a range: the marked files, or else the cursor's.
---@alias claude-ide.mention.Explorer fun(first: integer, last: integer, is_range: boolean): claude-ide.mention.Entry[]?, string?

---@type table<string, claude-ide.mention.Explorer> by filetype
local EXPLORERS = {}

-- 4213bd6 (2026-07-16), documented since 2022: no public function maps a line to its node.
function EXPLORERS.NvimTree(first, last, is_range)
  local api = plugin("nvim-tree.api")
  local marks = not is_range and api.marks.list() or {}
  if #marks > 0 then
    return on_lines(1, #marks, function(i)
      return marks[i].absolute_path
    end)
  end
  return under_cursor(first, last, function()
    local node = api.tree.get_node_under_cursor()
    return node and node.name ~= ".." and node.absolute_path
  end)
end

-- 5e076e5 (2026-08-18): `tree` is a NuiTree; in newer versions `selected` has the ids of marked nodes.
EXPLORERS["neo-tree"] = function(first, last, is_range)
  local manager = plugin("neo-tree.sources.manager")
  local state = manager.get_state_for_window(vim.api.nvim_get_current_win())
  if not state or not state.tree then
    return nil, "neo-tree has not drawn its tree yet."
  end
  local function path_of(id)
    local node = state.tree:get_node(id)
    return node and (node.type == "file" or node.type == "directory") and node.path
  end
  local ids = not is_range and vim.tbl_keys(state.selected or {}) or {}
  table.sort(ids)
  local marked = on_lines(1, #ids, function(i)
    return path_of(ids[i])
  end)
  return #marked > 0 and marked or on_lines(first, last, path_of)
end

-- b91ee5a (2026-05-24). An unsaved line has no id and no file; `..` is listed with hidden files.
function EXPLORERS.oil(first, last)
  local oil, buf = plugin("oil"), vim.api.nvim_get_current_buf()
  local dir = oil.get_current_dir(buf)
  if not dir then
    return nil, NOT_LOCAL
  end
  return on_lines(first, last, function(lnum)
    local line = oil.get_entry_on_line(buf, lnum)
    return line and line.id and line.name and line.name ~= ".." and dir .. line.name
  end)
end

-- b5bae7d (2025-08-29): nil for a line without a file.
function EXPLORERS.minifiles(first, last)
  local buf = vim.api.nvim_get_current_buf()
  return on_lines(first, last, function(lnum)
    local line = plugin("mini.files").get_fs_entry(buf, lnum)
    return line and line.path
  end)
end

-- b271c7a (2026-03-03): lines contain "/00012", the number of their entry. An unsaved one has none.
function EXPLORERS.fyler(first, last)
  local parse = plugin("fyler.views.finder.helper").parse_ref_id
  local manager = plugin("fyler.views.finder.files.manager")
  return on_lines(first, last, function(lnum)
    local number = parse(vim.api.nvim_buf_get_lines(0, lnum - 1, lnum, false)[1])
    local found = number and manager.get(number)
    return found and (found.link or found.path)
  end)
end

-- 61b51c0 (2025-07-15): `fugitive#GX()` returns the file of the cursor's line, else the word under the cursor; for a commit the work
-- tree.
function EXPLORERS.fugitive(first, last)
  local normalize = paths.normalize
  return under_cursor(first, last, function()
    local path = vim.fn["fugitive#GX"]()
    if type(path) ~= "string" or path == "" then
      return nil
    end
    path = normalize(vim.fn.fnamemodify(path, ":p"))
    return path ~= normalize(vim.fn.FugitiveWorkTree()) and vim.uv.fs_stat(path) and path
  end)
end

function EXPLORERS.netrw(first, last, is_range)
  if not paths.is_plain(vim.b.netrw_curdir or "") then
    return nil, NOT_LOCAL
  end
  return vim.tbl_map(entry, netrw.paths(first, last, is_range))
end

---The quickfix window and location lists: lines are files, most with a position.
function EXPLORERS.qf(first, last)
  local win = vim.api.nvim_get_current_win()
  local is_loclist = vim.fn.getwininfo(win)[1].loclist == 1
  local found = {}
  for _, item in
    ipairs(vim.list_slice(is_loclist and vim.fn.getloclist(win) or vim.fn.getqflist(), first, last))
  do
    local is_buffer = item.bufnr > 0 and vim.api.nvim_buf_is_valid(item.bufnr)
    local path = is_buffer and vim.api.nvim_buf_get_name(item.bufnr) or ""
    if paths.is_plain(path) then
      local lnum = item.lnum > 0 and item.lnum or nil
      found[#found + 1] = entry(path, lnum, lnum and math.max(lnum, item.end_lnum or 0))
    end
  end
  return found
end

-- As of 2026-03-21. `pos` is valid only for an item with a `line`: buffers and recent files have one too.
local function snacks(first, last, is_range)
  local pickers = plugin("snacks").picker
  local picker = vim.iter(pickers.get()):find(function(one)
    return one:current_win()
  end)
  if not picker then
    return nil, NO_PICKER
  end
  local items, found = {}, {}
  if is_range and picker:current_win() == "list" then -- a range in the input is meaningless: it has one line
    for row = first, last do
      items[#items + 1] = picker.list:get(picker.list:row2idx(row))
    end
  else
    items = picker:selected({ fallback = true })
  end
  for _, item in ipairs(items) do
    local path = pickers.util.path(item)
    local lnum = item.line and item.pos and item.pos[1] > 0 and item.pos[1] or nil
    found[#found + 1] = path and entry(path, lnum, item.end_pos and item.end_pos[1])
  end
  return found
end
EXPLORERS.snacks_picker_list, EXPLORERS.snacks_picker_input = snacks, snacks

-- 7d32479 (2026-05-15), in its prompt: by a mapping (`<Cmd>ClaudeSend<CR>`) or in normal mode. `lnum` is valid only for an entry with
-- a `text`: buffers have one too.
function EXPLORERS.TelescopePrompt()
  local state = plugin("telescope.actions.state")
  local picker = state.get_current_picker(vim.api.nvim_get_current_buf())
  if not picker then
    return nil, "This is not the prompt of an open picker."
  end
  local found, marked = {}, picker:get_multi_selection()
  for _, one in ipairs(#marked > 0 and marked or { state.get_selected_entry() }) do
    local path = plugin("telescope.from_entry").path(one, false, false)
    if type(path) == "string" then
      local is_below = path:sub(1, 1) ~= "/" and type(one.cwd) == "string"
      found[#found + 1] = entry(is_below and one.cwd .. "/" .. path or path, one.text and one.lnum or nil)
    end
  end
  return found
end

-- ebe3dac (2025-06-24), by a mapping of its own (`mappings = { mention = { char = "<C-s>", func = function() vim.cmd.ClaudeSend()
-- end } }`): it takes all keys while open. An item is a path, "path\0line\0column\0text", or a table.
function EXPLORERS.minipick()
  local pick = plugin("mini.pick")
  local matches = pick.get_picker_matches()
  if not matches then
    return nil, NO_PICKER
  end
  local options = pick.get_picker_opts()
  local cwd = options and options.source and options.source.cwd or vim.fn.getcwd()
  local found = {}
  local marked = matches.marked or {}
  for _, item in ipairs(#marked > 0 and marked or { matches.current }) do
    local parts = type(item) == "string" and vim.split(item, "\0", { plain = true })
    local path = parts and parts[1] or type(item) == "table" and item.path
    if type(path) == "string" then
      path = path:gsub("^~", vim.uv.os_homedir() or "~")
      local lnum = parts and tonumber(parts[2]) or not parts and item.lnum or nil
      found[#found + 1] = entry(path:sub(1, 1) == "/" and path or cwd .. "/" .. path, lnum)
    end
  end
  return found
end

-- bd67efe (2025-10-31): `at({ row, column })` returns the `item` of a row, which may span several, or only a `node` for a group's
-- heading, whose item has the file. A range means its lines, without the groups' files.
function EXPLORERS.trouble(first, last, is_range)
  local buf = vim.api.nvim_get_current_buf()
  local open = vim.iter(plugin("trouble.view").get({ open = true })):find(function(one)
    return one.view.win.buf == buf
  end)
  if not open then
    return nil, "This is not a window of an open list."
  end
  local found, seen = {}, {}
  for row = first, last do
    local at = open.view:at({ row, 0 })
    local item = at.item or not is_range and at.node and at.node.item
    if item and not seen[item] then
      seen[item] = true
      local lnum = at.item and item.pos and item.pos[1] or nil
      found[#found + 1] = entry(item.filename, lnum, item.end_pos and item.end_pos[1])
    end
  end
  return found
end

---The files of an explorer: on the range's lines, or without one the marked files, else the one under the cursor.
---@param buf integer current
---@param range? { first: integer, last: integer }
---@return boolean is_explorer
---@return claude-ide.mention.Entry[]? entries
---@return string? err
function M.entries(buf, range)
  local explorer = EXPLORERS[vim.bo[buf].filetype]
  if not explorer then
    return false
  end
  local here = vim.api.nvim_win_get_cursor(0)[1]
  return true, explorer(range and range.first or here, range and range.last or here, range ~= nil)
end

return M
