-- open_buffers: the files that the user has open, as a model reads them.

local function diagnostics(buf)
  local counts = { 0, 0 } ---@type table<integer, integer>
  for _, diagnostic in ipairs(vim.diagnostic.get(buf)) do
    local severity = diagnostic.severity or 1
    if counts[severity] then
      counts[severity] = counts[severity] + 1
    end
  end
  local number = require("claude-ide.language.answer").number
  local words = {}
  for severity, word in ipairs({ "error", "warning" }) do
    if counts[severity] > 0 then
      words[#words + 1] = number(counts[severity], word)
    end
  end
  return table.concat(words, ", ")
end

---@param buf integer
---@param active integer?
local function line_of(buf, active)
  local words = {}
  if buf == active then
    local wins = vim.fn.win_findbuf(buf)
    local lnum = wins[1] and vim.api.nvim_win_get_cursor(wins[1])[1]
    words[#words + 1] = lnum and ("the user is here, in line %d"):format(lnum) or "the user is here"
  elseif #vim.fn.win_findbuf(buf) > 0 then
    words[#words + 1] = "visible"
  end
  if vim.bo[buf].modified then
    words[#words + 1] = "unsaved changes"
  end
  if vim.api.nvim_buf_is_loaded(buf) then
    words[#words + 1] = ("%d lines"):format(vim.api.nvim_buf_line_count(buf))
    words[#words + 1] = vim.bo[buf].filetype ~= "" and vim.bo[buf].filetype or nil
    local names = require("claude-ide.language.servers").names(require("claude-ide.lsp").clients(buf))
    words[#words + 1] = names ~= "" and names or nil
    local wrong = diagnostics(buf)
    words[#words + 1] = wrong ~= "" and wrong or nil
  else
    words[#words + 1] = "not read yet"
  end
  local path = require("claude-ide.language.locate").shown(vim.api.nvim_buf_get_name(buf))
  return require("claude-ide.position").valid(("%s  (%s)"):format(path, table.concat(words, "; ")))
end

return require("claude-ide.language.task").tool(function(task, args)
  local editors = require("claude-ide.tools.get_open_editors")
  local bufs, active = editors.buffers(), editors.active()
  if #bufs == 0 then
    return { text = "The user has no file open." }
  end
  local answer = require("claude-ide.language.answer")
  return answer.pages(task, {
    head = answer.number(#bufs, "file") .. " open:",
    count = #bufs,
    entry = function(index)
      return { text = line_of(bufs[index], active) }
    end,
    cursor = args.cursor,
  })
end)
