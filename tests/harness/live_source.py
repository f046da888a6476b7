"""A transcript whose source is the test: it emits messages, the last one word by word."""

LIVE = """
live = { messages_of = {}, listener = nil, asked = 0 }
live.source = {
  key = "live", id = "live", session = "live", is_agent = false, title = "A chat",
  max_text = 8 * 1024 * 1024, max_lines = 1000000,
}
function live.source:open(listener)
  live.listener = listener
  listener.opened()
end
function live.source:close() live.closed = true end
function live.source:info() return { len = #live.messages_of, complete = true } end
function live.source:describe() end
function live.source:rows(from, count, done)
  local rows = {}
  for at = from + 1, math.min(from + count, #live.messages_of) do
    local message = live.messages_of[at]
    rows[#rows + 1] = { id = message.id, kind = message.kind, bytes = 100 }
  end
  done(rows)
end
function live.source:draw(request, done)
  live.asked = live.asked + 1
  local list, drawn = {}, {}
  for at, number in ipairs(request.rows) do
    self:rows(math.max(number - 1, 0), 2, function(rows)
      self:messages({ number + 1 }, nil, function(messages)
        local is_first = number == 0
        list[at] = { row = rows[is_first and 1 or 2], before = not is_first and rows[1] or nil, message = messages[1] }
      end)
    end)
  end
  for at, one in ipairs(require("claude-ide.transcript.render").draw(self, request, list)) do
    drawn[request.rows[at]] = one
  end
  done(drawn)
end
function live.source:messages(ids, _, done)
  if live.parts then
    live.parts_of.text = table.concat(live.parts)
    live.parts, live.parts_of = nil, nil
  end
  done(vim.deepcopy(vim.tbl_map(function(id) return live.messages_of[id] end, ids)))
end

-- A message that is whole.
function live.say(kind, text)
  local len = #live.messages_of + 1
  live.messages_of[len] = { id = len, kind = kind, blocks = { { type = "text", text = text, bytes = #text } } }
  live.listener.changed({ reset = false, from = len - 1, len = len, changed = {} })
end

-- The last one goes on. Its text is put together when it is asked for.
function live.append(text)
  local block = live.messages_of[#live.messages_of].blocks[1]
  live.parts = live.parts_of == block and live.parts or { block.text }
  live.parts_of = block
  table.insert(live.parts, text)
  block.bytes = block.bytes + #text
  live.listener.appended(text, block.bytes)
end

function live.view() return require("claude-ide.transcript.open_views").of_buffer(vim.api.nvim_get_current_buf()) end
function live.is_quiet()
  local view = live.view()
  local near = require("claude-ide.transcript.render_order")
  return view ~= nil and not view.busy and not view.again and not view.colouring
    and view.canvas.heights:len() == #live.messages_of
    and #near.wanted(view.canvas, near.ranges(view.buf), 1) == 0 and next(view.uncoloured) == nil
end

-- What is on the screen of it: lines, and where which colours are.
function live.shown()
  local marks = {}
  local buf = vim.api.nvim_get_current_buf()
  local colours = require("claude-ide.transcript.canvas").colours
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, colours, 0, -1, { details = true })) do
    local more = mark[4]
    local end_row, end_col = more.end_row or mark[2], more.end_col or mark[3]
    local drawn = more.line_hl_group or more.virt_text and more.virt_text[1][1]
    if drawn or end_row > mark[2] or end_col > mark[3] then
      marks[#marks + 1] = ("%d:%d-%d:%d %s %s %s"):format(
        mark[2], mark[3], end_row, end_col, more.hl_group or "", more.conceal or "-", drawn or "")
    end
  end
  table.sort(marks)
  return { vim.api.nvim_buf_get_lines(buf, 0, -1, false), marks }
end

-- Counts the lines that are set while something is done.
function live.lines_set(fn)
  local count = 0
  vim.api.nvim_buf_attach(0, false, {
    on_lines = function(_, _, _, first, last, now)
      if count == nil then return true end
      count = count + math.max(last, now) - first
    end,
  })
  fn()
  local result = count
  count = nil
  return result
end
require("claude-ide.transcript").open({ source = live.source })
"""


def start(start_nvim, **more):
    """A Neovim with an empty chat."""
    nvim = start_nvim(**more)
    nvim.lua(LIVE)
    return nvim


def settle(nvim):
    nvim.wait("live.is_quiet()", what="all to be rendered and coloured")
