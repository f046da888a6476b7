-- An agent, or a server of tools of its, asks for something to be filled in, or for a page to be opened: a kind of decision. Each
-- field of the form is a line.
local M = {}

local KIND = "form"

---@class claude-ide.chat.Form : claude-ide.Decision
---@field name string of who asks
---@field message string
---@field url? string
---@field fields claude-ide.chat.form.Field[]
---@field values table<string, any>

---@class claude-ide.chat.form.Field
---@field key string
---@field schema table
---@field required boolean
---@field choices? { value: any, name: string, description?: string }[]
---@field many? boolean

---@param field claude-ide.chat.form.Field
---@return string
local function title(field)
  return require("claude-ide.chat.form_field").title(field)
end

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
    local names = type(items.enumNames) == "table" and items.enumNames or {}
    local choices = {}
    for at, value in ipairs(items.enum) do
      choices[at] = { value = value, name = names[at] or value }
    end
    return choices
  elseif schema.type == "boolean" then
    return { { value = true, name = "yes" }, { value = false, name = "no" } }
  end
end

---@param requested table a schema
---@param order? string[] of the fields, where the asker has one
---@return claude-ide.chat.form.Field[]
local function fields_of(requested, order)
  local fields, required = {}, type(requested.required) == "table" and requested.required or {}
  for key, schema in pairs(type(requested.properties) == "table" and requested.properties or {}) do
    if type(schema) == "table" then
      fields[#fields + 1] = {
        key = key,
        schema = schema,
        required = vim.list_contains(required, key),
        choices = choices_of(schema),
        many = schema.type == "array",
      }
    end
  end
  local places = {} ---@type table<string, integer>
  for at, key in ipairs(type(order) == "table" and order or {}) do
    places[key] = at
  end
  table.sort(fields, function(left, right)
    local left_at, right_at = places[left.key] or math.huge, places[right.key] or math.huge
    if left_at ~= right_at then
      return left_at < right_at
    elseif left.required ~= right.required then
      return left.required
    end
    return left.key < right.key
  end)
  return fields
end

---@param form claude-ide.chat.Form
local function redraw(form)
  require("claude-ide.chat.panel").redraw(form)
end

---@param form claude-ide.chat.Form
---@param field claude-ide.chat.form.Field
local function choose(form, field)
  require("claude-ide.ui.choose").select(field.choices --[[@as table]], {
    prompt = title(field),
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

---@param form claude-ide.chat.Form
---@param field claude-ide.chat.form.Field
local function fill_in(form, field)
  if field.choices then
    return choose(form, field)
  end
  local now = form.values[field.key]
  vim.ui.input({
    prompt = title(field) .. ": ",
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
    local value, problem = require("claude-ide.chat.form_field").read(field.schema, text)
    if problem then
      return require("claude-ide.ui.notice").warn(("%s: %s."):format(title(field), problem))
    end
    form.values[field.key] = value
    redraw(form)
  end)
end

---@param form claude-ide.chat.Form
---@param field claude-ide.chat.form.Field
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

---@param form claude-ide.chat.Form
---@return claude-ide.chat.panel.Line[]
local function lines_of(form)
  local lines = {} ---@type claude-ide.chat.panel.Line[]
  for _, line in ipairs(vim.split(form.message, "\n", { plain = true })) do
    lines[#lines + 1] = { line, "ClaudeTranscriptTitle" }
  end
  lines[#lines + 1] = { "" }
  if form.url then
    lines[#lines + 1] = { form.url, "ClaudeTranscriptInput" }
    local doubt = require("claude-ide.chat.form_field").doubt_of_url(form.url)
    lines[#lines + 1] = doubt and { doubt, "ClaudeTranscriptFailed" } or nil
  end
  for number, field in ipairs(form.fields) do
    lines[#lines + 1] = {
      ("%d %s: %s"):format(number, title(field), value_of(form, field)),
      "ClaudeTranscriptInput",
      field,
    }
    if type(field.schema.description) == "string" then
      lines[#lines + 1] = { "  " .. (field.schema.description:gsub("\n", " ")), "ClaudeTranscriptDim", field }
    end
  end
  return lines
end

---@param form claude-ide.chat.Form
---@param answer claude-ide.chat.Answer
local function settle(form, answer)
  if require("claude-ide.decisions").settle(form, answer) then
    require("claude-ide.chat.panel").close(form)
  end
end

---@param form claude-ide.chat.Form
local function send(form)
  local problem_of_list = require("claude-ide.chat.form_field").problem_of_list
  for _, field in ipairs(form.fields) do
    if field.schema.type == "boolean" and form.values[field.key] == nil then
      form.values[field.key] = false
    elseif field.required and form.values[field.key] == nil then
      return require("claude-ide.ui.notice").info(("%s is missing."):format(title(field)))
    end
    local chosen = field.many and form.values[field.key]
    local problem = type(chosen) == "table" and problem_of_list(field.schema, chosen)
    if problem then
      return require("claude-ide.ui.notice").info(("%s: %s."):format(title(field), problem))
    end
  end
  settle(form, { outcome = "accepted", changes = form.values })
end

---The first field that has no value yet, else the first.
---@param form claude-ide.chat.Form
---@return claude-ide.chat.form.Field?
local function first_open(form)
  for _, field in ipairs(form.fields) do
    if form.values[field.key] == nil then
      return field
    end
  end
  return form.fields[1]
end

---@param form claude-ide.chat.Form
---@return claude-ide.chat.panel.Text
local function text_of(form)
  local actions = {} ---@type claude-ide.chat.panel.Action[]
  if form.url then
    actions[1] = {
      keys = { "<CR>", "o" },
      desc = "open the page",
      run = function()
        vim.ui.open(form.url)
        settle(form, { outcome = "accepted", changes = {} })
      end,
    }
  else
    actions[1] = {
      keys = { "<CR>" },
      desc = "fill in",
      run = function()
        local field = require("claude-ide.chat.panel").choice(form)
        if field then
          fill_in(form, field)
        end
      end,
    }
  end
  actions[2] = {
    keys = { "y" },
    desc = form.url and "it is open" or "send",
    run = function()
      send(form)
    end,
  }
  vim.list_extend(actions, {
    {
      keys = { "n" },
      desc = "decline",
      run = function()
        settle(form, { outcome = "rejected", message = "declined" })
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
  return {
    title = ("%s asks you something"):format(form.name),
    lines = lines_of(form),
    actions = actions,
    choice = first_open(form),
  }
end

---Asks the user.
---@param request claude-ide.chat.Request
function M.ask(request)
  local decisions, ask = require("claude-ide.decisions"), request.ask
  local schema = type(ask.requested_schema) == "table" and ask.requested_schema or {}
  local url = type(ask.url) == "string" and ask.url or nil
  local fields = url and {} or fields_of(schema, ask.property_order)
  local values = {}
  for _, field in ipairs(fields) do
    values[field.key] = field.schema.default
  end
  decisions.register(
    KIND,
    require("claude-ide.chat.panel").presenter("question", "questions", text_of, function()
      return require("claude-ide.chat.remote").form
    end)
  )
  decisions.ask(KIND, request.chat.asker, request, {
    name = tostring(ask.display_name or ask.mcp_server_name or "A server"),
    message = tostring(ask.message or ""),
    url = url,
    fields = fields,
    values = values,
  })
end

return M
