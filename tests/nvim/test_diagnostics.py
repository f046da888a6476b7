"""getDiagnostics: fresh, in time, in the client's own spelling; and diagnostics_changed."""

import json
import re

import pytest
from fake_lsp import LSP

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

RUN = """
local args, client = ...
vim.uv.update_time() -- else timers that begin now may end before their time, as the test counts it
result, failure, answers, began = nil, nil, 0, vim.uv.hrtime()
Ide.tools_diagnostics.get_diagnostics.run(args, function(value, err)
  result, failure, answers = value, err, answers + 1
  took = (vim.uv.hrtime() - began) / 1e6
end, { id = 1, client = client or 1, name = "get_diagnostics" })
"""


def ask(nvim, uri=None, client=1):
    nvim.lua(RUN, {} if uri is None else {"uri": uri}, client)


def answer(nvim):
    nvim.wait("answers > 0", what="diagnostics")
    assert nvim.lua("return { answers, failure }") == [1]
    return json.loads(nvim.lua("return vim.json.encode(result)"))


def diagnostics(nvim, uri=None, client=1):
    ask(nvim, uri, client)
    return answer(nvim)


PATIENT = 40000
"""Milliseconds that a project waits for its servers, unless a test is about that limit. Work of 100 ms has taken
seconds on a busy machine, so "at once" means anything far below this.
"""
AT_ONCE = PATIENT / 2


def be_patient(nvim, wait_ms=PATIENT, wait_all_ms=PATIENT):
    """Sets how long servers get."""
    nvim.lua(
        "local options = Ide.config.get().diagnostics options.wait_ms, options.wait_all_ms = ...",
        wait_ms,
        wait_all_ms,
    )


def took(nvim):
    """Milliseconds of the last question."""
    return nvim.lua("return took")


def messages(files):
    return {file["uri"].rpartition("/")[2]: [item["message"] for item in file["diagnostics"]] for file in files}


@pytest.fixture
def project(start_nvim):
    def start(lsp="{}", opts=None, files=None, patient=True, **more):
        nvim = start_nvim(
            files={"a.py": "x = 1\n", "b.py": "y = 2\n", **(files or {})},
            init_lua=f"{LSP}\nfake.start('fake', {lsp})" if lsp else LSP,
            opts=opts or {},
            **more,
        )
        if patient:
            be_patient(nvim)
        nvim.uri = lambda name: f"file://{nvim.project}/{name}"
        return nvim

    return start


def edit_and_settle(nvim, name):
    """Opens a file and waits until its server has judged it."""
    nvim.lua(
        "judged = 0 vim.api.nvim_create_autocmd('DiagnosticChanged', { callback = function() judged = judged + 1 end })"
    )
    nvim.cmd(f"edit {name}")
    nvim.wait("fake.release() or judged > 0")


@pytest.mark.every_nvim
def test_a_diagnostic_has_every_field_in_utf16(project):
    nvim = project(files={"a.py": "s = '😀ü'; ERROR = 1\n"})
    edit_and_settle(nvim, "a.py")
    assert diagnostics(nvim, nvim.uri("a.py")) == [
        {
            "uri": nvim.uri("a.py"),
            "diagnostics": [
                {
                    "message": "ERROR in line 1",
                    "severity": "Error",
                    "source": "fake",
                    "code": "E1",
                    "range": {"start": {"line": 0, "character": 11}, "end": {"line": 0, "character": 16}},
                }
            ],
        }
    ]


def test_the_severities_are_the_clis_words(project):
    nvim = project(files={"a.py": "HINT\nINFO\nWARN\nERROR\n"})
    edit_and_settle(nvim, "a.py")
    (file,) = diagnostics(nvim, nvim.uri("a.py"))
    assert [item["severity"] for item in file["diagnostics"]] == ["Error", "Warning", "Info", "Hint"]


