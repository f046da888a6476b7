-- hover: what language servers say of a symbol.

---What a server answers, as one text.
---LSP 3.17, "Hover.contents": MarkupContent | MarkedString | MarkedString[].
local function text_of(contents)
  if type(contents) == "string" then
    return contents
  elseif type(contents) ~= "table" then
    return ""
  elseif type(contents.value) == "string" then
    local language = type(contents.language) == "string" and contents.language
    return language and ("```%s\n%s\n```"):format(language, contents.value) or contents.value
  end
  return table.concat(vim.tbl_map(text_of, contents), "\n\n")
end

---Whether a symbol is defined in a file that the user keeps from Claude.
local function is_withheld(task, client, buf, params)
  local method, hits = "textDocument/definition", {} ---@type string, claude-ide.language.Hit[]
  if require("claude-ide.lsp").supports(client, method, buf) then
    local found = require("claude-ide.language.request").send(task, client, method, params, buf)
    require("claude-ide.language.hits").add_locations(task, hits, found, client)
  end
  return vim.iter(hits):any(function(hit)
    return require("claude-ide.privacy").withholds(hit.path)
  end)
end

return require("claude-ide.language.task").tool(function(task, args)
  local locate, servers = require("claude-ide.language.locate"), require("claude-ide.language.servers")
  local buf = locate.buffer(task, args.path)
  local place = locate.symbol(task, buf, args.symbol, args.line)
  local method = "textDocument/hover"
  local clients, why_not = servers.wait(task, buf, method, "describe symbols")
  if why_not then
    task:fail(why_not)
  end
  local texts = {}
  require("claude-ide.language.navigate").each(task, clients, texts, function(client)
    local params = locate.params(task, place, client)
    local result, err = require("claude-ide.language.request").send(task, client, method, params, buf)
    local text = result and vim.trim(text_of(result.contents)) or ""
    if text ~= "" and is_withheld(task, client, buf, params) then
      task:fail(("the user keeps the file that defines `%s` private"):format(place.name))
    elseif text ~= "" then
      texts[#texts + 1] = text
    end
    return err
  end)
  local where = ("`%s` in %s:%d"):format(place.name, locate.shown(args.path), place.row + 1)
  if #texts == 0 then
    return { text = ("%s says nothing of %s."):format(servers.names(clients), where) }
  end
  local head = where .. (vim.bo[buf].modified and " (with unsaved changes)" or "") .. ":"
  local words = vim.list_extend({ head }, place.note and { place.note } or {})
  words[#words + 1] = require("claude-ide.privacy.withheld").redact(table.concat(texts, "\n\n"))
  return { text = require("claude-ide.language.answer").cut(table.concat(words, "\n")) }
end)
