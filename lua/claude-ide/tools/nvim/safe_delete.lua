-- safe_delete: the definition of a symbol goes, if nothing uses it. Who does is the answer otherwise.
local METHOD = "textDocument/references"

---So many uses are listed.
local MAX_LISTED = 60

---@param location table lsp.Location
---@param place claude-ide.language.Place
---@param range lsp.Range
---@return boolean whether it lies within the definition itself
local function is_within(location, place, range, client)
  local line = require("claude-ide.language.breaks").range(client, place.buf, location.range).start.line
  return location.uri == vim.uri_from_bufnr(place.buf)
    and range.start.line <= line
    and line <= range["end"].line
end

---@param location table lsp.Location
local function line_of(location)
  local path = vim.uri_to_fname(location.uri)
  local row = location.range.start.line
  local buf, text = require("claude-ide.buffer").find(path), ""
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    text = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
  else
    local bytes = require("claude-ide.file").read_now(path, 1024 * 1024) or ""
    text = vim.split(bytes, "\n", { plain = true })[row + 1] or ""
  end
  local position = require("claude-ide.position")
  local shown = require("claude-ide.language.locate").shown(path)
  return ("  %s:%d: %s"):format(shown, row + 1, position.truncate(position.valid(vim.trim(text)), 120))
end

return require("claude-ide.language.task").tool(function(task, args)
  local servers, locate = require("claude-ide.language.servers"), require("claude-ide.language.locate")
  local definition, place = require("claude-ide.language.definition_range").find(task, args)
  local clients, why_not = servers.wait(task, place.buf, METHOD, "find references")
  if why_not then
    task:fail(("nothing was deleted: %s"):format(why_not))
  end
  local uses = {}
  for _, client in ipairs(clients) do
    local params = locate.params(task, place, client)
    local asked = vim.tbl_extend("error", params, { context = { includeDeclaration = false } })
    local found, err = require("claude-ide.language.ready").steady(task, client, place.buf, function()
      return require("claude-ide.language.request").send(task, client, METHOD, asked, place.buf)
    end)
    if err then
      task:fail(("nothing was deleted: %s"):format(err))
    end
    for _, location in ipairs(found or {}) do
      if not is_within(location, place, definition.range, client) then
        uses[#uses + 1] = location
      end
    end
  end
  if #uses > 0 then
    local lines = {}
    for i = 1, math.min(#uses, MAX_LISTED) do
      local path = vim.uri_to_fname(uses[i].uri)
      local is_told = not locate.refusal(path)
      lines[i] = is_told and line_of(uses[i]) or "  a file that is outside of the workspace or private"
      task:breathe()
    end
    local head = ("nothing was deleted: `%s` is still used in %s:"):format(
      place.name,
      require("claude-ide.language.answer").number(#uses, "place")
    )
    local more = #uses > MAX_LISTED and ("\n  … and %d more"):format(#uses - MAX_LISTED) or ""
    task:fail(require("claude-ide.language.answer").cut(head .. "\n" .. table.concat(lines, "\n") .. more))
  end
  return require("claude-ide.tools.changes").propose(task, {
    title = ("Delete %s"):format(place.name),
    edits = { require("claude-ide.tools.symbol_edits").delete(place.buf, definition) },
    none = "It is gone already; nothing was changed.",
  })
end)
