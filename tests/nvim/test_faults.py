"""What can be wrong around Neovim, and what can happen to it and to the programs beside it: no trace, nothing lost.

Elsewhere: readers that are slow and sockets that are half open (`crates/server/tests/wire`, `crates/web/tests`), lock files of others
(`crates/server/src/discovery/lock_file/tests.rs`), a CLI that is killed (`test_diff_client.py`), an agent at each step (`test_chat_ends.py`), a
kernel (`test_notebook.py`), a clock that goes back (`crates/session`), a disk that is full in a download (`test_install_download.py`).
"""

import os
import random
import shlex
import signal
import subprocess
import threading
import time

import pytest
from review_steps import A_CLAUDE, A, B, Turn, waiting

from harness.client import Client
from harness.files import text_of
from harness.nvim import binary

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

NAMESPACES = ["unshare", "--user", "--map-root-user", "--mount"]
LOCKS, STATE = '"$HOME/.claude/ide"', '"$XDG_STATE_HOME/nvim"'
FULL = 'full() { mkdir -p "$1"; mount -t tmpfs -o size=4k none "$1"; head -c 9999 /dev/zero >"$1/fill" 2>&-; }; full '
READ_ONLY = 'locked() { mkdir -p "$1"; mount -t tmpfs -o ro none "$1"; }; locked '
NOWHERE = "/nowhere/at/all"

SURROUNDINGS = {
    "the folder of the log and the journal is full": FULL + STATE,
    "the folder of the log and the journal is read-only": READ_ONLY + STATE,
    "no home": 'mount -t tmpfs none "$(getent passwd 0 | cut -d: -f6)"; unset HOME XDG_CONFIG_HOME XDG_STATE_HOME XDG_CACHE_HOME',
    "a home that is not there": f"export HOME={NOWHERE} CLAUDE_CONFIG_DIR=$HOME/.claude",
    "64 file descriptors": "ulimit -n 64",
    "no inotify instance": "echo 0 >/proc/sys/user/max_inotify_instances",
    "no inotify watch": "echo 0 >/proc/sys/user/max_inotify_watches",
    "a symlinked config folder": 'mkdir "$HOME/dotfiles"; ln -s dotfiles "$HOME/.claude"',
    "a locale without UTF-8": "export LANG=C LC_ALL=C",
    "a terminal of 20×5": "stty cols 20 rows 5",
}
"""What a shell does before it becomes Neovim, as root of namespaces of its own."""


