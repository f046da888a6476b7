"""The real CLI in worktrees of one repository."""

import pytest

from harness.cli import Cli, call, prepare_home
from harness.nvim import PENDING
from harness.worktrees import git, repository

pytestmark = [pytest.mark.cli]


def test_it_finds_the_neovim_of_another_work_tree_as_the_option_says(start_nvim, cli, mock_api, tmp_path):
    project = repository(tmp_path)
    fix = tmp_path / "project.fix"
    git(project, "worktree", "add", "-qb", "fix", fix)
    nvim = start_nvim(args=["a.txt"])
    nvim.start_server()
    prepare_home(nvim.home, project)  # its worktrees are trusted, too

    # Not open here: it only says where an editor is.
    claude = Cli(nvim.home, fix, mock_api)
    try:
        claude.wait_ready()
        claude.prompt("/ide")
        claude.wait_screen("Found 1 other running IDE")
    finally:
        claude.kill()
    assert nvim.lua("return #Ide.server.clients()") == 0

    # In the lock file: `/ide` lists it, and with `--ide` it connects by itself.
    nvim.lua("require('claude-ide').setup({ workspace = { worktrees = 'all' } })")
    nvim.lua("Ide.workspace.announce()")
    nvim.wait(lambda: str(fix) in nvim.locks()[0]["workspaceFolders"])
    claude = Cli(nvim.home, fix, mock_api, args=())
    try:
        claude.wait_ready()
        claude.prompt("/ide")
        claude.wait_screen("Neovim: project")
    finally:
        claude.kill()
    cli(nvim, cwd=fix)
    # It is asked for them when it is ready.
    nvim.wait(lambda: nvim.lua("return Ide.server.clients()[1].roots") == [str(fix)], what="its roots")


PROPOSED = """
local found = {}
for _, one in ipairs(Ide.proposal.list()) do found[one.path] = one.id end
return found
"""
CHANGED_BY = """
for _, client in ipairs(Ide.server.clients()) do
  if Ide.terminal.name_of(client) == ... then
    return #(Ide.journal.files_to_review()[client.id] or {})
  end
end
"""
TO_REVIEW = """
return vim.tbl_map(function(change) return change.path end, Ide.journal.changes())
"""


def replaced(path, old, new):
    """A prompt that changes a file in two steps, as the CLI demands."""
    edit = call("Edit", file_path=str(path), old_string=old, new_string=new)
    return f"{call('Read', file_path=str(path))} THEN {edit} THEN SAY {new} is over"


def ended(nvim, words):
    """Whether a terminal shows the end of its turn."""
    return nvim.lua(
        """
        for _, terminal in ipairs(Ide.terminal.list()) do
          local lines = vim.api.nvim_buf_get_lines(terminal:bufnr(), 0, -1, false)
          if table.concat(lines, "\\n"):find("● " .. ..., 1, true) then return terminal:name() end
        end
        """,
        words,
    )


def go_to(nvim, folder):
    """Shows the first tab page in a folder."""
    nvim.lua(
        """
        for number = 1, vim.fn.tabpagenr("$") do
          if vim.fn.getcwd(-1, number) == ... then return vim.cmd.tabnext(number) end
        end
        """,
        str(folder),
    )
    assert nvim.lua("return vim.fn.getcwd(-1, 0)") == str(folder)


def begin(nvim, command, prompt):
    """Starts a CLI, and gives it a prompt once it is connected: the scripted model is quicker than that."""
    count = nvim.lua("return #Ide.terminal.list()") + 1
    nvim.lua(command)
    ready = """
        return #vim.tbl_filter(function(one) return one.state == "ready" and one.pid end, Ide.server.clients())
    """
    nvim.wait(lambda: nvim.lua(ready) == count, what=f"the CLI of {command} to connect")
    nvim.wait(f"Ide.terminal.list()[{count}]:live()", what="its record")
    submit = f"""
        local terminal = Ide.terminal.list()[{count}]
        return Ide.terminal_prompt.submit(terminal:bufnr(), ..., false)
    """
    nvim.wait(lambda: nvim.lua(submit, prompt), what="the prompt to be taken")


