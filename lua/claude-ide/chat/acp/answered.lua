-- A question of an agent gets its answer also where the editor fails at it: nothing else would ever tell the agent.
local M = {}

---Makes a function that answers instead of raising an error.
---@param answer claude-ide.chat.acp.Answer
---@param doing string for the log
---@param fn function
---@return function
function M.anyway(answer, doing, fn)
  return require("claude-ide.safely").catch(fn, function(trace)
    require("claude-ide.log").error("%s failed: %s", doing, trace)
    answer(nil, "failed", "the editor could not do it")
  end)
end

return M
