"""A CLI in a container of its own, which sees the project under another path and none of this machine's processes."""

import subprocess

import pytest
from test_real_cli import IN_THE_DIFF, until_it_listens

from harness.cli import call

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

CONTAINER = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
BIND = ["sh", "-c", 'mount --bind "$1" "$2" && cd "$2" && shift 2 && exec "$@"', "sh"]
"""Shows the first folder under the path of the second to the program that follows."""


def test_it_finds_the_editor_and_each_side_sees_its_own_paths(start_nvim, cli, tmp_path):
    project, elsewhere = tmp_path / "project", tmp_path / "workspaces" / "there"
    elsewhere.mkdir(parents=True)
    project.mkdir()
    within = [*CONTAINER, *BIND, str(project), str(elsewhere)]
    if subprocess.run([*within, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system makes no namespaces for users")
    host = "127.0.0.3"  # not what the CLI would choose by itself
    opts = {"workspace": {"path_map": {str(project): str(elsewhere)}}, "server": {"host": host}}
    nvim = start_nvim(args=["a.txt"], files={"a.txt": "one\ntwo\n"}, opts=opts)
    nvim.lua('require("claude-ide").connect()')
    claude = cli(nvim, cwd=elsewhere, within=within, env={"CLAUDE_CODE_IDE_HOST_OVERRIDE": host})

    # It has not taken our lock file for one of a dead process.
    (lock,) = nvim.locks()
    assert "pid" not in lock
    assert lock["workspaceFolders"] == [str(project), str(elsewhere)]

    # A selection and a mention name the file as the CLI sees it: relative to its folder.
    until_it_listens(nvim, claude)
    nvim.keys(":ClaudeSend<CR>")
    claude.wait_screen("@a.txt")
    claude.keys("<C-u>")
    claude.wait_gone("@a.txt")

    # A diff shows the file on this side, and once it is accepted, the CLI writes the file.
    path = str(elsewhere / "a.txt")
    read, edit = call("Read", file_path=path), call("Edit", file_path=path, old_string="two", new_string="TWO")
    claude.prompt(f"{read} THEN {edit} THEN SAY written")
    nvim.wait(IN_THE_DIFF)
    assert nvim.lua("return Ide.proposal.list()[1].path") == str(project / "a.txt")
    nvim.lua("local proposal = Ide.proposal proposal.accept(proposal.list()[1].id)")
    nvim.wait(lambda: nvim.lines() == ["one", "TWO"], what="the file as the CLI wrote it")

    # An edit without a question is found on this side.
    claude.wait_screen("● written")
    claude.keys("<S-Tab>")
    claude.wait_screen("accept edits on")
    claude.prompt(f"{call('Edit', file_path=path, old_string='one', new_string='ONE')} THEN SAY done")
    claude.wait_screen("● done")
    changes = "vim.tbl_map(function(change) return change.path end, Ide.review.changes())"
    nvim.wait(lambda: nvim.lua(f"return {changes}") == [str(project / "a.txt")], what="the change to be known, once")
