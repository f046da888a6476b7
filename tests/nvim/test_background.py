"""Sessions that work when Neovim quits: the question, the background, and the next Neovim of the project.

The CLI is a stand-in: `harness/fake_cli.py`; `tests/e2e/test_background_real_cli.py` has the real one.
"""

import json
import os
import re

import pytest
from test_terminals import leave, open_one, report

STAY, KEEP, END = 1, 2, 3


@pytest.fixture
def at_work(start_nvim, fake, sessions):
    """Neovim with a file, and a terminal whose CLI works on a session."""

    def begin(command="Claude new parser", stored=True, **more):
        nvim = start_nvim(
            **{"env": fake.environment(), "files": {"a.txt": "one\n", "b.txt": "b\n"}, "args": ["a.txt"], **more}
        )
        open_one(nvim, fake, command)
        nvim.session = sessions.write(nvim.project, ("fix it", "ok"), title="parser")
        report(nvim, fake, sessions, 0, nvim.session, "busy", name="parser")
        if stored:
            sessions.ask(nvim.project, nvim.session, "go on")
        return nvim

    return begin


def take_over(nvim, fake, sessions):
    """The session is in the background."""
    nvim.wait(lambda: "--bg" in fake.starts()[-1]["argv"], what="the CLI to be told")
    sessions.record(sessions.sleeper(), nvim.session, "busy", nvim.project, kind="bg", jobId=nvim.session[:8])
    nvim.terminal.wait_exit()


def quit_with(nvim, keys):
    nvim.lua("asked = {}")
    nvim.keys(keys)
    nvim.wait("#asked == 1", what=f"the question after {keys}")
    (asked,) = nvim.asked()
    return asked


@pytest.mark.every_nvim
def test_each_way_to_quit_asks_once_and_staying_changes_nothing(at_work):
    nvim = at_work()
    nvim.cmd("Claude hide")
    nvim.answer(*([STAY] * 9))
    before = nvim.lua("return { vim.api.nvim_list_wins(), vim.api.nvim_list_bufs(), vim.fn.bufnr('#') }")
    for keys in (":qa<CR>", ":q<CR>", "ZZ", ":wqa<CR>", ":x<CR>", ":set confirm<CR>:qa<CR>", ":bufdo quitall<CR>"):
        asked = quit_with(nvim, keys)
        assert asked["prompt"] == "parser works"
        assert asked["lines"] == [
            "Stay in Neovim",
            "Quit, and continue it in the background",
            "Quit, and end it",
        ]
        nvim.wait("vim.api.nvim_get_mode().mode == 'n'", what="a normal Neovim")
        after = nvim.lua("return { vim.api.nvim_list_wins(), vim.api.nvim_list_bufs(), vim.fn.bufnr('#') }")
        assert after == before, keys
    assert nvim.lua("return vim.o.confirm")
    assert nvim.lua("return Ide.terminal.is_running()")


@pytest.mark.every_nvim
def test_the_question_is_on_the_screen_and_enter_stays(at_work):
    nvim = at_work()
    nvim.keys(":qa<CR>")
    nvim.wait_screen("parser works")
    nvim.wait_screen("Quit, and end it")
    assert "E162" not in nvim.screen()
    nvim.keys("<CR>")
    nvim.wait("vim.fn.bufname() == 'a.txt'", what="the file")


# Like plugins that show messages as notifications.
SHOWS_MESSAGES = """
errors = {}
vim.ui_attach(vim.api.nvim_create_namespace("messages"), { ext_messages = true }, function(event, kind, content)
  if event == "msg_show" and (kind or ""):find("^emsg") then errors[#errors + 1] = vim.inspect(content) end
end)
"""


