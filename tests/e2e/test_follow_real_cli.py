"""`:Claude follow` with the real CLI: each place that it reads and changes is shown."""

import pytest

from harness.cli import call

pytestmark = [pytest.mark.cli, pytest.mark.one_nvim]

LONG = "".join(f"line {number}\n" for number in range(1, 301))
NOTE = """
shown = {}
local preview = Ide.follow_preview
local show = preview.show
function preview:show(buf, first, last)
  first, last = show(self, buf, first, last)
  table.insert(shown, { vim.fs.basename(vim.api.nvim_buf_get_name(buf)), first, last, Ide.clock.now() })
  return first, last
end
"""


def test_each_place_is_shown_as_the_cli_gets_there(start_nvim, cli):
    nvim = start_nvim(args=["own.txt"], files={"a.txt": LONG, "b.txt": LONG, "own.txt": "mine\n"})
    nvim.lua('require("claude-ide").connect()')
    nvim.lua(NOTE)
    nvim.cmd("split | Claude follow")
    claude = cli(nvim, mode="acceptEdits")
    a, b = (str(nvim.project / name) for name in ("a.txt", "b.txt"))
    claude.prompt(
        " THEN ".join(
            [
                call("Read", file_path=a, offset=100, limit=20),
                call("Bash", command="sleep 1", description="Wait"),
                call("Read", file_path=b),
                call("Edit", file_path=b, old_string="line 200\n", new_string="LINE 200\nmore\n"),
                call("Bash", command="sleep 1", description="Wait"),
                call("Read", file_path=a, offset=250, limit=1),
                "SAY done",
            ]
        )
    )
    claude.wait_screen("● done")
    wanted = [["a.txt", 100, 119], ["b.txt", 200, 201], ["a.txt", 250, 250]]
    nvim.wait(
        lambda: wanted[-1] in [place[:3] for place in nvim.lua("return shown")],
        what="the last place",
    )
    shown = [place[:3] for place in nvim.lua("return shown")]
    assert [place for place in shown if place in wanted] == wanted
    steps = nvim.lua("return Ide.follow.steps()")
    times = {(name, first): at for name, first, _, at in nvim.lua("return shown")}
    late = {}
    for step in steps:
        name = step["path"].rsplit("/", 1)[-1]
        if (name, step["first"]) in times:
            late[name, step["first"]] = times[name, step["first"]] - step["at"]
    print("milliseconds from the end of the call to its place:", late)
    assert nvim.lua("return Ide.follow.state()") == "following"
