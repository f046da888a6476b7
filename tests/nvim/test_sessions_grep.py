"""`:Claude grep`: its list, its look, the targets of its entries, and its end."""

from datetime import timedelta

import pytest

pytestmark = pytest.mark.dealt

SETUP = """
notices, read = {}, {}
vim.notify = function(message) notices[#notices + 1] = message end
package.preload[Ide("transcript")] = function()
  return { open = function(what, at) read[#read + 1] = { what.file, at.line, vim.api.nvim_get_current_win() } end }
end
"""


def grep(nvim, command):
    """Runs the command; returns the list once the search is over."""
    nvim.cmd(command)
    nvim.wait(lambda: not title(nvim).endswith("…"), what="the search to end")
    return nvim.lua("return vim.fn.getqflist()")


def title(nvim):
    return nvim.lua("return vim.fn.getqflist({ title = 1 }).title")


def hits(items):
    return [item["text"] for item in items if item["valid"] == 1]


def test_lists_hits_below_their_session_with_the_lines_around(start_nvim, sessions, project):
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "find the Needle"}}
    sessions.write(
        project,
        ("first line\nwhere is the needle\nlast line", [call], {"t": "a needle, found"}),
        title="The haystack",
    )
    sessions.write(project, ("another", "no needle here"), age=timedelta(days=3))
    nvim = start_nvim(files={"a.txt": "text\n"}, args=["a.txt"], init_lua=SETUP)
    grep(nvim, "Claude grep needle")
    assert nvim.lua("return vim.bo.buftype") == "quickfix"
    assert nvim.lines() == [
        "The haystack · 2h",
        "           first line",
        " you       where is the needle",
        "           last line",
        " call      find the Needle",
        " result    a needle, found",
        "another · 3d",
        " Claude    no needle here",
    ]
    assert title(nvim) == "Claude grep needle"
    assert nvim.cursor()[0] == 3, "the first hit"


def test_a_long_title_leaves_room_for_the_age_and_the_match_stands_out(start_nvim, sessions, project):
    sessions.write(project, ("漢字の題 " * 20 + "\na needle in a needle", "ok"))
    nvim = start_nvim(init_lua=SETUP)
    grep(nvim, "Claude grep needle")
    assert nvim.lua("return vim.fn.strdisplaywidth(...)", nvim.lines()[0]) <= 70
    assert nvim.lines()[0].endswith("… · 2h")
    row = next(row for row, line in enumerate(nvim.lines()) if "a needle in" in line)
    at = len(nvim.lines()[row].partition("needle")[0].encode())
    marks = nvim.wait(
        """
        local marks = vim.tbl_map(function(mark)
          return { mark[2], mark[3], mark[4].end_col, mark[4].hl_group }
        end, vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true }))
        return vim.iter(marks):any(function(mark) return mark[4] == "ClaudeGrepMatch" end) and marks
        """,
        what="the colours",
    )
    assert [row, at, at + 6, "ClaudeGrepMatch"] in marks
    assert nvim.lua("return vim.api.nvim_get_hl(0, { name = 'ClaudeGrepMatch' }).link") == "Search"


@pytest.mark.every_nvim
def test_entries_lead_to_the_place_in_the_transcript(start_nvim, sessions, project):
    session = sessions.write(project, ("a needle", "one"), ("another needle", "two"))
    nvim = start_nvim(files={"a.txt": "text\n"}, args=["a.txt"], init_lua=SETUP)
    window = nvim.lua("return vim.api.nvim_get_current_win()")
    grep(nvim, "Claude grep needle")
    nvim.keys("<CR>")
    nvim.wait("#read == 1", what="the transcript")
    file = str(sessions.path(project, session))
    assert nvim.lua("return read[1]") == [file, 1, window]
    nvim.cmd("cnext")
    nvim.wait("#read == 2", what="the next place")
    assert nvim.lua("return read[2]")[:2] == [file, 3]
    nvim.cmd("cprevious")
    nvim.wait("#read == 3", what="the place before, once more")
    assert nvim.lua("return read[3]")[:2] == [file, 1]
    listed = nvim.lua("return vim.tbl_map(function(buf) return buf.name end, vim.fn.getbufinfo({ buflisted = 1 }))")
    assert not [name for name in listed if name.startswith("claude://")]


