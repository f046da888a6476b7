"""The cursor and the selection as sent to Claude: ranges and text, as a user selects."""

from random import Random

import pytest

from harness.fake_server import FakeServer

pytestmark = pytest.mark.dealt

CONTENT = "one two three\n\nthree öü four\nfive 😀 six\n\tsev\ten\nlast\n"


@pytest.fixture
def editor(start_nvim):
    """A Neovim in a.txt with a listening client."""

    def start(content: str | bytes = CONTENT, **kwargs):
        nvim = start_nvim(["a.txt"], files={"a.txt": content}, **kwargs)
        nvim.server = FakeServer(nvim, "selection")
        nvim.server.connect()
        nvim.server.wait_sent("selection_changed", lambda sent: sent["filePath"])
        return nvim

    return start


def position(line, character):
    return {"line": line, "character": character}


def selected(nvim, keys, text=None):
    """Types keys; returns the final selection sent: the text, the start, the end."""
    nvim.keys(keys)
    sent = nvim.server.wait_sent(
        "selection_changed", lambda sent: sent["text"] == text if text is not None else sent["text"] != ""
    )
    return sent["text"], sent["selection"]["start"], sent["selection"]["end"]


def test_tells_the_cursor_of_the_file_at_once(editor):
    nvim = editor()
    first = nvim.server.sent("selection_changed")[0]
    path = str(nvim.project / "a.txt")
    here = position(0, 0)
    assert first == {
        "text": "",
        "filePath": path,
        "fileUrl": f"file://{path}",
        "selection": {"start": here, "end": here, "isEmpty": True},
    }
    assert nvim.server.sent("active_editor") == [{"filePath": path}]


def test_tells_a_cursor_column_in_utf16_units(editor):
    nvim = editor()
    nvim.keys("4Gfs")
    sent = nvim.server.wait_sent("selection_changed", lambda sent: sent["selection"]["start"]["line"] == 3)
    nvim.server.wait_sent("selection_changed", lambda sent: sent["selection"]["start"] == position(3, 8))
    assert sent["selection"]["isEmpty"] is True


# Keys, and the expected text, start and end.
SELECTIONS = {
    "charwise": [
        ("ggve", "one", (0, 0), (0, 3)),
        ("ggeve", "e two", (0, 2), (0, 7)),
        ("ggwviwo", "two", (0, 4), (0, 7)),
        ("3Gfövl", "öü", (2, 6), (2, 8)),
        ("4Gf😀v", "😀", (3, 5), (3, 7)),
        ("ggv$", "one two three\n", (0, 0), (1, 0)),
        ("ggwvj", "two three\n\n", (0, 4), (2, 0)),
        ("Gv$", "last", (5, 0), (5, 4)),
    ],
    "linewise": [
        ("ggV", "one two three", (0, 0), (0, 13)),
        ("3GVj", "three öü four\nfive 😀 six", (2, 0), (3, 11)),
        ("3GVgg", "one two three\n\nthree öü four", (0, 0), (2, 13)),
        ("GVk", "\tsev\ten\nlast", (4, 0), (5, 4)),
        # An empty last line still counts: readers exclude an end line at character 0.
        ("ggVj", "one two three\n\n", (0, 0), (2, 0)),
    ],
    "blockwise": [
        ("gg<C-v>jjee", "one two \n\nthree öü", (0, 0), (2, 8)),
        ("3Gfö<C-v>j", " ö\n😀", (2, 5), (3, 7)),
        ("gg4l<C-v>jj$", "two three\n\ne öü four", (0, 4), (2, 13)),
        ("3G$<C-v>k$", "\nthree öü four", (1, 0), (2, 13)),
    ],
}


@pytest.mark.every_nvim
@pytest.mark.parametrize("kind", SELECTIONS)
def test_tells_a_selection_and_from_where_to_where_it_goes(editor, kind):
    nvim = editor()
    for keys, text, start, end in SELECTIONS[kind]:
        assert selected(nvim, "gg0" + keys, text) == (text, position(*start), position(*end)), keys
        selected(nvim, "<Esc>:call cursor(1, 12)<CR>", "")


