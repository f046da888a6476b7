-- Winbar of a transcript: title, state of its session, usage, position. Also the virtual text on the last line while the session
-- works or waits.

local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local open_views = lazy("claude-ide.transcript.open_views")
local phrases = lazy("claude-ide.sessions.phrases")
local while_open = lazy("claude-ide.transcript.while_open")
local winbar_text = lazy("claude-ide.ui.winbar_text")

local M = {}

local namespace = vim.api.nvim_create_namespace("claude-ide.transcript.end")

---Pieces are dropped in this order.
local RANKS =
  { keys = 1, total = 2, model = 3, position = 4, context = 5, fact = 6, title = 7, state = 8, stays = 9 }

---Minimum width of a title.
local MIN_TITLE = 16

---@param tokens integer
---@return string
function M.tokens(tokens)
  if tokens < 1000 then
    return tostring(tokens)
  elseif tokens < 99950 then
    return ("%.1fk"):format(tokens / 1000)
  elseif tokens < 999500 then
    return ("%.0fk"):format(tokens / 1000)
  end
  return ("%.1fM"):format(tokens / 1e6)
end

---The state of the session; nil: unknown.
---@param view claude-ide.transcript.View
---@return string?
---@return string? group
local function state_of(view)
  local live = view.live
  local is_begun_again = view.source.runs ~= nil and view.source:runs() -- its record is not written yet
  if view.problem then
    return view.problem, "ClaudeTranscriptFailed"
  elseif open_views.went_on(view) then
    return "continued in another session", "ClaudeTranscriptWaiting"
  elseif not live then
    return view.ran and not is_begun_again and "ended" or nil, "ClaudeTranscriptFact"
  elseif live.state.activity == "gone" then
    return not is_begun_again and "ended" or nil, "ClaudeTranscriptFact"
  end
  local groups = { working = "ClaudeTranscriptWorking", waiting = "ClaudeTranscriptWaiting" }
  return phrases.activity(live.state), groups[live.state.activity] or "ClaudeTranscriptFact"
end

---@param view claude-ide.transcript.View
---@param win integer
---@return string
local function position(view, win)
  local len = view.canvas.heights:len()
  local info = view.source:info()
  if not info then
    return ""
  elseif len == 0 then
    return "empty"
  end
  local row = view.canvas:at(vim.api.nvim_win_get_cursor(win)[1])
  return info.complete and ("%d/%d"):format(row + 1, len) or ("%d/… reading"):format(row + 1)
end

---@param info claude-ide.transcript.Info
---@return string? model
---@return integer context tokens
---@return string? total
local function usage_of(info)
  local reply = info.last_reply
  local usage, total = reply and reply.usage, info.total_usage
  local context = usage and usage.input + usage.cache_read + usage.cache_write + usage.output or 0
  local sum = total and total.input + total.output + total.cache_write + total.cache_read or 0
  return reply and reply.model,
    context,
    sum > context and info.complete and ("%s tokens in all"):format(M.tokens(sum)) or nil
end

---@param view claude-ide.transcript.View
---@param win integer
---@return string
function M.of(view, win)
  local width = vim.api.nvim_win_get_width(win)
  local pieces, needed = {}, 0 ---@type claude-ide.ui.Piece[], integer
  local function add(rank, group, text, right)
    if text and text ~= "" then
      pieces[#pieces + 1] = { rank = rank, texts = { { group, text } }, right = right }
      needed = needed + (rank > RANKS.context and vim.fn.strdisplaywidth(text) or 0)
    end
  end
  local state, group = state_of(view)
  if state then
    add(RANKS.state, group, " · " .. state)
  end
  local info = view.source:info()
  if info then
    local model, context, total = usage_of(info)
    local function fact(rank, text, its_group)
      add(rank, its_group or "ClaudeTranscriptFact", text and " " .. text .. " ", true)
    end
    for at, one in ipairs(view.source.facts and view.source:facts() or {}) do
      -- The last one is dropped first. The session's state is shown already.
      if one.stays then
        local piece =
          winbar_text.name(RANKS.stays - at / 100, one[2] or "ClaudeTranscriptFact", one[1] .. " ")
        piece.right = true
        pieces[#pieces + 1] = piece
        needed = needed + vim.fn.strdisplaywidth(one[1]) + 2
      else
        fact(RANKS.fact - at / 100, one[1] ~= state and one[1] or nil, one[2])
      end
    end
    fact(RANKS.model, model)
    if context > 0 then
      fact(RANKS.context, M.tokens(context) .. " tokens in context")
      pieces[#pieces].short = { "ClaudeTranscriptFact", (" %s in context "):format(M.tokens(context)) }
    end
    fact(RANKS.total, total)
    fact(RANKS.position, position(view, win))
  end
  local keymaps = config.get().transcript.keymaps
  pieces[#pieces + 1] = winbar_text.hint(RANKS.keys, keymaps.help, "keys", { group = "ClaudeTranscript" })
  -- A first prompt may be long: it gets half of the line, or less if the source has facts.
  local room = math.max(math.min(math.floor(width / 2), width - needed - 1), MIN_TITLE)
  local title = phrases.fit(view.title or "Transcript", room)
  table.insert(pieces, 1, winbar_text.name(RANKS.title, "ClaudeTranscriptTitle", title))
  return winbar_text.winbar(pieces, width)
end

---Value of 'winbar'.
---@return string
function M.text()
  local win = vim.g.statusline_winid or vim.api.nvim_get_current_win()
  local view = open_views.of_buffer(vim.api.nvim_win_get_buf(win))
  local ok, text = pcall(function()
    return view and M.of(view, win) or ""
  end)
  return ok and text --[[@as string]] or ""
end

---@param view claude-ide.transcript.View
---@return claude-ide.transcript.Chunk? text for the last line
local function closing(view)
  local live = view.live
  local went_on = open_views.went_on(view)
  if went_on then
    return {
      ("── continued in session %s · Enter goes there"):format(went_on:sub(1, 8)),
      "ClaudeTranscriptWaiting",
    }
  elseif live and live.state.activity == "working" then
    return { "Claude works …", "ClaudeTranscriptWorking" }
  elseif live and live.state.activity == "waiting" then
    local waits = phrases.waits(live.state.waiting_for)
    return { ("Claude %s"):format(waits), "ClaudeTranscriptWaiting" }
  end
  return nil
end

---Updates winbar and last line.
---@param view claude-ide.transcript.View
function M.refresh(view)
  if not while_open.is_alive(view) then
    return
  end
  local chunk = closing(view)
  vim.api.nvim_buf_clear_namespace(view.buf, namespace, 0, -1)
  if chunk then
    local last = vim.api.nvim_buf_line_count(view.buf) - 1
    vim.api.nvim_buf_set_extmark(
      view.buf,
      namespace,
      last,
      0,
      { virt_text = { chunk }, virt_text_pos = "overlay" }
    )
  end
  if #vim.fn.win_findbuf(view.buf) > 0 then
    vim.cmd("redrawstatus!")
  end
end

return M
