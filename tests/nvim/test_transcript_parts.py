"""The parts of a transcript that need no window: heights of rows, pieces to colour."""

import pytest

pytestmark = [pytest.mark.one_nvim, pytest.mark.shared]


def test_heights_are_sums_of_what_was_set(nvim):
    wrong = nvim.lua("""
      math.randomseed(7)
      local heights, naive = Ide.transcript_heights.new(), {}
      for step = 1, 3000 do
        local choice = math.random(100)
        if choice <= 40 or #naive == 0 then
          naive[#naive + 1] = math.random(0, 5)
          heights:push(naive[#naive])
        elseif choice <= 85 then
          local row = math.random(#naive)
          naive[row] = math.random(0, 9)
          heights:set(row - 1, naive[row])
        elseif choice <= 97 then
          local keep = math.random(math.max(#naive - 5, 0), #naive)
          heights:truncate(keep)
          naive = vim.list_slice(naive, 1, keep)
        else
          local count = math.random(0, 3)
          heights:prepend(count, 1)
          for _ = 1, count do table.insert(naive, 1, 1) end
        end
        local row, sum = math.random(0, #naive), 0
        for at = 1, row do sum = sum + naive[at] end
        if heights:before(row) ~= sum or heights:len() ~= #naive then return { step, "before" } end
        local total = heights:before(#naive)
        if total > 0 then
          local line = math.random(0, total - 1)
          local at, offset = heights:at(line)
          if heights:before(at) + offset ~= line or offset >= heights:get(at) then return { step, "at" } end
        end
      end
    """)
    assert wrong is None


def test_code_in_fences_is_a_piece_of_its_own(nvim):
    lines = ["Prose", "```lua", "local x", "```", "more", "~~~~", "plain", "```", "~~~~", "```py", "open"]
    pieces = nvim.lua(
        """
        return vim.tbl_map(function(piece)
          return { piece.row, piece.fence and "fence" or piece.language, #piece.lines }
        end, Ide.transcript_pieces.of(..., "markdown"))
        """,
        lines,
    )
    in_words = [f"{row} {language or '-'} {count}" for row, language, count in pieces]
    assert in_words[:5] == ["0 markdown 1", "1 fence 1", "2 lua 1", "3 fence 1", "4 markdown 1"]
    assert in_words[5:] == ["5 fence 1", "6 - 2", "8 fence 1", "9 fence 1", "10 py 1"]


WINBARS = """
local title, facts, states = ...
local winbar, texts = Ide.transcript_winbar, {}
local buf = vim.api.nvim_create_buf(false, true)
for at, state in ipairs(states) do
  local view = {
    buf = buf,
    title = title,
    canvas = { heights = { len = function() return 0 end } },
    source = {
      info = function() return { len = 0, complete = true } end,
      facts = function() return facts end,
      runs = function() return state.runs end,
    },
    ran = state.ran,
    live = state.activity and { state = { activity = state.activity } },
  }
  local width = state.width or 80
  local win = vim.api.nvim_open_win(buf, false, { relative = "editor", row = 0, col = 0, width = width, height = 1 })
  local text = winbar.of(view, win)
  texts[at] = vim.api.nvim_eval_statusline(text, { winid = win, use_winbar = true, maxwidth = width }).str
  vim.api.nvim_win_close(win, true)
end
vim.api.nvim_buf_delete(buf, { force = true })
return texts
"""
"""The lines above a chat with that title and those facts, in these states."""


def test_what_a_chat_does_stays_above_it_beside_a_long_prompt(nvim):
    facts = [["1 task", "ClaudeTranscriptWorking"], ["bypassPermissions"]]
    states = [{"activity": "idle", "width": width} for width in (80, 56, 45)]
    texts = nvim.lua(WINBARS, "long " * 20, facts, states)
    for shown in texts[:2]:
        assert "long" in shown and "idle" in shown and "1 task" in shown and "bypassPermissions" in shown, texts
    assert "1 task" in texts[2] and "bypassPermissions" not in texts[2], "the last one gives way first"


def test_what_a_chat_does_is_said_once_above_it_and_one_that_is_begun_again_has_not_ended(nvim):
    facts = [["ended", "ClaudeTranscriptFailed"], ["plan"]]
    for text in nvim.lua(WINBARS, "It", facts, [{"ran": False}, {"ran": True}]):
        assert text.count("ended") == 1 and "plan" in text, text
    for text in nvim.lua(
        WINBARS, "It", [["starting"]], [{"ran": True, "runs": True, **live} for live in ({}, {"activity": "gone"})]
    ):
        assert "ended" not in text and "starting" in text, text


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (60, "  Bash touch a; rm a             (+9.2 s asked) rejected   1.2 s"),
        (37, "  Bash touch a; rm…  rejected   1.2 s"),
        (30, "  Bash touch a; rm a  rejected"),
        (26, "  Bash touch a;…  rejected"),
    ],
)
def test_how_a_call_went_is_said_in_a_narrow_window_too(nvim, width, expected):
    spread = nvim.lua(
        """
        local chunks = Ide.transcript_fold.spread({
          left = { { "  Bash " }, { "touch a; rm a" } },
          right = { { "(+9.2 s asked) " }, { "rejected" }, { "   1.2 s" } },
        }, ...)
        return table.concat(vim.tbl_map(function(chunk) return chunk[1] end, chunks))
        """,
        width,
    )
    assert len(spread) <= width and spread.split() == expected.split(), spread
