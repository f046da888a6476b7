---The object or list of a JSON text that may be anything.
---@param text? string
---@return table? nil: it is none
return function(text)
  local ok, found = pcall(vim.json.decode, text or "")
  return ok and type(found) == "table" and found or nil
end
