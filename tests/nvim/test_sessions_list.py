"""`:Claude sessions`: the list, the actions on a session, and the message when one is impossible."""

import re
from datetime import UTC, datetime, timedelta

import pytest

pytestmark = pytest.mark.dealt

# `lists` records every list shown; `answers` are the numbers chosen from them, in order.
PICKER = """
lists, answers, notices, read = {}, {}, {}, {}
vim.notify = function(message) notices[#notices + 1] = message end
vim.ui.select = function(items, opts, on_choice)
  local lines = vim.tbl_map(opts.format_item or tostring, items)
  lists[#lists + 1] = { prompt = opts.prompt, kind = opts.kind, lines = lines }
  preview = opts.preview_item and opts.preview_item(items[1])
  local answer = table.remove(answers, 1)
  if answer then on_choice(items[answer], answer) else on_choice(nil) end
end
package.preload[Ide("transcript")] = function()
  return { open = function(what, at) read[#read + 1] = { what, at } end }
end
"""
# A CLI that prints its arguments and its folder.
CLI = 'while case $1 in --mcp-config=*|--settings=*|--plugin-dir=*) ;; *) false;; esac; do shift; done; echo "args: $*"; echo "in: ${PWD##*/}"; exec sleep 600'
"""Without the arguments for the editor's tools."""
ECHO = {"terminal": {"command": ["sh", "-c", CLI, "--"], "size": 100}}


@pytest.fixture
def start(start_nvim, tmp_path):
    def start(picker=PICKER, opts=ECHO, **more):
        return start_nvim(opts=opts, init_lua=picker, **more)

    return start


def choose(nvim, *answers, command="Claude sessions"):
    """Runs the command, answers its lists, and returns all lists so far."""
    before = nvim.lua("answers = { ... } return #lists", *answers)
    nvim.cmd(command)
    nvim.wait(f"#lists > {before} and #answers == 0", what="the list")
    return nvim.lua("return lists")


# ── the list ──


def test_lists_the_sessions_of_the_project_newest_first_whatever_else_lies_there(start, sessions, project, tmp_path):
    (project / "sub").mkdir()
    (tmp_path / "other").mkdir()
    sessions.write(project, ("Explain the build", "ok"), age=timedelta(days=3), branch="feature/x")
    sessions.write(project, ("fix it", "ok"), title="The parser")
    sessions.write(project / "sub", ("below", "ok"), age=timedelta(days=20))
    sessions.write(tmp_path / "other", ("elsewhere", "ok"))
    folder = sessions.folder(project)
    (folder / "broken.jsonl").write_text('{"type":"user","mess')
    (folder / "newer.jsonl").write_text('{"kind":"v9"}\n[1,2]\n"text"\n')
    (folder / "empty.jsonl").write_text("")
    (folder / "a-folder.jsonl").mkdir()
    (shown,) = choose(start())
    assert shown["prompt"] == "Claude sessions of this project"
    assert shown["kind"] == "claude_sessions"
    assert shown["lines"] == [
        "2h  main       The parser         fix it",
        "3d  feature/x  Explain the build",
        "2w  main       below",
    ]


def test_lists_those_of_all_projects_with_their_folders(start, sessions, project, tmp_path):
    (tmp_path / "o").mkdir()
    sessions.write(tmp_path / "o", ("elsewhere", "ok"), branch=None)
    sessions.write(project, ("here", "ok"), age=timedelta(days=3), branch=None)
    (shown,) = choose(start(), command="Claude sessions all")
    assert shown["prompt"] == "Claude sessions of all projects"
    assert [re.split(r"\s{2,}", line) for line in shown["lines"]] == [
        ["2h", shown["lines"][0].split()[1], "elsewhere"],
        ["3d", shown["lines"][1].split()[1], "here"],
    ]
    assert shown["lines"][0].split()[1].endswith("/o")


def test_a_running_session_says_what_it_does(start, sessions, project):
    waiting = sessions.write(project, ("one", "ok"))
    sessions.write(project, ("two", "ok"), age=timedelta(days=1))
    sessions.record(sessions.sleeper(), waiting, "waiting", project, waitingFor="permission prompt")
    nvim = start()
    nvim.wait("#require('claude-ide').sessions.live() == 1", what="the record to be seen")
    (shown,) = choose(nvim)
    assert shown["lines"] == ["2h  waiting: permission  main  one", "1d                       main  two"]