@pytest.mark.every_nvim
def test_transcripts_open_in_one_window_whichever_way_the_list_is_used(start_nvim, sessions, project):
    first = sessions.write(project, ("a needle", "one"), ("another needle", "two"))
    second = sessions.write(project, ("a third needle", "three"), age=timedelta(days=1))
    nvim = start_nvim(files={"a.txt": "text\n"}, args=["a.txt"])
    window = nvim.lua("return vim.api.nvim_get_current_win()")
    grep(nvim, "Claude grep needle")

    def shown(session, text):
        """Waits until the window shows this transcript, with the cursor at this text."""
        nvim.wait(
            lambda: nvim.lua(
                """
                local win, name, text = ...
                local buf = vim.api.nvim_win_get_buf(win)
                local row = vim.api.nvim_win_get_cursor(win)[1]
                local near = table.concat(vim.api.nvim_buf_get_lines(buf, row - 1, row + 3, false), "\\n")
                return vim.startswith(vim.fn.bufname(buf), name) and near:find(text, 1, true) ~= nil
                """,
                window,
                f"Claude {session[:8]}/",
                text,
            ),
            what=f"the transcript at {text!r}",
        )
        assert nvim.lua("return #vim.api.nvim_list_wins()") == 2

    nvim.keys("<CR>")
    shown(first, "a needle")
    nvim.cmd("cnext")
    shown(first, "another needle")
    nvim.cmd("cnext")
    shown(second, "a third needle")
    nvim.cmd("copen")
    nvim.keys("gg/a needle<CR><CR>")
    shown(first, "a needle")


def test_entries_go_to_the_match_unfold_it_and_light_it(start_nvim, sessions, project):
    """Each entry of the list, in each kind of text; the cursor stands on the word."""

    def call(id, name, **arguments):
        return {"type": "tool_use", "id": id, "name": name, "input": arguments}

    output = (
        "".join(f"row {number}\n" for number in range(30))
        + "\x1b[32mok\x1b[0m the needle\nsame\nneedle\nneedle\nneedle\n"
    )
    sessions.write(
        project,
        (
            "first\nwhere is\tthe needle\nlast",
            [{"type": "thinking", "thinking": "Hm.\nA needle?", "signature": "c2ln"}],
        ),
        ("next", [call("a", "Bash", command="cd x\ngrep needle")], {"a": output}),
        (
            "and",
            [call("b", "Grep", pattern="needle"), call("c", "Read", file_path="/p/needle.txt")],
            {"b": "none", "c": "     1→a needle"},
        ),
        ("more", "- one **needle**\n" + "x " * 150 + "needle " + "y " * 150),
    )
    nvim = start_nvim(files={"a.txt": "text\n"}, args=["a.txt"])
    found = grep(nvim, "Claude grep needle")
    count = sum(item["valid"] for item in found)
    assert count == 12
    places = []
    for entry in range(count):
        nvim.cmd("cc" if entry == 0 else "cnext")
        places.append(
            nvim.wait(
                """
                local marks = vim.api.nvim_buf_get_extmarks(
                  0, vim.api.nvim_get_namespaces()["claude-ide.transcript.match"] or -1, 0, -1, { details = true })
                local row, col = unpack(vim.api.nvim_win_get_cursor(0))
                local last = last_place or ""
                local here = row .. ":" .. col
                local view = Ide.open_views.of_buffer(vim.api.nvim_get_current_buf())
                if not view or view.busy or #marks ~= 1 or marks[1][2] ~= row - 1 or marks[1][3] ~= col or here == last then
                  return false
                end
                last_place = here
                return { row, vim.fn.foldclosed("."), vim.api.nvim_get_current_line():sub(col + 1, col + 6),
                  marks[1][4].hl_group, vim.api.nvim_get_current_line() }
                """,
                what=f"entry {entry + 1} of the list, its match lit",
            )
        )
    assert [place[1:4] for place in places] == [[-1, "needle", "ClaudeGrepMatch"]] * count
    rows = [place[0] for place in places]
    assert rows == sorted(rows)
    lines = [place[4].strip() for place in places]
    assert lines[:8] == ["where is\tthe needle", "A needle?", "grep needle", "ok the needle", *["needle"] * 3, lines[7]]
    assert lines[7].startswith("Grep needle")
    nvim.keys("j")
    nvim.wait(
        """
        local namespace = vim.api.nvim_get_namespaces()["claude-ide.transcript.match"]
        return #vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, {}) == 0
        """,
        what="the match to be lit no longer",
    )


