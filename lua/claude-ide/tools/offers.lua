-- MCP resources and prompts: what a prompt may name (context/), for `@ide:…` and `/ide:…` in Claude's terminal, and for agents.
-- The server has both lists, so that it answers while Neovim is busy; only contents are asked for.
local tool = require("claude-ide.language.task").tool
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local context = lazy("claude-ide.context")
local context_prompts = lazy("claude-ide.context.prompts")
local editor = lazy("claude-ide.context.editor")
local lines = lazy("claude-ide.context.lines")
local locate = lazy("claude-ide.language.locate")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local paging = lazy("claude-ide.language.paging")
local place = lazy("claude-ide.context.place")
local position = lazy("claude-ide.base.position")
local problems = lazy("claude-ide.language.problems")
local selection = lazy("claude-ide.context.selection")
local workspace = lazy("claude-ide.server.workspace")

local M = {}

---Scheme of what is in `context.LIST`.
local SCHEME = "nvim"
---Files that are listed; others can be named.
local MAX_FILES = 500

---@return string
local function folder()
  return workspace.folders()[1] or vim.uv.cwd() or "/"
end

---Whether clients may read it now, without having been asked by the user.
---@param kind claude-ide.context.Kind
local function is_offered(kind)
  return kind.title ~= nil and (kind.name ~= "selection" or selection.is_enabled())
end

local function resources()
  local found = {}
  local function add(scheme, path, name, title, description)
    found[#found + 1] = {
      uri = scheme .. "://" .. path,
      name = name,
      title = title,
      description = description,
      mimeType = "text/plain",
    }
  end
  for _, kind in ipairs(context.LIST) do
    if is_offered(kind) then
      add(SCHEME, kind.name, kind.name, kind.title, kind.doc)
    end
  end
  local folders = workspace.folders()
  for index, buf in ipairs(editor.buffers()) do
    if index > MAX_FILES then
      break
    end
    local name = vim.api.nvim_buf_get_name(buf)
    local path = position.valid(locate.shown(name, folders))
    add("buffer", path, path, path, "Open in the editor")
    if next(vim.diagnostic.count(buf)) then
      local description = "Errors and warnings of the editor's language servers"
      add("diagnostics", path, "diagnostics of " .. path, "What is wrong in " .. path, description)
    end
  end
  return found
end

local function prompts()
  return vim.tbl_map(function(prompt)
    return { name = prompt.name, description = prompt.doc, arguments = prompt.arguments }
  end, context_prompts.list(folder()))
end

---Reports both lists to the server.
---@return string[] changed names of the lists that differ from the last report
function M.report()
  local changed, err = native.set_offers(vim.json.encode({ resources = resources(), prompts = prompts() }))
  if err then
    log.warn("resources and prompts could not be reported: %s", err)
  end
  return changed or {}
end

---@param name string
---@return claude-ide.context.Kind?
local function kind_of(name)
  return vim.iter(context.LIST):find(function(kind)
    return kind.name == name and is_offered(kind)
  end)
end

---@param task claude-ide.language.Task
local function unknown(task, uri)
  return task:fail(("there is no resource %s"):format(uri), "invalid_params")
end

---@type table<string, fun(task: claude-ide.language.Task, name: string, uri: string): string>
local READERS = {
  [SCHEME] = function(task, name, uri)
    local kind = kind_of(name)
    if not kind then
      return unknown(task, uri)
    end
    local at = place.here(folder())
    local part = task:await(function(resume)
      context.read({ name = name }, at, resume)
    end) --[[@as claude-ide.context.Part]]
    -- The CLI puts the text into the prompt without its name.
    local title = part.problem and kind.title .. ": " or ""
    return title .. context.said(part)
  end,
  buffer = function(task, path)
    local buf = locate.buffer(task, path)
    local most = lines.MOST_BYTES
    return paging.cut(buffer.text(buf), most)
  end,
  diagnostics = function(task, path)
    return problems.text(task, { path = path }).text
  end,
}

M.read_resource = tool(function(task, args)
  local scheme, path = args.uri:match("^(%l+)://(.+)$")
  local read = READERS[scheme]
  if not read or not path then
    return unknown(task, args.uri)
  end
  if scheme ~= SCHEME then
    path = locate.absolute(path)
  end
  return {
    uri = args.uri,
    mimeType = "text/plain",
    text = read(task, path --[[@as string]], args.uri),
  }
end)

---@param block table of the Messages API
---@return table block of MCP
local function to_mcp(block)
  if block.type ~= "image" then
    return block
  end
  return { type = "image", data = block.source.data, mimeType = block.source.media_type }
end

M.prompt = tool(function(task, args)
  local cwd = folder()
  local prompt = context_prompts.find(args.name, cwd)
  local text = prompt and prompt.text(cwd, args.arguments)
  if not prompt or not text then
    return task:fail(("there is no prompt %q"):format(args.name), "invalid_params")
  end
  local parts = task:await(function(resume)
    context.expand(text, place.here(cwd), resume)
  end)
  return { description = prompt.doc, content = vim.tbl_map(to_mcp, context.blocks(text, parts)) }
end)

return M
