-- The open files, the quickfix list and the diagnostics, for agents: what `#buffers`, `#quickfix` and `#diagnostics`, resources and tools
-- say of them. Omits what is withheld.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local counted = lazy("claude-ide.base.counted")
local lines = lazy("claude-ide.language.lines")
local locate = lazy("claude-ide.language.locate")
local lsp = lazy("claude-ide.base.lsp")
local position = lazy("claude-ide.base.position")
local privacy = lazy("claude-ide.server.privacy")
local selection = lazy("claude-ide.context.selection")
local servers = lazy("claude-ide.language.servers")

local M = {}

---Whether a buffer is listed and not withheld.
---@param buf integer
---@return boolean
function M.may_be_told(buf)
  return vim.bo[buf].buflisted and privacy.verdict(buf) == "tell"
end

---Open files, in the order of the buffer list.
---@return integer[]
function M.buffers()
  return vim.tbl_filter(M.may_be_told, vim.api.nvim_list_bufs())
end

---The file that the user works on: the current window's, or the previous one's while they are in a terminal etc.
---@return integer? buf
function M.active()
  for _, win in ipairs({ vim.api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr("#")) }) do
    if win ~= 0 then
      local buf = vim.api.nvim_win_get_buf(win)
      if M.may_be_told(buf) then
        return buf
      end
    end
  end
  local latest = selection.latest()
  return latest and latest.filePath and buffer.find(latest.filePath) or nil
end

---@param folders? string[]
local function shown(buf, folders)
  local path = locate.shown(vim.api.nvim_buf_get_name(buf), folders)
  return position.valid(path)
end

---@return string? "1 error, 2 warnings"
local function problems(buf)
  local counts, words = vim.diagnostic.count(buf), {}
  for severity, word in ipairs({ "error", "warning" }) do
    local count = counts[severity]
    words[#words + 1] = count and counted(count, word)
  end
  return #words > 0 and table.concat(words, ", ") or nil
end

---@param active integer?
---@param folders? string[]
local function buffer_line(buf, active, folders)
  local words, wins = {}, vim.fn.win_findbuf(buf) ---@type string[], integer[]
  if buf == active then
    local lnum = wins[1] and vim.api.nvim_win_get_cursor(wins[1])[1]
    words[#words + 1] = "the user is here" .. (lnum and (", in line %d"):format(lnum) or "")
  elseif #wins > 0 then
    words[#words + 1] = "visible"
  end
  words[#words + 1] = vim.bo[buf].modified and "unsaved changes" or nil
  if vim.api.nvim_buf_is_loaded(buf) then
    words[#words + 1] = ("%d lines"):format(vim.api.nvim_buf_line_count(buf))
    words[#words + 1] = vim.bo[buf].filetype ~= "" and vim.bo[buf].filetype or nil
    local names = servers.names(lsp.clients(buf))
    words[#words + 1] = names ~= "" and names or nil
    words[#words + 1] = problems(buf)
  else
    words[#words + 1] = "not read yet"
  end
  return position.valid(("%s  (%s)"):format(shown(buf, folders), table.concat(words, "; ")))
end

---The open files.
---@param cursor? string of a page
---@param folders? string[] that paths are relative to; default: the workspace's
---@return claude-ide.language.List
function M.files(cursor, folders)
  local bufs, active = M.buffers(), M.active()
  return {
    head = counted(#bufs, "file") .. " open:",
    none = "The user has no file open.",
    count = #bufs,
    cursor = cursor,
    entry = function(index)
      return { text = buffer_line(bufs[index], active, folders) }
    end,
  }
end

local KINDS = { E = "error: ", W = "warning: ", I = "info: ", N = "note: " }

---@param item table of getqflist()
---@param folders? string[]
---@return claude-ide.language.Entry?
local function quickfix_entry(item, folders)
  local text = lines.brief((item.text or ""):gsub("%s*\n%s*", " "))
  if item.bufnr == 0 then
    return { text = "  " .. text }
  elseif privacy.verdict(item.bufnr) == "private" then
    return nil
  end
  local kind = KINDS[(item.type or ""):upper()] or ""
  return {
    group = shown(item.bufnr, folders),
    text = ("  %d:%d  %s%s"):format(item.lnum, math.max(item.col, 1), kind, text),
  }
end

---The quickfix list, or the location list of the current window.
---@param is_location? boolean
---@param cursor? string of a page
---@param folders? string[] that paths are relative to; default: the workspace's
---@return claude-ide.language.List
function M.quickfix(is_location, cursor, folders)
  local what = { items = 0, title = 0, idx = 0 }
  local list = is_location and vim.fn.getloclist(0, what) or vim.fn.getqflist(what)
  local name, items = is_location and "location list" or "quickfix list", list.items or {}
  local title = (list.title or "") ~= "" and (' "%s"'):format(lines.brief(list.title)) or ""
  local count = counted(#items, "entry", "entries")
  return {
    head = ("%s in the %s%s; the user is at number %d:"):format(count, name, title, list.idx or 1),
    none = ("The %s is empty."):format(name),
    count = #items,
    cursor = cursor,
    entry = function(index)
      return quickfix_entry(items[index], folders)
    end,
  }
end

return M
