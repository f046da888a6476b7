"""A transcript that goes on: lines added, answered and replaced, and what keeps its place meanwhile."""

import json
import re

import pytest
from transcript_files import Transcript
from transcript_steps import ENV, NOTICES, go_to, press, show, wait_rendered

pytestmark = [pytest.mark.dealt, pytest.mark.slow]


@pytest.fixture
def run(sessions):
    """`run(script)` makes the record of a CLI that runs the session, and returns a function that changes it."""

    def start(script):
        pid = sessions.sleeper()

        def record(status, session=script.id, **more):
            sessions.record(pid, session, status, cwd=script.cwd, **more)

        record("idle")
        record.gone = lambda: sessions.forget(pid)
        return record

    return start


@pytest.fixture
def running(run, script):
    return run(script)


def view(nvim):
    return nvim.lua("return { vim.fn.winsaveview().topline, vim.fn.line('.'), vim.fn.winline() }")


@pytest.mark.every_nvim
def test_at_the_end_it_follows(start_nvim, script):
    nvim = show(start_nvim, script)
    for number in range(5):
        script.prompt(f"More of it, number {number}")
        script.reply("\n\n".join(f"answer {number}, paragraph {part}" for part in range(10)))
        nvim.wait_screen(f"answer {number}, paragraph 9")
        wait_rendered(nvim)
        assert nvim.lua("return vim.fn.line('.') == vim.fn.line('$')")


def test_what_the_cli_shows_is_the_last_row_until_it_is_recorded(start_nvim, script, connect):
    nvim = show(start_nvim, script)
    client = connect(nvim)
    batches = [f"shown paragraph {number}\n\n" for number in range(3)]
    for index, delta in enumerate(batches):
        for session in ("another", script.id):
            answer = client.call(
                "hook_display", session=session, message="m", index=str(index), final="false", delta=delta
            )
            assert answer == ["{}"]
        nvim.wait_screen(f"shown paragraph {index}")
        wait_rendered(nvim)
        assert nvim.cursor()[0] == nvim.lua("return vim.fn.line('$')"), "at the end it follows"
    shown = [line for line in nvim.lines() if "shown paragraph" in line]
    script.reply("".join(batches) + "and recorded")
    nvim.wait_screen("and recorded")
    wait_rendered(nvim)
    assert [line for line in nvim.lines() if "shown paragraph" in line] == shown
    assert len(shown) == 3


def test_elsewhere_nothing_moves(start_nvim, script):
    nvim = show(start_nvim, script)
    nvim.keys("gg10j")
    nvim.wait("vim.fn.line('.') > 5")
    nvim.wait_screen(
        re.compile(r"^You.*Fix the off-by-one.*I'll look at the parser first. It is", re.MULTILINE | re.DOTALL)
    )
    nvim.wait_screen("One test of the printer still fails")  # coloured: the marks around a word are hidden
    before, screen = view(nvim), nvim.drawn()[1:30]
    script.prompt("More of it")
    script.reply("The newest answer")
    nvim.wait_screen("/12")
    wait_rendered(nvim)
    assert view(nvim) == before
    assert nvim.drawn()[1:30] == screen


def test_a_result_comes_in_place(start_nvim, empty, run):
    run(empty)
    empty.prompt("Do two things")
    first = empty.call("Bash", command="make slow")
    second = empty.call("Bash", command="make fast")
    empty.reply("Both at once.", first, second)
    nvim = show(start_nvim, empty)
    nvim.wait_screen("running")
    lnum = go_to(nvim, "  Bash make fast · running")
    nvim.wait_screen("make fast")
    before = view(nvim)
    empty.result(first, "slow\n" * 3, 9)
    nvim.wait(lambda: "  Bash make slow · ok · 9.0 s" in nvim.lines())
    assert nvim.lua("return vim.api.nvim_get_current_line()") == "  Bash make fast · running"
    assert nvim.cursor()[0] == lnum + 3
    assert view(nvim)[2] == before[2], "the cursor's line stays where it is on the screen"
    assert nvim.lua("return vim.fn.foldclosed(...)", lnum - 1) > 0
    empty.result(second, "fast\n", 1)
    nvim.wait(lambda: "  Bash make fast · ok · 10 s" in nvim.lines())
    assert nvim.lua("return vim.api.nvim_get_current_line()") == "  Bash make fast · ok · 10 s"


