"""Steps of the diff tests: propose an edit like a client, look at the screen, compare before and after."""

from pathlib import Path

from held_timers import CLOSED_DIFF, know_clock, know_timers, pass_clock, pass_time

from harness.nvim import Nvim

_PREPARE = """
_G.answers = {}
function _G.propose(id, client, path, contents, name)
  local args = { old_file_path = path, new_file_path = path, new_file_contents = contents, tab_name = name }
  Ide.claude_client.open_diff.run(args, function(result, err)
    local list = answers[id] or {}
    answers[id] = list
    list[#list + 1] = result or { outcome = "error", message = err and err.message }
  end, { id = id, client = client, name = "open_diff", at = 0 })
end
-- A terminal in use is that of the client.
Ide.terminal.is_focused_on = function() return vim.bo.buftype == "terminal" end
"""

_TRACES = """
local names = {}
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  local name = vim.fn.bufname(buf)
  if vim.b[buf].claude_ide or name:find("^claude://") then names[#names + 1] = name end
end
local autocmds = {}
for _, autocmd in ipairs(vim.api.nvim_get_autocmds({})) do
  local group = autocmd.group_name or ""
  if group:find("^claude%-ide%.proposal") then autocmds[#autocmds + 1] = group .. " " .. autocmd.event end
end
return {
  buffers = names,
  autocmds = autocmds,
  tabs = #vim.api.nvim_list_tabpages(),
  wins = #vim.api.nvim_list_wins(),
  pending = Ide.proposal.count(),
}
"""

_SEEN = """
local id = ...
return vim.iter(Ide.proposal.list()):any(function(diff) return diff.id == id and diff.seen end)
"""

LOOK_MS = 1000
"""Longer than a user must have looked at a proposal shown during typing, or after a decision (`Ide.guard_times`)."""

CLEAN = {"buffers": [], "autocmds": [], "tabs": 1, "wins": 1, "pending": 0}

_SCREEN = """
local wins = {}
for _, win in ipairs(vim.api.nvim_list_wins()) do
  wins[#wins + 1] = {
    win, vim.api.nvim_win_get_buf(win), vim.api.nvim_win_get_width(win), vim.api.nvim_win_get_height(win),
    vim.api.nvim_win_call(win, function() return { vim.fn.winsaveview().topline, vim.fn.line("."), vim.fn.col(".") } end),
    vim.wo[win].diff, vim.wo[win].wrap, vim.wo[win].foldmethod, vim.wo[win].winbar, vim.wo[win].winfixbuf,
  }
end
return {
  mode = vim.api.nvim_get_mode().mode,
  win = vim.api.nvim_get_current_win(),
  tab = vim.api.nvim_get_current_tabpage(),
  tabs = vim.api.nvim_list_tabpages(),
  last_tab = vim.fn.tabpagenr("#"),
  last_win = vim.fn.win_getid(vim.fn.winnr("#")),
  buffers = #vim.api.nvim_list_bufs(),
  alternate = vim.fn.bufnr("#"),
  wins = wins,
}
"""


_DRAWN = """
vim.cmd.redrawstatus({ bang = true })  -- a redraw alone may leave the ruler of before
vim.cmd.redraw()
local rows = {}
for row = 1, vim.o.lines - vim.o.cmdheight do
  local cells = {}
  for column = 1, vim.o.columns do cells[column] = vim.fn.screenstring(row, column) end
  rows[row] = table.concat(cells)
end
return rows
"""


class Diffs:
    """Proposes edits to one Neovim, without a client in between, and reports their outcomes."""

    def __init__(self, nvim: Nvim) -> None:
        self.nvim = nvim
        nvim.lua(_PREPARE)
        nvim.keep_events("ClaudeDiff*")
        know_timers(nvim, *CLOSED_DIFF)
        know_clock(nvim)

    def propose(self, id: int, path: str | Path, contents: str, client: int = 1, name: str | None = None) -> None:
        """Sends an edit as request `id`; `path` is relative to the project. Does not wait.

        Neovim numbers diffs itself, from 1 on. Tests number their requests in the same way, so that one number is both.
        """
        self.nvim.lua("propose(...)", id, client, str(self.nvim.project / path), contents, name or f"tab {id}")

    def open(self, id: int, path: str | Path, contents: str, client: int = 1, name: str | None = None) -> None:
        """Sends an edit and waits until it is shown."""
        self.propose(id, path, contents, client, name)
        self.wait_current(id)

    def current(self) -> int | None:
        """The id of the diff whose proposal has the cursor."""
        mark = self.nvim.lua("return vim.b.claude_ide")
        return mark["id"] if mark and mark["kind"] == "proposal" else None

    def wait_current(self, id: int | None) -> None:
        """Waits until the cursor is in that proposal and a user can have seen it, or until it is in none.

        Lets the guard's delay pass that follows a decision or typing.
        """

        def is_seen() -> bool:
            pass_clock(self.nvim, LOOK_MS)
            return self.nvim.lua(_SEEN, id)

        def is_current() -> bool:
            if id is None:
                pass_time(self.nvim)  # an accepted one stays for a while
            return self.current() == id

        self.nvim.wait(is_current, what=f"the cursor in diff {id}")
        if id is not None:
            self.nvim.wait(is_seen, what=f"diff {id} to have been seen")
            pass_clock(self.nvim, LOOK_MS)  # it may have been drawn just now

    def outcomes(self, id: int) -> list[str]:
        """The answers that a request got."""
        answers = self.nvim.lua("return answers[...] or {}", id)
        return [answer["outcome"] for answer in answers]

    def answer(self, id: int) -> dict[str, str]:
        """Waits for the one answer of a request."""
        self.nvim.wait(lambda: self.outcomes(id), what=f"the answer of diff {id}")
        answers = self.nvim.lua("return answers[...]", id)
        assert len(answers) == 1
        return answers[0]

    def accepted(self, id: int, path: str | Path) -> str:
        """Waits for acceptance, then writes the file like the CLI."""
        answer = self.answer(id)
        assert answer["outcome"] == "saved"
        file = self.nvim.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(answer["contents"].encode())
        return answer["contents"]

    def accept(self, id: int, path: str | Path, keys: str = "ZZ") -> str:
        """Accepts with these keys: what is written then."""
        self.nvim.keys(keys)
        return self.accepted(id, path)

    def reject(self, id: int, keys: str = "ZQ") -> None:
        """Rejects with these keys."""
        self.nvim.keys(keys)
        assert self.answer(id) == {"outcome": "rejected"}, keys

    def traces(self) -> dict[str, object]:
        """Traces that diffs left."""
        return self.nvim.lua(_TRACES)

    def wait_clean(self) -> None:
        """Waits until no trace of a diff is left, in a Neovim that had one window.

        Lets the time pass for which an accepted one stays, and for which the keys of a closed one do nothing.
        """

        def is_clean() -> bool:
            pass_time(self.nvim)
            return self.traces() == CLEAN

        self.nvim.wait(is_clean, what="no trace of a diff")

    def screen_state(self) -> dict[str, object]:
        """Windows, sizes, views, mode and focus, for comparison."""
        return self.nvim.lua(_SCREEN)

    def drawn(self) -> list[str]:
        """The screen as Neovim drew it, without the command line."""
        return self.nvim.lua(_DRAWN)

    def events(self) -> list[tuple[str, int, str]]:
        """The `User` events of diffs so far: name, id, outcome."""
        return [(name, data["id"], data.get("outcome", "")) for name, data in self.nvim.events()]
