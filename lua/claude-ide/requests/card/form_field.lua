-- Parses and validates the values of a form's fields. Pure.
local M = {}

---Patterns and names of formats; the requester validates further.
---@type table<string, { [1]: string, [2]: string }>
local FORMATS = {
  email = { "^[^@%s]+@[^@%s]+$", "an email address" },
  uri = { "^%a[%w+.-]*:%S+$", "a URI" },
  date = { "^%d%d%d%d%-%d%d%-%d%d$", "a date like 2026-01-31" },
  ["date-time"] = {
    "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d[%d.]*[Z+-][%d:]*$",
    "a time like 2026-01-31T12:00:00Z",
  },
}

---Warns of a misleading address.
---@param url string
---@return string? warning
function M.doubt_of_url(url)
  local host = url:match("^%a[%w+.-]*://([^/?#\\]*)") or ""
  if host:find("@", 1, true) then
    return ("This address leads to %s: the part before the @ is not the host name."):format(
      host:match("[^@]*$")
    )
  elseif host:find("[\128-\255]") or host:lower():find("xn--", 1, true) then
    return "The name of the host has letters that may only look like those that you know."
  end
end

---@param field claude-ide.card.form.Field
---@param chosen any[]
---@return string? problem
local function problem_of_list(field, chosen)
  if field.least and #chosen < field.least then
    return ("choose at least %d of them"):format(field.least)
  elseif field.most and #chosen > field.most then
    return ("choose at most %d of them"):format(field.most)
  end
end

---Completes and validates values to be sent: an untouched boolean is false.
---@param fields claude-ide.card.form.Field[]
---@param values table<string, any>
---@return string? problem a sentence without a full stop
function M.complete(fields, values)
  for _, field in ipairs(fields) do
    local value = values[field.key]
    if value == nil and field.takes == "boolean" then
      values[field.key] = false
    elseif value == nil and field.required then
      return field.title .. " is missing"
    end
    local problem = field.takes == "list" and type(value) == "table" and problem_of_list(field, value)
    if problem then
      return ("%s: %s"):format(field.title, problem)
    end
  end
end

---@param least? number
---@param most? number
---@param one string "a number"
---@param many string "characters"
---@return string?
local function limits_in_words(least, most, one, many)
  if least and most then
    return ("%s from %s to %s"):format(one, least, most)
  elseif least then
    return many:format("at least " .. least)
  elseif most then
    return many:format("at most " .. most)
  end
end

---What a field takes, in words.
---@param field claude-ide.card.form.Field
---@return string? nil: anything
function M.limits(field)
  local least, most = field.least, field.most
  if field.takes == "number" or field.takes == "integer" then
    local one = field.takes == "integer" and "a whole number" or "a number"
    return limits_in_words(least, most, one, one .. ", %s") or one
  elseif field.takes == "list" then
    return least and most and ("%s to %s of them"):format(least, most)
      or limits_in_words(least, most, "", "%s of them")
  elseif field.takes ~= "text" then
    return nil
  end
  local format = FORMATS[field.format]
  local words = {} ---@type string[]
  words[1] = format and format[2] or nil
  if least and most then
    words[#words + 1] = ("%s to %s characters"):format(least, most)
  else
    words[#words + 1] = limits_in_words(least, most, "", "%s characters")
  end
  return #words > 0 and table.concat(words, ", ") or nil
end

---Parses and validates the text for a field.
---@param field claude-ide.card.form.Field
---@param text string
---@return any value
---@return string? problem
function M.read(field, text)
  local least, most = field.least, field.most
  if field.takes == "number" or field.takes == "integer" then
    local number = tonumber(text)
    if not number or number - number ~= 0 or field.takes == "integer" and number % 1 ~= 0 then
      return nil, field.takes == "integer" and "enter a whole number" or "enter a number"
    elseif least and number < least or most and number > most then
      return nil, "enter " .. M.limits(field)
    end
    return number
  elseif least and vim.fn.strchars(text) < least then
    return nil, ("enter at least %d characters"):format(least)
  elseif most and vim.fn.strchars(text) > most then
    return nil, ("enter at most %d characters"):format(most)
  end
  local format = FORMATS[field.format]
  if format and not text:find(format[1]) then
    return nil, "enter " .. format[2]
  end
  return text
end

return M