def test_the_uri_comes_back_as_it_was_sent(project):
    names = ["with space.py", "100%.py", "a%20b.py", "ünï.py", "[x]*.py", "#?.py"]
    nvim = project(files={name: "ERROR\n" for name in names})
    for name in names:
        (file,) = diagnostics(nvim, nvim.uri(name))
        assert file["uri"] == nvim.uri(name)
        assert len(file["diagnostics"]) == 1
    assert {file["uri"] for file in diagnostics(nvim)} == {nvim.uri(name) for name in names}


def test_a_link_keeps_the_clients_spelling_in_the_answer_for_all(project):
    nvim = project(files={"a.py": "ERROR\n"})
    (nvim.project / "link").symlink_to(".")
    uri = f"file://{nvim.project}/link/a.py"
    assert messages(diagnostics(nvim, uri)) == {"a.py": ["ERROR in line 1"]}
    assert [file["uri"] for file in diagnostics(nvim)] == [uri]
    assert [file["uri"] for file in diagnostics(nvim, client=2)] == [nvim.uri("a.py")]


def test_a_file_that_is_clean_now_is_named_to_who_asked_for_it(project):
    nvim = project(files={"a.py": "ERROR\n"})
    assert messages(diagnostics(nvim, nvim.uri("a.py"))) == {"a.py": ["ERROR in line 1"]}
    (nvim.project / "a.py").write_text("fine\n")
    assert diagnostics(nvim) == [{"uri": nvim.uri("a.py"), "diagnostics": []}]
    assert diagnostics(nvim, client=2) == []


def test_what_has_no_diagnostics_is_answered_at_once(project):
    nvim = project()
    for uri in ("_claude_fs_right:/p/a.py", "_claude_fs_left:/p/a.py", "https://x/y", "file:///none"):
        assert diagnostics(nvim, uri) == [{"uri": uri, "diagnostics": []}]
        assert took(nvim) < AT_ONCE


def test_an_unchanged_file_is_answered_at_once(project):
    nvim = project("{ delay = 'deferred' }")
    nvim.cmd("edit a.py")
    diagnostics(nvim, nvim.uri("a.py"))
    assert took(nvim) < AT_ONCE
    diagnostics(nvim)
    assert took(nvim) < AT_ONCE


@pytest.mark.every_nvim
def test_an_edit_on_disk_is_reloaded_and_judged_before_the_answer(project):
    nvim = project("{ delay = 60 }")
    edit_and_settle(nvim, "a.py")
    diagnostics(nvim, nvim.uri("a.py"))
    (nvim.project / "a.py").write_text("x = 1\nERROR\n")
    assert messages(diagnostics(nvim)) == {"a.py": ["ERROR in line 2"]}
    assert nvim.lines() == ["x = 1", "ERROR"]
    (nvim.project / "a.py").write_text("ERROR\n")
    assert messages(diagnostics(nvim, nvim.uri("a.py"))) == {"a.py": ["ERROR in line 1"]}
    assert took(nvim) < AT_ONCE


def test_a_verdict_on_the_old_text_is_not_taken_for_the_new_one(project):
    nvim = project("{ delay = 60, stale = true }")
    edit_and_settle(nvim, "a.py")
    (nvim.project / "a.py").write_text("ERROR\n")
    assert messages(diagnostics(nvim)) == {"a.py": ["ERROR in line 1"]}


def test_a_slow_server_costs_no_more_than_the_limit(project):
    nvim = project("{ delay = 'deferred' }", patient=False)
    nvim.cmd("edit a.py")
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) > 0")
    (nvim.project / "a.py").write_text("ERROR\n")
    assert messages(diagnostics(nvim, nvim.uri("a.py"))) == {"a.py": []}
    assert took(nvim) > 290
    (nvim.project / "a.py").write_text("ERROR ERROR\n")
    assert messages(diagnostics(nvim)) == {"a.py": []}
    assert took(nvim) > 1490