def test_a_list_that_someone_else_has_changed_is_shown_as_it_is(start_nvim, sessions, project):
    sessions.write(project, ("a needle", "one"), ("another needle", "two"))
    nvim = start_nvim(init_lua=SETUP)
    grep(nvim, "Claude grep needle")
    assert len(nvim.lines()) == 3
    nvim.lua("vim.fn.setqflist(vim.list_slice(vim.fn.getqflist(), 3), 'r')")
    nvim.wait(lambda: nvim.lines() == [" you       another needle"], what="the one line that is left")
    nvim.keys("<CR>")
    nvim.wait("#read == 1", what="the transcript")
    assert nvim.lua("return read[1][2]") == 3


PATTERNS = {
    "needle": ["needle 1.5", "Needle 105"],
    "Needle": ["Needle 105"],
    "-i NEEDLE": ["needle 1.5", "Needle 105"],
    "-s needle": ["needle 1.5"],
    "1.5": ["needle 1.5", "Needle 105"],
    "-F 1.5": ["needle 1.5"],
    r"\bneedle \d": ["needle 1.5", "Needle 105"],
    '"quoted  text"': ['say "quoted text"'],  # the list collapses blanks, as in every text
    "-- -F": ["with -F in it"],
    "-a -F elsewhere": ["elsewhere"],
    "elsewhere": [],
}


def test_the_pattern_is_what_was_typed(start_nvim, sessions, project, tmp_path):
    texts = ["needle 1.5", "Needle 105", 'say "quoted  text"', "with -F in it"]
    sessions.write(project, *((text, "ok") for text in texts))
    (tmp_path / "other").mkdir()
    sessions.write(tmp_path / "other", ("elsewhere", "ok"))
    nvim = start_nvim(init_lua=SETUP)
    for arguments, found in PATTERNS.items():
        assert hits(grep(nvim, f"Claude grep {arguments}")) == found, arguments


def test_a_pattern_that_is_none_or_missing_is_named_and_so_is_one_that_nothing_has(start_nvim, sessions, project):
    sessions.write(project, ("one", "ok"))
    nvim = start_nvim(init_lua=SETUP)
    nvim.cmd("Claude grep (")
    nvim.wait("#notices == 1", what="the notice")
    assert nvim.notices()[0].startswith("`(`: not a valid search pattern: ")
    nvim.cmd("Claude grep -a")
    nvim.wait("#notices == 2", what="the second notice")
    assert nvim.notices()[1] == "`:Claude grep` needs a pattern."
    grep(nvim, "Claude grep nowhere")
    nvim.wait("#notices == 3", what="the third notice")
    assert nvim.notices()[2] == "No match for nowhere."
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 1, "no window opens"


@pytest.mark.slow
def test_a_search_ends_at_a_thousand_hits_and_says_so(start_nvim, sessions, project):
    sessions.write(project, *[(f"needle {number}", "ok") for number in range(1100)])
    nvim = start_nvim(init_lua=SETUP)
    assert len(hits(grep(nvim, "Claude grep needle"))) == 1000
    assert title(nvim) == "Claude grep needle (not all)"
    assert nvim.notices() == ["Showing the first 1000 matches."]


