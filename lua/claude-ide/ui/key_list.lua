-- The configured keys of a view: mapped, and listed in a floating window, in which any key only closes it. What a key does is the first
-- sentence of its option's text.
local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local config = lazy("claude-ide.config")
local key = lazy("claude-ide.ui.key")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local paths = lazy("claude-ide.base.path")
local text_float = lazy("claude-ide.ui.text_float")
local window = lazy("claude-ide.base.window")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.ui.key_list")

---Above every window that opens it.
local ZINDEX = 70
local WIDTH = 64

---@alias claude-ide.ui.key_list.Entry { [1]: string, [2]: string } keys and description

---@param option string|string[]|false|nil a value of the option `keymaps`
---@return string[]
function M.keys(option)
  return type(option) == "table" and option or (option and option ~= "" and { option } or {}) --[[@as string[] ]]
end

---@class claude-ide.ui.key_list.Option
---@field name string
---@field keys string[] none: no key is mapped
---@field desc string

---@param entries claude-ide.config.Entry[]
---@param name string
---@return claude-ide.config.Entry[]
local function fields_of(entries, name)
  return vim.iter(entries):find(function(entry)
    return entry[1] == name
  end).fields
end

---@param section string "diff"
---@return claude-ide.ui.key_list.Option[] options in the order of the help
function M.options(section)
  local keymaps = config.get()[section].keymaps ---@type table<string, string|string[]|false>
  local options = {} ---@type claude-ide.ui.key_list.Option[]
  for _, field in ipairs(fields_of(fields_of(require("claude-ide.config.schema"), section), "keymaps")) do
    local doc = field.doc:gsub(", see |.*", ".")
    local desc = doc:match("^(.-)%.%s") or doc:gsub("%.$", "")
    desc = desc:sub(1, 1):lower() .. desc:sub(2)
    options[#options + 1] =
      { name = field[1], keys = vim.list_extend({}, M.keys(keymaps[field[1]])), desc = desc }
  end
  return options
end

---@param section string
---@param name string
---@return claude-ide.ui.key_list.Option
function M.option(section, name)
  return vim.iter(M.options(section)):find(function(option)
    return option.name == name
  end)
end

---@param buf integer
---@param option claude-ide.ui.key_list.Option
---@param run fun()
---@param modes? string|string[] default: normal mode
function M.map(buf, option, run, modes)
  for _, lhs in ipairs(option.keys) do
    key.map(buf, lhs, option.desc, run, modes)
  end
end

---@param entries claude-ide.ui.key_list.Entry[]
---@param width integer
---@return string[] lines
---@return integer column of the descriptions
local function lines_of(entries, width)
  local widest = 0
  for _, entry in ipairs(entries) do
    widest = math.max(widest, #entry[1])
  end
  local lines = {}
  for _, entry in ipairs(entries) do
    local lead, rest = (" %-" .. widest .. "s  "):format(entry[1]), entry[2]
    while #rest > 0 do
      local room = math.max(width - widest - 4, 1)
      local line = #rest <= room and rest or rest:sub(1, room):match("^(.*)%s%S*$") or rest:sub(1, room)
      lines[#lines + 1] = lead .. line
      rest = vim.trim(rest:sub(#line + 1))
      lead = (" "):rep(widest + 3)
    end
  end
  return lines, widest + 1
end

---Tab lines show the focused window's buffer name, floats included: the list is named after the buffer beneath it.
local function called_after(of)
  local beneath = vim.api.nvim_get_current_buf()
  local path = buffer_marks.shown_path(beneath) or vim.api.nvim_buf_get_name(beneath)
  return paths.is_plain(path) and path or (of:gsub("^an? ", ""))
end

---@param lines string[]
---@param column integer of the descriptions
---@param opts claude-ide.ui.key_list.Opts
---@return integer buf
local function fill(lines, column, opts)
  local buf ---@type integer
  local function colour()
    for row, line in ipairs(lines) do
      if line:sub(2, 2) ~= " " then
        local mark = { end_col = math.min(column, #line), hl_group = opts.group }
        vim.api.nvim_buf_set_extmark(buf, namespace, row - 1, 0, mark)
      end
    end
  end
  buf = own_buffer.create({
    kind = "keys",
    name = { called_after(opts.of), "keys" },
    lines = lines,
    draw_again = colour,
    bo = { bufhidden = "wipe", modifiable = false },
  })
  colour()
  return buf
end

---@class claude-ide.ui.key_list.Opts
---@field of string what the keys are for: "a transcript"
---@field group string highlight group of the keys
---@field help? string[] the keys that opened it, which also close it

---The open list's window.
local shown ---@type integer?

---Call before the window beneath goes.
function M.close()
  local win = shown
  shown = nil
  window.close(win)
end

---Opens the list; it closes when it loses the focus.
---@param options claude-ide.ui.key_list.Option[]
---@param others claude-ide.ui.key_list.Entry[] other keys worth listing
---@param opts claude-ide.ui.key_list.Opts
function M.open(options, others, opts)
  M.close()
  local entries = {} ---@type claude-ide.ui.key_list.Entry[]
  for _, option in ipairs(options) do
    entries[#entries + 1] = option.keys[1] and { table.concat(option.keys, " "), option.desc } or nil
  end
  vim.list_extend(entries, others)
  local width = math.max(math.min(WIDTH, vim.o.columns - 4), 1)
  local lines, column = lines_of(entries, width)
  local buf = fill(lines, column, opts)
  local height = math.max(math.min(#lines, vim.o.lines - 4), 1)
  local win = text_float.open_centred(buf, width, height, {
    style = "minimal",
    title = (" Keys of %s "):format(opts.of),
    title_pos = "center",
    zindex = ZINDEX,
  })
  vim.wo[win][0].wrap = false
  shown = win
  local function close()
    if shown == win then
      M.close()
    end
  end
  for _, lhs in ipairs(vim.list_extend({ "q", "<Esc>", "g?", "<CR>" }, opts.help or {})) do
    key.map(buf, lhs, "close the list of keys", close)
  end
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = buf,
    once = true,
    desc = "Claude Code: close the list of keys when it loses the focus",
    callback = function()
      vim.schedule(close)
    end,
  })
end

---Maps `g?` in a buffer whose keys are no options: it lists those that are mapped there.
---@param buf integer
---@param of string
function M.map_help(buf, of)
  key.map(buf, "g?", "list the keys", function()
    local entries = {} ---@type claude-ide.ui.key_list.Entry[]
    for _, mapped in ipairs(vim.api.nvim_buf_get_keymap(buf, "n")) do
      local lhs, desc = mapped.lhs or "", (mapped.desc or ""):match("^Claude Code: (.*)")
      entries[#entries + 1] = desc and not lhs:find("^<Plug>") and { lhs, tostring(desc) } or nil
    end
    table.sort(entries, function(a, b)
      return a[1] < b[1]
    end)
    M.open({}, entries, { of = of, group = "Special" })
  end)
end

return M
