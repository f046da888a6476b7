"""The pictures of the README can be taken again, and show what they are to show."""

import os
import re
import subprocess
import sys
from html import unescape

import pytest

from harness.cli import binary as cli_binary
from harness.nvim import ROOT
from harness.nvim import binary as nvim_binary

pytestmark = pytest.mark.cli

SHOWN = {
    "diff-vertical": ["casefold", "+6 −7", "accept"],
    "diff-unified": ["2 of 3 kept", "dropped", "found.append"],
    "review": ["2 files", "README.txt", "casefold", "before Claude"],
}


@pytest.mark.parametrize("name", SHOWN)
def test_takes_a_picture(name, tmp_path):
    command = [sys.executable, ROOT / "demo" / "pictures.py", "--nvim", nvim_binary("0.12"), "--claude", cli_binary()]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "tests"), "LANG": "C.UTF-8"}
    run = subprocess.run(
        [*command, "--into", tmp_path, name], env=environment, capture_output=True, text=True, timeout=100, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    svg = (tmp_path / f"{name}.svg").read_text()
    text = unescape("".join(re.findall(r"<text[^>]*>([^<]*)", svg)))
    for words in SHOWN[name]:
        assert words in text


def test_every_picture_that_is_shown_is_one_that_is_taken():
    readme = (ROOT / "README.md").read_text()
    assert set(re.findall(r"doc/([a-z-]+)\.svg", readme)) <= set(SHOWN)
