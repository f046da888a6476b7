"""run_cell runs a cell and writes its outputs into the notebook's buffer in Jupyter's format, changing nothing else."""

import json
import os
from pathlib import Path

import nbformat
import pytest
from kernel_steps import ENVIRONMENT, LOOK

from harness import PATIENCE
from harness.client import RpcError, ToolError

pytestmark = [pytest.mark.dealt, pytest.mark.slow]

CELLS = [
    ("markdown", "# Title\nüß"),
    (
        "code",
        "import sys\nfrom IPython.display import *\nprint('one')\nprint('two', end='', flush=True)\nprint('bad', file=sys.stderr)\n6 * 7",
    ),
    ("code", "display(Image(data=b'\\x89PNG', format='png'), JSON({'b': [], 'a': {}}), HTML('<b>\\nh</b>'))"),
    ("code", "1 / 0"),
    ("code", "print('x' * 99999)"),
    ("code", "pass"),
]


def notebook(**metadata):
    """The text of a notebook in Jupyter's format."""
    cells = [
        getattr(nbformat.v4, f"new_{kind}_cell")(source, id=f"cell-{number}")
        for number, (kind, source) in enumerate(CELLS)
    ]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata=metadata)) + "\n"


@pytest.fixture
def start(start_nvim, connect_agent):
    def start(text=None, **options):
        nvim = start_nvim(
            opts={"notebook": {"max_output": 3000, **options}},
            env={"VIRTUAL_ENV": str(ENVIRONMENT)},
            files={"a.ipynb": text or notebook()},
        )
        nvim.cmd("edit a.ipynb")
        agent = connect_agent(nvim)
        nvim.wait(lambda: "run_cell" in agent.tools(), what="the tools to be listed")
        return nvim, agent

    return start


def anew(nvim, text=None):
    """The original notebook in a buffer of its own; the kernel goes on."""
    (nvim.project / "go").unlink(missing_ok=True)
    (nvim.project / "a.ipynb").write_text(text or notebook())
    nvim.cmd("bwipeout! | edit a.ipynb")


def put(nvim, text):
    """As the user would have written the whole of it."""
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(..., '\\n'))", text)


def test_what_a_cell_brings_is_put_into_the_buffer_and_nothing_else_changes(start):
    nvim, agent = start()
    for step in (
        the_buffer_is_what_jupyter_would_have_written,
        one_undo_takes_it_back_and_what_was_typed_stays,
        an_operator_that_was_begun_comes_first,
        a_file_that_was_changed_since_is_read_anew,
    ):
        anew(nvim)
        step(nvim, agent)


def test_what_becomes_of_a_cell_while_it_runs(start):
    nvim, agent = start()
    for step in (
        a_cell_that_moves_while_it_runs_is_found_again,
        a_cell_that_is_cancelled_leaves_what_it_has_put_out,
        a_notebook_that_is_broken_by_hand_is_left_alone,
    ):
        anew(nvim)
        step(nvim, agent)


def run(agent, index):
    """The text of the answer, without images."""
    result = agent.result(agent.start_call("run_cell", path="a.ipynb", index=index), timeout=4 * PATIENCE)
    said = [item["text"] for item in result["content"] if item["type"] == "text"]
    if result.get("isError"):
        raise ToolError("".join(said))
    return said


def text(nvim):
    return "\n".join(nvim.lines()) + "\n"


def without_outputs(book):
    return [{**cell, "outputs": None, "execution_count": None} for cell in book.cells]


