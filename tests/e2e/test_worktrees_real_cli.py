"""The real CLI in work trees of one repository."""

import pytest

from harness.cli import Cli, prepare_home
from harness.worktrees import git, repository

pytestmark = [pytest.mark.cli]


def test_it_finds_the_neovim_of_another_work_tree_as_the_option_says(start_nvim, cli, mock_api, tmp_path):
    project = repository(tmp_path)
    fix = tmp_path / "project.fix"
    git(project, "worktree", "add", "-qb", "fix", fix)
    nvim = start_nvim(args=["a.txt"])
    nvim.start_server()
    prepare_home(nvim.home, project)  # its work trees are trusted, too

    # Not open here: it only says where an editor is.
    claude = Cli(nvim.home, fix, mock_api)
    try:
        claude.wait_ready()
        claude.prompt("/ide")
        claude.wait_screen("Found 1 other running IDE")
    finally:
        claude.kill()
    assert nvim.lua("return #require('claude-ide.server').clients()") == 0

    # In the lock file: `/ide` lists it, and with `--ide` it connects by itself.
    nvim.lua("require('claude-ide').setup({ workspace = { worktrees = 'all' } })")
    nvim.lua("require('claude-ide.workspace').announce()")
    nvim.wait(lambda: str(fix) in nvim.locks()[0]["workspaceFolders"])
    claude = Cli(nvim.home, fix, mock_api, args=())
    try:
        claude.wait_ready()
        claude.prompt("/ide")
        claude.wait_screen("Neovim: project")
    finally:
        claude.kill()
    cli(nvim, cwd=fix)
    roots = nvim.lua("return require('claude-ide.server').clients()[1].roots")
    assert roots == [str(fix)]
