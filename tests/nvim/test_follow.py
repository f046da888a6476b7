"""`:Claude follow`: a window goes where Claude is, and nothing else of the user's moves."""

import random

import pytest
from journal_steps import Claude

pytestmark = pytest.mark.every_nvim

LONG = "".join(f"line {number}\n" for number in range(1, 301))
WINDOWS = """
local found = {}
for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  if vim.api.nvim_win_get_config(win).relative == "" then
    found[tostring(win)] = {
      name = vim.fs.basename(vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(win))),
      cursor = vim.api.nvim_win_get_cursor(win),
      topline = vim.fn.getwininfo(win)[1].topline,
      jumps = #vim.fn.getjumplist(win)[1],
    }
  end
end
return found
"""
MARK = """
local texts = {}
for _, buf in ipairs(vim.api.nvim_list_bufs()) do
  if vim.api.nvim_buf_is_loaded(buf) then
    local space = vim.api.nvim_create_namespace("claude-ide.follow")
    for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(buf, space, 0, -1, { details = true })) do
      texts[#texts + 1] = mark[4].virt_text[2][1]
    end
  end
end
return table.concat(texts, "|")
"""


class Follower:
    """A user with a file, and a window that follows a scripted Claude."""

    def __init__(self, claude):
        self.claude, self.nvim = claude, claude.nvim
        self.nvim.cmd(f"edit {claude.project / 'own.txt'}")
        self.nvim.cmd("split | split")
        self.nvim.cmd("normal! 5G3l")
        self.own = str(self.nvim.lua("return vim.api.nvim_get_current_win()"))
        claude.prompt()
        self.nvim.cmd("Claude follow")
        self.win = str(self.nvim.lua("return Ide.follow.window()"))
        assert self.win != self.own

    def windows(self):
        return self.nvim.lua(WINDOWS)

    def state(self):
        return self.nvim.lua("return Ide.follow.state()")

    def mark(self):
        return self.nvim.lua(MARK)

    def reads(self, name, first, count, said=None):
        call = self.claude.called(name, tool="Read") if said is None else self.says(name, said)
        outcome = {
            "type": "text",
            "file": {"filePath": str(self.claude.project / name), "content": "", "numLines": count, "startLine": first},
        }
        self.result(call, outcome)

    def says(self, name, said):
        call = "toolu_said"
        content = [
            {"type": "text", "text": said},
            {"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": name}},
        ]
        self.claude.line("assistant", message={"id": call, "role": "assistant", "model": "m", "content": content})
        return call

    def result(self, call, outcome):
        block = {"type": "tool_result", "tool_use_id": call, "content": "ok"}
        self.claude.line("user", message={"role": "user", "content": [block]}, toolUseResult=outcome)

    def wait(self, name, line):
        self.nvim.wait(
            lambda: (lambda at: at["name"] == name and at["cursor"][0] == line)(self.windows()[self.win]),
            what=f"{name}:{line} in the window that follows",
        )


@pytest.fixture
def claude(start_nvim, connect):
    return Claude(start_nvim(files={"own.txt": LONG, "a.txt": LONG, "b.txt": "b\n", ".env": "KEY=1\n"}), connect)


@pytest.fixture
def follower(claude):
    return Follower(claude)


def test_the_window_goes_where_claude_reads_and_says_why(follower):
    before = follower.windows()
    follower.reads("a.txt", 100, 10, said="First I look around.\nNow the parser:")
    follower.wait("a.txt", 100)
    assert follower.mark().strip() == "Claude reads this: Now the parser:"
    follower.nvim.wait_screen("Now the parser:")
    after = follower.windows()
    assert after[follower.win]["topline"] <= 100 <= after[follower.win]["topline"] + 20
    for win in before:
        assert after[win] == before[win] or win == follower.win
    assert after[follower.win]["jumps"] == before[follower.win]["jumps"]
    assert follower.nvim.lua("return vim.api.nvim_get_current_win()") == int(follower.own)


def test_lines_in_sight_move_no_text(follower):
    follower.reads("a.txt", 100, 2)
    follower.wait("a.txt", 100)
    topline = follower.windows()[follower.win]["topline"]
    follower.reads("a.txt", 101, 2)
    follower.wait("a.txt", 101)
    assert follower.windows()[follower.win]["topline"] == topline


