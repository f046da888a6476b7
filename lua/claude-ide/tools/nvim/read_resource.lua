-- What a resource says: `buffer://path` the text of a file as the editor has it, `diagnostics://path` what is wrong in it.

local function text_of(task, path)
  local buf = require("claude-ide.language.locate").buffer(task, path)
  return require("claude-ide.position").valid(require("claude-ide.buffer").text(buf))
end

local function problems_of(task, path)
  return require("claude-ide.language.problems").text(task, { path = path }).text
end

local READERS = { buffer = text_of, diagnostics = problems_of }

local function absolute(path)
  if path:sub(1, 1) == "/" then
    return path
  end
  return (require("claude-ide.workspace").folders()[1] or "") .. "/" .. path
end

return require("claude-ide.language.task").tool(function(task, args)
  local scheme, path = args.uri:match("^(%l+)://(.+)$")
  local read = READERS[scheme]
  if not read then
    task:fail(("there is no resource %s"):format(args.uri), "invalid_params")
  end
  return { uri = args.uri, mimeType = "text/plain", text = read(task, absolute(path)) }
end)
