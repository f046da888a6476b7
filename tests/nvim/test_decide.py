"""What a CLI asks in its terminal, as a request of Neovim's: the card, the answers on the wire, and who may give none. The client is
the test; `tests/e2e/test_decide_real_cli.py` has the real one."""

import contextlib
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from held_timers import CLOSED_DIFF, hold_timers, let_timers_go
from test_editor import edit  # noqa: F401 (a fixture)

from harness.client import RpcError
from harness.fake_cli import FakeCli
from harness.nvim import PENDING

SUGGESTIONS = [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]


@contextlib.contextmanager
def busy(nvim):
    """Within it, Neovim's main loop stands still."""
    begun, over = (nvim.project.parent / name for name in ("begun", "over"))
    wait = "io.open((...), 'w'):close() repeat vim.uv.sleep(5) until vim.uv.fs_stat((select(2, ...)))"
    nvim.notify(wait, str(begun), str(over))
    nvim.terminal.wait(begun.exists, what="Neovim to be busy")
    try:
        yield
    finally:
        over.touch()


def ask(client, tool="Bash", suggestions=SUGGESTIONS, agent="", wait="60", transcript="", **arguments):
    """Calls the hook as the CLI does; the call waits."""
    return client.start_call(
        "hook_permission",
        tool=tool,
        input=json.dumps(arguments),
        suggestions=json.dumps(suggestions),
        agent=agent,
        agent_type=agent and "Explore",
        transcript=transcript,
        wait=wait,
    )


def asked(nvim, client, **more):
    """Calls it, and waits for the question."""
    call = ask(client, **more)
    nvim.wait_kind("question")
    return call


def change_command(nvim):
    """Opens the command of the question in a buffer."""
    nvim.wait_kind("question")
    nvim.keys("e")
    nvim.wait("vim.bo.buftype == 'acwrite'", what="the command in a buffer")


OPTIONS = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}, "nights": {"type": "integer", "default": 2}}}


def ask_form(client, wait="60"):
    """Calls the hook of an MCP server's form."""
    return client.start_call(
        "hook_form", server="trips", message="Which trip?", schema=json.dumps(SCHEMA), url="", wait=wait
    )


def output(client, call):
    """What the hook puts out: the decision, or nothing."""
    (text,) = client.call_result(call)
    reported = json.loads(text)
    if reported:
        assert reported["hookSpecificOutput"]["hookEventName"] == "PermissionRequest"
        return reported["hookSpecificOutput"]["decision"]
    return None


def form_output(client, call):
    reported = json.loads(client.call_result(call)[0])
    return reported and reported["hookSpecificOutput"]