def write_until_hardly_waited_for(nvim, limit):
    """Writes and asks until the product knows that its only server reports nothing."""
    knows = """
    local client = vim.lsp.get_clients({ bufnr = 0 })[1]
    return Ide.diagnostics_servers.patience(client.id, 10000) < 10000
    """
    be_patient(nvim, wait_all_ms=limit)
    number = 0
    while not nvim.lua(knows):
        number += 1
        assert number < 20
        write(nvim, "a.py", f"x = {number} * 100\n")
        assert messages(diagnostics(nvim)) == {"a.py": []}
        assert took(nvim) > limit - 10  # a server asked only a few times gets the full wait
    be_patient(nvim)
    return number


def test_a_server_that_never_speaks_is_not_waited_for_for_ever(project):
    nvim = project("{ silent = true }")
    nvim.cmd("edit a.py")
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) > 0")
    assert write_until_hardly_waited_for(nvim, 1000) >= 2
    write(nvim, "a.py", "ERROR\n")
    assert messages(diagnostics(nvim)) == {"a.py": []}
    assert took(nvim) < AT_ONCE


def test_all_servers_of_a_file_are_heard(project):
    nvim = project("{ delay = 10 }")
    nvim.lua("fake.start('second', { delay = 150 })")
    nvim.cmd("edit a.py")
    nvim.wait("#vim.diagnostic.get() == 0 and #vim.lsp.get_clients({ bufnr = 0 }) == 2")
    (nvim.project / "a.py").write_text("ERROR\n")
    (file,) = diagnostics(nvim)
    assert {item["source"] for item in file["diagnostics"]} == {"fake", "second"}


@pytest.mark.every_nvim
def test_servers_that_are_asked_for_diagnostics_are_asked(project):
    nvim = project("{ pull = true, delay = 30 }")
    nvim.cmd("edit a.py")
    nvim.wait("vim.tbl_contains(fake.seen, 'textDocument/didOpen')")
    nvim.cmd("edit b.py")
    (nvim.project / "a.py").write_text("ERROR\n")
    assert messages(diagnostics(nvim)) == {"a.py": ["ERROR in line 1"]}
    assert took(nvim) < AT_ONCE


@pytest.mark.every_nvim
def test_an_answer_is_of_the_text_that_was_asked_about(project):
    nvim = project("{ pull = true, delay = 'deferred' }")
    nvim.cmd("edit a.py")
    nvim.wait("vim.tbl_contains(fake.seen, 'textDocument/didOpen')")
    nvim.lua("""
      server = vim.lsp.get_clients()[1]
      Ide.diagnostics_servers.listen(server)
      local params = { textDocument = { uri = vim.uri_from_bufnr(0) } }
      Ide.lsp.request(server, "textDocument/diagnostic", params, nil, vim.api.nvim_get_current_buf())
      early = #fake.deferred
    """)
    nvim.cmd("edit b.py")
    (nvim.project / "a.py").write_text("ERROR\n")
    ask(nvim)
    nvim.wait("#fake.deferred > early and fake.texts[vim.uri_from_bufnr(vim.fn.bufnr('a.py'))] == 'ERROR\\n'")
    nvim.lua("fake.release(early) vim.schedule(function() vim.schedule(function() answered = true end) end)")
    nvim.wait("answered")
    judged = "Ide.diagnostics_servers.has_judged(server.id, vim.fn.bufnr('a.py'))"
    assert nvim.lua(f"return {judged}") is False
    nvim.lua("fake.release()")
    assert messages(answer(nvim)) == {"a.py": ["ERROR in line 1"]}


