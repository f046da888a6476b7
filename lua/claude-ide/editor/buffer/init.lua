-- Buffers as files: the buffer of a path, the text it would write.
-- Invariant: buffers are looked up by exact path, not by `bufnr(name)`, which takes names as patterns and finds `foo.tsx` for `foo.ts`.
local lazy = require("claude-ide.lazy")
local format = lazy("claude-ide.editor.buffer.format")
local paths = lazy("claude-ide.base.path")

local M = {}

local api = vim.api

---A buffer option. `vim.bo[buf]` takes three times as long, and each tool call reads several.
---@param buf integer
---@param name string
---@return any
local function option(buf, name)
  return api.nvim_get_option_value(name, { buf = buf })
end

---Buffer names with symbolic links resolved, cached to save disk access.
---@type table<integer, { name: string, real: string }>
local real_names = {}

local function real_name(buf, name)
  local known = real_names[buf]
  if not known or known.name ~= name then
    known = { name = name, real = paths.real(name) }
    for other in pairs(real_names) do
      if not api.nvim_buf_is_valid(other) then
        real_names[other] = nil
      end
    end
    real_names[buf] = known
  end
  return known.real
end

---Whether a buffer is of a file (which need not exist yet): listed or loaded, an ordinary buffer with a name.
---@param buf integer
---@return boolean
function M.is_file(buf)
  if not api.nvim_buf_is_valid(buf) or option(buf, "buftype") ~= "" then
    return false
  elseif not api.nvim_buf_is_loaded(buf) and not option(buf, "buflisted") then
    return false
  end
  local name = api.nvim_buf_get_name(buf)
  return paths.is_plain(name) and vim.fn.isdirectory(name) == 0
end

---The first matching ordinary buffer that is loaded, else the first that is not.
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

---The buffer of a file, loaded ones first; symbolic links are followed.
---@param path string absolute
---@return integer? buf
function M.find(path)
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

---A new buffer of a file, with the name that `:edit` would give it.
---@param path string absolute
---@return integer buf not loaded
function M.add(path)
  return vim.fn.bufadd(vim.fn.fnamemodify(path, ":."))
end

---The loaded buffer of a file.
---@param path string absolute
---@return integer? buf
function M.loaded(path)
  local buf = M.find(path)
  return buf and api.nvim_buf_is_loaded(buf) and buf or nil
end

---@param path string absolute
---@return integer? buf loaded, of a file
function M.loaded_file(path)
  local buf = M.loaded(path)
  return buf and M.is_file(buf) and buf or nil
end

---The text that `:write` would write from a loaded buffer: with line endings, final newline and byte order mark. In UTF-8: with another
---'fileencoding' it is the unencoded text, and a byte order mark is U+FEFF. Bytes that were invalid in the file are unchanged.
---@param buf integer
---@param in_format? claude-ide.buffer.Format default: that of `:write`
---@return string
function M.text(buf, in_format)
  return format.encode(vim.api.nvim_buf_get_lines(buf, 0, -1, true), in_format or format.of(buf))
end

---Language identifiers that differ from Neovim's filetype.
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

---The LSP language identifier.
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

---Whether `vim.b.claude_private` withholds this buffer from Claude.
---@param buf integer
---@return boolean
function M.is_private(buf)
  return vim.b[buf].claude_private == true or vim.b[buf].claude_private == 1
end

return M
