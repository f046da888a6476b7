"""Sessions that Claude Code deletes after a month: which go soon, and copies that stay."""

import json
import time
from datetime import timedelta

import pytest
from session_files import Sessions
from test_sessions_accounts import PICKER, choose

from harness.fake_cli import FakeCli

DAY = timedelta(days=1)


@pytest.fixture
def kept(tmp_path):
    """The folder of the copies."""
    return tmp_path / "home" / ".local" / "state" / "nvim" / "claude-ide" / "kept"


@pytest.fixture
def start(start_nvim):
    def start(**more):
        return start_nvim(init_lua=PICKER, notices=True, **more)

    return start


def settings(sessions, text):
    sessions.config.mkdir(parents=True, exist_ok=True)
    (sessions.config / "settings.json").write_text(text if isinstance(text, str) else json.dumps(text))


@pytest.mark.dealt
def test_the_list_says_what_goes_within_a_week(start, sessions, project):
    sessions.write(project, ("new", "ok"), age=22 * DAY)
    nvim = start()
    assert choose(nvim) == ["3w  main  new"], "nothing goes: no column"
    sessions.write(project, ("old", "ok"), age=26.5 * DAY)
    sessions.write(project, ("oldest", "ok"), age=31 * DAY)
    sessions.write(project, ("older", "ok"), age=28.5 * DAY)
    assert choose(nvim) == [
        "3w                     main  new",
        "3w  expires in 3 days  main  old",
        "4w  expires in 1 day   main  older",
        "4w  expires today      main  oldest",
    ]
    settings(sessions, {"cleanupPeriodDays": 60})
    assert choose(nvim)[1] == "3w  main  old"
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 28}')
    assert choose(nvim)[1] == "3w  expires in 1 day   main  old"
    for nothing in ('{"cleanupPeriodDays": 0}', '{"cleanupPeriodDays": "9"}', "{"):
        settings(sessions, nothing)
        assert choose(nvim)[3] == "4w  main  oldest", f"it deletes nothing while it has {nothing}"


def test_a_kept_session_outlives_its_file_and_is_resumed(start, sessions, project, kept, tmp_path):
    session = sessions.write(project, ("remember this", "I shall"), age=26.5 * DAY)
    cli = FakeCli(tmp_path)
    nvim = start(env=cli.environment())
    nvim.cmd(f"Claude sessions keep {session[:8]}")
    nvim.wait_notice("Kept “remember this”")
    (listed,) = choose(nvim)
    assert listed == "3w  kept  main  remember this", "once, and no warning"
    file = sessions.path(project, session)
    text = file.read_text()
    copy = kept / "projects" / file.parent.name / file.name
    assert copy.read_text() == text
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("is kept already")

    # Claude Code deletes it.
    file.unlink()
    assert choose(nvim) == ["3w  kept  main  remember this"]
    nvim.cmd(f"Claude sessions read {session}")
    nvim.wait(
        "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n'):find('I shall', 1, true)", what="the text"
    )
    nvim.cmd("Claude grep I shall")
    nvim.wait("vim.fn.getqflist()[2]", what="the hit")
    nvim.cmd(f"Claude sessions resume {session}")
    nvim.wait(lambda: len(cli.starts()) == 1, what="the CLI")
    assert session in cli.starts()[0]["argv"]
    assert file.read_text() == text
    assert time.time() - file.stat().st_mtime < 600, "else the next CLI deletes it"


@pytest.mark.dealt
def test_the_only_copy_is_removed_after_a_question(start, sessions, project, kept):
    session = sessions.write(project, ("remember this", "I shall"))
    other = sessions.write(project, ("another", "ok"), age=3 * timedelta(hours=1))
    nvim = start()
    nvim.cmd(f"Claude sessions unkeep {session}")
    nvim.wait_notice("“remember this” is not kept")
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("Kept “remember this”")
    assert choose(nvim, 1, command="Claude sessions unkeep") == ["2h  kept  main  remember this"], "only kept ones"
    nvim.wait("#lists == 2", what="the question")
    assert nvim.lua("return lists[2]") == ["Keep it", "Remove the copy"]
    assert choose(nvim)[0] == "2h  kept  main  remember this", "cancelled"
    sessions.path(project, session).unlink()
    nvim.lua("answers = { 2 }")
    nvim.cmd(f"Claude sessions unkeep {session}")
    nvim.wait_notice("Deleted “remember this”")
    assert nvim.lua("return lists[#lists]") == ["Keep it", "Delete the session"]
    assert choose(nvim) == ["3h  main  another"]
    assert list((kept / "projects").iterdir()) == []
    assert sessions.path(project, other).exists()


DELETED_MEANWHILE = """
local file = ...
vim.ui.select = function(items, _, answer)
  assert(items[2] == "Remove the copy")
  assert(vim.uv.fs_unlink(file))
  answer(items[2])
end
"""


@pytest.mark.dealt
def test_a_copy_that_is_the_only_one_by_now_is_not_removed_as_one_of_two(start, sessions, project, kept):
    session = sessions.write(project, ("remember this", "I shall"))
    nvim = start()
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("Kept “remember this”")
    nvim.lua(DELETED_MEANWHILE, str(sessions.path(project, session)))
    nvim.cmd(f"Claude sessions unkeep {session}")
    nvim.wait_notice("only the copy is left")
    assert len(list(kept.glob("projects/*/*.jsonl"))) == 1


