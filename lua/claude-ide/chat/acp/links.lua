-- Files named with `@` in a prompt, as blocks of the protocol: a link, or the text if it is unsaved and the agent accepts texts.
-- Invariant: withheld files are neither linked nor sent.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local paths = lazy("claude-ide.base.path")
local position = lazy("claude-ide.base.position")
local privacy = lazy("claude-ide.server.privacy")

local M = {}

---Limits of files per prompt, and of an embedded text.
local MOST_LINKS, MOST_BYTES = 32, 256 * 1024

---@param path string
---@return string? text nil: the file has no unsaved changes
local function unsaved(path)
  local buf = buffer.find(path)
  if not buf or not vim.api.nvim_buf_is_loaded(buf) or not vim.bo[buf].modified then
    return nil
  end
  local text = buffer.text(buf)
  return #text <= MOST_BYTES and position.valid(text) or nil
end

---@param path string
---@param name string
---@param takes_text boolean
---@return table? block
local function block_of(path, name, takes_text)
  local buf = buffer.find(path)
  if privacy.withholds(path) or buf and privacy.verdict(buf) ~= "tell" then
    return nil
  end
  local uri = vim.uri_from_fname(path)
  local text = takes_text and unsaved(path) or nil
  if text then
    return { type = "resource", resource = { uri = uri, text = text } }
  end
  return { type = "resource_link", uri = uri, name = name }
end

---@param chat claude-ide.chat.Chat
---@param text string
---@return table[] blocks
function M.of(chat, text)
  local blocks, seen = {}, {} ---@type table[], table<string, true>
  for before, word in (" " .. text):gmatch("([^%w])@([^%s@]+)") do
    local path = paths.normalize(word, chat.cwd)
    if not vim.uv.fs_stat(path) then
      path = path:gsub("[%.,;:!?%)%]]+$", "") -- the end of a sentence
    end
    local stat = before and not seen[path] and #blocks < MOST_LINKS and vim.uv.fs_stat(path)
    if stat and (stat.type == "file" or stat.type == "directory") then
      seen[path] = true
      blocks[#blocks + 1] = block_of(path, vim.fs.basename(path), chat.can.embeds == true)
    end
  end
  return blocks
end

---Completes file names: these agents do not list files.
---@param cwd string
---@param word string
---@return string[]
function M.complete(cwd, word)
  local from = word:sub(1, 1) == "/" and 1 or #cwd + 2
  local wanted = from == 1 and word or cwd .. "/" .. word
  return vim.tbl_map(function(path)
    return path:sub(from)
  end, vim.fn.getcompletion(vim.fn.fnameescape(wanted), "file"))
end

return M
