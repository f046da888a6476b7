"""Faults reported for other editors' agent chats, and our behaviour instead."""

import re

import pytest
from acp_steps import begin, read
from chat_steps import chat, say, start, start_scripted, wait_answer, wait_idle, wait_text
from review_steps import A_CLAUDE, A, turn

pytestmark = pytest.mark.dealt


@pytest.mark.every_nvim
def test_nothing_that_is_on_the_screen_is_drawn_again_while_an_answer_grows(begin_acp):
    """carlos-algms/agentic.nvim#147: it flickers."""
    nvim = begin_acp()
    for number in range(2):
        say(nvim, f"SAY line {number} stays where it is")
        wait_answer(nvim, f"\nline {number} stays")
    nvim.wait(lambda: nvim.terminal.text().count("line 1 stays") == 2, what="the prompt and the answer")
    words = [f"word{number}" for number in range(60)]
    nvim.lua(GROW, words[0])
    nvim.wait_screen(words[0])
    wait_idle(nvim)
    nvim.wait(COLOURED, what="the colours")
    nvim.lua("vim.api.nvim_echo({ { 'all is drawn' } }, false, {})")
    nvim.wait_screen("all is drawn")  # what came before it is in `raw`
    before = len(nvim.terminal.raw)
    for word in words[1:]:
        nvim.lua(GROW, word)
        nvim.wait_screen(word)
    drawn = bytes(nvim.terminal.raw[before:])
    assert b"stays where it is" not in drawn, "what was there is not sent again"
    assert b"\x1b[2J" not in drawn and b"\x1b[J" not in drawn, "nothing is wiped"
    assert len(drawn) / len(words) < 200, "a word costs no more than its line"


COLOURED = """
return vim.iter(vim.api.nvim_list_bufs()):all(function(buf)
  local view = Ide.open_views.of_buffer(buf)
  return not view or not view.colouring and next(view.uncoloured) == nil
end)
"""
GROW = """
local chat = Ide.chat.current()
chat.store:append(99, "text", ... .. " ")
chat.on_change()
"""


def test_what_needs_a_chat_says_that_there_is_none(start_nvim):
    """avante-corp/avante.nvim#3023: the menus of models and modes fail until the window is opened."""
    nvim = start_nvim()
    for word in ("close", "restart"):
        nvim.keys(f":Claude chat {word}<CR>")
        nvim.wait_screen("No chat is open.")
        nvim.keys(":echo<CR>")
        nvim.wait(lambda: "No chat is open." not in nvim.terminal.text())


SILENT = "for line in sys.stdin: open('said', 'a').write(line)\n"


def keys_say(nvim, said):
    nvim.wait_kind("prompt")
    nvim.wait("Ide.chat.current().pid ~= nil", what="the start")
    for key, words in said.items():
        nvim.keys(key)
        nvim.wait_screen(words)
        assert nvim.lua("return vim.v.errmsg") == ""
        nvim.keys(":echo<CR>")
        nvim.wait(lambda words=words: words not in nvim.terminal.text(), what="the notice to go")
    assert chat(nvim, "return chat.state") == "starting"
    assert "ERROR" not in nvim.log()


def test_keys_before_the_cli_has_said_a_word_say_what_is_not_known(start_nvim, tmp_path):
    """avante-corp/avante.nvim#3023, as above."""
    nvim = start_scripted(start_nvim, tmp_path, SILENT)
    nvim.cmd("Claude chat")
    none = {"gB": "Nothing runs in the background.", "gu": "No prompt is queued."}
    keys_say(
        nvim,
        {"gm": "Claude has not reported any models.", "gE": "Claude has not reported any levels of effort.", **none},
    )
    nvim.keys("<S-Tab>")
    said = nvim.project / "said"
    nvim.wait(lambda: said.exists() and '"set_permission_mode"' in said.read_text(), what="the mode to be asked for")
    assert nvim.lua("return vim.v.errmsg") == "" and chat(nvim, "return chat.mode") is None, "nobody told"


def test_keys_before_an_agent_has_said_a_word_say_what_is_not_known(start_nvim, tmp_path):
    nvim = begin(start_nvim, tmp_path, setup={"silent": ["initialize"]})
    said = {
        "gm": "Robot has not reported any models.",
        "gE": "Robot has not reported any levels of effort.",
        "<S-Tab>": "Robot has not reported any modes.",
    }
    keys_say(nvim, {**said, "gB": "Nothing runs in the background.", "gu": "No prompt is queued."})


