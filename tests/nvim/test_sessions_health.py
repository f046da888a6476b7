"""`:checkhealth claude-ide` on sessions: visible ones, invisible ones, and the reason."""

import os
from datetime import timedelta

import pytest

pytestmark = pytest.mark.one_nvim


@pytest.fixture
def health(start_nvim):
    """The lines of the health check on sessions."""

    def health(connect=None, live=0):
        """`live`: that many sessions must be known before the check, which does not wait long for them."""
        nvim = start_nvim()
        nvim.lua("Ide.health_sessions.ANSWER_MS = 60000")
        if live:
            nvim.lua("Ide.sessions.attach()")
            nvim.wait(f"#Ide.sessions.live() == {live}", what="the sessions to be known")
        if connect:
            connect(nvim)
            nvim.wait("(Ide.server.clients()[1] or {}).pid", what="the client's pid")
        nvim.cmd("checkhealth claude-ide")
        text = nvim.wait(
            """
            local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\\n")
            return vim.bo.filetype == "checkhealth" and text:find("Log file:", 1, true) and text or nil
            """,
            timeout=120,
        )
        return text[text.index("Do sessions show their state? ~") : text.index("Can Claude run Python? ~")]

    return health


def test_nothing_is_wrong_where_claude_has_not_run(health):
    text = health()
    assert "projects yet: no session has had a prompt" in text
    assert "Claude Code has not run yet, or keeps its files in another folder" in text
    assert "WARNING" not in text and "ERROR" not in text


def test_no_version_is_blamed_before_the_first_session(health, sessions):
    (sessions.config / "ide").mkdir(parents=True)  # the server's
    text = health()
    assert "projects yet: no session has had a prompt" in text
    assert "this version" not in text and "So a CLI's state" not in text


def test_says_which_sessions_run_and_what_they_do(health, sessions, tmp_path):
    sessions.write(tmp_path / "project", ("one", "ok"))
    pid = sessions.sleeper()
    sessions.record(pid, "s", "waiting", tmp_path / "project", waitingFor="permission prompt", entrypoint="cli")
    text = health(live=1)
    assert "OK The sessions are in ~/.claude/projects" in text
    assert "OK Running sessions report their state: 1 session" in text
    assert "File changes are reported by the operating system" in text
    assert f"- CLI 2.1.329 (pid {pid}) in " in text
    assert "/project waits for your permission" in text


def test_a_cli_that_keeps_no_records_is_reported(health, sessions, tmp_path):
    sessions.write(tmp_path / "project", ("one", "ok"))
    text = health()
    assert "this version of Claude Code does not say what a session does" in text
    assert "So a CLI's state is shown only if `:Claude` started it" in text


def test_a_record_of_another_shape_is_named(health, sessions):
    pid = sessions.sleeper()
    folder = sessions.config / "sessions"
    folder.mkdir(parents=True)
    (folder / f"{pid}.json").write_text('{"process": 1}')
    text = health()
    assert "WARNING The state records of these CLIs are not understood" in text
    assert f"{pid}.json" in text


def test_a_record_without_a_state_says_where_the_state_is_from(health, sessions, tmp_path):
    session = sessions.write(tmp_path / "project", ("one", "ok"))
    sessions.record(sessions.sleeper(), session, None, tmp_path / "project")
    assert "No record of the state: derived from the transcript" in health(live=1)


def test_a_connected_cli_without_a_record_is_reported(health, sessions, connect):
    sessions.record(sessions.sleeper(), "s")
    assert f"(pid {os.getpid()}) is connected and writes no session record, as those below 2.1" in health(connect)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_folder_that_may_not_be_read_is_reported(health, sessions):
    folder = sessions.config / "sessions"
    folder.mkdir(parents=True)
    folder.chmod(0)
    try:
        assert "cannot be read" in health()
    finally:
        folder.chmod(0o700)


def test_a_file_in_the_place_of_a_folder_is_reported(health, sessions):
    sessions.config.mkdir(parents=True)
    (sessions.config / "projects").write_text("")
    (sessions.config / "sessions").write_text("")
    text = health()
    assert text.count("cannot be read: ENOTDIR") == 2


def test_says_how_long_sessions_stay_and_which_go_within_a_week(health, sessions, tmp_path):
    sessions.write(tmp_path / "project", ("new", "ok"), age=timedelta(days=20))
    text = health()
    assert "Claude Code deletes the sessions in ~/.claude 30 days after their last message (its default)" in text
    assert "within a week" not in text and "kept" not in text
    for days in (25, 40):
        sessions.write(tmp_path / "project", ("old", "ok"), age=timedelta(days=days))
    text = health()
    assert "WARNING Claude Code deletes 2 sessions within a week" in text
    assert "`:Claude sessions keep` keeps a copy of one." in text
    settings = sessions.config / "settings.json"
    settings.write_text('{"cleanupPeriodDays": 365}')
    text = health()
    assert "365 days after their last message (`cleanupPeriodDays` in ~/.claude/settings.json)" in text
    assert "within a week" not in text
    settings.write_text('{"cleanupPeriodDays": 0}')
    assert "Claude Code deletes no sessions in ~/.claude: ~/.claude/settings.json is not valid" in health()
