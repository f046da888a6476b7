"""An edit of several files in one request of an agent: one changeset, whose files and hunks can be dropped."""

import json

import acp_steps
import pytest
from acp_steps import answers, diff, permission, request, say, text, update, wait_answer, wait_idle, wait_text
from chat_steps import accept, chat, reject, to_transcript, wait_diff

from harness.files import bytes_of

pytestmark = pytest.mark.dealt

BEFORE = "one\ntwo\nthree\n"
CRLF = "one\r\ntwo\r\nthree\r\n"


@pytest.fixture
def begin(begin_acp):
    return lambda files=None: begin_acp(files=files or {"a.txt": BEFORE, "b.txt": CRLF})


def edit(project):
    """A piece of one file, all of another, and a new one."""
    diffs = [
        diff(project / "a.txt", "two\n", "TWO\n"),
        diff(project / "b.txt", BEFORE, BEFORE.replace("three", "THREE")),
        diff(project / "new/c.txt", None, "c\n"),
    ]
    return {"title": "Edit 3 files", "kind": "edit", "content": diffs}


def ask(nvim, *then):
    say(nvim, "\n".join([permission(**edit(nvim.project)), *then]))


def wait_shown(nvim):
    nvim.wait(
        "local one = Ide.proposal.pending()[1] "
        "return one and Ide.proposal.list()[1].seen and one.files[1].hunks ~= nil",
        what="the changeset to be seen",
    )


def accept_but(nvim, *dropped, words=""):
    """Accepts the changeset without some of its files, with these words about them."""
    nvim.answer(words)
    nvim.lua(
        """
        for _, entry in ipairs(Ide.proposal.pending()[1].files) do
          entry.dropped = vim.list_contains(..., vim.fs.basename(entry.path))
        end
        """,
        dropped,
    )
    accept(nvim)


def content(nvim, name):
    found = bytes_of(nvim.project / name)
    return None if found is None else found.decode()


@pytest.mark.every_nvim
def test_left_as_it_is_the_agent_writes_it_and_is_asked_no_more(begin, tmp_path):
    nvim = begin()
    project = tmp_path / "project"
    writes = [
        request("fs/write_text_file", path=str(project / name), content=content)
        for name, content in (
            ("a.txt", BEFORE.replace("two", "TWO")),
            ("b.txt", BEFORE.replace("three", "THREE")),
            ("new/c.txt", "c\n"),
        )
    ]
    ask(nvim, *writes)
    wait_shown(nvim)
    nvim.wait_screen("Edit 3 files")
    for name in ("a.txt", "b.txt", "c.txt"):
        nvim.wait_screen(name)
    assert content(nvim, "a.txt") == BEFORE, "nothing is written before"
    accept(nvim)
    wait_idle(nvim)
    assert answers(nvim)[0] == {"outcome": {"outcome": "selected", "optionId": "once"}}
    assert content(nvim, "a.txt") == "one\nTWO\nthree\n"
    assert content(nvim, "b.txt") == "one\r\ntwo\r\nTHREE\r\n"
    assert content(nvim, "new/c.txt") == "c\n"
    assert "without asking" not in text(nvim)
    assert nvim.lua("return #vim.api.nvim_list_tabpages()") == 1


@pytest.mark.every_nvim
def test_what_the_user_makes_of_it_is_what_is_written_and_the_agent_is_told(begin, tmp_path):
    nvim = begin()
    ask(nvim)
    wait_shown(nvim)
    nvim.lua(
        """
        local first = Ide.proposal.pending()[1].files[1]
        assert(vim.fs.basename(first.path) == "a.txt")
        vim.api.nvim_buf_set_lines(first.text.bufs.right, 1, 2, false, { "mine" })
        """
    )
    accept_but(nvim, "b.txt", words="b stays")
    wait_answer(nvim, "· changed by you")
    assert (content(nvim, "a.txt"), content(nvim, "b.txt"), content(nvim, "new/c.txt")) == (
        "one\nmine\nthree\n",
        CRLF,
        "c\n",
    )
    assert answers(nvim)[0]["outcome"]["optionId"] == "no", "the agent is not to write its own"
    nvim.wait(lambda: len(acp_steps.read(tmp_path, "session/prompt")) == 2, what="the agent to be told")
    prompts = [params["prompt"][0]["text"] for params in acp_steps.read(tmp_path, "session/prompt")]
    project = tmp_path / "project"
    assert f"{project}/b.txt was left as it was" in prompts[1]
    assert "-TWO\n+mine" in prompts[1] and "b stays" in prompts[1]
    assert f"{project}/new/c.txt is as you proposed it" in prompts[1]
    assert "without asking" not in text(nvim)
    nvim.undo_turn()
    assert (content(nvim, "a.txt"), content(nvim, "new/c.txt")) == (BEFORE, None)