def the_buffer_is_what_jupyter_would_have_written(nvim, agent):
    path = nvim.project / "a.ipynb"
    before = path.read_text()
    nvim.keys("/Title<CR>")
    nvim.wait("vim.fn.getline('.'):find('Title') ~= nil")
    for index in (1, 2, 4, 5):
        assert run(agent, index)[-1].endswith(
            "[The outputs are in the user's buffer of the notebook, which is not saved.]"
        )
    with pytest.raises(ToolError, match="ZeroDivisionError"):
        run(agent, 3)
    assert path.read_text() == before, "the file is the user's to write"
    assert nvim.lua("return vim.bo.modified")
    assert "Title" in nvim.lua("return vim.fn.getline('.')"), "the cursor stays"
    after = nbformat.reads(text(nvim), as_version=4)
    nbformat.validate(after)
    assert nbformat.writes(after) + "\n" == text(nvim), "to the byte"
    assert without_outputs(after) == without_outputs(nbformat.reads(before, as_version=4))
    assert [cell.get("execution_count") for cell in after.cells] == [None, 1, 2, 5, 3, 4]
    assert after.cells[1].outputs == [
        {"output_type": "stream", "name": "stdout", "text": "one\ntwo"},
        {"output_type": "stream", "name": "stderr", "text": "bad\n"},
        {"output_type": "execute_result", "execution_count": 1, "data": {"text/plain": "42"}, "metadata": {}},
    ]
    image, data, html = after.cells[2].outputs
    assert image.data["image/png"].strip() == "iVBORw=="
    assert data.data["application/json"] == {"b": [], "a": {}}
    assert html.data["text/html"] == "<b>\nh</b>"
    assert (after.cells[3].outputs[0].ename, after.cells[3].outputs[0].output_type) == ("ZeroDivisionError", "error")
    long, note = after.cells[4].outputs
    assert long.text == "x" * 3000
    assert note.text == "[… 97,000 characters left out …]\n"
    assert after.cells[5].outputs == []
    nvim.cmd("write")
    assert nbformat.reads(path.read_text(), as_version=4) == after


def one_undo_takes_it_back_and_what_was_typed_stays(nvim, agent):
    nvim.keys("/Title<CR>ciwHeading<Esc>")
    nvim.wait("vim.fn.search('Heading', 'nw') ~= 0 and vim.fn.mode() == 'n'")
    typed = text(nvim)
    run(agent, 1)
    first = cell_1(nvim)["execution_count"]
    assert '"two"' in text(nvim)
    assert "Heading" in text(nvim)
    nvim.keys("u")
    nvim.wait(lambda: text(nvim) == typed, what="the outputs to go, they alone")
    nvim.keys("<C-r>")
    nvim.wait(lambda: '"two"' in text(nvim), what="the outputs to come again")
    # The same cell again: its outputs are replaced.
    run(agent, 1)
    assert (cell_1(nvim)["execution_count"], len(cell_1(nvim)["outputs"])) == (first + 1, 3)


def cell_1(nvim):
    [cell] = [cell for cell in json.loads(text(nvim))["cells"] if cell["id"] == "cell-1"]
    return cell


def a_cell_that_moves_while_it_runs_is_found_again(nvim, agent):
    moving = "import time\nprint('begun')\nwhile not __import__('os').path.exists('go'): time.sleep(0.01)"
    book = json.loads(text(nvim))
    book["cells"][5]["source"] = moving
    put(nvim, json.dumps(book, indent=1))
    request = agent.start_call("run_cell", path="a.ipynb", index=5)
    nvim.wait("Ide.notebook.list()[1] ~= nil", what="a kernel")
    nvim.wait("Ide.notebook.list()[1].state == 'busy'", 4 * PATIENCE, what="code to run")
    del book["cells"][0]
    put(nvim, json.dumps(book, indent=1))
    (nvim.project / "go").touch()
    agent.result(request, timeout=4 * PATIENCE)
    cells = json.loads(text(nvim))["cells"]
    assert [bool(cell.get("outputs")) for cell in cells] == [False, False, False, False, True]
    assert cells[4]["outputs"][0]["text"] == ["begun\n"]