@pytest.mark.every_nvim
def test_a_file_that_is_not_open_is_loaded_for_its_server(project):
    nvim = project("{ delay = 20, slow_start = 50 }", files={"a.py": "ERROR\n"})
    nvim.wait_screen(re.compile(r"\[No Name\].*All"))
    before = nvim.screen()
    assert messages(diagnostics(nvim, nvim.uri("a.py"))) == {"a.py": ["ERROR in line 1"]}
    assert took(nvim) < AT_ONCE
    assert nvim.lua("return { vim.fn.bufloaded('a.py'), vim.fn.buflisted('a.py'), #vim.api.nvim_list_wins() }") == [
        1,
        0,
        1,
    ]
    assert nvim.screen() == before


@pytest.mark.parametrize("case", ["off", "outside", "private"])
def test_a_file_is_not_loaded_where_that_is_not_wanted(project, case):
    nvim = project(files={"key.pem": "ERROR\n"}, opts={"diagnostics": {"load_hidden": case != "off"}})
    (nvim.home / "b.py").write_text("ERROR\n")
    uri = {"off": nvim.uri("a.py"), "outside": f"file://{nvim.home}/b.py", "private": nvim.uri("key.pem")}[case]
    assert diagnostics(nvim, uri) == [{"uri": uri, "diagnostics": []}]
    assert nvim.lua("return #vim.tbl_filter(vim.api.nvim_buf_is_loaded, vim.api.nvim_list_bufs())") == 1


def test_edits_without_a_diff_show_in_every_buffer(project):
    nvim = project(lsp=None, files={f"f{number}.txt": "old\n" for number in range(20)})
    for number in range(20):
        nvim.cmd(f"edit f{number}.txt")
    nvim.cmd("edit f3.txt | call setline(1, 'mine')")
    for number in range(20):
        (nvim.project / f"f{number}.txt").write_text("new text\n")
    diagnostics(nvim)
    texts = nvim.lua(
        "return vim.tbl_map(function(n) return vim.fn.getbufline('f' .. n .. '.txt', 1)[1] end, vim.fn.range(20))"
    )
    assert texts == ["mine" if number == 3 else "new text" for number in range(20)]


def test_private_files_have_no_diagnostics(project):
    nvim = project(files={"a.py": "ERROR\n"})
    edit_and_settle(nvim, "a.py")
    nvim.lua("vim.b.claude_private = true")
    assert diagnostics(nvim) == []
    assert diagnostics(nvim, nvim.uri("a.py")) == [{"uri": nvim.uri("a.py"), "diagnostics": []}]


def test_scratch_buffers_have_no_diagnostics(project):
    nvim = project(lsp=None)
    nvim.lua(
        "vim.diagnostic.set(vim.api.nvim_create_namespace('t'), vim.api.nvim_create_buf(false, true), { { lnum = 0, col = 0, message = 'm' } })"
    )
    assert diagnostics(nvim) == []


def test_there_are_limits_and_the_worst_stay(project):
    nvim = project(lsp=None, opts={"diagnostics": {"max_per_file": 10, "max_total": 15}})
    nvim.lua("""
      local ns = vim.api.nvim_create_namespace("t")
      for _, name in ipairs({ "a.py", "b.py" }) do
        local rows = {}
        for row = 1, 30 do
          rows[row] = { lnum = row - 1, col = 0, message = "m", severity = row > 23 and (name == "b.py" and 1 or 2) or 4 }
        end
        vim.diagnostic.set(ns, vim.fn.bufadd(vim.fn.getcwd() .. "/" .. name), rows)
      end
      for _, name in ipairs({ "a.py", "b.py" }) do vim.bo[vim.fn.bufadd(vim.fn.getcwd() .. "/" .. name)].buflisted = true end
    """)
    files = {
        file["uri"].rpartition("/")[2]: [item["severity"] for item in file["diagnostics"]] for file in diagnostics(nvim)
    }
    assert files["b.py"].count("Error") == 7
    assert files["a.py"].count("Warning") == 7
    assert sum(map(len, files.values())) == 15
    assert len(diagnostics(nvim, nvim.uri("b.py"))[0]["diagnostics"]) == 10