def test_what_a_user_unfolded_stays_so(start_nvim, empty):
    empty.prompt("Go")
    call = empty.call("Bash", command="for i in 1 2; do\n  make it\ndone")
    empty.reply({"type": "thinking", "thinking": "Hm.\nWell.", "signature": "c2ln"}, call)
    nvim = show(start_nvim, empty)
    for text in ("  Thinking", "  Bash for"):
        go_to(nvim, text)
        nvim.keys("zo")
        nvim.wait("vim.fn.foldclosed('.') == -1")
    empty.result(call, "made", 2)
    nvim.wait(lambda: "    made" in nvim.lines())
    for text in ("  Thinking", "  Bash for"):
        go_to(nvim, text)
        assert nvim.lua("return vim.fn.foldclosed('.')") == -1, text


def test_a_window_at_the_end_stays_there_when_it_is_resized(start_nvim, script):
    nvim = show(start_nvim, script)
    narrow = "vnew | wincmd p | vertical resize 20"
    at_end = "vim.fn.line('w$') == vim.fn.line('$') and vim.fn.winline() == vim.fn.winheight(0)"
    nvim.cmd(narrow)
    nvim.wait(f"vim.fn.winwidth(0) == 20 and {at_end}")
    nvim.cmd("only")
    nvim.wait(f"vim.fn.winwidth(0) > 20 and {at_end}")
    nvim.lua(
        "vim.cmd(...) vim.cmd.only()", narrow
    )  # in one turn of the event loop, after which all sizes are as before
    nvim.wait(at_end)


@pytest.mark.every_nvim
def test_two_windows_each_keep_their_place(start_nvim, script):
    nvim = show(start_nvim, script)
    nvim.cmd("split")
    nvim.keys("gg")
    nvim.wait("vim.fn.line('.') == 1")
    wait_rendered(nvim)
    script.prompt("More of it")
    script.reply("The newest answer")
    nvim.wait_screen("The newest answer")
    assert nvim.lua("return vim.tbl_map(function(win) return vim.fn.line('.', win) end, vim.api.nvim_list_wins())") == [
        1,
        len(nvim.lines()),
    ]


def test_what_happened_while_it_was_hidden_is_there(start_nvim, script):
    nvim = show(start_nvim, script)
    nvim.cmd("enew")
    script.prompt("More of it")
    script.reply("The newest answer")
    nvim.cmd("buffer #")
    nvim.wait_screen("The newest answer")
    go_to(nvim, "  Bash make test")
    assert nvim.lua("return vim.fn.foldclosed('.')") > 0, "folds are there again"


def test_a_subagent_that_works_is_followed(start_nvim, empty):
    empty.prompt("Ask somebody")
    call = empty.call("Agent", description="look around", prompt="Look.", subagent_type="Explore")
    empty.reply(call)
    agent = empty.agent(call)
    agent.prompt("Look.")
    agent.reply("I look.")
    nvim = show(start_nvim, empty)
    nvim.wait(lambda: "    Subagent Explore · Enter shows what it did" in nvim.lines())
    go_to(nvim, "  Agent look around")
    nvim.keys("zoj<CR>")
    nvim.wait(lambda: "    I look." in nvim.lines())
    agent.prompt("And?")
    agent.reply("I have seen it.")
    nvim.wait(lambda: "    I have seen it." in nvim.lines())


