-- Expands `#…` in a prompt into text of the editor and pictures, read when the prompt is sent, bounded, and without what is withheld.
-- Used by all prompts to agents: the chat, `:Claude ask`, `edit`, `prompt`.
local lazy = require("claude-ide.lazy")
local context_reference = lazy("claude-ide.context.reference")
local editor = lazy("claude-ide.context.editor")
local language_task = lazy("claude-ide.language.task")
local lines = lazy("claude-ide.context.lines")
local log = lazy("claude-ide.base.log")
local paging = lazy("claude-ide.language.paging")
local paths = lazy("claude-ide.base.path")
local phrases = lazy("claude-ide.sessions.phrases")
local position = lazy("claude-ide.base.position")
local problems = lazy("claude-ide.language.problems")
local prompts = lazy("claude-ide.context.prompts")
local safely = lazy("claude-ide.base.safely")
local timers = lazy("claude-ide.base.timer")

local M = {}

---Limits of one prompt: bytes of all texts, and number of parts.
local MOST_BYTES, MOST_PARTS = 192 * 1024, 24
---A part that takes longer is omitted.
local TIMEOUT_MS = 20000

---@class claude-ide.context.Kind
---@field name string
---@field doc string
---@field title? string clients of the server may read it, by this title
---@field argument? string what may follow a colon, for the help
---@field read claude-ide.context.Read

---@param field? string
---@return claude-ide.context.Read
local function of(module, field)
  return function(...)
    return require("claude-ide.context." .. module)[field or "read"](...)
  end
end

---@param list fun(task: claude-ide.language.Task, at: claude-ide.context.At, argument?: string): claude-ide.language.List
---@return claude-ide.context.Read
local function listed(list)
  return function(at, argument, done)
    local most = lines.MOST_BYTES
    language_task.run("a list", function(task)
      local text, none = paging.whole(task, list(task, at, argument), most)
      return { text = text, none = none }
    end, function(found, err)
      local why = found and found.none or err and err.message or "it could not be read"
      why = why:gsub("^%u", string.lower):gsub("%.$", "")
      done(found and found.text and { text = found.text } or nil, why)
    end)
  end
end

---@type claude-ide.context.Kind[]
M.LIST = {
  {
    name = "buffer",
    doc = "the file beside the chat, unsaved changes too",
    read = of("lines", "buffer"),
  },
  {
    name = "buffers",
    title = "Open files",
    doc = "the names of the open files",
    read = listed(function(_, at)
      return editor.files(nil, { at.cwd })
    end),
  },
  {
    name = "selection",
    title = "Selection",
    doc = "the lines that were selected last",
    read = of("lines", "selection"),
  },
  {
    name = "lines",
    argument = "file:3-9",
    doc = "lines of a file, unsaved changes too",
    read = of("lines"),
  },
  {
    name = "visible",
    doc = "what is on the screen of that file",
    read = of("lines", "visible"),
  },
  { name = "symbol", doc = "the function or class around the cursor", read = of("symbol") },
  {
    name = "diagnostics",
    title = "Diagnostics",
    argument = "file",
    doc = "errors and warnings of open files, or of one file",
    read = listed(function(task, at, path)
      local absolute = path and paths.normalize(path, at.cwd)
      local asked = { path = absolute, severity = "warning" }
      return problems.list(task, asked, { at.cwd })
    end),
  },
  {
    name = "quickfix",
    title = "Quickfix list",
    doc = "the quickfix list",
    read = listed(function(_, at)
      return editor.quickfix(false, nil, { at.cwd })
    end),
  },
  {
    name = "diff",
    title = "Changes since the last commit",
    doc = "what differs from the last commit, unsaved changes too",
    read = of("diff"),
  },
  {
    name = "review",
    title = "Changes to review",
    doc = "Claude's changes that are not reviewed yet",
    read = of("diff", "review"),
  },
  { name = "terminal", doc = "the last lines of your terminal", read = of("terminal") },
  {
    name = "url",
    argument = "https://…",
    doc = "an address for Claude to read; alone: the one under the cursor",
    read = of("url"),
  },
  { name = "image", argument = "file", doc = "a picture; alone: the clipboard's", read = of("image") },
}

---A part of a prompt.
---@class claude-ide.context.Part
---@field name string
---@field argument? string
---@field text? string
---@field image? claude-ide.context.Image
---@field problem? string why it is empty

---@return claude-ide.context.Kind?
local function kind_of(name)
  return vim.iter(M.LIST):find(function(kind)
    return kind.name == name
  end)
end

---References of a text to known kinds, without duplicates.
---@param text string
---@return claude-ide.context.Reference[]
function M.references(text)
  local seen = {}
  return vim.tbl_filter(function(reference)
    local key = reference.name .. "\0" .. (reference.argument or "")
    if seen[key] or not kind_of(reference.name) then
      return false
    end
    seen[key] = true
    return true
  end, context_reference.find(text))
end

