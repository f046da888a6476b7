-- A form or a link from an agent or an MCP server: a kind of decision. Each field is a line.
local M = {}

---@class claude-ide.chat.Form : claude-ide.Decision
---@field name string of the requester
---@field message string
---@field url? string
---@field fields claude-ide.chat.form.Field[]
---@field values table<string, any>

---@class claude-ide.chat.form.Field
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

local function redraw(form)
  require("claude-ide.chat.panel").redraw(form)
end

---@param form claude-ide.chat.Form
---@param field claude-ide.chat.form.Field
local function choose(form, field)
  require("claude-ide.ui.choose").select(field.choices --[[@as table]], {
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
  require("claude-ide.chat.panel").input(form, {
    prompt = field.title .. ": ",
    default = now ~= nil and tostring(now) or nil,
  }, function(text)
    if text == "" then
      form.values[field.key] = nil
      return redraw(form)
    end
    local value, problem = require("claude-ide.chat.form_field").read(field, text)
    if problem then
      return require("claude-ide.ui.notice").warn(("%s: %s."):format(field.title, problem))
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
      ("%d %s: %s"):format(number, field.title, value_of(form, field)),
      "ClaudeTranscriptInput",
      field,
    }
    if field.description then
      lines[#lines + 1] = { "  " .. (field.description:gsub("\n", " ")), "ClaudeTranscriptDim", field }
    end
  end
  return lines
end

local function settle(...)
  require("claude-ide.chat.panel").settle(...)
end

---@param form claude-ide.chat.Form
local function send(form)
  local problem_of_list = require("claude-ide.chat.form_field").problem_of_list
  for _, field in ipairs(form.fields) do
    if field.takes == "boolean" and form.values[field.key] == nil then
      form.values[field.key] = false
    elseif field.required and form.values[field.key] == nil then
      return require("claude-ide.ui.notice").info(("%s is missing."):format(field.title))
    end
    local chosen = field.takes == "list" and form.values[field.key]
    local problem = type(chosen) == "table" and problem_of_list(field, chosen)
    if problem then
      return require("claude-ide.ui.notice").info(("%s: %s."):format(field.title, problem))
    end
  end
  settle(form, { outcome = "accepted", changes = form.values })
end

---The first field without a value, else the first.
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

---@type claude-ide.chat.panel.Kind
local KIND = {
  name = "form",
  noun = "question",
  text = text_of,
  remote = function()
    return require("claude-ide.chat.form_elsewhere").remote
  end,
}

---Asks the user.
---@param request claude-ide.chat.Request
function M.ask(request)
  local ask, values = request.ask, {}
  for _, field in ipairs(ask.fields) do
    values[field.key] = field.default
  end
  require("claude-ide.chat.panel").ask(KIND, request, {
    name = ask.name,
    message = ask.message,
    url = ask.url,
    fields = ask.fields,
    values = values,
  })
end

return M
