-- Text that the user's next key acts on: what is selected, or what an operator waits for. Neovim does not move its
-- beginning along when lines above it come or go, so nobody may change lines of that buffer under their hands.

local M = {}

---@alias claude-ide.ui.Held "visual"|"select"|"operator"

---Whether the next key acts on a range of this buffer.
---@param buf integer
---@return claude-ide.ui.Held?
function M.held(buf)
  if vim.api.nvim_get_current_buf() ~= buf then
    return nil
  end
  local mode = vim.api.nvim_get_mode().mode
  if vim.fn.getcmdtype():find("^[/?]") then
    -- What is typed may be where an operator or a selection goes to. The count of a selection's words is what tells of one.
    return (vim.fn.state("o") ~= "" or vim.fn.wordcount().visual_words ~= nil) and "operator" or nil
  end
  return mode:find("^no") and "operator"
    or mode:find("^[vV\22]") and "visual"
    or mode:find("^[sS\19]") and "select"
    or nil
end

---@type { buf: integer, key: any, fn: fun() }[]
local waiting = {}
local group ---@type integer?

local function look()
  local ready = {}
  waiting = vim.tbl_filter(function(one)
    local held = vim.api.nvim_buf_is_valid(one.buf) and M.held(one.buf)
    if not held then
      ready[#ready + 1] = one
    end
    return held ~= nil and held ~= false
  end, waiting)
  if #waiting == 0 and group then
    vim.api.nvim_del_augroup_by_id(group)
    group = nil
  end
  for _, one in ipairs(ready) do
    local ok, err = xpcall(one.fn, debug.traceback)
    if not ok then
      require("claude-ide.log").error("what waited for the end of a selection failed: %s", err)
    end
  end
end

---Runs a function once the next key no longer acts on a range of the buffer. Not at once, even if that is so already.
---@param buf integer
---@param key any one function waits for each key: the first one
---@param fn fun()
function M.when_let_go(buf, key, fn)
  for _, one in ipairs(waiting) do
    if one.key == key and one.buf == buf then
      return
    end
  end
  waiting[#waiting + 1] = { buf = buf, key = key, fn = fn }
  if not group then
    group = vim.api.nvim_create_augroup("claude-ide.ui.held", { clear = true })
    vim.api.nvim_create_autocmd({ "ModeChanged", "BufEnter" }, {
      group = group,
      desc = "Claude Code: change what could not be changed while it was selected",
      callback = vim.schedule_wrap(look),
    })
  end
  vim.schedule(look)
end

return M
