-- JSON values without an unambiguous Lua table.
local M = {}

---An empty array. A plain empty table becomes `[]` too, and `vim.empty_dict()` becomes `{}`; this states the intent.
M.EMPTY_ARRAY = setmetatable({}, {
  __newindex = function()
    error("EMPTY_ARRAY is shared: make a table of your own", 2)
  end,
})

return M