def test_what_changed_meanwhile_is_not_left_to_the_agent(begin):
    nvim = begin()
    nvim.keep_notices()
    ask(nvim)
    wait_shown(nvim)
    (nvim.project / "b.txt").write_text("somebody else\n")
    nvim.lua("Ide.proposal.accept()")
    nvim.wait(
        "notices[1] and notices[1]:find('b.txt has changed in the same places', 1, true)", what="why not to be said"
    )
    assert answers(nvim) == []
    reject(nvim)
    wait_idle(nvim)
    assert content(nvim, "b.txt") == "somebody else\n"


def test_to_interrupt_takes_it_away(begin):
    nvim = begin()
    ask(nvim)
    wait_shown(nvim)
    chat(nvim, "chat:interrupt()")
    wait_idle(nvim)
    nvim.wait("Ide.proposal.count() == 0 and #vim.api.nvim_list_tabpages() == 1")
    assert answers(nvim) == [{"outcome": {"outcome": "cancelled"}}]


def test_each_file_of_a_call_is_shown_and_leads_to_it(begin):
    nvim = begin()
    say(nvim, update("tool_call", toolCallId="c1", status="completed", **edit(nvim.project)))
    wait_answer(nvim, "Edit a.txt +1 −1, and 2 more files")
    shown = text(nvim).rpartition("Edit a.txt")[2]
    for name, line in (("b.txt", "+THREE"), ("new/c.txt", "+c")):
        assert line in shown.partition(f"    {name}\n")[2][:120]
    to_transcript(nvim)
    nvim.lua("vim.fn.search('^ *+THREE', 'w')")
    nvim.keys("gf")
    nvim.wait(
        "vim.fs.basename(vim.api.nvim_buf_get_name(0)) == 'b.txt' and vim.fn.line('.') == 3",
        what="the line in the file",
    )


@pytest.mark.parametrize("why", ["unsaved", "elsewhere", "not there"])
def test_what_cannot_be_shown_so_is_asked_in_words(begin, tmp_path, why):
    nvim = begin()
    call = edit(nvim.project)
    if why == "unsaved":
        nvim.lua(
            "local buf = vim.fn.bufadd('a.txt') vim.fn.bufload(buf) vim.api.nvim_buf_set_lines(buf, 0, 0, false, {'x'})"
        )
    elif why == "elsewhere":
        call["content"][1]["path"] = str(tmp_path / "elsewhere.txt")
    else:
        call["content"][0]["oldText"] = "not there\n"
    say(nvim, permission(**call))
    nvim.wait_kind("question")
    shown = nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')")
    assert "+TWO" in shown and "+THREE" in shown and "+c" in shown
    assert json.dumps(answers(nvim)) == "[]"


def test_where_the_editor_fails_to_show_it_it_is_asked_in_words(begin):
    nvim = begin()
    nvim.lua("Ide.proposal.propose = function() error('no') end")
    # Not while the question is shown: the files are read in turns of the loop.
    nvim.lua(DEFERRED, "go_on")
    ask(nvim)
    nvim.wait("go_on ~= nil", what="the files to be read")
    nvim.lua("go_on()")
    nvim.wait_kind("question")
    assert answers(nvim) == []