@pytest.mark.every_nvim
def test_the_question_leaves_no_error_where_plugins_show_messages(at_work):
    nvim = at_work()
    nvim.cmd("Claude hide")
    nvim.lua(SHOWS_MESSAGES)
    nvim.answer(*([STAY] * 9))
    before = nvim.lua("return { vim.api.nvim_list_wins(), vim.api.nvim_list_bufs(), vim.fn.getwininfo()[1].height }")
    nvim.cmd("let mapleader = ' ' | nnoremap <leader>qq <cmd>qa<cr>")
    for keys in (":qa<CR>", ":q<CR>", ":x<CR>", "ZZ", " qq", ":tabnew<CR>:qa<CR>", ":tabclose<CR>:qa<CR>"):
        quit_with(nvim, keys)
        assert nvim.lua("return errors") == [], keys
    after = nvim.lua("return { vim.api.nvim_list_wins(), vim.api.nvim_list_bufs(), vim.fn.getwininfo()[1].height }")
    assert after[0] == before[0] and after[2] == before[2]
    assert nvim.lua("return { vim.o.showtabline, vim.fn.bufname() }") == [1, "a.txt"]


@pytest.mark.every_nvim
@pytest.mark.parametrize("keys", [":qa!<CR>", "ZQ:qa!<CR>", ":cq<CR>", " qq", " qx"])
def test_a_quit_that_is_meant_is_not_asked_about(at_work, keys):
    nvim = at_work()
    nvim.cmd("nnoremap <Space>qq <Cmd>qa!<CR>| nnoremap <Space>qx <Cmd>wall<Bar>qa!<CR>")
    nvim.keys(keys)
    nvim.terminal.wait_exit()


def test_what_waits_at_exit_shows_no_question(at_work):
    nvim = at_work()
    nvim.lua("vim.ui.select = function() vim.fn.input('Asked') end")  # as Neovim's own list, it would wait for the user
    nvim.lua("vim.api.nvim_create_autocmd('VimLeavePre', { callback = function() vim.wait(100) end })")
    assert nvim.quit() == 0


def test_an_idle_one_does_not_keep_neovim(at_work, fake, sessions):
    nvim = at_work()
    report(nvim, fake, sessions, 0, nvim.session, "idle", name="parser")
    nvim.wait("Ide.terminal.list()[1]:live().state.activity == 'idle'")
    nvim.keys(":qa<CR>")
    nvim.terminal.wait_exit()
    assert len(fake.starts()) == 1


def test_one_that_waits_for_the_user_is_asked_about_and_ended(at_work, fake, sessions):
    nvim = at_work()
    report(nvim, fake, sessions, 0, nvim.session, "waiting", name="parser", waitingFor="permission prompt")
    nvim.wait("Ide.terminal.list()[1]:live().state.activity == 'waiting'")
    nvim.answer(STAY, END)
    assert quit_with(nvim, ":qa<CR>")["prompt"] == "parser waits for you"
    nvim.keys(":qa<CR>")
    nvim.terminal.wait_exit()
    assert len(fake.starts()) == 1


@pytest.mark.every_nvim
def test_unsaved_text_keeps_neovim_before_a_session_is_asked_about_or_touched(at_work, fake):
    nvim = at_work(notices=True)
    nvim.cmd("split b.txt | call setline(1, 'typed') | split a.txt")
    nvim.answer(KEEP)
    for keys in (":qa<CR>", ":set confirm<CR>:qa<CR>"):
        nvim.lua("notices = {}")
        nvim.keys(keys)
        assert 'No write since last change for buffer "b.txt"' in nvim.wait_notice("E37:")
        assert len(nvim.asked()) == (1 if "confirm" in keys else 0)
        assert nvim.lua("return Ide.terminal.is_running()")
        os.kill(fake.starts()[0]["pid"], 0)
    nvim.cmd("set noconfirm | wall")
    nvim.answer(STAY)
    assert quit_with(nvim, ":qa<CR>")["prompt"] == "parser works"


@pytest.mark.parametrize("choice", [KEEP, END])
def test_a_restart_that_was_asked_about_is_one(at_work, fake, sessions, choice):
    nvim = at_work()
    if nvim.lua("return vim.fn.exists(':restart')") == 0:
        return
    nvim.lua(
        "vim.api.nvim_create_autocmd('VimLeave', { command = 'call writefile([v:exitreason], $HOME .. \"/why\")' })"
    )
    nvim.answer(choice)
    nvim.keys(":restart<CR>")
    if choice == KEEP:
        nvim.wait(lambda: "--bg" in fake.starts()[-1]["argv"], what="the CLI to be told")
        sessions.record(sessions.sleeper(), nvim.session, "busy", nvim.project, kind="bg", jobId=nvim.session[:8])
    why = nvim.home / "why"
    nvim.terminal.wait(lambda: why.exists() and why.read_text().endswith("\n"), what="the old Neovim to end")
    assert why.read_text() == "restart\n"

    def is_over():
        nvim.keys(":qa!<CR>")
        return nvim.terminal.exit_code() is not None

    nvim.terminal.wait(is_over, what="the new Neovim to end")