def test_an_edit_shows_the_lines_as_they_are_now(follower):
    call = follower.claude.called("a.txt")
    hunk = {"oldStart": 50, "oldLines": 3, "newStart": 50, "newLines": 3, "lines": [" line 50", "-line 51", "+x"]}
    path = follower.claude.project / "a.txt"
    path.write_text(LONG.replace("line 51\n", "x\n"))
    outcome = {"filePath": str(path), "oldString": "line 51", "newString": "x", "originalFile": LONG}
    follower.result(call, outcome | {"structuredPatch": [hunk], "userModified": False, "replaceAll": False})
    follower.wait("a.txt", 51)
    assert follower.mark().strip() == "Claude edited this"


def test_entering_its_window_pauses_it_and_the_command_goes_on(follower):
    follower.reads("a.txt", 100, 1)
    follower.wait("a.txt", 100)
    follower.nvim.lua("vim.api.nvim_set_current_win(...)", int(follower.win))
    follower.nvim.wait(lambda: follower.state() == "paused", what="the pause")
    assert "paused · `:Claude follow` continues" in follower.mark()
    assert follower.nvim.lua("return vim.bo.buflisted"), "it is the user's now"
    follower.nvim.lua("vim.api.nvim_set_current_win(...)", int(follower.own))
    follower.reads("b.txt", 1, 1)
    follower.nvim.wait("#Ide.follow.steps() == 2", what="the step")
    assert follower.windows()[follower.win]["name"] == "a.txt"
    follower.nvim.cmd("Claude follow")
    follower.wait("b.txt", 1)
    assert follower.state() == "following"
    follower.nvim.cmd("Claude follow")
    assert follower.state() is None
    assert follower.mark() == ""


def test_scrolling_its_window_pauses_it(follower):
    follower.reads("a.txt", 100, 1)
    follower.wait("a.txt", 100)
    follower.nvim.lua("vim.api.nvim_win_call(..., function() vim.cmd('normal! 5\\5') end)", int(follower.win))
    follower.nvim.wait(lambda: follower.state() == "paused", what="the pause")


def test_closing_its_window_ends_it(follower):
    follower.nvim.lua("vim.api.nvim_win_close(..., true)", int(follower.win))
    follower.nvim.wait(lambda: follower.state() is None, what="the end")
    follower.reads("a.txt", 3, 1)
    follower.nvim.cmd("Claude follow")
    follower.reads("a.txt", 7, 1)
    follower.win = str(follower.nvim.lua("return Ide.follow.window()"))
    follower.wait("a.txt", 7)


def test_a_private_file_is_only_named(follower):
    follower.reads("a.txt", 1, 1)
    follower.wait("a.txt", 1)
    follower.reads(".env", 1, 1)
    follower.nvim.wait(lambda: ".env, which is private" in follower.mark(), what="its name")
    assert follower.windows()[follower.win]["name"] == "a.txt"
    assert follower.nvim.lua("return vim.fn.bufexists('.env')") == 0


def test_unsaved_text_is_shown_as_it_is(follower):
    follower.nvim.lua("vim.fn.bufload(vim.fn.bufadd('b.txt'))")
    follower.nvim.lua("vim.api.nvim_buf_set_lines(vim.fn.bufnr('b.txt'), 0, -1, true, { 'mine' })")
    follower.reads("b.txt", 1, 1)
    follower.wait("b.txt", 1)
    assert "(unsaved here)" in follower.mark()
    assert follower.nvim.lua("return vim.fn.getbufline('b.txt', 1, '$')") == ["mine"]


def test_files_that_were_only_shown_do_not_stay_in_the_buffer_list(follower):
    for name in ("a.txt", "b.txt", "a.txt"):
        follower.reads(name, 1, 1)
        follower.wait(name, 1)
    listed = follower.nvim.lua(
        "return vim.tbl_map(function(i) return vim.fs.basename(i.name) end, vim.fn.getbufinfo({ buflisted = 1 }))"
    )
    assert sorted(set(listed) - {""}) == ["own.txt"]


def test_the_places_of_the_turn_are_gone_through_afterwards(follower):
    for line in (10, 20, 30):
        follower.reads("a.txt", line, 1)
        follower.wait("a.txt", line)
    follower.nvim.cmd("Claude follow stop")
    here = "return { vim.fs.basename(vim.api.nvim_buf_get_name(0)), vim.api.nvim_win_get_cursor(0)[1] }"
    for word, line in (("previous", 30), ("previous", 20), ("next", 30), ("next", 30), ("previous", 20)):
        follower.nvim.cmd(f"Claude follow {word}")
        assert follower.nvim.lua(here) == ["a.txt", line]