---Reads a part.
---@param reference { name: string, argument?: string }
---@param at claude-ide.context.At
---@param done fun(part: claude-ide.context.Part) once, possibly before this returns
function M.read(reference, at, done)
  local part = { name = reference.name, argument = reference.argument } ---@type claude-ide.context.Part
  local timer, is_over = timers.new("end the reading of a reference"), false
  local function finish(found, why)
    if is_over then
      return
    end
    is_over = true
    timer:stop()
    part.text, part.image = found and found.text, found and found.image
    part.problem = not found and (why or "nothing is there") or nil
    local most = lines.MOST_BYTES
    if part.text and #part.text > most + 1024 then
      part.text = paging.cut(part.text, most)
    end
    done(part)
  end
  local kind = kind_of(reference.name)
  if not kind then
    return finish(nil, "it is not known")
  end
  safely.catch(kind.read, function(trace)
    log.error("#%s cannot be read: %s", reference.name, trace)
    finish(nil, "it could not be read")
  end)(at, reference.argument, finish)
  if not is_over then
    timer:start(TIMEOUT_MS, function()
      finish(nil, "it took too long")
    end)
  end
end

local function bound(parts)
  local size = 0
  for _, part in ipairs(parts) do
    size = size + #(part.text or "")
    if part.text and size > MOST_BYTES then
      size = size - #part.text
      part.text, part.problem = nil, "omitted, since the total limit is reached"
    end
  end
end

---Expands the references of a text, in order. An empty one has a `problem`.
---@param text string
---@param at claude-ide.context.At
---@param done fun(parts: claude-ide.context.Part[]) once, possibly before this returns
function M.expand(text, at, done)
  local references = M.references(text)
  local parts, left = {}, #references
  if left == 0 then
    return done({})
  end
  local function put(i, part)
    parts[i] = part
    left = left - 1
    if left == 0 then
      bound(parts)
      done(parts)
    end
  end
  for i, reference in ipairs(references) do
    if i > MOST_PARTS then
      local problem = ("omitted, since a prompt takes at most %d contexts"):format(MOST_PARTS)
      put(i, { name = reference.name, argument = reference.argument, problem = problem })
    else
      M.read(reference, at, function(part)
        put(i, part)
      end)
    end
  end
end

---The text of a part.
---@param part claude-ide.context.Part
---@return string
function M.said(part)
  if part.image then
    return ("(the picture %s)"):format(part.image.name)
  end
  local text = part.text or ("(nothing: %s)"):format(part.problem or "nothing is there")
  return position.valid(text)
end

---A part as the agent reads it. Editors use this tag for what they add to a prompt: session titles omit it.
---@param part claude-ide.context.Part
---@return string
function M.written(part)
  local of_what = part.argument and (' of="%s"'):format((part.argument:gsub('"', "'"))) or ""
  return ('<ide_selection name="%s"%s>\n%s\n</ide_selection>'):format(part.name, of_what, M.said(part))
end

---@param part claude-ide.context.Part
---@return string
function M.size(part)
  local size = phrases.size
  if part.image then
    return ("%s %s"):format(part.image.name, size(part.image.bytes))
  end
  return part.text and size(#part.text) or part.problem or "nothing"
end

---A prompt's content blocks: the parts, then the text.
---@param text string
---@param parts claude-ide.context.Part[]
---@return table[] blocks
function M.blocks(text, parts)
  local blocks = {}
  for _, part in ipairs(parts) do
    blocks[#blocks + 1] = { type = "text", text = position.valid(M.written(part)) }
    if part.image then
      blocks[#blocks + 1] = {
        type = "image",
        source = { type = "base64", media_type = part.image.media_type, data = part.image.data },
      }
    end
  end
  blocks[#blocks + 1] = { type = "text", text = position.valid(text) }
  return blocks
end

---Kinds with a file as argument.
local OF_FILES = { diagnostics = true, image = true, lines = true }

---The file reference before the cursor.
---@param before string text before the cursor
---@return string? name nil: none
---@return string? path as typed so far
---@return integer? from byte of the path, from 1
function M.file_of(before)
  local start, name, from, path = before:match("()#(%l+):()([^%s:#]*)$") --[[@as any]]
  if not name or not OF_FILES[name] or start > 1 and before:sub(start - 1, start - 1):find("[%w#&/]") then
    return nil
  end
  return name, path, from
end

---@param before string text before the cursor
---@param cwd string
---@return { word: string, menu: string }[]? items nil: not in a reference
---@return integer? from byte of the word, from 1
function M.complete(before, cwd)
  local start, word = before:match("()#([%l]*:?[^%s#]*)$") --[[@as any]]
  if not start or not word or start > 1 and before:sub(start - 1, start - 1):find("[%w#&/]") then
    return nil
  end
  local items = {}
  if vim.startswith(word, "prompt:") then
    for _, prompt in ipairs(prompts.list(cwd)) do
      items[#items + 1] = { word = "prompt:" .. prompt.name, menu = prompt.doc }
    end
  else
    for _, kind in ipairs(M.LIST) do
      items[#items + 1] = { word = kind.name .. (kind.name == "lines" and ":" or ""), menu = kind.doc }
    end
    items[#items + 1] = { word = "prompt:", menu = "one of the prompt library" }
  end
  local fitting = vim.tbl_filter(function(item)
    return vim.startswith(item.word, word)
  end, items)
  return fitting, start + 1 --[[@as integer]]
end

return M