MODES = {
    "currentModeId": "ask",
    "availableModes": [{"id": id, "name": id, "description": None} for id in ("ask", "code", "build")],
}
MODELS = {"currentModelId": "small", "availableModels": [{"modelId": id, "name": id} for id in ("small", "large")]}
LOADS = {"capabilities": {"loadSession": True}}


def load(nvim, session):
    nvim.cmd(f"Claude chat --agent scripted --resume {session}")
    nvim.wait(f"(Ide.chat.current() or {{}}).session == '{session}'", what="the session")
    wait_idle(nvim)


def reported(nvim):
    """The chat's own messages, in the chat shown last."""
    return nvim.lua("local chat = Ide.chat.current() return { chat.mode or vim.NIL, chat.model or vim.NIL }")


def test_the_keys_set_a_loaded_session_as_its_agent_says(begin_acp, tmp_path):
    nvim = begin_acp(setup={"modes": MODES, "models": MODELS, "setsMode": "plan", **LOADS})
    nvim.cmd("Claude chat close")
    load(nvim, "old")
    assert reported(nvim) == [None, None], "which is set, nobody reported (carlos-algms/agentic.nvim#310)"
    nvim.keys("<S-Tab>")
    nvim.wait_screen("Mode: plan.")
    assert read(tmp_path, "session/set_mode") == [{"sessionId": "old", "modeId": "ask"}]
    assert chat(nvim, "return chat.mode") == "plan", "what it tells counts, not what it was asked for"
    nvim.keys("gm")
    shown = nvim.wait_screen("<CR> choose")
    nvim.keys_count()
    assert {"  small", "  large"} <= set(re.findall(r"\d  (  \w+)", shown))
    nvim.keys("2<CR>")
    nvim.wait("Ide.chat.current().model == 'large'", what="the model")
    assert read(tmp_path, "session/set_model") == [{"sessionId": "old", "modelId": "large"}]


def test_an_agent_that_is_started_anew_has_no_mode_that_the_one_before_was_set_to(begin_acp, tmp_path):
    nvim = begin_acp(setup={"modes": MODES, "models": MODELS, **LOADS})
    nvim.keys("<S-Tab>")
    nvim.wait("Ide.chat.current().mode == 'code'", what="the mode")
    nvim.wait(lambda: " code " in nvim.screen()[0], what="the mode in the bar")
    say(nvim, "EXIT 3")
    wait_text(nvim, "Robot ended with code 3")
    say(nvim, "SAY after")
    wait_answer(nvim, "\nafter")
    assert reported(nvim) == [None, None]
    nvim.wait(lambda: " code " not in nvim.screen()[0], what="the bar to say so")
    nvim.keys("<S-Tab>")
    nvim.wait("Ide.chat.current().mode == 'ask'", what="the mode")


def test_the_commands_are_those_of_the_cli(start_nvim, mock_api, tmp_path):
    """xenodium/agent-shell#71, agentclientprotocol/claude-agent-acp#23: fewer commands than in the terminal."""
    files = {".claude/commands/greet.md": "---\ndescription: Greet them\n---\nSAY hello $ARGUMENTS\n"}
    nvim = start(start_nvim, mock_api, tmp_path, files=files)
    nvim.cmd("Claude chat")
    wait_idle(nvim)
    nvim.keys("i/")
    nvim.wait("vim.fn.pumvisible() == 1", what="the commands")
    offered = nvim.lua("return vim.tbl_map(function(item) return item.word end, vim.fn.complete_info().items)")
    reported = chat(nvim, "return vim.tbl_map(function(command) return command.name end, chat.commands)")
    assert set(offered) >= {name for name in reported if not name.startswith("__") and not name.endswith("(MCP)")}
    assert {"greet", "compact", "context", "init", "clear"} <= set(offered)
    nvim.keys("gre")
    nvim.wait(lambda: "Greet them" in (shown := nvim.terminal.text()) and "compact" not in shown, what="that one alone")
    nvim.keys("<C-n> you<Esc><CR>")
    wait_text(nvim, "\nhello you")


def test_what_came_of_going_back_is_reported(start_nvim):
    """anthropics/claude-code 2.1.83: a rewind that fails says nothing."""
    nvim = start_nvim(files={"a.txt": "new\n"}, notices=True)
    restored = {"files": ["a.txt"], "insertions": 0, "deletions": 0, "skipped": 0}
    links = {**restored, "skipped": 1}
    for answer, reported in (
        (restored, "Restored a.txt."),
        (links, "Restored a.txt. 1 file is left as it is: links are not followed."),
        (None, "The files were not restored: gone"),
    ):
        nvim.answer(3)  # the journal does not know whose the changes are: the first choice leaves them
        nvim.lua(
            """
            local answer = ...
            put = nil
            local chat = { cwd = vim.fn.getcwd(), store = { put = function(_, _, words) put = words end } }
            function chat.ask(_, _, fields, done)
              if fields.is_dry then
                local files = { "a.txt", "link.txt" }
                done({ rewound = { files = files, insertions = 1, deletions = 1, skipped = 0 } })
              elseif answer == vim.NIL then
                done({ error = "gone" }, "gone")
              else
                done({ rewound = answer })
              end
            end
            Ide.chat_rewind.to(chat, { uuid = "x" })
            """,
            answer,
        )
        nvim.wait(lambda reported=reported: nvim.notices()[-1:] == [reported], what=reported)
        assert nvim.lua("return put") == (reported if answer else None)


