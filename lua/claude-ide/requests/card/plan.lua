-- The approval of a plan (ExitPlanMode): Markdown in a tab page, to edit, comment, approve, or return with a message. An edited plan is
-- the one carried out.
-- Invariants: edits and comments outlive the buffer (`:edit`, `:bdelete`), and only keys typed for the plan decide (ui/guard).
local lazy = require("claude-ide.lazy")
local closing = lazy("claude-ide.ui.guard.closing")
local guard = lazy("claude-ide.ui.guard")
local guard_window = lazy("claude-ide.ui.guard.window")
local highlights = lazy("claude-ide.ui.highlights")
local ide_window = lazy("claude-ide.base.window")
local kept_words = lazy("claude-ide.ui.kept_words")
local key_list = lazy("claude-ide.ui.key_list")
local later = lazy("claude-ide.requests.card.later")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local requests = lazy("claude-ide.requests")
local safely = lazy("claude-ide.base.safely")
local selected_lines = lazy("claude-ide.ui.selected_lines")
local user_write = lazy("claude-ide.ui.user_write")
local winbar_text = lazy("claude-ide.ui.winbar_text")
local window_options = lazy("claude-ide.ui.window_options")

local M = {}

local KIND = "plan"

local namespace = vim.api.nvim_create_namespace("claude-ide.card.plan")

---@class claude-ide.card.plan.Comment
---@field row integer 0-based, while there is no buffer
---@field quote string[] the lines, as they were
---@field words string
---@field mark? integer

---@class claude-ide.card.Plan : claude-ide.Request, claude-ide.card.Shown
---@field text string as proposed
---@field kept? string its text when the buffer was unloaded
---@field comments claude-ide.card.plan.Comment[]
---@field buf? integer

---@param plan claude-ide.card.Plan
---@return string
local function text_of(plan)
  return plan.buf
      and vim.api.nvim_buf_is_loaded(plan.buf)
      and table.concat(vim.api.nvim_buf_get_lines(plan.buf, 0, -1, false), "\n")
    or plan.kept
    or plan.text
end

---@param plan claude-ide.card.Plan
local function close_view(plan)
  guard.forget(plan.id)
  local buf, win = plan.buf, plan.win
  plan.buf, plan.win = nil, nil
  ide_window.close(win)
  if buf then
    guard_window.forget(buf)
    own_buffer.delete(buf)
  end
end

local function settle(plan, answer)
  if requests.settle(plan, answer) then
    close_view(plan)
  end
end

---The mode that edits files without asking.
local ACCEPT_EDITS = "acceptEdits"

---@param plan claude-ide.card.Plan
---@param mode? string that follows
local function approve(plan, mode)
  if #plan.comments > 0 then
    return notice.warn("The plan has comments: `r` sends it back with them, `gc` changes or removes one.")
  end
  local text = text_of(plan)
  settle(plan, { outcome = "accepted", changes = text ~= plan.text and { plan = text } or nil, mode = mode })
end

---@param comment claude-ide.card.plan.Comment
local function quoted(comment)
  return ("> %s\n\n%s"):format(table.concat(comment.quote, "\n> "), comment.words)
end