def test_a_subagent_of_a_subagent_is_shown_within_it(start_nvim, tmp_path, empty):
    empty.prompt("Ask somebody")
    call = empty.call("Agent", description="look around", prompt="Look.", subagent_type="Explore")
    empty.reply(call)
    agent = empty.agent(call)
    agent.prompt("Look.")
    deeper = agent.call("Agent", description="look deeper", prompt="Deeper.", subagent_type="Plan")
    agent.reply(deeper)
    inner = empty.agent(deeper, kind="Plan", id="a2")
    inner.prompt("Deeper.")
    inner.edit(tmp_path / "project/a.txt", "one", "two", "one\n", (1, 1, ["-one", "+two"]))
    nvim = show(start_nvim, empty)
    nvim.wait(lambda: "    Subagent Explore · Enter shows what it did" in nvim.lines())
    go_to(nvim, "  Agent look around")
    nvim.keys("zoj<CR>")
    nvim.wait(lambda: "        Subagent Plan · Enter shows what it did" in nvim.lines())
    go_to(nvim, "      Agent look deeper")
    nvim.keys("zoj<CR>")
    nvim.wait(lambda: "        Subagent Plan · 2 messages" in nvim.lines())
    inner.reply("It is deep.")
    nvim.wait(lambda: "        It is deep." in nvim.lines())
    lines = nvim.lines()
    at = lines.index("        Subagent Plan · 3 messages")
    assert lines[at : at + 3] == ["        Subagent Plan · 3 messages", "        Claude asks", "        Deeper."]
    nvim.keys(":call search('Edit a.txt')<CR><CR>")
    nvim.wait("#vim.api.nvim_list_tabpages() == 2", what="the file before and after")
    nvim.wait("vim.fn.getline(1) == 'two'", what="its text")


def test_a_subagent_of_an_older_cli_is_shown_from_the_same_file(start_nvim, empty):
    empty.prompt("Ask somebody")
    empty.reply(empty.call("Task", description="look around", prompt="Look.", subagent_type="Explore"))
    empty.parent, empty.extra = None, {"isSidechain": True}
    empty.prompt("Look.")
    empty.run("Bash", "".join(f"row {number}\n" for number in range(3000)), 0.3, command="seq")
    empty.reply("I look.")
    nvim = show(start_nvim, empty)
    go_to(nvim, "  Task look around")
    nvim.keys("zoj<CR>")
    nvim.wait(lambda: "    I look." in nvim.lines())
    lines = nvim.lines()
    at = lines.index("    Subagent · 3 messages")
    assert lines[at + 1 : at + 3] == ["    Claude asks", "    Look."]
    go_to(nvim, "      Bash seq")
    nvim.keys("zo")
    go_to(nvim, "Enter shows it all")
    nvim.keys("<CR>")
    nvim.wait("#vim.api.nvim_list_wins() == 2 and vim.api.nvim_buf_line_count(0) == 3000", what="all of its output")


def test_a_file_that_was_replaced_is_read_anew(start_nvim, script):
    nvim = show(start_nvim, script)
    line = json.loads(script.path.read_text().splitlines()[1])
    line["message"]["content"] = "Quite another session"
    script.path.unlink()
    script.path.write_text(json.dumps(line) + "\n")
    nvim.wait(lambda: nvim.lines() == ["You", "Quite another session", ""], what="that session and no other")


def test_the_winbar_and_the_end_say_what_claude_does(start_nvim, script, running):
    nvim = show(start_nvim, script)
    nvim.wait_screen("Fix the parser · idle")
    running("busy")
    nvim.wait_screen("Claude works …")
    nvim.wait_screen("Fix the parser · working")
    running("waiting", waitingFor="permission prompt")
    nvim.wait_screen("Claude waits for your permission")
    nvim.wait_screen("Fix the parser · waiting: permission")
    running("idle")
    nvim.wait_screen("Fix the parser · idle")
    nvim.terminal.wait(lambda: "Claude waits" not in "\n".join(nvim.screen()), 30, "the end to be empty again")
    running.gone()
    nvim.wait_screen("Fix the parser · ended")


