-- The approval of a plan (ExitPlanMode): Markdown in a tab page, to edit, comment, approve, or return with a message. An edited plan is
-- the one carried out. Its comments are those of files (comments/), and go with the answer.
-- Invariants: edits outlive the buffer (`:edit`, `:bdelete`), and only keys typed for the plan decide (ui/guard).
local lazy = require("claude-ide.lazy")
local closing = lazy("claude-ide.ui.guard.closing")
local comments = lazy("claude-ide.comments")
local comments_keys = lazy("claude-ide.comments.keys")
local comments_marks = lazy("claude-ide.comments.marks")
local comments_round = lazy("claude-ide.comments.round")
local comments_store = lazy("claude-ide.comments.store")
local comments_target = lazy("claude-ide.comments.target")
local comments_writer = lazy("claude-ide.comments.writer")
local guard = lazy("claude-ide.ui.guard")
local guard_window = lazy("claude-ide.ui.guard.window")
local highlights = lazy("claude-ide.ui.highlights")
local ide_window = lazy("claude-ide.base.window")
local kept_words = lazy("claude-ide.ui.kept_words")
local key_list = lazy("claude-ide.ui.key_list")
local later = lazy("claude-ide.requests.card.later")
local notice = lazy("claude-ide.base.notice")
local own = lazy("claude-ide.terminal.own")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local requests = lazy("claude-ide.requests")
local safely = lazy("claude-ide.base.safely")
local user_write = lazy("claude-ide.ui.user_write")
local winbar_text = lazy("claude-ide.ui.winbar_text")
local window_options = lazy("claude-ide.ui.window_options")

local M = {}

local KIND = "plan"

---Keys that decide, or change what a file has.
local KEYS = { "<CR>", "ga", "r", "X", "q" }

---@class claude-ide.card.Plan : claude-ide.Request, claude-ide.card.Shown
---@field text string as proposed
---@field kept? string its text when the buffer was unloaded
---@field session string whose comments it has
---@field root string worktree of its comments
---@field asked_about? integer comments that an approval has been asked about
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
  comments_writer.show_again()
end

---@param plan claude-ide.card.Plan
---@param answer claude-ide.requests.Answer
---@return boolean settled
local function settle(plan, answer)
  local is_settled = requests.settle(plan, answer)
  if is_settled then
    close_view(plan)
  end
  return is_settled
end

---The mode that edits files without asking.
local ACCEPT_EDITS = "acceptEdits"

---@param plan claude-ide.card.Plan
---@return claude-ide.comments.Said[] comments to send
local function said_of(plan)
  return comments_round.to_send(plan.root, function(thread)
    return thread.plan == plan.session
  end)
end

---@param plan claude-ide.card.Plan
---@return string? nil: it was not changed
local function changes_of(plan)
  local text = text_of(plan)
  return text ~= plan.text and "The plan with my changes:\n\n" .. text or nil
end

