-- What somebody wrote for a field of a form, as its schema wants it. Pure.
local M = {}

---What the user calls it, in a line.
---@param field claude-ide.chat.form.Field
---@return string
function M.title(field)
  local title = field.schema.title
  return vim.trim(((type(title) == "string" and title or field.key):gsub("[%s%z]+", " ")))
end

---What texts of a format look like, and what that is called. Who asks looks closer.
---@type table<string, { [1]: string, [2]: string }>
local FORMATS = {
  email = { "^[^@%s]+@[^@%s]+$", "an address of mail" },
  uri = { "^%a[%w+.-]*:%S+$", "a URI" },
  date = { "^%d%d%d%d%-%d%d%-%d%d$", "a date like 2026-01-31" },
  ["date-time"] = {
    "^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d[%d.]*[Z+-][%d:]*$",
    "a time like 2026-01-31T12:00:00Z",
  },
}

---What a user might not see of an address.
---@param url string
---@return string? warning
function M.doubt_of_url(url)
  local host = url:match("^%a[%w+.-]*://([^/?#\\]*)") or ""
  if host:find("@", 1, true) then
    return ("It leads to %s: what is before the @ is no part of the name."):format(host:match("[^@]*$"))
  elseif host:find("[\128-\255]") or host:lower():find("xn--", 1, true) then
    return "The name of the host has letters that may only look like those that you know."
  end
end

---What is wrong with what was chosen of a list.
---@param schema table
---@param chosen any[]
---@return string? problem
function M.problem_of_list(schema, chosen)
  local least, most = tonumber(schema.minItems), tonumber(schema.maxItems)
  if least and #chosen < least then
    return ("at least %d of them are wanted"):format(least)
  elseif most and #chosen > most then
    return ("at most %d of them are wanted"):format(most)
  end
end

---What is wrong with what was written for a field.
---@param schema table
---@param text string
---@return any value
---@return string? problem
function M.read(schema, text)
  if schema.type == "number" or schema.type == "integer" then
    local number = tonumber(text)
    local is_finite = number and number - number == 0
    if not is_finite or schema.type == "integer" and number % 1 ~= 0 then
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
  local format = FORMATS[schema.format]
  if format and not text:find(format[1]) then
    return nil, format[2] .. " is wanted"
  end
  return text
end

return M