# Reading the files waits for the test.
DEFERRED = """
local name, changeset, disk = ..., Ide.changeset, Ide.proposal_current_text
local function hold(fn)
  return function(...)
    local values = { ... }
    local done = values[#values]
    values[#values] = function(...)
      local reported = { ... }
      _G[name] = function() done(unpack(reported)) end
    end
    fn(unpack(values))
  end
end
changeset.plan_steps, disk.read = hold(changeset.plan_steps), hold(disk.read)
"""


@pytest.mark.parametrize(("what", "end"), [("edit", "close"), ("changeset", "restart"), ("write", "kill")])
def test_one_that_is_gone_before_its_files_were_read_asks_nobody(begin, what, end):
    nvim = begin()
    nvim.lua(DEFERRED, "go_on")
    call = edit(nvim.project)
    if what == "edit":
        del call["content"][1:]
    path = str(nvim.project / "a.txt")
    write = request("fs/write_text_file", path=path, content="other\n")
    say(nvim, write if what == "write" else permission(**call))
    nvim.wait("go_on ~= nil", what="the files to be read")
    pid = chat(nvim, "return chat.pid")
    if end == "kill":
        nvim.lua("vim.uv.kill(..., 'sigkill')", pid)
        nvim.wait("Ide.chat.current().state == 'ended'", what="the agent to be gone")
    else:
        nvim.cmd(f"Claude chat {end}")
        nvim.wait(f"not vim.uv.kill({pid}, 0)", what="the agent to be gone")
    if end == "restart":
        wait_answer(nvim, "Robot was restarted.")
    nvim.lua("local before = go_on go_on = nil before() if go_on then go_on() end")
    assert nvim.lua("return #Ide.requests.pending()") == 0


def ask_for(nvim, diffs, places=(), *then):
    locations = [{"path": str(nvim.project / place)} for place in places]
    call = permission(title="Edit files", kind="edit", content=diffs, locations=locations)
    say(nvim, "\n".join([call, *then]))


def of_codex(kind, path, old, new):
    return {**diff(path, old, new), "_meta": {"kind": kind}}


def kinds(nvim):
    return nvim.lua(
        """
        return vim.tbl_map(function(entry)
          local file = entry.planned
          return { vim.fs.basename(file.path), file.kind, file.from and vim.fs.basename(file.from) or "" }
        end, Ide.proposal.pending()[1].files)
        """
    )


def wait_question(nvim):
    nvim.wait_kind("question")
    return nvim.lua("return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n')")


@pytest.mark.parametrize("what", ["link", "hard link"])
def test_one_file_by_two_names_is_not_written_twice(begin, what):
    nvim = begin()
    project = nvim.project
    if what == "link":
        (project / "link.txt").symlink_to("a.txt")
    else:
        (project / "link.txt").hardlink_to(project / "a.txt")
    ask_for(nvim, [diff(project / "a.txt", "one\n", "ONE\n"), diff(project / "link.txt", "three\n", "THREE\n")])
    assert "+ONE" in wait_question(nvim), "a changeset would write the one, and then the other over it"


def test_files_that_codex_moves_and_deletes(begin):
    """For a file that is only moved it gives no text, for one that also changes some lines; both at the new place."""
    long = "".join(f"line {number}\n" for number in range(30))
    whole = {"as_is.txt": "as it is\n", "empty.txt": "", "twin.txt": "", "long.txt": long}
    nvim = begin(files={"a.txt": BEFORE, "gone.txt": BEFORE, **whole})
    project = nvim.project
    diffs = [
        of_codex("update", project / "a.txt", "one\n", "1\n"),
        of_codex("delete", project / "gone.txt", BEFORE, ""),
        of_codex("update", project / "to/as_is.txt", "", ""),
        of_codex("update", project / "to/empty.txt", "", ""),
        of_codex("update", project / "to/twin.txt", "", ""),
        of_codex("update", project / "to/long.txt", "line 1\nline 2\n", "LINE 1\nline 2\n"),
        of_codex("update", project / "to/long.txt", "line 20\n", "LINE 20\n"),
    ]
    ask_for(nvim, diffs, ["a.txt", "gone.txt", *whole])
    wait_shown(nvim)
    for words in ("− gone.txt", "~ long.txt"):
        nvim.wait_screen(words)
    moved = [[name, "renamed", name] for name in sorted(whole)]
    assert sorted(kinds(nvim)) == sorted([["a.txt", "modified", ""], ["gone.txt", "deleted", ""], *moved])
    accept_but(nvim, "a.txt")
    wait_answer(nvim, "· changed by you")
    assert content(nvim, "a.txt") == BEFORE
    assert [content(nvim, name) for name in ("gone.txt", *whole)] == [None] * 5
    assert content(nvim, "to/as_is.txt") == "as it is\n"
    assert content(nvim, "to/long.txt") == long.replace("line 1\n", "LINE 1\n").replace("line 20\n", "LINE 20\n")