def test_thousands_of_diagnostics_freeze_nothing(project):
    nvim = project(lsp=None)
    nvim.cmd("edit a.py")
    nvim.lua("""
      local rows = {}
      for row = 1, 20000 do rows[row] = { lnum = row - 1, col = 0, message = ("m"):rep(100), severity = row % 4 + 1 } end
      vim.diagnostic.config({ virtual_text = false, signs = false, underline = false })
      vim.diagnostic.set(vim.api.nvim_create_namespace("t"), 0, rows)
    """)
    (file,) = diagnostics(nvim)
    assert len(file["diagnostics"]) == 200
    assert {item["severity"] for item in file["diagnostics"]} == {"Error"}
    assert took(nvim) < AT_ONCE


def test_odd_diagnostics_are_still_json(project):
    nvim = project(lsp=None)
    nvim.cmd("edit a.py")
    nvim.lua("""
      vim.diagnostic.set(vim.api.nvim_create_namespace("t"), 0, {
        { lnum = 99, col = 7, message = "past the end" },
        { lnum = 0, col = 99, end_lnum = 0, end_col = 200, message = "bad \\255 byte", code = 7, severity = 2 },
        { lnum = 0, col = 0, message = ("ü"):rep(9000), code = "x", severity = 3 },
      })
    """)
    first, second, third = diagnostics(nvim)[0]["diagnostics"]
    assert (first["message"], first["range"]["start"]) == ("past the end", {"line": 99, "character": 0})
    assert (second["code"], second["range"]["end"]) == (7, {"line": 0, "character": 5})
    assert second["message"] == "bad \ufffd byte"
    assert 4000 < len(third["message"].encode()) <= 4096


# Around the edits of a turn: a question about one file, which is then written; at the end one about all files.


def write(nvim, name, text):
    """An edit like the CLI's."""
    before = diagnostics(nvim, nvim.uri(name))
    (nvim.project / name).write_text(text)
    return before


def test_a_file_that_an_edit_makes_is_known_to_the_servers_of_the_next(project):
    nvim = project("{ imports = true, delay = 60 }")
    edit_and_settle(nvim, "a.py")
    write(nvim, "util.py", "x = 1\n")
    write(nvim, "a.py", "import util\n")
    assert messages(diagnostics(nvim)) == {"util.py": [], "a.py": []}
    assert nvim.lua("return vim.fn.bufloaded('util.py')") == 1

    write(nvim, "wrong.py", "ERROR\n")
    assert messages(diagnostics(nvim))["wrong.py"] == ["ERROR in line 1"]

    diagnostics(nvim, nvim.uri("util.py"))
    (nvim.project / "util.py").unlink()
    assert messages(diagnostics(nvim)) == {"util.py": [], "a.py": ["no module util"], "wrong.py": ["ERROR in line 1"]}
    assert nvim.lua("return vim.fn.bufloaded('util.py')") == 0


def test_what_was_found_before_an_edit_is_reported_before_what_comes_after_it(project):
    nvim = project("{ imports = true }")
    edit_and_settle(nvim, "a.py")
    write(nvim, "util.py", "x = 1\n")
    nvim.lua("""
      local stat, deferred = vim.uv.fs_stat, nil
      vim.uv.fs_stat = function(path, done)
        if done and not deferred and vim.endswith(path, "/a.py") then -- the look of the question before the edit
          deferred = function() stat(path, done) end
          return
        end
        return stat(path, done)
      end
      function go_on() deferred() end
    """)
    write(nvim, "a.py", "import util\n")
    ask(nvim)
    nvim.lua("vim.defer_fn(go_on, 300)")  # enough time to answer without it
    assert messages(answer(nvim)) == {"util.py": [], "a.py": []}


