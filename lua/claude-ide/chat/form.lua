-- What an MCP server of the agent's asks the person: a form, field by field, or a page to open. A kind of decision.
local M = {}

local KIND = "form"

---@class claude-ide.chat.form.Field
---@field name string
---@field title string
---@field about? string
---@field type string of JSON Schema
---@field choices? string[]
---@field names? string[] what the choices are called
---@field required boolean

---@class claude-ide.chat.Form : claude-ide.Decision
---@field ask table the agent's own words
---@field fields claude-ide.chat.form.Field[]
---@field values table<string, any>

---@param list any
---@return string[]?
local function strings(list)
  return type(list) == "table" and #list > 0 and vim.tbl_map(tostring, list) or nil
end

---@param ask table
---@return claude-ide.chat.form.Field[]
---@return table<string, any> values that stand there already
local function fields_of(ask)
  local schema = type(ask.requested_schema) == "table" and ask.requested_schema or {}
  local properties = type(schema.properties) == "table" and schema.properties or {}
  local required = strings(schema.required) or {}
  local order = strings(ask.property_order)
  if not order then
    order = vim.tbl_keys(properties)
    table.sort(order)
  end
  local fields, values = {}, {}
  for _, name in ipairs(order) do
    local property = properties[name]
    if type(property) == "table" then
      fields[#fields + 1] = {
        name = name,
        title = tostring(property.title or name),
        about = type(property.description) == "string" and property.description or nil,
        type = type(property.type) == "string" and property.type or "string",
        choices = strings(property.enum),
        names = strings(property.enumNames),
        required = vim.list_contains(required, name),
      }
      values[name] = property.default
    end
  end
  return fields, values
end

---@param form claude-ide.chat.Form
---@param answer claude-ide.chat.Answer
local function settle(form, answer)
  if require("claude-ide.decisions").settle(form, answer) then
    require("claude-ide.chat.panel").close(form)
  end
end

---What was typed, in the type that the field has.
---@param field claude-ide.chat.form.Field
---@param text string
---@return any value
---@return string? problem
local function value_of(field, text)
  if field.type == "number" or field.type == "integer" then
    local number = tonumber(text)
    if not number or field.type == "integer" and number % 1 ~= 0 then
      return nil,
        ("%s is to be a %s."):format(field.title, field.type == "integer" and "whole number" or "number")
    end
    return number
  end
  return text
end

---@param form claude-ide.chat.Form
---@param field claude-ide.chat.form.Field
local function fill(form, field)
  local function put(value)
    form.values[field.name] = value
    require("claude-ide.chat.panel").redraw(form)
  end
  if field.type == "boolean" then
    return put(not form.values[field.name])
  elseif field.choices then
    return require("claude-ide.ui.choose").select(field.choices, {
      prompt = field.title,
      format_item = function(choice)
        for at, one in ipairs(field.choices) do
          if one == choice and field.names and field.names[at] then
            return field.names[at]
          end
        end
        return choice
      end,
    }, function(choice)
      if choice and form.state == "pending" then
        put(choice)
      end
    end)
  end
  local before = form.values[field.name]
  vim.ui.input(
    { prompt = field.title .. ": ", default = before ~= nil and tostring(before) or nil },
    function(text)
      if not text then
        return
      elseif form.state ~= "pending" then
        return require("claude-ide.ui.kept_words").give_back(text, "The question is gone")
      end
      local value, problem = value_of(field, text)
      if problem then
        return require("claude-ide.ui.notice").error(problem)
      end
      put(value)
    end
  )
end

---@param form claude-ide.chat.Form
local function submit(form)
  for _, field in ipairs(form.fields) do
    local value = form.values[field.name]
    if field.type == "boolean" and value == nil then
      form.values[field.name] = false
    elseif field.required and (value == nil or value == "") then
      return require("claude-ide.ui.notice").info(("%s is missing."):format(field.title))
    end
  end
  settle(form, { outcome = "accepted", changes = form.values })
end

---@param form claude-ide.chat.Form
---@return { [1]: string, [2]: string? }[] lines
---@return table<integer, claude-ide.chat.form.Field> by line
local function lines_of(form)
  local lines, at = {}, {} ---@type { [1]: string, [2]: string? }[], table<integer, claude-ide.chat.form.Field>
  lines[1] = { tostring(form.ask.message or ""), "ClaudeTranscriptTitle" }
  if form.ask.url then
    lines[#lines + 1] = { tostring(form.ask.url), "ClaudeTranscriptInput" }
  end
  lines[#lines + 1] = { "" }
  for _, field in ipairs(form.fields) do
    local value = form.values[field.name]
    local shown = value == nil and "…"
      or type(value) == "boolean" and (value and "yes" or "no")
      or tostring(value)
    lines[#lines + 1] =
      { ("%s%s: %s"):format(field.title, field.required and " *" or "", shown), "ClaudeTranscriptInput" }
    at[#lines] = field
    if field.about then
      lines[#lines + 1] = { "  " .. field.about, "ClaudeTranscriptDim" }
      at[#lines] = field
    end
  end
  return lines, at
end

---The first field that has no value yet.
---@param form claude-ide.chat.Form
---@param at table<integer, claude-ide.chat.form.Field>
---@return integer? line
local function first_open(form, at)
  local first ---@type integer?
  for line, field in pairs(at) do
    local is_before = not first or line < first
    if form.values[field.name] == nil and is_before then
      first = line
    end
  end
  return first
end

---@param form claude-ide.chat.Form
---@return claude-ide.chat.panel.Text
local function text_of(form)
  local lines, at = lines_of(form)
  local url = form.ask.mode == "url" and form.ask.url or nil
  return {
    title = ("%s asks"):format(tostring(form.ask.display_name or form.ask.mcp_server_name or "A server")),
    lines = lines,
    actions = {
      {
        keys = { "<CR>" },
        desc = url and "open it" or "fill in",
        run = function()
          if url then
            return vim.ui.open(tostring(url))
          end
          local _, fields = lines_of(form)
          local field = fields[vim.fn.line(".")]
          if field then
            fill(form, field)
          end
        end,
      },
      {
        keys = { "y" },
        desc = url and "done" or "send",
        run = function()
          submit(form)
        end,
      },
      {
        keys = { "n" },
        desc = "decline",
        run = function()
          settle(form, { outcome = "rejected", message = "declined" })
        end,
      },
      require("claude-ide.chat.panel").later(),
    },
    row = first_open(form, at),
  }
end

---Asks the person.
---@param request claude-ide.chat.Request
function M.ask(request)
  local fields, values = fields_of(request.ask)
  require("claude-ide.decisions").register(
    KIND,
    require("claude-ide.chat.panel").presenter("question of a server", "questions of servers", text_of)
  )
  require("claude-ide.decisions").ask(KIND, request.chat.asker, request, {
    ask = request.ask,
    fields = fields,
    values = values,
  })
end

return M
