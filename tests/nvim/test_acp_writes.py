"""Writes that an agent of the Agent Client Protocol requests: the user accepts exactly what was shown."""

import itertools

import acp_steps
import pytest
from acp_steps import answers, diff, permission, request, say, wait_idle, wait_text
from chat_steps import accept, edit_proposal, reject, wait_diff

pytestmark = pytest.mark.dealt

TEXT = "".join(f"{number}\n" for number in range(1, 10))


def write(path, content):
    return request("fs/write_text_file", path=str(path), content=content)


def send(path, content):
    """As `write`, without waiting for the answer."""
    return "SEND" + write(path, content).removeprefix("REQUEST")


def results(tmp_path):
    """The answers to all of the agent's requests."""
    return [message for message in acp_steps.read(tmp_path) if "method" not in message]


def changed_meanwhile(nvim, name):
    """The diff is not accepted: its file has changed, so it is shown again."""
    seen = nvim.lua("return vim.tbl_values(Ide.proposal_state.entries())[1].file.text.bufs.right")
    said = nvim.lua("return select(2, Ide.proposal.accept())")
    assert said == f"Look at it again, then accept: {name} has changed meanwhile."
    nvim.wait(
        """
        local seen, entry = ..., vim.tbl_values(Ide.proposal_state.entries())[1]
        return entry and entry.file.text and entry.file.text.bufs.right ~= seen and Ide.proposal.list()[1].seen
        """.replace("...,", f"{seen},"),
        what="the diff of now",
    )