@pytest.mark.every_nvim
def test_it_goes_on_in_the_background_with_its_limits(at_work, fake, sessions):
    nvim = at_work('Claude new parser --disallowedTools Bash --model opus --settings \'{"env":{"A":"b"}}\' -- do it')
    nvim.answer(KEEP)
    nvim.keys(":qa<CR>")
    take_over(nvim, fake, sessions)
    first, second = fake.starts()
    with pytest.raises(ProcessLookupError):
        os.kill(first["pid"], 0)
    settings = {"env": {"A": "b"}, "worktree": {"bgIsolation": "none"}}
    argv = second["argv"]
    assert json.loads(argv.pop(4).removeprefix("--settings=")) == settings
    assert argv == [
        *("--disallowedTools", "Bash", "--model", "opus"),
        *("--name=parser", "--bg", "--resume", nvim.session, "--reply-on-resume"),
    ]
    assert second["cwd"] == str(nvim.project)
    assert "CLAUDE_CODE_SSE_PORT" not in second["env"], "that Neovim is gone"


def quit_before_the_prompt_is_stored(nvim, patience=None):
    """Lets it go on in the background. Counts the looks at its transcript in `looks`."""
    nvim.lua(
        """
        looks = 0
        local retry, patience = Ide.retry, ...
        local until_found = retry.until_found
        function retry.until_found(look, ms, done)
          return until_found(function(answer) looks = looks + 1 look(answer) end, patience or ms, done)
        end
        """,
        *([] if patience is None else [patience]),
    )
    nvim.answer(KEEP)
    nvim.keys(":qa<CR>")


def test_a_prompt_that_the_cli_has_not_stored_is_waited_for(at_work, fake, sessions):
    nvim = at_work(stored=False)
    quit_before_the_prompt_is_stored(nvim)
    nvim.wait("looks > 1", what="the transcript to be read again")
    (only,) = fake.starts()
    os.kill(only["pid"], 0)  # it runs: else its prompt would be lost
    sessions.ask(nvim.project, nvim.session, "go on")
    take_over(nvim, fake, sessions)


@pytest.mark.parametrize("status", ["busy", "idle"])
def test_a_prompt_that_the_users_hooks_have_is_waited_for(at_work, fake, sessions, status):
    nvim = at_work()
    if status == "idle":
        report(nvim, fake, sessions, 0, nvim.session, status, name="parser")
        nvim.wait("Ide.terminal.list()[1]:live().state.activity == 'idle'")
        sessions.reply(nvim.project, nvim.session, "done")
    shown = {"busy": "✢ Working… (running UserPromptSubmit hook · 5s)", "idle": "✢ Working… (9s)"}[status]
    fake.show(f"\r\n{shown}")
    nvim.wait_screen(shown)
    quit_before_the_prompt_is_stored(nvim)
    nvim.wait("looks > 1", what="the screen to be read again")
    os.kill(fake.starts()[0]["pid"], 0)
    sessions.ask(nvim.project, nvim.session, "and test it", queued=status == "busy")
    fake.show("\r\x1b[2K")
    take_over(nvim, fake, sessions)
    more = ["and test it"] if status == "busy" else []
    assert fake.starts()[-1]["argv"][-1 - len(more) :] == ["--reply-on-resume", *more]


