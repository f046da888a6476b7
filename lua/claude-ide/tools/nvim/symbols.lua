-- symbols: those of the whole project, by name.

local METHOD = "workspace/symbol"

---A server that is asked by way of a buffer; the request itself names none.
---@class claude-ide.tool.Symbols.Asked
---@field client vim.lsp.Client
---@field buf integer

---@return claude-ide.tool.Symbols.Asked[]
local function running()
  local lsp, found = require("claude-ide.lsp"), {}
  for _, client in ipairs(package.loaded["vim.lsp"] and vim.lsp.get_clients() or {}) do
    for buf in vim.spairs(client.attached_buffers or {}) do
      if vim.api.nvim_buf_is_loaded(buf) and lsp.supports(client, METHOD, buf) then
        found[#found + 1] = { client = client, buf = buf }
        break
      end
    end
  end
  return found
end

---The servers to ask: those of the file that is named, else all that run.
---@param path? string
---@return claude-ide.tool.Symbols.Asked[]
local function to_ask(task, path)
  local stat = path and vim.uv.fs_stat(path)
  if path and stat and stat.type == "file" then
    local buf = require("claude-ide.language.locate").buffer(task, path)
    local clients, why_not =
      require("claude-ide.language.servers").wait(task, buf, METHOD, "search symbols of the project")
    if why_not then
      task:fail(why_not)
    end
    return vim.tbl_map(function(client)
      return { client = client, buf = buf }
    end, clients)
  end
  local found = running()
  if #found == 0 then
    task:fail(
      "no language server runs that can search symbols; name a file of the project in `path` to start its own"
    )
  end
  return found
end

return require("claude-ide.language.task").tool(function(task, args)
  local hits, kinds, paths =
    require("claude-ide.language.hits"), require("claude-ide.language.kinds"), require("claude-ide.path")
  local below = args.path and paths.normalize(args.path) --[[@as string?]]
  local locate = require("claude-ide.language.locate")
  if below and not locate.is_inside(below) then
    task:fail(below .. " is outside of the workspace")
  end
  local asked, all = to_ask(task, below), {}
  local by_id = {}
  for _, one in ipairs(asked) do
    by_id[one.client.id] = one.buf
  end
  local clients = vim.tbl_map(function(one)
    return one.client
  end, asked)
  require("claude-ide.language.navigate").each(task, clients, all, function(client)
    local result, err = require("claude-ide.language.request").send(
      task,
      client,
      METHOD,
      { query = args.query },
      by_id[client.id]
    )
    for _, symbol in ipairs(type(result) == "table" and result or {}) do
      local location = symbol.location
      local kind = kinds.name(symbol.kind)
      if location and location.uri and (not args.kind or kind == args.kind) then
        local range = location.range or { start = { line = 0, character = 0 } }
        local container = type(symbol.containerName) == "string" and symbol.containerName ~= ""
        local name = container and symbol.containerName .. "." .. symbol.name or symbol.name
        local hit = hits.hit(location.uri, range, client, ("%s %s"):format(kind, name))
        hit.rank = symbol.name == args.query and 0 or 1
        if not below or paths.within(hit.path, below) then
          all[#all + 1] = hit
        end
      end
      task:breathe()
    end
    return err
  end)
  if #all == 0 then
    local names = require("claude-ide.language.servers").names(clients)
    return { text = ("%s knows no symbol like `%s` here."):format(names, args.query) }
  end
  -- Those of exactly that name first, each group in its order.
  local ordered = hits.sorted(task, all)
  local exact, rest = {}, {}
  for _, hit in ipairs(ordered) do
    table.insert(hit.rank == 0 and exact or rest, hit)
  end
  return hits.answer(task, vim.list_extend(exact, rest), {
    head = function(count, files)
      local answer = require("claude-ide.language.answer")
      return ("%s like `%s` in %s:"):format(
        answer.number(count, "symbol"),
        args.query,
        answer.number(files, "file")
      )
    end,
    cursor = args.cursor,
    ordered = true,
  })
end)