@pytest.mark.every_nvim
def test_what_others_write_meanwhile_is_kept_and_shown(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": TEXT})
    path = tmp_path / "project/a.txt"
    say(nvim, write(path, TEXT.replace("9\n", "NINE\n")))
    wait_diff(nvim)
    path.write_text(TEXT.replace("1\n", "one\n"))
    changed_meanwhile(nvim, "a.txt")
    nvim.wait_screen("a.txt +1 −1")
    assert path.read_text() == TEXT.replace("1\n", "one\n"), "nothing is written unseen"
    accept(nvim)
    nvim.wait(lambda: answers(nvim) == [{}], what="the answer")
    assert path.read_text() == TEXT.replace("1\n", "one\n").replace("9\n", "NINE\n")
    # The agent knows another text than the file's current one.
    nvim.wait(lambda: len(acp_steps.read(tmp_path, "session/prompt")) == 2, what="the agent to be told")
    prompt = acp_steps.read(tmp_path, "session/prompt")[1]["prompt"][0]["text"]
    assert (
        prompt.startswith(f"{path} had changed by the time that I accepted your edit of it") and "-1\n+one\n" in prompt
    )
    wait_idle(nvim)


def test_where_both_changed_a_line_the_edit_is_shown_against_that(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": TEXT})
    path = tmp_path / "project/a.txt"
    say(nvim, write(path, TEXT.replace("5\n", "FIVE\n")))
    wait_diff(nvim)
    edit_proposal(nvim, 5, 6, ["mine"])
    path.write_text(TEXT.replace("5\n", "others\n"))
    changed_meanwhile(nvim, "a.txt")
    nvim.wait_screen("others")
    nvim.wait_screen("mine")  # the user's typing is kept
    reject(nvim)
    wait_idle(nvim)
    assert path.read_text() == TEXT.replace("5\n", "others\n")


# Like plugins that format on save, in a buffer of the file.
FORMATS = """
vim.fn.bufload(vim.fn.bufadd("a.txt"))
vim.api.nvim_create_autocmd({ "BufWritePre", "FileWritePre" }, {
  callback = function() vim.fn.append(0, "formatted") end,
})
"""


def test_a_file_that_was_only_touched_or_went_meanwhile(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": TEXT})
    path = tmp_path / "project/a.txt"
    nvim.lua(FORMATS)
    say(nvim, write(path, "new\n"))
    wait_diff(nvim)
    path.write_text(TEXT)
    accept(nvim)
    nvim.wait(lambda: answers(nvim) == [{}], what="the answer")
    wait_idle(nvim)
    assert path.read_text() == "new\n", "as the user has seen it, whatever a formatter makes of files"
    nvim.wait("vim.deep_equal(vim.api.nvim_buf_get_lines(vim.fn.bufnr('a.txt'), 0, -1, false), { 'new' })")
    nvim.cmd("bwipeout! a.txt")
    say(nvim, write(path, "newer\n"))
    wait_diff(nvim)
    path.unlink()
    changed_meanwhile(nvim, "a.txt")
    nvim.wait_screen("new file")
    accept(nvim)
    nvim.wait(lambda: answers(nvim) == [{}, {}], what="the answer")
    assert path.read_text() == "newer\n"


READ = """#vim.tbl_filter(function(diff)
  local entry = Ide.proposal_state.entry(diff.id)
  return entry ~= nil and entry.file.text ~= nil
end, Ide.proposal.list())"""
SEEN = "vim.iter(Ide.proposal.list()):find(function(diff) return diff.seen end)"


@pytest.mark.every_nvim
def test_two_writes_of_one_file_at_once_are_both_in_it(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": TEXT})
    path = tmp_path / "project/a.txt"
    first, second = TEXT.replace("1\n", "ONE\n"), TEXT.replace("9\n", "NINE\n")
    say(nvim, "\n".join([send(path, first), send(path, second), "WAIT"]))
    nvim.wait(f"return {READ} == 2", what="both to be read")
    nvim.wait(f"return {SEEN} ~= nil", what="one of them, whichever comes first")
    nvim.lua(f"assert(Ide.proposal.accept({SEEN}.id))")
    nvim.wait(f"return #Ide.proposal.list() == 1 and {SEEN} ~= nil", what="the other one")
    both = first.replace("9\n", "NINE\n").split()
    nvim.wait(lambda: nvim.lines() == both, what="it to be one of what the first has made")
    nvim.lua(f"assert(Ide.proposal.accept({SEEN}.id))")
    nvim.wait(lambda: [one["result"] for one in results(tmp_path)] == [{}, {}], what="both answers")
    assert path.read_text() == first.replace("9\n", "NINE\n")


def test_an_edit_that_is_allowed_is_one_of_the_file_as_it_is(begin_acp, tmp_path):
    """The agent writes its accepted text over whatever is there."""
    nvim = begin_acp(files={"a.txt": TEXT})
    path = tmp_path / "project/a.txt"
    edited = TEXT.replace("9\n", "NINE\n")
    say(nvim, permission(title="Edit", kind="edit", content=[diff(path, TEXT, edited)]))
    wait_diff(nvim)
    path.write_text(TEXT.replace("1\n", "one\n"))
    changed_meanwhile(nvim, "a.txt")
    accept(nvim)
    nvim.wait(lambda: answers(nvim) == [{"outcome": {"outcome": "selected", "optionId": "no"}}], what="the answer")
    assert path.read_text() == edited.replace("1\n", "one\n", 1), "the editor has written it in the agent's place"
    wait_text(nvim, "· changed by you")


@pytest.mark.parametrize("mine", [None, "à"])
def test_what_was_allowed_is_written_in_the_encoding_of_the_file(begin_acp, tmp_path, mine):
    nvim = begin_acp(files={"a.txt": "é\none\n".encode("latin1")})
    path = tmp_path / "project/a.txt"
    ask = permission(title="Edit", kind="edit", content=[diff(path, "é\none\n", "é\nü\n")])
    # The agent has the accepted text written; if the user changed it, nothing is left to write.
    say(nvim, ask if mine else "\n".join([ask, write(path, "é\nü\n")]))
    wait_diff(nvim)
    nvim.wait_screen("a.txt +1 −1")
    if mine:
        edit_proposal(nvim, 1, 2, [mine])
    accept(nvim)
    allowed = [{"outcome": {"outcome": "selected", "optionId": "no" if mine else "once"}}]
    nvim.wait(lambda: answers(nvim) == allowed + ([] if mine else [{}]), what="the answers")
    assert path.read_bytes() == f"é\n{mine or 'ü'}\n".encode("latin1")


def test_what_a_file_holds_but_for_its_line_ends_is_no_edit(begin_acp, tmp_path):
    files = {"a.txt": b"a\r\nb\r\n", "b.txt": b"\xef\xbb\xbfa\nb\n"}
    nvim = begin_acp(files=files)
    paths = [tmp_path / "project" / name for name in files]
    say(nvim, "\n".join(write(path, "a\nb\n") for path in paths))
    nvim.wait(lambda: answers(nvim) == [{}, {}], what="the answers")
    assert [path.read_bytes() for path in paths] == list(files.values())
    assert nvim.lua("return Ide.proposal.count()") == 0


def test_a_path_with_a_nul_is_none(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": TEXT})
    path = f"{tmp_path}/project/a.txt\0b"
    say(nvim, "\n".join([write(path, "new\n"), request("fs/read_text_file", path=path)]))
    nvim.wait(lambda: [one["code"] for one in answers(nvim)] == [-32602] * 2, what="the answers")


@pytest.mark.parametrize("order", ["le", "be"])
def test_a_file_in_utf_16_is_read_as_text_and_keeps_its_bytes(begin_acp, tmp_path, order):
    def in_bytes(text):
        return f"\ufeff{text}".encode(f"utf-16-{order}")

    names = ["closed.txt", "open.txt"]
    nvim = begin_acp(files=dict.fromkeys(names, in_bytes("\u4e0a\r\none\r\n")))
    nvim.lua("vim.fn.bufload(vim.fn.bufadd('open.txt'))")
    for name in names:
        path = tmp_path / "project" / name
        say(nvim, "\n".join([request("fs/read_text_file", path=str(path)), write(path, "\u4e0a\nONE\n")]))
        wait_diff(nvim)
        nvim.wait_screen(f"{name} +1 −1")
        accept(nvim)
        wait_idle(nvim)
        assert answers(nvim)[-2]["content"].lstrip("\ufeff") == "\u4e0a\r\none\r\n"
        assert path.read_bytes() == in_bytes("\u4e0a\r\nONE\r\n")
    say(nvim, write(path, "\u4e0a\nONE\n"))  # it is that already
    wait_idle(nvim)
    assert nvim.lua("return Ide.proposal.count()") == 0


def test_a_file_keeps_its_encoding_where_it_has_a_word_for_all(begin_acp, tmp_path):
    names = [f"{number}.txt" for number in range(4)]
    nvim = begin_acp(files=dict.fromkeys(names, "é\none\n".encode("latin1")))
    cases = itertools.product([("ONE", "latin1"), ("€", "utf-8")], [True, False])
    for name, ((line, encoding), is_open) in zip(names, cases, strict=True):
        path, after = tmp_path / "project" / name, f"é\n{line}\n"
        if is_open:
            buf = nvim.lua("local buf = vim.fn.bufadd(...) vim.fn.bufload(buf) return buf", name)
            assert nvim.lua("return vim.bo[...].fileencoding", buf) == "latin1"
        say(nvim, "\n".join([request("fs/read_text_file", path=str(path)), write(path, after)]))
        wait_diff(nvim)
        nvim.wait_screen(f"{name} +1 −1")
        accept(nvim)
        wait_idle(nvim)
        assert answers(nvim)[-2]["content"] == "é\none\n"
        assert path.read_bytes() == after.encode(encoding)
        if is_open:
            nvim.wait(lambda buf=buf, after=after: nvim.lines(buf) == after.splitlines(), what="it in the buffer")
            assert nvim.lua("return vim.bo[...].modified", buf) is False


def test_a_link_to_nothing_is_not_replaced(begin_acp, tmp_path):
    nvim = begin_acp()
    link = tmp_path / "project/link"
    link.symlink_to(tmp_path / "elsewhere")
    say(nvim, write(link, "x\n"))
    nvim.wait(lambda: answers(nvim), what="the answer")
    assert "link to a file that does not exist" in answers(nvim)[0]["message"]
    assert link.is_symlink() and not (tmp_path / "elsewhere").exists()
