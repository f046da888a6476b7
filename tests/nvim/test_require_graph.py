"""What `make lint` reports of modules that require each other in a circle, or a room above them."""

import re
import shutil
import subprocess

import pytest

from harness.nvim import ROOT, binary

INSIDE = "requires claude-ide.base.log inside a function: name it at the head, with `lazy`"
NOT_IT = "uses what stands for claude-ide.base.log as if it were the module: `require` it here"
ROOMS = 'return { { "base", { { "log" }, { "*" } } }, { "ui" }, { "edits", { { "diff", "review" }, { "list" } } }, { "app" } }'

pytestmark = pytest.mark.one_nvim


@pytest.fixture
def check(nvim_version, tmp_path):
    """Draws the graph of these modules; returns its faults."""

    def check(modules):
        shutil.rmtree(tmp_path / "lua", ignore_errors=True)
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(ROOT / "scripts/require-graph.lua", tmp_path / "scripts")
        (tmp_path / "scripts/rooms.lua").write_text(ROOMS)
        for name, text in modules.items():
            path = tmp_path / "lua/claude-ide" / f"{name}.lua"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        command = [binary(nvim_version), "-l", "scripts/require-graph.lua"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert (done.returncode == 0) == (done.stderr == "")
        return [line.removeprefix("require graph: ") for line in done.stderr.splitlines()]

    return check


def requires(*names):
    return "".join(f'local {name.replace(".", "_")} = lazy("claude-ide.{name}")\n' for name in names)


def test_downwards_and_within_a_folder_is_right(check):
    modules = {
        "base/log": "",
        "ui/list": requires("base.log"),
        "edits/diff/init": requires("edits.diff.view", "ui.list"),
    }
    assert (
        check(modules | {"edits/diff/view": "", "edits/list": requires("edits.diff"), "app": requires("edits.diff")})
        == []
    )


@pytest.mark.parametrize(
    ("module", "text", "wrong"),
    [
        ("base/log", requires("ui"), "claude-ide.base.log requires claude-ide.ui, which is above it"),
        ("base/log", requires("base.bus"), "claude-ide.base.log requires claude-ide.base.bus, which is above it"),
        ("edits/diff", requires("edits.review"), "claude-ide.edits.diff requires claude-ide.edits.review, which is beside it"),
        ("ui", 'local is = package.loaded["claude-ide.app"]', "claude-ide.ui requires claude-ide.app, which is above it"),
        ("ui", 'pcall(require, "claude-ide.app")', "claude-ide.ui requires claude-ide.app, which is above it"),
        ("ui", "local text = \"v:lua.require'claude-ide.app'.text()\"", "claude-ide.ui requires claude-ide.app, which is above it"),
        ("ui", 'return require("claude-ide.bas" .. "e")', "claude-ide.ui requires claude-ide.bas, which is not there"),
        ("ui", 'return require("claude-ide.edits.review." .. name)', "claude-ide.ui requires claude-ide.edits.review.all, which is above it"),
        ("other", "", "claude-ide.other is in no room of scripts/rooms.lua"),
        ("edits/other", "", "claude-ide.edits.other is in no room of scripts/rooms.lua"),
        ("ui", 'local function use() require("claude-ide.base.log").warn() end', f"lua/claude-ide/ui.lua:1 {INSIDE}"),
        ("ui", 'local function use()\n  local log = require("claude-ide.base.log")\n  log.warn()\nend', f"lua/claude-ide/ui.lua:3 {INSIDE}"),
        ("ui", 'local function use()\n  for _ in pairs(require("claude-ide.base.log")) do end\nend', None),
        ("ui", 'local log = lazy("claude-ide.base.log")\nlog.warn(log.of[log.name])\nlog.level = { log = 1 }', None),
        ("ui", 'local log = lazy("claude-ide.base.log")\nreturn pairs(log)', f"lua/claude-ide/ui.lua:2 {NOT_IT}"),
        ("base/log", '-- require("claude-ide.ui")', None),
        ("base/log", 'local group = "claude-ide.ui"', None),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(check, module, text, wrong):
    modules = {
        name: "" for name in ("base/log", "base/bus", "ui", "edits/diff", "edits/review", "edits/review/all", "app")
    }
    assert check(modules | {module: text}) == ([wrong] if wrong else [])


def test_a_cycle_is_drawn(check):
    modules = {
        "edits/diff/a": requires("edits.diff.b", "base.log"),
        "edits/diff/b": requires("edits.diff.c"),
        "edits/diff/c": requires("edits.diff.a"),
        "base/log": "",
    }
    assert check(modules) == [
        "a cycle of 3 modules:",
        "  claude-ide.edits.diff.a → claude-ide.edits.diff.b",
        "  claude-ide.edits.diff.b → claude-ide.edits.diff.c",
        "  claude-ide.edits.diff.c → claude-ide.edits.diff.a",
    ]


def test_architecture_tells_of_each_room_in_its_order(nvim_version):
    told = (ROOT / "ARCHITECTURE.md").read_text().partition("### Rooms")[2].partition("Beside them")[0]
    rows = [row.split("|")[1] for row in told.splitlines() if row.startswith("| `")]
    script = 'for _, room in ipairs(dofile("scripts/rooms.lua")) do print(room[1]) end'
    command = [binary(nvim_version), "--clean", "--headless", "-c", f"lua {script}", "-c", "q"]
    rooms = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stderr.split()
    folders = [room for room in rooms if (ROOT / "lua/claude-ide" / room).is_dir()]
    assert re.findall(r"`(\w+)`", "".join(rows)) == folders
    assert sorted(folders) == sorted(path.name for path in (ROOT / "lua/claude-ide").iterdir() if path.is_dir())


GLOBALS = """
local ok, bytecode = pcall(require, "jit.bc")
assert(ok, "this Neovim has no jit.bc")
for _, path in ipairs(vim.fn.globpath("lua,plugin", "**/*.lua", true, true)) do
  local function write(_, text)
    if text:find("GSET") then print(path .. ": " .. vim.trim(text)) end
  end
  local function nothing() end
  bytecode.dump(assert(loadfile(path)), { write = write, flush = nothing, close = nothing }, true)
end
"""


def test_no_module_writes_a_global(nvim_version, tmp_path):
    script = tmp_path / "globals.lua"
    script.write_text(GLOBALS)
    done = subprocess.run([binary(nvim_version), "-l", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
    if "no jit.bc" in done.stderr:
        pytest.skip("this Neovim has no jit.bc")
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
