-- Runs Claude's code in Jupyter kernels (`notebook/`), and reads cells of notebooks. Cancelling a call interrupts the code.
local tool = require("claude-ide.language.task").tool
local lazy = require("claude-ide.lazy")
local buffer_format = lazy("claude-ide.editor.buffer.format")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local counted = lazy("claude-ide.base.counted")
local disk = lazy("claude-ide.editor.buffer.disk")
local document = lazy("claude-ide.notebook.document")
local ide_notebook = lazy("claude-ide.notebook")
local locate = lazy("claude-ide.language.locate")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local own = lazy("claude-ide.terminal.own")
local paging = lazy("claude-ide.language.paging")
local patch = lazy("claude-ide.editor.buffer.patch")
local server = lazy("claude-ide.server")
local waits = lazy("claude-ide.base.waits")

local M = {}

---Maximum bytes of a displayed cell.
local CELL_BYTES = 1200

---Runs code and waits for its output.
---@param path? string of the notebook
---@param run { code: string, who: string, confirm?: boolean, keep?: boolean, restart?: boolean, left?: fun(answer: claude-ide.notebook.Answer) }
---@return claude-ide.notebook.Answer
local function run_in(task, path, run)
  local answer, err = task:await(function(resume)
    local whole = vim.tbl_extend("error", run, {
      session = function()
        return own.of_caller(task.call.client)
      end,
      done = resume,
    }) --[[@as claude-ide.notebook.Run]]
    local kernel, problem = ide_notebook.run(path, whole)
    if not kernel then
      return resume(nil, problem)
    end
    return function()
      kernel:cancel(whole)
    end
  end)
  return answer or task:fail(err or "it did not run")
end

M.execute_code = tool(function(task, args)
  local client = server.client(task.call.client)
  local answer = run_in(task, args.notebook, {
    code = args.code,
    who = client and client.name or "Claude",
    restart = args.restart == true,
    confirm = args.confirm == true, -- the client may be of another machine
  })
  return { content = answer.content, is_error = answer.is_error }
end)

---The cells of a notebook: of its buffer, including unsaved changes, else of its file.
---@param path string absolute
---@return claude-ide.notebook.Cell[]
---@return boolean unsaved
local function cells_of(task, path)
  local refusal = locate.refusal(path)
  if refusal then
    task:fail(refusal)
  end
  local text, err, unsaved = task:await(function(resume)
    document.text(path, resume)
  end)
  local notebook
  if text then
    notebook, err = native.notebook_read(text)
  end
  if not notebook then
    task:fail(("%s: %s"):format(locate.shown(path), err))
  end
  ---@cast notebook -nil
  return notebook.cells, unsaved == true
end

local function head(cell)
  local words = { ("[%d] %s"):format(cell.index, cell.kind) }
  words[#words + 1] = cell.count and ("run %d"):format(cell.count)
  words[#words + 1] = cell.outputs > 0 and counted(cell.outputs, "output") or nil
  return table.concat(words, ", ")
end

M.notebook_cells = tool(function(task, args)
  local cells, unsaved = cells_of(task, args.path)
  return paging.pages(task, {
    head = counted(#cells, "cell") .. (unsaved and ", with unsaved changes of the user's:" or ":"),
    count = #cells,
    entry = function(index)
      local cell = cells[index]
      return { text = head(cell) .. "\n" .. paging.cut(cell.source, CELL_BYTES) }
    end,
    cursor = args.cursor,
  })
end)

---All other bytes stay (crates/notebook), and one undo reverts outputs and count.
---@param cell claude-ide.notebook.Cell
---@param answer claude-ide.notebook.Answer
---@return string? err
local function put_into(buf, cell, answer)
  if not vim.bo[buf].modifiable then
    return "it cannot be changed"
  end
  disk.reload(buf)
  local text = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, true), "\n")
  local ran = vim.json.encode({
    index = cell.index,
    id = cell.id,
    source = cell.source,
    count = answer.count,
    outputs = answer.outputs,
  })
  local changed, err = native.notebook_put(text, ran)
  if changed then
    local format = buffer_format.of(buf)
    local lines = bytes.split(changed, "\n")
    patch.set_text(buf, lines, format)
  end
  return err
end

---Writes the outputs of a run into the notebook's buffer, if any; the file is not changed.
---@param path string of the notebook
---@param cell claude-ide.notebook.Cell as run
---@param answer claude-ide.notebook.Answer
---@return string? remark for the requester; nil: no buffer
local function put_outputs(path, cell, answer)
  local buf, is_json = document.buffer(path)
  if not buf or not answer.outputs then
    return nil
  elseif not is_json then
    return "[A plugin shows the notebook as something else than its JSON in the user's editor: the outputs were not put there.]"
  end
  local failure ---@type string?
  local function put()
    failure = vim.api.nvim_buf_is_loaded(buf) and put_into(buf, cell, answer) or nil
    if failure then
      log.warn("outputs were not put into %s: %s", path, failure)
    end
  end
  if waits.is_command_pending() then
    waits.when_text_may_change(("outputs %d %s"):format(buf, cell.id or cell.index), put)
  else
    put()
  end
  if failure then
    return ("[The outputs were not put into the user's buffer of the notebook: %s.]"):format(failure)
  end
  return "[The outputs are in the user's buffer of the notebook, which is not saved.]"
end

M.run_cell = tool(function(task, args)
  local cells = cells_of(task, args.path)
  local cell = cells[args.index + 1]
  if not cell then
    task:fail(("there is no cell %d: the notebook has %d"):format(args.index, #cells), "invalid_params")
  elseif cell.kind ~= "code" then
    task:fail(("cell %d is %s, not code"):format(args.index, cell.kind))
  end
  local agent = server.agent(task.call.client)
  local answer = run_in(task, args.path, {
    code = cell.source,
    keep = true,
    who = agent and agent.name or "Claude",
    left = function(so_far)
      put_outputs(args.path, cell, so_far)
    end,
  })
  local remark = put_outputs(args.path, cell, answer)
  table.insert(answer.content, remark and { type = "text", text = remark })
  return { content = answer.content, is_error = answer.is_error }
end)

return M
