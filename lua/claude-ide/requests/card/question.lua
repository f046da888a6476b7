-- AskUserQuestion: questions with choices, one after the other; one or several choices, or free text.
local card = require("claude-ide.requests.card.window")
local lazy = require("claude-ide.lazy")
local kept_words = lazy("claude-ide.ui.kept_words")
local notice = lazy("claude-ide.base.notice")
local requests = lazy("claude-ide.requests")

local M = {}

---@class claude-ide.card.AskedQuestion
---@field question string
---@field header? string
---@field options { label: string, description?: string, preview?: string }[]
---@field multiSelect boolean

---@class claude-ide.card.Question : claude-ide.Request
---@field questions claude-ide.card.AskedQuestion[]
---@field at integer index of the shown question
---@field chosen table<integer, table<integer, true>> options by question
---@field own table<integer, string> free text by question

---@param question claude-ide.card.Question
---@param at integer
---@return string? nil: unanswered
local function answer_of(question, at)
  local labels = {}
  for index, option in ipairs(question.questions[at].options) do
    if (question.chosen[at] or {})[index] then
      labels[#labels + 1] = option.label
    end
  end
  if question.own[at] then
    labels[#labels + 1] = question.own[at]
  end
  return #labels > 0 and table.concat(labels, ", ") or nil
end

---The arguments that answer a question. Like the CLI's dialog (2.1.329), they name the preview of a single choice.
---@param questions claude-ide.card.AskedQuestion[]
---@param answers table<string, string> by question
---@return table<string, any>
local function changes_of(questions, answers)
  local annotations = {} ---@type table<string, { preview: string }>
  for _, one in ipairs(questions) do
    for _, option in ipairs(one.multiSelect and {} or one.options) do
      if option.preview and answers[one.question] == option.label then
        annotations[one.question] = { preview = option.preview }
      end
    end
  end
  return { answers = answers, annotations = next(annotations) and annotations or nil }
end

---Goes to the next question, or sends the answers.
---@param question claude-ide.card.Question
local function go_on(question)
  if question.at < #question.questions then
    question.at = question.at + 1
    return card.redraw(question, true)
  end
  local answers = {}
  for at, one in ipairs(question.questions) do
    answers[one.question] = answer_of(question, at)
  end
  if next(answers) then
    card.settle(question, { outcome = "accepted", changes = changes_of(question.questions, answers) })
  end
end

---@param question claude-ide.card.Question
---@param index integer
local function pick(question, index)
  local one = question.questions[question.at]
  if not one.options[index] then
    return
  end
  if one.multiSelect then
    local chosen = question.chosen[question.at] or {}
    chosen[index] = not chosen[index] or nil
    question.chosen[question.at] = chosen
    return card.redraw(question)
  end
  question.chosen[question.at], question.own[question.at] = { [index] = true }, nil
  go_on(question)
end

---Keeps the user's texts for a question that is gone.
---@param question claude-ide.card.Question
---@param text? string
local function give_back(question, text)
  local words = {} ---@type string[]
  for at in ipairs(question.questions) do
    words[#words + 1] = question.own[at]
  end
  words[#words + 1] = text
  kept_words.give_back(table.concat(words, "\n"), "The request has ended")
end

---@param question claude-ide.card.Question
local function own_words(question)
  local at = question.at
  card.input(question, { prompt = "Your answer: ", default = question.own[at] }, function(text)
    local words = vim.trim(text)
    if words == "" and not question.own[at] then
      return
    end
    question.own[at] = words ~= "" and words or nil
    if words ~= "" and not question.questions[at].multiSelect then
      question.chosen[at] = nil
      return go_on(question)
    end
    card.redraw(question)
  end, function(text)
    if vim.trim(text) ~= "" or question.own[at] then
      give_back(question, text)
    end
  end)
end

---@param question claude-ide.card.Question
---@return claude-ide.card.Line[]
local function lines_of(question)
  local one = question.questions[question.at]
  local chosen, own = question.chosen[question.at] or {}, question.own[question.at]
  local lines = { { one.question, "ClaudeTranscriptTitle" }, { "" } }
  for index, option in ipairs(one.options) do
    local mark = one.multiSelect and (chosen[index] and "[x] " or "[ ] ") or chosen[index] and "* " or ""
    -- Further lines are indented: none looks like another option.
    local label = option.label:gsub("\n", "\n    ")
    lines[#lines + 1] = { ("%d %s%s"):format(index, mark, label), "ClaudeTranscriptInput", index }
    if option.description then
      local about = option.description:gsub("\n", "\n    ")
      lines[#lines + 1] = { "  " .. about, "ClaudeTranscriptDim", index }
    end
    for _, line in ipairs(vim.split(option.preview or "", "\n", { trimempty = true })) do
      lines[#lines + 1] = { "  │ " .. line, "ClaudeTranscriptPreview", index }
    end
  end
  if own then
    lines[#lines + 1] = { "  " .. own, "ClaudeTranscriptYou" }
  end
  return lines
end

---@param question claude-ide.card.Question
---@return claude-ide.card.Text
local function text_of(question)
  local one = question.questions[question.at]
  local function pick_here()
    local index = card.choice(question)
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
            notice.info("Choose something first, or type your own answer.")
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
        card.redraw(question, true)
      end,
    },
    {
      keys = { "n" },
      desc = "decline",
      run = function()
        card.settle(question, { outcome = "rejected" })
      end,
    },
    card.later(),
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
    title = ("%s asks: %s%s"):format(question.requester.name, one.header or "", count),
    lines = lines_of(question),
    actions = actions,
    choice = next(question.chosen[question.at] or {}) or 1,
  }
end

---Whether there is one question with a single choice, whose answers can be choices.
---@param questions claude-ide.card.AskedQuestion[]
---@return boolean
local function is_simple(questions)
  return #questions == 1 and not questions[1].multiSelect and #questions[1].options > 0
end

---For remote clients.
---@type claude-ide.requests.Remote
local remote = {
  describe = function(request)
    ---@cast request claude-ide.card.Question
    local questions, choices = request.questions, {}
    if is_simple(questions) then
      for index, option in ipairs(questions[1].options) do
        choices[index] = { id = "option:" .. index, label = option.label }
      end
    end
    choices[#choices + 1] = { id = "answer", label = "Answer", answers = true }
    choices[#choices + 1] = { id = "reject", label = "Decline" }
    return {
      kind = "question",
      title = ("%s asks"):format(request.requester.name),
      questions = questions,
      choices = choices,
    }
  end,
  answer = function(request, answer)
    ---@cast request claude-ide.card.Question
    if answer.choice == "reject" then
      requests.settle_elsewhere(request, { outcome = "rejected" })
      return nil
    end
    local answers, option = {}, tonumber(answer.choice:match("^option:(%d+)$"))
    local first = request.questions[1]
    if option then
      answers[first.question] = first.options[option].label
    end
    for _, one in ipairs(request.questions) do
      local words = (answer.answers or {})[one.question]
      if type(words) == "string" and vim.trim(words) ~= "" then
        answers[one.question] = vim.trim(words)
      end
    end
    if not next(answers) then
      return "no question of it is answered"
    end
    requests.settle_elsewhere(
      request,
      { outcome = "accepted", changes = changes_of(request.questions, answers) }
    )
  end,
}

---@type claude-ide.card.Kind
local KIND = {
  name = "question",
  noun = "question",
  text = text_of,
  remote = function()
    return remote
  end,
  withdraw = function(question)
    card.close(question)
    give_back(question)
  end,
}

---Asks the user.
---@param asked claude-ide.chat.Request
function M.ask(asked)
  local fields = { questions = asked.ask.questions, at = 1, chosen = {}, own = {} }
  card.ask(KIND, asked, fields)
end

return M
