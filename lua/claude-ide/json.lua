-- JSON that a Lua table does not say by itself.
local M = {}

---A result, or a part of one, that must be `[]` in JSON. A plain empty table becomes `[]` too, and `vim.empty_dict()`
---becomes `{}`; this says what is meant.
M.EMPTY_ARRAY = setmetatable({}, {
  __newindex = function()
    error("EMPTY_ARRAY is shared: make a table of your own", 2)
  end,
})

return M
