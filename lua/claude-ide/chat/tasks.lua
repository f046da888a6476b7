-- What an agent runs in the background: listed, read, stopped.
local M = {}

---@param chat claude-ide.chat.Chat
---@return claude-ide.chat.Task[]
function M.list(chat)
  local tasks = vim.tbl_values(chat.tasks)
  table.sort(tasks, function(left, right)
    return left.id < right.id
  end)
  return tasks
end

---@param chat claude-ide.chat.Chat
---@param task claude-ide.chat.Task
function M.stop(chat, task)
  chat:ask("stop_task", { id = task.id }, function(_, err)
    if err then
      return require("claude-ide.ui.notice").error(("It was not stopped: %s"):format(err))
    end
    chat.tasks[task.id] = nil
    chat:redraw()
    require("claude-ide.ui.notice").info("Stopped: " .. task.words)
  end)
end

---Lets the user choose one and what is to become of it.
---@param chat claude-ide.chat.Chat
function M.choose(chat)
  local tasks = M.list(chat)
  if #tasks == 0 then
    return require("claude-ide.ui.notice").info("Nothing runs in the background.")
  end
  require("claude-ide.ui.choose").select(tasks, {
    prompt = "Stop",
    format_item = function(task)
      return require("claude-ide.sessions.phrases").one_line(task.words)
    end,
  }, function(task)
    if task then
      M.stop(chat, task)
    end
  end)
end

return M
