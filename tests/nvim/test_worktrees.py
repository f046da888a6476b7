"""Worktrees of git: which of them the lock file names, and that a session works in its own."""

import json
from pathlib import Path

import pytest

from harness.worktrees import git, repository

pytestmark = pytest.mark.dealt


@pytest.fixture
def project(tmp_path):
    """A repository, and worktrees beside it and in it."""
    project = repository(tmp_path)
    git(project, "worktree", "add", "-qb", "fix", "../project.fix")
    git(project, "worktree", "add", "-qb", "inner", ".claude/worktrees/inner")
    return project


@pytest.fixture
def places(project):
    return [str(project), str(project.parent / "project.fix"), str(project / ".claude/worktrees/inner")]


def announced(nvim):
    (lock,) = nvim.locks()
    return lock["workspaceFolders"]


def test_the_lock_file_names_the_work_trees_that_are_open(start_nvim, places):
    main, fix, inner = places
    nvim = start_nvim(args=["a.txt"])
    nvim.start_server()
    assert announced(nvim) == [main]
    nvim.cmd(f"tabnew | tcd {inner}")
    nvim.wait(lambda: announced(nvim) == [inner, main], what="the tab page's")
    nvim.cmd(f"tabclose | edit {fix}/a.txt")
    nvim.wait(lambda: announced(nvim) == [main, fix], what="the file's")


def test_the_lock_file_names_all_work_trees_also_later_ones(start_nvim, project, places):
    main, fix, inner = places
    nvim = start_nvim(args=["a.txt"], opts={"workspace": {"worktrees": "all"}})
    nvim.start_server()
    assert announced(nvim) == [main, inner, fix]
    nvim.cmd(f"tabnew | tcd {fix}")
    nvim.wait(lambda: announced(nvim) == [fix, main, inner], what="what is open to come first")
    git(project, "worktree", "add", "-qb", "later", "../later")
    later = str(project.parent / "later")
    nvim.wait(lambda: announced(nvim) == [fix, main, later, inner], what="the new one")
    git(project, "worktree", "remove", "../later")
    nvim.wait(lambda: announced(nvim) == [fix, main, inner], what="the removed one to go")
    assert nvim.lua("return Ide.workspace.folders()") == [fix, main], "tools keep to what is open"
    nvim.cmd("checkhealth claude-ide")
    assert f"A CLI finds this Neovim in: {fix}, {main}, {inner}" in "\n".join(nvim.lines())


def test_the_first_work_tree_of_a_repository_is_announced_too(start_nvim, tmp_path):
    project = repository(tmp_path)
    nvim = start_nvim(opts={"workspace": {"worktrees": "all"}})
    nvim.start_server()
    git(project, "worktree", "add", "-q", "../first")
    nvim.wait(lambda: announced(nvim) == [str(project), str(tmp_path / "first")], what="the first one")


def test_the_lock_file_names_no_other_work_tree_if_the_user_wants_none(start_nvim, places, tmp_path):
    main, fix, _ = places
    nvim = start_nvim(args=["a.txt"], files={"../other/.git/HEAD": ""}, opts={"workspace": {"worktrees": "off"}})
    nvim.start_server()
    nvim.cmd(f"tabnew | tcd {tmp_path}/other | tabprevious | edit {fix}/a.txt")
    nvim.wait(lambda: announced(nvim) == [main, f"{tmp_path}/other"], what="the other project")


def test_a_client_works_in_its_own_work_tree(start_nvim, connect, connect_agent, places):
    main, fix, inner = places
    nvim = start_nvim(args=["a.txt"], opts={"selection": {"deny": ["keys/*"]}})
    in_main, in_fix = connect(nvim), connect(nvim, roots=[fix])
    nvim.wait(lambda: announced(nvim) == [main, fix], what="its worktree")
    agent = connect_agent(nvim, roots=[fix])
    nvim.wait("#Ide.server.agents()[1].roots == 1", what="the agent's folder")
    nvim.cmd(f"edit {fix}/a.txt | edit {inner}/a.txt | edit {main}/a.txt")
    nvim.lua(
        """
        for index, buf in ipairs(vim.api.nvim_list_bufs()) do
          local problem = { lnum = 0, col = 0, message = vim.api.nvim_buf_get_name(buf), severity = 1 }
          vim.diagnostic.set(vim.api.nvim_create_namespace("test"), buf, { problem })
        end
        """
    )
    # A relative path is one of its own, and is told as such; those of the other worktrees are absolute.
    (text,) = agent.call("diagnostics", path="a.txt")
    assert f"{fix}/a.txt" in text and f"{main}/a.txt" not in text
    (text,) = agent.call("open_buffers")
    assert f"\n{main}/a.txt  (" in text and "\na.txt  (" in text
    # What is wrong in another one is not its business.
    (text,) = agent.call("diagnostics")
    assert f"{fix}/a.txt" in text and f"{main}/a.txt" not in text and f"{inner}/a.txt" not in text
    for client, place in ((in_fix, fix), (in_main, main)):
        (text,) = client.call("getDiagnostics")
        assert [file["uri"] for file in json.loads(text)] == [f"file://{place}/a.txt"]
    (text,) = in_fix.call("getWorkspaceFolders")
    assert json.loads(text)["folders"] == [fix, main]
    # A private file is private in each.
    for place in places:
        assert nvim.lua("return Ide.server_privacy.denied_by(...)", f"{place}/keys/one") == "keys/*"


def test_an_agent_that_tells_its_folder_later_works_there(start_nvim, connect_agent, places):
    """As one that is slow to answer when it is asked."""
    main, fix, _ = places
    nvim = start_nvim(args=["a.txt"])
    agent = connect_agent(nvim, roots=[main])
    agent.roots = [fix]
    agent.notify("notifications/roots/list_changed")
    nvim.wait(f"vim.deep_equal(Ide.server.agents()[1].roots, {{ '{fix}' }})", what="its folder")
    (text,) = agent.call("open_buffers")
    assert f"\n{main}/a.txt  (" in text


def test_sessions_of_all_work_trees_are_listed_with_their_names(start_nvim, sessions, places):
    for place, prompt in zip(places, ("here", "beside", "within"), strict=True):
        sessions.write(Path(place), (prompt, f"the answer {prompt}"), branch="")
    nvim = start_nvim(notices=True)
    nvim.answer()
    nvim.cmd("Claude sessions")
    nvim.wait("#asked == 1", what="the list")
    assert sorted(line.split()[1:] for line in nvim.asked()[0]["lines"]) == [
        ["here"],
        ["inner", "within"],
        ["project.fix", "beside"],
    ]
    nvim.lua("found = nil require('claude-ide').sessions.list({}, function(items) found = items end)")
    nvim.wait("found ~= nil", what="the list for scripts")
    names = {item["summary"]["title"]: item.get("worktree") for item in nvim.lua("return found")}
    assert names == {"here": None, "beside": "project.fix", "within": "inner"}
    nvim.answer()
    nvim.cmd("Claude sessions project.fix")
    nvim.wait("#asked == 1", what="the list")
    assert len(nvim.asked()[0]["lines"]) == 1
    nvim.cmd("Claude grep the answer")
    hits = "return #vim.tbl_filter(function(item) return item.valid == 1 end, vim.fn.getqflist())"
    nvim.wait(lambda: nvim.lua(hits) == 3, what="what was said in each")
