"""An accepted diff's answer is exact: the proposal's own bytes, or the user's edit in the proposal's style."""

import pytest
from diff_steps import Diffs

BOM = "\ufeff"
TEXTS = {
    "empty": "",
    "one line": "a\n",
    "no final newline": "a\nb",
    "only a newline": "\n",
    "only newlines": "\n\n\n",
    "crlf": "a\r\nb\r\n",
    "crlf, no final newline": "a\r\nb",
    "only a crlf": "\r\n",
    "cr": "a\rb\r",
    "mixed, crlf first": "a\r\nb\nc\r\n",
    "mixed, lf first": "a\nb\r\nc\n",
    "mixed, the last line alone is lf": "a\r\nb\r\nc\n",
    "crlf with a cr inside": "a\rb\r\nc\r\n",
    "crlf, ends in cr": "a\r\nb\r",
    "blank lines in crlf": "\r\n\r\na\r\n\r\n",
    "cr cr lf": "a\r\r\nb\r\r\n",
    "bom": BOM + "a\nb\n",
    "bom and crlf": BOM + "a\r\nb\r\n",
    "only a bom": BOM,
    "bom twice": BOM + BOM + "a\n",
    "nul": "a\0b\n\0\n",
    "control characters": "\x01\x1a\x1b[31m\x7f\n\x1a",
    "wide and combining": "日本語 e\u0301 👩‍👩‍👧 \U0010ffff\n",
    "no-break and line separators": "\u00a0a\u2028b\u2029c\u0085\n",
    "modeline": "a\n# vim: set ff=dos noeol bomb :\n",
    "blank at the ends of lines": "a  \n\t\n  b\t\n",
    "a very long line": "x" * 100_000 + "\n",
}


@pytest.fixture
def diffs(start_nvim):
    return Diffs(start_nvim(files={"a.txt": "old\r\n"}))


THIRDS = [list(TEXTS)[at::3] for at in range(3)]


@pytest.mark.dealt
@pytest.mark.parametrize("texts", THIRDS, ids=["a third", "another", "the last"])
@pytest.mark.parametrize("keys", ["ZZ", "ggOmore<Esc>u:w<CR>"], ids=["untouched", "edited and undone"])
def test_a_text_is_answered_byte_for_byte(diffs, keys, texts):
    for id, name in enumerate(texts, 1):
        (diffs.nvim.project / f"{id}.txt").write_bytes(b"old\r\n")
        diffs.open(id, f"{id}.txt", TEXTS[name])
        assert diffs.accept(id, f"{id}.txt", keys) == TEXTS[name], name
        diffs.wait_clean()


EDITS = [
    ("a\nb\n", "ccA", "A\nb\n"),
    ("a\nb", "ccA", "A\nb"),
    ("a\r\nb\r\n", "Gonew", "a\r\nb\r\nnew\r\n"),
    ("a\r\nb", "Gonew", "a\r\nb\r\nnew"),
    ("a\rb\r", "Gonew", "a\rb\rnew\r"),
    (BOM + "a\r\n", "ccA", BOM + "A\r\n"),
    (BOM + "a", "ccA", BOM + "A"),
    ("a\r\nb\nc\r\n", "GccC<C-v><C-m>", "a\r\nb\nC\r\n"),
    ("a\nb\n", ":%d<CR>", ""),
    (BOM + "a\n", ":%d<CR>", BOM),
    ("a\n", "cc", "\n"),
    ("a\n\n\n", "Gdd", "a\n\n"),
    ("", "ifirst", "first\n"),
    ("a\0b\n", "x", "\0b\n"),
    ("日本\n", "x", "本\n"),
]


@pytest.mark.dealt
@pytest.mark.parametrize("edits", [EDITS[:8], EDITS[8:]], ids=["half", "the other half"])
def test_edited_keeps_the_style_of_the_proposal(diffs, edits):
    for id, (proposed, keys, expected) in enumerate(edits, 1):
        (diffs.nvim.project / f"{id}.txt").write_bytes(b"old\r\n")
        diffs.open(id, f"{id}.txt", proposed)
        assert diffs.accept(id, f"{id}.txt", "gg" + keys + "<Esc>ZZ") == expected, (proposed, keys)
        diffs.wait_clean()


def test_what_the_lines_do_not_show_is_said(diffs):
    diffs.open(1, "a.txt", "old")
    diffs.nvim.wait_screen("drops the final newline")


def test_options_that_change_files_on_writing_change_nothing(start_nvim):
    init = """
      vim.o.fixendofline, vim.o.bomb, vim.o.fileformat = true, true, "dos"
      vim.o.fileformats, vim.o.backup, vim.o.undofile = "mac,dos", true, true
      vim.api.nvim_create_autocmd({ "BufWritePre", "BufWritePost", "FileType", "BufReadPost", "BufNewFile" }, {
        callback = function(event)
          _G.seen = (_G.seen or "") .. event.event
          vim.api.nvim_buf_set_lines(event.buf, 0, 0, false, { "formatted" })
        end,
      })
    """
    diffs = Diffs(start_nvim(init_lua=init, files={"a.lua": "x = 1\n"}))
    diffs.open(1, "a.lua", "x = 2")
    assert diffs.nvim.lines() == ["x = 2"]
    assert diffs.accept(1, "a.lua", "A -- edited<Esc>:w<CR>") == "x = 2 -- edited"
    assert diffs.nvim.lua("return _G.seen") is None


def test_bytes_that_are_no_utf8_are_refused_with_one_word_and_the_diff_stays(diffs):
    diffs.nvim.keep_notices()
    diffs.open(1, "a.txt", "a\n")
    diffs.nvim.lua('vim.api.nvim_buf_set_lines(0, 0, -1, false, { "\\255" })')
    for verb in ("ZZ", ":w<CR>", ":Claude accept<CR>"):
        diffs.nvim.lua("notices = {}")
        diffs.nvim.keys(verb)
        diffs.nvim.wait("#notices > 0", what=f"what {verb} says")
        # A second notice, in this turn of the event loop or scheduled in it, would be before this one.
        diffs.nvim.lua("vim.schedule(function() vim.notify('the last one') end)")
        diffs.nvim.wait("notices[#notices] == 'the last one'")
        said, _ = diffs.nvim.notices()
        assert "not valid UTF-8" in said, verb
        assert diffs.outcomes(1) == [] and diffs.current() == 1, verb
