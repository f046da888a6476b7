-- Problems with the options, in words.

local M = {}

---@param problem claude-ide.config.Problem
---@return string
function M.sentence(problem)
  local used = problem.used and "; " .. problem.used or ""
  return ("%s: %s%s"):format(problem.option, problem.text, used)
end

---As much as fits on one line of the screen. The health check has the rest.
---@param problems claude-ide.config.Problem[] at least one
---@return string
function M.line(problems)
  local names = vim.tbl_map(function(problem)
    return problem.option
  end, problems)
  local texts = {
    ("Options that do not work: %s (`:checkhealth claude-ide`)"):format(table.concat(names, ", ")),
    ("%d options do not work: `:checkhealth claude-ide`"):format(#problems),
  }
  if #problems == 1 then
    local problem = problems[1]
    texts = {
      ("Option %s"):format(M.sentence(problem)),
      ("Option %s: %s"):format(problem.option, problem.text),
      ("Option %s does not work: `:checkhealth claude-ide`"):format(problem.option),
    }
  end
  return require("claude-ide.ui.one_line").fitting(texts)
end

return M
