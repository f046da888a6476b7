-- What somebody wrote for a field of a form, as its schema wants it. Pure.
local M = {}

---What is wrong with what was written for a field.
---@param schema table
---@param text string
---@return any value
---@return string? problem
function M.read(schema, text)
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

return M
