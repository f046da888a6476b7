---A function that does something the first time it is called.
---@param fn fun()
---@return fun()
return function(fn)
  local is_done = false
  return function()
    if not is_done then
      is_done = true
      fn()
    end
  end
end
