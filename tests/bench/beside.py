"""The same tasks with three sets of tools, each through the real CLI with a scripted model: ours, the CLI's own LSP
tool, Serena's.

All use pyright. Seconds: the CLI's time between a reply of the model and the next request. Tokens: what the model
writes and reads for the task, one per four characters. Each set answers one question before it is measured.
"""

import contextlib
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import cli as harness_cli
from harness.mock_api import MockApi
from harness.nvim import ROOT, Nvim
from harness.scripted_model import scripted_by_prompt

sys.path.insert(0, str(ROOT / "tests" / "e2e"))

import every_tool  # noqa: E402
from e2e_servers import BIN, PYRIGHT  # noqa: E402

from harness.client import Client  # noqa: E402

MODULES = 39
METHODS = "".join(f"\n    def part_{number}(self) -> int:\n        return {number}\n" for number in range(10))
FILES = {
    "core.py": f"def add(a: int, b: int) -> int:\n    return a + b\n\n\nclass Parts:{METHODS}",
    "wrong.py": 'count: int = "three"\n',
    **{
        f"m{i:02}.py": f"from core import add\n\n\ndef use_{i}() -> int:\n    return add({i}, 1)\n"
        for i in range(MODULES)
    },
}
RENAMED = [name for name in FILES if name != "wrong.py"]
TASKS = ("definition", "references", "symbols of a file", "diagnostics of a file", "rename in 40 files")
MOST = {"references": 400, "rename in 40 files": 100}
"""The most tokens of ours for a task."""
TIMEOUT = 300


@dataclass
class Spent:
    """The cost of one task."""

    calls: int
    tokens: int
    seconds: float


Step = list[tuple[str, dict[str, object]]]
"""Calls sent at once."""


@dataclass
class Way:
    """One set of tools: the steps of each task, and how the CLI gets them."""

    steps: dict[str, list[Step]]
    argv: list[str]
    env: dict[str, str]


def tokens(text: str) -> int:
    return math.ceil(len(text) / 4)


def _first(*steps: Step) -> dict[str, list[Step]]:
    return {"first": list(steps)}


@contextlib.contextmanager
def nvim_tools(place: Path, version: str) -> Iterator[Way]:
    """Ours, with a user who accepts each change as soon as it is shown."""
    nvim = Nvim(place, version, args=["m00.py"], files=FILES, init_lua=PYRIGHT, opts={})
    try:
        nvim.lua('assert(require("claude-ide").connect())')
        nvim.wait(
            "#vim.lsp.get_clients({ bufnr = 0, method = 'textDocument/rename' }) == 1", what="pyright to be ready"
        )
        nvim.lua(every_tool.ACCEPTING)
        argv = nvim.lua('return Ide.agent_tools.of("test")')
        use = {"path": "m00.py", "symbol": "add", "line": 5}

        def one(tool: str, **arguments: object) -> list[Step]:
            return [[(f"mcp__nvim__{tool}", arguments)]]

        steps = _first(*one("hover", **use)) | {
            "definition": one("definition", **use),
            "references": one("references", **use),
            "symbols of a file": one("outline", path="core.py"),
            "diagnostics of a file": one("diagnostics", path="wrong.py"),
            "rename in 40 files": one("rename", path="core.py", symbol="add", line=1, new_name="plus"),
        }
        yield Way(steps, argv, {})
    finally:
        nvim.kill()


@contextlib.contextmanager
def lsp_tool(place: Path, _version: str) -> Iterator[Way]:
    """The CLI's own LSP tool; a plugin supplies its server. What the tool lacks, the model does with Read and Edit."""
    plugin, project = place / "plugin", place / "project"
    (plugin / ".claude-plugin").mkdir(parents=True)
    (plugin / ".claude-plugin" / "plugin.json").write_text(
        '{"name": "pyright", "version": "1.0.0", "description": "pyright"}'
    )
    server = {"command": str(BIN / "pyright-langserver"), "args": ["--stdio"], "extensionToLanguage": {".py": "python"}}
    (plugin / ".lsp.json").write_text(json.dumps({"python": server}))

    def one(operation: str, name: str, line: int, character: int) -> Step:
        place_ = {"filePath": str(project / name), "line": line, "character": character}
        return [("LSP", {"operation": operation, **place_})]

    files = [str(project / name) for name in RENAMED]
    edits = [{"file_path": path, "old_string": "add", "new_string": "plus", "replace_all": True} for path in files]
    steps = _first(one("hover", "m00.py", 5, 12)) | {
        "definition": [one("goToDefinition", "m00.py", 5, 12)],
        "references": [one("findReferences", "core.py", 1, 5)],
        "symbols of a file": [one("documentSymbol", "core.py", 1, 1)],
        "rename in 40 files": [
            one("findReferences", "core.py", 1, 5),
            [("Read", {"file_path": path}) for path in files],
            [("Edit", edit) for edit in edits],
        ],
    }
    yield Way(steps, ["--plugin-dir", str(plugin)], {"ENABLE_LSP_TOOL": "1"})


