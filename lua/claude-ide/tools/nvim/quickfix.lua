-- quickfix: the user's quickfix list, or the location list of the window that they are in.

---@param item table as getqflist() gives it
---@return claude-ide.language.Entry?
local function entry_of(item)
  local lines, locate = require("claude-ide.language.lines"), require("claude-ide.language.locate")
  local text = lines.brief((item.text or ""):gsub("%s*\n%s*", " "))
  if item.bufnr == 0 then
    return { text = "  " .. text }
  end
  local verdict = require("claude-ide.privacy").verdict(item.bufnr)
  if verdict == "private" then
    return nil
  end
  local name = vim.api.nvim_buf_get_name(item.bufnr)
  local kind = ({ E = "error: ", W = "warning: ", I = "info: ", N = "note: " })[(item.type or ""):upper()]
    or ""
  return {
    group = require("claude-ide.position").valid(locate.shown(name)),
    text = ("  %d:%d  %s%s"):format(item.lnum, math.max(item.col, 1), kind, text),
  }
end

return require("claude-ide.language.task").tool(function(task, args)
  local what = { items = 0, title = 0, idx = 0 }
  local is_location = args.list == "location"
  local list = is_location and vim.fn.getloclist(0, what) or vim.fn.getqflist(what)
  local name = is_location and "location list" or "quickfix list"
  local items = list.items or {}
  if #items == 0 then
    return { text = ("The %s is empty."):format(name) }
  end
  local number = require("claude-ide.language.answer").number
  local title = list.title ~= "" and (' "%s"'):format(require("claude-ide.language.lines").brief(list.title))
    or ""
  return require("claude-ide.language.answer").pages(task, {
    head = ("%s in the %s%s; the user is at number %d:"):format(
      number(#items, "entry", "entries"),
      name,
      title,
      list.idx or 1
    ),
    count = #items,
    entry = function(index)
      return entry_of(items[index])
    end,
    cursor = args.cursor,
  })
end)