def test_a_name_that_only_the_process_has_is_shown_and_found(start, sessions, project):
    named = sessions.write(project, ("one", "ok"))
    sessions.write(project, ("two", "ok"), age=timedelta(days=1))
    sessions.record(sessions.sleeper(), named, "idle", project, name="The parser")
    nvim = start()
    nvim.wait("#require('claude-ide').sessions.live() == 1", what="the record to be seen")
    line = "2h  idle  main  The parser  one"
    shown, actions = choose(nvim, 1, command="Claude sessions the parser")
    assert (shown["lines"], actions["prompt"]) == ([line], "The parser")
    nvim.cmd("Claude sessions read The parser")
    nvim.wait("#read == 1", what="its transcript")
    assert nvim.lua("return read[1][1].file") == str(sessions.path(project, named))


def test_the_state_of_a_session_in_two_processes_is_that_of_the_one_that_waits(start, sessions, project):
    session = sessions.write(project, ("one", "ok"))
    now = int(datetime.now(UTC).timestamp() * 1000)
    for status, since in ("waiting", now - 60_000), ("idle", now):
        sessions.record(sessions.sleeper(), session, status, project, statusUpdatedAt=since)
    nvim = start()
    nvim.wait("#require('claude-ide').sessions.live() == 2", what="the records to be seen")
    assert choose(nvim)[0]["lines"] == ["2h  waiting  main  one"]


@pytest.mark.every_nvim
def test_the_lines_are_aligned_and_fit_the_screen(start, sessions, project):
    sessions.write(
        project, ("漢字のタイトルはとても長いので切らなければならない、それでも揃っているべきだ", "ok"), branch="漢字"
    )
    sessions.write(project, ("An ordinary title " * 8, "ok"), age=timedelta(days=20), branch="b" * 40)
    nvim = start(picker="")
    nvim.cmd("set columns=80")
    nvim.keys(":Claude sessions<CR>")
    nvim.wait_screen("<CR> choose")
    lines = [found[1] for line in nvim.drawn() if (found := re.search(r"│(\d  .*?) *│", line))]
    assert lines == [
        "1  2h  漢字                  漢字のタイトルはとても長いので切らなければなら…",
        f"2  2w  {'b' * 19}…  An ordinary title An ordinary title An ordinar…",
    ]
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the list to be gone")


@pytest.mark.every_nvim
def test_a_list_that_is_longer_than_the_screen_is_scrolled(start, sessions, project):
    for number in range(50):
        sessions.write(project, (f"session {number:02}", "ok"), age=timedelta(minutes=number))
    nvim = start(picker="")
    nvim.keys(":Claude sessions<CR>")
    nvim.wait_screen("session 00")
    assert "session 40" not in "\n".join(nvim.screen())
    nvim.keys("G")
    nvim.wait_screen(re.compile(r"50  \d+m  main  session 49"))  # the minutes go on
    nvim.keys("q")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="the list to be gone")


@pytest.mark.parametrize(
    ("deferred", "command", "is_there"),
    [
        ("load", "Claude sessions", "#lists == 1"),
        ("load", "Claude sessions resume", "#lists == 1"),
        ("find", "Claude sessions resume aaaa", "vim.fn.mode() == 't'"),
        ("find", "Claude sessions resume nothing one", "vim.fn.mode() == 't'"),
        ("find", "lua require('claude-ide').sessions.resume('aaaa')", "vim.fn.mode() == 't'"),
    ],
)
def test_what_takes_long_does_not_come_into_what_is_typed(start, sessions, project, deferred, command, is_there):
    sessions.write(project, ("nothing but one", "ok"), id="aaaa1111-0000-4000-8000-000000000000")
    nvim = start()
    nvim.lua(
        """
        local name, catalogue = ..., Ide.sessions_catalogue
        local ask = catalogue[name]
        catalogue[name] = function(what, done)
          return ask(what, function(...)
            local reported = { ... }
            deliver = function() done(unpack(reported)) end
          end)
        end
        """,
        deferred,
    )
    nvim.keys(f":{command}<CR>ihello")
    nvim.wait("deliver ~= nil and vim.fn.mode() == 'i' and vim.fn.getline(1) == 'hello'", what="what is typed")
    nvim.lua("deliver()")
    nvim.keys(" you")
    nvim.wait("vim.fn.getline(1) == 'hello you'", what="what is typed then")
    assert nvim.lua(f"return {is_there}") is False
    nvim.keys("<Esc>")
    nvim.wait(is_there, what="it to come")


