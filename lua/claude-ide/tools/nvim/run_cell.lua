-- run_cell: runs a cell of a notebook in the notebook's kernel. Its outputs go into the notebook's
-- buffer, where it has one; the file stays as it is.

return require("claude-ide.language.task").tool(function(task, args)
  local cells = require("claude-ide.tools.notebook_file").cells(task, args.path)
  local cell = cells[args.index + 1]
  if not cell then
    task:fail(("there is no cell %d: the notebook has %d"):format(args.index, #cells), "invalid_params")
  elseif cell.kind ~= "code" then
    task:fail(("cell %d is %s, not code"):format(args.index, cell.kind))
  end
  local agent = require("claude-ide.server").agent(task.call.client)
  local answer, err = task:await(function(resume)
    ---@type claude-ide.notebook.Run
    local run = {
      code = cell.source,
      keep = true,
      who = agent and agent.name or "Claude",
      session = function()
        return require("claude-ide.sessions.ours").of_caller(task.call.client)
      end,
      done = resume,
      left = function(so_far)
        require("claude-ide.notebook.outputs").put(args.path, cell, so_far)
      end,
    }
    local kernel, problem = require("claude-ide.notebook").run(args.path, run)
    if not kernel then
      return resume(nil, problem)
    end
    return function()
      kernel:cancel(run)
    end
  end)
  if not answer then
    task:fail(err or "it did not run")
  end
  local remark = require("claude-ide.notebook.outputs").put(args.path, cell, answer)
  if remark then
    table.insert(answer.content, { type = "text", text = remark })
  end
  return { content = answer.content, is_error = answer.is_error }
end)