def test_a_late_question_about_going_back_takes_nothing_that_is_typed(start_nvim):
    nvim = start_nvim(files={"a.txt": "old\n"})
    nvim.lua("""
      later, restored = nil, 0
      local chat = { cwd = vim.fn.getcwd(), store = { put = function() end } }
      function chat.ask(_, _, fields, done)
        if fields.is_dry then later = done else restored = restored + 1 end
      end
      Ide.chat_rewind.to(chat, { uuid = "x" })
    """)
    nvim.keys("i")
    nvim.wait("vim.api.nvim_get_mode().mode == 'i'")
    nvim.notify("later({ rewound = { files = { 'a.txt' }, insertions = 1, deletions = 1, skipped = 0 } })")
    nvim.wait_screen("question about going back")
    nvim.keys("1<CR>2")
    nvim.wait(lambda: nvim.lines() == ["1", "2"], what="what is typed")
    nvim.keys("<Esc>")
    nvim.wait_screen("Restore a.txt")  # the typing has not answered it
    nvim.keys("3<CR>")
    nvim.wait("restored == 1")


REWIND = """
local restored, folder = ..., vim.fn.getcwd()
local files = vim.tbl_keys(restored)
table.sort(files)
local rewound = { files = files, insertions = 1, deletions = 1, skipped = 0 }
local chat = { cwd = folder, store = { put = function() end } }
function chat.ask(_, _, fields, done)
  for name, text in pairs(fields.is_dry and {} or restored) do
    vim.fn.writefile(vim.split(text, "\\n"), folder .. "/" .. name, "b")
  end
  done({ rewound = rewound })
end
Ide.chat_rewind.to(chat, { uuid = "x" })
"""


def test_going_back_spares_the_lines_of_the_user_unless_they_choose_it_and_is_undone_at_once(start_nvim, connect):
    nvim = start_nvim(files={"a.txt": A, "b.txt": A}, notices=True)
    turn(nvim, connect(nvim), a_txt=A_CLAUDE, b_txt=A_CLAUDE)
    mine = A_CLAUDE.replace("five", "five, mine")
    nvim.cmd("edit b.txt")
    nvim.keys("5GA, mine<Esc>:w<CR>")
    texts = lambda: [(nvim.project / name).read_text() for name in ("a.txt", "b.txt")]  # noqa: E731
    nvim.wait(lambda: texts() == [A_CLAUDE, mine], what="the user's line on disk")
    all_of_it = "Restore a.txt, b.txt, without your changes in b.txt"
    for choice, result in ((1, [A, mine]), (3, [A, A])):
        nvim.answer(choice)
        nvim.lua(REWIND, {"a.txt": A, "b.txt": A})
        nvim.wait(lambda result=result: texts() == result, what=f"{choice}")
        asked = nvim.asked()[-1]
        assert asked["lines"] == [
            "Restore a.txt only",
            "Review Claude's changes first",
            all_of_it,
            "Leave the files as they are",
        ]
        assert "you changed b.txt" in asked["prompt"]
        nvim.wait(lambda: nvim.lines() == (nvim.project / "b.txt").read_text().splitlines(), what="the buffer")
        assert all(one["ok"] for one in nvim.undo_turn())
        assert texts() == [A_CLAUDE, mine]


WITHOUT_LIBRARY = """
local function missing() return nil, "There is no library." end
package.loaded[Ide("native")] = setmetatable(
  { VERSION = "", load = missing, is_loaded = function() return false end }, { __index = function() return missing end })
"""


def test_without_the_library_a_chat_says_so_and_leaves_nothing(start_nvim):
    nvim = start_nvim(init_lua=WITHOUT_LIBRARY, notices=True)
    nvim.keys(":Claude chat<CR>")
    nvim.wait_notice("There is no library.")
    nvim.wait("#vim.api.nvim_list_wins() == 1", what="its windows to close")
    assert "stack traceback" not in nvim.log()
