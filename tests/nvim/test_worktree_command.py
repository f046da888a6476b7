"""`:Claude worktree`: makes a worktree with a tab page and a CLI, and ends it without losing anything."""

import shutil
from pathlib import Path

import pytest
import review_steps

from harness.worktrees import git, repository

pytestmark = pytest.mark.dealt

MERGE, MERGE_AND_KEEP, REMOVE = (
    "Merge it into main, remove the worktree and the branch",
    "Merge it into main, keep the worktree",
    "Remove the worktree, keep the branch fix",
)


@pytest.fixture
def start(start_nvim, fake, tmp_path):
    def start(**more):
        more = {"args": ["a.txt"], "notices": True, "cwd": repository(tmp_path), **more}
        return start_nvim(env=fake.environment(), **more)

    return start


def begin(nvim, fake, command="Claude worktree fix"):
    """Makes a worktree; returns its folder, with the file's window in the focus."""
    count, tabs = len(fake.starts()), nvim.lua("return vim.fn.tabpagenr('$')")
    here = Path(nvim.lua("return vim.fn.getcwd()"))
    nvim.keys(f":{command}<CR>")
    nvim.wait(lambda: len(fake.starts()) == count + 1, what="the CLI to start")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'", what="terminal mode")
    assert nvim.lua("return vim.fn.tabpagenr('$')") == tabs + 1
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.bo.buftype == '' and vim.api.nvim_get_mode().mode == 'n'", what="the file")
    return here.with_name("project.fix")


@pytest.fixture
def fixing(start, fake):
    """A Neovim in the worktree of the branch `fix`, and that worktree."""
    nvim = start()
    return nvim, begin(nvim, fake)


def done(nvim, *answers):
    """Runs `:Claude worktree done` and answers its questions by number; returns them."""
    nvim.answer(*answers)
    nvim.cmd("Claude worktree done")
    nvim.wait(f"#asked >= {len(answers)}", what="the questions")
    return nvim.asked()


def commit(folder, name="a.txt", text="two\n"):
    (folder / name).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", f"change {name}")


def branches(nvim):
    return git(nvim.project, "branch", "--format=%(refname:short)").splitlines()


@pytest.mark.every_nvim
def test_makes_a_branch_with_a_tab_page_and_a_cli_that_has_the_prompt(start, fake):
    nvim = start()
    fix = begin(nvim, fake, 'Claude worktree fix  say "hello  you"')
    (started,) = fake.starts()
    assert started["cwd"] == str(fix)
    assert started["argv"] == ["--name=fix", 'say "hello  you"']
    assert git(fix, "branch", "--show-current") == "fix"
    assert nvim.lua("return { vim.fn.getcwd(), vim.fn.expand('%:p') }") == [str(fix), str(fix / "a.txt")]
    assert nvim.lua("return vim.t.claude_worktree") == "fix", "a 'tabline' can name it"
    nvim.cmd("tabprevious")
    assert nvim.lua("return { vim.fn.getcwd(), vim.t.claude_worktree }") == [str(nvim.project)]

    # Again: the same tab page and CLI; with a prompt: one more CLI.
    nvim.cmd("Claude worktree fix")
    nvim.wait("vim.fn.tabpagenr() == 2 and vim.bo.buftype == 'terminal'")
    assert len(fake.starts()) == 1
    nvim.cmd("Claude worktree fix --more")
    nvim.wait(lambda: len(fake.starts()) == 2, what="another CLI")
    assert fake.starts()[1]["argv"] == ["--name=fix", " --more"]
    assert nvim.lua("return vim.fn.tabpagenr('$')") == 2


@pytest.mark.every_nvim
def test_modifiers_say_where_the_tab_page_goes_and_the_terminal_in_it(start, fake):
    nvim = start()
    nvim.keys(":0tab Claude worktree fix<CR>")
    nvim.wait("vim.bo.buftype == 'terminal' and vim.api.nvim_get_mode().mode == 't'")
    tabs = "return { vim.fn.tabpagenr(), vim.fn.tabpagenr('$'), vim.fn.winnr('$') }"
    assert nvim.lua(tabs) == [1, 2, 2]
    nvim.keys("<C-\\><C-n>:vert topleft Claude worktree other<CR>")
    nvim.wait(lambda: len(fake.starts()) == 2, what="the other CLI")
    nvim.wait("vim.fn.tabpagenr('$') == 3 and vim.bo.buftype == 'terminal'")
    assert nvim.lua("return vim.fn.winnr()") == 1