@pytest.fixture
def start_in(start_nvim, nvim_version, monkeypatch, tmp_path):
    """A factory: start_in(what a shell does first, …) -> a Neovim that knows its own `init.lua` wherever its home is."""
    if subprocess.run([*NAMESPACES, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this machine lets nobody make namespaces")

    def start(prelude, **more):
        script, nvim = tmp_path / "nvim.sh", binary(nvim_version)
        init = f"-u {tmp_path}/home/.config/nvim/init.lua"
        script.write_text(f'{prelude}\nexec {shlex.quote(str(nvim))} {init} "$@"\n')
        wrapper = tmp_path / "nvim"
        wrapper.write_text(f'#!/bin/sh\nexec {" ".join(NAMESPACES)} sh {script} "$@"\n')
        wrapper.chmod(0o755)
        monkeypatch.setenv("CLAUDE_IDE_NVIM_" + nvim_version.replace(".", ""), str(wrapper))
        return start_nvim(files={"a.txt": A, "b.txt": B}, args=["-n", "a.txt"], notices=True, **more)

    return start


def dial(nvim):
    """A client, with what Neovim itself reads in its lock file: nobody else sees that here."""
    nvim.start_server()
    lock = nvim.lua("""
      local info = Ide.server.info()
      return { info.port, vim.json.decode(table.concat(vim.fn.readfile(info.lock_files[1]))).authToken }
    """)
    client = Client(*lock, roots=[nvim.project])
    client.initialize()
    nvim.wait("#Ide.server.clients() > 0")
    return client


def propose(nvim, client, text):
    """A proposal that the user has seen."""
    nvim.keys_count()
    asked = client.start_call(
        "openDiff", old_file_path=str(nvim.project / "b.txt"), new_file_contents=text, tab_name="t"
    )
    nvim.wait(
        "local list = Ide.proposal.list() return #list == 1 and list[1].seen",
        what="the proposal",
    )
    return asked


def assert_no_trace(nvim):
    said = nvim.lua("return vim.api.nvim_exec2('messages', { output = true }).output") + "\n".join(
        nvim.lua("return notices or {}")
    )
    for text in (said, nvim.log()):
        assert "stack traceback" not in text, text
        assert "panicked" not in text, text


@pytest.mark.parametrize("around", SURROUNDINGS)
def test_a_diff_a_review_and_an_undo_work_wherever_neovim_runs(start_in, around):
    nvim = start_in(SURROUNDINGS[around])
    client = dial(nvim)
    asked = propose(nvim, client, "accepted\n")
    nvim.notify("vim.cmd('Claude accept')")
    assert client.call_result(asked) == ["FILE_SAVED", "accepted\n"]
    nvim.wait("Ide.proposal.count() == 0")
    turn = Turn(nvim, client)
    turn.edit("a.txt", A_CLAUDE)
    turn.end("a.txt")
    nvim.wait(lambda: nvim.lines(1) == A_CLAUDE.splitlines(), what="the buffer to follow")
    for command in ("review", "status", "sessions", "log"):
        nvim.notify("pcall(vim.cmd, ...)", f"Claude {command}")
        nvim.lua("return 1")
    nvim.answer(1)
    nvim.notify("vim.cmd(...)", "Claude undo")
    nvim.wait(lambda: text_of(nvim.project / "a.txt") == A, what="the undo")
    assert_no_trace(nvim)
    client.close()


@pytest.mark.parametrize("how", [FULL, READ_ONLY], ids=["full", "read-only"])
def test_a_lock_file_that_cannot_be_written_is_said_and_tried_again(start_in, how):
    nvim = start_in(how + LOCKS)
    started, why = nvim.lua("return { Ide.server.start() }")
    assert not started
    assert "lock" in why, why
    assert_no_trace(nvim)


def test_an_undo_on_a_full_disk_loses_nothing(start_in):
    """What Claude left is shorter than what the undo would write, and there is no room for it."""
    small = "mkdir small; mount -t tmpfs -o size=400k none small; cd small; yes one two three | head -c 99988 >linked;"
    nvim = start_in(f"{small} cp linked alone; ln linked other; cd ..")
    client = dial(nvim)
    names = ["small/linked", "small/alone"]
    read = "return vim.iter({ ... }):map(function(name) return (io.open(name):read('*a')) end):totable()"
    contents = lambda: nvim.lua(read, *names)  # noqa: E731
    before = contents()
    client.call("closeAllDiffTabs")
    for name in names:
        client.call("getDiagnostics", uri=f"file://{nvim.project / name}")
        nvim.lua("vim.fn.writefile({ 'short' }, ...)", name)
    client.call("getDiagnostics")
    nvim.wait("#Ide.review.changes() >= 2")
    nvim.lua("pcall(vim.fn.writefile, { ('x'):rep(999999) }, 'small/fill')")
    assert contents() == ["short\n", "short\n"]
    nvim.answer(1)
    nvim.notify("vim.cmd(...)", "Claude undo")
    stays = nvim.wait_notice("Stays: ")
    assert "0 files undone" in stays and all(name in stays for name in names), stays
    assert nvim.log().count("E514") == 2
    assert contents() == ["short\n", "short\n"], nvim.notices()
    nvim.lua("vim.uv.fs_unlink('small/fill')")
    nvim.lua("vim.cmd('silent wall!')")  # the buffers have what the undo would have written
    assert contents() == before
    assert nvim.lua("return vim.uv.fs_stat('small/linked').nlink") == 2
    assert_no_trace(nvim)


def moments(request, few):
    """Seeds of random moments: `--kills 200` for more of them."""
    count, first = request.config.getoption("--kills") or few, request.config.getoption("--seed") or 1
    return [random.Random(seed) for seed in range(first, first + count)]


NAMES = [f"file{number}.txt" for number in range(8)]
LARGE = [A * 4000, A_CLAUDE * 4000]


@pytest.mark.timeout(0)  # --kills says how many
def test_neovim_killed_at_any_moment_of_a_diff_or_an_undo_leaves_each_file_whole(start_nvim, connect, request):
    for rng in moments(request, 3):
        nvim = start_nvim(files={name: LARGE[0] for name in ("a.txt", *NAMES)}, args=["a.txt"])
        client = connect(nvim)
        turn = Turn(nvim, client)
        for name in NAMES:
            turn.edit(name, LARGE[1])
        turn.end(*NAMES)
        propose(nvim, client, LARGE[1])
        nvim.answer(1)
        nvim.notify("for _, command in ipairs({ ... }) do vim.cmd('Claude ' .. command) end", "accept", "undo")
        time.sleep(rng.random() * rng.choice([0.01, 0.1, 0.5]))
        os.kill(nvim.server_pid, signal.SIGKILL)
        nvim.terminal.wait_exit()
        for name in ("a.txt", *NAMES):
            # While Neovim itself writes, the old text is in a backup beside the file.
            there = [path for path in (nvim.project / name, nvim.project / f"{name}~") if path.exists()]
            assert any(path.read_text() in LARGE for path in there), (name, [path.stat().st_size for path in there])
        nvim.kill()


@pytest.mark.timeout(0)
def test_a_cli_killed_at_any_moment_of_a_turn_leaves_a_review_of_all_it_wrote(start_nvim, connect, request):
    nvim = start_nvim(files=dict.fromkeys(("a.txt", *NAMES), A), args=["a.txt"])
    for rng in moments(request, 6):
        client, written = connect(nvim), []
        client.call("closeAllDiffTabs")
        for name in NAMES[: rng.randint(1, len(NAMES))]:
            client.call("getDiagnostics", uri=f"file://{nvim.project / name}")
            (nvim.project / name).write_text(A_CLAUDE)
            written.append(name)
        asked = rng.random() < 0.5 and client.start_call(
            "openDiff", old_file_path=str(nvim.project / "a.txt"), new_file_contents="x\n", tab_name="t"
        )
        time.sleep(rng.random() * 0.02)
        client.drop()
        nvim.wait("#Ide.server.clients() == 0")
        nvim.wait("Ide.proposal.count() == 0", what=f"the diff {asked} to go with who asked")
        nvim.wait(lambda written=written: set(waiting(nvim)) == set(written), what=f"{written} to be reviewed")
        nvim.answer(1, 1)
        nvim.notify("vim.cmd('Claude undo')")
        whole = lambda: {text_of(nvim.project / name) for name in NAMES} == {A}  # noqa: E731
        nvim.wait(whole, what="the undo")
        nvim.wait(lambda: not waiting(nvim))
    assert_no_trace(nvim)


def test_neovim_that_was_stopped_keeps_its_clients_and_its_proposal(start_nvim, connect):
    """A minute at the usual times, scaled: the clients said nothing for longer than the server has patience."""
    opts = {"server": {"keepalive": {"interval_ms": 200, "timeout_ms": 2500}}}
    nvim = start_nvim(files={"a.txt": A, "b.txt": B}, args=["a.txt"], opts=opts, notices=True)
    client = connect(nvim)
    asked = propose(nvim, client, "proposed\n")
    os.kill(nvim.server_pid, signal.SIGSTOP)
    try:
        time.sleep(3)  # it is the time itself that is tested
    finally:
        os.kill(nvim.server_pid, signal.SIGCONT)
    nvim.keys_count()
    nvim.notify("vim.cmd('Claude accept')")
    assert client.call_result(asked) == ["FILE_SAVED", "proposed\n"]
    assert client.request("ping") == {}
    assert_no_trace(nvim)


def test_sixteen_clients_that_flood_leave_room_for_keys_and_are_all_answered(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": A, "b.txt": B}, args=["a.txt"], notices=True)
    clients = [connect(nvim) for _ in range(16)]
    asked = [[] for _ in clients]

    def flood(client, ids):
        for number in range(200):
            method = "ping" if number % 2 else "tools/call"
            ids.append(client.send(method, {"name": "getOpenEditors", "arguments": {}} if number % 2 == 0 else None))

    threads = [threading.Thread(target=flood, args=each) for each in zip(clients, asked, strict=True)]
    for thread in threads:
        thread.start()
    nvim.keys("ohello<Esc>")
    nvim.wait(lambda: "hello" in nvim.lines(1), what="the keys to be read while all ask")
    for thread in threads:
        thread.join()
    for client, ids in zip(clients, asked, strict=True):
        for number in ids:
            client.result(number)
    assert_no_trace(nvim)


CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
/* The clock is ahead by as many seconds as a file is long, or behind by as many where it is marked as executable. */
static long step(void) {
  struct stat found;
  if (stat(getenv("CLOCK_STEP"), &found)) return 0;
  return found.st_mode & S_IXUSR ? -found.st_size : found.st_size;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
  int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec += step();
  return result;
}
int gettimeofday(struct timeval *now, void *zone) {
  int (*real)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
  int result = real(now, zone);
  now->tv_sec += step();
  return result;
}
time_t time(time_t *result) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}
"""


def test_a_clock_that_steps_changes_nothing_that_waits(start_nvim, connect, tmp_path):
    (tmp_path / "clock.c").write_text(CLOCK)
    library, step = tmp_path / "clock.so", tmp_path / "step"
    made = subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", library, tmp_path / "clock.c", "-ldl"], check=False, capture_output=True
    )
    if made.returncode != 0:
        pytest.skip("no C compiler")
    env = {"LD_PRELOAD": str(library), "CLOCK_STEP": str(step)}
    nvim = start_nvim(files={"a.txt": A, "b.txt": B}, args=["a.txt"], env=env, notices=True)
    client = connect(nvim)
    before = nvim.lua("return os.time()")
    asked = propose(nvim, client, "proposed\n")
    for seconds, mode in ((7 * 24 * 3600, 0o644), (7 * 24 * 3600, 0o755), (0, 0o644)):
        with open(step, "wb") as file:
            file.truncate(seconds)
        step.chmod(mode)
        expected = before + (seconds if mode == 0o644 else -seconds)
        assert abs(nvim.lua("return os.time()") - expected) < 3600, "the clock has stepped"
        assert client.request("ping") == {}
        for text in (A_CLAUDE, A):
            client.call("getDiagnostics", uri=f"file://{nvim.project}/a.txt")
            (nvim.project / "a.txt").write_text(text)
            client.call("getDiagnostics")
            nvim.wait(lambda text=text: nvim.lines(1) == text.splitlines(), what="the buffer to follow")
    nvim.notify("vim.cmd('Claude accept')")
    assert client.call_result(asked) == ["FILE_SAVED", "proposed\n"]
    assert_no_trace(nvim)


def test_without_a_file_descriptor_it_is_said_and_all_goes_on_once_there_is_one(start_in, connect):
    nvim = start_in("ulimit -n 128", reads_ahead=True)
    client = connect(nvim)
    nvim.cmd("new | set filetype=markdown | bwipeout!")  # Neovim's own scripts are read before
    nvim.modules_are_cached()
    take = "local fd repeat fd = vim.uv.fs_open('/dev/null', 'r', 0) files[#files + 1] = fd until not fd"
    nvim.lua(f"files = {{}} {take}")
    for command in ("chat SAY hello", "review", "sessions", "grep line", "log", "status"):
        nvim.notify("pcall(vim.cmd, ...)", f"Claude {command}")
        nvim.lua("return 1")
    assert client.request("ping") == {}
    nvim.lua("for _, fd in ipairs(files) do vim.uv.fs_close(fd) end")
    nvim.lua("vim.cmd.tabonly({ bang = true }) vim.cmd.only({ bang = true }) vim.cmd.edit({ 'a.txt', bang = true })")
    other = dial(nvim)
    asked = propose(nvim, other, "accepted\n")
    nvim.notify("vim.cmd('Claude accept')")
    assert other.call_result(asked) == ["FILE_SAVED", "accepted\n"]
    assert_no_trace(nvim)
    other.close()
