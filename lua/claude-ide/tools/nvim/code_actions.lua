-- code_actions: what language servers offer to do in some lines.

---@param args { path: string, line?: integer, end_line?: integer, symbol?: string }
---@return integer buf
---@return fun(client: vim.lsp.Client): lsp.Range
local function range_of(task, args)
  local locate, breaks = require("claude-ide.language.locate"), require("claude-ide.language.breaks")
  if args.line and args.end_line and args.end_line < args.line then
    task:fail(("end_line %d lies before line %d"):format(args.end_line, args.line), "invalid_params")
  end
  local buf = locate.buffer(task, args.path)
  if args.symbol then
    local place = locate.symbol(task, buf, args.symbol, args.line)
    return buf,
      function(client)
        local function at(col)
          return breaks.position(client, buf, place.row, col)
        end
        return { start = at(place.col), ["end"] = at(place.col + #place.name) }
      end
  end
  local count = vim.api.nvim_buf_line_count(buf)
  local first = math.min(args.line or 1, count) - 1
  local last = math.min(args.end_line or args.line or count, count) - 1
  return buf,
    function(client)
      local line = vim.api.nvim_buf_get_lines(buf, last, last + 1, false)[1] or ""
      return {
        start = breaks.position(client, buf, first, 0),
        ["end"] = breaks.position(client, buf, last, #line),
      }
    end
end

---@param one claude-ide.tools.Action
local function line_of(one)
  local action = one.action
  local words = {}
  if type(action.kind) == "string" and action.kind ~= "" then
    words[#words + 1] = action.kind
  end
  if action.isPreferred == true then
    words[#words + 1] = "preferred"
  end
  if type(action.disabled) == "table" then
    words[#words + 1] = "not here: " .. tostring(action.disabled.reason)
  end
  local position = require("claude-ide.position")
  local title = position.truncate(position.valid((action.title:gsub("%s+", " "))), 160)
  return ("  %s: %s%s"):format(
    one.id,
    title,
    #words > 0 and (" (%s)"):format(table.concat(words, ", ")) or ""
  )
end

return require("claude-ide.language.task").tool(function(task, args)
  local actions = require("claude-ide.tools.actions")
  local buf, range = range_of(task, args)
  local offered, err = actions.offered(task, buf, range, args.kind and { args.kind } or nil)
  if err then
    task:fail(err)
  elseif #offered == 0 then
    return { text = "The language server offers nothing to do there." }
  end
  actions.keep(offered)
  local answer = require("claude-ide.language.answer")
  local lines = { answer.number(#offered, "code action") .. "; apply_action does one by its id:" }
  for _, one in ipairs(offered) do
    lines[#lines + 1] = line_of(one)
  end
  return { text = answer.cut(table.concat(lines, "\n")) }
end)