def test_a_prompt_that_the_users_hooks_have_let_go_is_waited_for(at_work, fake, sessions):
    nvim = at_work()
    shown = "✢ Working… (running UserPromptSubmit hook · 5s)"
    fake.show(f"\r\n{shown}")
    nvim.wait_screen(shown)
    quit_before_the_prompt_is_stored(nvim)
    nvim.wait("looks > 1", what="the screen to be read again")
    # The CLI is in time, however long this takes.
    nvim.lua("local now = vim.uv.now() vim.uv.now = function() return now end")
    fake.show("\r\x1b[2K✢ Working… (5s)")
    nvim.wait_screen(re.compile(r"Working… \(5s"))
    looks = nvim.lua("return looks")
    nvim.wait(f"looks > {looks} + 1", what="the transcript to be read again")
    os.kill(fake.starts()[0]["pid"], 0)
    sessions.ask(nvim.project, nvim.session, "and test it", queued=True)
    take_over(nvim, fake, sessions)
    assert fake.starts()[-1]["argv"][-2:] == ["--reply-on-resume", "and test it"]


def test_one_that_is_done_before_it_could_be_handed_over_is_not(at_work, fake, sessions):
    nvim = at_work(stored=False)
    quit_before_the_prompt_is_stored(nvim)
    nvim.wait("looks > 1", what="the transcript to be read again")
    sessions.record(fake.starts()[0]["pid"], nvim.session, "idle", nvim.project)
    nvim.terminal.wait_exit()
    assert len(fake.starts()) == 1


def test_one_whose_prompt_is_not_stored_in_time_keeps_neovim_and_works_on(at_work, fake):
    nvim = at_work(stored=False, notices=True)
    quit_before_the_prompt_is_stored(nvim, patience=0)
    nvim.wait_notice("parser does not continue in the background: its prompt is not stored yet")
    (only,) = fake.starts()
    os.kill(only["pid"], 0)
    assert nvim.lua("return Ide.terminal.is_running()")


def test_prompts_that_wait_for_the_end_of_the_turn_go_on_with_it(at_work, fake, sessions):
    nvim = at_work()
    for prompt in ("and test it", "then commit"):
        sessions.ask(nvim.project, nvim.session, prompt, queued=True)
    of_the_board = "Ide.outbox.send({ kind = 'board', session = ..., text = 'and push', ran = true })"
    nvim.lua(of_the_board, nvim.session)
    nvim.answer(KEEP)
    nvim.keys(":qa<CR>")
    take_over(nvim, fake, sessions)
    assert fake.starts()[-1]["argv"][-2:] == ["--reply-on-resume", "and test it\n\nthen commit\n\nand push"]


def test_with_the_option_nothing_is_asked(at_work, fake, sessions):
    nvim = at_work(opts={"terminal": {"on_quit": "background"}})
    nvim.keys(":qa<CR>")
    take_over(nvim, fake, sessions)


def test_a_cli_that_knows_no_flag_is_told_by_a_prompt(at_work, fake):
    nvim = at_work(notices=True)
    fake.refuse("error: unknown option '--reply-on-resume'")
    nvim.answer(KEEP)
    nvim.keys(":qa<CR>")
    nvim.wait(lambda: len(fake.starts()) >= 3, what="the second attempt")
    assert fake.starts()[2]["argv"][-4:] == ["--bg", "--resume", nvim.session, "Go on."]
    nvim.wait(lambda: len(fake.starts()) == 4, what="the terminal, since that failed too")


def test_where_there_is_no_background_neovim_stays_and_the_session_goes_on_here(at_work, fake, sessions):
    nvim = at_work("Claude new parser --disallowedTools Bash", notices=True)
    sessions.ask(nvim.project, nvim.session, "update", queued=True)
    fake.refuse("error: unknown option '--bg'")
    nvim.answer(KEEP)
    nvim.keys(":qa<CR>")
    assert "unknown option '--bg'" in nvim.wait_notice("parser does not continue in the background")
    nvim.wait(lambda: len(fake.starts()) == 4, what="the terminal")
    assert fake.starts()[3]["argv"] == [
        *("--name=parser", "--disallowedTools", "Bash", "--resume", nvim.session),
        " update",  # without the space the CLI would update itself
    ]


# ── the next Neovim ──


