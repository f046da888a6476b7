---Returns a function that runs `fn` later, once for all calls until then.
---@param fn fun()
---@param ms? integer default: after the running code
---@return fun()
return function(fn, ms)
  local is_due = false
  local function run()
    is_due = false
    fn()
  end
  return function()
    if is_due then
      return
    end
    is_due = true
    if ms then
      vim.defer_fn(run, ms)
    else
      vim.schedule(run)
    end
  end
end
