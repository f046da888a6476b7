-- Questions of a chat's agent, for somebody who does not see their windows: what is told of each kind, and what an answer means.
local M = {}

---@param decision claude-ide.Decision
---@param answer claude-ide.chat.Answer
local function settle(decision, answer)
  require("claude-ide.decisions").settle_elsewhere(decision, answer)
end

---@param label string
---@return claude-ide.decisions.Choice
local function no(label)
  return { id = "reject", label = label, message = true }
end

---@type claude-ide.decisions.Remote
M.permission = {
  describe = function(decision)
    ---@cast decision claude-ide.chat.Permission
    local ask = decision.ask
    local permission = require("claude-ide.chat.permission_words")
    local asked = permission.asked(ask, "page")
    local choices = {} ---@type claude-ide.decisions.Choice[]
    if not asked.is_cut then
      choices[1] = { id = "allow", label = "Allow once" }
    end
    local suggestions = ask.permission_suggestions
    local is_asked_each_time = ask.suppress_always_allow_rule or ask.requires_user_interaction
    if type(suggestions) == "table" and not is_asked_each_time and not asked.is_cut then
      for index, suggestion in ipairs(suggestions) do
        choices[#choices + 1] = {
          id = "always:" .. index,
          label = "Allow from now on: " .. permission.describe(suggestion),
        }
      end
    end
    choices[#choices + 1] = no("Deny")
    return {
      kind = "permission",
      title = permission.title(decision),
      text = asked:text(),
      choices = choices,
    }
  end,
  answer = function(decision, answer)
    local always = tonumber(answer.choice:match("^always:(%d+)$")) --[[@as integer?]]
    if answer.choice == "reject" then
      settle(decision, { outcome = "rejected", message = answer.message })
    else
      settle(decision, { outcome = "accepted", always = always and { always - 1 } or nil })
    end
  end,
}

---The answer to a question that has one choice only is that choice.
---@param questions table[]
---@return boolean
local function is_simple(questions)
  return #questions == 1 and not questions[1].multiSelect and #(questions[1].options or {}) > 0
end

---@type claude-ide.decisions.Remote
M.question = {
  describe = function(decision)
    ---@cast decision claude-ide.chat.Question
    local questions, choices = decision.questions, {}
    if is_simple(questions) then
      for index, option in ipairs(questions[1].options) do
        choices[index] = { id = "option:" .. index, label = tostring(option.label) }
      end
    end
    choices[#choices + 1] = { id = "answer", label = "Answer", answers = true }
    choices[#choices + 1] = { id = "reject", label = "Do not answer" }
    return {
      kind = "question",
      title = ("%s asks"):format(decision.source.name),
      questions = questions,
      choices = choices,
    }
  end,
  answer = function(decision, answer)
    ---@cast decision claude-ide.chat.Question
    if answer.choice == "reject" then
      settle(decision, { outcome = "rejected" })
      return nil
    end
    local answers, option = {}, tonumber(answer.choice:match("^option:(%d+)$"))
    local first = decision.questions[1]
    if option then
      answers[first.question] = first.options[option].label
    end
    for _, one in ipairs(decision.questions) do
      local words = (answer.answers or {})[one.question]
      if type(words) == "string" and vim.trim(words) ~= "" then
        answers[one.question] = vim.trim(words)
      end
    end
    if not next(answers) then
      return "no question of it is answered"
    end
    settle(decision, { outcome = "accepted", changes = { answers = answers } })
  end,
}

---Whether somebody has changed a plan here.
---@param plan claude-ide.chat.Plan
---@return boolean
local function is_changed(plan)
  if not plan.buf or not vim.api.nvim_buf_is_loaded(plan.buf) then
    return false
  end
  return table.concat(vim.api.nvim_buf_get_lines(plan.buf, 0, -1, false), "\n") ~= plan.text
end

---@type claude-ide.decisions.Remote
M.plan = {
  describe = function(decision)
    ---@cast decision claude-ide.chat.Plan
    return {
      kind = "plan",
      title = "A plan",
      text = decision.text,
      choices = { { id = "accept", label = "Approve" }, no("Send back") },
    }
  end,
  answer = function(decision, answer)
    ---@cast decision claude-ide.chat.Plan
    if answer.choice == "reject" then
      settle(decision, { outcome = "rejected", message = answer.message })
    elseif is_changed(decision) then
      return "it was changed in Neovim: decide there"
    else
      settle(decision, { outcome = "accepted" })
    end
  end,
}

---@type claude-ide.decisions.Remote
M.form = {
  describe = function(decision)
    ---@cast decision claude-ide.chat.Form
    return require("claude-ide.chat.form_elsewhere").describe(decision)
  end,
  answer = function(decision, answer)
    ---@cast decision claude-ide.chat.Form
    if answer.choice == "reject" then
      settle(decision, { outcome = "rejected", message = "declined" })
      return nil
    end
    local values, problem = require("claude-ide.chat.form_elsewhere").values(decision, answer)
    if not values then
      return problem
    end
    settle(decision, { outcome = "accepted", changes = values })
  end,
}

return M
