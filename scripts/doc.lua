-- Generates doc/claude-ide.txt from doc/claude-ide.txt.in, the option schema, the command registry, the annotations of
-- lua/claude-ide/init.lua and doc/screens/; and lua/claude-ide/config/types.lua from the option schema.
-- Usage, from the top of the repository: nvim -l scripts/doc.lua [--check]
-- --check writes nothing, and fails if a file is not current.

local WIDTH = 78
local INDENT = "    "

package.path = "lua/?.lua;lua/?/init.lua;" .. package.path
local schema = require("claude-ide.config.schema")
local registry = require("claude-ide.command.registry")

---@param path string
---@return string
local function read(path)
  local file = assert(io.open(path, "r"))
  local text = file:read("*a")
  file:close()
  return text
end

---The pieces that a line is not broken in: words, and `code` with blanks, in which Neovim's help has no line breaks.
---@param text string
---@return string[]
local function pieces_of(text)
  local pieces, ticks = {}, 0
  for word in text:gmatch("%S+") do
    local is_within = ticks % 2 == 1
    ticks = ticks + select(2, word:gsub("`", ""))
    pieces[is_within and #pieces or #pieces + 1] = is_within and pieces[#pieces] .. " " .. word or word
  end
  return pieces
end

---@param text string
---@param indent string
---@return string[]
local function wrap(text, indent)
  local lines, line = {}, indent
  for _, word in ipairs(pieces_of(text)) do
    local longer = line == indent and line .. word or line .. " " .. word
    if vim.fn.strdisplaywidth(longer) > WIDTH and line ~= indent then
      lines[#lines + 1] = line
      longer = indent .. word
    end
    line = longer
  end
  lines[#lines + 1] = line
  return lines
end

---A title on the left, its tags on the right; on two lines if they are too long for one.
---@param title string
---@param tags string
---@return string[]
local function heading(title, tags)
  local marks = tags:gsub("%S+", "*%0*")
  local space = WIDTH - vim.fn.strdisplaywidth(title) - #marks
  if space < 2 then
    return { (" "):rep(WIDTH - #marks) .. marks, title }
  end
  return { title .. (" "):rep(space) .. marks }
end

-- ── The options ──

---@param entry claude-ide.config.Entry
---@return string
local function default_text(entry)
  if entry.shown then
    return entry.shown
  elseif entry.default == nil then
    return "not set"
  end
  return vim.inspect(entry.default, { newline = " ", indent = "" })
end

---@param entries claude-ide.config.Entry[]
---@param path string
---@param lines string[]
local function options(entries, path, lines)
  for _, entry in ipairs(entries) do
    local name = path .. entry[1]
    if entry[1] ~= "keymaps" then
      vim.list_extend(lines, heading(name, "claude-ide." .. name))
      vim.list_extend(lines, wrap(entry.doc, INDENT))
      if entry.kind then
        -- Without the blanks "|debug|" would be a link.
        local kind = entry.kind.luacats:gsub("|", " | ")
        vim.list_extend(lines, wrap(("Type: %s. Default: %s"):format(kind, default_text(entry)), INDENT))
      end
      lines[#lines + 1] = ""
      if entry.fields then
        options(entry.fields, name .. ".", lines)
      end
    end
  end
end

---The keys of one window: each key, the name of its option, and what it does; above them the option's tag.
---@param of string the option that has the `keymaps`
---@return string[]
local function keys(of)
  local rows, widest = {}, { 0, 0 }
  for _, option in ipairs(schema) do
    for _, group in ipairs(option[1] == of and option.fields or {}) do
      for _, key in ipairs(group[1] == "keymaps" and group.fields or {}) do
        local default = key.default or "(none)"
        local shown = type(default) == "table" and table.concat(default, " ") or default
        rows[#rows + 1] = { shown, key[1], key.doc }
        widest = { math.max(widest[1], #shown), math.max(widest[2], #key[1]) }
      end
    end
  end
  assert(#rows > 0, of)
  local lines = {}
  for _, row in ipairs(rows) do
    local lead = ("%s%s  %s  "):format(
      INDENT,
      row[1] .. (" "):rep(widest[1] - #row[1]),
      row[2] .. (" "):rep(widest[2] - #row[2])
    )
    local wrapped = wrap(row[3], (" "):rep(#lead))
    wrapped[1] = lead .. vim.trim(wrapped[1])
    local tag = ("*claude-ide.%s.keymaps.%s*"):format(of, row[2])
    lines[#lines + 1] = (" "):rep(WIDTH - #tag) .. tag
    vim.list_extend(lines, wrapped)
  end
  return lines
end

---All defaults as one table, to copy from.
---@param entries claude-ide.config.Entry[]
---@param indent string
---@param lines string[]
local function defaults(entries, indent, lines)
  for _, entry in ipairs(entries) do
    if entry.fields then
      lines[#lines + 1] = ("%s%s = {"):format(indent, entry[1])
      defaults(entry.fields, indent .. "  ", lines)
      lines[#lines + 1] = indent .. "},"
    elseif entry.default == nil then
      lines[#lines + 1] = ("%s%s = nil,"):format(indent, entry[1])
    else
      local line = ("%s%s = %s,"):format(indent, entry[1], default_text(entry))
      if #line <= WIDTH then
        lines[#lines + 1] = line
      else
        lines[#lines + 1] = ("%s%s = {"):format(indent, entry[1])
        local items = default_text(entry):gsub("^{ ", ""):gsub(" }$", ",")
        vim.list_extend(lines, wrap(items, indent .. "  "))
        lines[#lines + 1] = indent .. "},"
      end
    end
  end
end

-- ── The commands ──

---@return string[]
local function commands()
  local lines = {}
  for _, sub in ipairs(registry) do
    local title = ":Claude " .. sub.name .. (sub.args and " " .. sub.args or "")
    vim.list_extend(lines, heading(title, ":Claude-" .. sub.name))
    vim.list_extend(lines, wrap(sub.doc, INDENT))
    lines[#lines + 1] = ""
  end
  return lines
end

-- ── The functions ──

---@class claude-ide.doc.Function
---@field name string
---@field params string as in the source
---@field comment string[] the lines of its annotation, without "---"

---@param source string
---@return claude-ide.doc.Function[] functions
---@return table<string, string[]> classes name to its annotation
local function annotations(source)
  local functions, classes, comment = {}, {}, {}
  for line in source:gmatch("([^\n]*)\n") do
    local text = line:match("^%-%-%-(.*)$")
    if text then
      comment[#comment + 1] = text
    else
      local name, params = line:match("^function M%.(%w+)(%b())")
      local class = (comment[1] or ""):match("^@class (%S+)")
      if name then
        functions[#functions + 1] = { name = name, params = params, comment = comment }
      elseif class then
        classes[class] = vim.list_slice(comment, 2)
      end
      comment = {}
    end
  end
  return functions, classes
end

---@param lines string[]
---@param label string
---@param entries string[][] what, and its meaning
local function list(lines, label, entries)
  if #entries == 0 then
    return
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = INDENT .. label .. ": ~"
  for _, entry in ipairs(entries) do
    local text = entry[1] .. (entry[2] ~= "" and "  " .. entry[2] or "")
    local wrapped = wrap(text, INDENT .. "    ")
    wrapped[1] = INDENT .. "  • " .. vim.trim(wrapped[1])
    vim.list_extend(lines, wrapped)
  end
end

---Splits a type, which may contain blanks within brackets, from its description.
---@param text string
---@return string kind
---@return string meaning
local function split_type(text)
  local bracketed, meaning = text:match("^(%b{}%S*)%s*(.*)$")
  if bracketed then
    return bracketed, meaning or ""
  end
  local word, rest = text:match("^(%S+)%s*(.*)$")
  return word or "", rest or ""
end

---@param fn claude-ide.doc.Function
---@return string[]
local function describe(fn)
  local lines = heading(fn.name .. fn.params, ("claude-ide.%s()"):format(fn.name))
  local prose, params, returns = {}, {}, {}
  for _, text in ipairs(fn.comment) do
    local param, rest = text:match("^@param (%S+) (.+)$")
    local returned = text:match("^@return (.+)$")
    if param and rest then
      local kind, meaning = split_type(rest)
      params[#params + 1] =
        { ("{%s} (`%s`)"):format(param:gsub("%?$", ""), kind .. (param:match("%?$") or "")), meaning }
    elseif returned then
      local kind, meaning = split_type(returned)
      returns[#returns + 1] = { ("(`%s`)"):format(kind), meaning }
    else
      prose[#prose + 1] = text
    end
  end
  vim.list_extend(lines, wrap(table.concat(prose, " "), INDENT))
  list(lines, "Parameters", params)
  list(lines, "Returns", returns)
  lines[#lines + 1] = ""
  return lines
end

---@return string[]
local function functions()
  local lines = {}
  local found = annotations(read("lua/claude-ide/init.lua"))
  local _, classes = annotations(read("lua/claude-ide/status.lua"))
  for _, fn in ipairs(found) do
    vim.list_extend(lines, describe(fn))
  end
  vim.list_extend(lines, heading("claude-ide.Status", "claude-ide.Status"))
  local fields = {}
  for _, text in ipairs(classes["claude-ide.Status"]) do
    local name, rest = text:match("^@field (%S+) (.+)$")
    local kind, meaning = split_type(rest or "")
    fields[#fields + 1] = { ("%s (`%s`)"):format(name, kind), meaning }
  end
  list(lines, "Fields", fields)
  lines[#lines + 1] = ""
  return lines
end

-- ── The help file ──

---A screen taken by `make pictures`.
---@param name string
---@return string[]
local function screen(name)
  local lines = { ">" }
  for line in read(("doc/screens/%s.txt"):format(name)):gmatch("([^\n]*)\n") do
    lines[#lines + 1] = line == "" and "" or "  " .. line
  end
  lines[#lines + 1] = "<"
  return lines
end

---@param lines string[]
---@return string[]
local function contents(lines)
  local listed = {}
  for _, line in ipairs(lines) do
    local title, tags = line:match("^# (.-) | (.+)$")
    if title and tags then
      local link = ("|%s|"):format(tags:match("^%S+"))
      local dots = ("."):rep(WIDTH - 8 - vim.fn.strdisplaywidth(title) - #link)
      listed[#listed + 1] = ("    %s %s %s"):format(title, dots, link)
    end
  end
  return listed
end

---Fails at the first place that Neovim's parser of help does not understand.
---@param text string
---@param lines string[]
local function check_syntax(text, lines)
  local function walk(node)
    if node:type() == "ERROR" then
      local row = node:range()
      error(("the help is malformed at: %s"):format(lines[row + 1]), 0)
    end
    for child in node:iter_children() do
      walk(child)
    end
  end
  walk(assert(vim.treesitter.get_string_parser(text, "vimdoc"):parse())[1]:root())
end

---@return string
local function help()
  local filled = {
    commands = commands,
    functions = functions,
    keys = keys,
    screen = screen,
    options = function()
      local lines = {}
      options(schema, "", lines)
      return lines
    end,
    defaults = function()
      local lines = {}
      defaults(schema, "      ", lines)
      return lines
    end,
  }
  local template = vim.split(vim.trim(read("doc/claude-ide.txt.in")), "\n")
  filled.contents = function()
    return contents(template)
  end
  local lines = {}
  for _, line in ipairs(template) do
    local part, argument = line:match("^{{(%w+):?([%w-]*)}}$")
    local level, title, tags = line:match("^(##?) (.-) | (.+)$")
    if part then
      local made = assert(filled[part], part)(argument or "") --[[@as string[] ]]
      if made[#made] == "" then
        made[#made] = nil
      end
      vim.list_extend(lines, made)
    elseif level and title and tags then
      if level == "#" then
        lines[#lines + 1] = ("="):rep(WIDTH)
      end
      vim.list_extend(lines, heading(level == "#" and title:upper() or title, tags))
    else
      lines[#lines + 1] = line
    end
  end
  local text = table.concat(lines, "\n") .. "\n"
  check_syntax(text, lines)
  return text
end

-- ── The types of the options ──

---@param entries claude-ide.config.Entry[]
---@param class string
---@param optional boolean whether a user may leave it out
---@param parts string[]
local function class_of(entries, class, optional, parts)
  local lines = { ("---@class %s"):format(class) }
  for _, entry in ipairs(entries) do
    local mark = (optional or (entry.kind and entry.default == nil)) and "?" or ""
    local kind = entry.kind and entry.kind.luacats or ("%s.%s"):format(class, entry[1])
    local doc = entry.doc:gsub("\n", " ")
    lines[#lines + 1] = ("---@field %s%s %s %s"):format(entry[1], mark, kind, doc)
    if entry.fields then
      class_of(entry.fields, ("%s.%s"):format(class, entry[1]), optional, parts)
    end
  end
  parts[#parts + 1] = table.concat(lines, "\n") .. "\n"
end

---@return string
local function types()
  local parts = {
    "---@meta\n-- Made by `make doc` from config/schema/. Do not edit.\n-- Opts: what a user may set. Config: complete, "
      .. "what config.get() returns.\n",
  }
  class_of(schema, "claude-ide.Opts", true, parts)
  class_of(schema, "claude-ide.Config", false, parts)
  return table.concat(parts, "\n")
end

-- ── Writing, or comparing ──

local made = {
  ["doc/claude-ide.txt"] = help(),
  ["lua/claude-ide/config/types.lua"] = types(),
}
local check, stale = vim.tbl_contains(arg, "--check"), {}
for path, text in pairs(made) do
  if check then
    if vim.fn.filereadable(path) == 0 or read(path) ~= text then
      stale[#stale + 1] = path
    end
  else
    local file = assert(io.open(path, "w"))
    file:write(text)
    file:close()
  end
end
if #stale > 0 then
  table.sort(stale)
  io.stderr:write(("%s: not what `make doc` writes. Run it.\n"):format(table.concat(stale, ", ")))
  os.exit(1)
end