def test_a_cleared_session_says_where_it_goes_on_and_leads_there(start_nvim, script, running, tmp_path):
    nvim = show(start_nvim, script)
    nvim.wait_screen("Fix the parser · idle")
    running("idle", session="99999999-2222-4333-8444-555555555555")
    nvim.wait_screen("continued in session 99999999 · Enter goes there")
    nvim.wait_screen("continued in another session")
    other = Transcript(tmp_path / "home", tmp_path / "project", "99999999-2222-4333-8444-555555555555")
    other.prompt("After the clear")
    nvim.keys("G<CR>")
    nvim.wait_screen("After the clear")
    assert nvim.lua("return #vim.api.nvim_list_wins()") == 1


def test_a_call_runs_as_long_as_its_session(start_nvim, empty, run):
    empty.prompt("Go")
    empty.reply(empty.call("Bash", command="make slow"))
    nvim = show(start_nvim, empty)
    assert "  Bash make slow · no result" in nvim.lines()
    record = run(empty)
    nvim.wait(lambda: "  Bash make slow · running" in nvim.lines())
    record.gone()
    nvim.wait(lambda: "  Bash make slow · no result" in nvim.lines())


def test_a_subagent_in_the_background_runs_until_its_end_is_reported(start_nvim, empty, run):
    """Drawn before its description exists; entered from the line of its call."""
    run(empty)
    empty.prompt("Ask somebody")
    call = empty.call("Agent", description="look around", prompt="Look.", subagent_type="Explore")
    empty.reply(call)
    nvim = show(start_nvim, empty)
    nvim.wait(lambda: "  Agent look around · running" in nvim.lines())
    agent = empty.agent(call)
    agent.prompt("Look.")
    agent.reply("I look.")
    launched = {"isAsync": True, "status": "async_launched", "agentId": "a1", "description": "look around"}
    empty.result(call, [{"type": "text", "text": "Async agent launched."}], 0.1, outcome=launched)
    empty.reply("It is on its way.")
    nvim.wait(lambda: "It is on its way." in nvim.lines())
    assert "  Agent look around · running" in nvim.lines()
    nvim.wait(lambda: "    Subagent Explore · Enter shows what it did" in nvim.lines())
    assert not any("Async agent launched" in line for line in nvim.lines())
    go_to(nvim, "  Agent look around")
    press(nvim, "<CR>", lambda: "    I look." in nvim.lines())
    assert nvim.lua("return vim.fn.foldclosed('.')") == -1
    assert "    Claude asks" in nvim.lines()
    press(nvim, "<CR>", lambda: "    I look." not in nvim.lines())
    assert nvim.lua("return vim.fn.foldclosed('.')") > 0
    empty.wait(30)
    empty.prompt(
        "<task-notification>\n<task-id>a1</task-id>\n"
        f"<tool-use-id>{call['id']}</tool-use-id>\n<status>completed</status>\n</task-notification>"
    )
    nvim.wait(lambda: any(line.startswith("  Agent look around · ok · ") for line in nvim.lines()))
    nvim.keys("gf")
    nvim.wait("vim.api.nvim_buf_get_name(0):find('agent', 1, true) ~= nil")
    nvim.wait(lambda: nvim.lines()[:2] == ["Claude asks", "Look."])


def test_a_deleted_transcript_stays_on_the_screen(start_nvim, script):
    nvim = show(start_nvim, script)
    script.path.unlink()
    nvim.keys("gg")
    nvim.wait_screen("Fix the off-by-one")
    assert "  Bash make test · failed · 12 s" in nvim.lines()
    nvim.keys("]]]]")
    nvim.wait("vim.fn.line('.') > 1")
    assert not nvim.lua("return vim.tbl_filter(function(text) return text:find('cannot', 1, true) end, notices)")
    assert nvim.log().count("ERROR") == 0


def test_nothing_is_heard_of_a_closed_one(start_nvim, script, running):
    nvim = start_nvim(env=ENV, init_lua=NOTICES)
    nvim.cmd(f"Claude transcript {script.id}")
    nvim.wait_screen("Fix the parser · idle")
    nvim.cmd("bwipeout!")
    script.prompt("More")
    running("busy")
    nvim.wait("Ide.sessions.live()[1].state.activity == 'working'")
    assert nvim.lua("return #notices") == 0
    assert nvim.log().count("ERROR") == 0