@pytest.fixture
def in_background(start_nvim, fake, sessions, project):
    """The next Neovim of a project, with a session in the background."""

    def begin(status, **more):
        (project / "a.txt").write_text("one\n")
        session = sessions.write(project, ("fix it", "ok"), title="parser", branch=None)
        pid = sessions.sleeper()
        facts = {"kind": "bg", "jobId": session[:8], "name": "parser", **more}
        sessions.record(pid, session, status, project, **facts)
        nvim = start_nvim(env=fake.environment(), args=["a.txt"], notices=True)
        nvim.session, nvim.job_pid = session, pid
        nvim.cmd("ClaudeConnect")
        nvim.wait("#require('claude-ide').sessions.live() == 1", what="the record to be seen")
        return nvim

    return begin


def choose_one(nvim):
    nvim.answer(1)
    nvim.cmd("Claude list")
    nvim.wait("#asked == 1", what="the list")
    return nvim.asked()[0]["lines"]


@pytest.mark.parametrize("status", ["idle", "busy"])
def test_one_that_another_neovim_has_taken_since_it_was_listed_is_not_resumed(in_background, fake, sessions, status):
    nvim = in_background(status)
    nvim.lua("vim.ui.select = function(items, of, done) prompt = of.prompt choose = function() done(items[1]) end end")
    nvim.cmd("Claude list")
    nvim.wait("choose ~= nil", what="the list")
    sessions.forget(nvim.job_pid)
    other = sessions.sleeper()
    sessions.record(other, nvim.session, "idle", nvim.project)
    nvim.wait(f"(require('claude-ide').sessions.live()[1] or {{}}).pid == {other}", what="the other process")
    nvim.lua("choose()")
    nvim.wait(f"prompt:find('This session runs in another terminal (pid {other}', 1, true)", what="the question")
    assert fake.starts() == []


def test_one_that_works_is_named_listed_and_attached_to(in_background, fake):
    nvim = in_background("busy")
    nvim.wait_notice("A session of Claude is in the background (working). `:Claude list` has it.")
    nvim.cmd("set columns=160")
    (line,) = choose_one(nvim)
    assert line.split()[:3] == ["2h", "working", "background"]
    nvim.wait(lambda: len(fake.starts()) == 1, what="the terminal")
    assert fake.starts()[0]["argv"] == ["attach", nvim.session[:8]]
    nvim.wait("vim.api.nvim_get_mode().mode == 't'")
    leave(nvim)
    assert nvim.lua("return Ide.terminal.session().id") == nvim.session

    # Neovim may quit: the session does not end with it.
    nvim.keys(":qa<CR>")
    nvim.terminal.wait_exit()


def test_an_idle_one_is_stopped_and_resumed_here(in_background, fake, sessions):
    nvim = in_background("idle")
    choose_one(nvim)
    nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI to be told to stop")
    assert fake.starts()[0]["argv"] == ["stop", nvim.session[:8]]
    sessions.end(nvim.job_pid)
    nvim.wait(lambda: len(fake.starts()) == 2, what="the terminal")
    assert fake.starts()[1]["argv"] == ["--name=parser", "--resume", nvim.session]
    assert fake.starts()[1]["env"]["CLAUDE_CODE_SSE_PORT"]


def test_the_board_attaches_to_it_and_stops_it(in_background, fake):
    nvim = in_background("waiting", waitingFor="permission prompt")
    nvim.cmd("Claude board")
    nvim.wait_screen("parser")
    nvim.wait("vim.fn.line('$') > 1")
    nvim.keys("i")
    nvim.wait_notice("This session cannot get a prompt: it runs in the background: write in a terminal that shows it.")
    nvim.answer(3)
    nvim.keys("x")
    nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI to be told to stop")
    assert fake.starts()[0]["argv"] == ["stop", nvim.session[:8]]
    nvim.keys("a")
    nvim.wait(lambda: len(fake.starts()) == 2, what="the terminal")
    assert fake.starts()[1]["argv"] == ["attach", nvim.session[:8]]


def test_it_can_be_stopped(in_background, fake):
    nvim = in_background("busy")
    nvim.cmd(f"Claude sessions stop {nvim.session}")
    nvim.wait(lambda: len(fake.starts()) == 1, what="the CLI to be told to stop")
    assert fake.starts()[0]["argv"] == ["stop", nvim.session[:8]]