def test_takes_a_branch_that_exists_here_or_at_a_remote(start, fake, tmp_path):
    nvim = start()
    git(tmp_path, "clone", "-q", "project", "copy")
    commit(tmp_path / "copy", "far.txt")
    git(tmp_path / "copy", "checkout", "-qb", "far/away")
    git(nvim.project, "remote", "add", "origin", "../copy")
    git(nvim.project, "fetch", "-q")
    git(nvim.project, "branch", "old")
    nvim.cmd("Claude worktree old")
    nvim.wait(lambda: len(fake.starts()) == 1)
    nvim.cmd("Claude worktree far/away")
    nvim.wait(lambda: len(fake.starts()) == 2)
    assert [one["cwd"] for one in fake.starts()] == [str(tmp_path / "project.old"), str(tmp_path / "project.far-away")]
    assert (tmp_path / "project.far-away/far.txt").exists()
    assert git(tmp_path / "project.far-away", "branch", "--show-current") == "far/away"


def test_says_why_there_can_be_none(start, fake, tmp_path):
    nvim = start()
    (tmp_path / "project.taken").mkdir()
    for branch, words in {
        "a..b": "'a..b' is not a valid branch name",
        "-x": "not a valid branch name",
        "@": "'@' is not a valid branch name",
        "@{-1}": "'@{-1}' is not a valid branch name",
        "taken": "project.taken exists already",
    }.items():
        nvim.cmd(f"Claude worktree {branch}")
        nvim.wait_notice(words)
    nvim.cmd(f"cd {tmp_path}")
    nvim.cmd("Claude worktree fix")
    nvim.wait_notice("is in no work tree of git")
    nvim.cmd("Claude worktree")
    nvim.wait_notice("needs a branch")
    nvim.cmd(f"cd {nvim.project}")
    nvim.cmd("Claude worktree done")
    nvim.wait_notice("This is not a worktree")
    assert fake.starts() == []
    assert branches(nvim) == ["main"]


@pytest.mark.every_nvim
def test_done_merges_and_removes_all_of_it(fixing):
    nvim, fix = fixing
    commit(fix)
    (fix / ".env").write_text("secret")
    (question,) = done(nvim, 1)
    assert question["prompt"] == "fix · 1 commit not in main · ignored files go with it: .env"
    assert question["lines"] == [MERGE, MERGE_AND_KEEP, REMOVE, "Keep it"]
    nvim.wait_notice("fix is in main now.")
    assert not fix.exists()
    assert branches(nvim) == ["main"]
    assert nvim.lua("return #Ide.terminal.list()") == 0
    assert nvim.lua("return { vim.fn.tabpagenr('$'), vim.fn.getcwd() }") == [1, str(nvim.project)]
    nvim.wait(lambda: nvim.lines() == ["two"], what="the merged text in the open buffer")
    names = nvim.lua("return vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())")
    assert not [name for name in names if "project.fix" in name]


def test_done_keeps_what_the_user_wants_to_keep(fixing):
    nvim, fix = fixing
    commit(fix)
    done(nvim, -1)
    assert fix.exists() and nvim.lua("return #Ide.terminal.list()") == 1
    done(nvim, 2)
    nvim.wait_notice("fix is in main now.")
    assert fix.exists() and git(nvim.project, "show", "main:a.txt") == "two"
    commit(fix, text="three\n")
    done(nvim, 3)
    nvim.wait_notice("The worktree of fix is removed.")
    assert not fix.exists() and git(nvim.project, "show", "fix:a.txt") == "three"


def test_done_commits_what_is_not_committed_or_leaves_it(fixing):
    nvim, fix = fixing
    (fix / "new.txt").write_text("new\n")
    (question,) = done(nvim, 1)
    assert question["prompt"] == "Not committed in project.fix: new.txt"
    assert (fix / "new.txt").exists()
    done(nvim, 2, "a new file", 1)
    nvim.wait_notice("fix is in main now.")
    assert git(nvim.project, "log", "-1", "--format=%s", "main") == "a new file"
    assert not fix.exists()


