"""How long a call took: without the wait for the user, where this Neovim saw that."""

import pytest
from transcript_steps import show, wait_rendered

pytestmark = pytest.mark.dealt


@pytest.fixture
def nvim(start_nvim, empty, sessions):
    """A Neovim that shows the transcript of a working session; `nvim.does` sets its state from a time on."""
    pid = sessions.sleeper()
    known = {"busy": "working", "waiting": "waiting", "idle": "idle"}
    empty.prompt("Do it")

    def at(seconds=0.0):
        """The transcript's clock, in Unix milliseconds."""
        return int((empty.clock.timestamp() + seconds) * 1000)

    sessions.record(pid, empty.id, "busy", cwd=empty.cwd, statusUpdatedAt=at())
    nvim = show(start_nvim, empty)

    def does(status, seconds, **more):
        sessions.record(pid, empty.id, status, cwd=empty.cwd, statusUpdatedAt=at(seconds), **more)
        nvim.wait(
            f"(Ide.sessions.live()[1] or {{ state = {{}} }}).state.since == {at(seconds)}",
            what=f"{known[status]} after {seconds} s",
        )

    nvim.does = does
    return nvim


def waits(nvim, begins, ends, reason="permission prompt"):
    nvim.does("waiting", begins, waitingFor=reason)
    nvim.does("busy", ends)


def line(nvim, text):
    def found():
        wait_rendered(nvim)
        return next((line for line in nvim.lines() if text in line and "running" not in line), None)

    return nvim.wait(found, what=f"the call of {text!r}")


@pytest.mark.every_nvim
def test_a_wait_for_permission_is_told_apart(nvim, empty):
    call = empty.call("Bash", command="make slow")
    empty.reply(call)
    waits(nvim, 0.2, 14.2)
    empty.result(call, "ok", seconds=16.1)
    assert line(nvim, "make slow") == "  Bash make slow · ok · 2.1 s (+14 s asked)"
    nvim.wait_screen("(+14 s asked) ok   2.1 s")


def test_so_is_the_time_a_question_took(nvim, empty):
    call = empty.call("AskUserQuestion", questions=[{"question": "Which?", "options": [{"label": "A"}]}])
    empty.reply(call)
    waits(nvim, 0.1, 5.3, "input needed")
    empty.result(call, "A", seconds=5.1)  # which the CLI writes before its record says busy
    assert line(nvim, "AskUserQuestion").endswith("· ok · 0.1 s (+5.0 s asked)")


def test_a_call_drawn_before_the_end_of_its_wait_was_known_is_drawn_again(nvim, empty):
    call = empty.call("Bash", command="make slow")
    empty.reply(call)
    nvim.does("waiting", 0.2, waitingFor="permission prompt")
    empty.result(call, "no", seconds=8.2, is_error=True, denied=True)
    line(nvim, "make slow")
    nvim.does("idle", 0.1)
    nvim.wait(lambda: line(nvim, "make slow").endswith("rejected · 0.2 s (+8.0 s asked)"), what="the new times")


def test_a_dialog_holds_no_call_up(nvim, empty):
    call = empty.call("Bash", command="make slow")
    empty.reply(call)
    waits(nvim, 0.2, 3.2, "dialog open")
    empty.result(call, "ok", seconds=6)
    assert line(nvim, "make slow").endswith("ok · 6.0 s")


def test_a_wait_whose_end_was_missed_is_not_guessed(nvim, empty):
    call = empty.call("Bash", command="make slow")
    empty.reply(call)
    nvim.does("waiting", 0.2, waitingFor="permission prompt")
    nvim.does("waiting", 20, waitingFor="permission prompt")
    nvim.does("busy", 21)
    empty.result(call, "ok", seconds=30)
    assert line(nvim, "make slow").endswith("ok · 29 s (+1.0 s asked)")
