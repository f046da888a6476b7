-- A form or a link from an agent or an MCP server: a kind of request. Each field is a line.
local card, form_field =
  require("claude-ide.requests.card.window"), require("claude-ide.requests.card.form_field")
local lazy = require("claude-ide.lazy")
local notice = lazy("claude-ide.base.notice")
local requests = lazy("claude-ide.requests")
local ui_choose = lazy("claude-ide.ui.choose")

local M = {}

---@class claude-ide.card.Form : claude-ide.Request
---@field name string of the requester
---@field message string
---@field url? string
---@field fields claude-ide.card.form.Field[]
---@field values table<string, any>
---@field drafts table<string, { text: string, problem: string }> what was typed and is not right yet

---@class claude-ide.card.form.Field
---@field key string
---@field title string
---@field description? string
---@field takes "text"|"number"|"integer"|"boolean"|"list"|"other"
---@field required boolean
---@field default? any
---@field choices? { value: any, name: string, description?: string }[] nil: free text
---@field least? number minimum of the number, the characters, or the choices
---@field most? number
---@field format? string text

---@param form claude-ide.card.Form
---@param field claude-ide.card.form.Field
local function choose(form, field)
  ui_choose.select(field.choices --[[@as table]], {
    prompt = field.title,
    format_item = function(choice)
      local now = form.values[field.key]
      local is_chosen = now == choice.value or type(now) == "table" and vim.list_contains(now, choice.value)
      local about = choice.description and " · " .. choice.description or ""
      return (is_chosen and "* " or "  ") .. choice.name .. about
    end,
  }, function(choice)
    if not choice or form.state ~= "pending" then
      return
    elseif field.takes ~= "list" then
      form.values[field.key] = choice.value
      return card.redraw(form)
    end
    local list = form.values[field.key] or {}
    local without = vim.tbl_filter(function(value)
      return value ~= choice.value
    end, list)
    form.values[field.key] = #without == #list and vim.list_extend(without, { choice.value }) or without
    card.redraw(form)
  end)
end

---@param form claude-ide.card.Form
---@param field claude-ide.card.form.Field
local function fill_in(form, field)
  if field.choices then
    return choose(form, field)
  end
  local now, draft = form.values[field.key], form.drafts[field.key]
  card.input(form, {
    prompt = field.title .. ": ",
    default = draft and draft.text or now ~= nil and tostring(now) or nil,
  }, function(text)
    local value, problem
    if text ~= "" then
      value, problem = form_field.read(field, text)
    end
    form.drafts[field.key] = problem and { text = text, problem = problem } or nil
    if problem then
      notice.warn(("%s: %s."):format(field.title, problem))
    else
      form.values[field.key] = value
    end
    card.redraw(form)
  end)
end

---@param form claude-ide.card.Form
---@param field claude-ide.card.form.Field
---@return string
local function value_of(form, field)
  local value, draft = form.values[field.key], form.drafts[field.key]
  if draft then
    return ("%s (%s)"):format(draft.text, draft.problem)
  end
  ---@param one any
  ---@return string
  local function named(one)
    for _, choice in ipairs(field.choices or {}) do
      if choice.value == one then
        return choice.name
      end
    end
    return tostring(one) --[[@as string]]
  end
  if value == nil then
    return field.required and "(required)" or ""
  end
  return type(value) == "table" and table.concat(vim.tbl_map(named, value), ", ") or named(value)
end

