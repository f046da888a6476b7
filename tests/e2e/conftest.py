"""Fixtures of the tests in which Neovim itself runs the real CLI."""

import pytest

from harness.cli import environment, prepare_home


@pytest.fixture
def start_with_claude(start_nvim, mock_api, tmp_path):
    """A factory like `start_nvim`: the terminal of `:Claude` runs the real CLI, in manual mode."""
    prepare_home(tmp_path / "home", tmp_path / "project")

    def start(terminal=None, opts=None, env=None, **more):
        command = ["claude", "--permission-mode", "default"]
        return start_nvim(
            env={**environment(tmp_path / "home", mock_api), **(env or {})},
            opts={"terminal": {"command": command, **(terminal or {})}, **(opts or {})},
            **more,
        )

    return start
