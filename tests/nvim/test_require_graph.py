"""What `make lint` reports of modules that require each other in a circle, or a layer above them."""

import shutil
import subprocess

import pytest

from harness.nvim import ROOT, binary

INSIDE = "requires claude-ide.log inside a function: name it at the head, with `lazy`"
NOT_IT = "uses what stands for claude-ide.log as if it were the module: `require` it here"
LAYERS = 'return { { "bus", "log" }, { "ui" }, { "diff", "review" }, { "app" } }'

pytestmark = pytest.mark.one_nvim


@pytest.fixture
def check(nvim_version, tmp_path):
    """Draws the graph of these modules; returns its faults."""

    def check(modules):
        shutil.rmtree(tmp_path / "lua", ignore_errors=True)
        (tmp_path / "scripts").mkdir(exist_ok=True)
        shutil.copy(ROOT / "scripts/require-graph.lua", tmp_path / "scripts")
        (tmp_path / "scripts/layers.lua").write_text(LAYERS)
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
    modules = {"log": "", "ui/list": requires("log"), "diff/init": requires("diff.view", "ui.list")}
    assert check(modules | {"diff/view": "", "app": requires("diff")}) == []


@pytest.mark.parametrize(
    ("module", "text", "wrong"),
    [
        ("log", requires("ui"), "claude-ide.log requires claude-ide.ui, which is above it"),
        ("diff", requires("review"), "claude-ide.diff requires claude-ide.review, which is beside it"),
        ("diff", 'local is = package.loaded["claude-ide.app"]', "claude-ide.diff requires claude-ide.app, which is above it"),
        ("diff", 'pcall(require, "claude-ide.app")', "claude-ide.diff requires claude-ide.app, which is above it"),
        ("ui", "local text = \"v:lua.require'claude-ide.app'.text()\"", "claude-ide.ui requires claude-ide.app, which is above it"),
        ("log", 'return require("claude-ide.u" .. "i")', "claude-ide.log requires claude-ide.u, which is not there"),
        ("bus", 'return require("claude-ide.review." .. name)', "claude-ide.bus requires claude-ide.review.list, which is above it"),
        ("other", "", "claude-ide.other is in no layer of scripts/layers.lua"),
        ("ui", 'local function use() require("claude-ide.log").warn() end', f"lua/claude-ide/ui.lua:1 {INSIDE}"),
        ("ui", 'local function use()\n  local log = require("claude-ide.log")\n  log.warn()\nend', f"lua/claude-ide/ui.lua:3 {INSIDE}"),
        ("ui", 'local function use()\n  for _ in pairs(require("claude-ide.log")) do end\nend', None),
        ("ui", 'local log = lazy("claude-ide.log")\nlog.warn(log.of[log.name])\nlog.level = { log = 1 }', None),
        ("ui", 'local log = lazy("claude-ide.log")\nreturn pairs(log)', f"lua/claude-ide/ui.lua:2 {NOT_IT}"),
        ("log", '-- require("claude-ide.ui")', None),
        ("log", 'local group = "claude-ide.ui"', None),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(check, module, text, wrong):
    modules = {name: "" for name in ("log", "bus", "ui", "diff", "review", "review/list", "app")}
    assert check(modules | {module: text}) == ([wrong] if wrong else [])


def test_a_cycle_is_drawn(check):
    modules = {
        "diff/a": requires("diff.b", "log"),
        "diff/b": requires("diff.c"),
        "diff/c": requires("diff.a"),
        "log": "",
    }
    assert check(modules) == [
        "a cycle of 3 modules:",
        "  claude-ide.diff.a → claude-ide.diff.b",
        "  claude-ide.diff.b → claude-ide.diff.c",
        "  claude-ide.diff.c → claude-ide.diff.a",
    ]


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