def test_words_for_changes_that_are_gone_are_kept(begin):
    nvim = begin()
    nvim.keep_notices()
    ask(nvim)
    wait_shown(nvim)
    nvim.lua(
        """
        vim.ui.input = function(_, done) _G.type_words = done end
        Ide.proposal.pending()[1].files[2].dropped = true
        assert(Ide.proposal.accept())
        """
    )
    chat(nvim, "chat:interrupt()")
    wait_idle(nvim)
    nvim.lua("type_words('because')")
    assert nvim.lua("return vim.fn.getreg('\"')") == "because"
    assert "Your text is in" in nvim.notices()[-1]


def test_bytes_that_nobody_changed_stay_where_the_agent_has_the_editor_write(begin):
    """Agents read text: byte order marks, encodings and line ends are not theirs to change."""
    texts = {"bom.txt": "\ufeffone\n".encode(), "crlf.txt": b"one\r\n", "latin.txt": "é\none\n".encode("latin1")}
    nvim = begin(files=texts)
    project = nvim.project
    written = {"bom.txt": "ONE\n", "crlf.txt": "ONE\n", "latin.txt": "é\nONE\n"}
    writes = [
        request("fs/write_text_file", path=str(project / name), content=content) for name, content in written.items()
    ]
    ask_for(nvim, [diff(project / name, "one\n", "ONE\n") for name in texts], texts, *writes)
    wait_shown(nvim)
    accept(nvim)
    wait_idle(nvim)
    assert {name: (project / name).read_bytes() for name in texts} == {
        name: content.replace(b"one", b"ONE") for name, content in texts.items()
    }


def test_what_the_user_wrote_since_they_accepted_is_not_written_over(begin):
    nvim = begin()
    project = nvim.project
    theirs = BEFORE.replace("one", "mine")
    write = request("fs/write_text_file", path=str(project / "a.txt"), content=BEFORE.replace("two", "TWO"))
    by_them = f"WRITE {project / 'a.txt'} {json.dumps(theirs)}"
    ask(nvim, by_them, write)
    wait_shown(nvim)
    accept(nvim)
    nvim.wait(
        "local list = Ide.proposal.list() return #list == 1 and list[1].files == nil",
        what="a diff, after the changeset",
    )
    assert content(nvim, "a.txt") == theirs


def test_a_new_file_of_which_nothing_is_taken_is_not_made(begin):
    nvim = begin()
    ask(nvim)
    wait_shown(nvim)
    nvim.answer("")
    nvim.lua("Ide.guard_times.unread = 0")
    nvim.keys("]f]f")
    nvim.wait("vim.api.nvim_buf_get_lines(0, 0, -1, false)[1] == 'c'", what="the new file")
    nvim.keys("dx")
    nvim.wait_screen("◌ c.txt")
    accept(nvim)
    wait_answer(nvim, "· changed by you")
    assert (content(nvim, "a.txt"), content(nvim, "new/c.txt")) == (BEFORE.replace("two", "TWO"), None)


