-- Permission for a tool: a kind of request, shown as text with the agent's choices.
local card = require("claude-ide.requests.card.window")
local lazy = require("claude-ide.lazy")
local card_text = lazy("claude-ide.requests.card.text")
local changed_calls = lazy("claude-ide.requests.changed_calls")
local counted = lazy("claude-ide.base.counted")
local invisible_text = lazy("claude-ide.base.invisible_text")
local kept_words = lazy("claude-ide.ui.kept_words")
local log = lazy("claude-ide.base.log")
local native = lazy("claude-ide.library.native")
local notice = lazy("claude-ide.base.notice")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local requests = lazy("claude-ide.requests")
local server = lazy("claude-ide.server")
local text_float = lazy("claude-ide.ui.text_float")
local typing = lazy("claude-ide.ui.guard.typing")
local ui_choose = lazy("claude-ide.ui.choose")
local user_write = lazy("claude-ide.ui.user_write")
local window = lazy("claude-ide.base.window")

local M = {}

local settle = card.settle

local namespace = vim.api.nvim_create_namespace("claude-ide.card.permission")

---@class claude-ide.card.Permission : claude-ide.Request
---@field ask claude-ide.chat.Ask
---@field kept? string the changed argument, not written

---@class claude-ide.card.AskedPart
---@field part "text"|"change"|"places"
---@field style? string text
---@field text? string text
---@field old? string change; nil: no such file
---@field new? string change
---@field paths? string[] places

---@type table<string, string>
local KEYS = { allow_once = "y", allow_always = "a", reject_once = "n", reject_always = "N" }
---Choices with a key.
local MOST_KEYS = 9
---Limit of places shown.
local MOST_PLACES = 20

---@type table<string, string>
local GROUPS = {
  input = "ClaudeTranscriptInput",
  command = "ClaudeTranscriptInput",
  argument = "ClaudeTranscriptArgument",
  notice = "ClaudeTranscriptNotice",
  reason = "ClaudeTranscriptNotice",
  dim = "ClaudeTranscriptDim",
}

---@type table<string, fun(asked: claude-ide.card.AskedLines, part: claude-ide.card.AskedPart, what_for?: claude-ide.card.AskedLines.For)>
local ADD = {}

