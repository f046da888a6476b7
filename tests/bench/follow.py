"""`:Claude follow`: how soon a place is shown after a call is reported, and how long a storm of calls stops Neovim."""

from pathlib import Path

from .editor import Editor

FILES, LINES, STORM = 20, 5_000, 2_000

# One call after another, each once the one before has been shown for a moment; in the last round the files are known.
_ONE_BY_ONE = """
local files, lines = ...
local bus, follow = Ide.bus, Ide.follow
bench_shown = {}
local number = 0
local function go()
  number = number + 1
  if number > files * 2 then
    bench_done = true
    return
  end
  local path = vim.fn.fnamemodify(("f%d.lua"):format(number % files), ":p")
  local first = number * 37 % lines + 1
  local began, win = vim.uv.hrtime(), follow.window()
  local location = { path = path, kind = "read", first = first, last = first + 5 }
  bus.emit("call_reported", 1, { event = "call", id = "c" .. number, is_done = true, location = location })
  local timer = vim.uv.new_timer()
  timer:start(0, 1, vim.schedule_wrap(function()
    if timer:is_closing() then
      return
    end
    local buf = vim.api.nvim_win_get_buf(win)
    if vim.api.nvim_buf_get_name(buf) == path and vim.fn.line(".", win) == first then
      timer:close()
      vim.cmd.redraw()
      table.insert(bench_shown, (vim.uv.hrtime() - began) / 1e6)
      vim.defer_fn(go, 120)
    end
  end))
end
go()
"""

_STORM = """
local files, lines, count = ...
local bus, sent = Ide.bus, 0
local function send()
  for _ = 1, 10 do
    sent = sent + 1
    local path = vim.fn.fnamemodify(("f%d.lua"):format(sent % files), ":p")
    local location = { path = path, kind = "edit", first = sent % lines + 1, last = sent % lines + 3 }
    bus.emit("call_reported", 1, { event = "call", id = "s" .. sent, is_done = true, location = location })
  end
  if sent < count then
    vim.defer_fn(send, 2)
  else
    bench_sent = true
  end
end
send()
"""


def milliseconds(directory: Path, version: str) -> tuple[float, float]:
    """p95 of the time until a place is on the screen, and the longest stop of Neovim in a storm of calls."""
    text = "".join(f"local line_{number} = {number}\n" for number in range(1, LINES + 1))
    with Editor(directory, version, files={f"f{number}.lua": text for number in range(FILES)}) as nvim:
        nvim.lua("Ide.follow.toggle()")
        nvim.settle()
        nvim.lua(_ONE_BY_ONE, FILES, LINES)
        nvim.wait("bench_done == true", 60)
        shown = sorted(nvim.lua("return bench_shown"))
        assert len(shown) == FILES * 2, len(shown)
        nvim.start_heartbeat()
        nvim.lua(_STORM, FILES, LINES, STORM)
        nvim.wait("bench_sent == true", 60)
        nvim.settle()
        return shown[len(shown) * 95 // 100 - 1], nvim.longest_freeze_ms()
