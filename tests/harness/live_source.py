"""A chat without an agent: the test says the messages, the last one word by word."""

LIVE = """
live = { asked = 0, block = 0, store = Ide.chat_store.new() }
function live.limits(split_at, most) live.store:change({ limits = { split_at = split_at, most = most } }) end
live.limits(1e12, 1e12) -- a message is one row
live.source = Ide.chat_source.new({
  number = 0, session = "live", title = "A chat", speaker = "Claude", cwd = vim.uv.cwd(), store = live.store,
  facts = function() return {} end, runs = function() return true end,
})
live.source.describe = function() end
function live.source:draw(request, done)
  live.asked = live.asked + 1
  getmetatable(self).draw(self, request, done)
end

-- A message that is whole, or a reply that can go on.
function live.say(kind, text)
  if kind == "reply" then
    live.block = live.block + 1
    live.append(text)
  else
    live.store:put(kind, text)
  end
end

-- The last one goes on.
function live.append(text) live.store:append(live.block, "text", text) end

function live.view() return Ide.open_views.of_buffer(vim.api.nvim_get_current_buf()) end
function live.is_quiet()
  local view = live.view()
  local loader = Ide.transcript_loader
  return view ~= nil and not view.busy and not view.again and not view.colouring
    and view.canvas.heights:len() == live.store:info().len
    and #loader.urgent(view) == 0 and #loader.others(view) == 0
end

-- What is on the screen of it: lines, and where which colours are.
function live.shown()
  local marks = {}
  local buf = vim.api.nvim_get_current_buf()
  local colours = Ide.transcript_canvas.colours
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
Ide.transcript.open({ source = live.source })
"""


def start(start_nvim, **more):
    """A Neovim with an empty chat."""
    nvim = start_nvim(**more)
    nvim.lua(LIVE)
    return nvim


def settle(nvim):
    nvim.wait("live.is_quiet()", what="all to be rendered and coloured")
