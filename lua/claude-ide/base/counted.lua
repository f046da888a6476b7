---A number and what it counts: "1 file", "3 files".
---@param count integer
---@param one string
---@param many? string unless it is `one` with an s
---@return string
return function(count, one, many)
  return ("%d %s"):format(count, count == 1 and one or many or one .. "s")
end