---@param form claude-ide.card.Form
---@return claude-ide.card.Line[]
local function lines_of(form)
  local lines = {} ---@type claude-ide.card.Line[]
  for _, line in ipairs(vim.split(form.message, "\n", { plain = true })) do
    lines[#lines + 1] = { line, "ClaudeTranscriptTitle" }
  end
  lines[#lines + 1] = { "" }
  if form.url then
    lines[#lines + 1] = { form.url, "ClaudeTranscriptInput" }
    local doubt = form_field.doubt_of_url(form.url)
    lines[#lines + 1] = doubt and { doubt, "ClaudeTranscriptFailed" } or nil
  end
  for number, field in ipairs(form.fields) do
    lines[#lines + 1] = {
      ("%d %s: %s"):format(number, field.title, value_of(form, field)),
      "ClaudeTranscriptInput",
      field,
    }
    local about = {} ---@type string[]
    about[1] = field.description and (field.description:gsub("%s*\n%s*", " "))
    about[#about + 1] = form_field.limits(field)
    local words = table.concat(about, " · ")
    if words ~= "" then
      lines[#lines + 1] = { "  " .. words, "ClaudeTranscriptDim", field }
    end
  end
  return lines
end

---@param form claude-ide.card.Form
local function send(form)
  local problem = nil ---@type string?
  for _, field in ipairs(form.fields) do
    local draft = form.drafts[field.key]
    problem = problem or draft and ("%s: %s"):format(field.title, draft.problem)
  end
  problem = problem or form_field.complete(form.fields, form.values)
  if problem then
    return notice.info(problem .. ".")
  end
  card.settle(form, { outcome = "accepted", changes = form.values })
end

---The first field without a value, else the first.
---@param form claude-ide.card.Form
---@return claude-ide.card.form.Field?
local function first_open(form)
  for _, field in ipairs(form.fields) do
    if form.values[field.key] == nil then
      return field
    end
  end
  return form.fields[1]
end

---@param form claude-ide.card.Form
---@return claude-ide.card.Text
local function text_of(form)
  local actions = {} ---@type claude-ide.card.Action[]
  if form.url then
    actions[1] = {
      keys = { "<CR>", "o" },
      desc = "open the page",
      run = function()
        vim.ui.open(form.url)
        card.settle(form, { outcome = "accepted", changes = {} })
      end,
    }
  else
    actions[1] = {
      keys = { "<CR>" },
      desc = "fill in",
      run = function()
        local field = card.choice(form)
        if field then
          fill_in(form, field)
        end
      end,
    }
  end
  actions[2] = {
    keys = { "y" },
    desc = form.url and "the page is open" or "send",
    run = function()
      send(form)
    end,
  }
  vim.list_extend(actions, {
    {
      keys = { "n" },
      desc = "decline",
      run = function()
        card.settle(form, { outcome = "rejected", message = "declined" })
      end,
    },
    card.later(),
  })
  for number, field in ipairs(vim.list_slice(form.fields, 1, 9)) do
    actions[#actions + 1] = {
      keys = { tostring(number) },
      desc = "fill in " .. number,
      hidden = true,
      run = function()
        fill_in(form, field)
      end,
    }
  end
  return {
    title = ("%s asks you something"):format(form.name),
    lines = lines_of(form),
    actions = actions,
    choice = first_open(form),
  }
end

local function can_be_asked(field)
  return field.choices ~= nil or vim.list_contains({ "text", "number", "integer" }, field.takes)
end

---An untouched boolean is false.
local function is_needed(field)
  return field.required and field.takes ~= "boolean"
end

---@param form claude-ide.card.Form
---@param field claude-ide.card.form.Field
---@return table
local function question_of(form, field)
  local now, options, chosen = form.values[field.key], {}, {}
  for at, choice in ipairs(field.choices or {}) do
    options[at] = { id = tostring(at), label = choice.name, description = choice.description }
    if now == choice.value or type(now) == "table" and vim.list_contains(now, choice.value) then
      chosen[#chosen + 1] = tostring(at)
    end
  end
  return {
    key = field.key,
    question = field.title,
    header = not is_needed(field) and "optional" or nil,
    description = field.description,
    options = #options > 0 and options or nil,
    chosen = #chosen > 0 and chosen or nil,
    multiSelect = field.takes == "list",
    own = field.choices == nil,
    optional = not is_needed(field),
    value = not field.choices and now ~= nil and tostring(now) or nil,
  }
end

---@param form claude-ide.card.Form
---@return claude-ide.requests.Choice[] empty: only the editor can answer
local function choices_of(form)
  local no = { id = "reject", label = "Decline" }
  if form.url then
    return { { id = "as_it_is", label = "The page is open" }, no }
  elseif #form.fields == 0 then
    return { { id = "as_it_is", label = "Accept" }, no }
  end
  local choices, is_any_needed = { { id = "answer", label = "Send", answers = true } }, false
  for _, field in ipairs(form.fields) do
    if not can_be_asked(field) then
      return {}
    end
    is_any_needed = is_any_needed or is_needed(field)
  end
  if not is_any_needed then
    choices[#choices + 1] = { id = "as_it_is", label = "Submit unchanged" }
  end
  choices[#choices + 1] = no
  return choices
end

---@param form claude-ide.card.Form
---@return claude-ide.requests.Described
local function describe(form)
  local choices = choices_of(form)
  local questions = {}
  for at, field in ipairs(#choices > 0 and form.fields or {}) do
    questions[at] = question_of(form, field)
  end
  return {
    kind = "question",
    title = ("%s asks you something"):format(form.name),
    text = form.url and ("%s\n\n%s"):format(form.message, form.url) or form.message,
    questions = #questions > 0 and questions or nil,
    choices = choices,
  }
end

---@param field claude-ide.card.form.Field
---@param text string numbers of choices, as sent
---@return any value
---@return string? problem
local function chosen(field, text)
  local values = {}
  for at in text:gmatch("[^,%s]+") do
    local number = tonumber(at) --[[@as integer]]
    local choice = (field.choices or {})[number]
    if not choice then
      return nil, ("`%s` is not one of the choices"):format(at)
    end
    values[#values + 1] = choice.value
  end
  if field.takes == "list" then
    return values
  elseif #values ~= 1 then
    return nil, "choose one"
  end
  return values[1]
end

---The values of a remote client's answer.
---@param form claude-ide.card.Form
---@param answer claude-ide.requests.RemoteAnswer
---@return table<string, any>? values
---@return string? problem
local function values_of(form, answer)
  local values = {}
  for _, field in ipairs(form.fields) do
    local value, problem
    local text = (answer.answers or {})[field.key]
    if answer.choice == "as_it_is" then
      value = form.values[field.key]
    elseif type(text) == "string" and vim.trim(text) ~= "" then
      local take = field.choices and chosen or form_field.read
      value, problem = take(field, vim.trim(text))
    end
    if problem then
      return nil, ("%s: %s"):format(field.title, problem)
    end
    values[field.key] = value
  end
  local problem = form_field.complete(form.fields, values)
  return not problem and values or nil, problem
end

---For remote clients: each field as a question. Fields that cannot be a question (a list without choices, an object) leave the whole form
---to the editor.
---@type claude-ide.requests.Remote
local remote = {
  describe = function(request)
    ---@cast request claude-ide.card.Form
    return describe(request)
  end,
  answer = function(request, answer)
    ---@cast request claude-ide.card.Form
    local settle_elsewhere = requests.settle_elsewhere
    if answer.choice == "reject" then
      settle_elsewhere(request, { outcome = "rejected", message = "declined" })
      return nil
    end
    local values, problem = values_of(request, answer)
    if not values then
      return problem
    end
    settle_elsewhere(request, { outcome = "accepted", changes = values })
  end,
}

---@type claude-ide.card.Kind
local KIND = {
  name = "form",
  noun = "question",
  text = text_of,
  remote = function()
    return remote
  end,
}

---Asks the user.
---@param asked claude-ide.chat.Request
function M.ask(asked)
  local ask, values = asked.ask, {}
  for _, field in ipairs(ask.fields) do
    values[field.key] = field.default
  end
  card.ask(KIND, asked, {
    name = ask.name,
    message = ask.message,
    url = ask.url,
    fields = ask.fields,
    values = values,
    drafts = {},
  })
end

return M
