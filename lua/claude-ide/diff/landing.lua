-- Where a user lands when a diff goes. A key too many, pressed for the diff, must not hit their own window: `ZQ` there
-- would close the file, and Neovim with it. So for a moment the keys that decide do nothing in that window.
-- Invariant: what those keys were mapped to in its buffer is as it was afterwards.
local M = {}

---So long after the user has landed, or after the last of these keys: less than a pause, more than a repeated key takes.
local GUARD_MS = 600

local GROUP = "claude-ide.diff.landing"
local DESCRIPTION = "Claude Code: a key too many for a diff that is gone"

---@class claude-ide.diff.Landing
---@field buf integer
---@field timer uv.uv_timer_t
---@field presses integer how often the time has begun anew
---@field maps { mode: string, lhs: string, before?: table<string, any> }[]

---@type claude-ide.diff.Landing?
local landing

---@param mode string
---@param lhs string
---@return table<string, any>? mapping of the current buffer, as maparg() gives it
local function own_mapping(mode, lhs)
  local found = vim.fn.maparg(lhs, mode, false, true)
  return found.buffer == 1 and found or nil
end

---@param map { mode: string, lhs: string, before?: table<string, any> }
local function put_back(map)
  local present = own_mapping(map.mode, map.lhs)
  if not present or present.desc ~= DESCRIPTION then
    return -- Somebody has mapped it anew.
  end
  vim.keymap.del(map.mode, map.lhs, { buffer = true })
  if map.before then
    vim.fn.mapset(map.before)
  end
end

---Gives the keys their meaning again.
function M.leave()
  local left = landing
  if not left then
    return
  end
  landing = nil
  left.timer:stop()
  left.timer:close()
  pcall(vim.api.nvim_del_augroup_by_name, GROUP)
  local function put_all_back()
    if vim.api.nvim_buf_is_valid(left.buf) then
      vim.api.nvim_buf_call(left.buf, function()
        vim.iter(left.maps):each(put_back)
      end)
    end
  end
  if require("claude-ide.ui.typing").is_function_chosen() then
    vim.schedule(put_all_back)
  else
    put_all_back()
  end
end

local function wait()
  if not landing then
    return
  end
  landing.presses = landing.presses + 1
  local guarded, presses = landing, landing.presses
  landing.timer:start(
    GUARD_MS,
    0,
    vim.schedule_wrap(function()
      -- A key may have come between the timer and this.
      if landing == guarded and landing.presses == presses then
        M.leave()
      end
    end)
  )
end

---Guards the current window, in which the user has just landed.
---@param keys string[] that decide
function M.guard(keys)
  local buf = vim.api.nvim_get_current_buf()
  if landing and landing.buf == buf then
    return wait()
  end
  M.leave()
  landing = { buf = buf, timer = assert(vim.uv.new_timer()), presses = 0, maps = {} }
  for _, mode in ipairs(vim.bo[buf].buftype == "terminal" and { "n", "t" } or { "n" }) do
    for _, lhs in ipairs(keys) do
      landing.maps[#landing.maps + 1] = { mode = mode, lhs = lhs, before = own_mapping(mode, lhs) }
      vim.keymap.set(mode, lhs, wait, { buffer = buf, nowait = true, silent = true, desc = DESCRIPTION })
    end
  end
  vim.api.nvim_create_autocmd({ "WinLeave", "BufLeave" }, {
    group = vim.api.nvim_create_augroup(GROUP, { clear = true }),
    desc = "Claude Code: elsewhere the keys mean what they mean",
    callback = function()
      if landing and vim.api.nvim_get_current_buf() == landing.buf then
        M.leave()
      end
    end,
  })
  wait()
end

return M
