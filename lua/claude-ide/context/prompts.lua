-- The prompt library: the option `prompts` and the project's Markdown files. `#prompt:{name}` inserts a prompt's text; `#…` in it is
-- expanded, except for other prompts.
-- Files are read only when a prompt is used or listed.
local M = {}

local MOST_FILES, MOST_BYTES = 200, 64 * 1024

---@class claude-ide.Prompt
---@field name string
---@field doc string
---@field text fun(): string?

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
  if not require("claude-ide.file").stat_regular(path) or require("claude-ide.privacy").withholds(path) then
    return nil
  end
  local text = require("claude-ide.file").read_start(path, MOST_BYTES)
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

---@param cwd string
---@return claude-ide.Prompt[] sorted by name
function M.list(cwd)
  local options = require("claude-ide.config").get()
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
  local list = vim.tbl_values(prompts)
  table.sort(list, function(left, right)
    return left.name < right.name
  end)
  return list
end

---Inserts the texts of referenced prompts.
---@param text string
---@param cwd string
---@return string? text nil: a prompt does not exist
---@return string? problem
function M.put_in(text, cwd)
  local references = vim.tbl_filter(function(reference)
    return reference.name == "prompt" and reference.argument ~= nil
  end, require("claude-ide.context.reference").find(text))
  if #references == 0 then
    return text
  end
  local by_name = {} ---@type table<string, claude-ide.Prompt>
  for _, prompt in ipairs(M.list(cwd)) do
    by_name[prompt.name] = prompt
  end
  local pieces, at = {}, 1 ---@type string[], integer
  for _, reference in ipairs(references) do
    local prompt = by_name[reference.argument]
    local found = prompt and prompt.text()
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
