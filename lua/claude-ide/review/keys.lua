-- The keys of a review. The file's own buffer has them only while the review shows it.
local M = {}

local function say(result, err)
  if not result and err then
    require("claude-ide.ui.notice").info(err)
  end
end

---@type claude-ide.review
local served

---Sets the module that the keys call.
---@param review claude-ide.review
function M.serve(review)
  served = review
end

---@return claude-ide.review
local function review()
  return served
end

---Scrolls so that all of the change at the cursor is visible.
---@param view? claude-ide.review.View
local function reveal(view)
  if view then
    require("claude-ide.review.comparison").reveal(view)
  end
end

---Goes to the next change after a successful decision.
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

---In the order of the key list.
local NAMES = { "keep_hunk", "undo_hunk", "keep_file", "undo_file", "next_file", "previous_file", "close" }

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
    desc = "the previous file",
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
    desc = "the previous change",
    run = function(view)
      say(review().previous_hunk())
      reveal(view)
    end,
  },
}

---Keys shared with diffs: the layouts apply to all of them.
---@type table<"layout"|"help", claude-ide.review.Action>
local SHARED = {
  layout = {
    desc = "the next layout",
    run = function()
      review().next_layout()
    end,
  },
}

---For layouts that are drawn without diff mode, which would have this key.
local OBTAIN = {
  desc = "restore the text before this change",
  run = function(view)
    if view and view.hunks then
      require("claude-ide.diffview.change_keys").obtain(view)
    end
  end,
}

local function keys_of(name)
  return require("claude-ide.ui.key_list").keys(require("claude-ide.config").get().review.keymaps[name])
end

---@param name "layout"|"help"
---@return string[]
local function shared_keys(name)
  return require("claude-ide.ui.key_list").keys(require("claude-ide.config").get().diff.keymaps[name])
end

local function help()
  local key_list, entries = require("claude-ide.ui.key_list"), {}
  for _, name in ipairs(NAMES) do
    entries[#entries + 1] = key_list.entry(keys_of(name), ACTIONS[name].desc)
  end
  for _, name in ipairs({ "layout", "help" }) do
    entries[#entries + 1] = key_list.entry(shared_keys(name), SHARED[name].desc)
  end
  vim.list_extend(entries, {
    { "]c [c", "next change, previous change" },
    { "<CR>", "in the list: go to the file; keys for a change act on the whole file there" },
  })
  key_list.open(entries, { of = "a review", group = "ClaudeDiffKey", help = shared_keys("help") })
end
SHARED.help = { desc = "list these keys", run = help }

---@param buf integer
---@param lhs string
---@return table map as returned by `maparg()`, empty if there is none
local function map_of(buf, lhs)
  return vim.api.nvim_buf_call(buf, function()
    return vim.fn.maparg(lhs, "n", false, true)
  end)
end

---@param buf integer
---@param map table as returned by `maparg()`
local function put_map(buf, map)
  vim.api.nvim_buf_call(buf, function()
    vim.fn.mapset("n", false, map)
  end)
end

---Keeps a key's previous mapping under another name, for windows outside of the review.
---@param buf integer
---@param lhs string
---@param before table as returned by `maparg()`
---@return string keys
---@return string flags of `nvim_feedkeys()`
local function keep_map(buf, lhs, before)
  if vim.tbl_isempty(before) then
    return vim.keycode(lhs), "n"
  end
  local kept = "<Plug>(claude-review-before-" .. lhs:gsub("[<>|]", "_") .. ")"
  local raw = vim.keycode(kept)
  put_map(buf, vim.tbl_extend("force", before, { lhs = kept, lhsraw = raw, lhsrawalt = raw, buffer = 1 }))
  return raw, "m"
end

---@param buf integer
---@param lhs string
---@param action claude-ide.review.Action
---@param view? claude-ide.review.View only in its windows
---@return fun() unmap
local function map(buf, lhs, action, view)
  local before = map_of(buf, lhs)
  local keys, flags = keep_map(buf, lhs, before)
  local desc = "Claude Code: " .. action.desc
  vim.keymap.set("n", lhs, function()
    if not view or vim.tbl_contains(vim.tbl_values(view.wins), vim.api.nvim_get_current_win()) then
      action.run(view)
    else
      vim.api.nvim_feedkeys(vim.v.count > 0 and vim.v.count .. keys or keys, flags, false)
    end
  end, { buffer = buf, nowait = true, desc = desc })
  return function()
    if not vim.api.nvim_buf_is_valid(buf) then
      return
    elseif flags == "m" then
      pcall(vim.api.nvim_buf_del_keymap, buf, "n", keys)
    end
    if map_of(buf, lhs).desc ~= desc then
      return -- remapped by another plugin
    end
    pcall(vim.keymap.del, "n", lhs, { buffer = buf })
    if before.buffer == 1 then
      put_map(buf, before)
    end
  end
end

---@param view claude-ide.review.View
---@return fun() unmap
function M.map_sides(view)
  local undo = {}
  for side, buf in pairs(view.bufs) do
    for name, action in pairs(ACTIONS) do
      for _, lhs in ipairs(keys_of(name)) do
        undo[#undo + 1] = map(buf, lhs, action, view)
      end
    end
    for lhs, action in pairs(JUMPS) do
      undo[#undo + 1] = map(buf, lhs, action, view)
    end
    for name, action in pairs(SHARED) do
      for _, lhs in ipairs(shared_keys(name)) do
        undo[#undo + 1] = map(buf, lhs, action, view)
      end
    end
    if not vim.wo[view.wins.proposal].diff then
      undo[#undo + 1] = map(buf, side == "proposal" and "do" or "dp", OBTAIN, view)
    end
  end
  return function()
    for _, unmap in ipairs(undo) do
      unmap()
    end
  end
end

---In the list, a change's key acts on the whole file and goes to the next one.
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
  local buf = view.list --[[@as integer]]
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
  for name, action in pairs(SHARED) do
    for _, lhs in ipairs(shared_keys(name)) do
      map(buf, lhs, action)
    end
  end
  map(buf, "<CR>", {
    desc = "go to the file",
    run = function()
      if vim.api.nvim_win_is_valid(view.wins.proposal) then
        vim.api.nvim_set_current_win(view.wins.proposal)
      end
    end,
  })
  vim.api.nvim_create_autocmd("CursorMoved", {
    group = vim.api.nvim_create_augroup("claude-ide.diffview.list", { clear = true }),
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