def test_done_stops_at_what_would_be_lost(fixing, connect):
    nvim, fix = fixing
    # An unsaved buffer.
    nvim.keys("ihello<Esc>")
    nvim.wait("vim.bo.modified")
    nvim.cmd("Claude worktree done")
    nvim.wait_notice("Not saved in project.fix: a.txt.")
    nvim.cmd("undo")
    # A change of Claude's that is not reviewed.
    client = connect(nvim, roots=[fix])
    client.call("getDiagnostics", uri=f"file://{fix}/a.txt")
    (fix / "a.txt").write_text("changed\n")
    client.call("getDiagnostics")
    nvim.wait("#Ide.journal.changes() == 1", what="the change to be known")
    nvim.cmd("Claude worktree done")
    nvim.wait_notice("1 file to review there.")
    nvim.wait(lambda: len(review_steps.windows(nvim)) >= 2, what="the review")
    nvim.lua("Ide.review.close()")
    nvim.lua("assert(Ide.journal_undo.keep(...))", str(fix / "a.txt"))
    # A proposal.
    path = str(fix / "a.txt")
    client.start_call("openDiff", old_file_path=path, new_file_path=path, new_file_contents="b\n", tab_name="one")
    nvim.wait("vim.fn.tabpagenr('$') == 3", what="the diff")
    nvim.cmd("tabnext 2 | Claude worktree done")
    nvim.wait_notice("A proposal for a.txt waits")
    nvim.lua("local all = Ide.proposal all.reject(all.list()[1].id)")
    # A merge over changes of the user's, and one with conflicts.
    (fix / "日本.txt").write_text("ours\n")
    git(fix, "add", ".")
    git(fix, "commit", "-qam", "changed")
    (nvim.project / "a.txt").write_text("mine\n")
    done(nvim, 1)
    nvim.wait_notice("project has changes that are not committed: nothing was merged.")
    (nvim.project / "日本.txt").write_text("mine\n")
    git(nvim.project, "add", ".")
    git(nvim.project, "commit", "-qm", "mine")
    done(nvim, 1)
    nvim.wait_notice("Conflicts in a.txt, 日本.txt: nothing was merged.")
    assert git(nvim.project, "status", "--porcelain") == ""
    assert fix.exists() and nvim.lua("return #Ide.terminal.list()") == 1


def test_done_removes_none_that_git_would_not(start, fake, tmp_path):
    """Submodules, whose commits may be nowhere else; a lock; commits that no branch has."""
    nvim = start()
    other = repository(tmp_path, "other")
    git(nvim.project, "submodule", "--quiet", "add", other, "sub")
    git(nvim.project, "commit", "-qm", "sub")
    fix = begin(nvim, fake)
    commit(fix)
    (question,) = done(nvim, 1)
    assert "submodules" in question["prompt"] and question["lines"] == [MERGE_AND_KEEP, "Keep it"]
    nvim.wait_notice("fix is in main now.")
    git(nvim.project, "rm", "-qf", "sub", ".gitmodules")
    git(nvim.project, "commit", "-qm", "no sub")
    git(fix, "merge", "-q", "main")
    git(fix, "worktree", "lock", fix)
    (question,) = done(nvim, -1)
    assert "it is locked" in question["prompt"]
    git(fix, "worktree", "unlock", fix)
    git(fix, "checkout", "-q", "--detach")
    commit(fix, text="nowhere else\n")
    (question,) = done(nvim, -1)
    assert question["prompt"].endswith("no branch has its commits") and question["lines"] == ["Keep it"]


def test_a_bare_repository_has_them_beside_each_other(start, fake, tmp_path):
    repository(tmp_path, "source")
    hub = tmp_path / "hub"
    git(tmp_path, "clone", "-q", "--bare", "source", hub / ".bare")
    (hub / ".git").write_text("gitdir: ./.bare\n")
    git(hub / ".bare", "worktree", "add", "-q", "../main")
    for name, value in {"user.name": "a", "user.email": "a@b"}.items():
        git(hub / ".bare", "config", name, value)
    nvim = start(cwd=hub / "main")
    nvim.cmd("Claude worktree fix")
    nvim.wait(lambda: len(fake.starts()) == 1)
    assert fake.starts()[0]["cwd"] == str(hub / "fix")
    commit(hub / "fix")
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.fn.mode() == 'n'")
    done(nvim, 1)
    nvim.wait_notice("fix is in main now.")
    assert (hub / "main/a.txt").read_text() == "two\n"
    assert not (hub / "fix").exists()


def test_a_repository_of_jj_has_no_branch_to_merge_into(start, fake):
    """Colocated, its head is detached: jj takes over the branch."""
    nvim = start()
    (nvim.project / ".jj").mkdir()
    git(nvim.project, "checkout", "-q", "--detach")
    fix = begin(nvim, fake)
    commit(fix)
    (question,) = done(nvim, 1)
    assert question["lines"] == [REMOVE, "Keep it"]
    nvim.wait_notice("The worktree of fix is removed.")
    assert "fix" in branches(nvim)


def hook(nvim, name, script="exit 1"):
    path = nvim.project / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_finds_the_branch_of_exactly_this_name(start, fake, tmp_path):
    nvim = start()
    git(tmp_path, "clone", "-q", "project", "copy")
    git(tmp_path / "copy", "checkout", "-qb", "far/x")
    for remote in ("origin", "up"):
        git(nvim.project, "remote", "add", remote, "../copy")
    git(nvim.project, "fetch", "-q", "--all")
    git(nvim.project, "branch", "have/sub")
    nvim.cmd("Claude worktree have")
    nvim.wait_notice("'refs/heads/have/sub' exists")
    nvim.cmd("Claude worktree far/x")
    nvim.wait_notice("Several remotes have far/x")
    for count, branch in enumerate(["far", "日本", "中国"], 1):
        nvim.cmd(f"Claude worktree {branch}")
        nvim.wait(lambda: len(fake.starts()) == count, what=branch)  # noqa: B023
        assert fake.starts()[-1]["cwd"] == str(tmp_path / f"project.{branch}")


