-- An agent asks for something to be filled in, or for a page to be opened: a kind of decision. Each field of the form is a line.
local M = {}

local KIND = "agent_form"

---@class claude-ide.chat.acp.Form : claude-ide.Decision
---@field name string of the agent
---@field message string
---@field url? string
---@field fields claude-ide.chat.acp.Field[]
---@field values table<string, any>

---@class claude-ide.chat.acp.Field
---@field key string
---@field schema table
---@field required boolean
---@field choices? { value: any, name: string, description?: string }[]
---@field many? boolean

---@param schema table
---@return { value: any, name: string, description?: string }[]?
local function choices_of(schema)
  local items = schema.type == "array" and (schema.items or {}) or schema
  local titled = items.oneOf or items.anyOf
  if type(titled) == "table" then
    return vim.tbl_map(function(option)
      return { value = option.const, name = option.title or option.const, description = option.description }
    end, titled)
  elseif type(items.enum) == "table" then
    return vim.tbl_map(function(value)
      return { value = value, name = value }
    end, items.enum)
  elseif schema.type == "boolean" then
    return { { value = true, name = "yes" }, { value = false, name = "no" } }
  end
end

---@param requested table
---@return claude-ide.chat.acp.Field[]
local function fields_of(requested)
  local fields, required = {}, type(requested.required) == "table" and requested.required or {}
  for key, schema in pairs(type(requested.properties) == "table" and requested.properties or {}) do
    fields[#fields + 1] = {
      key = key,
      schema = schema,
      required = vim.list_contains(required, key),
      choices = choices_of(schema),
      many = schema.type == "array",
    }
  end
  table.sort(fields, function(left, right)
    if left.required ~= right.required then
      return left.required
    end
    return left.key < right.key
  end)
  return fields
end

---What is wrong with what was written for a field.
---@param schema table
---@param text string
---@return any value
---@return string? problem
local function read(schema, text)
  if schema.type == "number" or schema.type == "integer" then
    local number = tonumber(text)
    if not number or schema.type == "integer" and number % 1 ~= 0 then
      return nil, schema.type == "integer" and "a whole number is wanted" or "a number is wanted"
    elseif schema.minimum and number < schema.minimum or schema.maximum and number > schema.maximum then
      return nil,
        ("a number from %s to %s is wanted"):format(schema.minimum or "any", schema.maximum or "any")
    end
    return number
  elseif schema.minLength and vim.fn.strchars(text) < schema.minLength then
    return nil, ("at least %d characters are wanted"):format(schema.minLength)
  elseif schema.maxLength and vim.fn.strchars(text) > schema.maxLength then
    return nil, ("at most %d characters are wanted"):format(schema.maxLength)
  end
  return text
end

---@param form claude-ide.chat.acp.Form
local function redraw(form)
  require("claude-ide.chat.panel").redraw(form)
end

---@param form claude-ide.chat.acp.Form
---@param field claude-ide.chat.acp.Field
local function choose(form, field)
  require("claude-ide.ui.choose").select(field.choices --[[@as table]], {
    prompt = field.schema.title or field.key,
    format_item = function(choice)
      local now = form.values[field.key]
      local is_chosen = now == choice.value or type(now) == "table" and vim.list_contains(now, choice.value)
      local about = type(choice.description) == "string" and " · " .. choice.description or ""
      return (is_chosen and "* " or "  ") .. tostring(choice.name) .. about
    end,
  }, function(choice)
    if not choice or form.state ~= "pending" then
      return
    elseif not field.many then
      form.values[field.key] = choice.value
      return redraw(form)
    end
    local list = form.values[field.key] or {}
    local without = vim.tbl_filter(function(value)
      return value ~= choice.value
    end, list)
    form.values[field.key] = #without == #list and vim.list_extend(without, { choice.value }) or without
    redraw(form)
  end)
end

---@param form claude-ide.chat.acp.Form
---@param field claude-ide.chat.acp.Field
local function fill_in(form, field)
  if field.choices then
    return choose(form, field)
  end
  local now = form.values[field.key]
  vim.ui.input({
    prompt = (field.schema.title or field.key) .. ": ",
    default = now ~= nil and tostring(now) or nil,
  }, function(text)
    if not text then
      return
    elseif form.state ~= "pending" then
      return require("claude-ide.ui.kept_words").give_back(text, "The question is gone")
    elseif text == "" then
      form.values[field.key] = nil
      return redraw(form)
    end
    local value, problem = read(field.schema, text)
    if problem then
      return require("claude-ide.ui.notice").warn(
        ("%s: %s."):format(field.schema.title or field.key, problem)
      )
    end
    form.values[field.key] = value
    redraw(form)
  end)