def a_cell_that_is_cancelled_leaves_what_it_has_put_out(nvim, agent):
    book = json.loads(text(nvim))
    book["cells"][5]["source"] = "print('begun', flush=True)\nopen('runs', 'w').close()\nwhile True: pass"
    put(nvim, json.dumps(book, indent=1))
    request = agent.start_call("run_cell", path="a.ipynb", index=5)
    nvim.wait(lambda: (nvim.project / "runs").exists(), 4 * PATIENCE, what="the cell to run")
    agent.cancel(request)
    nvim.wait(lambda: len(json.loads(text(nvim))["cells"][5]["outputs"]) == 2, what="its outputs to come")
    cell = json.loads(text(nvim))["cells"][5]
    assert cell["outputs"][0]["text"] == ["begun\n"]
    # An error with its traceback, or a line on stderr where a busy machine formats that for seconds.
    assert "KeyboardInterrupt" in json.dumps(cell["outputs"][1])
    assert not agent.answered(request)
    nbformat.validate(nbformat.reads(text(nvim), as_version=4))


def test_the_question_before_a_cell_is_in_the_language_of_the_notebook(start):
    nvim, agent = start(notebook(kernelspec={"name": "ir", "display_name": "R", "language": "R"}), confirm=True)
    agent.start_call("run_cell", path="a.ipynb", index=5)
    nvim.wait_screen("Claude wants to run this (a.ipynb)")
    assert nvim.lua("return vim.bo.syntax") == "r"


BROKEN = '{\n "cells": [,\n "nbformat": 4\n}'


def a_notebook_that_is_broken_by_hand_is_left_alone(nvim, agent):
    put(nvim, BROKEN)
    with pytest.raises(ToolError, match=r"a.ipynb: it is no JSON \(expected value at line 2 column 12\)"):
        run(agent, 1)
    assert text(nvim) == BROKEN + "\n"
    # Interrupted while it runs.
    source = "print('one')\nprint('two')\nwhile not __import__('os').path.exists('go'): __import__('time').sleep(0.01)"
    book = json.loads(notebook())
    book["cells"][5]["source"] = source
    put(nvim, json.dumps(book, indent=1))
    request = agent.start_call("run_cell", path="a.ipynb", index=5)
    nvim.wait("(Ide.notebook.list()[1] or {}).state == 'busy'", 4 * PATIENCE, what="code to run")
    put(nvim, BROKEN)
    (nvim.project / "go").touch()
    said = agent.result(request, timeout=4 * PATIENCE)["content"]
    assert said[0]["text"].startswith("one\ntwo")
    assert said[-1]["text"] == (
        "[The outputs were not put into the user's buffer of the notebook: "
        "it is no JSON (expected value at line 2 column 12).]"
    )
    assert text(nvim) == BROKEN + "\n"


# Like jupytext.nvim: the buffer of the .ipynb file holds Markdown, and its own command writes the file.
SHOWN_AS_MARKDOWN = """
vim.api.nvim_create_autocmd("BufReadCmd", { pattern = "*.ipynb", callback = function()
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "# Title", "", "```python", "6 * 7", "```" })
  vim.bo.modified = false
end })
vim.api.nvim_create_autocmd("BufWriteCmd", { pattern = "*.ipynb", callback = function() vim.bo.modified = false end })
"""


def test_a_buffer_that_a_plugin_shows_as_something_else_is_not_touched(start):
    nvim, agent = start()
    nvim.lua(SHOWN_AS_MARKDOWN)
    anew(nvim)
    shown = text(nvim)
    assert shown.startswith("# Title")
    said = "".join(run(agent, 1))
    assert said.startswith("one\ntwo"), "the file is read"
    assert said.endswith("in the user's editor: the outputs were not put there.]")
    assert text(nvim) == shown
    assert not nvim.lua("return vim.bo.modified")
    nvim.keys("Goadded<Esc>")
    nvim.wait("vim.bo.modified")
    with pytest.raises(ToolError, match="with changes that are not saved: `:w` first"):
        run(agent, 1)