def test_a_project_without_sessions_says_so(start, sessions):
    nvim = start()
    nvim.cmd("Claude sessions")
    nvim.wait_notice("This project has no sessions yet. `:Claude sessions all` lists those of all projects.")
    nvim.cmd("Claude sessions all")
    nvim.wait_notice("There are no sessions yet.")


def test_a_folder_that_cannot_be_listed_is_named(start, sessions):
    sessions.config.mkdir(parents=True)
    (sessions.config / "projects").write_text("no folder")
    nvim = start()
    nvim.cmd("Claude sessions all")
    nvim.wait_notice("The sessions cannot be listed: ")


def test_a_picker_with_a_preview_shows_what_is_known(start, sessions, project):
    session = sessions.write(project, ("the first prompt", "ok"), ("the last prompt", "ok"), title="The parser")
    nvim = start()
    choose(nvim)
    text = "\n".join(nvim.lua("return vim.api.nvim_buf_get_lines(preview.buf, 0, -1, false)"))
    assert text.startswith("# The parser\n")
    for part in (
        f"- Session: {session}",
        "- Model: claude-test-1",
        "the first prompt",
        "the last prompt",
        "- Branch: main",
    ):
        assert part in text


# ── what can be done ──


def test_offers_actions_and_reads_by_default(start, sessions, project):
    session = sessions.write(project, ("one", "ok"), title="The parser")
    nvim = start()
    _, actions = choose(nvim, 1, 1)
    assert actions == {
        "prompt": "The parser",
        "kind": "claude_session_action",
        "lines": [
            "Read it",
            "Resume it in the terminal",
            "Fork it: continue in a copy",
            "Copy its id",
            "Export it as Markdown",
            "Rename it",
            "Keep a copy, which does not expire",
        ],
    }
    assert nvim.lua("return read[1][1].file") == str(sessions.path(project, session))


def test_copies_the_id_and_goes_on_in_the_folder_where_it_began(start, sessions, project):
    (project / "sub").mkdir()
    session = sessions.write(project / "sub", ("one", "ok"))
    nvim = start()
    choose(nvim, 1, 4)
    nvim.wait(lambda: nvim.lua("return vim.fn.getreg('\"')") == session)
    nvim.wait_notice(f"Copied {session}")
    choose(nvim, 1, 2)
    nvim.wait_screen(f"args: --resume {session}")
    nvim.wait_screen("in: sub")
    choose(nvim, 1, 3, 2)  # another one runs: it ends
    nvim.wait_screen(f"args: --resume {session} --fork-session")


def test_asks_before_it_ends_the_cli_that_runs(start, sessions, project):
    session = sessions.write(project, ("one", "ok"), title="The parser")
    nvim = start()
    nvim.cmd("Claude")
    nvim.wait_screen("args:")
    nvim.wait("vim.fn.mode() == 't'")
    nvim.keys(r"<C-\><C-n>")
    nvim.wait("vim.fn.mode() == 'n'")
    asked = choose(nvim, 1, 2, 1)[-1]
    assert asked["prompt"] == "Claude is already running"
    assert asked["lines"] == [
        "Keep it",
        "End it and resume “The parser”",
        "Keep it and resume “The parser” in another terminal",
    ]
    assert session not in "\n".join(nvim.screen())
    pid = nvim.lua("return vim.b[Ide.terminal.bufnr()].terminal_job_pid")
    sessions.record(pid, "other", "busy", project)
    nvim.wait("Ide.terminal.session() ~= nil", what="the record to be seen")
    assert choose(nvim, 1, 2, 2)[-1]["prompt"] == "Claude is already running (working)"
    nvim.wait_screen(f"args: --resume {session}")


def test_a_session_that_runs_elsewhere_is_not_resumed_without_a_word(start, sessions, project):
    session = sessions.write(project, ("one", "ok"))
    pid = sessions.sleeper()
    sessions.record(pid, session, "busy", project)
    nvim = start()
    nvim.wait("#require('claude-ide').sessions.live() == 1", what="the record to be seen")
    asked = choose(nvim, 1, 2)[-1]
    assert asked["prompt"] == f"This session runs in another terminal (pid {pid}, working)"
    assert asked["lines"] == ["Fork it: continue in a copy", "Resume it here too"]
    assert nvim.lua("return Ide.terminal.is_running()") is False
    choose(nvim, 1, 2, 1)
    nvim.wait_screen(f"args: --resume {session} --fork-session")