def test_five_clis_in_three_work_trees_each_get_their_own_answers(start_with_claude, mock_api, tmp_path):
    project, fix, docs = repository(tmp_path), tmp_path / "project.fix", tmp_path / "project.docs"
    (project / "docs.txt").write_text("text\n")
    git(project, "add", ".")
    git(project, "commit", "-qm", "docs")
    nvim = start_with_claude(args=["a.txt"], notices=True)
    nvim.keys_count()
    # Diffs in each of them, a permission in one, a change without a question in another.
    write = call("Write", file_path=str(fix / "new.txt"), content="new")
    run = call("Bash", command="touch made.txt", description="make a file")
    begin(nvim, "vim.cmd('Claude new here')", replaced(project / "a.txt", "one", "HERE"))
    begin(nvim, "vim.cmd('Claude worktree fix')", replaced(fix / "a.txt", "one", "FIX"))
    go_to(nvim, fix)
    begin(nvim, "vim.cmd('Claude new writer --permission-mode acceptEdits')", f"{write} THEN SAY written")
    go_to(nvim, project)
    begin(nvim, "vim.cmd('Claude worktree docs')", replaced(docs / "docs.txt", "text", "DOCS"))
    go_to(nvim, docs)
    begin(nvim, "vim.cmd('Claude new maker')", f"{run} THEN SAY made it")
    paths = {str(project / "a.txt"), str(fix / "a.txt"), str(docs / "docs.txt")}
    nvim.wait(lambda: set(nvim.lua(PROPOSED)) == paths, what="three diffs")
    nvim.wait(f"{PENDING} == 4", what="the permission")
    nvim.wait(lambda: nvim.lua(TO_REVIEW) == [str(fix / "new.txt")], what="the change to review")
    roots = "return vim.tbl_map(function(one) return one.roots[1] end, Ide.server.%s())"
    for kind in ("clients", "agents"):  # its two connections, the second for the editor's tools
        assert sorted(nvim.lua(roots % kind)) == sorted(map(str, [project, fix, fix, docs, docs])), kind

    # Each answer is for its own.
    ids = nvim.lua(PROPOSED)
    nvim.lua("Ide.proposal.accept(...)", ids[str(docs / "docs.txt")])
    nvim.lua("Ide.proposal.reject(...)", ids[str(fix / "a.txt")])
    nvim.lua("Ide.proposal.accept(...)", ids[str(project / "a.txt")])
    nvim.wait(lambda: ended(nvim, "HERE is over") == "here" and ended(nvim, "DOCS is over") == "docs")
    nvim.wait(f"{PENDING} == 1")
    nvim.lua("local all = Ide.requests all.focus(all.pending()[1])")
    nvim.wait_kind("question")
    nvim.wait_screen("Claude wants to use Bash · maker")
    nvim.keys("y")
    nvim.wait((docs / "made.txt").exists, what="what was allowed")
    nvim.wait(lambda: ended(nvim, "made it") == "maker")
    assert [(folder / "a.txt").read_text() for folder in (project, fix, docs)] == ["HERE\n", "one\n", "one\n"]
    assert (docs / "docs.txt").read_text() == "DOCS\n" and (project / "docs.txt").read_text() == "text\n"
    assert not (project / "made.txt").exists() and not (fix / "made.txt").exists()

    # The list has them with their folders and branches, once the transcript has said whose the change is.
    nvim.wait(lambda: nvim.lua(CHANGED_BY, "writer") == 1, what="the change to be the writer's")
    nvim.answer()
    nvim.cmd("Claude list")
    nvim.wait("#asked == 1", what="the list")
    lines = nvim.asked()[0]["lines"]
    assert len(lines) == 5 and sum("project.docs" in line for line in lines) == 2, lines
    assert "1 to review" in next(line for line in lines if "writer" in line)

    # A review is undone in its worktree; the end of another one takes nothing from the rest.
    nvim.lua("assert(Ide.journal_undo.undo(...))", str(fix / "new.txt"))
    nvim.wait(lambda: not (fix / "new.txt").exists())
    git(project, "commit", "-qam", "here")
    go_to(nvim, docs)
    nvim.cmd("Claude worktree done")
    nvim.wait_notice("to review there. Then `:Claude worktree done` again.")
    nvim.lua("Ide.review.close()")
    go_to(nvim, docs)
    for path in nvim.lua(TO_REVIEW):
        nvim.lua("assert(Ide.journal_undo.keep(...))", path)
    nvim.answer(2, "all of docs", 1)
    nvim.cmd("Claude worktree done")
    nvim.wait_notice("docs is in main now.")
    assert nvim.asked()[-1]["prompt"] == "docs · 1 commit not in main", "an empty prompt of the CLI is no text"
    assert not docs.exists() and (project / "docs.txt").read_text() == "DOCS\n"
    assert git(project, "status", "--porcelain") == ""
    assert nvim.lua("return #Ide.terminal.list()") == 3