# An endless search: the facade's results are held back.
DEFERRED = """
local sessions = Ide.sessions
local search = sessions.search
cancelled = 0
sessions.search = function(opts, on_hits, done)
  local cancel = search(opts, on_hits, function() end)
  return function() cancelled = cancelled + 1 cancel() end
end
"""


@pytest.fixture
def held_search(start_nvim, sessions, project):
    """A running search, in a Neovim whose sessions have that text."""

    def begin(text):
        sessions.write(project, (text, "ok"))
        nvim = start_nvim(init_lua=SETUP)
        nvim.lua(DEFERRED)
        nvim.cmd("Claude grep needle")
        nvim.wait("vim.bo.buftype == 'quickfix'", what="the list")
        return nvim

    return begin


@pytest.mark.every_nvim
@pytest.mark.parametrize("past_maps", [False, True])
def test_ctrl_c_in_the_list_stops_the_search_and_keeps_what_was_found(held_search, past_maps):
    nvim = held_search("a needle")
    assert title(nvim) == "Claude grep needle …"
    nvim.interrupt() if past_maps else nvim.keys("<C-c>")
    nvim.wait("cancelled == 1", what="the end of the search")
    assert title(nvim) == "Claude grep needle (stopped)"
    assert hits(nvim.lua("return vim.fn.getqflist()")) == ["a needle"]
    assert nvim.lua("return vim.fn.maparg('<C-c>', 'n')") == ""
    nvim.wait(lambda: "Type  :qa" not in nvim.terminal.text(), what="the hint how to quit to be gone")


def test_a_new_search_ends_the_one_before_and_has_a_list_of_its_own(held_search):
    nvim = held_search("a needle and a pin")
    nvim.cmd("Claude grep pin")
    nvim.wait("cancelled == 1 and #vim.fn.getqflist() > 0", what="the second list")
    assert title(nvim) == "Claude grep pin …"
    nvim.cmd("colder")
    assert title(nvim) == "Claude grep needle (stopped)"


def test_a_list_made_meanwhile_is_left_alone(start_nvim, sessions, project):
    sessions.write(project, *[(f"needle {number}", "ok") for number in range(300)])
    nvim = start_nvim(files={"a.txt": "x\n"}, init_lua=SETUP)
    nvim.cmd("Claude grep needle")
    nvim.lua("vim.fn.setqflist({}, ' ', { title = 'mine', items = { { filename = 'a.txt', lnum = 1, text = 'x' } } })")
    nvim.wait(
        """
        local list = vim.fn.getqflist({ nr = 1, items = 1, title = 1 })
        return list.title == "Claude grep needle" and #list.items == 301
        """,
        what="the search's own list to fill",
    )
    assert title(nvim) == "mine"
    assert nvim.lua("return #vim.fn.getqflist()") == 1


@pytest.mark.every_nvim
def test_typing_goes_on_while_hits_come(start_nvim, sessions, project):
    sessions.write(project, ("a needle", "ok"))
    nvim = start_nvim(files={"a.txt": "\n"}, args=["a.txt"], init_lua=SETUP)
    nvim.keys("ihello")
    nvim.wait("vim.fn.getline(1) == 'hello'")
    nvim.cmd("Claude grep needle")
    nvim.wait("#vim.api.nvim_list_wins() == 2", what="the list")
    nvim.keys(" world")
    nvim.wait("vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, 1, false)[1] == 'hello world'")


@pytest.mark.every_nvim
def test_that_nothing_is_found_is_read_without_a_command_line(start_nvim, sessions, project):
    sessions.write(project, ("one", "two"), title="A title")
    nvim = start_nvim(files={"a.txt": "one\n"}, args=["a.txt"])
    nvim.cmd("set cmdheight=0")
    nvim.keys(":Claude grep nosuchthing<CR>")
    nvim.wait_screen("No match for nosuchthing.")
