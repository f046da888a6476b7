-- The keys of a review. The file's own buffer has them only while the review shows it.
local lazy = require("claude-ide.lazy")
local change_keys = lazy("claude-ide.ui.diffview.change_keys")
local closing = lazy("claude-ide.ui.guard.closing")
local comments_keys = lazy("claude-ide.comments.keys")
local comparison = lazy("claude-ide.edits.review.comparison")
local ui_key = lazy("claude-ide.ui.key")
local key_list = lazy("claude-ide.ui.key_list")
local list = lazy("claude-ide.ui.diffview.list")
local notice = lazy("claude-ide.base.notice")
local sides = lazy("claude-ide.edits.review.sides")

local M = {}

---@type claude-ide.review
local served

---Sets the module that the keys call.
---@param review claude-ide.review
function M.serve(review)
  served = review
end

---Scrolls so that all of the change at the cursor is visible.
---@param view? claude-ide.review.View
local function reveal(view)
  if view then
    comparison.reveal(view)
  end
end

---@class claude-ide.review.Action
---@field desc string
---@field run fun(view?: claude-ide.review.View)

---@class claude-ide.review.Key: claude-ide.review.Action
---@field keys string[]
---@field in_list? "keep_file"|"undo_file" what it does in the list, where a key is for the whole file

local function calls(verb)
  return function()
    notice.unless_done(served[verb]())
  end
end

---Goes to the next change after a successful decision.
local function decides(verb)
  return function(view)
    local ok, err = served[verb]()
    notice.unless_done(ok, err)
    if ok and served.next_hunk() then
      reveal(view)
    end
  end
end

---@param step 1|-1
local function jumps(step)
  return function(view)
    notice.unless_done(served.go_to_change(step, vim.v.count1))
    reveal(view)
  end
end

local help ---@type fun()

---By option.
local RUN = {
  keep_hunk = decides("keep_hunk"),
  undo_hunk = decides("undo_hunk"),
  keep_file = calls("keep_file"),
  undo_file = calls("undo_file"),
  undo_comments = calls("undo_comments"),
  stage_file = calls("stage_file"),
  next_file = calls("next_file"),
  previous_file = calls("previous_file"),
  close = function()
    closing.by_key(served.close, key_list.option("review", "close").keys)
  end,
  removed = function(view)
    change_keys.show_removed(view)
  end,
  layout = calls("next_layout"),
  help = function()
    help()
  end,
}

local IN_LIST =
  { keep_hunk = "keep_file", keep_file = "keep_file", undo_hunk = "undo_file", undo_file = "undo_file" }

---@type table<string, claude-ide.review.Action>
local JUMPS = {
  ["]c"] = { desc = "the next change", run = jumps(1) },
  ["[c"] = { desc = "the previous change", run = jumps(-1) },
}

---For layouts that are drawn without diff mode, which would have this key.
local OBTAIN = {
  desc = "restore the text before this change",
  run = function(view)
    if view and view.hunks then
      change_keys.obtain(view)
    end
  end,
}

---@param view? claude-ide.review.View
---@return boolean done
local function undo_once(view)
  local done, err = false, nil ---@type boolean?, string?
  if view then
    done, err = served.take_back(view.bufs.right)
  end
  if done ~= false then
    notice.unless_done(done, err)
    return done == true
  elseif view and vim.fn.undotree().seq_cur <= (view.loaded or 0) then
    notice.info("No changes here since the review opened the file. `:undo` goes back further.")
    return false
  end
  vim.cmd("silent normal! u")
  return true
end

---`u` takes back what was done in the review. It does not undo that the file was loaded, which would take Claude's changes out of the
---text and the file out of the review.
---@type table<string, claude-ide.review.Action>
local TAKE_BACK = {
  u = {
    desc = "undo the last change made here",
    run = function(view)
      for _ = 1, vim.v.count1 do
        if not undo_once(view) then
          return
        end
      end
    end,
  },
}

---The same where the file is deleted: its buffer is hidden.
---@type table<string, claude-ide.review.Action>
local BRING_BACK = {}
for lhs, is_redo in pairs({ u = false, ["<C-r>"] = true }) do
  BRING_BACK[lhs] = {
    desc = "bring the deleted file back",
    run = function()
      notice.unless_done(served.bring_back(is_redo))
    end,
  }
end