end

---@param form claude-ide.chat.acp.Form
---@param field claude-ide.chat.acp.Field
---@return string
local function value_of(form, field)
  local value = form.values[field.key]
  local function named(one)
    for _, choice in ipairs(field.choices or {}) do
      if choice.value == one then
        return tostring(choice.name)
      end
    end
    return tostring(one)
  end
  if value == nil then
    return field.required and "(wanted)" or ""
  end
  return type(value) == "table" and table.concat(vim.tbl_map(named, value), ", ") or named(value)
end

---@param form claude-ide.chat.acp.Form
---@return { [1]: string, [2]: string? }[]
---@return table<integer, claude-ide.chat.acp.Field> by line
local function lines_of(form)
  local lines, at = {}, {}
  for _, line in ipairs(vim.split(form.message, "\n", { plain = true })) do
    lines[#lines + 1] = { line, "ClaudeTranscriptTitle" }
  end
  lines[#lines + 1] = { "" }
  if form.url then
    lines[#lines + 1] = { form.url, "ClaudeTranscriptInput" }
  end
  for number, field in ipairs(form.fields) do
    lines[#lines + 1] = {
      ("%d %s: %s"):format(number, field.schema.title or field.key, value_of(form, field)),
      "ClaudeTranscriptInput",
    }
    at[#lines] = field
    if type(field.schema.description) == "string" then
      lines[#lines + 1] = { "  " .. (field.schema.description:gsub("\n", " ")), "ClaudeTranscriptDim" }
      at[#lines] = field
    end
  end
  return lines, at
end

---@param form claude-ide.chat.acp.Form
---@param outcome string
---@param action string
local function settle(form, outcome, action)
  local answer = { outcome = outcome, action = action } --[[@as claude-ide.decisions.Answer]]
  if require("claude-ide.decisions").settle(form, answer) then
    require("claude-ide.chat.panel").close(form)
  end
end

---@param form claude-ide.chat.acp.Form
local function send(form)
  for _, field in ipairs(form.fields) do
    if field.required and form.values[field.key] == nil then
      return require("claude-ide.ui.notice").info(("%s is wanted."):format(field.schema.title or field.key))
    end
  end
  settle(form, "accepted", "accept")
end

---@param form claude-ide.chat.acp.Form
---@return claude-ide.chat.panel.Text
local function text_of(form)
  local lines, at = lines_of(form)
  local row ---@type integer?
  for line in pairs(at) do
    row = math.min(row or line, line)
  end
  local actions = {} ---@type claude-ide.chat.panel.Action[]
  if form.url then
    actions[1] = {
      keys = { "o", "<CR>" },
      desc = "open the page",
      run = function()
        vim.ui.open(form.url)
        settle(form, "accepted", "accept")
      end,
    }
  else
    actions[1] = {
      keys = { "<CR>" },
      desc = "fill in",
      run = function()
        local _, fields = lines_of(form)
        local field = fields[vim.fn.line(".")]
        if field then
          fill_in(form, field)
        end
      end,
    }
    actions[2] = {
      keys = { "y" },
      desc = "send",
      run = function()
        send(form)
      end,
    }
  end
  vim.list_extend(actions, {
    {
      keys = { "n" },
      desc = "do not answer",
      run = function()
        settle(form, "rejected", "decline")
      end,
    },
    require("claude-ide.chat.panel").later(),
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
  return { title = ("%s asks you something"):format(form.name), lines = lines, actions = actions, row = row }
end

---@param chat claude-ide.chat.Chat
---@param params table
---@param answer claude-ide.chat.acp.Answer
---@param id string
function M.ask(chat, params, answer, id)
  local decisions = require("claude-ide.decisions")
  local is_page = params.mode == "url"
  if not is_page and params.mode ~= "form" then
    return answer({ action = "decline" })
  end
  local fields = is_page and {} or fields_of(params.requestedSchema or {})
  local values = {}
  for _, field in ipairs(fields) do
    values[field.key] = field.schema.default
  end
  local request = { chat = chat, id = id, ask = {}, params = params } --[[@as claude-ide.chat.acp.Request]]
  request.reply = function(decided)
    local action = decided and decided.action or "cancel" ---@diagnostic disable-line: undefined-field -- of this form
    local content = action == "accept" and not is_page and next(values) ~= nil and values or nil
    answer({ action = action, content = content })
  end
  decisions.register(KIND, require("claude-ide.chat.panel").presenter("question", "questions", text_of))
  decisions.ask(KIND, chat.asker, request, {
    name = chat.name,
    message = tostring(params.message or ""),
    url = is_page and params.url or nil,
    fields = fields,
    values = values,
  })
end

return M
