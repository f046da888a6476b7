-- Base, mine and the disk's text side by side, in a tab page of its own. Mine is the person's own buffer: `:w` there is
-- what ends the matter.
local M = {}

---@param buf integer the person's buffer, for encoding and syntax
---@param what string
---@param bytes string
---@return integer
local function scratch(buf, what, bytes)
  local lines =
    require("claude-ide.buffer.format").decode(bytes, require("claude-ide.buffer.disk").decoding(buf))
  lines = lines or vim.split(bytes:gsub("\n$", ""), "\n", { plain = true })
  local side = vim.api.nvim_create_buf(false, true)
  vim.bo[side].bufhidden = "wipe"
  for i, line in ipairs(lines) do
    lines[i] = line:gsub("\n", "\0")
  end
  vim.api.nvim_buf_set_lines(side, 0, -1, true, lines)
  vim.bo[side].modifiable = false
  pcall(
    vim.api.nvim_buf_set_name,
    side,
    ("claude://%s/%d/%s"):format(what, side, vim.fs.basename(vim.api.nvim_buf_get_name(buf)))
  )
  vim.bo[side].syntax = vim.bo[buf].filetype
  return side
end

---Before its windows go, so that options of the diff do not stay with the person's buffer.
---@param tab integer
local function diffoff_when_closed(tab)
  local group = vim.api.nvim_create_augroup("claude-ide.watch.three_way." .. tab, { clear = true })
  vim.api.nvim_create_autocmd("WinClosed", {
    group = group,
    desc = "Claude: end the three-way view",
    callback = function(event)
      local win = tonumber(event.match) --[[@as integer]]
      if vim.api.nvim_win_is_valid(win) and vim.api.nvim_win_get_tabpage(win) == tab then
        vim.api.nvim_win_call(win, function()
          vim.cmd("diffoff")
        end)
      end
    end,
  })
  vim.api.nvim_create_autocmd("TabClosed", {
    group = group,
    desc = "Claude: the three-way view is gone",
    callback = function()
      if not vim.api.nvim_tabpage_is_valid(tab) then
        vim.api.nvim_del_augroup_by_id(group)
      end
    end,
  })
end

---@param buf integer
---@param base? string nil: not known, the view has two sides
---@param theirs string
function M.open(buf, base, theirs)
  vim.cmd("tab split")
  vim.api.nvim_set_current_buf(buf)
  local mine = vim.api.nvim_get_current_win()
  local sides = { { "disk", theirs, "belowright vsplit" } } ---@type string[][]
  if base then
    table.insert(sides, { "base", base, "aboveleft vsplit" })
  end
  vim.wo[mine][0].winbar = "mine (edit here, then :w)"
  for _, side in ipairs(sides) do
    vim.api.nvim_set_current_win(mine)
    vim.cmd(side[3])
    local win = vim.api.nvim_get_current_win()
    vim.api.nvim_win_set_buf(win, scratch(buf, side[1], side[2]))
    vim.wo[win][0].winbar = side[1] == "base" and "before both" or "on disk"
    vim.cmd("diffthis")
  end
  vim.api.nvim_set_current_win(mine)
  vim.cmd("diffthis")
  diffoff_when_closed(vim.api.nvim_get_current_tabpage())
end

return M
