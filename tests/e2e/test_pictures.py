"""The README's pictures can be taken again and show the intended content. A stale one fails: run `make pictures`."""

import os
import re
import subprocess
import sys
from html import unescape

import pytest

from harness.cli import binary as cli_binary
from harness.nvim import ROOT
from harness.nvim import binary as nvim_binary

sys.path.insert(0, str(ROOT / "demo"))
from picture import shown  # noqa: E402

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

PAGES = ("page", "page-dark", "page-phone", "page-list")
SHOWN = {
    **{name: ["Searching should ignore case"] for name in PAGES},
    "page-list": ["Waits for you", "Working", "Idle", "Import from a CSV file"],
    "page-phone": ["destructive: git checkout -f", "Allow once", "Deny"],
    "demo": ["6 lines selected", "Let the search", "dropped", "ZZ accept", "Done. The search ignores case"],
    "board": ["1 waiting", "Lend books", "A change to shelf.py"],
    "card": ["wants to use Bash", "destructive: git checkout -f", "allow once"],
    "diff-vertical": ["casefold", "+6 −7", "accept"],
    "diff-unified": ["2 of 3 selected", "dropped", "found.append"],
    "review": ["2 files", "README.txt", "casefold", "undo"],
    "transcript": ["Searching should ignore case", "Edit shelf.py", "casefold"],
    "chat": ["casefold", "accept", "Read shelf.py", "waits for your permission", "#lines:shelf.py:33-35"],
    "proposal": ["casefold"],
    "changes": ["2 files", "casefold"],
    "comments": ["you: ", "Why not lower()?", "casefold() also finds", "(says it is done)", "▎2"],
}

TOGETHER = (
    ("demo",),
    ("board",),
    ("card", "page-list", "page-phone"),
    ("diff-vertical", "diff-unified", "proposal"),
    ("review", "changes", "comments"),
    ("transcript", "page", "page-dark"),
    ("chat",),
)
"""Pictures with a common prefix are taken in one Neovim."""


@pytest.mark.parametrize("names", TOGETHER, ids="-".join)
def test_takes_pictures(names, tmp_path):
    command = [sys.executable, ROOT / "demo" / "pictures.py", "--nvim", nvim_binary("0.12"), "--claude", cli_binary()]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "tests"), "LANG": "C.UTF-8"}
    run = subprocess.run(
        [*command, "--into", tmp_path, *names],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    pictures = {path.stem: path for path in tmp_path.rglob("*") if path.is_file()}
    assert set(pictures) == set(names)
    for name, picture in pictures.items():
        text = shown(picture)
        committed = shown(ROOT / "doc" / picture.relative_to(tmp_path))
        assert text == committed, f"doc/{picture.name} is stale: run scripts/pictures.sh {name}"
        if picture.suffix == ".svg":
            text = unescape("".join(re.findall(r"<text[^>]*>([^<]*)", picture.read_text())))
        for words in SHOWN[name]:
            assert words in text, name


def test_every_picture_that_is_shown_is_one_that_is_taken():
    used = re.findall(r"doc/([a-z-]+)\.(?:svg|png)", (ROOT / "README.md").read_text())
    used += re.findall(r"{{screen:([a-z-]+)}}", (ROOT / "doc/claude-ide.txt.in").read_text())
    taken = {name for names in TOGETHER for name in names}
    assert set(used) == taken == set(SHOWN)
