-- Where a symbol leads to: what definition, references and implementations have in common.
local M = {}

---@class claude-ide.language.Navigation
---@field method string
---@field doing string "find references"
---@field one string "reference"
---@field many? string
---@field context? table more parameters
---@field whole? boolean a part of them must not pass for all: the server has to know the project

---Asks every server of the file, once more where one that found nothing was still reading the project.
---Ends the task where all that came is errors.
---@param task claude-ide.language.Task
---@param clients vim.lsp.Client[]
---@param found any[] what `ask` adds to
---@param ask fun(client: vim.lsp.Client): string? err
function M.each(task, clients, found, ask)
  local errors = {}
  for round = 1, 2 do
    errors = {}
    for _, client in ipairs(clients) do
      errors[#errors + 1] = ask(client)
    end
    if #found > 0 or round == 2 or not require("claude-ide.language.servers").settle(task, clients) then
      break
    end
  end
  if #found == 0 and #errors > 0 then
    task:fail(table.concat(errors, "; "))
  end
end

---@param task claude-ide.language.Task
---@param args { path: string, symbol: string, line?: integer, cursor?: string }
---@param what claude-ide.language.Navigation
---@return { text: string }
function M.locations(task, args, what)
  local locate, hits = require("claude-ide.language.locate"), require("claude-ide.language.hits")
  local answer = require("claude-ide.language.answer")
  local buf = locate.buffer(task, args.path)
  local place = locate.symbol(task, buf, args.symbol, args.line)
  local clients, why_not = require("claude-ide.language.servers").wait(task, buf, what.method, what.doing)
  if why_not then
    task:fail(why_not)
  end
  local all = {}
  local notes = place.note and { place.note } or {}
  local function each(client)
    local params = vim.tbl_extend("error", locate.params(task, place, client), what.context or {})
    local function ask()
      return require("claude-ide.language.request").send(task, client, what.method, params, buf)
    end
    if not what.whole then
      return ask()
    end
    local result, err, is_partial = require("claude-ide.language.ready").steady(task, client, buf, ask, true)
    if is_partial then
      notes[#notes + 1] = ("(%s is still reading the project; there may be more.)"):format(client.name)
    end
    return result, err
  end
  M.each(task, clients, all, function(client)
    local result, err = each(client)
    hits.add_locations(task, all, result, client)
    return err
  end)
  local names = require("claude-ide.language.servers").names(clients)
  if #all == 0 then
    local said = ("%s knows no %s of `%s` at %s:%d."):format(
      names,
      what.one,
      place.name,
      locate.shown(args.path),
      place.row + 1
    )
    return { text = table.concat(vim.list_extend({ said }, notes), "\n") }
  end
  return hits.answer(task, all, {
    head = function(count, files)
      local text = ("%s of `%s`"):format(answer.number(count, what.one, what.many), place.name)
      return files > 1 and ("%s in %d files:"):format(text, files) or text .. ":"
    end,
    cursor = args.cursor,
    notes = notes,
  })
end

return M