---The layouts apply to diffs as well, so their keys are shared.
---@return claude-ide.ui.key_list.Option[]
local function options()
  local found = key_list.options("review")
  for _, name in ipairs({ "removed", "layout", "help" }) do
    found[#found + 1] = key_list.option("diff", name)
  end
  return found
end

---@return claude-ide.review.Key[]
local function mapped()
  return vim.tbl_map(function(option)
    local name = option.name
    return { keys = option.keys, desc = option.desc, run = RUN[name], in_list = IN_LIST[name] }
  end, options())
end

function help()
  key_list.open(options(), {
    { "]c [c", "next change, previous change; at a file's end, of the next file to review" },
    { "<CR>", "in the list: go to the file; keys for a change act on the whole file there" },
  }, { of = "a review", group = "ClaudeDiffKey", help = key_list.option("diff", "help").keys })
end

---@alias claude-ide.review.Mode "n"|"x"

---@param buf integer
---@param lhs string
---@param mode claude-ide.review.Mode
---@return table map as returned by `maparg()`, empty if there is none
local function map_of(buf, lhs, mode)
  return vim.api.nvim_buf_call(buf, function()
    return vim.fn.maparg(lhs, mode, false, true)
  end)
end

---@param buf integer
---@param map table as returned by `maparg()`
---@param mode claude-ide.review.Mode
local function put_map(buf, map, mode)
  vim.api.nvim_buf_call(buf, function()
    vim.fn.mapset(mode, false, map)
  end)
end

---Keeps a key's previous mapping under another name, for windows outside of the review.
---@param buf integer
---@param lhs string
---@param before table as returned by `maparg()`
---@param mode claude-ide.review.Mode
---@return string keys
---@return string flags of `nvim_feedkeys()`
---@return string? kept the other name
local function keep_map(buf, lhs, before, mode)
  if vim.tbl_isempty(before) then
    return vim.keycode(lhs), "n"
  end
  local kept = "<Plug>(claude-review-before-" .. lhs:gsub("[<>|]", "_") .. ")"
  local raw = vim.keycode(kept)
  put_map(
    buf,
    vim.tbl_extend("force", before, { lhs = kept, lhsraw = raw, lhsrawalt = raw, buffer = 1 }),
    mode
  )
  return raw, "m", kept
end

---@param buf integer
---@param lhs string
---@param action claude-ide.review.Action
---@param view? claude-ide.review.View only in its windows
---@param mode? claude-ide.review.Mode default: normal mode
---@return fun() unmap
local function map(buf, lhs, action, view, mode)
  mode = mode or "n"
  local before = map_of(buf, lhs, mode)
  local keys, flags, kept = keep_map(buf, lhs, before, mode)
  local desc = "Claude Code: " .. action.desc
  local function press()
    if not view or vim.tbl_contains(vim.tbl_values(view.wins), vim.api.nvim_get_current_win()) then
      action.run(view)
    else
      vim.api.nvim_feedkeys(vim.v.count > 0 and vim.v.count .. keys or keys, flags, false)
    end
  end
  ui_key.map(buf, lhs, action.desc, press, mode)
  return function()
    if not vim.api.nvim_buf_is_valid(buf) then
      return
    elseif kept then
      pcall(vim.keymap.del, mode, kept, { buffer = buf })
    end
    if map_of(buf, lhs, mode).desc ~= desc then
      return -- remapped by another plugin
    end
    ui_key.unmap(buf, lhs, mode)
    if before.buffer == 1 then
      put_map(buf, before, mode)
    end
  end
end

---@param view claude-ide.review.View
---@return fun() unmap
function M.map_sides(view)
  local undo = {}
  for side, buf in pairs(view.bufs) do
    for _, key in ipairs(mapped()) do
      for _, lhs in ipairs(key.keys) do
        undo[#undo + 1] = map(buf, lhs, key, view)
      end
    end
    for lhs, action in pairs(JUMPS) do
      undo[#undo + 1] = map(buf, lhs, action, view)
    end
    for _, key in ipairs(comments_keys.list()) do
      for _, lhs in ipairs(key.keys) do
        undo[#undo + 1] = map(buf, lhs, { desc = key.desc, run = key.run }, view, key.mode)
      end
    end
    for lhs, action in pairs(side == "right" and (sides.is_ours(buf) and BRING_BACK or TAKE_BACK) or {}) do
      undo[#undo + 1] = map(buf, lhs, action, view)
    end
    if not vim.wo[view.wins.right].diff then
      undo[#undo + 1] = map(buf, side == "right" and "do" or "dp", OBTAIN, view)
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
    desc = key_list.option("review", name).desc,
    run = function()
      local ok, err = served[name]()
      notice.unless_done(ok, err)
      if ok then
        served.next_file()
      end
    end,
  }
end

---@param view claude-ide.review.View
function M.map_list(view)
  local buf = view.list --[[@as integer]]
  for _, key in ipairs(mapped()) do
    for _, lhs in ipairs(key.keys) do
      map(buf, lhs, key.in_list and on_file(key.in_list) or key)
    end
  end
  local group = vim.api.nvim_create_augroup("claude-ide.diffview.list", { clear = true })
  list.follow(view, group, function(index)
    served.show(index)
  end)
end

return M
