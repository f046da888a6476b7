"""Requests of an agent of the Agent Client Protocol to the user and the editor: permissions, files, terminals, forms."""

import acp_steps
import pytest
from acp_steps import OPTIONS, answers, diff, permission, request, say, text, wait_answer, wait_idle, wait_text
from chat_steps import accept, chat, edit_proposal, reject, wait_asked, wait_diff

pytestmark = pytest.mark.dealt

ALL = [
    OPTIONS[0],
    {"optionId": "ever", "name": "Always allow", "kind": "allow_always"},
    OPTIONS[1],
    {"optionId": "never", "name": "Always reject", "kind": "reject_always"},
]


def wait_answers(nvim, count=1):
    nvim.wait(lambda: len(answers(nvim)) >= count, what="an answer")
    return answers(nvim)


def test_all_four_answers_to_a_permission(begin_acp):
    nvim = begin_acp()
    options = []
    for key, option in (("y", "once"), ("a", "ever"), ("n", "no"), ("N", "never")):
        say(nvim, permission(title=f"rm -rf build/{option}", kind="execute", options=ALL))
        wait_asked(nvim, f"rm -rf build/{option}")
        nvim.keys(key)
        options.append({"outcome": {"outcome": "selected", "optionId": option}})
        assert wait_answers(nvim, len(options)) == options
        wait_idle(nvim)


@pytest.mark.slow
def test_what_the_agent_takes_back_is_gone_from_the_screen(begin_acp, tmp_path):
    nvim = begin_acp()
    asked = permission(title="rm -rf build").replace("REQUEST", "SEND")
    say(nvim, f"{asked}\n" + request("terminal/create", command="true") + "\nWAIT")
    wait_asked(nvim, "rm -rf build")
    assert nvim.lua("return #Ide.requests.pending()") == 1
    chat(nvim, "chat:interrupt()")
    wait_idle(nvim)
    say(nvim, asked + "\nTAKE_BACK\nSAY back\nWAIT")
    wait_text(nvim, "\nback")
    nvim.wait("#Ide.requests.pending() == 0", what="the question to be gone")
    refused = nvim.wait(lambda: [m["error"]["code"] for m in acp_steps.read(tmp_path) if "error" in m])
    assert refused == [-32800]


