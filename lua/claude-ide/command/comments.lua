-- `:Claude comment` and `:Claude comments`.
local lazy = require("claude-ide.lazy")
local comments = lazy("claude-ide.comments")
local counted = lazy("claude-ide.base.counted")
local ide_width = lazy("claude-ide.base.width")
local marks = lazy("claude-ide.comments.marks")
local modifiers = lazy("claude-ide.ui.modifiers")
local notice = lazy("claude-ide.base.notice")
local outbox = lazy("claude-ide.outbox.comments")
local prompts = lazy("claude-ide.command.prompts")
local store = lazy("claude-ide.comments.store")
local ui_choose = lazy("claude-ide.ui.choose")

local M = {}

local SHOWN_CELLS = 60

---@param words string[]
---@param at claude-ide.command.Context
---@return boolean? ok
---@return string? err
function M.write(words, at)
  if words[1] then
    return comments.write_about(words[1] --[[@as "file"|"all"]])
  end
  local first, last = prompts.lines_of(at)
  return comments.write(first or at.first, last or at.last)
end

---@param thread claude-ide.comments.Thread
---@return string
local function place_of(thread)
  local name = thread.path or thread.plan and "the plan" or "everything"
  return thread.anchor and ("%s:%d"):format(name, comments.lnum(thread)) or name
end

---@type table<claude-ide.comments.State, string>
local SHOWN =
  { draft = "to send", sent = "no answer", answered = "answered", done = "done", resolved = "resolved" }

---What is to be done about a thread, or what it is.
---@param thread claude-ide.comments.Thread
---@return string
local function shown_state(thread)
  if thread.state ~= "resolved" and store.is_remark(thread) then
    return thread.step and "step " .. thread.step or "remark"
  end
  return SHOWN[thread.state]
end

local SINCE = { lines = "changed since", file = "file changed", gone = "file deleted" }

---@param root string
---@param wanted? string a state; default: all but resolved
---@return claude-ide.comments.Thread[]
local function threads_of(root, wanted)
  local all = store.compared(root)
  return vim.tbl_filter(function(thread)
    if wanted == "remarks" then
      return store.is_remark(thread)
    end
    return not wanted or thread.state == wanted
  end, wanted == "resolved" and all or comments.in_order(root, all))
end

---@param root string
---@param threads claude-ide.comments.Thread[]
local function choose(root, threads)
  local width, since_width = 0, 0
  for _, thread in ipairs(threads) do
    width = math.max(width, ide_width.of(place_of(thread)))
    since_width = math.max(since_width, #(SINCE[thread.since] or ""))
  end
  ui_choose.select(threads, {
    prompt = "Comments",
    format_item = function(thread)
      local place = place_of(thread)
      local gap = (" "):rep(width - ide_width.of(place) + 2)
      local since = since_width > 0 and ("%-" .. since_width .. "s  "):format(SINCE[thread.since] or "") or ""
      return ("%s%s%-9s  %s%s"):format(
        place,
        gap,
        shown_state(thread),
        since,
        ide_width.cut(marks.last_words(thread), SHOWN_CELLS)
      )
    end,
  }, function(thread)
    if thread then
      local ok, err = comments.go_to(root, thread)
      if not ok then
        notice.warn(err or "")
      elseif thread.state == "resolved" then
        marks.unfold(root, thread.id)
      end
    end
  end)
end

---@param root string
---@param threads claude-ide.comments.Thread[]
---@return boolean? ok
---@return string? err
local function to_quickfix(root, threads)
  local items = {} ---@type vim.quickfix.entry[]
  for _, thread in ipairs(threads) do
    if thread.path then
      local since = SINCE[thread.since]
      items[#items + 1] = {
        filename = root .. "/" .. thread.path,
        lnum = comments.lnum(thread),
        text = ("%s%s: %s"):format(
          shown_state(thread),
          since and ", " .. since or "",
          marks.last_words(thread)
        ),
      }
    end
  end
  if not items[1] then
    return nil, "No comment is on a file: `:Claude comments` lists all."
  end
  vim.fn.setqflist({}, " ", { title = "Comments for Claude", items = items })
  vim.cmd.copen({ mods = modifiers.of_command({ split = "botright" }) })
  return true
end

---Makes a comment of each entry of the quickfix list, except those that are there already.
---@return boolean? ok
---@return string? err
local function import()
  local wanted = {} ---@type claude-ide.comments.Wanted[]
  for _, item in ipairs(vim.fn.getqflist()) do
    local path = item.valid == 1 and item.bufnr > 0 and vim.api.nvim_buf_get_name(item.bufnr) or ""
    local words = vim.trim(item.text)
    if path ~= "" and item.lnum > 0 and words ~= "" then
      local last = math.max(item.end_lnum, item.lnum) --[[@as integer]]
      wanted[#wanted + 1] = { path = path, first = item.lnum, last = last, words = words }
    end
  end
  local made, failed, err = comments.add_all(wanted)
  if made == 0 then
    return nil, err or "The quickfix list has no entries that could be added."
  end
  local rest = failed > 0 and (" %d could not be added."):format(failed) or ""
  notice.info(("%s added.%s"):format(counted(made, "comment"), rest))
  return true
end

---@param root string
---@return boolean? ok
---@return string? err
local function yank(root)
  local round, why = outbox.round(root)
  if not round then
    return nil, why
  end
  vim.fn.setreg(vim.v.register, round.text, "V")
  notice.info(("The message is in register %s."):format(vim.v.register))
  return true
end

---Opens a buffer with a line for each comment on a file, as linters write them: another person's Neovim makes comments of it (`:cfile`,
---`import`).
---@param threads claude-ide.comments.Thread[]
---@return boolean? ok
---@return string? err
local function export(threads)
  local lines = {} ---@type string[]
  for _, thread in ipairs(threads) do
    local words = vim.trim((thread.entries[1].words:gsub("%s+", " ")))
    lines[#lines + 1] = thread.path and ("%s:%d: %s"):format(thread.path, comments.lnum(thread), words)
  end
  if not lines[1] then
    return nil, "No comment is on a file."
  end
  vim.cmd.new({ mods = modifiers.of_command({}) })
  vim.api.nvim_buf_set_lines(0, 0, -1, false, lines)
  return true
end

---@param words string[]
---@return boolean? ok
---@return string? err
function M.run(words)
  local root, what = comments.root(), words[1]
  if store.problem(root) then
    return nil, store.UNREADABLE
  elseif what == "send" then
    return outbox.send()
  elseif what == "yank" then
    return yank(root)
  elseif what == "import" then
    return import()
  elseif what == "export" then
    return export(comments.in_order(root))
  elseif what == "since" then
    return comments.show_since()
  elseif what == "tour" then
    return comments.begin_tour()
  end
  local is_list = what == "quickfix" or what == "remarks"
  local wanted = what ~= "quickfix" and what or nil
  local threads = threads_of(root, wanted)
  if not threads[1] then
    return nil, wanted and ("There are no comments: %s."):format(wanted) or "There are no comments."
  elseif is_list then
    return to_quickfix(root, threads)
  else
    choose(root, threads)
  end
  return true
end

return M