def a_file_that_was_changed_since_is_read_anew(nvim, agent):
    path = Path(nvim.project / "a.ipynb")
    before = path.stat().st_mtime_ns
    path.write_text(path.read_text().replace("6 * 7", "6 * 8"))
    os.utime(path, ns=(before, before + 10**9))  # else its time may be the same
    assert "48" in "".join(run(agent, 1))
    assert '"48"' in text(nvim)
    assert "6 * 8" in text(nvim)


def an_operator_that_was_begun_comes_first(nvim, agent):
    before = text(nvim)
    nvim.keys("d")
    nvim.wait(lambda: nvim.mode() == "no")
    run(agent, 1)
    assert text(nvim) == before
    nvim.keys("<Esc>")
    nvim.wait(lambda: '"two"' in text(nvim), what="the outputs")


WITHOUT_IDS = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "words"]},
        {"cell_type": "code", "execution_count": 3, "metadata": {}, "outputs": [], "source": ["x = 4\n", "x * 2"]},
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": "x + 1"},
    ],
    "metadata": {},
    "nbformat": 4,
    "nbformat_minor": 5,
}


def test_cells_of_a_notebook_are_listed_and_run(start_nvim, connect_agent):
    written = json.dumps(WITHOUT_IDS)
    nvim = start_nvim(
        opts=LOOK,
        env={"VIRTUAL_ENV": str(ENVIRONMENT)},
        files={"a.ipynb": written, "b.ipynb": "{}", "other.py": "", ".env.ipynb": written},
    )
    agent = connect_agent(nvim, clientInfo={"name": "codex", "version": "1"})
    nvim.wait(lambda: "run_cell" in agent.tools(), what="the tools to be listed")
    path = str(nvim.project / "a.ipynb")
    assert agent.call("notebook_cells", path="a.ipynb") == [
        "3 cells:\n[0] markdown\n# Title\nwords\n[1] code, run 3\nx = 4\nx * 2\n[2] code\nx + 1"
    ]
    assert agent.call("run_cell", path="a.ipynb", index=1, timeout=4 * PATIENCE) == ["8\n"]
    assert agent.call("run_cell", path=path, index=2, timeout=4 * PATIENCE) == ["5\n"], "the state stays"
    assert Path(path).read_text() == written
    log = "vim.iter(vim.api.nvim_list_bufs()):map(function(buf) return vim.api.nvim_buf_get_lines(buf, 0, -1, false) end):flatten():totable()"
    assert any(" · codex · " in line for line in nvim.lua(f"return {log}")), "the log says who ran it"
    for arguments, said in [
        ({"path": "a.ipynb", "index": 0}, "cell 0 is markdown, not code"),
        ({"path": "b.ipynb", "index": 0}, "b.ipynb: it is no notebook of nbformat 4"),
        ({"path": "other.py", "index": 0}, "other.py: it is no JSON"),
        ({"path": "none.ipynb", "index": 0}, "none.ipynb: it cannot be read"),
        ({"path": ".env.ipynb", "index": 0}, "the user keeps .env.ipynb private"),
        ({"path": "/etc/a.ipynb", "index": 0}, "/etc/a.ipynb is outside of the workspace"),
    ]:
        with pytest.raises(ToolError, match=said):
            agent.call("run_cell", **arguments)
    with pytest.raises(RpcError, match="there is no cell 7"):
        agent.call("run_cell", path="a.ipynb", index=7)
    nvim.cmd("edit a.ipynb")
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, -1, false, { (vim.fn.getline(1):gsub('x %+ 1', 'x + 10')) })")
    assert agent.call("run_cell", path="a.ipynb", index=2, timeout=4 * PATIENCE)[0] == "14\n", (
        "what is not saved counts"
    )
    assert agent.call("notebook_cells", path="a.ipynb")[0].startswith("3 cells, with unsaved changes of the user's:")
    request = agent.start_call("run_cell", path="a.ipynb", index=1)
    agent.cancel(request)
    assert agent.call("run_cell", path="a.ipynb", index=2, timeout=4 * PATIENCE)[0] == "14\n"
