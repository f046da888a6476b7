-- Keeps one diff that is on the screen in order: its keys, its winbars, its layout, its sizes, and the windows that it loses.
-- Does not decide anything: what the user does to a diff is handed to the verbs it was shown with.
local M = {}

---What is left of the windows shows the diff: see `mend` below.
local mend ---@type fun(entry: claude-ide.diff.Entry)

---@param entry claude-ide.diff.Entry
---@return claude-ide.diff.Loss
local function loss_of(entry)
  local view = entry.view --[[@as claude-ide.diff.View]]
  local function waits()
    return entry.diff.state == "pending" and entry.view == view
  end
  return {
    view = view,
    waits = waits,
    gone = function()
      if waits() then
        entry.verbs.gone()
      end
    end,
    mend = function()
      mend(entry)
    end,
  }
end

---@param entry claude-ide.diff.Entry
---@param verbs claude-ide.diff.Verbs
local function listen(entry, verbs)
  local diff, bufs, view = entry.diff, entry.text.bufs, entry.view --[[@as claude-ide.diff.View]]
  local events = require("claude-ide.diff.events")
  entry.group = vim.api.nvim_create_augroup("claude-ide.diff." .. diff.id, { clear = true })
  events.attach(entry.group, {
    diff = diff,
    bufs = bufs,
    lines = entry.text.lines,
    write = verbs.write,
    loss = loss_of(entry),
  })
  events.map_keys(diff, bufs, {
    accept = verbs.accept,
    reject = verbs.reject,
    reject_with_reason = verbs.reject_with_reason,
    hunk = function()
      require("claude-ide.diff.choice").toggle(view)
    end,
    layout = function()
      M.switch_layout(entry)
    end,
    help = events.help,
  })
end

---A new file has nothing that its proposal could stand beside.
---@param entry claude-ide.diff.Entry
---@return boolean
local function is_of_new_file(entry)
  return require("claude-ide.diff.present_text").is_new(entry.text.now)
end

---@param entry claude-ide.diff.Entry
---@return claude-ide.diffview.LayoutName
local function layout_of(entry)
  if entry.view then
    return entry.view.layout
  end
  return entry.diff.layout
    or is_of_new_file(entry) and "unified"
    or require("claude-ide.diffview.layout").preferred()
end

---@param entry claude-ide.diff.Entry on the screen
---@param side claude-ide.diffview.Side
---@param width integer
---@param alone boolean
---@return string
local function winbar_of(entry, side, width, alone)
  local winbar, hunks, text =
    require("claude-ide.diff.winbar"), require("claude-ide.diffview.hunks"), entry.text
  ---@type claude-ide.diffview.Hunks
  ---@diagnostic disable-next-line: assign-type-mismatch -- they are there before the view is
  local live = entry.hunks
  local format = hunks.format(live)
  if text.now.format.eol == "\r\n" and format.eol == "\n" and entry.diff.source.writes == "agent" then
    -- The CLI proposes LF for every file, and keeps the CRLF of the file that it writes.
    format = vim.tbl_extend("force", format, { eol = "\r\n" }) --[[@as claude-ide.bytes.Format]]
  end
  local unseen = require("claude-ide.buffer.bytes").unseen_changes(text.now.format, format)
  if side == "now" then
    return winbar.of_now(entry.diff, text.now, width, unseen)
  end
  local comparison = text.comparison
  local added, removed = comparison.added, comparison.removed
  if live.list ~= comparison.hunks then
    added, removed = hunks.count(live)
  end
  return winbar.of_proposal(entry.diff, {
    added = added,
    removed = removed,
    kept = #live.original - #hunks.dropped(live),
    total = #live.original,
    others = require("claude-ide.diff.state").count() - 1,
    width = width,
    now = alone and text.now or nil,
    unseen = alone and unseen or nil,
  })
end

