-- AskUserQuestion: questions with choices, one after the other; one or several of them, or words of the user's own.
local M = {}

local KIND = "question"

---@class claude-ide.chat.Question : claude-ide.Decision
---@field questions table[] question, header, options {label, description}, multiSelect
---@field at integer the one that is shown
---@field chosen table<integer, table<integer, true>> options by question
---@field own table<integer, string> own words by question

---@param question claude-ide.chat.Question
---@param at integer
---@return string? nil: not answered
local function answer_of(question, at)
  local labels = {}
  for index, option in ipairs(question.questions[at].options or {}) do
    if (question.chosen[at] or {})[index] then
      labels[#labels + 1] = option.label
    end
  end
  if question.own[at] then
    labels[#labels + 1] = question.own[at]
  end
  return #labels > 0 and table.concat(labels, ", ") or nil
end

---@param question claude-ide.chat.Question
---@param answer claude-ide.chat.Answer
local function settle(question, answer)
  if require("claude-ide.decisions").settle(question, answer) then
    require("claude-ide.chat.panel").close(question)
  end
end

---To the next one, or all are answered.
---@param question claude-ide.chat.Question
local function go_on(question)
  if question.at < #question.questions then
    question.at = question.at + 1
    return require("claude-ide.chat.panel").redraw(question, true)
  end
  local answers = {}
  for at, one in ipairs(question.questions) do
    answers[one.question] = answer_of(question, at)
  end
  if next(answers) then
    settle(question, { outcome = "accepted", changes = { answers = answers } })
  end
end

---@param question claude-ide.chat.Question
---@param index integer
local function pick(question, index)
  local one = question.questions[question.at]
  if not (one.options or {})[index] then
    return
  end
  if one.multiSelect then
    local chosen = question.chosen[question.at] or {}
    chosen[index] = not chosen[index] or nil
    question.chosen[question.at] = chosen
    return require("claude-ide.chat.panel").redraw(question)
  end
  question.chosen[question.at], question.own[question.at] = { [index] = true }, nil
  go_on(question)
end

---Words of the user for a question that nobody asks any more, with those that they had given to the others.
---@param question claude-ide.chat.Question
---@param text? string
local function give_back(question, text)
  local words = {} ---@type string[]
  for at in ipairs(question.questions) do
    words[#words + 1] = question.own[at]
  end
  words[#words + 1] = text
  require("claude-ide.ui.kept_words").give_back(table.concat(words, "\n"), "The question is gone")
end

---@param question claude-ide.chat.Question
local function own_words(question)
  local at = question.at
  vim.ui.input({ prompt = "Your answer: ", default = question.own[at] }, function(text)
    local words = vim.trim(text or "")
    if not text or (words == "" and not question.own[at]) then
      return
    elseif question.state ~= "pending" then
      return give_back(question, text)
    end
    question.own[at] = words ~= "" and words or nil
    if words ~= "" and not question.questions[at].multiSelect then
      question.chosen[at] = nil
      return go_on(question)
    end
    require("claude-ide.chat.panel").redraw(question)
  end)
end

---@param question claude-ide.chat.Question
---@return claude-ide.chat.panel.Line[]
local function lines_of(question)
  local one = question.questions[question.at]
  local chosen, own = question.chosen[question.at] or {}, question.own[question.at]
  local lines = { { tostring(one.question), "ClaudeTranscriptTitle" }, { "" } }
  for index, option in ipairs(one.options or {}) do
    local mark = one.multiSelect and (chosen[index] and "[x] " or "[ ] ") or ""
    lines[#lines + 1] =
      { ("%d %s%s"):format(index, mark, tostring(option.label)), "ClaudeTranscriptInput", index }
    if type(option.description) == "string" and option.description ~= "" then
      lines[#lines + 1] = { "  " .. option.description, "ClaudeTranscriptDim", index }
    end
  end
  if own then
    lines[#lines + 1] = { "  " .. own, "ClaudeTranscriptYou" }
  end
  return lines
end

---@param question claude-ide.chat.Question
---@return claude-ide.chat.panel.Text
local function text_of(question)
  local one = question.questions[question.at]
  local panel = require("claude-ide.chat.panel")
  local function pick_here()
    local index = panel.choice(question)
    if index then
      pick(question, index)
    end
  end
  local actions = {
    {
      keys = { "<CR>" },
      desc = one.multiSelect and "done" or "choose",
      run = function()
        if question.questions[question.at].multiSelect then
          if answer_of(question, question.at) then
            go_on(question)
          else
            require("claude-ide.ui.notice").info("Choose something first, or give an answer of your own.")
          end
        else
          pick_here()
        end
      end,
    },
    { keys = { "<Space>", "x" }, desc = "mark", hidden = not one.multiSelect, run = pick_here },
    {
      keys = { "o" },
      desc = "other …",
      run = function()
        own_words(question)
      end,
    },
    {
      keys = { "<BS>" },
      desc = "back",
      hidden = #question.questions == 1,
      run = function()
        question.at = math.max(question.at - 1, 1)
        panel.redraw(question)
      end,
    },
    {
      keys = { "n" },
      desc = "do not answer",
      run = function()
        settle(question, { outcome = "rejected" })
      end,
    },
    panel.later(),
  }
  for index = 1, 9 do
    actions[#actions + 1] = {
      keys = { tostring(index) },
      desc = "choose " .. index,
      hidden = true,
      run = function()
        pick(question, index)
      end,
    }
  end
  local count = #question.questions > 1 and (" (%d of %d)"):format(question.at, #question.questions) or ""
  return {
    title = ("%s asks: %s%s"):format(question.source.name, one.header or "", count),
    lines = lines_of(question),
    actions = actions,
    choice = 1,
  }
end

---Asks the user.
---@param request claude-ide.chat.Request
function M.ask(request)
  local questions = (request.ask.input or {}).questions
  if type(questions) ~= "table" or #questions == 0 then
    return require("claude-ide.chat.permission").ask(request)
  end
  local panel = require("claude-ide.chat.panel")
  local presenter = panel.presenter("question", "questions", text_of, function()
    return require("claude-ide.chat.remote").question
  end)
  presenter.withdraw = function(question)
    ---@cast question claude-ide.chat.Question
    panel.close(question)
    give_back(question)
  end
  require("claude-ide.decisions").register(KIND, presenter)
  require("claude-ide.decisions").ask(KIND, request.chat.asker, request, {
    questions = questions,
    at = 1,
    chosen = {},
    own = {},
  })
end

return M
