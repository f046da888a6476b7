-- The prompt library: the option `prompts`, the project's Markdown files, and a few of ours. `#prompt:{name}` inserts a prompt's text; `#…`
-- in it is expanded, except for other prompts. Clients of the server list and get them, too (tools/offers.lua).
-- Files are read only when a prompt is used or listed.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local context_reference = lazy("claude-ide.context.reference")
local file = lazy("claude-ide.base.file")
local lines = lazy("claude-ide.context.lines")
local place = lazy("claude-ide.context.place")
local privacy = lazy("claude-ide.server.privacy")

local M = {}

local MOST_FILES, MOST_BYTES = 200, 64 * 1024

---Lines of context around the cursor, before and after.
local AROUND = 20

---@class claude-ide.Prompt
---@field name string
---@field doc string
---@field arguments? { name: string, description: string }[]
---@field text fun(cwd: string, arguments?: table<string, string>): string?

---@type claude-ide.Prompt[]
local OURS = {
  {
    name = "explain_selection",
    doc = "Explain the selection, or the code around the cursor",
    text = function(cwd)
      local buf, first, last = lines.selected()
      if buf and first and last then
        return "Explain this code, which I have selected: " .. lines.reference(buf, first, last, cwd)
      end
      local at = place.here(cwd)
      if not at.buf or not at.win then
        return "Explain what I am looking at. (No file is shown in my editor.)"
      end
      local lnum = vim.api.nvim_win_get_cursor(at.win)[1]
      first, last = math.max(lnum - AROUND, 1), math.min(lnum + AROUND, vim.api.nvim_buf_line_count(at.buf))
      return ("Explain the code around line %d, where my cursor is: %s"):format(
        lnum,
        lines.reference(at.buf, first, last, cwd)
      )
    end,
  },
  {
    name = "fix_diagnostics",
    doc = "Fix errors and warnings of the editor's language servers",
    arguments = { { name = "path", description = "Only this file; without it all open files" } },
    text = function(_, arguments)
      local path = arguments and arguments.path
      return "Fix what the language servers of my editor find wrong. Fix causes, do not silence messages. Afterwards check that "
        .. "nothing of it is left and nothing new has come. "
        .. (path and context_reference.written("diagnostics", path) or "#diagnostics")
    end,
  },
  {
    name = "review_changes",
    doc = "Review the changes since the last commit, saved or not",
    text = function()
      return "Review the changes of this project since the last commit; `git status` shows new files. Look for bugs, for what was "
        .. "forgotten, for what could be simpler. If you have the tool comment_add, put each remark beside its lines with it, and "
        .. "end with a summary; else name each place as path:line. Change nothing. #diff"
    end,
  },
  {
    name = "tour",
    doc = "Explain a topic by a tour of the code: comments in order, beside the lines",
    arguments = { { name = "topic", description = "What to explain; without it the project" } },
    text = function(_, arguments)
      local topic = arguments and arguments.topic or "how this project works"
      return ("Explain %s by a tour of the code. "):format(topic)
        .. "Choose five to twelve places, in the order in which they are understood best. Put each beside its lines with the tool comment_add and its `step`: 1, 2 and so on. Say in a few sentences what happens "
        .. "there, and where the next step leads. Change nothing. End with one sentence: what the tour shows."
    end,
  },
}

---@return string body without the front matter
---@return string? description
local function without_front_matter(text)
  local head, body = text:match("^%-%-%-\r?\n(.-)\n%-%-%-\r?\n(.*)$")
  if not head or not body then
    return text, nil
  end
  return body, ("\n" .. head):match("\ndescription:%s*([^\r\n]+)")
end

---Reads a prompt. A link may lead anywhere: withheld and irregular files do not count.
local function read(path)
  if not file.stat_regular(path) or privacy.withholds(path) then
    return nil
  end
  local text = file.read_start(path, MOST_BYTES)
  return text and (text:gsub("\r\n", "\n")) or nil
end

---@param prompts table<string, claude-ide.Prompt>
local function add_files(folder, prompts)
  local ok, entries = pcall(vim.fs.dir, folder)
  local count = 0
  for entry, kind in (ok and entries or function() end) do
    local name = entry:match("^([%w_%-%.]+)%.md$")
    if name and (kind == "file" or kind == "link") and not prompts[name] and count < MOST_FILES then
      count = count + 1
      prompts[name] = {
        name = name,
        doc = ("%s/%s"):format(vim.fs.basename(folder), entry),
        text = function()
          local text = read(folder .. "/" .. entry)
          return text and vim.trim((without_front_matter(text)))
        end,
      }
    end
  end
end

---The user's precede ours of the same name.
---@param cwd string
---@return claude-ide.Prompt[] sorted by name
function M.list(cwd)
  local options = config.get()
  local prompts = {} ---@type table<string, claude-ide.Prompt>
  for name, text in pairs(options.prompts) do
    prompts[name] = {
      name = name,
      doc = text:match("^[^\n]*") or "",
      text = function()
        return text
      end,
    }
  end
  for _, folder in ipairs(options.prompt_folders) do
    add_files(folder:sub(1, 1):find("[/~]") and vim.fs.normalize(folder) or cwd .. "/" .. folder, prompts)
  end
  for _, prompt in ipairs(OURS) do
    prompts[prompt.name] = prompts[prompt.name] or prompt
  end
  local list = vim.tbl_values(prompts)
  table.sort(list, function(left, right)
    return left.name < right.name
  end)
  return list
end

---@param name string
---@param cwd string
---@return claude-ide.Prompt?
function M.find(name, cwd)
  return vim.iter(M.list(cwd)):find(function(prompt)
    return prompt.name == name
  end)
end

---Inserts the texts of referenced prompts.
---@param text string
---@param cwd string
---@return string? text nil: a prompt does not exist
---@return string? problem
function M.expand(text, cwd)
  local references = vim.tbl_filter(function(reference)
    return reference.name == "prompt" and reference.argument ~= nil
  end, context_reference.find(text))
  if #references == 0 then
    return text
  end
  local pieces, at = {}, 1 ---@type string[], integer
  for _, reference in ipairs(references) do
    local prompt = M.find(reference.argument --[[@as string]], cwd)
    local found = prompt and prompt.text(cwd)
    if not found then
      return nil, ("There is no prompt %q in the library."):format(reference.argument)
    end
    pieces[#pieces + 1] = text:sub(at, reference.first - 1)
    pieces[#pieces + 1] = found
    at = reference.last + 1
  end
  pieces[#pieces + 1] = text:sub(at)
  return table.concat(pieces)
end

return M