---@param plan claude-ide.card.Plan
---@param words string
---@return string
local function message_of(plan, words)
  local parts = vim.list_extend({ words }, vim.tbl_map(quoted, plan.comments))
  local text = text_of(plan)
  if text ~= plan.text then
    parts[#parts + 1] = "The plan with my changes:\n\n" .. text
  end
  return table.concat(parts, "\n\n", words == "" and 2 or 1)
end

---@param plan claude-ide.card.Plan
local function send_back(plan)
  vim.ui.input({ prompt = "What should change? " }, function(words)
    if not words or vim.trim(words) == "" and #plan.comments == 0 then
      return
    elseif plan.state ~= "pending" then
      return kept_words.give_back(words, "The request has ended")
    end
    settle(plan, { outcome = "rejected", message = message_of(plan, vim.trim(words)) })
  end)
end

---@param plan claude-ide.card.Plan
---@param comment claude-ide.card.plan.Comment
---@return integer row
local function row_of(plan, comment)
  local at = plan.buf
    and comment.mark
    and vim.api.nvim_buf_get_extmark_by_id(plan.buf, namespace, comment.mark, {})
  return at and at[1] or comment.row
end

---Shows the comments, each below its line.
---@param plan claude-ide.card.Plan
local function draw_comments(plan)
  local buf = plan.buf --[[@as integer]]
  for _, comment in ipairs(plan.comments) do
    comment.row = math.min(row_of(plan, comment), vim.api.nvim_buf_line_count(buf) - 1)
  end
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for _, comment in ipairs(plan.comments) do
    local lines = { { { "  ▏ " .. comment.words, "ClaudeDiffWarning" } } }
    comment.mark = vim.api.nvim_buf_set_extmark(buf, namespace, comment.row, 0, { virt_lines = lines })
  end
end

---Adds a comment on lines, or changes or removes the one that their last line has.
---@param plan claude-ide.card.Plan
---@param first integer 1-based
---@param last integer
local function comment_on(plan, first, last)
  local index, before ---@type integer?, claude-ide.card.plan.Comment?
  for at, comment in ipairs(plan.comments) do
    if row_of(plan, comment) == last - 1 then
      index, before = at, comment
    end
  end
  local quote = vim.api.nvim_buf_get_lines(plan.buf --[[@as integer]], first - 1, last, false)
  vim.ui.input({ prompt = "Comment: ", default = before and before.words }, function(words)
    words = words and vim.trim(words)
    if not words or words == "" and not before then
      return
    elseif plan.state ~= "pending" or not plan.buf then
      return kept_words.give_back(words, "The request has ended")
    elseif words == "" then
      table.remove(plan.comments, index)
    else
      plan.comments[index or #plan.comments + 1] =
        { row = last - 1, quote = before and before.quote or quote, words = words }
    end
    draw_comments(plan)
  end)
end

---'winbar' of a plan's window.
---@return string
function M.bar()
  local pieces = {
    { rank = 8, texts = { { "ClaudeDiffFile", " Plan" } } },
    { rank = 1, early = true, texts = { { "ClaudeDiffSide", " · change what you like " } } },
    winbar_text.hint(7, "<CR>", "approve"),
    winbar_text.hint(4, "ga", "accept edits"),
    winbar_text.hint(5, "gc", "comment"),
    winbar_text.hint(6, "r", "send back"),
    winbar_text.hint(3, "X", "reject"),
    winbar_text.hint(2, "q", "later"),
  }
  return winbar_text.winbar(pieces, vim.api.nvim_win_get_width(0))
end

---@param plan claude-ide.card.Plan
local function map(plan)
  local options = {} ---@type claude-ide.ui.key_list.Option[]
  local function on(lhs, desc, run)
    options[#options + 1] = { name = lhs, keys = { lhs }, desc = desc }
    local guarded = safely.wrap(desc, run)
    guard_window.map(plan.buf --[[@as integer]], { lhs }, desc, guarded)
  end
  on("<CR>", "approve the plan", function()
    approve(plan)
  end)
  on("ga", "approve the plan, and accept edits", function()
    approve(plan, ACCEPT_EDITS)
  end)
  on("gc", "comment on the line", function()
    local row = vim.fn.line(".")
    comment_on(plan, row, row)
  end)
  vim.keymap.set("x", "gc", function()
    comment_on(plan, selected_lines())
  end, { buffer = plan.buf, nowait = true, desc = "Claude Code: comment on the lines" })
  on("r", "return the plan with a comment", function()
    send_back(plan)
  end)
  on("X", "reject the plan", function()
    settle(plan, { outcome = "rejected" })
  end)
  on("q", "decide later", function()
    ide_window.close(plan.win)
  end)
  on("g?", "these keys", function()
    key_list.open(options, {}, { of = "a plan", group = "ClaudeTranscriptKey" })
  end)
end

---@param plan claude-ide.card.Plan
---@return integer buf
local function create(plan)
  local function complete()
    map(plan)
    draw_comments(plan)
  end
  local opts = {
    kind = "plan",
    id = plan.id,
    name = { plan.requester.name, "plan" },
    lines = vim.split(text_of(plan), "\n", { plain = true }),
    is_private = true,
    draw_again = complete,
    bo = { buftype = "acwrite", filetype = "markdown" },
  } ---@type claude-ide.ui.own_buffer.Opts
  local buf = own_buffer.create(opts)
  plan.buf = buf
  complete()
  local function on(event, desc, run)
    vim.api.nvim_create_autocmd(event, {
      buffer = buf,
      desc = "Claude Code: " .. desc,
      callback = function()
        if plan.buf == buf then
          run()
        end
      end,
    })
  end
  on("BufModifiedSet", "a plan is kept without being written", function()
    vim.bo[buf].modified = false
  end)
  vim.api.nvim_create_autocmd({ "BufWriteCmd", "FileWriteCmd", "FileAppendCmd" }, {
    buffer = buf,
    desc = "Claude Code: keep writing from deciding a plan",
    callback = function(event)
      if not user_write.copied(event, "the plan still waits") and user_write.is_asked(buf) then
        notice.info("Not approved: `<CR>` approves the plan with your changes, `r` returns it.")
      end
    end,
  })
  on("BufUnload", "what was changed in a plan is kept", function()
    plan.kept = text_of(plan)
    opts.lines = vim.split(plan.kept, "\n", { plain = true })
    for _, comment in ipairs(plan.comments) do
      comment.row, comment.mark = row_of(plan, comment), nil
    end
  end)
  on("BufWipeout", "a plan has no buffer", function()
    guard_window.forget(buf)
    plan.buf = nil
  end)
  return buf
end

local wait ---@type fun(plan: claude-ide.card.Plan)

---@param plan claude-ide.card.Plan
local function show(plan)
  if plan.state ~= "pending" then
    return
  end
  highlights.define_shared()
  local buf = plan.buf or create(plan)
  if plan.win and vim.api.nvim_win_is_valid(plan.win) and vim.api.nvim_win_get_buf(plan.win) == buf then
    return vim.api.nvim_set_current_win(plan.win)
  end
  closing.finish() -- it would change tab pages under the plan
  vim.cmd("tab sbuffer " .. buf)
  plan.win = vim.api.nvim_get_current_win()
  guard_window.opened(buf)
  window_options.window(plan.win, "%{%v:lua.require'claude-ide.requests.card.plan'.bar()%}")
  local wo = vim.wo[plan.win][0]
  wo.wrap, wo.linebreak = true, true
  later.follow(plan, plan, "plan", function()
    wait(plan)
  end)
end

---Shows a plan once the user is not typing.
---@param plan claude-ide.card.Plan
function wait(plan)
  guard.when_idle(plan.id, "a plan", function()
    show(plan)
  end, plan.requester.name .. " has a plan", plan.requester.asks_here)
end

---Shows the pending plan.
---@return boolean whether there is one
function M.focus()
  local plan = requests.pending(function(request)
    return request.kind == KIND
  end)[1]
  if plan then
    show(plan --[[@as claude-ide.card.Plan]])
  end
  return plan ~= nil
end

---For remote clients.
---@type claude-ide.requests.Remote
local remote = {
  describe = function(request)
    ---@cast request claude-ide.card.Plan
    return {
      kind = "plan",
      title = "A plan",
      text = request.text,
      choices = {
        { id = "accept", label = "Approve" },
        { id = "accept_edits", label = "Approve, and accept edits" },
        { id = "reject", label = "Send back", message = true },
      },
    }
  end,
  answer = function(request, answer)
    ---@cast request claude-ide.card.Plan
    if answer.choice == "reject" then
      requests.settle_elsewhere(request, { outcome = "rejected", message = answer.message })
    elseif text_of(request) ~= request.text or #request.comments > 0 then
      return "it was changed in Neovim: answer there"
    else
      local mode = answer.choice == "accept_edits" and ACCEPT_EDITS or nil
      requests.settle_elsewhere(request, { outcome = "accepted", mode = mode })
    end
  end,
}

---@type claude-ide.requests.Presenter
local presenter = {
  one = "plan",
  many = "plans",
  focus = function(request)
    ---@cast request claude-ide.card.Plan
    show(request)
    return true
  end,
  present = function(request)
    ---@cast request claude-ide.card.Plan
    wait(request)
  end,
  withdraw = function(request)
    ---@cast request claude-ide.card.Plan
    kept_words.give_back(message_of(request, ""), "The request has ended")
    close_view(request)
  end,
  remote = function()
    return remote
  end,
}

---Shows a plan.
---@param asked claude-ide.chat.Request
function M.ask(asked)
  requests.register(KIND, presenter)
  requests.ask(KIND, asked.requester, asked, { text = asked.ask.plan, comments = {} })
end

return M
