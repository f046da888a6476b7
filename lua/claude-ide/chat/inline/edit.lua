-- `:Claude edit`: proposes a replacement for lines of a buffer. Several edits can run at once.
-- Invariants: the buffer changes only by an accepted proposal, in one undo step; concurrent changes by the user are merged, or the user
-- confirms the result; no file is written.
local lazy = require("claude-ide.lazy")
local bytes = lazy("claude-ide.editor.buffer.bytes")
local context = lazy("claude-ide.context")
local current_text = lazy("claude-ide.edits.proposal.current_text")
local environment = lazy("claude-ide.terminal.environment")
local inline_answer = lazy("claude-ide.chat.inline.answer")
local inline_request = lazy("claude-ide.chat.inline.request")
local inline_run = lazy("claude-ide.chat.inline.run")
local kept_words = lazy("claude-ide.ui.kept_words")
local log = lazy("claude-ide.base.log")
local merge = lazy("claude-ide.editor.merge")
local notice = lazy("claude-ide.base.notice")
local patch = lazy("claude-ide.editor.buffer.patch")
local place = lazy("claude-ide.context.place")
local prompts = lazy("claude-ide.context.prompts")
local proposal = lazy("claude-ide.edits.proposal")
local requests = lazy("claude-ide.requests")
local spot = lazy("claude-ide.chat.inline.spot")
local symbol = lazy("claude-ide.context.symbol")
local text_float = lazy("claude-ide.ui.text_float")
local typing = lazy("claude-ide.ui.guard.typing")
local waits = lazy("claude-ide.base.waits")

local M = {}

---@class claude-ide.inline.Edit
---@field buf integer
---@field spot claude-ide.inline.Spot
---@field what string
---@field said string the user's last instruction
---@field cwd string
---@field region string[] lines sent to Claude
---@field run? claude-ide.inline.Run running request
---@field base? string[] whole text that the proposal is based on
---@field eol? "\n" of that text: CRs are part of the lines, even if every line has one
---@field answer? string[] Claude's replacement of the region
---@field words? string reason of a rejection
---@field diff? claude-ide.Diff
---@field requester claude-ide.requests.Requester
---@field is_over? boolean
---@field group integer

---@type claude-ide.inline.Edit[]
local edits = {}
local last_group = 0

---@param edit claude-ide.inline.Edit
---@return string
local function name_of(edit)
  local name =
    vim.fs.basename(vim.api.nvim_buf_is_valid(edit.buf) and vim.api.nvim_buf_get_name(edit.buf) or "")
  return name ~= "" and name or "This buffer"
end

---@param edit claude-ide.inline.Edit
local function finish(edit)
  if edit.is_over then
    return
  end
  edit.is_over = true
  if edit.run then
    inline_run.cancel(edit.run)
  end
  spot.remove(edit.spot)
  pcall(vim.api.nvim_del_augroup_by_id, edit.group)
  edits = vim.tbl_filter(function(other)
    return other ~= edit
  end, edits)
end

---Saves an answer that cannot be applied to a register.
---@param edit claude-ide.inline.Edit
---@param lines string[]
---@param why string
---@param brief string
local function keep(edit, lines, why, brief)
  finish(edit)
  kept_words.keep_answer(lines, why, brief)
end

---Ends a failed edit, and saves the instruction to a register.
---@param edit claude-ide.inline.Edit
---@param why string
local function fail(edit, why)
  finish(edit)
  log.warn("an edit failed: %s", why)
  kept_words.give_back(edit.said, (why:gsub("%.$", "")))
end

local propose ---@type fun(edit: claude-ide.inline.Edit, lines: string[])
local ask ---@type fun(edit: claude-ide.inline.Edit)