---@param entry claude-ide.diff.Entry
---@return claude-ide.diff.WinbarOf
local function winbars(entry)
  return function(side, width, alone)
    return winbar_of(entry, side, width, alone)
  end
end

---The number of those that wait is another: the diffs on the screen say how many more there are.
function M.recount()
  for _, entry in pairs(require("claude-ide.diff.entries").all()) do
    if entry.view and entry.diff.state == "pending" then
      require("claude-ide.diff.arrange").set_winbars(entry.view, winbars(entry))
    end
  end
end

---The user has changed the proposal.
---@param entry claude-ide.diff.Entry
local function refresh(entry)
  if entry.view and entry.diff.state == "pending" then
    require("claude-ide.diff.view").refresh(entry.view, winbars(entry))
    require("claude-ide.diff.choice").show_dropped(entry.view.hunks)
  end
end

---Shows a diff in the next layout, and those that come after it. The one of a new file is shown in one that nobody chose, so
---the next one is no choice for others either.
---@param entry claude-ide.diff.Entry
function M.switch_layout(entry)
  if entry.view and entry.diff.state == "pending" then
    local layout = require("claude-ide.diffview.layout")
    if entry.view.one_window then
      return layout.say_one_window()
    end
    local name = layout.after(entry.view.layout)
    if not is_of_new_file(entry) and not entry.diff.layout then
      layout.prefer(name)
    end
    require("claude-ide.diff.view").switch(entry.view, name, winbars(entry))
  end
end

---Keeps the windows as large as the screen lets them be, and the winbars as wide as their windows.
---@param entry claude-ide.diff.Entry on the screen
local function follow_sizes(entry)
  vim.api.nvim_create_autocmd({ "WinResized", "VimResized", "TabEnter" }, {
    group = entry.group,
    desc = "Claude Code: a diff fits the screen",
    callback = function()
      if entry.view and entry.diff.state == "pending" then
        require("claude-ide.diff.view").fit(entry.view)
        require("claude-ide.diff.arrange").set_winbars(entry.view, winbars(entry))
      end
    end,
  })
end

---From now on what the user does to the windows has its effect, and the windows follow what happens.
---@param entry claude-ide.diff.Entry on the screen
---@param verbs claude-ide.diff.Verbs
function M.begin(entry, verbs)
  listen(entry, verbs)
  follow_sizes(entry)
end

---@param entry claude-ide.diff.Entry that the user has closed a window of, but not the last one of the proposal
function mend(entry)
  local text = entry.text --[[@as claude-ide.diff.Prepared]]
  local view = entry.view --[[@as claude-ide.diff.View]]
  local function in_order()
    if entry.view == view and entry.diff.state == "pending" then
      require("claude-ide.diff.view").mend(view, winbars(entry))
    end
  end
  if vim.api.nvim_buf_is_loaded(text.bufs.now) then
    return in_order()
  end
  require("claude-ide.diff.prepare").make_now_again(entry.diff, text, function()
    if entry.view == view and entry.diff.state == "pending" then
      M.begin(entry, entry.verbs --[[@as claude-ide.diff.Verbs]])
      in_order()
    end
  end)
end

---What the windows of a diff are to be like.
---@param entry claude-ide.diff.Entry with its text
---@return claude-ide.diff.ViewOpts
function M.view_opts(entry)
  local text = entry.text --[[@as claude-ide.diff.Prepared]]
  local bytes = #entry.diff.proposed + #(text.now.disk.bytes or "")
  entry.hunks = entry.hunks
    or require("claude-ide.diffview.hunks").follow(text, function()
      refresh(entry)
    end)
  return {
    focus = false,
    layout = layout_of(entry),
    hunks = entry.hunks,
    one_window = text.format.empty or require("claude-ide.diffview.pair").needs_one_window(
      text.comparison.hunks,
      #text.now.lines,
      #text.lines,
      bytes
    ),
    winbar = winbars(entry),
  }
end

return M