ODD_TEXTS = {
    "a part of a tab in a block is spaces": ("abcd\n\tx\nabcd\n", "ggl<C-v>jjl", "bc\n  \nbc", (0, 1), (2, 3)),
    "a combining mark stays with its letter": ("cafe\u0301 x\n", "gg3lv", "e\u0301", (0, 3), (0, 5)),
    "a NUL is told as one": (b"a\x00b\n", "ggV", "a\x00b", (0, 0), (0, 3)),
    "Select mode selects, too": (CONTENT, "gggh<C-o>e", "one", (0, 0), (0, 3)),
}


@pytest.mark.every_nvim
@pytest.mark.parametrize(("content", "keys", "text", "start", "end"), ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_texts_and_modes(editor, content, keys, text, start, end):
    assert selected(editor(content), keys, text) == (text, position(*start), position(*end))


@pytest.mark.every_nvim
def test_selection_exclusive_leaves_the_character_under_the_cursor_out(editor):
    nvim = editor(init_lua="vim.o.selection = 'exclusive'")
    assert selected(nvim, "ggvw", "one ") == ("one ", position(0, 0), position(0, 4))
    assert selected(nvim, "<Esc>$", "")[0] == ""  # else the first would match the second
    assert selected(nvim, "0wv0", "one ") == ("one ", position(0, 0), position(0, 4))


@pytest.mark.every_nvim
def test_virtualedit_does_not_reach_past_the_text(editor):
    nvim = editor("ab\nabcdef\n", init_lua="vim.o.virtualedit = 'all'")
    assert selected(nvim, "gglv5l", "b") == ("b", position(0, 1), position(0, 2))
    assert selected(nvim, "<Esc>gg04l<C-v>jl", "\nef") == ("\nef", position(0, 2), position(1, 6))


def test_bytes_that_are_no_utf8_do_not_break_the_message(editor):
    nvim = editor(b"a\xffb\xc3\n", init_lua="vim.o.fileencodings = 'utf-8'")
    nvim.cmd("edit ++enc=utf-8 ++bad=keep a.txt")
    text, start, end = selected(nvim, "ggV", "a\ufffdb\ufffd")
    assert (text, start, end) == ("a\ufffdb\ufffd", position(0, 0), position(0, 4))


def test_the_text_is_cut_at_a_character_and_the_range_stays_whole(editor):
    nvim = editor("ö" * 300 + "\n" + "x" * 50 + "\n", opts={"selection": {"max_bytes": 255}})
    nvim.keys("ggVG")
    sent = nvim.server.wait_sent("selection_changed", lambda sent: sent["selection"]["end"]["line"] == 1)
    assert sent["text"] == "ö" * 127
    assert (sent["selection"]["start"], sent["selection"]["end"]) == (position(0, 0), position(1, 50))


def test_a_selection_of_200_000_lines_is_read_only_as_far_as_it_is_reported(editor):
    nvim = editor("".join(f"line {n} of a large file\n" for n in range(200_000)))
    text, start, end = selected(nvim, "ggVG")
    nvim.server.wait_sent("selection_changed", lambda sent: sent["selection"]["end"]["line"] == 199_999)
    sent = nvim.server.sent("selection_changed")[-1]
    assert len(sent["text"].encode()) == 256 * 1024
    lines_read = nvim.lua(
        """
        local region = Ide.selection_region
        local read, get_lines, get_text = 0, vim.api.nvim_buf_get_lines, vim.api.nvim_buf_get_text
        local function counted(get)
          return function(...)
            local lines = get(...)
            read = read + #lines
            return lines
          end
        end
        vim.api.nvim_buf_get_lines, vim.api.nvim_buf_get_text = counted(get_lines), counted(get_text)
        for _, kind in ipairs({ "v", "V", "\\22" }) do
          region.read(0, { kind = kind, lnum1 = 1, col1 = 1, off1 = 0, lnum2 = 200000, col2 = 3, off2 = 0,
            dollar = false, inclusion = "inclusive", virtual = false }, 256 * 1024)
        end
        vim.api.nvim_buf_get_lines, vim.api.nvim_buf_get_text = get_lines, get_text
        return read
        """
    )
    assert lines_read < 45_000


READ = """
local line, kind, first, last = ...
local buf, region = vim.api.nvim_create_buf(false, true), Ide.selection_region
vim.api.nvim_buf_set_lines(buf, 0, -1, false, { line, "end" })
local get_lines, bytes = vim.api.nvim_buf_get_lines, 0
vim.api.nvim_buf_get_lines = function(...)
  local lines = get_lines(...)
  for _, one in ipairs(lines) do bytes = bytes + #one end
  return lines
end
local ok, text, range = pcall(region.read, buf, {
  kind = kind, lnum1 = 1, col1 = first, off1 = 0, lnum2 = 1, col2 = last, off2 = 0,
  dollar = false, inclusion = "inclusive", virtual = false,
}, 1000)
vim.api.nvim_buf_get_lines = get_lines
return { ok and text, ok and range.start.character, ok and range["end"].character, bytes }
"""


@pytest.mark.every_nvim
def test_of_a_line_of_megabytes_no_more_is_read_than_the_cursor_needs(start_nvim):
    nvim = start_nvim()
    line = "ab" + "\u00e4\U0001f600" + "x" * 2_000_000
    assert nvim.lua(READ, line, "", 9, 9) == ["", 5, 5, 0]
    assert nvim.lua(READ, line, "v", 3, 9) == ["\u00e4\U0001f600x", 2, 6, 0]
    assert nvim.lua(READ, "ab\u00e4", "v", 3, 3)[:3] == ["\u00e4", 2, 3]
    assert nvim.lua(READ, "ab", "v", 2, 9)[:3] == ["b\n", 1, 0]


CURSORS = """
local line, columns = ...
local region, position = Ide.selection_region, Ide.position
line = line:gsub("%%(%x%x)", function(code) return string.char(tonumber(code, 16)) end)
vim.api.nvim_buf_set_lines(0, 0, -1, false, { line, line .. "x" })
local get_text, longest, wrong = vim.api.nvim_buf_get_text, 0, {}
vim.api.nvim_buf_get_text = function(...)
  local lines = get_text(...)
  longest = math.max(longest, #lines[1])
  return lines
end
for at, col in ipairs(columns) do
  if at == #columns / 2 then
    line = "ab" .. line
    vim.api.nvim_buf_set_text(0, 0, 0, 0, 0, { "ab" })
  end
  local _, range = region.read(0, { kind = "", lnum1 = 1, col1 = col + 1 }, 1000)
  local expected = position.utf16(line, col)
  if range.start.character ~= expected then
    wrong[#wrong + 1] = { col, range.start.character, expected }
  end
  longest = at == 1 and 0 or longest
end
vim.api.nvim_buf_get_text = get_text
return { wrong, longest }
"""


def test_a_cursor_is_counted_from_the_last_one_of_its_line(start_nvim):
    nvim, random = start_nvim(), Random(1)
    pieces = ["a", "ab", "ä", "€", "\U0001f600", "e\u0301", "%80", "%E4%B8", "%F0%9F", "%FF"]
    for _ in range(30):
        line = "".join(random.choices(pieces, k=2000))
        columns = [random.randrange(2500) for _ in range(100)]
        assert nvim.lua(CURSORS, line, columns)[0] == [], "it is as counted from the line's start"
    wrong, longest = nvim.lua(CURSORS, "x" * 2_000_000, [1_000_000 + at % 7 for at in range(20)])
    assert wrong == []
    assert longest > 1_000_000, "the text had changed"
    wrong, longest = nvim.lua(CURSORS, "x" * 2_000_000, [1_000_000, 1_000_007, 1_000_003])
    assert longest < 1000, "of a long line little is read"
