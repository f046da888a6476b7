-- What becomes of a request whose window is closed before it is answered: who closes it in it wants it later. One that goes with its tab
-- page, or at the hands of another program, is shown again.
local lazy = require("claude-ide.lazy")
local notice = lazy("claude-ide.base.notice")
local typing = lazy("claude-ide.ui.guard.typing")

local M = {}

---How often it is shown again.
local MOST_LOST = 3

---@param shown claude-ide.card.Shown
---@param noun string
function M.put_off(shown, noun)
  shown.is_put_off = true
  notice.info(("The %s waits: %s shows it again."):format(noun, notice.way_to("decide")))
end

---@class claude-ide.card.Shown
---@field win? integer nil: not shown
---@field times_lost? integer
---@field is_put_off? boolean the user has closed it: it is shown again when they ask for it

---Call when a window was opened for a request.
---@param shown claude-ide.card.Shown
---@param request claude-ide.Request
---@param noun string
---@param show_again fun()
---@param put_off? fun() default: it waits, as the user is told
function M.follow(shown, request, noun, show_again, put_off)
  local win = shown.win --[[@as integer]]
  vim.api.nvim_create_autocmd("WinClosed", {
    pattern = tostring(win),
    once = true,
    desc = ("Claude Code: show a %s again whose window was closed"):format(noun),
    callback = function()
      local is_by_user = typing.is_key_in(win)
      vim.schedule(function()
        if shown.win ~= win or request.state ~= "pending" then
          return
        end
        shown.win, shown.times_lost = nil, (shown.times_lost or 0) + 1
        if not is_by_user and shown.times_lost <= MOST_LOST then
          show_again()
        elseif put_off then
          put_off()
        else
          M.put_off(shown, noun)
        end
      end)
    end,
  })
end

return M
