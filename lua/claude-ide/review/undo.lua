-- `:Claude undo`: what taking back a turn would do, the question, and what came of it.
local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.review.undo")

---@param count integer
---@param one string
---@param many string
---@return string
local function counted(count, one, many)
  return ("%d %s"):format(count, count == 1 and one or many)
end

---@param item claude-ide.journal.Preview
---@return string icon
---@return string group
---@return string what
local function describe(item)
  local left = item.conflicts > 0
      and ("; %s you changed too %s"):format(
        counted(item.conflicts, "place", "places"),
        item.conflicts == 1 and "stays" or "stay"
      )
    or ""
  local unsaved = item.unsaved and "; not saved, for you have unsaved changes" or ""
  if item.action == "leave" then
    return "!", "ClaudeDiffWarning", "stays: you have changed the same lines since"
  elseif item.action == "remove" then
    return "−", "ClaudeDiffRemoved", "will be deleted: Claude made it"
  elseif item.action == "recreate" then
    return "+", "ClaudeDiffAdded", "will be there again" .. left
  end
  return "~", "Changed", counted(item.hunks, "change", "changes") .. " taken back" .. left .. unsaved
end

---@param id integer
---@return string as in "Undo …"
local function name_of(id)
  local turns = require("claude-ide.journal").turns()
  local last = turns[#turns]
  if not last or last.id == id then
    return "Claude's last turn"
  end
  for _, turn in ipairs(turns) do
    if turn.id == id then
      local back = last.id - id
      return ("Claude's turn of %s, %s"):format(
        os.date("%H:%M", turn.started),
        back == 1 and "the one before the last" or ("%d before the last"):format(back)
      )
    end
  end
  return "an earlier turn of Claude's"
end

---A window that shows what will happen, until it is closed.
---@param preview claude-ide.journal.Preview[]
---@param title string
---@return fun() close
local function show(preview, title)
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  local lines, widest, marks = {}, 0, {}
  for _, item in ipairs(preview) do
    widest = math.max(widest, vim.fn.strdisplaywidth(vim.fn.strtrans(vim.fn.fnamemodify(item.path, ":~:."))))
  end
  for i, item in ipairs(preview) do
    local icon, group, what = describe(item)
    local name = vim.fn.strtrans(vim.fn.fnamemodify(item.path, ":~:."))
    local pad = (" "):rep(widest - vim.fn.strdisplaywidth(name))
    lines[i] = (" %s %s%s   %s "):format(icon, name, pad, what)
    marks[i] = { group = group, icon = 1 + #icon, what = 2 + #icon + #name + #pad }
  end
  vim.api.nvim_buf_set_lines(buf, 0, -1, true, lines)
  local width = 1
  for i, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
    local at = marks[i]
    local function colour(first, last, group)
      vim.api.nvim_buf_set_extmark(buf, namespace, i - 1, first, { end_col = last, hl_group = group })
    end
    colour(1, at.icon, at.group)
    colour(at.what, #line, "ClaudeDiffSide")
  end
  width = math.min(width, vim.o.columns - 4)
  local win = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = math.max(math.floor(vim.o.lines / 3) - #lines, 1),
    col = math.max(math.floor((vim.o.columns - width) / 2) - 1, 0),
    width = width,
    height = math.max(math.min(#lines, vim.o.lines - 12), 1),
    style = "minimal",
    border = "rounded",
    title = (" Undo %s "):format(title),
    title_pos = "center",
    focusable = false,
    noautocmd = true,
  })
  vim.wo[win].wrap = false
  vim.cmd("redraw")
  return function()
    if vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_close(win, true)
    end
  end
end

---@param results { path: string, ok: boolean, err?: string, left: integer }[]
local function report(results)
  local done, problems = 0, {}
  for _, result in ipairs(results) do
    done = done + (result.ok and 1 or 0)
    if result.err then
      problems[#problems + 1] = ("%s: %s"):format(vim.fn.fnamemodify(result.path, ":~:."), result.err)
    end
  end
  local notice = require("claude-ide.ui.notice")
  local said = ("Took back Claude's changes in %s."):format(counted(done, "file", "files"))
  if #problems > 0 then
    notice.warn(said .. "\n" .. table.concat(problems, "\n"))
  else
    notice.info(said)
  end
end

---@param id? integer default: the last turn of which something is left to take back
---@return boolean ok
function M.ask(id)
  local journal = require("claude-ide.journal")
  id = id or journal.undoable_turn()
  local preview = id and journal.preview_undo(id) or {}
  local able = vim.tbl_filter(function(item)
    return item.action ~= "leave"
  end, preview)
  if not id or #preview == 0 then
    require("claude-ide.ui.notice").info("Nothing to undo: no change of Claude's is left.")
    return true
  end
  require("claude-ide.diff.winbar").define_highlights()
  local name = name_of(id)
  local close = show(preview, name)
  local choices = { "Cancel", "Review it first" }
  if #able > 0 then
    table.insert(choices, 1, ("Undo in %s"):format(counted(#able, "file", "files")))
  end
  vim.ui.select(choices, { prompt = ("Undo what %s changed?"):format(name) }, function(_, index)
    close()
    local choice = index and choices[index]
    if choice == "Review it first" then
      require("claude-ide.review").open(id)
    elseif choice and choice ~= "Cancel" then
      report(journal.undo_turn(id))
    end
  end)
  return true
end

return M
