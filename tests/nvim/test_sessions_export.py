"""A session as a Markdown document: its content, its name, and that it blocks nothing."""

import pytest

pytestmark = [pytest.mark.one_nvim, pytest.mark.slow]


def export(nvim, session):
    """Exports it and returns the text."""
    before = nvim.lua("return #notices")
    nvim.cmd(f"Claude sessions export {session}")
    nvim.wait(
        lambda: any(said.startswith("Exported") for said in nvim.notices()[before:]),
        timeout=120,
        what="the document",
    )
    return "\n".join(nvim.lines())


def test_the_document_holds_what_was_said_and_done(start_nvim, sessions, project):
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make test", "description": "Test"}}
    thinking = {"type": "thinking", "thinking": "Hm."}
    agent = {"type": "tool_use", "id": "t2", "name": "Agent", "input": {"description": "Look", "prompt": "Look around"}}
    launched = {"isAsync": True, "status": "async_launched", "agentId": "a1"}
    session = sessions.write(
        project,
        ("Run the tests", [thinking, {"type": "text", "text": "I run them."}, call], {"t1": "all passed"}),
        ("Ask somebody", [agent], {"t2": ("Async agent launched successfully.", launched)}),
        ("Thanks", "You are welcome."),
        title="The tests",
    )
    nvim = start_nvim(notices=True)
    text = export(nvim, session)
    assert text.startswith(f"# The tests\n\n- Session: `{session}`\n- Folder: `{project}`\n- Branch: `main`\n")
    order = ["## You · ", "Run the tests", "## Claude · ", "<summary>Thinking</summary>", "Hm.", "I run them."]
    order += ["<summary><b>Bash</b> <code>make test</code></summary>", "```sh\nmake test\n```", "all passed"]
    order += ["Ask somebody", "<b>Agent</b>", "Look around"]
    order += ["## You · ", "Thanks", "## Claude · ", "You are welcome."]
    at = 0
    for part in order:
        assert part in text[at:], part
        at = text.index(part, at) + len(part)
    assert text.endswith("You are welcome.")
    assert "Async agent launched" not in text, "that is for the model"


def test_it_is_a_new_buffer_that_only_the_user_writes(start_nvim, sessions, project):
    session = sessions.write(project, ("Fix a/b: now?", "ok"))
    (project / "Fix a b now.md").write_text("mine\n")
    nvim = start_nvim(notices=True)
    export(nvim, session)
    assert nvim.lua("return vim.fn.bufname()") == "Fix a b now 2.md"
    assert nvim.lua("return { vim.bo.modified, vim.bo.buftype, vim.bo.filetype, vim.bo.buflisted }") == [
        True,
        "",
        "markdown",
        True,
    ]
    assert sorted(path.name for path in project.iterdir()) == ["Fix a b now.md"]
    nvim.keys(":w<CR>")
    nvim.wait(lambda: (project / "Fix a b now 2.md").exists(), what="the file")
    nvim.wait("not vim.bo.modified")
    assert (project / "Fix a b now 2.md").read_text().startswith("# Fix a/b: now?\n")
    export(nvim, session)
    assert nvim.lua("return vim.fn.bufname()") == "Fix a b now 3.md"


def test_emptied_by_undo_it_is_not(start_nvim, sessions, project):
    session = sessions.write(project, ("one", "ok"))
    nvim = start_nvim(notices=True)
    text = export(nvim, session)
    nvim.keys("ggddu")
    nvim.keys("u")
    nvim.wait_screen("Already at oldest change")
    assert "\n".join(nvim.lines()) == text


def test_a_huge_session_never_holds_neovim_up(start_nvim, sessions, project):
    output = "a line of output that is long enough to be one\n" * 400  # 19 kB
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "make"}}
    turns = [(f"prompt {n}", [call | {"id": f"t{n}"}], {f"t{n}": output}) for n in range(1000)]
    session = sessions.write(project, *turns)
    nvim = start_nvim(notices=True)
    nvim.lua(
        """
        longest, beats = 0, 0
        local first = os.clock() -- of this process: others may be busy, too
        local last = first
        vim.uv.new_timer():start(0, 2, function()
          local now = os.clock()
          if #notices == 0 then -- to read the text afterwards takes long, too
            longest, beats, took, last = math.max(longest, now - last), beats + 1, now - first, now
          end
        end)
        """
    )
    text = export(nvim, session)
    assert text.count("## You") == 1000
    longest, took, beats = nvim.lua("return { longest * 1e3, took * 1e3, beats }")
    print(f"longest pause {longest:.1f} of {took:.1f} ms, {beats} beats, {len(text) / 1e6:.1f} MB")
    assert longest < took / 2  # measured: 16 ms of a second


def test_a_buffer_that_is_wiped_out_ends_it(start_nvim, sessions, project):
    session = sessions.write(project, *[(f"prompt {n}", "answer " * 500) for n in range(2000)])
    nvim = start_nvim(notices=True)
    nvim.lua(
        """
        local set = vim.api.nvim_buf_set_lines
        vim.api.nvim_buf_set_lines = function(buf, from, ...)
          set(buf, from, ...)
          if from == -1 then
            vim.api.nvim_buf_set_lines = set
            vim.schedule(function() vim.api.nvim_buf_delete(buf, { force = true }) wiped = true end)
          end
        end
        """
    )
    nvim.cmd(f"Claude sessions export {session}")
    nvim.wait("wiped", what="the buffer to be wiped out")
    # Another export works all the same, and the first one left no message.
    other = sessions.write(project, ("other", "ok"))
    export(nvim, other)
    assert nvim.lua("return #notices") == 1


def test_a_session_that_is_gone_says_so(start_nvim, sessions, project):
    nvim = start_nvim(notices=True)
    nvim.lua("Ide.sessions_export.open({ id = 'x', file = '/nowhere/x.jsonl', updated = 0, bytes = 0 })")
    nvim.wait("#notices == 1", what="the notice")
    assert nvim.notices()[0].startswith("The session cannot be exported: ")


def test_a_document_that_is_done_while_they_edit_takes_no_key_of_theirs(start_nvim, sessions, project):
    session = sessions.write(project, ("one", "ok"))
    nvim = start_nvim(notices=True, args=["a.txt"], files={"a.txt": "first\nsecond\n"})
    nvim.lua(
        """
        local sessions = Ide.sessions
        local open = sessions.open
        sessions.open = function(file, opened, changed)
          return open(file, function(...)
            local answer = vim.F.pack_len(...)
            deliver = function() opened(vim.F.unpack_len(answer)) end
          end, changed)
        end
        """
    )
    nvim.keys(f":Claude sessions export {session}<CR>")
    nvim.wait("deliver ~= nil")
    nvim.keys("d")
    nvim.wait("vim.api.nvim_get_mode().mode == 'no'")
    nvim.lua("deliver()")
    nvim.wait("""
      return #notices == 1 or vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
        return Ide.guard.is_waiting('export ' .. buf)
      end)
    """)
    nvim.keys("d")
    nvim.wait("#notices == 1")
    assert nvim.notices()[0] == "Exported as one.md. `:w` writes it."
    assert nvim.lua("return vim.fn.bufname()") == "one.md"
    assert nvim.lua("return vim.fn.getbufline('a.txt', 1, '$')") == ["second"]