def test_a_file_that_an_edit_makes_is_known_to_the_servers_where_the_disk_answers_after_the_limit(project):
    nvim = project("{ imports = true }")
    edit_and_settle(nvim, "a.py")
    nvim.lua("""
      local stat, deferred = vim.uv.fs_stat, {}
      vim.uv.fs_stat = function(path, done)
        if not done or not deferred or not vim.endswith(path, "/util.py") then return stat(path, done) end
        return stat(path, function(...)
          local got = { ... }
          deferred[#deferred + 1] = function() done(unpack(got, 1, 2)) end
        end)
      end
      function stats_held() return #deferred end
      function go_on()
        local waiting = deferred
        deferred = nil
        for _, tell in ipairs(waiting) do tell() end
      end
    """)
    write(nvim, "util.py", "ERROR\n")
    nvim.wait("stats_held() == 1", what="the look before the edit")
    be_patient(nvim, wait_all_ms=0)
    diagnostics(nvim)
    nvim.lua("go_on()")
    nvim.wait("#vim.diagnostic.get() == 1", what="the new file to be judged")


def test_a_server_of_another_folder_is_told_of_a_file_that_an_edit_makes(project):
    nvim = project(lsp=None, files={"one/a.py": "x = 1\n", "two/.keep": ""})
    nvim.lua("fake.start('fake', { imports = true }, vim.uv.cwd() .. '/one')")
    edit_and_settle(nvim, "one/a.py")
    write(nvim, "two/util.py", "x = 1\n")
    write(nvim, "one/a.py", "import util\n")
    assert messages(diagnostics(nvim))["a.py"] == []


def test_a_watcher_that_was_quicker_hides_no_judgement(project):
    nvim = project("{ imports = true, delay = 60 }")
    edit_and_settle(nvim, "a.py")
    write(nvim, "util.py", "x = 1\n")
    diagnostics(nvim, nvim.uri("a.py"))
    (nvim.project / "util.py").unlink()
    (nvim.project / "a.py").write_text("import util\n")
    nvim.lua("Ide.buffer_disk.reload(vim.fn.bufnr('a.py'))")
    assert messages(diagnostics(nvim))["a.py"] == ["no module util"]


@pytest.mark.every_nvim
def test_a_server_that_works_on_save_judges_an_edit_on_disk(project):
    nvim = project("{ on_save = true, delay = 120 }")
    edit_and_settle(nvim, "a.py")
    write(nvim, "a.py", "ERROR\n")
    assert messages(diagnostics(nvim)) == {"a.py": ["ERROR in line 1"]}
    write(nvim, "a.py", "x = 1\n\n")
    assert messages(diagnostics(nvim)) == {"a.py": []}


@pytest.mark.parametrize("limit", [60, 0])
def test_what_a_server_says_too_late_is_not_reported_as_it_was_before(project, limit):
    nvim = project("{ on_save = true, delay = 'deferred' }")
    edit_and_settle(nvim, "a.py")
    be_patient(nvim, wait_all_ms=limit)
    assert write(nvim, "a.py", "\nERROR\n")[0]["diagnostics"] == []
    diagnostics(nvim)
    nvim.wait("fake.release() or #vim.diagnostic.get() > 0")  # on a slow disk the edit reaches it after the answer
    # A line above moves the error in the buffer, and no check has run since: the report repeats the old position.
    (reported,) = write(nvim, "a.py", "\n\n\nfine\n")
    assert [item["message"] for item in reported["diagnostics"]] == ["ERROR in line 2"]
    assert diagnostics(nvim) == [reported]


def test_what_a_server_that_was_late_once_has_said_since_is_reported_though_it_does_not_repeat_it(project):
    opts = {"diagnostics": {"wait_all_ms": 1000}}  # the server must have been asked by then
    nvim = project("{ changes_only = true, delay = 'deferred' }", opts=opts, patient=False)
    nvim.cmd("edit a.py")
    write(nvim, "new.py", "ERROR\n")
    diagnostics(nvim)
    nvim.wait("fake.release() or #vim.diagnostic.get() > 0")
    # The server gets this change, has no news of the other file, and the wait for it is in vain.
    write(nvim, "a.py", "x = 2\n")
    assert messages(diagnostics(nvim))["new.py"] == ["ERROR in line 1"]


