"""New diagnostics of real language servers that the real CLI reports to its model, in a mode that accepts edits."""

import itertools
import json
import re

import pytest
from e2e_servers import JSON, PYRIGHT, TYPESCRIPT

from harness.cli import call

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

ATTEMPTS = 8
"""How often an edit is tried. The CLI gives up a question after 500 ms or 2 s, even on a busy machine; its model then
never gets that edit's diagnostics.
"""

numbers = itertools.count()

LINES = "".join(f"let a{attempt} = 1;\n" for attempt in range(ATTEMPTS))
MEMBERS = "".join(f'  "a{attempt}": 1,\n' for attempt in range(ATTEMPTS))
FILES = {
    "main.py": "x = 1\n",
    "a.ts": f"let old: number = 'x';\n{LINES}export {{}};\n",
    "tsconfig.json": "{}\n",
    "a.json": f'{{\n{MEMBERS}  "z": 0\n}}\n',
}


def test_the_model_is_told_of_new_errors_alone(start_nvim, cli, mock_api):
    nvim = start_nvim(args=["a.ts"], files=FILES, init_lua=PYRIGHT + TYPESCRIPT + JSON)
    nvim.lua('require("claude-ide").connect()')
    claude = cli(nvim, mode="acceptEdits")
    for file, step in (
        ("a.ts", typescript_tells_an_error_and_nothing_of_what_was_there_before),
        ("a.json", a_server_that_is_asked_tells_an_error_of_a_visible_file),
        ("main.py", pyright_knows_a_module_that_claude_has_just_written),
    ):
        nvim.cmd(f"edit {file}")
        nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) > 0", what="the server to start")
        step(nvim, claude, mock_api, str(nvim.project / file))


def turn(claude, *calls):
    said = f"done {next(numbers)}"
    claude.prompt(" THEN ".join([*calls, f"SAY {said}"]))
    claude.wait_screen(f"● {said}")


def reports(api):
    """New diagnostics reported to the model, per file, oldest first."""
    texts = re.findall(r"<new-diagnostics>(.*?)</new-diagnostics>", json.dumps(api.conversation()))
    return [re.sub(r"\\u00a0|\\n|\s+", " ", text.partition(r"detected:\n\n")[2]) for text in texts]


def reports_after(claude, api, edit, read, *words):
    """Repeats the edit until a report to the model has all of these words; returns the report and the attempt."""
    for attempt in range(ATTEMPTS):
        known = len(reports(api))
        turn(claude, *edit(attempt))
        for _ in range(3):  # a busy server may report after the first answer
            new = reports(api)[known:]
            if all(word.format(attempt) in " ".join(new) for word in words):
                return attempt, new
            turn(claude, call("Read", file_path=read))
    raise AssertionError(f"the model was told {reports(api)}")


def right(nvim, row):
    """Waits until a line (from 0) has no error."""
    nvim.wait(f"#vim.diagnostic.get(0, {{ lnum = {row}, severity = 1 }}) == 0", what=f"line {row} to be right")


def typescript_tells_an_error_and_nothing_of_what_was_there_before(nvim, claude, api, a):
    nvim.wait("#vim.diagnostic.get(0) > 0", what="the error that was there before")
    works = "Ide.diagnostics_servers.is_working(vim.lsp.get_clients({ bufnr = 0 })[1].id)"
    nvim.wait(f"not {works}", what="the server to have read the project")

    def edit(attempt):
        return (
            call("Read", file_path=a),
            call("Edit", file_path=a, old_string=f"let a{attempt} = 1;", new_string=f"let a{attempt}: string = 1;"),
            call("Read", file_path=a),
        )

    attempt, (only,) = reports_after(claude, api, edit, a, "a.ts:")
    assert f"Line {attempt + 2}:" in only
    assert "Line 1:" not in only
    count = len(reports(api))
    turn(
        claude,
        call(
            "Edit", file_path=a, old_string=f"let a{attempt}: string = 1;", new_string=f"let a{attempt}: string = '1';"
        ),
        call("Read", file_path=a),
    )
    right(nvim, attempt + 1)
    assert nvim.lua("return #vim.diagnostic.get(0, { lnum = 0, severity = 1 })") == 1
    assert len(reports(api)) == count


def a_server_that_is_asked_tells_an_error_of_a_visible_file(nvim, claude, api, a):
    def edit(attempt):
        return (
            call("Read", file_path=a),
            call("Edit", file_path=a, old_string=f'"a{attempt}": 1', new_string=f'"a{attempt}":'),
            call("Read", file_path=a),
        )

    attempt, (only,) = reports_after(claude, api, edit, a, "a.json:")
    assert only.startswith("a.json:")
    count = len(reports(api))
    turn(
        claude,
        call("Edit", file_path=a, old_string=f'"a{attempt}":,', new_string=f'"a{attempt}": 2,'),
        call("Read", file_path=a),
    )
    right(nvim, attempt + 1)
    assert len(reports(api)) == count


def pyright_knows_a_module_that_claude_has_just_written(nvim, claude, api, main):
    def edit(attempt):
        module = f"util{attempt}"
        use = f"x = 1\nimport {module}\ny{attempt}: str = {module}.f()\n"
        return (
            call("Write", file_path=str(nvim.project / f"{module}.py"), content="def f() -> int:\n    return 'no'\n"),
            call("Read", file_path=main),
            call("Edit", file_path=main, old_string="x = 1\n", new_string=use),
            call("Read", file_path=main),
        )

    reports_after(claude, api, edit, main, "util{}.py:", "reportReturnType", "main.py:", "reportAssignmentType")
    assert "reportMissingImports" not in " ".join(reports(api))
