-- Who calls whom, and what extends what: a place is made an item of the server's first, which is asked about then.
-- LSP 3.17, "callHierarchy/*", "typeHierarchy/*".
local M = {}

---@class claude-ide.language.Hierarchy
---@field prepare string
---@field follow string
---@field doing string
---@field one string
---@field add fun(hits: claude-ide.language.Hit[], found: any, client: vim.lsp.Client)

---@param task claude-ide.language.Task
---@param args { path: string, symbol: string, line?: integer, cursor?: string }
---@param what claude-ide.language.Hierarchy
---@return { text: string }
function M.follow(task, args, what)
  local locate, servers = require("claude-ide.language.locate"), require("claude-ide.language.servers")
  local send, answer = require("claude-ide.language.request").send, require("claude-ide.language.answer")
  local buf = locate.buffer(task, args.path)
  local place = locate.symbol(task, buf, args.symbol, args.line)
  local clients, why_not = servers.wait(task, buf, what.prepare, what.doing)
  if why_not then
    task:fail(why_not)
  end
  local all, items = {}, 0
  require("claude-ide.language.ready").settle(task, clients, buf)
  require("claude-ide.language.navigate").each(task, clients, all, function(client)
    local prepared, err = send(task, client, what.prepare, locate.params(task, place, client), buf)
    for _, item in ipairs(type(prepared) == "table" and prepared or {}) do
      items = items + 1
      local found, failed = send(task, client, what.follow, { item = item }, buf)
      err = err or failed
      for _, one in ipairs(type(found) == "table" and found or {}) do
        what.add(all, one, client)
      end
    end
    return err
  end)
  local notes = place.note and { place.note } or {}
  if #all == 0 then
    local where = ("`%s` at %s:%d"):format(place.name, locate.shown(args.path), place.row + 1)
    local words = items == 0 and "%s sees nothing at %s that has any." or "%s knows none of %s."
    return {
      text = table.concat(vim.list_extend({ words:format(servers.names(clients), where) }, notes), "\n"),
    }
  end
  return require("claude-ide.language.hits").answer(task, all, {
    head = function(count)
      return ("%s of `%s`:"):format(answer.number(count, what.one), place.name)
    end,
    cursor = args.cursor,
    notes = notes,
  })
end

return M