def serena() -> str | None:
    """The path of Serena, if `scripts/setup.sh serena` installed it."""
    ours = ROOT / ".deps" / "serena" / "bin" / "serena"
    return str(ours) if ours.exists() else shutil.which("serena")


@contextlib.contextmanager
def serena_tools(place: Path, _version: str) -> Iterator[Way]:
    """Serena's tools for this CLI, one per operation; with our pyright."""
    home = place / "serena-home"
    (home / ".serena").mkdir(parents=True)
    (home / ".serena" / "serena_config.yml").write_text(
        "language_backend: LSP\nagent_interface: tools\nweb_dashboard: false\ngui_log_window: false\nprojects: []\n"
        f"ls_specific_settings:\n  python:\n    ls_path: {BIN / 'pyright-langserver'}\n"
    )
    args = ["start-mcp-server", "--context", "claude-code", "--project", str(place / "project")]
    server = {"command": serena(), "args": args, "env": {"HOME": str(home), "PATH": os.environ["PATH"]}}

    def one(tool: str, **arguments: object) -> list[Step]:
        return [[(f"mcp__serena__{tool}", arguments)]]

    symbol = {"name_path": "add", "relative_path": "core.py"}
    steps = _first(*one("find_symbol", name_path_pattern="add", relative_path="core.py")) | {
        "definition": one("find_declaration", relative_path="m00.py", regex=r"return (add)\("),
        "references": one("find_referencing_symbols", **symbol),
        "symbols of a file": one("get_symbols_overview", relative_path="core.py", depth=1),
        "diagnostics of a file": one("get_diagnostics_for_file", relative_path="wrong.py"),
        "rename in 40 files": one("rename_symbol", **symbol, new_name="plus"),
    }
    yield Way(steps, ["--mcp-config", json.dumps({"mcpServers": {"serena": server}})], {})


WAYS: dict[str, Callable[[Path, str], contextlib.AbstractContextManager[Way]]] = {
    "nvim": nvim_tools,
    "LSP tool": lsp_tool,
    "Serena": serena_tools,
}


