-- The approval of a plan (ExitPlanMode): Markdown in a tab page, to edit, approve, or return with a message. An edited plan is the one
-- carried out.
-- Invariants: edits outlive the buffer (`:edit`, `:bdelete`), and only keys typed for the plan decide (ui/guard).
local M = {}

local KIND = "plan"

---@class claude-ide.chat.Plan : claude-ide.Decision
---@field text string as proposed
---@field kept? string its text when the buffer was unloaded
---@field buf? integer
---@field win? integer

---@param plan claude-ide.chat.Plan
---@return string
local function text_of(plan)
  return plan.buf
      and vim.api.nvim_buf_is_loaded(plan.buf)
      and table.concat(vim.api.nvim_buf_get_lines(plan.buf, 0, -1, false), "\n")
    or plan.kept
    or plan.text
end

---@param plan claude-ide.chat.Plan
local function take_down(plan)
  require("claude-ide.ui.guard").forget(plan.id)
  local buf, win = plan.buf, plan.win
  plan.buf, plan.win = nil, nil
  require("claude-ide.window").close(win)
  if buf then
    require("claude-ide.ui.guard.window").forget(buf)
    require("claude-ide.ui.own_buffer").delete(buf)
  end
end

local function settle(plan, answer)
  if require("claude-ide.decisions").settle(plan, answer) then
    take_down(plan)
  end
end

local function approve(plan)
  local text = text_of(plan)
  settle(plan, { outcome = "accepted", changes = text ~= plan.text and { plan = text } or nil })
end

---@param plan claude-ide.chat.Plan
local function send_back(plan)
  vim.ui.input({ prompt = "What is to be different? " }, function(words)
    if not words or vim.trim(words) == "" then
      return
    elseif plan.state ~= "pending" then
      return require("claude-ide.ui.kept_words").give_back(words, "The plan is gone")
    end
    local text = text_of(plan)
    if text ~= plan.text then
      words = ("%s\n\nThe plan as I would have it:\n\n%s"):format(words, text)
    end
    settle(plan, { outcome = "rejected", message = words })
  end)
end

---'winbar' of a plan's window.
---@return string
function M.bar()
  local fit = require("claude-ide.ui.winbar_text")
  local pieces = {
    { rank = 6, texts = { { "ClaudeDiffFile", " Plan" } } },
    fit.sentence(1, "ClaudeDiffSide", "· change what you like"),
    fit.hint(5, "<CR>", "approve", true),
    fit.hint(4, "r", "send back with words", true),
    fit.hint(3, "X", "no, and stop", true),
    fit.hint(2, "q", "later", true),
  } ---@type table<integer, claude-ide.ui.Piece?>
  return fit.of_those(pieces, 6, vim.api.nvim_win_get_width(0))
end

---@param plan claude-ide.chat.Plan
local function map(plan)
  local function on(lhs, desc, run)
    local guarded = require("claude-ide.safely").wrap(desc, run)
    require("claude-ide.ui.guard.window").map(plan.buf --[[@as integer]], { lhs }, desc, guarded)
  end
  on("<CR>", "approve the plan", function()
    approve(plan)
  end)
  on("r", "send the plan back with words", function()
    send_back(plan)
  end)
  on("X", "reject the plan", function()
    settle(plan, { outcome = "rejected" })
  end)
  on("q", "decide later", function()
    require("claude-ide.window").close(plan.win)
    require("claude-ide.ui.notice").info("The plan waits: `:Claude chat` shows it again.")
  end)
end

---@param plan claude-ide.chat.Plan
---@param text string
---@return claude-ide.ui.own_buffer.Opts
local function with(plan, text)
  return {
    kind = "plan",
    id = plan.id,
    name = { plan.source.name, "plan" },
    lines = vim.split(text, "\n", { plain = true }),
    is_private = true,
    bo = { filetype = "markdown" },
  }
end

---@param plan claude-ide.chat.Plan
---@return integer buf
local function create(plan)
  local buf = require("claude-ide.ui.own_buffer").create(with(plan, text_of(plan)))
  plan.buf = buf
  map(plan)
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
  on("BufUnload", "what was changed in a plan is kept", function()
    plan.kept = text_of(plan)
  end)
  on("BufReadCmd", "a plan as it stood", function()
    require("claude-ide.ui.own_buffer").renew(buf, with(plan, plan.kept or plan.text))
    map(plan)
  end)
  on("BufWipeout", "a plan has no buffer", function()
    require("claude-ide.ui.guard.window").forget(buf)
    plan.buf = nil
  end)
  return buf
end

---@param plan claude-ide.chat.Plan
local function show(plan)
  if plan.state ~= "pending" then
    return
  end
  require("claude-ide.ui.highlights").define_shared()
  local buf = plan.buf or create(plan)
  if plan.win and vim.api.nvim_win_is_valid(plan.win) and vim.api.nvim_win_get_buf(plan.win) == buf then
    return vim.api.nvim_set_current_win(plan.win)
  end
  vim.cmd("tab sbuffer " .. buf)
  plan.win = vim.api.nvim_get_current_win()
  require("claude-ide.ui.guard.window").opened(buf)
  require("claude-ide.ui.window_look").window(plan.win, "%{%v:lua.require'claude-ide.chat.plan'.bar()%}")
  local wo = vim.wo[plan.win][0]
  wo.wrap, wo.linebreak = true, true
end

---Shows the pending plan.
---@return boolean whether there is one
function M.focus()
  local plan = require("claude-ide.decisions").pending(function(decision)
    return decision.kind == KIND
  end)[1]
  if plan then
    show(plan --[[@as claude-ide.chat.Plan]])
  end
  return plan ~= nil
end

---For remote clients.
---@type claude-ide.decisions.Remote
local remote = {
  describe = function(decision)
    ---@cast decision claude-ide.chat.Plan
    return {
      kind = "plan",
      title = "A plan",
      text = decision.text,
      choices = {
        { id = "accept", label = "Approve" },
        { id = "reject", label = "Send back", message = true },
      },
    }
  end,
  answer = function(decision, answer)
    ---@cast decision claude-ide.chat.Plan
    if answer.choice == "reject" then
      require("claude-ide.decisions").settle_elsewhere(
        decision,
        { outcome = "rejected", message = answer.message }
      )
    elseif text_of(decision) ~= decision.text then
      return "it was changed in Neovim: decide there"
    else
      require("claude-ide.decisions").settle_elsewhere(decision, { outcome = "accepted" })
    end
  end,
}

---@type claude-ide.decisions.Presenter
local presenter = {
  one = "plan",
  many = "plans",
  focus = function(decision)
    ---@cast decision claude-ide.chat.Plan
    show(decision)
    return true
  end,
  present = function(decision)
    ---@cast decision claude-ide.chat.Plan
    require("claude-ide.ui.guard").when_free(decision.id, "a plan", function()
      show(decision)
    end, "Claude has a plan")
  end,
  withdraw = function(decision)
    ---@cast decision claude-ide.chat.Plan
    local text = text_of(decision)
    if text ~= decision.text then
      require("claude-ide.ui.kept_words").give_back(text, "The plan is gone")
    end
    take_down(decision)
  end,
  remote = function()
    return remote
  end,
}

---Shows a plan.
---@param request claude-ide.chat.Request
function M.ask(request)
  require("claude-ide.decisions").register(KIND, presenter)
  require("claude-ide.decisions").ask(KIND, request.source, request, { text = request.ask.plan })
end

return M