---The user's words, comments and changes.
---@param plan claude-ide.card.Plan
---@param parts string[]
---@param said claude-ide.comments.Said[]
---@return string? message nil: the comments cannot be read, which the user is told
local function joined(plan, parts, said)
  local comment, err ---@type string?, string?
  if said[1] then
    comment, err = comments_round.message(plan.root, said)
    if not comment then
      return notice.error(("The comments cannot be read: %s."):format(err))
    end
    parts[#parts + 1] = comment
  end
  return table.concat(parts, "\n\n")
end

---The plan is approved: what was said of it before needs no answer.
---@param plan claude-ide.card.Plan
local function resolve_earlier(plan)
  for _, thread in ipairs(comments_store.threads(plan.root)) do
    if thread.plan == plan.session and not thread.draft and thread.state ~= "resolved" then
      comments_store.change(plan.root, { resolve = { id = thread.id, resolved = true } })
    end
  end
end

---@param plan claude-ide.card.Plan
---@param mode? string that follows
local function approve(plan, mode)
  local said = said_of(plan)
  if #said > (plan.asked_about or 0) then
    plan.asked_about = #said
    return notice.warn("The plan has comments: the same key approves it with them, `r` sends it back.")
  end
  local text = joined(plan, { text_of(plan) }, said)
  if text then
    local changes = text ~= plan.text and { plan = text } or nil
    if settle(plan, { outcome = "accepted", changes = changes, mode = mode }) then
      resolve_earlier(plan)
      comments_round.ended(plan.root, said, plan.session)
    end
  end
end

---@param plan claude-ide.card.Plan
---@param message string
---@param said claude-ide.comments.Said[] what is in the message
---@return boolean sent
local function reject(plan, message, said)
  local parts = { message ~= "" and message or nil }
  parts[#parts + 1] = changes_of(plan)
  local is_sent = settle(plan, { outcome = "rejected", message = table.concat(parts, "\n\n") })
  if is_sent then
    comments_round.ended(plan.root, said, plan.session)
  end
  return is_sent
end

---@param plan claude-ide.card.Plan
local function send_back(plan)
  vim.ui.input({ prompt = "What should change? " }, function(words)
    local said = said_of(plan)
    if not words or vim.trim(words) == "" and not said[1] then
      return
    elseif plan.state ~= "pending" then
      return kept_words.give_back(words, "The request has ended")
    end
    words = vim.trim(words)
    local message = joined(plan, words ~= "" and { words } or {}, said)
    if not message then
      kept_words.give_back(words, "The plan was not sent back")
    else
      reject(plan, message, said)
    end
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
    winbar_text.hint(5, key_list.option("comments", "line").keys, "comment"),
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
    local guarded = safely.wrap(desc, function()
      closing.by_key(run, { lhs })
    end)
    guard_window.map(plan.buf --[[@as integer]], { lhs }, desc, guarded)
  end
  on("<CR>", "approve the plan", function()
    approve(plan)
  end)
  on("ga", "approve the plan, and accept edits", function()
    approve(plan, ACCEPT_EDITS)
  end)
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
    local listed = vim.list_extend(vim.list_slice(options), key_list.options("comments"))
    key_list.open(listed, {}, { of = "a plan", group = "ClaudeTranscriptKey" })
  end)
  comments_keys.map(plan.buf --[[@as integer]])
end

---@param plan claude-ide.card.Plan
---@return integer buf
local function create(plan)
  local function complete()
    local buf = plan.buf --[[@as integer]]
    map(plan)
    comments_target.set_plan(buf, plan.session)
    comments.attach()
    comments_marks.draw(buf)
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
  user_write.follow(
    buf,
    { desc = "keep writing from deciding a plan", still = "the plan still waits" },
    function()
      if user_write.is_asked(buf) then
        notice.info("Not approved: `<CR>` approves the plan with your changes, `r` returns it.")
      end
    end
  )
  on("BufUnload", "what was changed in a plan is kept", function()
    plan.kept = text_of(plan)
    opts.lines = vim.split(plan.kept, "\n", { plain = true })
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
    return ide_window.enter(plan.win)
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
    elseif changes_of(request) or said_of(request)[1] then
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
  reject = function(request, round)
    ---@cast request claude-ide.card.Plan
    return reject(request, round.text, round.said)
  end,
  withdraw = function(request)
    ---@cast request claude-ide.card.Plan
    local changes = changes_of(request) or ""
    closing.by_others(function()
      close_view(request)
    end, KEYS)
    kept_words.give_back(changes, "The request has ended")
    if said_of(request)[1] then
      notice.info("The plan has ended. Your comments on it wait: `:Claude comments`.")
    end
  end,
  remote = function()
    return remote
  end,
}

---Shows a plan.
---@param asked claude-ide.chat.Request
function M.ask(asked)
  requests.register(KIND, presenter)
  local session = own.of_request(asked --[[@as any]])
  requests.ask(KIND, asked.requester, asked, {
    text = asked.ask.plan,
    root = comments_store.root_of(),
    session = session or ("%d.%d"):format(vim.uv.os_getpid(), vim.uv.hrtime()),
  })
end

return M