def measure(place: Path, version: str, name: str) -> dict[str, Spent]:
    """Runs every task with one set of tools, in a CLI and a project of their own."""
    home, project = place / "cli-home", place / "project"
    project.mkdir(parents=True, exist_ok=True)
    for file, text in FILES.items():
        (project / file).write_text(text)
    with WAYS[name](place, version) as way:
        requests: dict[int, tuple[float, list[dict[str, object]]]] = {}

        def model(messages: list[dict[str, object]]):
            said = sum(message["role"] == "assistant" for message in messages)
            requests.setdefault(said, (time.monotonic(), messages))
            return scripted_by_prompt(messages)

        api = MockApi(model)
        try:
            harness_cli.prepare_home(home, project)
            steps = [step for task in way.steps.values() for step in task]
            said = [" ".join(harness_cli.call(tool, **arguments) for tool, arguments in step) for step in steps]
            argv = [harness_cli.binary(), "--permission-mode", "bypassPermissions", *way.argv, "-p"]
            run = subprocess.run(
                [*argv, " THEN ".join([*said, "SAY all done"])],
                cwd=project,
                env={**harness_cli.environment(home, api), **way.env},
                capture_output=True,
                stdin=subprocess.DEVNULL,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        finally:
            api.close()
        if "all done" not in run.stdout:
            raise RuntimeError(f"{name}: the CLI did not come to its end: {run.stdout[-400:]}{run.stderr[-400:]}")
        _check(name, project, requests[len(steps)][1])
        return dict(_spent(way, requests))


def _spent(way: Way, requests: dict[int, tuple[float, list[dict[str, object]]]]) -> Iterator[tuple[str, Spent]]:
    results = {block["tool_use_id"]: block for block in _blocks(requests[max(requests)][1], "tool_result")}
    uses = _blocks(requests[max(requests)][1], "tool_use")
    at, call = 0, 0
    for task, steps in way.steps.items():
        calls = sum(len(step) for step in steps)
        mine = uses[call : call + calls]
        said = sum(tokens(json.dumps({"name": use["name"], "input": use["input"]})) for use in mine)
        results_tokens = sum(tokens(_text(results[use["id"]])) for use in mine)
        yield task, Spent(calls, said + results_tokens, requests[at + len(steps)][0] - requests[at][0])
        at, call = at + len(steps), call + calls


def _blocks(messages: list[dict[str, object]], kind: str) -> list[dict[str, object]]:
    lists = [message["content"] for message in messages if isinstance(message["content"], list)]
    return [block for blocks in lists for block in blocks if block.get("type") == kind]


def _text(block: dict[str, object]) -> str:
    content = block["content"]
    return content if isinstance(content, str) else "".join(item.get("text", "") for item in content)


def _check(name: str, project: Path, messages: list[dict[str, object]]) -> None:
    """Asserts that the measured work was done."""
    wrong = [file for file in RENAMED if (project / file).read_text() != FILES[file].replace("add", "plus")]
    failed = [_text(block) for block in _blocks(messages, "tool_result") if block.get("is_error")]
    if wrong or failed:
        raise RuntimeError(f"{name}: not renamed: {wrong[:3]}, failed: {failed[:2]}")


def medians(directory: Path, version: str, runs: int) -> Iterator[tuple[str, str, Spent | None]]:
    """The cost of each task by each set, seconds as the median; None where a set cannot do it."""
    found: dict[str, list[dict[str, Spent]]] = {}
    for name in WAYS:
        if name != "Serena" or serena():
            places = [directory / f"{name.replace(' ', '-')}-{run}" for run in range(runs)]
            found[name] = [measure(place, version, name) for place in places]
    for task in TASKS:
        for name, all_runs in found.items():
            one = all_runs[0].get(task)
            seconds = [run[task].seconds for run in all_runs] if one else []
            yield task, name, Spent(one.calls, one.tokens, statistics.median(seconds)) if one else None


def compare(directory: Path, version: str, runs: int) -> Iterator[tuple[str, str, str, bool]]:
    """Rows: name, measured, target, whether it is met."""
    for task, name, spent in medians(directory, version, runs):
        if spent is None:
            yield f"{task}: {name}", "not offered", "", True
            continue
        calls = f"{spent.calls} call{'' if spent.calls == 1 else 's'}"
        is_ours, most = name == "nvim", MOST.get(task, 2000)
        measured = f"{calls}, {spent.tokens:,} tokens, {spent.seconds:.2f} s"
        yield f"{task}: {name}", measured, f"≤ {most:,} tokens" if is_ours else "", not is_ours or spent.tokens <= most
    if not serena():
        yield "Serena: `scripts/setup.sh serena` installs it", "not there", "", True


def costs(directory: Path, version: str) -> Iterator[tuple[str, str, str, bool]]:
    """Rows: name, measured, target, whether it is met."""
    whole = 0
    for name, listed, answer in each_tool(directory, version):
        whole += listed
        yield (
            f"{name}: described in, answers in",
            f"{listed}, {answer} tokens",
            "≤ 2,000 each",
            max(listed, answer) <= 2000,
        )
    yield "all tools: described in", f"{whole} tokens", "≤ 2,500", whole <= 2500


def each_tool(directory: Path, version: str) -> Iterator[tuple[str, int, int]]:
    """For each of our tools: the tokens of its description as listed, and of its answer in the tests."""

    def start(**options: object) -> Nvim:
        return Nvim(directory, version, **options)

    nvim = every_tool.start(start)
    try:
        nvim.lua(every_tool.ACCEPTING)
        access = nvim.lua("return Ide.server.agent_access()")
        port = int(access["url"].split(":")[1].split("/")[0])
        client = Client(port, None, path="/nvim", headers={"Authorization": f"Bearer {access['token']}"})
        client.initialize()
        listed = {tool["name"]: tool for tool in client.request("tools/list")["tools"]}
        for name, arguments, _ in every_tool.READS + every_tool.WRITES:
            answer = client.result(client.start_call(name, **arguments), timeout=120)
            text = "".join(item.get("text", "") for item in answer["content"])
            yield name, tokens(json.dumps(listed[name], separators=(",", ":"))), tokens(text)
        client.close()
    finally:
        nvim.kill()