@pytest.mark.parametrize("command", ["Claude sessions resume", "Claude chat --resume"])
def test_one_that_runs_elsewhere_is_known_from_the_first_moment(start, sessions, project, command):
    session = sessions.write(project, ("one", "ok"))
    pid = sessions.sleeper()
    sessions.record(pid, session, "busy", project)
    for number in range(3000):  # reading them takes a while
        (sessions.config / f"sessions/{number + 10_000_000}.json").write_text("{}")
    nvim = start()
    nvim.cmd(f"{command} {session}")
    nvim.wait("#lists == 1", what="the question")
    assert nvim.lua("return lists[1].prompt").startswith(f"This session runs in another terminal (pid {pid}")


def test_the_session_in_the_terminal_is_gone_to(start, sessions, project):
    session = sessions.write(project, ("one", "ok"))
    nvim = start()
    nvim.cmd("Claude")
    nvim.wait_screen("args:")
    pid = nvim.lua("return vim.b[Ide.terminal.bufnr()].terminal_job_pid")
    nvim.cmd("Claude hide")
    sessions.record(pid, session, "idle", project)
    nvim.wait("Ide.terminal.session() ~= nil", what="the record to be seen")
    actions = choose(nvim, 1, 2)[-1]
    assert actions["lines"][1] == "Go to its terminal"
    nvim.wait("Ide.terminal.is_visible()")
    assert nvim.lua("return vim.b.terminal_job_pid") == pid


@pytest.mark.parametrize("way", ["terminal", "chat"])
def test_a_session_whose_folder_is_gone_goes_on_elsewhere_only_if_the_user_says_so(start, sessions, project, way):
    gone = project / "gone"
    gone.mkdir()
    session = sessions.write(gone, ("one", "ok"), title="The parser")
    gone.rmdir()
    nvim = start()
    runs = "return Ide.terminal.is_running() or #Ide.chat.list() > 0"
    command = "Claude sessions resume" if way == "terminal" else "Claude chat --resume"
    (asked,) = choose(nvim, 2, command=f"{command} {session}")
    assert asked["prompt"].startswith("“The parser” began in ")
    assert asked["prompt"].endswith("/project/gone, which is gone")
    here, leave = asked["lines"]
    assert (here.startswith("Continue in "), here.endswith("/project"), leave) == (True, True, "Leave it")
    assert nvim.lua(runs) is False
    choose(nvim, 1, command=f"{command} {session}")
    if way == "terminal":
        nvim.wait_screen(f"args: --resume {session}")
        nvim.wait_screen("in: project")
    else:
        nvim.wait(lambda: nvim.lua("return (Ide.chat.list()[1] or {}).cwd") == str(project))


# ── for scripts and maps ──


@pytest.mark.parametrize("call", ["Claude sessions read %s", "lua require('claude-ide').sessions.read('%s')"])
def test_a_session_is_named_by_the_beginning_of_its_id(start, sessions, project, call):
    session = sessions.write(project, ("one", "ok"), id="aaaa1111-0000-4000-8000-000000000000")
    sessions.write(project, ("two", "ok"), id="aaaa2222-0000-4000-8000-000000000000")
    nvim = start()
    nvim.cmd(call % "aaaa1")
    nvim.wait("#read == 1")
    assert nvim.lua("return read[1][1].file") == str(sessions.path(project, session))
    nvim.cmd(call % "aaaa")
    if call.startswith("lua"):
        nvim.wait_notice("2 sessions begin with aaaa.")
    else:
        nvim.wait("#lists == 1", what="the list of those that are meant")
        assert len(nvim.lua("return lists[1].lines")) == 2
    nvim.cmd(call % "bbbb")
    nvim.wait_notice("No session matches bbbb.")