function ADD.text(asked, part)
  local text = part.text --[[@as string]]
  text = part.style == "reason" and native.plain_text(text) or text
  local first = #asked.lines + 1
  asked:add(text, GROUPS[part.style])
  if part.style == "command" then
    asked.command = { first = first, last = #asked.lines }
  end
end

function ADD.change(asked, part)
  asked:add_change(part.old, part.new --[[@as string]])
end

function ADD.places(asked, part, what_for)
  local paths = part.paths or {}
  for at, path in ipairs(paths) do
    if at > MOST_PLACES and not what_for then
      asked.is_cut = true
      return asked:add("… and " .. counted(#paths - MOST_PLACES, "more place"), GROUPS.dim)
    end
    asked:add(path, GROUPS.dim)
  end
end

---@param ask claude-ide.chat.Ask
---@param what_for? claude-ide.card.AskedLines.For
---@return claude-ide.card.AskedLines
function M.asked(ask, what_for)
  local asked = card_text.new(what_for)
  for _, part in ipairs(ask.parts or {}) do
    ADD[part.part](asked, part, what_for)
  end
  return asked
end

---@param choice { kind: string }
---@return boolean
function M.is_allowing(choice)
  return choice.kind:find("^allow") ~= nil
end

---@param permission claude-ide.card.Permission
---@param choice { id: string, kind: string }
local function choose(permission, choice)
  settle(permission, { outcome = M.is_allowing(choice) and "accepted" or "rejected", choice = choice.id })
end

---@param permission claude-ide.card.Permission
local function allow_always(permission)
  ui_choose.select(permission.ask.rules, {
    prompt = "Allow from now on",
  }, function(rule, index)
    if rule and index then
      settle(permission, { outcome = "accepted", rules = { index - 1 } })
    end
  end)
end

---@param permission claude-ide.card.Permission
local function deny_with_words(permission)
  card.input(permission, { prompt = "Reason: " }, function(text)
    if vim.trim(text) ~= "" then
      settle(permission, { outcome = "rejected", message = vim.trim(text) })
    end
  end)
end

---Marks what hides in a text that is edited: a mark is drawn behind the character, and is no part of the text.
---@param buf integer
local function mark_hidden(buf)
  vim.api.nvim_buf_clear_namespace(buf, namespace, 0, -1)
  for row, line in ipairs(vim.api.nvim_buf_get_lines(buf, 0, -1, false)) do
    for _, found in ipairs(invisible_text.find(line, invisible_text.WORDS)) do
      local after = found.at - 1
      repeat -- Neovim draws nothing within a cell of several characters
        after = after + #line:match("^[%z\1-\127\194-\244][\128-\191]*", after + 1)
        local next_one = line:match("^[\194-\244][\128-\191]+", after + 1)
      until not next_one or vim.fn.strdisplaywidth("x" .. next_one) > 1
      vim.api.nvim_buf_set_extmark(buf, namespace, row - 1, found.is_run and found.at - 1 or after, {
        virt_text = { { found.mark, "ClaudeTranscriptFailed" } },
        virt_text_pos = "inline",
      })
    end
  end
end

---Why a changed argument cannot be allowed: the CLI would run an empty command, and refuses other texts without a word.
---@param text string
---@return string?
local function why_not(text)
  if vim.trim(text) == "" then
    return "it is empty"
  elseif text:find("[%z\1-\8\11-\31\127]") then
    return "it has a control character, which Claude Code does not accept"
  end
end

---Tells Claude, beside the call's result, and the user where the CLI refuses the call.
---@param permission claude-ide.card.Permission pending
---@param name string of the argument
---@param before string
---@param after string
local function note_change(permission, name, before, after)
  local handle, client = permission.handle, permission.requester.client
  local known = client and server.client(client)
  local pid = known and known.pid or handle.chat and handle.chat.pid
  changed_calls.note(pid, name, before, after, client, handle)
end

---Lets the user edit the argument that the call is about; `:write` allows the result. The window is closed after the command, which may
---be `:wq`: it would close the next one too. What is edited and not written is kept for the next time.
---@param permission claude-ide.card.Permission
---@param name string
local function change_and_allow(permission, name)
  local value = permission.ask.parts[1].text --[[@as string]]
  local lines = vim.split(value, "\n", { plain = true })
  local kept = vim.split(permission.kept or value, "\n", { plain = true })
  local buf ---@type integer
  buf = own_buffer.create({
    kind = "question",
    name = { permission.requester.name, name },
    lines = lines,
    is_private = true,
    draw_again = function()
      mark_hidden(buf)
    end,
    bo = { buftype = "acwrite", bufhidden = "wipe", filetype = name == "command" and "sh" or "" },
  })
  if permission.kept then
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, kept)
  end
  mark_hidden(buf)
  local title = (":w allows this %s, :q goes back"):format(name)
  local win = text_float.open(buf, title)
  text_float.fit(win, title)
  local text ---@type string? written, and not yet told
  local function allow()
    local told = text
    text = nil
    window.close(win)
    if told and permission.state == "pending" then
      if told ~= value then
        note_change(permission, name, value, told)
      end
      settle(permission, { outcome = "accepted", changes = told ~= value and { [name] = told } or nil })
    elseif told then
      kept_words.give_back(told, "The request has ended")
    end
  end
  vim.api.nvim_create_autocmd({ "TextChanged", "TextChangedI", "TextChangedP" }, {
    buffer = buf,
    desc = "Claude Code: mark hidden characters in a changed call",
    callback = function()
      mark_hidden(buf)
    end,
  })
  local quitting = false
  vim.api.nvim_create_autocmd("QuitPre", {
    buffer = buf,
    desc = "Claude Code: keep the changed call when quitting, and allow nothing",
    callback = function()
      quitting = true
      local now = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
      permission.kept, vim.bo[buf].modified = now ~= value and now or nil, false
      vim.schedule(function()
        quitting = false
        if permission.kept and permission.state == "pending" and not vim.api.nvim_win_is_valid(win) then
          notice.info("Not allowed. `e` shows your changes again.")
        end
      end)
    end,
  })
  user_write.follow(buf, { desc = "allow a changed call", still = "nothing is allowed yet" }, function(event)
    if event.event ~= "BufWriteCmd" then
      return notice.info("Not allowed: `:w` without a range allows it.")
    elseif quitting then
      return
    end
    local asked, reason, is_automatic = user_write.is_asked(buf)
    if not asked then
      log.debug("a write of a changed call was ignored: %s", reason)
      return not is_automatic and notice.info("Not allowed: only `:w` in this buffer allows it.") or nil
    end
    local now = table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
    local why = why_not(now)
    if why then
      return notice.warn(("Not allowed: %s."):format(why))
    end
    text, vim.bo[buf].modified = now, false
    typing.soon(allow, true)
  end)
end

---@param permission claude-ide.card.Permission
local function choose_among_the_rest(permission)
  ui_choose.select(vim.list_slice(permission.ask.choices, MOST_KEYS + 1), {
    prompt = permission.ask.title,
    format_item = function(choice)
      return choice.label
    end,
  }, function(choice)
    if choice then
      choose(permission, choice)
    end
  end)
end

---@param permission claude-ide.card.Permission
---@return claude-ide.card.Action[]
local function actions_of(permission)
  local ask, actions, taken = permission.ask, {}, {} ---@type claude-ide.chat.Ask, claude-ide.card.Action[], table<string, true>
  for at, choice in ipairs(vim.list_slice(ask.choices, 1, MOST_KEYS)) do
    local key, keys = KEYS[choice.kind], {}
    if not taken[key] then
      taken[key], keys[1] = true, key
    end
    if not ask.takes_changes then
      keys[#keys + 1] = tostring(at)
    elseif at == 1 and ask.default_to_no then
      keys[#keys + 1] = "<CR>"
    end
    actions[#actions + 1] = {
      keys = keys,
      desc = choice.key_label or choice.label,
      allows = M.is_allowing(choice),
      run = function()
        choose(permission, choice)
      end,
    }
  end
  if #ask.choices > MOST_KEYS then
    actions[#actions + 1] = {
      keys = { "m" },
      desc = ("%d more …"):format(#ask.choices - MOST_KEYS),
      allows = true,
      run = function()
        choose_among_the_rest(permission)
      end,
    }
  end
  if #ask.rules > 0 then
    table.insert(actions, 2, {
      keys = { "a" },
      desc = "allow always …",
      allows = true,
      run = function()
        allow_always(permission)
      end,
    })
  end
  local changeable = ask.changeable
  if changeable then
    actions[#actions + 1] = {
      keys = { "e" },
      desc = "change and allow",
      allows = true,
      run = function()
        change_and_allow(permission, changeable)
      end,
    }
  end
  if ask.takes_changes then
    actions[#actions + 1] = {
      keys = { "r" },
      desc = "deny with a reason",
      run = function()
        deny_with_words(permission)
      end,
    }
  end
  actions[#actions + 1] = card.later()
  -- An answer's key that is not offered would be an operator, which waits for the next key.
  for kind, key in pairs(KEYS) do
    local is_taken = taken[key] or key == "a" and #ask.rules > 0
    if not is_taken then
      local what = kind:find("^allow") and "allow it" or "deny it"
      actions[#actions + 1] = {
        keys = { key },
        desc = "not offered",
        hidden = true,
        run = function()
          notice.info(
            ("%s offers no such answer: %s by one of those below."):format(permission.requester.name, what)
          )
        end,
      }
    end
  end
  return actions
end

---@param permission claude-ide.card.Permission
---@param is_whole boolean
---@return claude-ide.card.Text
local function text_of(permission, is_whole)
  local asked = M.asked(permission.ask, is_whole and "whole" or nil)
  return {
    title = permission.ask.title,
    lines = asked.lines,
    is_cut = asked.is_cut,
    command = asked.command,
    is_warning = permission.ask.is_destructive,
    actions = actions_of(permission),
  }
end

---For remote clients.
---@type claude-ide.requests.Remote
local remote = {
  describe = function(request)
    ---@cast request claude-ide.card.Permission
    local ask = request.ask
    local asked = M.asked(ask, "page")
    local choices = {} ---@type claude-ide.requests.Choice[]
    for _, choice in ipairs(ask.choices) do
      local is_yes = M.is_allowing(choice)
      if not (is_yes and asked.is_cut) then
        choices[#choices + 1] = { id = choice.id, label = choice.label, message = not is_yes or nil }
      end
      for index, rule in ipairs(is_yes and not asked.is_cut and ask.rules or {}) do
        choices[#choices + 1] = { id = "always:" .. index, label = "Allow from now on: " .. rule }
      end
    end
    return {
      kind = "permission",
      title = ask.title,
      destructive = ask.is_destructive or nil,
      text = asked:text(),
      choices = choices,
    }
  end,
  answer = function(request, answer)
    ---@cast request claude-ide.card.Permission
    local rule = tonumber(answer.choice:match("^always:(%d+)$")) --[[@as integer?]]
    local settled = rule and { outcome = "accepted", rules = { rule - 1 } } ---@type claude-ide.chat.Answer?
    local choice = vim.iter(request.ask.choices):find(function(one)
      return one.id == answer.choice
    end)
    if choice then
      local outcome = M.is_allowing(choice) and "accepted" or "rejected"
      settled = { outcome = outcome, choice = choice.id, message = answer.message }
    end
    if not settled then
      return "there is no such choice"
    end
    requests.settle_elsewhere(request, settled)
  end,
}

---@type claude-ide.card.Kind
local KIND = {
  name = "permission",
  noun = "permission",
  text = text_of,
  remote = function()
    return remote
  end,
}

---Asks the user.
---@param asked claude-ide.chat.Request
function M.ask(asked)
  card.ask(KIND, asked, { ask = asked.ask })
end

return M