def test_a_popup_menu_of_the_users_is_waited_for(follower):
    follower.nvim.keys("o")
    follower.nvim.keys("line <C-x><C-n>")
    follower.nvim.wait("vim.fn.pumvisible() == 1", what="the menu")
    follower.reads("a.txt", 100, 1)
    follower.nvim.wait("#Ide.follow.steps() == 1", what="the step")
    assert follower.nvim.lua("return vim.fn.pumvisible()") == 1
    assert follower.windows()[follower.win]["name"] == "own.txt"
    follower.nvim.keys("<C-e>")
    follower.wait("a.txt", 100)
    assert follower.nvim.lua("return vim.api.nvim_get_mode().mode")[0] == "i"


def test_another_session_is_followed_when_the_first_has_been_quiet(follower, connect):
    follower.nvim.lua("vim.g.quiet = Ide.follow.QUIET_MS")
    follower.reads("a.txt", 5, 1)
    follower.wait("a.txt", 5)
    tell = """
      local follow, bus = Ide.follow, Ide.bus
      follow.QUIET_MS = ...
      local path = vim.fn.fnamemodify("b.txt", ":p")
      bus.emit("calls_ended", 99, {
        { id = "t", name = "Read", ["end"] = Ide.clock.now(),
          location = { path = path, kind = "read", first = 1, last = 1 } },
      }, { file = "/other.jsonl", is_subagent = false })
    """
    follower.nvim.lua(tell, 60_000)
    assert len(follower.nvim.lua("return Ide.follow.steps()")) == 1
    follower.nvim.lua(tell, 0)
    follower.wait("b.txt", 1)


def test_a_storm_of_calls_and_keys_moves_nothing_of_the_users(follower):
    chance = random.Random(7)
    other = "return { vim.fn.getreg('#'), vim.api.nvim_get_current_win(), vim.fn.getjumplist(%s)[1] }"
    before = follower.nvim.lua(other % follower.own)
    cursor = follower.windows()[follower.own]["cursor"]
    for _ in range(60):
        follower.reads(chance.choice(("a.txt", "b.txt", "own.txt")), chance.randrange(1, 300), chance.randrange(1, 40))
    follower.reads("a.txt", 77, 1)
    follower.wait("a.txt", 77)
    assert follower.nvim.lua(other % follower.own) == before
    assert follower.windows()[follower.own]["cursor"] == cursor
    assert follower.state() == "following"


STORM = """
local seed, client = ...
math.randomseed(seed)
local bus = Ide.bus
local follow_win = Ide.follow.window()
local function seen()
  local wins = {}
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if win ~= follow_win then
      wins[win] = {
        vim.api.nvim_win_get_buf(win), vim.api.nvim_win_get_cursor(win), vim.fn.getjumplist(win),
        vim.fn.getwininfo(win)[1].topline, vim.fn.getloclist(win),
      }
    end
  end
  return {
    wins, vim.api.nvim_get_current_win(), vim.fn.mode(), vim.fn.bufnr("#"), vim.fn.getreg("/"), vim.fn.getcwd(),
    vim.fn.winlayout(), vim.fn.histnr(":"), vim.fn.getpos("'\\""), vim.fn.getqflist(),
  }
end
local names = { "a.txt", "b.txt", "own.txt", ".env", "gone.txt", "sub/deep.txt" }
local kinds = { "read", "edit", "create", "search" }
local before = seen()
for number = 1, 10000 do
  local first = math.random(1, 400)
  bus.emit("call_reported", client, {
    id = "toolu_" .. number,
    agent = math.random(4) == 1 and "agent" .. math.random(3) or nil,
    location = {
      path = names[math.random(#names)],
      kind = kinds[math.random(#kinds)],
      first = first,
      last = math.random(3) > 1 and first + math.random(0, 50) or nil,
    },
  })
  if number % 100 == 0 then
    vim.wait(2, function() end)
    vim.cmd.redraw()
  end
end
vim.wait(300, function() end)
local after = seen()
local shown = #Ide.follow.steps()
return { vim.deep_equal(before, after), shown, vim.inspect(before), vim.inspect(after) }
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_ten_thousand_random_calls_leave_everything_of_the_users_alone(follower, seed):
    same, steps, before, after = follower.nvim.lua(STORM, seed, 1)
    assert same, f"{before}\n{after}"
    assert steps == 500
    assert follower.state() == "following"
