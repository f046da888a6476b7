---Returns a function that only runs `fn` at its first call.
---@param fn fun(...)
---@return fun(...)
return function(fn)
  local is_done = false
  return function(...)
    if not is_done then
      is_done = true
      fn(...)
    end
  end
end