def test_taken_back_while_it_is_written_it_is_not_said_to_be_gone(begin):
    nvim = begin()
    nvim.keep_notices()
    nvim.lua(
        """
        local apply = Ide.changeset_apply
        local run = apply.run
        apply.run = function(jobs, opts, done) _G.go_on = function() run(jobs, opts, done) end end
        """
    )
    ask(nvim)
    wait_shown(nvim)
    accept_but(nvim, "b.txt", words="because")
    chat(nvim, "chat:interrupt()")
    wait_idle(nvim)
    nvim.wait("#vim.api.nvim_list_tabpages() == 1", what="it to go")
    nvim.lua("go_on()")
    nvim.wait("notices[2] ~= nil", what="what became of it")
    [became, words] = nvim.notices()
    assert became == "`:Claude undo` undoes that: 3 files, written as you accepted it, before it was withdrawn."
    assert words.startswith("The changes were withdrawn. Your text is in")
    assert content(nvim, "a.txt") == BEFORE.replace("two", "TWO")


@pytest.mark.parametrize("close", ["q", "tabclose", "bdelete!", "bwipeout!"])
def test_what_was_typed_into_a_proposal_that_is_closed_is_kept(begin, close):
    nvim = begin()
    nvim.keep_notices()
    ask(nvim)
    wait_shown(nvim)
    nvim.keys("omine<Esc>")
    nvim.wait(lambda: "mine" in nvim.lines() and nvim.mode() == "n")
    nvim.keys(f":{close}<CR>")
    wait_idle(nvim)
    nvim.wait("#vim.api.nvim_list_tabpages() == 1 and notices[1] ~= nil", what="it to go")
    kept = nvim.lua("return vim.fn.bufnr('a.txt (recovered)')")
    assert nvim.lines(kept) == ["one", "TWO", "mine", "three"]
    assert nvim.notices() == [f"Your edits to the proposal are saved: `:buffer {kept}`."]
    assert answers(nvim)[0]["outcome"]["optionId"] == "no"


@pytest.mark.parametrize("count", [1, 3])
def test_a_new_file_that_was_refused_is_not_said_to_be_changed(begin, count):
    nvim = begin()
    call = edit(nvim.project)
    call["content"] = call["content"][-count:]
    # Like Gemini, which says no more of a refused call; it ends with the turn.
    say(nvim, permission(**call))
    if count == 1:
        wait_diff(nvim)
        nvim.cmd("Claude reject")
    else:
        wait_shown(nvim)
        reject(nvim, "SAY use tabs")
        wait_text(nvim, "\nuse tabs")
    wait_answer(nvim, "· rejected")
    assert "without asking" not in text(nvim)
    assert (content(nvim, "a.txt"), content(nvim, "new/c.txt")) == (BEFORE, None)


def test_of_many_files_and_large_changes_the_agent_is_told_in_few_words(begin, tmp_path):
    texts = {f"{number}.txt": "one\n" for number in range(10)}
    nvim = begin(files=texts)
    ask_for(nvim, [diff(nvim.project / name, "one\n", "1\n") for name in texts])
    wait_shown(nvim)
    nvim.lua(
        """
        local first = Ide.proposal.pending()[1].files[1]
        vim.api.nvim_buf_set_lines(first.text.bufs.right, 0, -1, false, vim.fn.split(("mine\\n"):rep(10000), "\\n"))
        """
    )
    accept_but(nvim, "1.txt")
    nvim.wait(lambda: len(acp_steps.read(tmp_path, "session/prompt")) == 2, what="the agent to be told")
    reported = acp_steps.read(tmp_path, "session/prompt")[1]["prompt"][0]["text"]
    assert f"What is in {nvim.project}/0.txt now differs from what you proposed: read it again." in reported
    assert f"{nvim.project}/1.txt was left as it was" in reported
    assert f"These 8 files are as you proposed them: {nvim.project}/2.txt, {nvim.project}/3.txt" in reported
    assert content(nvim, "0.txt") == "mine\n" * 10000


def test_a_link_that_goes_is_asked_in_words(begin):
    """It could not be restored."""
    nvim = begin()
    project = nvim.project
    (project / "link.txt").symlink_to("b.txt")
    diffs = [diff(project / "a.txt", "one\n", "1\n"), of_codex("delete", project / "link.txt", BEFORE, "")]
    ask_for(nvim, diffs)
    shown = wait_question(nvim)
    assert "link.txt" in shown and "+1" in shown
