-- Goes to a message, wherever it is: on another branch, or in the part of a huge transcript that is not known yet.

local M = {}

---@param view claude-ide.transcript.View
---@param id integer a message
---@param win integer
---@param match? claude-ide.transcript.Match what to go to in the message
function M.message(view, id, win, match)
  local source = view.source
  if not source.position then
    return
  end
  source:position(id, function(position)
    if view.closed or not vim.api.nvim_win_is_valid(win) or vim.api.nvim_win_get_buf(win) ~= view.buf then
      return
    elseif position and position.place == "row" then
      vim.api.nvim_win_call(win, function()
        require("claude-ide.transcript.motions").go_to_row(view, position.row)
        vim.cmd("normal! zt")
        if match then
          require("claude-ide.transcript.match").go(view, position.row, match)
        end
      end)
      require("claude-ide.transcript.loader").update(view)
    elseif position and position.place == "other_branch" and source.show_branch then
      source:show_branch(id, function(delta)
        if delta and not view.closed then
          require("claude-ide.transcript.follow").apply(view, delta)
          M.message(view, id, win, match)
        end
      end)
    end
  end)
end

---Goes to the message that a line of the file belongs to.
---@param view claude-ide.transcript.View
---@param line integer from 1
---@param win integer
---@param match? claude-ide.transcript.Match
function M.line(view, line, win, match)
  local source = view.source
  if not source.message_at_line then
    return
  end
  local function go()
    source:message_at_line(line, function(id)
      if id and not view.closed then
        M.message(view, id, win, match)
      end
    end)
  end
  local info = source:info()
  if info and info.complete then
    go()
  else
    view.when_complete = go
  end
end

return M