def test_errors_that_were_there_before_a_slow_server_came_are_not_reported_as_new(project):
    nvim = project("{ slow_start = 'deferred' }", files={"a.py": "x = 1\nERROR\n"})
    be_patient(nvim, wait_ms=300)
    assert messages(write(nvim, "a.py", "x = 2\nERROR\n")) == {"a.py": []}
    be_patient(nvim)
    nvim.lua("fake.release()")
    nvim.wait("#vim.diagnostic.get() > 0")
    assert messages(diagnostics(nvim)) == {"a.py": []}
    assert messages(write(nvim, "a.py", "x = 2\nERROR\nERROR\n")) == {"a.py": ["ERROR in line 2"]}
    assert messages(diagnostics(nvim)) == {"a.py": ["ERROR in line 2", "ERROR in line 3"]}


def test_a_server_that_does_not_repeat_itself_is_waited_for_as_long_as_it_takes(project):
    nvim = project("{ changes_only = true, delay = 20 }")
    nvim.cmd("edit a.py")
    nvim.wait("vim.tbl_contains(fake.seen, 'textDocument/didOpen')")
    write_until_hardly_waited_for(nvim, 1000)
    write(nvim, "a.py", "fine\n")
    assert messages(diagnostics(nvim)) == {"a.py": []}
    assert took(nvim) < AT_ONCE
    write(nvim, "a.py", "ERROR\n")
    assert messages(diagnostics(nvim)) == {"a.py": ["ERROR in line 1"]}
    write(nvim, "a.py", "x = 1\n")
    assert messages(diagnostics(nvim)) == {"a.py": []}


@pytest.mark.every_nvim
def test_a_server_that_neovim_asks_at_the_same_time_is_not_waited_for_in_vain(project):
    nvim = project("{ pull = true, delay = 200 }")
    nvim.cmd("edit a.py")
    nvim.wait("vim.tbl_contains(fake.seen, 'textDocument/diagnostic')")
    write(nvim, "a.py", "ERROR\n")
    assert messages(diagnostics(nvim)) == {"a.py": ["ERROR in line 1"]}
    assert took(nvim) < AT_ONCE


@pytest.mark.every_nvim
def test_a_file_that_is_loaded_unseen_runs_neovims_filetype_plugin_when_it_is_shown(project):
    nvim = project()
    diagnostics(nvim, nvim.uri("a.py"))
    assert nvim.lua("return { vim.bo[vim.fn.bufnr('a.py')].filetype, vim.b[vim.fn.bufnr('a.py')].undo_ftplugin }") == [
        "python"
    ]
    nvim.cmd("edit a.py")
    assert nvim.lua("return { vim.bo.commentstring, vim.bo.expandtab, vim.b.undo_ftplugin ~= nil }") == [
        "# %s",
        True,
        True,
    ]


# Over the wire


def test_the_cli_gets_its_answer_as_one_text(project, connect):
    nvim = project(files={"a b.py": "ERROR\n"})
    client = connect(nvim)
    (text,) = client.call("getDiagnostics", uri=nvim.uri("a b.py"))
    (file,) = json.loads(text)
    assert (file["uri"], len(file["diagnostics"])) == (nvim.uri("a b.py"), 1)
    assert json.loads(client.call("getDiagnostics")[0]) == [file]


