"""`:Claude sessions rename`: a session gets a title like from the CLI's `/rename`, and shows it everywhere."""

import json
import os
import stat

import pytest

pytestmark = pytest.mark.dealt


@pytest.fixture
def session(sessions, project):
    return sessions.write(project, ("fix it", "ok"))


@pytest.fixture
def file(sessions, project, session):
    return sessions.path(project, session)


@pytest.fixture
def nvim(start_nvim, session):
    return start_nvim(notices=True)


def beside(file):
    return file.with_suffix("") / "custom-title.json"


def last_line(file):
    return json.loads(file.read_text().splitlines()[-1])


def titles(nvim):
    nvim.lua("found = nil require('claude-ide').sessions.list({}, function(items) found = items end)")
    return [item["summary"]["title"] for item in nvim.wait("found", what="the list")]


def test_it_writes_what_the_cli_writes_and_changes_nothing_else(nvim, file, session):
    before = file.read_bytes()
    nvim.answer(1)
    nvim.cmd("Claude sessions rename The “parser” / <b> 'x'")
    nvim.wait_notice("Renamed “fix it” to “The “parser” / <b> 'x'”")
    title = "The “parser” / <b> 'x'"
    line = {"type": "custom-title", "customTitle": title, "sessionId": session}
    assert file.read_bytes() == before + (json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n").encode()
    assert beside(file).read_text() == json.dumps({"customTitle": title}, ensure_ascii=False, separators=(",", ":"))
    assert stat.S_IMODE(beside(file).stat().st_mode) == 0o600
    assert stat.S_IMODE(beside(file).parent.stat().st_mode) == 0o700
    assert os.listdir(beside(file).parent) == ["custom-title.json"]
    assert nvim.asked()[0]["prompt"] == "Rename a session of this project"
    assert titles(nvim) == [title]
    nvim.wait(  # completion does not wait long for the list
        lambda: any(
            name.startswith(r"The\ “parser”")
            for name in nvim.lua("return vim.fn.getcompletion('Claude sessions resume ', 'cmdline')")
        ),
        what="the new title to be completed",
    )


def test_without_a_title_it_asks_for_one(nvim, file):
    nvim.answer(1, 6, "  The parser ")
    nvim.cmd("Claude sessions")
    nvim.wait_notice("Renamed “fix it” to “The parser”")
    assert nvim.asked()[1]["lines"][5] == "Rename it"
    assert nvim.asked()[2] == {"prompt": "New title: ", "default": "fix it"}
    assert last_line(file)["customTitle"] == "The parser"


def test_an_answer_that_was_not_given_renames_nothing(nvim, file):
    before = file.read_bytes()
    nvim.answer(1)
    nvim.cmd("Claude sessions rename")
    nvim.wait("#asked == 2", what="the question")
    assert (file.read_bytes(), nvim.notices()) == (before, [])


def test_a_second_time_the_new_one_counts(nvim, file, session):
    for title in ("One", "Another"):
        nvim.lua("require('claude-ide').sessions.rename(...)", session[:8], title)
        nvim.wait_notice(f"to “{title}”")
    assert titles(nvim) == ["Another"]
    assert json.loads(beside(file).read_text()) == {"customTitle": "Another"}


def test_in_a_transcript_its_own_session_is_renamed_and_the_buffer_with_it(start_nvim, session, file):
    nvim = start_nvim(notices=True)
    nvim.cmd(f"Claude transcript {session}")
    nvim.wait("vim.fn.bufname():find('/fix it$') ~= nil", what="the transcript")
    nvim.cmd("Claude sessions rename The parser")
    nvim.wait_notice("to “The parser”")
    nvim.wait("vim.fn.bufname():find('/The parser$') ~= nil", what="the name of the buffer")
    nvim.wait_screen("The parser")
    assert last_line(file)["customTitle"] == "The parser"


def test_a_name_given_in_the_cli_is_taken_up_by_an_open_transcript(start_nvim, session, file, sessions, project):
    pid = sessions.sleeper()
    sessions.record(pid, session, "idle", project)
    nvim = start_nvim(notices=True)
    nvim.cmd(f"Claude transcript {session}")
    nvim.wait("vim.fn.bufname():find('/fix it$') ~= nil", what="the transcript")
    nvim.wait("Ide.sessions.live()[1]", what="the session")
    sessions.append(project, session, {"type": "custom-title", "customTitle": "Mine"})
    sessions.record(pid, session, "idle", project, name="Mine", nameSource="user")
    nvim.wait("vim.fn.bufname():find('/Mine$') ~= nil", what="the name of the buffer")


@pytest.mark.one_nvim
def test_a_title_is_one_line_that_shows(nvim, session, file):
    before = file.read_bytes()

    def rename(typed):
        nvim.lua("notices = {} require('claude-ide').sessions.rename(...)", session, typed)

    rename(" \u200b ")
    nvim.wait_notice("A title needs at least one visible character.")
    assert file.read_bytes() == before and not beside(file).exists()
    for typed, kept in [
        ("a\u200bb\u202e c", "ab c"),
        ("two\nlines\tof it", "two lines of it"),
        ("ü" * 300, "ü" * 200),
    ]:
        rename(typed)
        nvim.wait_notice("Renamed")
        assert last_line(file)["customTitle"] == kept
    rename("half \xf0\x9f")
    nvim.wait_notice("Renamed")


@pytest.mark.one_nvim
def test_a_line_that_was_left_half_written_stays_one(nvim, session, file):
    with file.open("a") as transcript:
        transcript.write('{"type":"assistant","mess')
    nvim.lua("require('claude-ide').sessions.rename(...)", session, "The parser")
    nvim.wait_notice("Renamed")
    assert file.read_text().splitlines()[-2] == '{"type":"assistant","mess'
    assert last_line(file)["customTitle"] == "The parser"


@pytest.mark.one_nvim
def test_one_that_is_just_being_written_to_is_left_alone(nvim, session, file, sessions, project):
    sessions.record(sessions.sleeper(), session, "busy", project)
    with file.open("a") as transcript:
        transcript.write('{"type":"assistant","mess')
    before = file.read_bytes()
    nvim.lua("Ide.sessions.attach()")
    nvim.wait("Ide.sessions.live()[1]", what="the session")
    nvim.lua("require('claude-ide').sessions.rename(...)", session, "The parser")
    nvim.wait_notice("The session cannot be renamed: it is being written to just now, try again")
    assert file.read_bytes() == before and not beside(file).exists()


@pytest.mark.one_nvim
@pytest.mark.parametrize("title", ["Before", None])
def test_what_cannot_be_written_leaves_the_title_of_before(nvim, session, file, title):
    """The transcript takes no line: /dev/full is in its place."""
    if title:
        beside(file).parent.mkdir()
        beside(file).write_text(json.dumps({"customTitle": title}))
    item = {"summary": {"id": session, "file": str(file), "title": "x"}}
    file.unlink()
    nvim.lua("Ide.sessions_rename.run(...)", item, "After")
    nvim.wait_notice("The session cannot be renamed: No such file")
    assert not file.exists(), "a transcript that is gone stays gone"
    file.symlink_to("/dev/full")
    nvim.lua("Ide.sessions_rename.run(...)", item, "After")
    nvim.wait_notice("The session cannot be renamed: it is not a file")
    assert beside(file).exists() == bool(title)
    assert title is None or json.loads(beside(file).read_text()) == {"customTitle": title}
