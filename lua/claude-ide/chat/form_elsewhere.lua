-- A form for remote clients: each field as a question, and the values of the answers. Fields that cannot be a question (a list without
-- choices, an object) leave the whole form to the editor.
local M = {}

local function can_be_asked(field)
  return field.choices ~= nil or vim.list_contains({ "text", "number", "integer" }, field.takes)
end

---An untouched boolean is false.
local function is_needed(field)
  return field.required and field.takes ~= "boolean"
end

---@param form claude-ide.chat.Form
---@param field claude-ide.chat.form.Field
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

---@param form claude-ide.chat.Form
---@return claude-ide.decisions.Choice[] empty: only the editor can answer
local function choices_of(form)
  local no = { id = "reject", label = "Decline" }
  if form.url then
    return { { id = "as_it_is", label = "It is open" }, no }
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
    choices[#choices + 1] = { id = "as_it_is", label = "Send as it came" }
  end
  choices[#choices + 1] = no
  return choices
end

---@param form claude-ide.chat.Form
---@return claude-ide.decisions.Described
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

---@param field claude-ide.chat.form.Field
---@param text string numbers of choices, as sent
---@return any value
---@return string? problem
local function chosen(field, text)
  local values = {}
  for at in text:gmatch("[^,%s]+") do
    local number = tonumber(at) --[[@as integer]]
    local choice = (field.choices or {})[number]
    if not choice then
      return nil, ("`%s` is no choice"):format(at)
    end
    values[#values + 1] = choice.value
  end
  if field.takes == "list" then
    return values, require("claude-ide.chat.form_field").problem_of_list(field, values)
  elseif #values ~= 1 then
    return nil, "one choice is wanted"
  end
  return values[1]
end

---The values of an answer.
---@param form claude-ide.chat.Form
---@param answer claude-ide.decisions.RemoteAnswer
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
      if field.choices then
        value, problem = chosen(field, text)
      else
        value, problem = require("claude-ide.chat.form_field").read(field, vim.trim(text))
      end
    end
    if problem then
      return nil, ("%s: %s"):format(field.title, problem)
    elseif value == nil and field.takes == "boolean" then
      value = false
    elseif value == nil and field.required then
      return nil, ("%s is missing"):format(field.title)
    end
    values[field.key] = value
  end
  return values
end

---@type claude-ide.decisions.Remote
M.remote = {
  describe = function(decision)
    ---@cast decision claude-ide.chat.Form
    return describe(decision)
  end,
  answer = function(decision, answer)
    ---@cast decision claude-ide.chat.Form
    if answer.choice == "reject" then
      require("claude-ide.decisions").settle_elsewhere(
        decision,
        { outcome = "rejected", message = "declined" }
      )
      return nil
    end
    local values, problem = values_of(decision, answer)
    if not values then
      return problem
    end
    require("claude-ide.decisions").settle_elsewhere(decision, { outcome = "accepted", changes = values })
  end,
}

return M
