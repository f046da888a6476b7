-- Buffers as files: which buffer holds a path, which bytes it would write, what to do when the disk changed.
-- Invariant: a buffer is found by its exact path, never by `bufnr(name)`, which takes names as patterns and finds `foo.tsx`
-- for `foo.ts`.
local M = {}

local api = vim.api

---An option of a buffer. `vim.bo[buf]` takes three times as long, and every call of a tool asks several.
---@param buf integer
---@param name string
---@return any
local function option(buf, name)
  return api.nvim_get_option_value(name, { buf = buf })
end

---Names of buffers with their links followed; a file's place changes too seldom to ask the disk each time.
---@type table<integer, { name: string, real: string }>
local real_names = {}

local function real_name(buf, name)
  local known = real_names[buf]
  if not known or known.name ~= name then
    known = { name = name, real = require("claude-ide.path").real(name) }
    real_names[buf] = known
  end
  return known.real
end

---Whether a buffer stands for a file on disk (which need not exist yet): listed or loaded, an ordinary buffer with a name.
---@param buf integer
---@return boolean
function M.is_file(buf)
  if not api.nvim_buf_is_valid(buf) or option(buf, "buftype") ~= "" then
    return false
  elseif not api.nvim_buf_is_loaded(buf) and not option(buf, "buflisted") then
    return false
  end
  local name = api.nvim_buf_get_name(buf)
  return require("claude-ide.path").is_plain(name) and vim.fn.isdirectory(name) == 0
end

---The first loaded buffer that is an ordinary one and matches, else the first such that is not loaded.
---@param matches fun(buf: integer, name: string): boolean
---@return integer? buf
local function pick(matches)
  local unloaded
  for _, buf in ipairs(api.nvim_list_bufs()) do
    if matches(buf, api.nvim_buf_get_name(buf)) and option(buf, "buftype") == "" then
      if api.nvim_buf_is_loaded(buf) then
        return buf
      end
      unloaded = unloaded or buf
    end
  end
  return unloaded
end

---The buffer that holds a file, loaded ones first; also found by way of symbolic links.
---@param path string absolute
---@return integer? buf
function M.find(path)
  local paths = require("claude-ide.path")
  local wanted = paths.normalize(path)
  local exact = pick(function(_, name)
    return name == wanted
  end)
  if exact then
    return exact
  end
  local real = paths.real(wanted)
  return pick(function(buf, name)
    return paths.is_plain(name) and real_name(buf, name) == real
  end)
end

---The text of a loaded buffer as `:write` would put it on disk now: end of line, final newline and byte order mark
---included. Always UTF-8: for a buffer with another 'fileencoding' it is the text itself, not its encoded bytes, and a
---byte order mark is U+FEFF. Bytes that were not valid in the file stay as they are.
---@param buf integer
---@return string
function M.text(buf)
  local format = require("claude-ide.buffer.format")
  return format.encode(vim.api.nvim_buf_get_lines(buf, 0, -1, true), format.of(buf))
end

---What editors call the language, where Neovim's filetype is another word.
local LANGUAGES = {
  [""] = "plaintext",
  cs = "csharp",
  gitcommit = "git-commit",
  gitrebase = "git-rebase",
  make = "makefile",
  objc = "objective-c",
  objcpp = "objective-cpp",
  ps1 = "powershell",
  sh = "shellscript",
  tex = "latex",
  text = "plaintext",
}

---The language identifier of the Language Server Protocol.
---@param buf integer
---@return string
function M.language(buf)
  local filetype = vim.bo[buf].filetype
  if filetype == "" and not vim.api.nvim_buf_is_loaded(buf) then
    filetype = vim.filetype.match({ filename = vim.api.nvim_buf_get_name(buf) }) or ""
  end
  filetype = filetype:gsub("%..*$", "")
  return LANGUAGES[filetype] or filetype
end

---Follows which files are read and written, so that a change by others is known before it matters.
function M.attach()
  require("claude-ide.buffer.stamp").attach()
end

---Stops following.
function M.detach()
  require("claude-ide.buffer.stamp").detach()
end

---Whether the user has kept this buffer from Claude with `vim.b.claude_private`.
---@param buf integer
---@return boolean
function M.is_private(buf)
  return vim.b[buf].claude_private == true or vim.b[buf].claude_private == 1
end

return M
