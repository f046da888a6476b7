-- What Claude asked with AskUserQuestion, and what was answered. Pure.

local M = {}

---@class claude-ide.transcript.Question
---@field text string
---@field answer? string
---@field options { label: string, description?: string }[]

---@param value any
---@return string?
local function text_of(value)
  if type(value) == "table" and vim.islist(value) then
    value = table.concat(vim.tbl_map(tostring, value), ", ")
  end
  return type(value) == "string" and value ~= "" and value or nil
end

---The answer within what the model is told: `"question"="answer", "question"="answer".` Both may have quotes of their own.
---@param said string
---@param question string
---@param others string[] all questions
---@return string?
local function answer_in(said, question, others)
  local _, from = said:find(('"%s"="'):format(question), 1, true)
  local rest = from and said:sub(from + 1)
  if not rest then
    return nil
  end
  local stop ---@type integer?
  for _, other in ipairs(others) do
    local at = rest:find(('", "%s"='):format(other), 1, true)
    stop = at and (not stop or at < stop) and at or stop
  end
  return stop and rest:sub(1, stop - 1) or rest:match('^(.-)"%. You can now ') or rest:match('^(.*)"')
end

---@param block claude-ide.sessions.Block
---@param questions string[]
---@return table<string, any> by question
local function answers_of(block, questions)
  local outcome = block.result and block.result.outcome
  local raw = outcome and type(outcome.raw) == "table" and outcome.raw or {}
  local recorded, answers = type(raw.answers) == "table" and raw.answers or {}, {}
  local said = {}
  for _, part in ipairs(block.result and block.result.content or {}) do
    said[#said + 1] = part.text
  end
  local told = table.concat(said, "\n")
  for _, question in ipairs(questions) do
    -- An older CLI says it to the model alone.
    answers[question] = recorded[question] or answer_in(told, question, questions)
  end
  return answers
end

---@param block claude-ide.sessions.Block a tool_use
---@return claude-ide.transcript.Question[]? nil: it is no such call
function M.of(block)
  local input = block.input
  if block.name ~= "AskUserQuestion" or type(input) ~= "table" or type(input.questions) ~= "table" then
    return nil
  end
  local texts = {} ---@type string[]
  for _, one in ipairs(input.questions) do
    texts[#texts + 1] = type(one) == "table" and text_of(one.question) or nil
  end
  local answers, questions = answers_of(block, texts), {}
  for _, one in ipairs(input.questions) do
    local text = type(one) == "table" and text_of(one.question)
    if text then
      local options = {}
      for _, option in ipairs(type(one.options) == "table" and one.options or {}) do
        local label = type(option) == "table" and text_of(option.label)
        if label then
          options[#options + 1] = { label = label, description = text_of(option.description) }
        end
      end
      questions[#questions + 1] = { text = text, answer = text_of(answers[text]), options = options }
    end
  end
  return questions
end

---The first question and its answer, in one line.
---@param block claude-ide.sessions.Block
---@return string?
function M.line(block)
  local questions = M.of(block) or {}
  local first = questions[1]
  if not first then
    return nil
  end
  local line = first.answer and ("%s → %s"):format(first.text, first.answer) or first.text
  return #questions > 1 and ("%s (and %d more)"):format(line, #questions - 1) or line
end

---All of them: the question, its options, the answer.
---@param item claude-ide.transcript.Item
---@param questions claude-ide.transcript.Question[]
---@param indent integer
---@return boolean answered each has its answer
function M.add(item, questions, indent)
  local text = require("claude-ide.transcript.text")
  local answered = #questions > 0
  for _, one in ipairs(questions) do
    item:block(text.lines(one.text), indent, "ClaudeTranscriptInput")
    for _, option in ipairs(one.options) do
      local line = option.description and ("%s: %s"):format(option.label, option.description) or option.label
      item:block({ "- " .. text.one_line(line) }, indent + 2, "ClaudeTranscriptDim")
    end
    if one.answer then
      local lines = text.lines("→ " .. one.answer)
      item:block(lines, indent, "ClaudeTranscriptYou")
    end
    answered = answered and one.answer ~= nil
  end
  return answered
end

return M
