-- The keys of a review. In the file's own buffer they are there only while the review shows it.
local M = {}

---@param result boolean?
---@param err string?
local function say(result, err)
  if not result and err then
    require("claude-ide.ui.notice").info(err)
  end
end

---@return table
local function review()
  return require("claude-ide.review")
end

---Brings all of the change that the cursor went to into sight.
---@param view? claude-ide.review.View
local function reveal(view)
  if view then
    require("claude-ide.review.comparison").reveal(view)
  end
end

---Goes on to the next change, if this was done and one is left.
---@param view? claude-ide.review.View
---@param ok boolean?
---@param err string?
local function advance(view, ok, err)
  say(ok, err)
  if ok and review().next_hunk() then
    reveal(view)
  end
end

---@class claude-ide.review.Action
---@field desc string
---@field run fun(view?: claude-ide.review.View)

---@type table<string, claude-ide.review.Action>
local ACTIONS = {
  keep_hunk = {
    desc = "keep this change",
    run = function(view)
      advance(view, review().keep_hunk())
    end,
  },
  undo_hunk = {
    desc = "undo this change",
    run = function(view)
      advance(view, review().undo_hunk())
    end,
  },
  keep_file = {
    desc = "keep all changes of this file",
    run = function()
      say(review().keep_file())
    end,
  },
  undo_file = {
    desc = "undo all changes of this file",
    run = function()
      say(review().undo_file())
    end,
  },
  next_file = {
    desc = "the next file",
    run = function()
      review().next_file()
    end,
  },
  previous_file = {
    desc = "the file before",
    run = function()
      review().previous_file()
    end,
  },
  close = {
    desc = "close the review",
    run = function()
      review().close()
    end,
  },
}

local JUMPS = {
  ["]c"] = {
    desc = "the next change",
    run = function(view)
      say(review().next_hunk())
      reveal(view)
    end,
  },
  ["[c"] = {
    desc = "the change before",
    run = function(view)
      say(review().previous_hunk())
      reveal(view)
    end,
  },
}

---The layouts are those of all diffs, and so is the key that goes through them.
local LAYOUT = {
  desc = "the next layout",
  run = function()
    review().next_layout()
  end,
}

---What diff mode has keys for, in the layouts that are drawn without it.
local OBTAIN = {
  desc = "what was before in place of this change",
  run = function(view)
    local pair = view and view.pair
    if pair then
      require("claude-ide.compare.change_keys").obtain(pair)
    end
  end,
}

---@param keys string|string[]|false|nil
---@return string[]
local function list_of(keys)
  return type(keys) == "table" and keys or keys and { keys } or {}
end

---@param name string
---@return string[]
local function keys_of(name)
  return list_of(require("claude-ide.config").get().review.keymaps[name])
end

---@return string[]
local function layout_keys()
  return list_of(require("claude-ide.config").get().diff.keymaps.layout)
end

---@param buf integer
---@param lhs string
---@param action claude-ide.review.Action
---@param view? claude-ide.review.View only in its windows
---@return fun() unmap
local function map(buf, lhs, action, view)
  local before = vim.api.nvim_buf_call(buf, function()
    return vim.fn.maparg(lhs, "n", false, true)
  end)
  vim.keymap.set("n", lhs, function()
    if not view or vim.tbl_contains(vim.tbl_values(view.wins), vim.api.nvim_get_current_win()) then
      action.run(view)
    else
      vim.api.nvim_feedkeys(vim.v.count > 0 and vim.v.count .. lhs or lhs, "n", false)
    end
  end, { buffer = buf, nowait = true, desc = "Claude Code: " .. action.desc })
  return function()
    if vim.api.nvim_buf_is_valid(buf) then
      pcall(vim.keymap.del, "n", lhs, { buffer = buf })
      if before.buffer == 1 then
        vim.api.nvim_buf_call(buf, function()
          vim.fn.mapset("n", false, before)
        end)
      end
    end
  end
end

---@param view claude-ide.review.View
---@return fun() unmap
function M.map_sides(view)
  local undo = {}
  for side, buf in pairs({ before = view.bufs.before, file = view.bufs.file }) do
    for name, action in pairs(ACTIONS) do
      for _, lhs in ipairs((name ~= "close" or side == "before") and keys_of(name) or {}) do
        undo[#undo + 1] = map(buf, lhs, action, view)
      end
    end
    for lhs, action in pairs(JUMPS) do
      undo[#undo + 1] = map(buf, lhs, action, view)
    end
    for _, lhs in ipairs(layout_keys()) do
      undo[#undo + 1] = map(buf, lhs, LAYOUT, view)
    end
    if not vim.wo[view.wins.file].diff then
      undo[#undo + 1] = map(buf, side == "file" and "do" or "dp", OBTAIN, view)
    end
  end
  return function()
    for _, unmap in ipairs(undo) do
      unmap()
    end
  end
end

---In the list a key is for the whole file, and goes on to the next.
---@param name "keep_file"|"undo_file"
---@return claude-ide.review.Action
local function on_file(name)
  return {
    desc = ACTIONS[name].desc,
    run = function()
      local ok, err = review()[name]()
      say(ok, err)
      if ok then
        review().next_file()
      end
    end,
  }
end

---@param view claude-ide.review.View
function M.map_list(view)
  local buf = view.bufs.list
  local actions = vim.tbl_extend("force", ACTIONS, {
    keep_file = on_file("keep_file"),
    undo_file = on_file("undo_file"),
    keep_hunk = on_file("keep_file"),
    undo_hunk = on_file("undo_file"),
  })
  for name, action in pairs(actions) do
    for _, lhs in ipairs(keys_of(name)) do
      map(buf, lhs, action)
    end
  end
  for _, lhs in ipairs(layout_keys()) do
    map(buf, lhs, LAYOUT)
  end
  map(buf, "<CR>", {
    desc = "go to the file",
    run = function()
      vim.api.nvim_set_current_win(view.wins.file)
    end,
  })
  vim.api.nvim_create_autocmd("CursorMoved", {
    group = vim.api.nvim_create_augroup("claude-ide.review.list", { clear = true }),
    buffer = buf,
    desc = "Claude: show the diff of the file under the cursor",
    callback = function()
      if vim.api.nvim_get_current_win() == view.wins.list then
        review().show(vim.api.nvim_win_get_cursor(0)[1])
      end
    end,
  })
end

return M