@pytest.mark.dealt
def test_the_copy_grows_while_its_session_runs(start, sessions, project, kept):
    session = sessions.write(project, ("first", "ok"))
    pid = sessions.sleeper()
    sessions.record(pid, session, "busy", project)
    nvim = start()
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("Kept “first”")
    file = sessions.path(project, session)
    copy = kept / "projects" / file.parent.name / file.name
    sessions.reply(project, session, "second")
    sessions.record(pid, session, "idle", project)
    nvim.wait(lambda: copy.read_text() == file.read_text(), what="the copy of the turn")
    # It went on without Neovim.
    nvim.quit()
    sessions.reply(project, session, "third")
    start().lua("Ide.sessions.attach()")
    deadline = time.time() + 60
    while copy.read_text() != file.read_text():
        assert time.time() < deadline, "the next Neovim does not bring the copy up to date"


@pytest.mark.dealt
def test_a_copy_goes_on_with_its_account(start, tmp_path, project):
    work = Sessions(tmp_path)
    work.config = tmp_path / "home" / ".claude-work"
    session = work.write(project, ("paid for", "ok"))
    cli = FakeCli(tmp_path)
    nvim = start(opts={"sessions": {"config_dirs": [str(work.config)]}}, env=cli.environment())
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("Kept “paid for”")
    work.path(project, session).unlink()
    nvim.cmd(f"Claude sessions resume {session}")
    nvim.wait(lambda: len(cli.starts()) == 1, what="the CLI")
    assert cli.starts()[0]["env"]["CLAUDE_CONFIG_DIR"] == str(work.config)
    assert work.path(project, session).exists()


@pytest.mark.dealt
def test_what_cannot_be_copied_or_put_back_is_reported(start, sessions, project, kept, tmp_path):
    session = sessions.write(project, ("first", "ok"))
    cli = FakeCli(tmp_path)
    nvim = start(env=cli.environment())
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.touch()
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("“first” could not be kept")
    kept.unlink()
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("Kept “first”")
    file = sessions.path(project, session)
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("no folder")
    nvim.cmd(f"Claude sessions resume {session}")
    nvim.wait_notice("“first” cannot be resumed")
    assert cli.starts() == []


@pytest.mark.dealt
def test_the_board_keeps_the_session_under_the_cursor(start, sessions, project, kept):
    session = sessions.write(project, ("on the board", "ok"))
    nvim = start()
    nvim.cmd("Claude board")
    nvim.wait("vim.fn.search('on the board') > 0", what="the row")
    nvim.input("K")
    nvim.wait_notice("Kept “on the board”")
    nvim.cmd("Claude sessions keep")
    nvim.wait_notice("“on the board” is kept already")
    sessions.path(project, session).unlink()
    nvim.cmd("Claude board")
    nvim.wait("vim.fn.search('on the board') > 0", what="the row of the copy")


@pytest.mark.dealt
def test_completes_and_offers_what_makes_sense(start, sessions, project):
    session = sessions.write(project, ("one", "ok"))
    nvim = start()
    assert {"keep", "unkeep"} <= set(nvim.lua("return vim.fn.getcompletion('Claude sessions ', 'cmdline')"))
    choose(nvim, 1)
    nvim.wait("#lists == 2", what="the actions")
    assert "Keep a copy, which does not expire" in nvim.lua("return lists[2]")
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("Kept “one”")
    choose(nvim, 1)
    nvim.wait("#lists == 4", what="the actions")
    assert "Remove the kept copy" in nvim.lua("return lists[4]")
    assert "Keep a copy, which does not expire" not in nvim.lua("return lists[4]")


@pytest.mark.dealt
@pytest.mark.parametrize("by", ["fork", "prompt", "chat"])
def test_whatever_resumes_a_session_puts_it_back(start, sessions, project, tmp_path, by):
    session = sessions.write(project, ("first", "ok"))
    (sessions.config / "sessions").mkdir()  # of a CLI that records what runs
    cli = FakeCli(tmp_path)
    nvim = start(env=cli.environment())
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("Kept “first”")
    file = sessions.path(project, session)
    text = file.read_text()
    file.unlink()
    if by == "fork":
        nvim.cmd(f"Claude sessions fork {session}")
    elif by == "chat":
        nvim.cmd(f"Claude chat --resume {session}")
    else:
        prompt = "Ide.outbox.send({ kind = 'board', session = ..., text = 'go on', ran = false })"
        nvim.lua(prompt, session)
    nvim.wait(lambda: file.exists() and len(cli.starts()) == 1, what="the file and the CLI")
    assert file.read_text() == text
    assert session in cli.starts()[0]["argv"]


@pytest.mark.dealt
def test_the_only_copy_is_renamed(start, sessions, project):
    session = sessions.write(project, ("first", "ok"))
    nvim = start()
    nvim.cmd(f"Claude sessions keep {session}")
    nvim.wait_notice("Kept “first”")
    sessions.path(project, session).unlink()
    nvim.lua("require('claude-ide').sessions.rename(...)", session, "The first")
    nvim.wait_notice("Renamed “first” to “The first”")
    assert choose(nvim) == ["now  kept  main  The first  first"]