---Applies an accepted text.
---@param edit claude-ide.inline.Edit
---@param lines string[]
---@param is_empty boolean
local function apply(edit, lines, is_empty)
  local buf = edit.buf
  if not vim.api.nvim_buf_is_loaded(buf) or not vim.bo[buf].modifiable then
    return keep(edit, lines, name_of(edit) .. " cannot be changed now", "It cannot be changed now")
  end
  local now = vim.api.nvim_buf_get_lines(buf, 0, -1, true)
  local merged, overlaps = lines, 0
  if not vim.deep_equal(now, edit.base) then
    merged, overlaps = merge.three_way(edit.base or now, now, lines)
  end
  if overlaps > 0 then
    notice.warn(
      name_of(edit) .. " has changed in the same lines. Look at what becomes of them, and accept again."
    )
    return propose(edit, merged)
  end
  patch.break_undo(buf)
  patch.apply(buf, merged, is_empty or #merged == 0)
  finish(edit)
end

---@param edit claude-ide.inline.Edit
---@param answer? claude-ide.requests.Answer
---@param err? string
local function answered(edit, answer, err)
  edit.diff = nil
  vim.schedule(function()
    proposal.end_of_turn(edit.requester) -- no further proposal will reuse its windows
  end)
  if edit.is_over then
    return
  elseif not answer then
    local why = "The edit cannot be shown"
    keep(edit, edit.answer or {}, ("%s (%s)"):format(why, err or "?"), why)
  elseif answer.outcome == "accepted" then
    local decoded, format = bytes.decode(answer.contents or "", edit.eol)
    -- Not within the key's mapping: the proposal's windows close first.
    vim.schedule(function()
      waits.when_buffers_may_change(function()
        if not edit.is_over then
          apply(edit, format.empty and {} or decoded, format.empty)
        end
      end)
    end)
  elseif edit.words then
    ask(edit)
  else
    finish(edit)
  end
end

---@param edit claude-ide.inline.Edit
---@return claude-ide.requests.Requester
local function requester_of(edit)
  return requests.requester({
    name = "Claude",
    writes = "editor",
    takes_empty = true,
    answer = answered,
    tell = function(words)
      edit.words = words
    end,
    cannot_hear = function()
      return nil
    end,
  })
end

---Proposes a new text for the whole buffer.
---@param edit claude-ide.inline.Edit
---@param lines string[]
function propose(edit, lines)
  local buf = edit.buf
  local now = current_text.of_base(buf)
  if vim.deep_equal(now.lines, lines) then
    finish(edit)
    return notice.info(("Claude proposes no change to %s."):format(name_of(edit)))
  end
  edit.base = now.lines
  edit.eol = now.format.eol == "\n" and "\n" or nil
  local format = vim.tbl_extend("force", now.format, { empty = #lines == 0 }) --[[@as claude-ide.bytes.Format]]
  local name = vim.api.nvim_buf_get_name(buf)
  edit.diff = proposal.propose(edit.requester, edit, {
    path = name ~= "" and name or ("%s/unnamed %d"):format(edit.cwd, buf),
    tab_name = edit.what,
    contents = bytes.encode(#lines > 0 and lines or { "" }, format),
    base = buf,
    layout = "unified",
    place = "current",
  })
end

---The whole text with the answer in place of the region.
---@param edit claude-ide.inline.Edit
---@param answer string[]
---@return string[]? lines nil: the region is gone
local function with_answer(edit, answer)
  local first, last = spot.lines(edit.spot)
  if not first or not last then
    return nil
  end
  local lines = vim.api.nvim_buf_get_lines(edit.buf, 0, -1, true)
  local present = vim.list_slice(lines, first, last)
  local new, overlaps = answer, 0
  if not vim.deep_equal(present, edit.region) then
    new, overlaps = merge.three_way(edit.region, present, answer)
  end
  if overlaps > 0 then
    local name = name_of(edit)
    notice.warn({
      ("%s: you have changed lines that Claude changed, too. The proposal takes Claude's."):format(name),
      ("%s: the proposal takes Claude's lines, not yours."):format(name),
      "The proposal takes Claude's lines, not yours.",
    })
  end
  local whole = vim.list_slice(lines, 1, first - 1)
  vim.list_extend(whole, new)
  return vim.list_extend(whole, lines, last + 1)
end

---@param edit claude-ide.inline.Edit
---@param text string? of the answer
---@param err? string
local function receive(edit, text, err)
  edit.run = nil
  spot.say(edit.spot, nil)
  local answer = text and inline_answer.lines(text)
  if not text then
    return fail(edit, ("Claude could not edit %s: %s"):format(name_of(edit), err or "?"))
  elseif not answer then
    finish(edit)
    return text_float.show_in_time(text, "Claude proposes no edit", "Claude answers")
  end
  edit.answer = answer
  local lines = with_answer(edit, answer)
  if not lines then
    local why = ("The lines of %s that were to be edited are gone"):format(name_of(edit))
    return keep(edit, answer, why, "These lines are gone")
  end
  propose(edit, lines)
end

---@param edit claude-ide.inline.Edit
---@param request claude-ide.inline.Request
local function start(edit, request)
  local run, err = inline_run.start({
    blocks = inline_request.blocks(request),
    cwd = edit.cwd,
    done = function(text, why)
      if not edit.is_over then
        receive(edit, text, why)
      end
    end,
  })
  if not run then
    return fail(edit, err or "Claude did not start")
  end
  edit.run = run
end

---@param buf integer
---@return string? why reason if it cannot be edited
local function problem_of(buf)
  if vim.bo[buf].buftype ~= "" or not vim.bo[buf].modifiable then
    return "This buffer cannot be edited."
  end
  local withheld = place.withheld(buf)
  return withheld and withheld .. "."
end

---Sends the request, possibly again with the user's reason for a rejection.
---@param edit claude-ide.inline.Edit
function ask(edit)
  local before = edit.words and { lines = edit.answer or {}, words = edit.words } or nil
  edit.said = before and before.words or edit.said
  edit.words = nil
  spot.say(edit.spot, before and before.words or edit.what)
  local at = place.here(edit.cwd)
  at.buf = edit.buf
  symbol.list(edit.buf, function(symbols)
    context.expand(edit.what, at, function(parts)
      if edit.is_over then
        return
      end
      local first, last = spot.lines(edit.spot)
      if not first or not last then
        return fail(edit, ("The lines of %s that were to be edited are gone"):format(name_of(edit)))
      end
      local why = problem_of(edit.buf) -- it may have become private meanwhile
      if why then
        return fail(edit, why)
      end
      edit.region = vim.api.nvim_buf_get_lines(edit.buf, first - 1, last, true)
      spot.hold(edit.spot, first, last)
      start(edit, {
        buf = edit.buf,
        first = first,
        last = last,
        what = edit.what,
        parts = parts,
        symbols = symbols,
        before = before,
      })
    end)
  end)
end

---Cancels an edit and its proposal.
---@param edit claude-ide.inline.Edit
---@param why string
local function cancel(edit, why)
  local diff = edit.diff
  finish(edit)
  if diff then
    requests.cancel(diff, why)
  end
end

---Starts an edit of some lines.
---@param buf integer
---@param first integer from 1
---@param last integer
---@param what string
---@return boolean? ok
---@return string? err
function M.start(buf, first, last, what)
  local why = problem_of(buf)
  if why then
    return nil, why
  elseif inline_request.is_too_large(buf, first, last) then
    return nil, "These are too many lines for one edit: at most 64 kB."
  end
  local cwd = environment.folder()
  local whole, missing = prompts.expand(what, cwd)
  if not whole then
    return nil, missing
  end
  last_group = last_group + 1
  typing.listen() -- the guard of the proposal needs the keys typed until then
  ---@type claude-ide.inline.Edit
  ---@diagnostic disable-next-line: missing-fields -- its requester needs it
  local edit = {
    buf = buf,
    spot = spot.new(buf, first, last),
    what = whole,
    said = what,
    cwd = cwd,
    region = {},
    group = vim.api.nvim_create_augroup(("claude-ide.inline.%d"):format(last_group), { clear = true }),
  }
  edit.requester = requester_of(edit)
  edits[#edits + 1] = edit
  vim.api.nvim_create_autocmd({ "BufUnload" }, {
    group = edit.group,
    buffer = buf,
    desc = "Claude Code: cancel an edit with its buffer",
    callback = function()
      vim.schedule(function()
        if not edit.is_over and not vim.api.nvim_buf_is_loaded(buf) then
          cancel(edit, "its buffer is closed")
        end
      end)
    end,
  })
  ask(edit)
  return true
end

---Cancels the edits at the cursor; else those of the buffer; else all.
---@return boolean? ok
---@return string? err
function M.cancel()
  local buf, lnum = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1]
  local here, of_buffer = {}, {}
  for _, edit in ipairs(edits) do
    local first, last = spot.lines(edit.spot)
    if edit.buf == buf then
      of_buffer[#of_buffer + 1] = edit
      if first and last and first <= lnum and lnum <= last then
        here[#here + 1] = edit
      end
    end
  end
  local ended = #here > 0 and here or #of_buffer > 0 and of_buffer or edits
  if #ended == 0 then
    return nil, "No edit is running."
  end
  for _, edit in ipairs(vim.list_extend({}, ended)) do
    cancel(edit, "you canceled it")
  end
  notice.info(#ended == 1 and "The edit was canceled." or ("%d edits were canceled."):format(#ended))
  return true
end

---Number of edits that are running or waiting for a decision.
---@return integer
function M.count()
  return #edits
end

return M
