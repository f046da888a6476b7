-- The keys of comments, in windows of diffs and reviews.
local lazy = require("claude-ide.lazy")
local comments = lazy("claude-ide.comments")
local key_list = lazy("claude-ide.ui.key_list")
local notice = lazy("claude-ide.base.notice")
local selected_lines = lazy("claude-ide.ui.selected_lines")

local M = {}

---@class claude-ide.comments.Key
---@field keys string[]
---@field desc string
---@field mode "n"|"x"
---@field run fun(view?: table)

local function comment_on_motion()
  vim.api.nvim_feedkeys(comments.operator(), "ni", false) -- before what is typed already
end

local function comment_on_selection()
  notice.unless_done(comments.write(selected_lines()))
end

---@return claude-ide.comments.Key[]
function M.list()
  local found = {} ---@type claude-ide.comments.Key[]
  for _, option in ipairs(key_list.options("comments")) do
    ---@param mode "n"|"x"
    ---@param run fun()
    local function add(mode, run)
      found[#found + 1] = { keys = option.keys, desc = option.desc, mode = mode, run = run }
    end
    if option.name == "comment" then
      add("n", comment_on_motion)
      add("x", comment_on_selection)
    else
      add("n", function()
        comments.run(option.name)
      end)
    end
  end
  return found
end

---Maps them in a buffer of ours.
---@param buf integer
function M.map(buf)
  for _, key in ipairs(M.list()) do
    key_list.map(buf, { name = "", keys = key.keys, desc = key.desc }, key.run, key.mode)
  end
end

return M
