-- Base, mine and the disk's text side by side, in a tab page of its own. Mine is the user's own buffer: `:w` there is
-- what ends the matter.
local M = {}

---@param buf integer the user's buffer, for encoding and syntax
---@param words string what it is of the file
---@param bytes string
---@return integer
local function scratch(buf, words, bytes)
  local lines =
    require("claude-ide.buffer.format").decode(bytes, require("claude-ide.buffer.disk").decoding(buf))
  lines = lines or vim.split(bytes:gsub("\n$", ""), "\n", { plain = true })
  for i, line in ipairs(lines) do
    lines[i] = line:gsub("\n", "\0")
  end
  return require("claude-ide.ui.own_buffer").create({
    kind = "conflict",
    name = { vim.api.nvim_buf_get_name(buf), words },
    lines = lines,
    bo = { bufhidden = "wipe", modifiable = false, syntax = vim.bo[buf].filetype },
  })
end

---`do` and `dp` alone are E101 where three texts are compared: what they mean here is between mine and the disk's.
---@param buf integer mine
---@param disk integer the disk's
---@return fun() unmap
local function map_keys(buf, disk)
  vim.keymap.set("n", "dp", function()
    vim.cmd("diffput " .. buf)
  end, { buffer = disk, desc = "Claude: put this change into mine" })
  local before = vim.api.nvim_buf_call(buf, function()
    return vim.fn.maparg("do", "n", false, true)
  end)
  if before.buffer == 1 then
    return function() end -- the user's own
  end
  vim.keymap.set("n", "do", function()
    vim.cmd("diffget " .. disk)
  end, { buffer = buf, desc = "Claude: take this change of the disk's" })
  return function()
    pcall(vim.keymap.del, "n", "do", { buffer = buf })
  end
end

---What is written in the comparison was seen beside the disk's, so no question comes. It does where the disk's is another by
---then, and after a comparison that was left without a write.
---@param buf integer mine
---@param tab integer
---@param group integer
local function ask_nothing(buf, tab, group)
  local function on_disk()
    local stat = vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf))
    return stat and require("claude-ide.buffer.stamp").key(stat)
  end
  local seen = on_disk()
  vim.api.nvim_create_autocmd("BufWritePre", {
    group = group,
    buffer = buf,
    nested = true, -- agreeing is a write of its own kind
    desc = "Claude: what is written has been compared",
    callback = function()
      if seen and vim.api.nvim_get_current_tabpage() == tab and on_disk() == seen then
        seen = nil
        require("claude-ide.buffer.stamp").agree(buf)
        vim.bo[buf].modified = true -- until it is written
      end
    end,
  })
end

---Before its windows go, so that options of the diff do not stay with the user's buffer.
---@param tab integer
---@param unmap fun()
---@return integer group that goes with the tab page
local function diffoff_when_closed(tab, unmap)
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
    callback = vim.schedule_wrap(function()
      -- Not at once: a tab page that is being closed is still one.
      if not vim.api.nvim_tabpage_is_valid(tab) and pcall(vim.api.nvim_del_augroup_by_id, group) then
        unmap()
      end
    end),
  })
  return group
end

---@param buf integer
---@param base? string nil: not known, the view has two sides
---@param theirs string
function M.open(buf, base, theirs)
  vim.cmd("tab split")
  vim.api.nvim_set_current_buf(buf)
  local mine = vim.api.nvim_get_current_win()
  local sides = { { "on disk", theirs, "belowright vsplit" } } ---@type string[][]
  if base then
    table.insert(sides, { "before both", base, "aboveleft vsplit" })
  end
  local disk ---@type integer
  require("claude-ide.ui.winbar").hold(mine, "mine (edit here, then :w)")
  for _, side in ipairs(sides) do
    vim.api.nvim_set_current_win(mine)
    vim.cmd(side[3])
    local win = vim.api.nvim_get_current_win()
    local shown = scratch(buf, side[1], side[2])
    vim.api.nvim_win_set_buf(win, shown)
    disk = side[1] == "on disk" and shown or disk
    require("claude-ide.ui.winbar").hold(win, side[1])
    vim.cmd("diffthis")
  end
  vim.api.nvim_set_current_win(mine)
  vim.cmd("diffthis")
  local tab = vim.api.nvim_get_current_tabpage()
  ask_nothing(buf, tab, diffoff_when_closed(tab, map_keys(buf, disk)))
end

return M
