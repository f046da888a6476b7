"""New errors in a second TypeScript file that is in no window are reported to the model of the real CLI."""

import pytest
from e2e_servers import TYPESCRIPT
from test_language_servers import ATTEMPTS, reports, reports_after, right, turn

from harness.cli import call

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

LINES = "".join(f"let a{attempt} = 1;\n" for attempt in range(ATTEMPTS))


def test_an_error_of_a_second_file_in_no_window_is_told(start_nvim, cli, mock_api):
    files = {"m.ts": f"{LINES}export {{}};\n", "n.ts": f"{LINES}export {{}};\n", "tsconfig.json": "{}\n"}
    nvim = start_nvim(args=["m.ts"], files=files, init_lua=TYPESCRIPT)
    nvim.lua('require("claude-ide").connect()')
    claude = cli(nvim, mode="acceptEdits")
    nvim.wait("#vim.lsp.get_clients({ bufnr = 0 }) > 0", what="the server to start")
    works = "Ide.diagnostics_servers.is_working(vim.lsp.get_clients({ bufnr = 0 })[1].id)"
    nvim.wait(f"not {works}", what="the server to have read the project")
    m, n = str(nvim.project / "m.ts"), str(nvim.project / "n.ts")

    def edit(path):
        def of(attempt):
            return (
                call("Read", file_path=path),
                call(
                    "Edit", file_path=path, old_string=f"let a{attempt} = 1;", new_string=f"let a{attempt}: string = 1;"
                ),
                call("Read", file_path=path),
            )

        return of

    attempt, _ = reports_after(claude, mock_api, edit(m), m, "m.ts:")
    mended = f"let a{attempt}: string = '1';"
    turn(claude, call("Edit", file_path=m, old_string=f"let a{attempt}: string = 1;", new_string=mended))
    right(nvim, attempt)
    known = len(reports(mock_api))
    turn(claude, *edit(n)(0))
    for _ in range(3):
        if "n.ts:" in " ".join(reports(mock_api)[known:]):
            break
        turn(claude, call("Read", file_path=n))
    assert "n.ts:" in " ".join(reports(mock_api)[known:])