@pytest.fixture
def lab(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"})
    client = connect(nvim)
    nvim.keys_count()
    return nvim, client


def test_a_call_is_asked_about_and_answered_by_keys(lab):
    nvim, client = lab
    for keys, answers, decision in (
        ("y", [], {"behavior": "allow"}),
        ("a", [1], {"behavior": "allow", "updatedPermissions": SUGGESTIONS}),
        ("r", ["not there"], {"behavior": "deny", "message": "not there"}),
    ):
        call = asked(nvim, client, command="make it")
        assert nvim.lines()[0] == "make it"
        nvim.answer(*answers)
        nvim.keys(keys)
        assert output(client, call) == decision
        nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")
    call = ask(client, command="make it\nand try it", timeout=7)
    change_command(nvim)
    nvim.keys("Aself<Esc>:w<CR>")
    changed = {"command": "make itself\nand try it", "timeout": 7}
    assert output(client, call) == {"behavior": "allow", "updatedInput": changed}
    call = asked(nvim, client, command="make it")
    nvim.keys("n")
    no = output(client, call)
    assert (no["behavior"], no["interrupt"]) == ("deny", True)
    assert nvim.lua(f"return {PENDING}") == 0


@pytest.mark.every_nvim
def test_a_card_of_another_tab_page_is_closed(lab):
    nvim, client = lab
    for end in ("withdrawn", "answered elsewhere"):
        call = ask(client, command="make it")
        change_command(nvim)
        nvim.keys(":q<CR>")
        nvim.wait_kind("question")
        nvim.keys(":tabnew<CR>")
        nvim.wait("vim.fn.tabpagenr() == 2", what="the other tab page")
        if end == "withdrawn":
            client.cancel(call)
        else:
            nvim.lua("Ide.card_window.settle(Ide.requests.pending()[1], { outcome = 'rejected' })")
        nvim.wait(f"{PENDING} == 0", what="the question to end")
        nvim.cmd("redraw! | tabfirst | redraw!")
        assert nvim.lua("return { #vim.api.nvim_list_wins(), vim.fn.bufname() }") == [2, "a.txt"]
        nvim.cmd("tabonly")


def test_whoever_goes_to_another_tab_page_stays_there(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n", "b.txt": "two\n"})
    client = connect(nvim)
    nvim.keys_count()
    nvim.lua("""
      asked_here = true
      Ide.terminal.of_process = function()
        return { is_focused = function() return asked_here end }
      end
    """)
    call = ask(client, command="make it")
    nvim.wait(f"{PENDING} == 1", what="the question")
    nvim.lua("asked_here = false vim.cmd('doautocmd WinEnter')")
    nvim.wait_kind("question")
    waits = "return #vim.api.nvim_get_autocmds({ group = 'claude-ide.card.asked_here' })"
    assert nvim.lua(waits) == 0, "nothing waits for the user to leave a terminal any more"
    nvim.keys(":tabedit b.txt<CR>")
    nvim.wait("vim.fn.expand('%:t') == 'b.txt'", what="the other tab page")
    nvim.keys("yy")
    nvim.wait("vim.fn.getreg('\"') == 'two\\n'", what="the line to be yanked")
    assert nvim.lua(f"return {{ {PENDING}, vim.fn.expand('%:t') }}") == [1, "b.txt"]
    nvim.keys(":Claude decide<CR>")
    nvim.wait_kind("question")
    nvim.keys("q")
    nvim.wait("vim.fn.expand('%:t') ~= ''", what="a file")
    nvim.keys(":tabnew<CR>")
    nvim.wait("vim.fn.tabpagenr('$') == 3", what="one more tab page")
    assert nvim.lua("return vim.b.claude_ide == nil"), "it is postponed"
    nvim.keys(":Claude decide<CR>")
    nvim.wait_kind("question")
    nvim.keys("y")
    assert output(client, call) == {"behavior": "allow"}


def test_a_question_in_the_terminal_waits_for_the_file_of_its_program(start_nvim, connect, edit):  # noqa: F811
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n", "b.txt": "two\n", "words.txt": ""})
    client = connect(nvim)
    nvim.lua("""
      Ide.terminal.of_process = function()
        return {
          is_focused = function() return vim.fn.bufname() == "a.txt" end,
          has_process = function() return true end,
        }
      end
    """)
    call = ask(client, command="git commit")
    nvim.wait(f"{PENDING} == 1", what="the question")
    program = edit(nvim, "words.txt", CLAUDECODE="1")
    nvim.wait("vim.fn.bufname() == 'words.txt'", what="the file to be opened")
    nvim.wait("Ide.guard_typing.quiet_for() > 1200", what="the user to look at it")
    nvim.keys("imine<Esc>:wq<CR>")
    nvim.wait(lambda: program.poll() == 0, what="the program to have it")
    assert (nvim.project / "words.txt").read_text() == "mine\n"
    nvim.wait("vim.fn.bufname() == 'a.txt'", what="the terminal")
    nvim.keys(":split b.txt<CR>")
    nvim.wait_kind("question")
    nvim.keys("y", counts=True)
    assert output(client, call) == {"behavior": "allow"}


@pytest.mark.every_nvim
@pytest.mark.parametrize("size", [(80, 9), (20, 8)])
def test_each_row_of_a_command_is_seen_before_it_is_allowed(lab, size):
    nvim, client = lab
    columns, lines = size
    nvim.cmd(f"set columns={columns} lines={lines}")
    words = " ".join(f"word{number:03}" for number in range(52))
    call = asked(nvim, client, command=words)
    rows, unseen = nvim.lines(), words.replace(" ", "")
    assert "".join(rows).replace(" ", "").startswith(unseen)
    for _ in range(100):
        screen = "\n".join(nvim.drawn())
        shown = [row.strip() for row in rows if row.strip() and row.strip() in screen]
        for text in shown:
            unseen = unseen.replace(text.replace(" ", ""), "", 1)
        if nvim.lua(f"return {PENDING}") == 0:
            break
        top = nvim.lua("return vim.fn.line('w0')")
        nvim.keys("y")
        nvim.wait(f"{PENDING} == 0 or vim.fn.line('w0') ~= {top}", what="the key")
    assert output(client, call) == {"behavior": "allow"}
    assert unseen == ""


@pytest.mark.every_nvim
def test_a_covered_question_is_not_allowed(lab):
    nvim, client = lab
    cover = "cover = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), false, { relative = 'editor', width = vim.o.columns, height = vim.o.lines - 3, row = 0, col = 0, zindex = ... })"
    nvim.lua(cover, 44)
    call = asked(nvim, client, command="make it")
    nvim.wait_screen("make it")
    nvim.lua(f"vim.api.nvim_win_close(cover, true) {cover}", 200)
    nvim.keys("y")
    nvim.wait_screen("Close the window that covers part of this")
    assert nvim.lua(f"return {PENDING}") == 1
    nvim.lua("vim.api.nvim_win_close(cover, true)")
    nvim.keys("y")
    assert output(client, call) == {"behavior": "allow"}


def test_a_question_says_how_many_wait_and_whose_it_is_once_there_are_several(start_nvim, connect):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"})
    client = connect(nvim)
    nvim.keys_count()
    calls = [ask(client, command="make it")]
    nvim.wait_kind("question")
    title = lambda: next((row for row in nvim.screen() if "wants to use Bash" in row), "")  # noqa: E731
    nvim.wait(title)
    assert "·" not in title()
    calls.append(ask(client, command="make it"))
    nvim.wait_screen("Claude wants to use Bash · 1 of 2")
    other = connect(nvim, roots=[nvim.home])
    nvim.wait_screen("Claude wants to use Bash · project · 1 of 2")
    nvim.keys("y")
    output(client, calls[0])
    nvim.wait(lambda: "Bash · project" in title() and "of 2" not in title(), what="the last one")
    other.close()
    nvim.wait(lambda: title() and "·" not in title(), what="the name to go")
    nvim.keys("y")
    output(client, calls[1])


@pytest.mark.every_nvim
@pytest.mark.parametrize("put_off", ["q", ":q<CR>"])
def test_a_question_that_was_put_off_holds_up_no_other(lab, put_off):
    nvim, client = lab
    nvim.keep_notices()
    calls = []

    def asked(name):
        calls.append(ask(client, command=name))
        nvim.wait(f"{PENDING} == {len(calls)}", what="it to wait")

    def put_off_question(name):
        nvim.wait_kind("question")
        nvim.wait_screen(f"make {name}")
        nvim.keys(put_off, counts=True)

    asked("make first")
    nvim.wait_kind("question")
    asked("make second")
    put_off_question("first")
    put_off_question("second")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus")
    assert len([one for one in nvim.notices() if "shows it again" in one]) == 2
    asked("make third")
    nvim.wait_kind("question")
    nvim.wait_screen("make third")
    nvim.keys("y", counts=True)
    assert output(client, calls[2]) == {"behavior": "allow"}
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus")
    for name, call in zip(("first", "second"), calls, strict=False):
        nvim.keys(":Claude decide<CR>")
        if name == "first":
            nvim.wait_kind("choices")
            nvim.keys("<CR>")
        nvim.wait_kind("question")
        nvim.wait_screen(f"make {name}")
        nvim.keys("y", counts=True)
        assert output(client, call) == {"behavior": "allow"}


@pytest.mark.every_nvim
@pytest.mark.parametrize("kind", ["question", "plan"])
def test_a_question_outlives_the_diff_that_was_accepted_before_it(lab, kind):
    nvim, client = lab
    path = str(nvim.project / "a.txt")
    diff = client.start_call(
        "openDiff", old_file_path=path, new_file_path=path, new_file_contents="ONE\n", tab_name="a"
    )
    nvim.wait_kind("proposal")
    nvim.wait_screen("ZZ accept")
    nvim.keys("ZZ")
    client.call_result(diff)
    call = ask(client, command="make it") if kind == "question" else ask(client, tool="ExitPlanMode", plan="# It")
    nvim.wait_kind(kind)
    nvim.wait("Ide.guard_closing.staying() == nil", what="the diff to go")
    nvim.wait("vim.fn.bufwinid('a.txt') > 0 or vim.fn.tabpagenr('$') == 2", what="the file behind it")
    assert nvim.lua("return (vim.b.claude_ide or {}).kind") == kind
    nvim.keys("y" if kind == "question" else "<CR>", counts=True)
    assert output(client, call)["behavior"] == "allow"
    nvim.wait("vim.fn.expand('%:t') == 'a.txt' and vim.fn.tabpagenr('$') == 1", what="the file as it was")


@pytest.mark.every_nvim
def test_a_question_whose_window_goes_without_an_answer_is_shown_again(lab):
    nvim, client = lab
    nvim.keep_notices()
    call = asked(nvim, client, command="make it")
    for end in ("tab split | tabonly", "tab split | tabfirst | tabclose", "lua vim.api.nvim_win_close(WIN, true)"):
        win = nvim.lua("return vim.api.nvim_get_current_win()")
        if "WIN" in end:
            nvim.keys("<C-w>p")
            nvim.wait("vim.fn.expand('%:t') == 'a.txt'")
        nvim.cmd(end.replace("WIN", str(win)))
        nvim.wait(f"vim.api.nvim_get_current_win() ~= {win}")
        nvim.wait_kind("question")
        assert nvim.notices() == []
    nvim.keys(":q<CR>", counts=True)
    nvim.wait_notice("The question waits: `:Claude decide` shows it again.")
    nvim.keys(":Claude decide<CR>")
    nvim.wait_kind("question")
    nvim.keys("y")
    assert output(client, call) == {"behavior": "allow"}


@pytest.mark.every_nvim
def test_a_key_for_a_question_that_has_just_gone_is_not_for_the_file(lab):
    nvim, client = lab
    call = asked(nvim, client, command="make it")
    client.cancel(call)
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the question to go with its call")
    nvim.keys("rX")  # deny with a reason
    nvim.keys(":let g:typed = 1<CR>")
    nvim.wait("vim.g.typed == 1")
    assert nvim.lines() == ["one"]


def test_what_a_subagent_asks_is_not_void_at_the_next_prompt(lab):
    nvim, client = lab
    call = asked(nvim, client, agent="a0f82dfec5", command="make it")
    client.call("closeAllDiffTabs")  # the next prompt
    nvim.keys("y")
    assert output(client, call) == {"behavior": "allow"}


@pytest.mark.every_nvim
def test_whoever_comes_from_a_terminal_types_on_there(lab):
    nvim, client = lab
    nvim.cmd("vsplit | terminal cat")
    nvim.lua("vim.keymap.set('t', '<C-g>', '<Cmd>Claude decide<CR>')")
    nvim.keys("i")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'")
    for end in "yq":
        call = ask(client, command="make it")
        nvim.wait_screen("opens when you leave the terminal")
        nvim.keys("<C-g>")
        nvim.wait_kind("question")
        nvim.wait("vim.api.nvim_get_mode().mode == 'n'")
        nvim.keys(end, counts=True)
        if end == "y":
            assert output(client, call) == {"behavior": "allow"}
        nvim.wait("vim.api.nvim_get_mode().mode == 't'", what="the terminal to take what is typed")
        if end == "y":  # else the next one's hint could be this one's
            nvim.wait(lambda: "opens when you leave the terminal" not in "\n".join(nvim.screen()))


@pytest.mark.every_nvim
def test_what_asks_for_words_is_above_a_question(lab):
    nvim, client = lab
    nvim.lua("""
      vim.ui.input = function(opts, done)
        local buf = vim.api.nvim_create_buf(false, true)
        vim.api.nvim_open_win(buf, true, {
          relative = "editor", width = vim.o.columns - 2, height = 1, row = vim.o.lines - 8, col = 0, border = "rounded",
          title = opts.prompt,
        })
        vim.keymap.set("i", "<CR>", function()
          local text = vim.api.nvim_get_current_line()
          vim.cmd("stopinsert | close")
          done(text)
        end, { buffer = buf })
        vim.cmd.startinsert()
      end
    """)
    for keys, prompt in (("r", "Reason:"), ("er", "")):
        call = asked(nvim, client, command="make it")
        nvim.keys(keys[0])
        if not prompt:
            nvim.wait("vim.bo.buftype == 'acwrite'", what="the command in a buffer")
            assert nvim.lua("return vim.api.nvim_win_get_config(0).zindex") < 50
            nvim.keys(":q<CR>")
            nvim.wait_kind("question")
            nvim.keys("r")
        nvim.wait_screen("Reason:")
        nvim.keys("seen by me")
        nvim.wait_screen("seen by me")
        nvim.keys("<CR>")
        assert output(client, call)["message"] == "seen by me"
        nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")


def test_a_question_and_a_plan_list_their_keys(lab):
    nvim, client = lab
    call = asked(nvim, client, command="make it")
    nvim.keys("g?")
    nvim.wait_screen("Keys of a question")
    nvim.wait_screen("deny with a reason")
    nvim.keys("q")
    nvim.wait_kind("question")
    nvim.keys("y")
    assert output(client, call) == {"behavior": "allow"}
    call = ask(client, tool="ExitPlanMode", suggestions=[], plan="# It")
    nvim.wait_kind("plan")
    nvim.keys("g?")
    nvim.wait_screen("Keys of a plan")
    nvim.wait_screen("return the plan with a comment")
    nvim.keys("q")
    nvim.wait_kind("plan")
    nvim.keys("<CR>")
    output(client, call)


@pytest.mark.parametrize("command", ["edit", "edit!"])
def test_a_question_stays_as_it_stands_at_edit(lab, command):
    nvim, client = lab
    for tool, more, keys in (
        ("Bash", {"command": "make it"}, "y"),
        ("AskUserQuestion", {"questions": [{"question": "Which?", "header": "It", "options": OPTIONS}]}, "j<CR>"),
    ):
        call = asked(nvim, client, tool=tool, suggestions=[], **more)
        before, screen = nvim.lines(), nvim.drawn()
        nvim.cmd(command)
        assert (nvim.lines(), nvim.drawn()) == (before, screen)
        assert nvim.lua("return vim.bo.modifiable") is False
        nvim.keys(keys)
        assert output(client, call)["behavior"] == "allow"
        nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")


def test_at_edit_a_changed_command_is_as_it_was(lab):
    nvim, client = lab
    call = ask(client, command="make it")
    change_command(nvim)
    nvim.keys("Aself<Esc>:edit!<CR>")
    nvim.wait(lambda: nvim.lines() == ["make it"], what="the command as it was")
    nvim.keys(":w<CR>")
    assert output(client, call) == {"behavior": "allow"}


@pytest.mark.parametrize("keys", [":w<CR>", ":wq<CR>", ":x<CR>", "ZZ", ":w | w<CR>"])
def test_however_a_changed_command_is_written_no_window_but_its_own_is_closed(lab, keys):
    nvim, client = lab
    nvim.keep_notices()
    nvim.cmd("split b.txt | wincmd p")
    call = ask(client, command="make it")
    change_command(nvim)
    nvim.keys(f"Aself<Esc>{keys}")
    assert output(client, call) == {"behavior": "allow", "updatedInput": {"command": "make itself"}}
    nvim.wait("#vim.api.nvim_list_wins() == 2", what="the question and the command to be closed")
    assert nvim.lua("return vim.fn.bufwinid('a.txt') > 0 and vim.fn.bufwinid('b.txt') > 0")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")
    assert nvim.notices() == []


@pytest.mark.parametrize(
    "write",
    [
        ":w copy.sh<CR>",
        ":1w part.sh<CR>",
        "<C-w>t:wa<CR>",
        ":autocmd FocusLost * ++nested silent! wa<CR>:doautocmd FocusLost<CR>",
        ":call timer_start(1, {-> execute('write')})<CR>",
    ],
)
def test_a_changed_command_is_allowed_only_by_a_write_of_it_that_the_user_asks_for(lab, write):
    nvim, client = lab
    call = ask(client, command="make it")
    change_command(nvim)
    buf = nvim.lua("return vim.fn.bufnr()")
    nvim.lua(
        "written = 0 vim.api.nvim_create_autocmd({ 'BufWriteCmd', 'FileWriteCmd' }, { callback = function() written = written + 1 end })"
    )
    nvim.keys(f"Aself<Esc>{write}")
    nvim.wait("written > 0", what="the write")
    if ".sh" in write:
        nvim.wait(
            lambda: [path.read_text() for path in nvim.project.glob("*.sh")] == ["make itself\n"], what="the copy"
        )
    assert client.request("ping") == {}
    assert nvim.lua(f"return {PENDING}") == 1, "nothing is decided"
    assert nvim.lua("return vim.api.nvim_buf_get_lines(..., 0, -1, false)", buf) == ["make itself"]
    nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", buf)
    nvim.keys("<Esc>:w<CR>")
    assert output(client, call) == {"behavior": "allow", "updatedInput": {"command": "make itself"}}


@pytest.fixture
def changing(lab):
    """A command in the buffer in which it is changed."""
    nvim, client = lab
    nvim.keep_notices()

    def changing(command):
        call = ask(client, command=command)
        change_command(nvim)
        return call

    return nvim, client, changing


def test_a_changed_command_that_the_cli_would_not_run_as_it_is_is_not_allowed(changing):
    nvim, client, begin = changing
    call = begin("make it")
    for keys, why in (("cc<Esc>:w<CR>", "it is empty"), ("cca<C-v><C-g>b<Esc>:w<CR>", "it has a control character")):
        nvim.keys(keys)
        nvim.wait_notice(f"Not allowed: {why}")
        assert nvim.lua(f"return {PENDING}") == 1 and nvim.lua("return vim.bo.buftype") == "acwrite"
    nvim.keys("ccmake all<Esc>:w<CR>")
    assert output(client, call) == {"behavior": "allow", "updatedInput": {"command": "make all"}}


@pytest.mark.every_nvim
@pytest.mark.parametrize("what", ["a changed command", "a reason"])
def test_what_is_typed_for_a_question_that_others_end_stays_with_the_user(lab, what):
    nvim, client = lab
    nvim.keep_notices()
    call = ask(client, command="make it")
    nvim.wait_kind("question")
    nvim.keys("eAself" if "command" in what else "rmake itself")
    nvim.wait_screen("make itself")
    client.cancel(call)
    nvim.wait(f"{PENDING} == 0", what="the question to go with its call")
    nvim.keys(" up<Esc>:w<CR>" if "command" in what else " up<CR>")
    nvim.wait_notice("The request has ended. Your text is in")
    assert nvim.lua("return vim.fn.getreg('\"')") == "make itself up"
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")
    assert nvim.lines() == ["one"]


@pytest.mark.every_nvim
@pytest.mark.parametrize("quit", [":q<CR>", "ZQ", ":set autowriteall | q<CR>"])
def test_whoever_quits_a_changed_command_is_back_and_has_lost_nothing(changing, quit):
    nvim, client, begin = changing
    call = begin("make it")
    nvim.keys(f"Aself<Esc>{quit}")
    nvim.wait_notice("Not allowed. `e` shows your changes again.")
    change_command(nvim)
    assert nvim.lines() == ["make itself"]
    nvim.keys(":w<CR>")
    assert output(client, call) == {"behavior": "allow", "updatedInput": {"command": "make itself"}}


@pytest.mark.parametrize(
    "map", ["vim.cmd.write()", "vim.cmd('silent! write')", "vim.cmd('stopinsert') vim.cmd.update({ bang = true })"]
)
def test_a_mapping_that_writes_allows_a_changed_command(changing, map):
    nvim, client, begin = changing
    nvim.lua(f"vim.keymap.set({{ 'n', 'i' }}, '<C-s>', function() {map} end)")
    call = begin("make it")
    nvim.keys("Aself")
    nvim.wait("vim.api.nvim_get_current_line() == 'make itself'")
    nvim.keys("<C-s>" if "stop" in map else "<Esc><C-s>")
    assert output(client, call) == {"behavior": "allow", "updatedInput": {"command": "make itself"}}


@pytest.mark.every_nvim
def test_nothing_hides_in_a_command_that_is_changed(changing):
    nvim, client, begin = changing
    command = "make it\u200b;" + " " * 9 + "x\u202ey\u00a0z"
    call = begin(command)
    nvim.wait_screen("make it<200b>;⟨9 blanks⟩")
    nvim.wait_screen("<202e>")
    nvim.wait_screen("<a0>z")
    nvim.keys("A\u2066<Esc>")
    nvim.wait_screen("<2066>")
    nvim.keys("x:w<CR>")
    assert output(client, call) == {"behavior": "allow"}, "the marks are no part of it"


@pytest.mark.every_nvim
@pytest.mark.parametrize("marks", [False, True])
def test_no_wrapped_option_of_a_question_looks_like_another_one(lab, marks):
    nvim, client = lab
    nvim.cmd("set columns=60")
    label, about = "Rebuild it with every flag that the build knows of, then\u00a0run 2 Ship it", "which takes " * 8
    options = [{"label": label, "description": about}, {"label": "Leave it"}]
    ask(client, tool="AskUserQuestion", suggestions=[], questions=[
        {"question": "What now?", "header": "Build", "multiSelect": marks, "options": options}
    ])  # fmt: skip
    nvim.wait_kind("question")
    shown = nvim.wait_screen(re.compile("2 .*Leave it"))
    rows = [match.group(1) for match in re.finditer("│([^│]*)│", shown)]
    first = next(at for at, row in enumerate(rows) if row.startswith("1 "))
    text = rows[first].index("Rebuild")
    assert rows[first + 1][:text].isspace() and not rows[first + 1][text].isspace()
    assert len([row for row in rows if row[0].isdigit()]) == 2
    assert len([row for row in rows if re.match("  (which|takes) ", row)]) == 2


def test_a_question_and_a_plan_are_answered_with_their_arguments(lab):
    nvim, client = lab
    options = [{"label": "Red", "description": "warm"}, {"label": "Blue", "preview": "+------+\n| blue |\n+------+"}]
    questions = [{"question": "Which?", "header": "Colour", "multiSelect": False, "options": options}]
    call = asked(nvim, client, tool="AskUserQuestion", suggestions=[], questions=questions)
    assert [line for line in nvim.lines() if "│" in line] == ["  │ +------+", "  │ | blue |", "  │ +------+"]
    nvim.keys("2")
    answered = output(client, call)["updatedInput"]
    chosen = {"answers": {"Which?": "Blue"}, "annotations": {"Which?": {"preview": options[1]["preview"]}}}
    assert answered == {"questions": questions, **chosen}, "as the CLI's dialog answers"
    plan = {"plan": "# It", "planFilePath": "/p.md"}
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    for keys, more in (("<CR>", {}), ("ga", {"updatedPermissions": [mode]})):
        call = ask(client, tool="ExitPlanMode", suggestions=[], **plan)
        nvim.wait_kind("plan")
        nvim.keys(keys)
        assert output(client, call) == {"behavior": "allow", "updatedInput": plan, **more}
        nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")


@pytest.mark.every_nvim
def test_a_plan_is_neither_decided_nor_lost_by_writing_and_quitting(lab):
    nvim, client = lab
    nvim.keep_notices()
    call = ask(client, tool="ExitPlanMode", suggestions=[], plan="# It\nmake it")
    nvim.wait_kind("plan")
    nvim.keys("Goas I want it<Esc>:w<CR>")
    nvim.wait_notice("Not approved: `<CR>` approves the plan with your changes")
    nvim.keys(":w copy.md<CR>")
    copy = nvim.project / "copy.md"
    nvim.wait(lambda: copy.exists() and copy.read_text(), what="the copy")
    assert copy.read_text() == "# It\nmake it\nas I want it\n"
    for keys in (":q<CR>", "ZZ", ":wq<CR>", "q"):
        nvim.keys(keys)
        nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")
        nvim.wait_notice("The plan waits: `:Claude decide` shows it again.")
        nvim.keep_notices()
        nvim.keys(":Claude decide<CR>")
        nvim.wait_kind("plan")
        nvim.keys_count()
        assert nvim.lines() == ["# It", "make it", "as I want it"]
    nvim.cmd("tab split | tabonly")  # its window goes, though the user is not in it
    nvim.wait_kind("plan")
    nvim.keys("<CR>", counts=True)
    assert output(client, call)["updatedInput"]["plan"] == "# It\nmake it\nas I want it"


@pytest.mark.every_nvim
@pytest.mark.parametrize("key", ["X", "<CR>", "q"])
def test_one_key_too_many_for_a_plan_does_nothing_in_the_file(lab, key):
    nvim, client = lab
    nvim.lua("vim.fn.setline(1, { 'one', 'two' }) vim.cmd('normal! $')")
    hold_timers(nvim, *CLOSED_DIFF)  # the key comes in time
    ask(client, tool="ExitPlanMode", suggestions=[], plan="# It")
    nvim.wait_kind("plan")
    nvim.keys(key)
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")
    nvim.keys(key + "r!:let g:done = 1<CR>")  # other keys are for the file
    nvim.wait("vim.g.done == 1", what="Neovim to have taken the keys")
    assert nvim.lua(
        "return { vim.fn.getline(1, '$'), vim.fn.getpos('.')[2], vim.fn.getpos('.')[3], vim.fn.reg_recording() }"
    ) == [["on!", "two"], 1, 3, ""]
    let_timers_go(nvim)
    nvim.wait(f"vim.fn.maparg('{key}', 'n') == ''", what="the keys to be the user's again")


@pytest.mark.every_nvim
@pytest.mark.parametrize("key", ["a", "y", "n", "q"])
def test_one_key_too_many_for_a_card_does_nothing_in_the_file(lab, key):
    nvim, client = lab
    nvim.lua("vim.fn.setline(1, { 'one', 'two' }) vim.cmd('normal! $')")
    hold_timers(nvim, *CLOSED_DIFF)  # the key comes in time
    nvim.answer(1)
    ask(client, command="make it")
    nvim.wait_kind("question")
    nvim.keys_count()
    nvim.keys(key)
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")
    nvim.keys(key + ":let g:done = 1<CR>")
    nvim.wait("vim.g.done == 1", what="Neovim to have taken the keys")
    assert nvim.lua(
        "return { vim.fn.getline(1, '$'), vim.fn.getpos('.')[2], vim.fn.getpos('.')[3], vim.fn.reg_recording() }"
    ) == [["one", "two"], 1, 3, ""]
    let_timers_go(nvim)
    nvim.wait(f"vim.fn.maparg('{key}', 'n') == ''", what="the keys to be the user's again")


def test_the_hint_goes_when_the_user_goes_to_what_waits(lab):
    nvim, client = lab
    nvim.keys("qq")
    nvim.wait("vim.fn.reg_recording() == 'q'")
    ask(client, command="make it")
    nvim.wait_screen("asks you something · opens when the macro is recorded")
    nvim.keys(":Claude decide<CR>")
    nvim.wait_kind("question")
    nvim.wait(lambda: "opens when" not in "\n".join(nvim.screen()), what="the hint to go")


def test_decide_names_whatever_waits_in_a_terminal(start_nvim):
    nvim = start_nvim(notices=True)
    nvim.lua("""
      local ours = Ide.own_terminals
      function waits(for_what, terminal)
        ours.list = function()
          local state = { activity = "waiting", waiting_for = for_what }
          return { { session = { id = "s", pid = 1, state = state }, terminal = terminal } }
        end
      end
      Ide.terminal.show = function(terminal) shown = terminal end
      waits("dialog", "the terminal")
    """)
    nvim.cmd("Claude decide")
    assert nvim.lua("return shown") == "the terminal"
    nvim.lua("waits('other')")
    nvim.cmd("Claude decide")
    assert nvim.notices() == ["Claude waits for you in its terminal, outside of this Neovim."]


PLAN_THREADS = "Ide.comments_store.threads(Ide.comments_store.root_of())"


def comment_on_plan(nvim, keys, words):
    nvim.keys(keys)
    nvim.wait_kind("comment")
    nvim.wait("vim.fn.mode() == 'i'", what="Insert mode")
    nvim.keys(words + "<Esc>ZZ")
    nvim.wait_kind("plan")


def test_comments_on_lines_of_a_plan_go_back_with_it(lab):
    nvim, client = lab
    call = ask(client, tool="ExitPlanMode", suggestions=[], plan="# It\nmake it\ntest it\nship it")
    nvim.wait_kind("plan")
    comment_on_plan(nvim, "Ggcc", "not today")
    nvim.wait_screen("▎you: not today (not sent)")
    comment_on_plan(nvim, "ggjVjgc", "the other way round")
    nvim.wait_screen("▎you: the other way round (not sent)")
    nvim.keys("ggx")
    nvim.cmd("edit")
    nvim.wait_screen("▎you: the other way round (not sent)")  # they outlive their buffer
    nvim.keep_notices()
    nvim.keys("<CR>")
    nvim.wait_notice("The plan has comments: the same key approves it with them")
    comment_on_plan(nvim, "Ggcc", "<C-u>tomorrow")
    nvim.wait_screen("▎you: tomorrow (not sent)")
    nvim.keys("r")
    nvim.wait_screen("What should change?")
    nvim.keys("<CR>")
    assert output(client, call) == {
        "behavior": "deny",
        "message": "2 comments on the plan. Answer each with the tool comment_reply and its number, and say there whether "
        "it is done.\n\n[2] the plan:2-3\n> make it\n> test it\nthe other way round\n\n"
        "[1] the plan:4\n> ship it\ntomorrow\n\n"
        "The plan with my changes:\n\n It\nmake it\ntest it\nship it",
    }
    assert [thread["state"] for thread in nvim.lua(f"return {PLAN_THREADS}")] == ["sent", "sent"]


@pytest.mark.every_nvim
def test_a_plan_is_approved_with_comments_or_leaves_them_to_the_next_round(lab):
    nvim, client = lab
    nvim.lua("Ide.own_terminals.of_request = function() return 's' end")
    call = ask(client, tool="ExitPlanMode", suggestions=[], plan="# It\nmake it")
    nvim.wait_kind("plan")
    comment_on_plan(nvim, "Ggcc", "well")
    nvim.keep_notices()
    client.cancel(call)
    nvim.wait_notice("The plan has ended. Your comments on it wait: `:Claude comments`.")
    nvim.cmd("Claude comments yank")
    assert nvim.lua("return vim.fn.getreg('\"')").endswith("[1] the plan:2\n> make it\nwell\n")
    call = ask(client, tool="ExitPlanMode", suggestions=[], plan="# It\nthink\nmake it")
    nvim.wait_kind("plan")
    nvim.wait_screen(re.compile(r"make it *\n +▎you: well \(not sent\)"))  # the session's next plan has it, too
    nvim.keep_notices()
    nvim.keys("<CR>")
    nvim.wait_notice("The plan has comments")
    nvim.keys("<CR>")
    assert output(client, call)["updatedInput"]["plan"] == (
        "# It\nthink\nmake it\n\nA comment on the plan. Answer each with the tool comment_reply and its number, and say "
        "there whether it is done.\n\n[1] the plan:3\n> make it\nwell"
    )
    assert [thread["state"] for thread in nvim.lua(f"return {PLAN_THREADS}")] == ["sent"]


def test_a_form_of_a_server_is_filled_in_or_left_to_the_terminal(lab):
    nvim, client = lab
    call = ask_form(client)
    nvim.wait_kind("question")
    nvim.wait_screen("trips asks you something")
    nvim.answer("Rome")
    nvim.keys("<CR>")
    nvim.wait_screen("1 place: Rome")
    nvim.keys("y")
    filled_in = {"place": "Rome", "nights": 2}
    assert form_output(client, call) == {"hookEventName": "Elicitation", "action": "accept", "content": filled_in}
    call = ask_form(client)
    nvim.wait_kind("question")
    nvim.keys("n")
    assert form_output(client, call) == {"hookEventName": "Elicitation", "action": "decline"}
    call = ask_form(client)
    nvim.wait_kind("question")
    client.call("closeAllDiffTabs")  # the next prompt
    assert form_output(client, call) == {}


ENTERED = """
entered = {}
vim.api.nvim_create_autocmd({ "WinEnter", "BufEnter" }, {
  callback = function() table.insert(entered, (vim.b.claude_ide or {}).kind) end,
})
"""
DEFERRED = pytest.mark.parametrize(
    "deferred", [lambda client, wait: ask(client, agent="a0f82dfec5", wait=wait), ask_form]
)


@DEFERRED
def test_a_dialog_is_held_back_for_a_while_and_only_for_a_user_who_is_here(lab, deferred):
    nvim, client = lab
    nvim.lua(ENTERED)
    call = deferred(client, wait="1")
    nvim.wait("vim.list_contains(entered, 'question')", what="the question, though it may be gone by now")
    assert output(client, call) is None, "its time is over"
    nvim.wait(f"{PENDING} == 0", what="the card to go")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")
    assert output(client, deferred(client, wait="0")) is None
    with busy(nvim):
        assert output(client, deferred(client, wait="1")) is None, "Neovim is busy"
    nvim.wait(f"{PENDING} == 0")
    nvim.cmd("doautocmd FocusLost")
    assert output(client, deferred(client, wait="60")) is None, "the user is in another program"
    nvim.cmd("doautocmd FocusGained")
    call = deferred(client, wait="60")
    nvim.wait_kind("question")
    nvim.keys("n")
    client.call_result(call)


TMUX = """#!/bin/sh
[ "$*" = "display-message -p -t %7 #{pane_active}#{window_active}#{session_attached}" ] && cat "$0.flags"
"""


def test_a_dialog_is_not_held_back_in_a_pane_of_tmux_that_is_not_seen(start_nvim, connect, tmp_path):
    program = tmp_path / "bin" / "tmux"
    program.parent.mkdir()
    program.write_text(TMUX)
    program.chmod(0o755)
    env = {"TMUX": "/tmp/tmux,1,0", "TMUX_PANE": "%7", "PATH": f"{program.parent}:{os.environ['PATH']}"}
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"}, env=env)
    client = connect(nvim)
    nvim.keys_count()
    flags = program.with_name("tmux.flags")
    for unseen in ("011\n", "101\n", "110\n"):
        flags.write_text(unseen)
        assert output(client, ask(client, agent="a0f82dfec5", command="make it")) is None, unseen
        assert nvim.lua(f"return {PENDING}") == 0
    for seen in ("112\n", "no server\n"):
        flags.write_text(seen)
        call = asked(nvim, client, agent="a0f82dfec5", command="make it")
        nvim.keys("n")
        client.call_result(call)
        nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")


def test_a_window_that_is_entered_touches_no_request_of_others(lab):
    """A requester's handle is whatever the requester likes."""
    nvim, client = lab
    call = ask(client)
    nvim.wait_kind("question")
    nvim.keys("n")
    client.call_result(call)
    nvim.lua("""
      local requests = Ide.requests
      requests.register("other", { present = function() end, close = function() end, phrase = tostring })
      local requester = requests.requester({ name = "Other", writes = "agent", answer = print, tell = print })
      requests.ask("other", requester, function() end, {})
      vim.cmd("new")
      vim.schedule(function() is_over = true end)
    """)
    nvim.wait("is_over", what="the window to be entered")
    assert nvim.lua("return vim.api.nvim_exec2('messages', { output = true }).output") == ""


def test_a_request_of_a_subagent_names_it_and_its_task(lab):
    nvim, client = lab
    transcript = nvim.home / ".claude/projects/p/s.jsonl"
    about = transcript.with_suffix("") / "subagents/agent-a0f82dfec5.meta.json"
    about.parent.mkdir(parents=True)
    about.write_text(json.dumps({"agentType": "Explore", "description": "Mend\n\x1b[31mthe file"}))
    call = asked(nvim, client, agent="a0f82dfec5", transcript=str(transcript), command="make it")
    nvim.wait_screen("The subagent Explore (a0f82d) wants to use Bash")
    assert nvim.lines()[:2] == ["make it", "The subagent's task: Mend the file"]
    nvim.keys("y")
    assert output(client, call) == {"behavior": "allow"}


def test_what_needs_no_user_is_answered_at_once_though_neovim_is_busy(lab):
    nvim, client = lab
    assert not [name for name in client.tools() if name.startswith("hook")], "no model is told of them"
    deep = json.dumps({"a": 1}).replace("1", "[" * 99 + "]" * 99)
    with busy(nvim):
        call = client.start_call("hook_permission", tool="Bash", input=deep, suggestions="", agent="")
        assert output(client, call) is None, "it cannot be shown in full"
        assert client.call("hook_display", session="s", message="m", index="0", final="true", delta="hello") == ["{}"]
    assert nvim.lua(f"return {PENDING}") == 0


def test_nothing_is_allowed_by_who_leaves(lab):
    nvim, client = lab
    call = asked(nvim, client, command="make it")
    client.cancel(call)
    nvim.wait(f"{PENDING} == 0", what="the question to go with its call")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the file to have the focus again")
    call = asked(nvim, client, command="make it")
    client.call("closeAllDiffTabs")  # the next prompt
    assert output(client, call) is None
    calls = [ask(client, command=f"make {number}") for number in range(3)]
    nvim.wait(f"{PENDING} == 3", what="the questions")
    nvim.notify("vim.cmd('qa!')")
    for call in calls:
        with pytest.raises(RpcError, match="the editor is closing"):
            output(client, call)


@pytest.fixture
def started(start_nvim, tmp_path):
    """The settings that a CLI gets, where the command is this."""

    def started(*more, opts=None, args=""):
        fake = FakeCli(tmp_path)
        options = {"terminal": {"command": ["claude", *more]}, **(opts or {})}
        nvim = start_nvim(opts=options, env=fake.environment())
        nvim.cmd(f"Claude {args}")
        nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI")
        (start,) = fake.starts()
        return start["argv"], start["settings"] and json.loads(start["settings"])

    return started


OURS = "hook_permission"


def tools_of(settings, event="PermissionRequest"):
    return [hook.get("tool") for one in settings["hooks"][event] for hook in one["hooks"]]


def test_the_users_settings_stay_and_ours_go_along(started, tmp_path):
    mine = {"type": "command", "command": "true"}
    theirs = {
        "model": "haiku",
        "empty": {},
        "none": [],
        "permissions": {"allow": ["Bash(ls)"], "deny": ["mcp__nvim__comment_add"]},
        "hooks": {"PermissionRequest": [{"hooks": [mine]}], "Stop": [{"hooks": [mine]}]},
    }
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(theirs))
    argv, settings = started("--verbose", "--settings", "{}", f"--settings={path}", args="--model opus")
    assert argv == ["--verbose", "--model", "opus"]
    assert tools_of(settings) == [None, OURS]
    assert tools_of(settings, "Elicitation") == ["hook_form"]
    settings["hooks"]["PermissionRequest"].pop()
    assert settings["hooks"].pop("PreToolUse")[0]["matcher"] == "Read|Edit|MultiEdit|Write|NotebookEdit"
    del settings["hooks"]["Elicitation"], settings["hooks"]["MessageDisplay"], settings["hooks"]["PostToolBatch"]
    allowed = [f"mcp__nvim__{tool}" for tool in ("comments", "comment_reply", "comment_add")]
    assert settings["permissions"].pop("allow") == [*theirs["permissions"].pop("allow"), *allowed]
    assert settings == theirs


def test_settings_that_cannot_be_read_stay_as_they_are(started):
    argv, settings = started("--settings", "{nonsense", "--verbose")
    assert (argv, settings) == (["--settings", "{nonsense", "--verbose"], None)


def test_hooks_are_given_as_the_options_say(started):
    assert started(opts={"hooks": {"enabled": False}}) == ([], None)


def test_nothing_is_told_of_unsaved_text_if_the_user_wants_it_so(started):
    assert started(opts={"context": {"unsaved": "off"}})[1]["hooks"].keys() == {
        "PermissionRequest",
        "Elicitation",
        "MessageDisplay",
        "PostToolBatch",
    }


def test_what_waits_is_listed_and_gone_to(lab):
    nvim, client = lab
    nvim.keep_notices()
    nvim.cmd("Claude decide")
    nvim.wait_notice("Claude is not waiting for you.")
    call = asked(nvim, client, command="make it")
    nvim.keys("q")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the question to be put aside")
    diff = client.start_call("openDiff", old_file_path=str(nvim.project / "a.txt"), new_file_contents="two\n")
    nvim.wait("Ide.proposal.count() == 1", what="the diff")
    nvim.wait_kind("proposal")
    nvim.answer(1)
    nvim.cmd("Claude decide")
    nvim.wait_kind("question")
    assert nvim.asked()[0]["lines"] == ["Claude wants to use Bash: make it", "A change to a.txt"]
    nvim.keys("y")
    assert output(client, call) == {"behavior": "allow"}
    nvim.wait_kind("proposal")
    client.cancel(diff)


def groups_at(nvim, row):
    """The highlights of a line: marks, and syntax."""
    return nvim.lua(
        """
        local row, found = ..., {}
        for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, -1, { row, 0 }, { row, -1 }, { details = true })) do
          found[#found + 1] = mark[4].hl_group
        end
        for col = 1, #vim.fn.getline(row + 1) do
          found[#found + 1] = vim.fn.synIDattr(vim.fn.synID(row + 1, col, 1), "name")
        end
        return found
        """,
        row,
    )


def test_a_command_has_the_colours_of_a_shell_and_a_mark_where_it_destroys(lab):
    nvim, client = lab
    nvim.cmd("syntax on")
    call = asked(nvim, client, command='for a in *; do\n  rm -rf "$a"\ndone', zone="for a")
    nvim.wait_screen("Claude wants to use Bash · destructive: rm -rf")
    (title,) = nvim.lua("return vim.api.nvim_win_get_config(0).title")
    assert title[1] == "ClaudeTranscriptFailed"
    for row, shell in ((0, True), (1, True), (3, False)):
        coloured = [group for group in groups_at(nvim, row) if group.startswith(("sh", "@"))]
        assert bool(coloured) == shell, (row, coloured)
    nvim.keys("n")
    output(client, call)
    call = asked(nvim, client, command="ls")
    (title,) = nvim.lua("return vim.api.nvim_win_get_config(0).title")
    assert title == [" Claude wants to use Bash ", "FloatTitle"]
    nvim.keys("n")
    output(client, call)


def test_hooks_are_written_beside_what_is_there_and_taken_out_again(lab):
    nvim, client = lab
    path = nvim.project / ".claude/settings.local.json"
    nvim.cmd("Claude hooks")
    shown = "\n".join(nvim.lines())
    nvim.keys("q")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'", what="the text to go")
    nvim.cmd("Claude hooks write")
    written = path.read_text()
    assert written in shown
    assert tools_of(json.loads(written)) == [OURS] and tools_of(json.loads(written), "Elicitation") == ["hook_form"]
    given = set(json.loads(nvim.lua(GIVEN))["hooks"])
    assert given == {"PreToolUse", "MessageDisplay", "PostToolBatch"}, "no CLI has them twice"
    nvim.cmd("Claude hooks remove")
    assert not path.exists()
    theirs = '{"permissions" : {"allow":["Bash(ls)"]},\n   "hooks":{"PermissionRequest":[]} }'
    path.write_text(theirs)
    path.chmod(0o640)
    for _ in range(2):
        nvim.cmd("Claude hooks write")
    assert path.read_text() != theirs and json.loads(path.read_text())["permissions"] == {"allow": ["Bash(ls)"]}
    assert path.stat().st_mode & 0o777 == 0o640
    nvim.cmd("Claude hooks remove")
    assert path.read_text() == theirs
    nvim.keep_notices()
    path.write_text("// mine\n{}")
    nvim.cmd("Claude hooks write")
    nvim.wait_notice("stays as it is: it is no valid JSON")
    assert path.read_text() == "// mine\n{}"
    for command in ("write", "remove"):
        path.write_bytes(b'{"env": {"NAME": "Jos\xe9"}}')
        nvim.cmd(f"Claude hooks {command}")
        nvim.wait_notice("stays as it is: it is not UTF-8")
        assert path.read_bytes() == b'{"env": {"NAME": "Jos\xe9"}}'
        nvim.lua("notices = {}")
    path.unlink()
    path.symlink_to("nowhere.json")
    nvim.cmd("Claude hooks write")
    nvim.wait_notice("it is a link to a file that does not exist")
    assert path.is_symlink() and not path.exists()
    nvim.lua("Ide.config.get().hooks.enabled = false")
    assert output(client, ask(client, command="make it")) is None, "a file may still have them"


GIVEN = """
local hooks = select(2, Ide.hooks.of({ "claude" }, {}, vim.fn.getcwd()))
return table.concat(vim.fn.readfile(hooks[1]:match("=(.*)")), "\\n")
"""


def test_what_claude_is_told_of_a_file_is_found_by_its_new_name(nvim):
    nvim.cmd("edit a.txt")
    command = nvim.lua("""
      folder = Ide.hook_folder
      local hooks = folder.hooks(false).PreToolUse
      folder.note(vim.api.nvim_get_current_buf(), "unsaved")
      return hooks[1].hooks[1].command
    """)
    listed = Path(re.search(r"cd '([^']+)'", command)[1]) / "files"
    assert "/a.txt" in listed.read_text()
    before = listed.stat().st_ino
    nvim.lua("folder.note(vim.api.nvim_get_current_buf(), 'more unsaved')")
    assert listed.stat().st_ino == before, "the list is the same"
    nvim.cmd("file b.txt")
    nvim.lua("folder.note(vim.api.nvim_get_current_buf(), 'unsaved, too')")
    assert "/b.txt" in listed.read_text() and "/a.txt" not in listed.read_text()
    for path, said in ((f"{nvim.project}/b.txt", "unsaved, too"), (f"{nvim.project}/a.txt", None)):
        assert reported(command, path) == said
    nvim.lua("folder.note(vim.api.nvim_get_current_buf(), nil)")
    assert not listed.exists()
    assert reported(command, f"{nvim.project}/b.txt") is None
    listed.parent.rmdir()
    assert reported(command, f"{nvim.project}/b.txt") is None, "silent without the folder"


def test_what_claude_is_told_of_a_file_is_found_by_the_name_of_a_link(nvim):
    command = nvim.lua(SAVING, "a.txt")
    nvim.lua("folder.note(vim.api.nvim_get_current_buf(), 'unsaved')")
    links = {"link.txt": "a.txt", "it's $(a) link.txt": "a.txt", "it's $(a) folder": ".", "-folder": "link.txt/.."}
    for name, target in links.items():
        (nvim.project / name).symlink_to(target)
    for name in ("link.txt", "it's $(a) link.txt", "it's $(a) folder/a.txt", "it's $(a) folder/link.txt", "./a.txt"):
        assert reported(command, f"{nvim.project}/{name}") == "unsaved", name
    for name in ("b.txt", "none/a.txt", "-folder/a.txt", "a.txt/a.txt", "it's $(a) folder/b.txt"):
        assert reported(command, f"{nvim.project}/{name}") is None, name


SAVING = """
vim.cmd.edit(...)
require("claude-ide").connect()
folder = Ide.hook_folder
local hooks = folder.hooks(false).PreToolUse
Ide.unsaved.attach()
return hooks[1].hooks[1].command
"""
NOTED = "#Ide.hook_folder.texts() == 1"


@pytest.fixture
def saving(start_nvim):
    """A Neovim with unsaved text in a.txt, and the command of a hook that has it saved."""

    def saving(unsaved="save"):
        opts = {"context": {"unsaved": unsaved}}
        nvim = start_nvim(files={"a.txt": "one\n"}, opts=opts, notices=True)
        command = nvim.lua(SAVING, "a.txt")
        nvim.keys("oUNSAVED<Esc>")
        nvim.wait(NOTED, what="the note")
        return nvim, command

    return saving


def test_a_save_for_claude_that_fails_is_said_and_claude_is_told_the_text(saving):
    nvim, command = saving()
    nvim.lua("vim.bo.readonly = true")
    assert "+UNSAVED" in reported(command, nvim.project / "a.txt")
    nvim.wait_notice("a.txt is not saved for Claude: E45")


@pytest.mark.slow
@pytest.mark.parametrize("foreign", [False, True], ids=["", "and another program writes"])
def test_claude_waits_for_a_formatter_and_what_others_wrote_meanwhile_stays(saving, foreign):
    nvim, command = saving()
    path = nvim.project / "a.txt"
    nvim.lua(
        """
        local is_foreign = ...
        vim.api.nvim_create_autocmd("BufWritePre", { callback = function()
          vim.uv.sleep(3500)
          vim.api.nvim_buf_set_lines(0, 0, 1, false, { "formatted" })
          if is_foreign then vim.fn.writefile({ "theirs" }, "a.txt") end
        end })
        """,
        foreign,
    )
    said = reported(command, path)
    if foreign:
        nvim.wait_notice("a.txt is not saved for Claude: it has changed on disk meanwhile")
        assert path.read_text() == "theirs\n" and nvim.lines() == ["formatted", "UNSAVED"]
        nvim.keys("<Esc>")
        nvim.wait("vim.api.nvim_get_mode().mode == 'n' and not vim.api.nvim_get_mode().blocking")
    else:
        assert (said, path.read_text()) == (None, "formatted\nUNSAVED\n")


def test_nothing_is_saved_for_whoever_writes_in_the_folder_where_the_user_wants_it_told(saving):
    nvim, command = saving("tell")
    folder = Path(re.search(r"cd '([^']+)'", command)[1])
    asked = folder / f"save.{nvim.lua('return vim.api.nvim_get_current_buf()')}"
    asked.touch()
    nvim.wait(lambda: not asked.exists(), what="the file to be looked at")
    assert (nvim.project / "a.txt").read_text() == "one\n" and nvim.lua("return vim.bo.modified")


def reported(command, path):
    """What a hook's command says of a call, as the CLI runs it."""
    call = {"tool_name": "Write", "tool_input": {"file_path": str(path), "content": "x" * 100_000}}
    ran = subprocess.run(
        ["/bin/sh", "-c", command], input=json.dumps(call, separators=(",", ":")), text=True, capture_output=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    if not ran.stdout:
        return None
    output = json.loads(ran.stdout)["hookSpecificOutput"]
    assert set(output) == {"hookEventName", "additionalContext"}, (
        "no updatedInput: auto mode runs no script that it changed"
    )
    return output["additionalContext"]


def test_unsaved_text_in_another_encoding_is_compared_as_it_is_read(nvim):
    (nvim.project / "latin1.txt").write_bytes("grün\nblau\n".encode("latin-1"))
    nvim.cmd("edit latin1.txt")
    nvim.keys("Gorot<Esc>")
    nvim.wait(lambda: nvim.lines()[-1] == "rot" and nvim.mode() == "n")
    diff = nvim.lua("return Ide.patch_text.of_unsaved(0, 1)")
    assert diff == "@@ -2 +2,2 @@\n blau\n+rot\n"
