-- What is taken out of a transcript, by a yank or into a file, has the words of all messages: those that are no text in the
-- buffer are read first.

local M = {}

local notice = require("claude-ide.ui.notice")

---Notes whether something else is yanked or deleted before the words of a yank are read: that is newer, and stays.
---@param view claude-ide.transcript.View
---@param register string
---@return fun(): boolean is_newest to be called once, when they are read
function M.watch(view, register)
  local is_newest = true
  local autocmd = vim.api.nvim_create_autocmd("TextYankPost", {
    group = "claude-ide.transcript." .. view.buf,
    desc = "Claude Code: what is yanked later stays",
    callback = function()
      local other = vim.v.event.regname
      is_newest = is_newest and (other == "_" or other ~= register and register ~= '"')
    end,
  })
  return function()
    pcall(vim.api.nvim_del_autocmd, autocmd)
    return is_newest
  end
end

---After `TextYankPost`: puts the words into the register where it got empty lines for them.
---@param view claude-ide.transcript.View
---@param event { operator: string, regname: string, regtype: string, regcontents: string[] }
function M.yanked(view, event)
  if event.regtype:sub(1, 1) == "\22" or not require("claude-ide.transcript.offscreen").has_gaps(view) then
    return
  end
  local first = vim.api.nvim_buf_get_mark(view.buf, "[")[1]
  local name = event.regname == "" and '"' or event.regname
  local is_read, is_newest = false, nil ---@type boolean, (fun(): boolean)?
  require("claude-ide.transcript.offscreen").fill(view, first, event.regcontents, function(lines)
    is_read = true
    if not is_newest or not is_newest() then
      return -- nothing was missing, or something else is there now
    elseif not lines then
      notice.error("What was yanked cannot be read: the transcript is gone.")
    else
      vim.fn.setreg(name, lines, event.regtype)
      notice.info(("%d lines yanked."):format(#lines))
    end
  end)
  is_newest = not is_read and M.watch(view, name) or nil
end

---`:write {file}`: in place of Neovim.
---@param view claude-ide.transcript.View
---@param path string
---@param append boolean
function M.write(view, path, append)
  local first = vim.api.nvim_buf_get_mark(view.buf, "[")[1]
  local last = vim.api.nvim_buf_get_mark(view.buf, "]")[1]
  local lines = vim.api.nvim_buf_get_lines(view.buf, first - 1, last, false)
  local shown = vim.fn.fnamemodify(path, ":~:.")
  require("claude-ide.transcript.offscreen").fill(view, first, lines, function(all)
    if not all then
      return notice.error(("%s is not written: the transcript is gone."):format(shown))
    end
    local ok, result = pcall(vim.fn.writefile, all, path, append and "a" or "")
    if ok and result == 0 then
      notice.info(("%s: %d lines written."):format(shown, #all))
    else
      local why = tostring(result):gsub("^.-Vim%b():", "")
      notice.error(("%s cannot be written: %s"):format(shown, why))
    end
  end)
end

return M