def test_words_find_sessions_by_title_prompt_and_branch(start, sessions, project):
    sessions.write(project, ("Explain the build", "ok"), branch="feature/x")
    sessions.write(project, ("one", "ok"), ("then the Parser again", "ok"), age=timedelta(days=1))
    sessions.write(project, ("two", "ok"), title="The parser", age=timedelta(days=2))
    nvim = start()
    (shown,) = choose(nvim, command="Claude sessions parser")
    assert shown["prompt"] == "Claude sessions of this project: parser"
    assert [line.split("main")[-1].strip() for line in shown["lines"]] == [
        "one         then the Parser again",
        "The parser  two",
    ]
    assert len(choose(nvim, command="Claude sessions the parser")[-1]["lines"]) == 2
    assert len(choose(nvim, command="Claude sessions all feature")[-1]["lines"]) == 1
    nvim.cmd("Claude sessions foo")
    nvim.wait_notice("No session of this project matches: foo. `:Claude sessions all foo` looks in all.")


def test_an_action_without_an_id_is_done_with_the_session_that_is_chosen(start, sessions, project):
    session = sessions.write(project, ("one", "ok"), title="The parser")
    nvim = start()
    (shown,) = choose(nvim, 1, command="Claude sessions read")
    assert shown["prompt"] == "Read a session of this project"
    nvim.wait("#read == 1", what="the transcript")
    nvim.cmd(r"Claude sessions read The\ parser")
    nvim.wait("#read == 2", what="the transcript by its title")
    nvim.cmd("Claude sessions read pars")
    nvim.wait("#read == 3", what="the transcript by a word")
    nvim.cmd("Claude sessions read nothing")
    nvim.wait_notice("No session matches nothing.")
    assert {what["file"] for what, _ in nvim.lua("return vim.tbl_map(function(r) return { r[1], 0 } end, read)")} == {
        str(sessions.path(project, session))
    }


def test_each_action_without_an_id_shows_the_list_for_it(start, sessions, project):
    session = sessions.write(project, ("one", "ok"))
    nvim = start()
    nvim.lua("""
      acted = {}
      Ide.session_actions.run = function(name, item) acted[#acted + 1] = { name, item.summary.id } end
    """)
    for count, action in enumerate(("resume", "fork", "export"), 1):
        shown = choose(nvim, 1, command=f"Claude sessions {action}")[-1]
        assert shown["prompt"] == f"{action.capitalize()} a session of this project"
        nvim.wait(f"#acted == {count}")
        assert nvim.lua("return acted[#acted]") == [action, session]


def test_in_a_transcript_an_action_is_done_with_its_session(start, sessions, project):
    sessions.write(project, ("newer", "ok"))
    session = sessions.write(project, ("older", "ok"), age=timedelta(days=1))
    nvim = start(picker="notices = {} vim.notify = function(message) notices[#notices + 1] = message end")
    nvim.cmd(f"Claude transcript {session}")
    nvim.wait_screen("older")
    nvim.cmd("Claude sessions copy")
    nvim.wait(lambda: nvim.lua("return vim.fn.getreg('\"')") == session)


def test_a_fork_is_named_as_one_and_a_session_in_which_only_a_subagent_spoke_does_not_count(start, sessions, project):
    side = sessions.path(project, sessions.write(project, ("look around", "ok")))
    side.write_text(side.read_text().replace('"isSidechain":false', '"isSidechain":true'))
    fork = sessions.path(project, sessions.write(project, ("first", "ok"), ("last", "ok")))
    fork.write_text(fork.read_text().replace('"gitBranch"', '"session_id":"other","gitBranch"'))
    (line,) = choose(start())[0]["lines"]
    assert line.split("  main  ")[1] == "fork: first  last"


def test_actions_and_titles_are_completed(start, sessions, project):
    session = sessions.write(project, ("one", "ok"), title="The parser")
    nvim = start()

    def completed(line):
        return nvim.lua("return vim.fn.getcompletion(..., 'cmdline')", line)

    # Completion does not wait long for the list: once it came in time, it may be late the next time.
    def wait_completed(line, *expected):
        nvim.wait(lambda: completed(line) == list(expected), what=f"the completion of {line!r}")

    assert completed("Claude sessions ") == [
        "all",
        "read",
        "resume",
        "fork",
        "copy",
        "export",
        "rename",
        "keep",
        "unkeep",
        "stop",
    ]
    assert completed("Claude sessions re") == ["read", "resume", "rename"]
    wait_completed("Claude sessions Th", r"The\ parser")
    wait_completed("Claude sessions resume ", r"The\ parser")
    wait_completed(f"Claude sessions resume {session[:5]}", session)
    assert completed(f"Claude sessions resume {session} ") == []
    assert completed("Claude sessions all ") == []
    assert completed("Claude sessions rename ") == []
    wait_completed("Claude transcript ", session)