def test_clients_are_told_of_changes_once_they_calm_down(project, connect):
    nvim = project(lsp=None)
    nvim.cmd("edit a.py")
    client = connect(nvim)
    nvim.lua("""
      local ns = vim.api.nvim_create_namespace("t")
      for row = 0, 9 do
        vim.diagnostic.set(ns, 0, { { lnum = row, col = 0, message = "m" .. row, severity = 2 } })
      end
    """)
    reported = client.wait_notification("diagnostics_changed")
    assert reported["uri"] == nvim.uri("a.py")
    assert [item["message"] for item in reported["diagnostics"]] == ["m9"]
    nvim.lua("vim.diagnostic.reset(nil, 0)")
    reported = client.wait_notification("diagnostics_changed")
    assert reported["diagnostics"] == []


def test_diagnostics_that_are_set_again_are_not_told_again(project, connect):
    nvim = project(lsp=None)
    nvim.cmd("edit a.py")
    client = connect(nvim)
    put = """
      local ns = vim.api.nvim_create_namespace("t")
      vim.diagnostic.set(ns, 0, { { lnum = 0, col = 0, message = ... } })
    """
    nvim.lua(put, "one")
    client.wait_notification("diagnostics_changed")
    for message in ("one", "one", "two"):
        nvim.lua(put, message)
        nvim.wait("not Ide.diagnostics.is_due()")
    [told] = client.wait_notification("diagnostics_changed")["diagnostics"]
    assert told["message"] == "two"
    late = connect(nvim)
    nvim.lua(put, "two")
    [told] = late.wait_notification("diagnostics_changed")["diagnostics"]
    assert told["message"] == "two", "a client that comes later is told"


def test_neovim_converts_diagnostics_for_nothing_of_ours(project, connect):
    nvim = project(lsp=None)
    connect(nvim)
    ours = nvim.lua("""
      require("claude-ide").setup({ auto_start = false, context = { prompt = { "diagnostics" } } })
      Ide.with_prompt.attach()
      Ide.bus.emit("hooks_given")
      local all = vim.api.nvim_get_autocmds({ event = "DiagnosticChanged" })
      return vim.tbl_map(function(one)
        return { group = one.group_name or "", has_callback = one.callback ~= nil }
      end, all)
    """)
    ours = [one for one in ours if one["group"].startswith("claude-ide")]
    assert len(ours) == 3
    assert not any(one["has_callback"] for one in ours)


def test_nobody_is_told_of_private_files(project, connect):
    nvim = project(lsp=None)
    client = connect(nvim)
    nvim.lua("""
      local ns = vim.api.nvim_create_namespace("t")
      vim.cmd("edit a.py") vim.b.claude_private = true
      vim.diagnostic.set(ns, 0, { { lnum = 0, col = 0, message = "secret" } })
      vim.cmd("edit b.py")
      vim.diagnostic.set(ns, 0, { { lnum = 0, col = 0, message = "public" } })
    """)
    reported = client.wait_notification("diagnostics_changed")
    assert reported["uri"] == nvim.uri("b.py")
    assert "secret" not in json.dumps(client.notifications)


def test_new_errors_of_a_file_whose_server_was_late_before_the_edit_are_reported(start_nvim, connect):
    """The CLI asks before an edit and gives up after half a second; a server that has just got the file may take
    longer.
    """
    nvim = start_nvim(
        args=["a.py"],
        files={"a.py": "x\n", "b.py": "ERROR\nfine\nWARN\n"},
        init_lua=LSP + 'fake.start("fakels", { delay = 300 })',
        opts={"diagnostics": {"wait_ms": 50, "wait_all_ms": 1900}},
    )
    client, path = connect(nvim), nvim.project / "b.py"

    def reported(**args):
        files = json.loads(client.call("getDiagnostics", **args)[0])
        return [d["message"] for file in files for d in file["diagnostics"] if file["uri"].endswith("/b.py")]

    assert reported(uri=f"file://{path}") == [], "the server is late"
    path.write_text("ERROR\nan ERROR\nWARN\n")
    assert reported() == ["ERROR in line 2"], "not what was wrong before"
    path.write_text("ERROR\nan ERROR\nWARN\nWARN\n")
    assert reported() == ["ERROR in line 2", "WARN in line 4"]