@pytest.mark.every_nvim
def test_visual_mode_survives_what_comes(start_nvim, script):
    nvim = show(start_nvim, script)
    go_to(nvim, "Done: the loop")
    nvim.keys("Vj")
    nvim.wait("vim.fn.mode() == 'V'")
    script.prompt("More of it")
    nvim.wait_screen("/11")
    assert nvim.mode() == "V"
    press(nvim, "y", "vim.fn.mode(1) == 'n'")
    assert nvim.lua("return vim.fn.getreg('\"')").startswith("Done: the loop ends one earlier.")


@pytest.mark.every_nvim
@pytest.mark.parametrize("keys", ["GVkk", "GkkVG", "G0vkk", "ggVG"])
def test_a_selection_at_the_end_does_not_grow_with_the_transcript(start_nvim, script, keys):
    nvim = show(start_nvim, script)
    last = nvim.lua("return vim.fn.line('$')")
    nvim.keys(keys)
    ends = "{ vim.fn.line('v'), vim.fn.line('.') }"
    nvim.wait(f"vim.fn.mode() ~= 'n' and vim.list_contains({ends}, {last}) and vim.fn.line('v') ~= vim.fn.line('.')")
    before = nvim.lua(f"return {ends}")
    script.prompt("More of it")
    nvim.wait(f"vim.fn.line('$') > {last}", what="the transcript to grow")
    assert nvim.lua(f"return {ends}") == before


def test_who_types_elsewhere_is_not_disturbed(start_nvim, script):
    nvim = show(start_nvim, script)
    nvim.cmd("vnew")
    nvim.keys("ia ")
    nvim.wait("vim.fn.mode() == 'i' and vim.api.nvim_get_current_line() == 'a '")
    script.prompt("More of it")
    script.reply("\n\n".join(f"paragraph {part}" for part in range(40)))
    nvim.wait_screen("paragraph 39")
    nvim.keys("b<Esc>.")
    nvim.wait("vim.api.nvim_get_current_line() == 'a a bb'")
    nvim.keys("u")
    nvim.wait("vim.api.nvim_get_current_line() == 'a b'")


def test_who_types_in_a_terminal_is_not_disturbed(start_nvim, script):
    nvim = show(start_nvim, script)
    nvim.cmd("vnew | terminal cat")
    nvim.keys("i")
    nvim.wait("vim.fn.mode() == 't'")
    script.prompt("More of it")
    script.reply("\n\n".join(f"paragraph {part}" for part in range(40)))
    nvim.wait_screen("paragraph 39")
    assert nvim.mode() == "t"
    nvim.keys("typed<CR>")
    nvim.wait_screen(re.compile(r"typed.*typed", re.DOTALL))


@pytest.mark.every_nvim
@pytest.mark.parametrize("away", ["bdelete", "bunload"])
def test_one_without_a_text_hears_what_its_session_does_and_comes_back(start_nvim, script, running, away):
    nvim = show(start_nvim, script)
    nvim.wait_screen("idle")
    nvim.cmd("let b = bufnr() | enew")
    nvim.cmd(f"execute '{away}' b")
    for status, state in {"busy": "working", "waiting": "waiting", "idle": "idle"}.items():
        running(status)
        nvim.wait(f"require('claude-ide').sessions.live()[1].state.activity == '{state}'")
    script.prompt("While it was away")
    script.reply("The newest answer")
    view = "Ide.open_views.of_buffer(vim.g.b)"
    nvim.wait(f"{view}.source:info().len == 12", what="the reply to be known")
    assert not nvim.lua("return vim.api.nvim_buf_is_loaded(vim.g.b)")
    running("busy")
    nvim.cmd("execute 'buffer' b")
    nvim.wait_screen("The newest answer")
    nvim.wait_screen("Claude works")
    wait_rendered(nvim)
    assert nvim.log().count("ERROR") == 0
