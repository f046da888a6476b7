"""The harness itself: what the other tests rely on."""

import os
import random
import subprocess
import sys

import pyte
import pytest

from harness import pairs
from harness.nvim import ROOT, NvimError
from harness.screen import Screen
from harness.terminal import Terminal, marked_processes

pytestmark = pytest.mark.one_nvim


def test_runs_the_version_it_names_in_a_home_of_its_own(nvim):
    assert nvim.lua("local v = vim.version() return v.major .. '.' .. v.minor") == nvim.version
    assert nvim.lua("return { vim.uv.cwd(), vim.fn.expand('~') }") == [str(nvim.project), str(nvim.home)]
    assert nvim.lua("return vim.env.CLAUDE_CONFIG_DIR") is None


def test_types_keys_and_sees_the_screen(nvim):
    nvim.keys("ihello<Esc>ofünf <lt>b><Esc>:set number<CR>")
    nvim.wait_screen("2 fünf <b>")
    assert nvim.lines() == ["hello", "fünf <b>"]
    assert nvim.mode() == "n"


def test_few_products_have_each_pair_of_options():
    chosen = pairs("abc", "xyz", "123")
    for first, second in ((0, 1), (0, 2), (1, 2)):
        assert len({(product[first], product[second]) for product in chosen}) == 9
    assert len(chosen) < 15


@pytest.mark.slow
def test_the_screen_is_the_one_that_pyte_draws():
    rng = random.Random("screen")
    pieces = ["a", "one two", "x" * 30, "│─ …", "日本", "e\u0301", "\u0301", *"\r\n\b\t", "\x1b7", "\x1b8", "\x1bM"]
    finals = [(final, 2) for final in "ABCDGHJKLMPX@dfr"] + [("m", 4)]
    for _ in range(300):
        plain, ours = pyte.Screen(20, 6), Screen(20, 6)
        stream = pyte.Stream(plain)
        for _ in range(rng.randint(1, 60)):
            if rng.random() < 0.5:
                text = rng.choice(pieces)
            elif rng.random() < 0.2:
                text = "\x1b[" + rng.choice(["4h", "4l", "?7h", "?7l", "?5h", "?5l"])
            else:
                final, most = rng.choice(finals)
                numbers = [rng.choice(["", "0", "1", "2", "5", "31", "44", "99"]) for _ in range(rng.randint(0, most))]
                if final not in "Hfrm":
                    numbers = [rng.choice(["", "0", "1", "2"])] if final in "JK" else numbers[:1]
                text = f"\x1b[{';'.join(numbers)}{final}"
            stream.feed(text)
            _ = [plain.buffer[y] for y in range(6)]  # pyte moves lines differently until each exists
            ours.feed(text)
            if rng.random() < 0.3:
                ours.rows()
        rows = ours.rows()
        ours.dirty.update(range(6))
        assert ours.rows() == rows
        assert [dict(ours.buffer[y]) for y in range(6)] == [dict(plain.buffer[y]) for y in range(6)]
        assert (ours.cursor.x, ours.cursor.y) == (plain.cursor.x, plain.cursor.y)


def test_a_terminal_of_another_size_is_drawn_anew(nvim):
    for rows, columns in ((12, 50), (40, 100)):
        nvim.terminal.resize(rows, columns)
        nvim.wait(f"vim.o.lines == {rows} and vim.o.columns == {columns}")
        nvim.cmd(f"file a{rows}" + "| set laststatus=2 statusline=%f%=end")
        nvim.wait(lambda rows=rows, columns=columns: nvim.screen()[-2] == f"a{rows}{'end':>{columns - 3}}")
        assert len(nvim.screen()) == rows


@pytest.mark.parametrize("ends", [True, False], ids=["completed", "broken off"])
def test_a_frame_is_seen_as_a_whole(tmp_path, ends):
    script = tmp_path / "draws"
    frame = "\\033[?2026h\\033[Hone\\r\\nhalf"
    rest = " more\\033[?2026l" if ends else ""
    script.write_text(f"stty -echo; printf 'before'; read go; printf '{frame}'; read go; printf '{rest}'\n")
    terminal = Terminal(["sh", script], env={"PATH": os.environ["PATH"]}, cwd=tmp_path)
    try:
        terminal.wait_screen("before")
        terminal.write("\r")
        terminal.wait(lambda: b"half" in terminal.raw, what="half a frame")
        assert terminal.text().startswith("before")
        terminal.write("\r")
        terminal.wait(lambda: terminal.text().startswith("one"), what="the frame")
        assert ("half more" in terminal.text()) is ends
    finally:
        terminal.kill()


def test_passes_files_environment_and_arguments(start_nvim):
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\n"}, env={"COLOUR": "red"}, init_lua="vim.g.mark = 7")
    assert nvim.lines() == ["one"]
    assert nvim.lua("return { vim.env.COLOUR, vim.g.mark, ... }", "x") == ["red", 7, "x"]


@pytest.mark.every_nvim
def test_a_terminal_that_has_no_time_to_answer_is_reported_in_no_test(start_nvim, monkeypatch):
    """On a busy machine the tests' terminal answers late: Neovim 0.12 waits for 0.1 s, and complains."""
    answer = Terminal._answer
    monkeypatch.setattr(Terminal, "_answer", lambda self, query: "" if query["status"] else answer(self, query))
    nvim = start_nvim()
    assert nvim.lua("return vim.fn.execute('messages')") == ""
    assert nvim.lua("return vim.o.background") == "dark"


def test_an_error_and_a_wait_that_fails_are_shown_with_the_screen(nvim):
    with pytest.raises(NvimError, match="boom"):
        nvim.lua("error('boom')")
    nvim.keys("ivisible text")
    nvim.wait_screen("visible text")
    with pytest.raises(AssertionError, match="visible text"):
        nvim.wait("false", timeout=0.1)


def test_leaves_no_process_behind(start_nvim):
    nvim = start_nvim()
    nvim.cmd("terminal sleep 1000")
    marker = nvim.terminal.marker
    nvim.wait(lambda: len(marked_processes(marker)) >= 3, what="the screen, the server and the child to run")
    nvim.kill()
    nvim.terminal.wait(lambda: not marked_processes(marker), what="every process to end")


def test_the_gate_needs_one_neovim():
    missing = {f"CLAUDE_IDE_NVIM_{other}": "/nonexistent" for other in ("010", "012")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--rootdir",
        ROOT / "tests",
        "--config-file",
        ROOT / "tests" / "pytest.ini",
    ]
    run = subprocess.run(
        [*command, "--gate", "--collect-only", __file__],
        env=os.environ | missing,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