def test_an_edit_is_a_diff_and_the_agent_writes_it(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\ntwo\n"})
    path = tmp_path / "project/a.txt"
    write = request("fs/write_text_file", path=str(path), content="one\nTWO\n")
    say(
        nvim,
        permission(title="Edit", kind="edit", content=[diff(path, "one\ntwo\n", "one\nTWO\n")])
        + "\n"
        + write
        + "\nSAY done",
    )
    wait_diff(nvim)
    accept(nvim)
    wait_text(nvim, "\ndone")
    assert wait_answers(nvim, 2) == [{"outcome": {"outcome": "selected", "optionId": "once"}}, {}]
    assert path.read_text() == "one\nTWO\n", "it is asked once"


def test_what_the_user_makes_of_an_edit_is_written_and_told(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\ntwo\n"})
    path = tmp_path / "project/a.txt"
    say(nvim, permission(title="Edit", kind="edit", content=[diff(path, "one\ntwo\n", "ONE\nTWO\n")]))
    wait_diff(nvim)
    edit_proposal(nvim, 0, 1, ["mine  "])
    accept(nvim)
    assert wait_answers(nvim) == [{"outcome": {"outcome": "selected", "optionId": "no"}}]
    assert path.read_text() == "mine  \nTWO\n"
    nvim.wait(lambda: len(acp_steps.read(tmp_path, "session/prompt")) == 2, what="the agent to be told")
    assert "+mine  " in acp_steps.read(tmp_path, "session/prompt")[1]["prompt"][0]["text"]
    wait_text(nvim, "· changed by you")
    assert "without asking" not in text(nvim)


def test_a_file_is_written_only_after_a_review(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\r\ntwo"})
    path, new = tmp_path / "project/a.txt", tmp_path / "project/sub/new.txt"
    say(nvim, request("fs/write_text_file", path=str(path), content="ONE\ntwo"))
    wait_diff(nvim)
    assert path.read_bytes() == b"one\r\ntwo"
    reject(nvim)
    assert "rejected" in wait_answers(nvim)[0]["message"]
    assert path.read_bytes() == b"one\r\ntwo"
    say(nvim, request("fs/write_text_file", path=str(new), content="new\n"))
    wait_diff(nvim)
    assert not new.exists()
    accept(nvim)
    assert wait_answers(nvim, 2)[1] == {}
    assert new.read_text() == "new\n"


def test_line_ends_stay_as_the_file_has_them(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\r\ntwo\r\n", "b.txt": "one\r\ntwo\r\n"})
    for name, content in (("a.txt", "ONE\r\ntwo\r\n"), ("b.txt", "ONE\ntwo\n")):
        path = tmp_path / "project" / name
        say(nvim, request("fs/write_text_file", path=str(path), content=content))
        wait_diff(nvim)
        accept(nvim)
        nvim.wait(lambda path=path: path.read_bytes() == b"ONE\r\ntwo\r\n", what="the file")
        wait_idle(nvim)


@pytest.mark.slow
def test_files_are_read_as_the_user_sees_them(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\ntwo\nthree\n", ".env": "SECRET=1\n", "kept.txt": "SECRET\n"})
    project = tmp_path / "project"
    nvim.lua("vim.cmd.split('a.txt') vim.api.nvim_buf_set_lines(0, 0, 1, false, { 'unsaved' })")
    lines = [
        request("fs/read_text_file", path=str(project / "a.txt")),
        request("fs/read_text_file", path=str(project / "a.txt"), line=2, limit=1),
        request("fs/read_text_file", path=str(project / ".env")),
        request("fs/read_text_file", path=str(project / "gone.txt")),
        request("fs/read_text_file", path="a.txt"),
        request("fs/read_text_file", path=str(project / "kept.txt")),
    ]
    nvim.lua("vim.cmd.split('kept.txt') vim.b.claude_private = true vim.cmd('close | bunload kept.txt')")
    say(nvim, "\n".join(lines))
    whole, part, secret, gone, relative, private = wait_answers(nvim, 6)
    assert "is private" in private["message"], "a private buffer need not be loaded"
    assert whole == {"content": "unsaved\ntwo\nthree\n"} and part == {"content": "two\n"}
    assert "is private" in secret["message"] and gone["code"] == -32002 and relative["code"] == -32602


@pytest.mark.slow
def test_commands_run_in_terminals(begin_acp):
    nvim = begin_acp()
    lines = [
        request("terminal/create", command="printf", args=["a\\nb\\n"]),
        request("terminal/wait_for_exit", terminalId="term-1"),
        request("terminal/output", terminalId="term-1"),
        request("terminal/create", command="echo $X; sleep 100", env=[{"name": "X", "value": "why"}]),
        request("terminal/kill", terminalId="term-2"),
        request("terminal/wait_for_exit", terminalId="term-2"),
        request("terminal/release", terminalId="term-2"),
        request("terminal/output", terminalId="term-2"),
        request("terminal/create", command="/nowhere/at/all"),
        request("terminal/create", command="seq", args=["1", "9999"], outputByteLimit=9),
        request("terminal/wait_for_exit", terminalId="term-4"),
        request("terminal/output", terminalId="term-4"),
    ]
    say(nvim, "\n".join(lines))
    answers_ = wait_answers(nvim, len(lines))
    assert answers_[0] == {"terminalId": "term-1"} and answers_[1]["exitCode"] == 0
    assert answers_[2]["output"] == "a\nb\n" and answers_[2]["truncated"] is False
    assert answers_[2]["exitStatus"]["exitCode"] == 0
    assert answers_[5]["signal"] == "SIGTERM" and answers_[7]["code"] == -32002
    assert answers_[11] == {"output": "998\n9999\n", "truncated": True, "exitStatus": {"exitCode": 0}}
    terminals = nvim.lua(
        """
        return #vim.tbl_filter(function(buf)
          return vim.bo[buf].buftype == "terminal" and vim.fn.bufname(buf):find(" %(terminal ?%d*%)$") ~= nil
        end, vim.api.nvim_list_bufs())
        """
    )
    assert terminals >= 3


@pytest.mark.slow
def test_a_command_of_an_agent_leaves_the_user_where_they_are(begin_acp):
    nvim = begin_acp()
    nvim.cmd("autocmd TermOpen * let g:opened = 1 | startinsert")
    say(nvim, request("terminal/create", command="true"))
    assert wait_answers(nvim) == [{"terminalId": "term-1"}]
    assert nvim.lua("return { vim.g.opened or 0, vim.api.nvim_get_mode().mode, vim.o.eventignore }") == [0, "n", ""]


@pytest.mark.slow
def test_what_was_accepted_ends_with_its_turn_and_the_reason_of_a_rejection_reaches_the_agent(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\n"})
    path = tmp_path / "project/a.txt"
    edit = permission(title="Edit", kind="edit", content=[diff(path, "one\n", "ONE\n")])
    say(nvim, edit)
    wait_diff(nvim)
    accept(nvim)
    wait_answers(nvim)
    wait_idle(nvim)
    say(nvim, request("fs/write_text_file", path=str(path), content="ONE\n"))
    wait_diff(nvim)
    assert path.read_text() == "one\n"
    reject(nvim, "not so loud")
    assert "not so loud" in wait_answers(nvim, 2)[1]["message"]
    wait_idle(nvim)
    say(nvim, edit)
    wait_diff(nvim)
    reject(nvim, "SAY quieter")
    wait_text(nvim, "\nquieter")
    assert wait_answers(nvim, 3)[2] == {"outcome": {"outcome": "selected", "optionId": "no"}}


def test_a_second_change_of_a_file_in_a_turn_is_not_excused_by_the_first(begin_acp, tmp_path):
    nvim = begin_acp(files={"a.txt": "one\n"})
    path = tmp_path / "project/a.txt"

    def done(call, old, new):
        fields = {"toolCallId": call, "title": "Edit", "kind": "edit", "content": [diff(path, old, new)]}
        begun = acp_steps.update("tool_call", **fields, status="in_progress")
        return begun + "\n" + acp_steps.update("tool_call_update", toolCallId=call, status="completed")

    lines = [
        request("fs/write_text_file", path=str(path), content="ONE\n"),
        done("c1", "one\n", "ONE\n"),
        "SAY and more",
        done("c2", "ONE\n", "TWO\n"),
        "SAY over",
    ]
    say(nvim, "\n".join(lines))
    wait_diff(nvim)
    accept(nvim)
    wait_text(nvim, "\nover")
    reported = f"{path} was changed without asking you"
    wait_text(nvim, reported)
    assert text(nvim).count(reported) == 1
    assert text(nvim).index(reported) > text(nvim).index("and more")


def test_asking_for_the_output_again_and_again_costs_what_is_new(nvim):
    reported = nvim.lua(
        r"""
        local output = Ide.acp_output.new(1000)
        local red, reported = "\27[31mred\27[0m", {}
        local function add(text)
          output:add(text)
          reported[#reported + 1] = { output:text() }
        end
        add("one\r\n" .. red .. "\27[3")
        add("2mgreen\27[0m\r")
        add("\nend\27")
        add("]0;title\7 of it")
        add(("x"):rep(1500) .. "é")
        -- What a poll reads is what came since: a text of a megabyte that was read is not looked at again.
        local large = Ide.acp_output.new(1024 * 1024)
        for _ = 1, 40 do
          large:add(("some words\27[0m of output\r\n"):rep(1024))
          large:text()
        end
        local read, concat = 0, table.concat
        table.concat = function(list, ...)
          local text = concat(list, ...)
          read = read + #text
          return text
        end
        for _ = 1, 50 do
          large:add("a line\r\n")
          large:text()
        end
        table.concat = concat
        local small = {}
        for at, each in ipairs({ { 6, "abc\255\255\255" }, { 5, "ääää" } }) do
          local one = Ide.acp_output.new(each[1])
          one:add(each[2])
          small[at] = one:text()
        end
        return { small, reported, read, #large:text(), (large:text():sub(-14)) }
        """
    )
    small, texts, read, length, last = reported
    assert small == ["\ufffd\ufffd", "ää"], "no more than was asked for"
    assert [text for text, _ in texts[:4]] == [
        "one\nred",
        "one\nredgreen",
        "one\nredgreen\nend",
        "one\nredgreen\nend of it",
    ]
    assert len(texts[4][0].encode()) == 1000 and texts[4][0].endswith("xé") and texts[4][1] is True
    assert not any(truncated for _, truncated in texts[:4])
    assert read == 50 * len("a line\r\n")
    assert length == 40 * 1024 * len("some words of output\n") + 50 * 7 and last == "a line\na line\n"


def test_files_that_a_prompt_names_are_linked(begin_acp, tmp_path):
    files = {"a.txt": "one\n", "b.txt": "two\n", "dir/c.txt": "three\n", ".env": "SECRET=1\n"}
    nvim = begin_acp(files=files, setup={"capabilities": {"promptCapabilities": {"embeddedContext": True}}})
    project = tmp_path / "project"
    nvim.cmd(f"edit {project}/b.txt")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { 'unsaved' })")
    say(nvim, "SAY Look at @a.txt, @b.txt and (@dir/c.txt). Not @missing, me@a.txt, @.env or @a.txt again.")
    wait_answer(nvim, "again.")
    sent = acp_steps.read(tmp_path, "session/prompt")[0]["prompt"]
    assert sent[1:] == [
        {"type": "resource_link", "uri": f"file://{project}/a.txt", "name": "a.txt"},
        {"type": "resource", "resource": {"uri": f"file://{project}/b.txt", "text": "unsaved\n"}},
        {"type": "resource_link", "uri": f"file://{project}/dir/c.txt", "name": "c.txt"},
    ]
    found = nvim.lua("return Ide.acp_links.complete(...)", str(project), "d")
    assert found == ["dir/"]


@pytest.mark.slow
def test_a_form_is_filled_in(begin_acp):
    nvim = begin_acp()
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name", "minLength": 2},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "sure": {"type": "boolean", "default": True},
            "kind": {"type": "string", "oneOf": [{"const": "a", "title": "First"}, {"const": "b", "title": "Second"}]},
        },
        "required": ["name"],
    }
    say(nvim, request("elicitation/create", mode="form", message="Who are you?", requestedSchema=schema))
    wait_asked(nvim, "Who are you?")
    nvim.lua(
        """
        typed = { "x", "Ada", "12", "3" }
        vim.ui.input = function(_, done) done(table.remove(typed, 1)) end
        vim.ui.select = function(items, _, done) done(items[2], 2) end
        """
    )
    nvim.keys("y")  # the required field is missing
    nvim.keys("11")  # too short, then long enough
    nvim.wait_screen("Your name: Ada")
    nvim.keys("224")
    nvim.wait_screen("kind: Second")
    nvim.keys("y")
    assert wait_answers(nvim) == [
        {"action": "accept", "content": {"name": "Ada", "count": 3, "sure": True, "kind": "b"}}
    ]
    say(nvim, request("elicitation/create", mode="url", message="Look", url="https://example.org", elicitationId="e"))
    wait_asked(nvim, "https://example.org")
    nvim.keys("n")
    assert wait_answers(nvim, 2)[1] == {"action": "decline"}


@pytest.mark.every_nvim
def test_the_keys_are_in_sight_however_long_a_question_is(begin_acp):
    nvim = begin_acp()
    words = "\n".join(f"step {number} of a plan" for number in range(100))
    options = [
        {"optionId": "a", "name": "Yes, and do not ask again for such commands", "kind": "allow_always"},
        {"optionId": "n", "name": "No", "kind": "reject_once"},
    ]
    content = [{"type": "text", "text": words}]
    say(nvim, permission(title="Go?", kind="switch_mode", content=content, options=options))
    wait_asked(nvim, "step 9 of a plan")
    nvim.wait_screen(" a Yes, and do not a…  n No  q later ─")
    nvim.keys("G")
    nvim.wait_screen("step 99 of a plan")
    nvim.keys("n")
    assert wait_answers(nvim)[0]["outcome"]["optionId"] == "n"


def test_a_key_that_is_no_answer_here_leaves_nothing_pending(begin_acp):
    nvim = begin_acp()
    nvim.keep_notices()
    say(nvim, permission(title="Go?", options=[OPTIONS[1]]))
    wait_asked(nvim, "Go?")
    nvim.keys("y")
    nvim.wait_notice("Robot offers no such answer")
    nvim.wait("vim.fn.mode(1) == 'n'", what="no operator that waits for a key")
    nvim.keys("n")
    assert wait_answers(nvim)[0]["outcome"]["optionId"] == "no"


def test_enter_in_an_empty_prompt_shows_what_was_put_off(begin_acp):
    nvim = begin_acp()
    say(nvim, permission(title="rm -rf build"))
    wait_asked(nvim, "rm -rf build")
    nvim.keys("<Esc>")
    nvim.wait_screen("Robot asks you something")
    nvim.wait_screen("show it")
    nvim.wait(lambda: "rm -rf build ·" not in "".join(nvim.screen()) or True)
    nvim.wait("vim.fn.bufname() == 'Robot (prompt)' or vim.bo.filetype == 'claude_prompt'", what="the prompt")
    nvim.keys("<CR>")
    nvim.wait_kind("question")


def test_one_who_goes_back_sees_what_was_chosen(begin_acp):
    nvim = begin_acp()
    ask = r"""
        local questions = {
          { question = "Which?", multiSelect = false, options = {
            { label = "one\n2 fake", description = "first\nsecond" }, { label = "two" } } },
          { question = "Why?", multiSelect = false, options = { { label = "so" } } },
        }
        local chat = Ide.chat.current()
        Ide.card_question.ask({
          requester = chat.requester, chat = chat, id = "x", send = function() end,
          ask = { kind = "questions", questions = questions },
        })
    """
    nvim.lua(ask)
    wait_asked(nvim, "Which?")
    lines = nvim.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    assert lines[2:7] == ["1 one", "    2 fake", "  first", "    second", "2 two"]
    nvim.keys("2")
    wait_asked(nvim, "Why?")
    nvim.keys("<BS>")
    nvim.wait_screen("2 * two")
    assert nvim.lua("return vim.api.nvim_get_current_line()") == "2 * two"
