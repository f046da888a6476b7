-- A plan that the agent wants approved (ExitPlanMode): Markdown in a tab page, to be changed, approved or sent back with words.
-- What was changed in it is the plan that is carried out.
local M = {}

local KIND = "plan"

---@class claude-ide.chat.Plan : claude-ide.Decision
---@field text string as it was proposed
---@field buf? integer
---@field win? integer

---@type table<integer, claude-ide.chat.Plan> by buffer
local plans = {}

---@param plan claude-ide.chat.Plan
---@return string
local function text_of(plan)
  return plan.buf
      and vim.api.nvim_buf_is_valid(plan.buf)
      and table.concat(vim.api.nvim_buf_get_lines(plan.buf, 0, -1, false), "\n")
    or plan.text
end

---@param plan claude-ide.chat.Plan
local function take_down(plan)
  require("claude-ide.ui.attention").forget(plan.id)
  local buf, win = plan.buf, plan.win
  plan.buf, plan.win = nil, nil
  if win and vim.api.nvim_win_is_valid(win) then
    require("claude-ide.ui.file_window").close_all({ win })
  end
  if buf then
    plans[buf] = nil
    require("claude-ide.ui.own_buffer").delete(buf)
  end
end

---@param plan claude-ide.chat.Plan
---@param answer claude-ide.chat.Answer
local function settle(plan, answer)
  if require("claude-ide.decisions").settle(plan, answer) then
    take_down(plan)
  end
end

---@param plan claude-ide.chat.Plan
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
  local part = require("claude-ide.ui.winbar_text").part
  local keys = {
    { "<CR>", "approve" },
    { "r", "send back with words" },
    { "X", "no, and stop" },
    { "q", "later" },
  }
  local text = part("ClaudeDiffFile", " Plan") .. part("ClaudeDiffSide", " · change what you like") .. " %="
  for _, key in ipairs(keys) do
    text = text .. part("ClaudeDiffKey", " " .. key[1]) .. part("ClaudeDiffHint", " " .. key[2] .. " ")
  end
  return text
end

---@param plan claude-ide.chat.Plan
local function map(plan)
  local function on(lhs, desc, run)
    vim.keymap.set("n", lhs, require("claude-ide.safely").wrap(desc, run), {
      buffer = plan.buf,
      nowait = true,
      silent = true,
      desc = "Claude Code: " .. desc,
    })
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
    if plan.win and vim.api.nvim_win_is_valid(plan.win) then
      require("claude-ide.ui.file_window").close_all({ plan.win })
    end
    require("claude-ide.ui.notice").info("The plan waits: `:Claude chat` shows it again.")
  end)
end

---@param plan claude-ide.chat.Plan
local function show(plan)
  if plan.state ~= "pending" then
    return
  end
  require("claude-ide.ui.highlights").define_shared()
  if not plan.buf then
    plan.buf = vim.api.nvim_create_buf(false, true)
    plans[plan.buf] = plan
    local bo = vim.bo[plan.buf]
    bo.buftype, bo.bufhidden, bo.swapfile = "nofile", "hide", false
    require("claude-ide.ui.ours").mark(plan.buf, "plan", plan.id)
    require("claude-ide.ui.ours").name(plan.buf, "Claude", "plan")
    vim.b[plan.buf].claude_private = true
    vim.api.nvim_buf_set_lines(plan.buf, 0, -1, false, vim.split(plan.text, "\n", { plain = true }))
    bo.filetype = "markdown"
    map(plan)
  end
  if plan.win and vim.api.nvim_win_is_valid(plan.win) then
    return vim.api.nvim_set_current_win(plan.win)
  end
  vim.cmd("tab sbuffer " .. plan.buf)
  plan.win = vim.api.nvim_get_current_win()
  require("claude-ide.ui.window_look").window(plan.win, "%{%v:lua.require'claude-ide.chat.plan'.bar()%}")
  local wo = vim.wo[plan.win][0]
  wo.wrap, wo.linebreak = true, true
end

---Shows the plan that waits.
---@return boolean there is one
function M.focus()
  local plan = require("claude-ide.decisions").pending(function(decision)
    return decision.kind == KIND
  end)[1]
  if plan then
    show(plan --[[@as claude-ide.chat.Plan]])
  end
  return plan ~= nil
end

---@type claude-ide.decisions.Presenter
local presenter = {
  one = "plan",
  many = "plans",
  present = function(decision)
    ---@cast decision claude-ide.chat.Plan
    require("claude-ide.ui.attention").when_free(decision.id, "a plan", function()
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
    return require("claude-ide.chat.remote").plan
  end,
}

---Asks the person.
---@param request claude-ide.chat.Request
function M.ask(request)
  local plan = (request.ask.input or {}).plan
  if type(plan) ~= "string" then
    return require("claude-ide.chat.permission").ask(request)
  end
  require("claude-ide.decisions").register(KIND, presenter)
  require("claude-ide.decisions").ask(KIND, request.chat.asker, request, { text = plan })
end

return M
