"""The session watcher (`crates/session`, example `watch`) beside the real CLI: states, new lines, `/clear`, a killed process."""

import json
import os
import signal
import subprocess
import threading
import time

import pytest

from harness.cli import ROOT, Cli, call, prepare_home

pytestmark = pytest.mark.cli


class Watch:
    """The watcher as a process of its own; keeps what it prints."""

    def __init__(self, config, project) -> None:
        # `cargo test`, which comes first in `make test`, builds the examples too.
        command = [ROOT / "target/debug/examples/watch", config, project]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.updates: list[dict[str, object]] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            with self._news:
                self.updates.append(json.loads(line))
                self._news.notify_all()

    def wait(self, wanted, what: str, timeout: float = 20, after: int = 0) -> int:
        """The position of the first update from `after` on for which `wanted` holds."""
        end = time.monotonic() + timeout
        with self._news:
            while True:
                for at, update in enumerate(self.updates[after:], after):
                    if wanted(update):
                        return at
                if not self._news.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    raise AssertionError(f"waited for {what}; saw {json.dumps(self.states())}")

    def state(self, activity: str, after: int = 0, **more: object) -> int:
        def wanted(update) -> bool:
            state = update["session"]["state"] if update["type"] == "live" else {}
            return state.get("activity") == activity and state.items() >= more.items()

        return self.wait(wanted, f"the state {activity} {more or ''}", after=after)

    def states(self) -> list[object]:
        return [update["session"]["state"] for update in self.updates if update["type"] == "live"]

    def lines(self) -> list[dict[str, object]]:
        return [line["raw"] for update in self.updates if update["type"] == "lines" for line in update["lines"]]

    def close(self) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        finally:
            self._reader.join()
            self.process.stdout.close()


@pytest.fixture
def session(tmp_path, mock_api):
    """A CLI in a terminal, and a watcher that was there before it."""
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    (project / "a.txt").write_text("one\ntwo\nthree\n")
    (home / ".claude").mkdir(parents=True)
    prepare_home(home, project)
    watch = Watch(str(home / ".claude"), str(project))
    cli = Cli(home, project, mock_api, args=())
    cli.wait_ready()
    yield watch, cli
    cli.kill()
    watch.close()


def test_tells_every_state_of_a_session_and_shows_its_lines_over_clear_to_a_kill(session):
    watch, cli = session
    at = watch.state("idle", source="record")
    cli.prompt(
        call("Read", file_path=str(cli.cwd / "a.txt"))
        + " THEN "
        + call("Edit", file_path=str(cli.cwd / "a.txt"), old_string="two", new_string="TWO")
    )
    at = watch.state("working", at)
    at = watch.state("waiting", at, waiting_for="permission")
    cli.answer()
    at = watch.state("working", at)
    at = watch.state("idle", at)
    watch.wait(
        lambda update: update["type"] == "lines" and any(line["raw"]["type"] == "system" for line in update["lines"]),
        "the end of the turn in the transcript",
    )
    lines = watch.lines()
    uuids = [line["uuid"] for line in lines if "uuid" in line]
    assert len(uuids) == len(set(uuids)), "each line comes once"
    assert any(line.get("toolUseResult", {}).get("newString") == "TWO" for line in lines)
    assert not [line for line in lines if line["type"].startswith("api-request") or line["type"] == "attachment"]

    # `/clear` is followed to the new session, and a kill is noticed.
    first = watch.updates[at]["session"]["id"]
    cli.wait_ready()
    cli.prompt("/clear")
    cleared = watch.wait(lambda update: update.get("previous") == first, "the session after /clear")
    second = watch.updates[cleared]["session"]["id"]
    watch.wait(lambda update: update["type"] == "appeared" and update["id"] == second, "its transcript")
    os.kill(cli.pid, signal.SIGKILL)
    gone = watch.updates[watch.state("gone", cleared)]["session"]
    assert (gone["id"], gone["liveness"]) == (second, "dead")