@pytest.mark.every_nvim
def test_says_what_a_repository_lacks(start, fake, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-qb", "main")
    nvim = start(cwd=empty, args=[])
    nvim.cmd("Claude worktree fix")
    nvim.wait_notice("There is no commit yet")
    git(empty, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first", "--allow-empty")
    nvim.cmd("Claude worktree fix")
    nvim.wait(lambda: len(fake.starts()) == 1)
    shutil.rmtree(tmp_path / "empty.fix")
    nvim.keys("<C-\\><C-n>")
    nvim.cmd("tabfirst | Claude worktree fix")
    nvim.wait_notice("`git worktree prune` first: git still lists")
    nvim.lua("vim.env.PATH = '/nowhere'")
    nvim.cmd("Claude worktree more")
    assert nvim.wait_notice("git cannot run").startswith("git cannot run: ENOENT")


def test_a_hook_that_fails_without_a_word(start, fake):
    nvim = start()
    post = hook(nvim, "post-checkout")
    fix = begin(nvim, fake)
    nvim.wait_notice("The worktree is there, but git says: `git worktree` failed with code 1.")
    post.unlink()
    (fix / "new.txt").write_text("new\n")
    hook(nvim, "pre-commit")
    done(nvim, 2, "new")
    nvim.wait_notice("Nothing was committed: `git commit` failed with code 1.")
    assert (fix / "new.txt").exists()


def test_a_variable_in_a_path_is_a_name(start, fake, tmp_path):
    home = tmp_path / "a $HOME"  # `:tcd` replaces variables, also escaped ones
    home.mkdir()
    nvim = start(cwd=(top := repository(home)))
    fix = begin(nvim, fake)
    assert fix.is_relative_to(home)
    assert nvim.lua("return { vim.fn.getcwd(), vim.fn.getcwd(-1, 1) }") == [str(fix), str(top)]
    nvim.cmd("tabprevious | tabnext")
    assert nvim.lua("return { vim.fn.getcwd(), vim.uv.cwd() }") == [str(fix), str(fix)]
    nvim.cmd("tabprevious")
    assert nvim.lua("return vim.fn.getcwd()") == str(top)


@pytest.mark.one_nvim
def test_a_folder_that_neovim_cannot_enter_is_told_without_a_trace(start, fake):
    nvim = start()
    nvim.lua("Ide.working_directory.set = function() error('E344: it is gone', 0) end")
    nvim.cmd("Claude worktree fix")
    nvim.wait_notice("The worktree does not open: E344")
    assert fake.starts() == []
    assert nvim.lua("return vim.fn.tabpagenr('$')") == 1


def test_done_says_what_git_says_and_leaves_things_as_they_were(fixing):
    nvim, fix = fixing
    (fix / "new.txt").write_text("new\n")
    done(nvim, 2, "")
    nvim.wait_notice("Nothing was committed: the message is empty. The worktree stays.")
    refuses = hook(nvim, "pre-commit")
    done(nvim, 2, "new")
    nvim.wait_notice("Nothing was committed: `git commit` failed with code 1.")
    assert git(fix, "status", "--porcelain") == "?? new.txt"
    refuses.write_text("#!/bin/sh\nuntil test -e ../go; do sleep 0.02; done\n")
    nvim.answer(2, "new", -1)
    nvim.cmd("Claude worktree done")
    nvim.wait_notice("`git commit` in project.fix is still at work, or a hook of it.")
    (fix.parent / "go").touch()
    nvim.wait(lambda: git(fix, "status", "--porcelain") == "", what="the commit")
    nvim.wait("#asked == 3", what="the question")
    (nvim.project / "new.txt").write_text("mine\n")
    done(nvim, 2)
    nvim.wait_notice("Nothing was merged: new.txt: The following untracked working tree files")
    (nvim.project / "new.txt").unlink()
    (nvim.project / "other.txt").write_text("other\n")
    git(nvim.project, "add", "other.txt")
    git(nvim.project, "commit", "-qm", "other")
    git(nvim.project, "tag", "unrelated")
    done(nvim, 2)
    nvim.wait_notice("fix is in main now.")
    assert git(nvim.project, "log", "-1", "--format=%s") == "Merge branch 'fix'"


def test_a_session_in_the_background_is_the_one_of_its_worktree(fixing, fake, sessions):
    nvim, fix = fixing
    nvim.cmd("Claude close")
    nvim.cmd("ClaudeConnect")
    session = sessions.write(fix, ("fix it", "ok"), title="fix")
    pid = sessions.sleeper()
    sessions.record(pid, session, "busy", fix, kind="bg", jobId=session[:8], name="fix")
    nvim.wait("#require('claude-ide').sessions.live() == 1", what="the record to be seen")
    nvim.cmd("Claude worktree done")
    nvim.wait_notice("A session of Claude is in the background there: `:Claude list` has it. End it first.")
    nvim.cmd("Claude worktree fix")
    nvim.wait(lambda: len(fake.starts()) == 2, what="the terminal")
    assert fake.starts()[1]["argv"] == ["attach", session[:8]]


def test_one_word_is_a_prompt_and_no_command_of_the_cli(start, fake):
    nvim = start()
    begin(nvim, fake, "Claude worktree fix update")
    assert fake.starts()[0]["argv"] == ["--name=fix", " update"]


GIT = """#!/bin/sh
# Reports an `add` during another one; the first one waits.
case "$*" in *{project}*"worktree add"*)
  mkdir {folder}/adds || touch {folder}/overlap
  while ! [ -e {folder}/go ]; do sleep 0.01; done
  {git} "$@"; code=$?
  rmdir {folder}/adds
  exit $code ;;
esac
exec {git} "$@"
"""


def hold_git(nvim, fake, tmp_path):
    """Makes no worktree of Neovim's project until there is `go`."""
    program = fake.bin / "git"
    program.write_text(GIT.format(project=nvim.project, folder=tmp_path, git=shutil.which("git")))
    program.chmod(0o755)


def test_two_that_wait_for_the_user_both_open(start, fake, tmp_path):
    nvim = start()
    hold_git(nvim, fake, tmp_path)
    nvim.cmd("Claude worktree one first prompt")
    nvim.cmd("Claude worktree two second prompt")
    nvim.keys("ihello")
    nvim.wait("vim.fn.mode() == 'i'", what="typing")
    (tmp_path / "go").touch()
    nvim.wait("Ide.guard.is_waiting('worktree ' .. vim.fn.getcwd() .. '.two')", what="it to wait")
    nvim.keys("<Esc>")
    nvim.wait(lambda: len(fake.starts()) == 2, what="both")
    assert sorted(one["argv"][1] for one in fake.starts()) == ["first prompt", "second prompt"]


def test_worktrees_of_a_repository_are_made_one_after_another(start, fake, tmp_path):
    """Git fails at one that is half made: "failed to read .git/worktrees/…/commondir"."""
    other = repository(tmp_path, "other")
    nvim = start()
    hold_git(nvim, fake, tmp_path)
    for branch in ("one", "two", "one", "a..b"):  # one twice: it is opened twice; the last one fails in its turn
        nvim.cmd(f"Claude worktree {branch}")
    nvim.wait((tmp_path / "adds").exists, what="the first to begin")
    nvim.cmd(f"cd {other}")
    nvim.cmd("Claude worktree far")  # in another repository: it waits for none
    nvim.wait(lambda: len(fake.starts()) == 1, what="the other repository's")
    nvim.keys("<C-\\><C-n>")
    (tmp_path / "go").touch()
    nvim.wait_notice("not a valid branch name")
    nvim.keys("<C-\\><C-n>")
    nvim.wait(lambda: {one["cwd"][-3:] for one in fake.starts()} == {"far", "one", "two"}, what="all")
    assert not (tmp_path / "overlap").exists()
    assert len(nvim.notices()) == 1, nvim.notices()


def test_done_tells_of_files_that_git_hides_or_that_came_later(fixing):
    nvim, fix = fixing
    commit(fix)
    git(fix, "update-index", "--skip-worktree", "a.txt")
    (fix / "a.txt").write_text("local\n")
    (question,) = done(nvim, -1)
    assert question["prompt"].endswith("ignored files go with it: a.txt")
    nvim.lua("vim.ui.select = function(items, _, on_choice) answer = function() on_choice(items[1]) end end")
    nvim.cmd("Claude worktree done")
    nvim.wait("answer ~= nil")
    (fix / ".env").write_text("secret")
    nvim.lua("answer()")
    nvim.wait_notice("The worktree stays: ignored files since the question: .env.")
    assert (fix / ".env").exists()


def ask_later(nvim):
    """Runs `:Claude worktree done`; `answer(number)` in Lua answers its question."""
    nvim.lua(
        """
        answer = nil
        vim.ui.select = function(items, options, on_choice)
          question, answer = options.prompt, function(at) on_choice(items[at]) end
        end
        vim.cmd("Claude worktree done")
        """
    )
    nvim.wait("answer ~= nil", what="the question")
    return nvim.lua("return question")


def test_done_names_text_that_was_not_sent(fixing, fake):
    nvim, fix = fixing
    buf = nvim.lua("return Ide.terminal.list()[1]:bufnr()")
    nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", buf)
    nvim.keys("ihalf a")
    nvim.wait(lambda: fake.typed() == b"half a", what="the keys")
    nvim.keys("<C-\\><C-\\>")
    nvim.wait("vim.bo.buftype == '' and vim.fn.mode() == 'n'")
    assert ask_later(nvim) == "fix · all in main · not sent: a line in the terminal fix"
    # Typed while the question is open, into a chat that has no process.
    nvim.lua(
        """
        local chats = Ide.chat
        assert(chats.open({ cwd = ... }))
        local prompts = Ide.open_prompts.by_buffer
        Ide.chat_prompt.add(next(prompts), "another\\n\u202eidea")
        """,
        str(fix),
    )
    nvim.lua("answer(1)")
    nvim.wait_notice('The worktree stays: text that is not sent since the question: "another <202e>idea".')
    assert fix.exists()
    # A chat that is closed leaves its text to the next one in that folder.
    nvim.lua("Ide.chat.close_all()")
    assert '"another <202e>idea", a line in the terminal fix' in ask_later(nvim)
    nvim.lua("answer(1)")
    nvim.wait_notice("The worktree of fix is removed.")


def test_done_names_text_in_a_file_that_is_open_for_its_terminal(start, fake):
    nvim = start()
    begin(nvim, fake)
    buf = nvim.lua("return Ide.terminal.list()[1]:bufnr()")
    nvim.lua("vim.api.nvim_set_current_win(vim.fn.bufwinid(...))", buf)
    nvim.keys("i<C-g>")
    nvim.wait("vim.fs.basename(vim.api.nvim_buf_get_name(0)) == '0.prompt'", what="the prompt in a buffer")
    nvim.keys("ihalf an idea<CR>and more<Esc>")
    nvim.wait("vim.fn.line('$') == 2")
    assert '"half an idea and more"' in ask_later(nvim)
    nvim.keys("ZQ")
    nvim.wait("vim.fs.basename(vim.api.nvim_buf_get_name(0)) ~= '0.prompt'", what="the buffer to be closed")
    assert "half an idea" not in ask_later(nvim)


def test_done_ends_a_chat(begin_chat_with_stand_in, sessions, tmp_path):
    git(repository(tmp_path), "worktree", "add", "-qb", "fix", "../project.fix")
    fix = tmp_path / "project.fix"
    nvim = begin_chat_with_stand_in(cwd=fix, notices=True)
    pid = nvim.wait("Ide.chat.current().pid")
    sessions.record(pid, "s", "idle", fix)
    nvim.wait("#require('claude-ide').sessions.live() == 1", what="the record to be seen")
    done(nvim, 1)
    nvim.wait_notice("The worktree of fix is removed.")
    assert not fix.exists()
    assert nvim.lua("return { #Ide.chat.list(), Ide.process.runs(...) }", pid) == [
        0,
        False,
    ]


def test_done_names_jobs_of_other_terminals(fixing):
    nvim, fix = fixing
    nvim.cmd(f"tabprevious | terminal cd {fix} && echo there && exec sleep 300")
    nvim.wait_screen("there")
    nvim.wait("vim.uv.fs_readlink(('/proc/%d/cwd'):format(vim.b.terminal_job_pid)) ~= vim.fn.getcwd()")
    nvim.cmd("terminal true")
    nvim.wait_screen("Process exited")
    nvim.cmd("tabnext")
    prompt = ask_later(nvim)
    assert prompt == f"fix · all in main · terminals lose their folder: cd {fix} && echo there && exec sleep 300"
    nvim.cmd("terminal exec sleep 299")
    nvim.lua("answer(1)")
    nvim.wait_notice("The worktree stays: terminals since the question: exec sleep 299.")
    assert fix.exists()


def test_done_merges_into_the_branch_of_the_question(fixing):
    nvim, fix = fixing
    commit(fix)
    assert "1 commit not in main" in ask_later(nvim)
    git(nvim.project, "checkout", "-qb", "other")
    nvim.lua("answer(1)")
    nvim.wait_notice("project is on other now, not on main: nothing was merged.")
    assert fix.exists() and git(nvim.project, "show", "other:a.txt") == "one"


def test_done_keeps_commits_that_lost_their_branch_meanwhile(fixing):
    nvim, fix = fixing
    ask_later(nvim)
    git(fix, "checkout", "-q", "--detach")
    commit(fix)
    nvim.lua("answer(1)")
    nvim.wait_notice("The worktree stays: no branch has its commits.")
    assert fix.exists()


def test_a_branch_goes_again_if_its_worktree_cannot_be_made(start, fake):
    nvim = start()
    nvim.cmd(f"Claude worktree {'b' * 249}")  # too long for a folder, with the project's name before it
    nvim.wait_notice("could not create")
    assert branches(nvim) == ["main"]


def test_done_stops_at_a_worktree_in_it(fixing):
    nvim, fix = fixing
    git(fix, "worktree", "add", "-q", ".claude/worktrees/inner")
    nvim.cmd("Claude worktree done")
    nvim.wait_notice("The worktree inner is in this one: end it first.")
    git(fix, "worktree", "remove", ".claude/worktrees/inner")
    repository(fix, "nested")  # once added, a submodule without .gitmodules
    *_, question = done(nvim, 2, "nested", -1)
    assert question["prompt"].endswith("it has submodules, with which git removes no worktree")


def diverge(nvim, fix, name="a.txt"):
    """The same line of a file in both branches."""
    commit(fix, name, "theirs\n")
    commit(nvim.project, name, "mine\n")


def refused(nvim, words):
    """`:Claude worktree done` says why it stops, and asks nothing."""
    nvim.answer()
    nvim.lua("notices = {}")
    nvim.cmd("Claude worktree done")
    nvim.wait_notice(words)
    assert nvim.asked() == []


def test_done_commits_nothing_that_git_has_not_finished(start, fake):
    nvim = start()
    fix = begin(nvim, fake)
    diverge(nvim, fix)
    for command, name in (("merge main", "merge"), ("rebase main", "rebase"), ("cherry-pick main", "cherry-pick")):
        run_to_conflict(fix, *command.split())
        refused(nvim, f"`git {name}` in project.fix is not finished: conflicts in a.txt. Finish or abort it first.")
        (fix / "a.txt").write_text("both\n")
        git(fix, "add", "a.txt")
        refused(nvim, f"`git {name}` in project.fix is not finished. Finish or abort it first.")
        git(fix, name, "--abort")
    git(fix, "bisect", "start", "HEAD", "HEAD^")
    refused(nvim, "`git bisect` in project.fix is not finished.")
    git(fix, "bisect", "reset")
    # Conflicts of no command that could be continued.
    (fix / "a.txt").write_text("stashed\n")
    git(fix, "stash")
    commit(fix, text="again\n")
    run_to_conflict(fix, "stash", "pop")
    refused(nvim, "project.fix has conflicts in a.txt. Resolve them, then `git add`.")
    assert git(fix, "log", "--format=%s").splitlines() == ["change a.txt", "change a.txt", "first"]


def run_to_conflict(folder, *arguments):
    with pytest.raises(AssertionError):
        git(folder, *arguments)


def test_done_looks_again_before_it_commits(start, fake):
    nvim = start()
    fix = begin(nvim, fake)
    diverge(nvim, fix)
    (fix / "new.txt").write_text("new\n")
    assert "Not committed" in ask_later(nvim)
    run_to_conflict(fix, "merge", "main")
    nvim.lua("vim.ui.input = function(_, done) done('message') end answer(2)")
    nvim.wait_notice("`git merge` in project.fix is not finished: conflicts in a.txt.")
    assert (fix / "new.txt").exists() and git(fix, "log", "-1", "--format=%s") == "change a.txt"


@pytest.mark.parametrize("command", ["cherry-pick", "revert", "bisect", "rebase"])
def test_done_merges_into_no_unfinished_work(start, fake, command):
    nvim = start()
    commit(nvim.project, text="three\n")
    git(nvim.project, "checkout", "-qb", "side")
    commit(nvim.project, text="four\n")
    git(nvim.project, "checkout", "-q", "main")
    commit(nvim.project, text="five\n")
    commit(begin(nvim, fake), "new.txt")
    if command == "bisect":
        git(nvim.project, "bisect", "start")
    else:
        run_to_conflict(nvim.project, command, "HEAD^" if command == "revert" else "side")
    (question,) = done(nvim, 1)
    assert "in main" in question["prompt"]
    nvim.wait_notice(f"`git {command}` in project is not finished")
    assert git(nvim.project, "log", "-1", "--format=%s", "main") == "change a.txt"


def test_done_does_not_end_another_merge(start, fake):
    nvim = start()
    git(nvim.project, "checkout", "-qb", "side")
    commit(nvim.project, "side.txt")
    git(nvim.project, "checkout", "-q", "main")
    commit(nvim.project, "main.txt")
    commit(begin(nvim, fake))
    git(nvim.project, "merge", "-q", "--no-commit", "-s", "ours", "side")
    done(nvim, 1)
    nvim.wait_notice("`git merge` in project is not finished. Finish or abort it first.")
    assert (nvim.project / ".git/MERGE_HEAD").exists()


def test_done_says_that_git_keeps_a_branch(start, fake, tmp_path):
    """Its upstream does not have its commits."""
    nvim = start()
    git(tmp_path, "clone", "-q", "project", "copy")
    git(tmp_path / "copy", "checkout", "-qb", "fix")
    git(nvim.project, "remote", "add", "origin", "../copy")
    git(nvim.project, "fetch", "-q")
    fix = begin(nvim, fake)
    commit(fix)
    done(nvim, 1)
    nvim.wait_notice("fix is in main now. Its branch stays: error: the branch 'fix' is not fully merged")
    assert not fix.exists() and branches(nvim) == ["fix", "main"]


def test_done_twice_at_once_ends_it_once(fixing):
    nvim, fix = fixing
    commit(fix)
    nvim.answer(1, 1)
    nvim.lua("vim.cmd('Claude worktree done') vim.cmd('Claude worktree done')")
    nvim.wait_notice("Another `:Claude worktree done` is at work in project.fix.")
    nvim.wait_notice("fix is in main now.")
    assert not fix.exists() and len(nvim.notices()) == 2


def test_done_keeps_a_text_without_a_name(fixing):
    nvim, fix = fixing
    nvim.cmd("set nohidden | new")
    nvim.keys("ityped<Esc>")
    nvim.wait("vim.bo.modified and vim.fn.mode() == 'n'")
    done(nvim, 1)
    nvim.wait_notice("The worktree of fix is removed.")
    assert not fix.exists()
    assert ["typed"] in nvim.lua(
        "return vim.tbl_map(function(buf) return vim.api.nvim_buf_get_lines(buf, 0, -1, true) end, vim.api.nvim_list_bufs())"
    )


def test_done_takes_the_branch_of_another_worktree(start, fake):
    """From anywhere in the repository, and it is no prompt for a branch of the name `done`."""
    nvim = start()
    fix = begin(nvim, fake)
    nvim.cmd("tabprevious")
    nvim.answer(-1)
    nvim.cmd("Claude worktree done fix")
    nvim.wait("#asked == 1", what="the question")
    assert nvim.asked()[0]["prompt"] == "fix · all in main"
    for words, said in {
        "nope": "The branch nope has no worktree that `:Claude worktree` or `git worktree add` has made.",
        "main": "The branch main has no worktree that `:Claude worktree` or `git worktree add` has made.",
        "fix it": "`:Claude worktree done` takes one branch",
    }.items():
        nvim.cmd(f"Claude worktree done {words}")
        nvim.wait_notice(said)
    assert nvim.lua("return vim.fn.getcompletion('Claude worktree done ', 'cmdline')") == ["fix"]
    nvim.answer(1)
    nvim.cmd("Claude worktree done fix")
    nvim.wait_notice("The worktree of fix is removed.")
    assert not fix.exists() and branches(nvim) == ["main"] and len(fake.starts()) == 1


def test_done_names_the_folder_of_an_unsaved_file(start, fake):
    nvim = start()
    commit(begin(nvim, fake))
    nvim.cmd("tabprevious")
    nvim.keys("ihello<Esc>")
    nvim.wait("vim.bo.modified")
    nvim.cmd("tabnext")
    done(nvim, 1)
    nvim.wait_notice("Not saved in project: a.txt. Write or discard it first.")


def test_done_says_what_it_did_before_it_stopped(start, fake):
    """The user types while a hook of the merge is at work: the CLI runs on."""
    nvim = start()
    fix = begin(nvim, fake)
    commit(fix)
    commit(nvim.project, "other.txt")
    hook(nvim, "commit-msg", "until test -e ../go; do sleep 0.02; done")
    nvim.answer(1)
    nvim.cmd("Claude worktree done")
    nvim.wait_notice("is still at work")
    nvim.keys("ihello<Esc>")
    nvim.wait("vim.bo.modified")
    (fix.parent / "go").touch()
    nvim.wait_notice("fix is in main now. The worktree stays: ")
    assert nvim.notices()[-1].endswith("Not saved in project.fix: a.txt. Write or discard it first.")
    assert nvim.lua("return #Ide.terminal.list()") == 1
    # What changes while the CLI ends is found after that.
    nvim.cmd("undo")
    nvim.lua("""
      local file = vim.api.nvim_get_current_buf()
      vim.api.nvim_create_autocmd("TermClose", { callback = function()
        vim.api.nvim_buf_set_lines(file, 0, 0, true, { "typed" })
      end })
    """)
    done(nvim, 1)
    nvim.wait_notice("Claude has ended there. The worktree stays: Not saved in project.fix: a.txt.")
    assert fix.exists() and nvim.lua("return #Ide.terminal.list()") == 0
