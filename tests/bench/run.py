"""`make bench`: the figures that this plugin promises, beside a raw TCP echo measured in the same run.

Prints a table and exits with 1 when a target is missed. Absolute numbers depend on the machine and its load, so this is
no test; latency targets are multiples of the raw echo's for that reason.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench import (
    beside,
    board,
    bridge,
    cards,
    chat,
    comments,
    diffs,
    editor,
    follow,
    heavy,
    hooks,
    journal,
    notebook,
    sessions,
    tools,
    transcript,
    web,
    wire,
)  # noqa: E402
from harness.nvim import VERSIONS  # noqa: E402

# The best of some runs: the machine's other load varies, the code's own time does not.
RUNS = 3
SAMPLES = 8
# For limits on blocking Neovim the best run would hide the worst; they are measured in CPU time (`chat.py`).
WORST = "worst run"


@dataclass
class Row:
    """One line of the table."""

    name: str
    measured: str
    target: str
    ok: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvim", choices=VERSIONS, default="0.11", help="the Neovim to measure on")
    parser.add_argument("--only", help="run the parts whose name contains this")
    arguments = parser.parse_args()

    wire.build()
    load = os.getloadavg()[0]
    print(
        f"Neovim {arguments.nvim}, {os.cpu_count()} processors, load {load:.1f}, {RUNS} runs; each figure is of the best,"
    )
    print(f"but where it says `{WORST}`.")
    if load > 0.5:
        print("Other programs are running: what they take is missing here.")
    parts = [
        round_trips,
        busy,
        hooks_of_calls,
        bridge_of_a_cli,
        followed,
        commented,
        asked_by_hooks,
        pipeline,
        large_diff,
        long_diffs,
        handlers,
        tools_of_agents,
        tools_that_write,
    ]
    parts += [
        tokens_of_tools,
        tools_beside_others,
        journal_of_turns,
        reading,
        boards,
        served,
        transcripts,
        growing,
        chats,
        heavy_use,
    ]
    parts += [kernels, costs, idle]
    rows = []
    for part in parts:
        if arguments.only and arguments.only not in part.__name__:
            continue
        print(f"      {part.__name__}: a loop takes {loop_ms():.1f} ms now, load {os.getloadavg()[0]:.1f}", flush=True)
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            for row in part(Path(directory), arguments.nvim):
                print_row(row)
                rows.append(row)
    missed = [row.name for row in rows if not row.ok]
    print(
        f"\n{len(rows) - len(missed)} of {len(rows)} targets met" + (f"; missed: {', '.join(missed)}" if missed else "")
    )
    return 1 if missed else 0


def loop_ms() -> float:
    """The machine's current speed, as the time of a fixed amount of work. Rented machines vary by a factor of two
    between minutes; milliseconds of two runs compare only relative to this.
    """
    times = []
    for _ in range(5):
        start = time.perf_counter()
        total = 0
        for number in range(300_000):
            total += number
        times.append(time.perf_counter() - start)
    return min(times) * 1000


def print_row(row: Row) -> None:
    print(f"{'ok  ' if row.ok else 'MISS'}  {row.name:<52} {row.measured:>22}   {row.target}", flush=True)


def at_most(name: str, value: float, limit: float, unit: str, target: str = "", note: str = "") -> Row:
    return Row(name, f"{value:.3g} {unit}{note}", target or f"≤ {limit:g} {unit}", value <= limit)


def at_most_or_least(name: str, value: float, limit: float, unit: str, note: str = "") -> Row:
    """A negative limit is a minimum."""
    if limit < 0:
        return Row(name, f"{value:.0f} {unit}", f"≥ {-limit:.0f} {unit}", value >= -limit)
    return at_most(name, value, limit, unit, note=note)


def places(directory: Path, name: str = "") -> Iterator[Path]:
    """A folder for each run."""
    for run in range(RUNS):
        place = directory / f"{name}{run}"
        place.mkdir()
        yield place


def huge(home: Path, cwd: Path) -> Path:
    """A transcript of 100 MB."""
    return transcript.write_large(home, cwd, 100_000_000)


def beside_tcp(*measure: str) -> tuple[float, float, float]:
    """A round trip as a multiple of the raw echo's, the round trip, and the echo. Short runs in turn, the best of them:
    other load slows both.
    """
    ratios = []
    for _ in range(SAMPLES):
        before = wire.run("tcp", "1000")["p50_us"]
        figure = wire.run(*measure)["p50_us"]
        tcp = (before + wire.run("tcp", "1000")["p50_us"]) / 2
        ratios.append((figure / tcp, figure, tcp))
    return min(ratios)


def round_trips(directory: Path, version: str):
    """Answers of Rust and of Lua, each measured between two runs of the raw echo.

    The cost of two empty hops is shown beside them: no call through Lua can be faster on this machine.
    """
    with editor.Editor(directory, version, files={"a.txt": "one\ntwo\n"}) as nvim:
        nvim.edit("a.txt")
        dirty = nvim.json({"filePath": nvim.path("a.txt")})
        through_lua = ["tool", nvim.port, nvim.token, "1000", "checkDocumentDirty", dirty]
        for name, factor, measure in [
            ("ping, answered by Rust, p50", 1.5, ["ping", nvim.port, nvim.token, "1000"]),
            ("tools/list, answered by Rust, p50", 1.5, ["list", nvim.port, nvim.token, "1000"]),
        ]:
            ratio, figure, tcp = beside_tcp(*measure)
            yield Row(name, f"{figure:.1f} µs = {ratio:.2f} × TCP", f"≤ {factor} × TCP ({tcp:.1f} µs)", ratio <= factor)
        hops, tool = beside_tcp("hops", "1000")[0], beside_tcp(*through_lua)
        nvim.answer_at_once()
        least = beside_tcp(*through_lua)[0]
        ratio, figure, tcp = tool
        yield Row(
            "checkDocumentDirty, through Lua and back, p50",
            f"{figure:.1f} µs = {ratio:.2f} × TCP",
            f"≤ 2.5 × TCP ({tcp:.1f} µs; two bare hops {hops:.2f} ×, one line of Lua {least:.2f} ×)",
            ratio <= 2.5,
        )


def busy(directory: Path, version: str):
    """Pings while Lua blocks the main loop for two seconds."""
    with editor.Editor(directory, version) as nvim:
        port, token = nvim.port, nvim.token
        slowest = []
        for _ in range(RUNS):
            nvim.busy_for(2000)
            slowest.append(wire.run("ping-for", port, token, "1800")["p99_us"] / 1000)
            assert nvim.was_busy(), "Neovim was not busy while the pings ran"
        yield at_most("ping while Neovim is busy for 2 s, p99", min(slowest), 2, "ms")
    slowest = [cards.while_busy_ms(place, version) for place in places(directory)]
    yield at_most("each call that needs no editor meanwhile, p99", min(slowest), 5, "ms")


def asked_by_hooks(directory: Path, version: str):
    """A CLI's permission request: until its card is on the screen, and until it is gone after an answer in the terminal."""
    shown, gone = zip(*(cards.milliseconds(place, version) for place in places(directory)), strict=True)
    yield at_most("a card is on the screen after the ask, p95", min(shown), 50, "ms")
    yield at_most("a card is gone after an answer in the terminal, p95", min(gone), 200, "ms")


def hooks_of_calls(directory: Path, version: str):
    """The commands of both hooks of a tool call, while Neovim is busy."""
    runs = [hooks.call_ms(place, version) for place in places(directory)]
    for name in runs[0]:
        what = f"hooks of an edit of {name}, beyond two shells that read it"
        yield at_most(f"{what}, p50", min(run[name][0] for run in runs), 1, "ms")
        yield at_most(f"{what}, p95", min(run[name][1] for run in runs), 2, "ms")


def bridge_of_a_cli(directory: Path, version: str):
    """What our mod adds to a call of the real CLI beyond an empty one, alone and while it reports what calls did."""
    runs = [{what: times for what, *times in bridge.added_ms(place, version)} for place in places(directory)]
    best = {what: [min(run[what][at] for run in runs) for at in range(2)] for what in runs[0]}
    empty = best.pop("empty")
    for what, added in best.items():
        for at, name in enumerate(("p50", "p99")):
            beyond = added[at] - empty[at]
            note = f" ({added[at]:.2f} − {empty[at]:.2f})"
            yield at_most(f"our mod in a CLI, {what}: beyond an empty one, {name}", beyond, 3, "ms", note=note)


def followed(directory: Path, version: str):
    """The window that follows Claude, in files of 5,000 lines."""
    shown, longest = zip(*(follow.milliseconds(place, version) for place in places(directory)), strict=True)
    yield at_most("follow: a place is on the screen after its call, p95", min(shown), 50, "ms")
    yield at_most("follow: longest stop in a storm of calls", min(longest), 16, "ms")


def commented(directory: Path, version: str):
    """500 comments in a file of 10,000 lines."""
    drawn, added = zip(*(comments.milliseconds(place, version) for place in places(directory)), strict=True)
    yield at_most("comments: 500 placed and drawn after a change", min(drawn), 16, "ms")
    yield at_most("comments: added to a key", min(added), 0.5, "ms")


def tools_of_agents(directory: Path, version: str):
    """What the tools add to the answers of a language server."""
    runs = [tools.through_the_endpoint(place, version) for place in places(directory)]
    best = {name: min(run[name] for run in runs) for name in runs[0]}
    for tool in ("definition", "hover"):
        yield at_most(f"{tool}, beyond what the server takes, p50", best[tool], 2, "ms")
    yield at_most("1,000 references, the first page", best["references"], 50, "ms")
    yield at_most("longest stop of Neovim meanwhile", best["longest"], 16, "ms")


def tools_that_write(directory: Path, version: str):
    """How long tools that change files block Neovim; this includes Neovim's own time for opening and drawing windows."""
    runs = [tools.stops_of_writes(place, version) for place in places(directory)]
    for name in runs[0]:
        yield at_most(f"{name}: longest stop", min(run[name] for run in runs), 16, "ms")


def tokens_of_tools(directory: Path, version: str):
    """The tokens that each tool costs a model: its description, and its answer in a small project."""
    for row in beside.costs(directory, version):
        yield Row(*row)


def tools_beside_others(directory: Path, version: str):
    """The same tasks with our tools, the CLI's own LSP tool and Serena's."""
    for row in beside.compare(directory, version, RUNS):
        yield Row(*row)


def pipeline(directory: Path, version: str):
    """10,000 calls at once, through Lua: in one write, then one write per frame."""
    with editor.Editor(directory, version, files={"a.txt": "one\n"}) as nvim:
        nvim.edit("a.txt")
        call = ["10000", "checkDocumentDirty", nvim.json({"filePath": nvim.path("a.txt")})]
        runs = [wire.run("pipeline", nvim.port, nvim.token, *call)["per_second"] for _ in range(RUNS)]
        yield Row("10,000 pipelined tool calls, one write", f"{max(runs):,.0f} /s", "≥ 30,000 /s", max(runs) >= 30000)
        runs = []
        for _ in range(RUNS):
            before = wire.run("tcp", "5000")["p50_us"]
            per_second = wire.run("frames", nvim.port, nvim.token, *call)["per_second"]
            tcp = (before + wire.run("tcp", "5000")["p50_us"]) / 2
            # One write per frame costs this machine's price of a write; the target assumes 20 µs.
            target = 30000 * min(1, 20 / tcp)
            runs.append((per_second / target, per_second, target, tcp))
        share, per_second, target, tcp = max(runs)
        yield Row(
            "10,000 pipelined tool calls, single frames",
            f"{per_second:,.0f} /s",
            f"≥ {target:,.0f} /s (30,000 at 20 µs; TCP {tcp:.1f} µs)",
            share >= 1,
        )


def large_diff(directory: Path, version: str):
    """openDiff of 10 MB: the delay of what follows it, and how long Neovim is blocked."""
    ping, tool, freeze = [], [], []
    for place in places(directory):
        with editor.Editor(place, version, files={"a.txt": "let answer = 41;\n" * 1000}) as nvim:
            nvim.start_heartbeat()
            with wire.large_diff(nvim.port, nvim.token, nvim.path("a.txt"), str(10_000_000)) as figures:
                nvim.wait_for_diff()
            nvim.settle()
            ping.append(figures["ping_ms"])
            tool.append(figures["tool_ms"])
            freeze.append(nvim.longest_freeze_ms())
    yield at_most("openDiff of 10 MB: the next ping answered after", min(ping), 250, "ms")
    yield at_most("openDiff of 10 MB: the next tool answered after", min(tool), 250, "ms")
    yield at_most("openDiff of 10 MB: longest freeze of Neovim", min(freeze), 150, "ms")


def long_diffs(directory: Path, version: str):
    """Diffs of a long file with many changes, in each layout: the main loop's work until they are shown."""
    for name, measured, target in diffs.measure(version, RUNS):
        yield at_most(name, measured, target, "ms")


def reading(directory: Path, version: str):
    """Lists of sessions, and transcripts, through the facade."""
    for row in sessions.measure(directory, version, RUNS):
        yield at_most_or_least(*row)


def boards(directory: Path, version: str):
    """All sessions on the board."""
    for row in board.measure(directory, version, RUNS):
        yield at_most(*row)


def served(directory: Path, version: str):
    """Sessions on a page: the readers' figures, and Neovim's meanwhile."""
    for row in web.measure(directory, version, RUNS):
        yield at_most_or_least(*row)


def handlers(directory: Path, version: str):
    """What moving the cursor and selecting costs the user."""
    lines = "".join(f"line {number} of a long file, with some text in it\n" for number in range(200_000))
    with editor.Editor(directory, version, files={"long.txt": lines}) as nvim:
        nvim.edit("long.txt")
        with nvim.connected():
            yield at_most("CursorMoved handler", nvim.cursor_moved_us(), 5, "µs")
            yield at_most("selecting 200,000 lines: longest freeze added", nvim.selection_freeze_ms(), 10, "ms")


def journal_of_turns(directory: Path, version: str):
    """The cost of tracking Claude's changes."""
    first, later = zip(*(journal.before_edit_ms(place, version) for place in places(directory)), strict=True)
    yield at_most("journal, before a session's first edit (5,000 lines)", min(first), 2, "ms")
    yield at_most("journal, before an edit of a 50,000-line file", min(later), 2, "ms")
    for files in (1, 400):
        figures = [journal.many_edits_ms(place, version, files) for place in places(directory, f"edits-{files}-")]
        first, last = (min(times) for times in zip(*figures, strict=True))
        name = f"400 edits of a turn, in {files} file{'s' if files > 1 else ''}: last 100 beside first"
        yield at_most(name, last / first, 2, "×", note=f" ({last:.1f} ms)")
    freezes = [journal.checkpoint_freezes_ms(place, version) for place in places(directory, "large-")]
    idle, begun, ended = (min(figures) for figures in zip(*freezes, strict=True))
    note = f" (idle {idle:.1f})"
    yield at_most("50,000-file checkpoint: longest freeze of Neovim", begun, 16, "ms", note=note)
    yield at_most("100 files changed by a command: longest freeze", ended, 32, "ms", note=note)


def transcripts(directory: Path, version: str):
    """A transcript of 100 MB: until its end is readable, and how long Neovim is blocked while a user moves through it."""
    opened, scrolled, jumped, left = [], [], [], []
    for place in places(directory):
        with transcript.Reader(place, version, huge) as nvim:
            opened.append(nvim.open_ms())
            nvim.wait_complete()
            nvim.start_heartbeat()
            scrolled.append(nvim.longest_ms(["<C-b>"] * 40 + ["<C-f>"] * 40, 0.03))
            jumped.append(nvim.longest_ms(["gg", "50%", "G", "10%", "20]]", "5]m", "[c"], 0.3))
            left.append(nvim.leave_ms())
    yield at_most("transcript of 100 MB: its end can be read after", min(opened), 300, "ms")
    yield at_most("transcript of 100 MB: longest freeze while paging", min(scrolled), 30, "ms")
    yield at_most("transcript of 100 MB: longest freeze of a jump", min(jumped), 30, "ms")
    yield at_most("transcript of 100 MB: leaving Neovim waits", min(left), 15, "ms")


def growing(directory: Path, version: str):
    """A message that comes word by word: the cost of a word does not grow with the message."""
    figures = {}
    for lines in (200, 2000, 20000):
        figures[lines] = min(transcript.word_us(place, version, lines) for place in places(directory, f"{lines}-"))
        yield at_most(f"a word at the end of {lines:,} lines, p50", figures[lines], 1000, "µs")
    yield at_most("the same at 20,000 lines, beside 200", figures[20000] / figures[200], 2, "×")


def chats(directory: Path, version: str):
    """A chat: how long it blocks Neovim, in CPU time of the main thread, and how soon a word is on the screen."""

    def begun(name: str, path_of=None) -> Iterator[chat.Chat]:
        for place in places(directory, f"{name}-"):
            with chat.Chat(place, version, path_of) as nvim:
                yield nvim

    opens, words, spawns = [], [], []
    for nvim in begun("words"):
        opens.append(nvim.open_ms())
        words.append(nvim.token_ms(30))
        spawns.append(nvim.spawn_ms())
    yield at_most("`:Claude chat`, the first one", min(opens), 10, "ms")
    yield at_most("starting its agent", min(spawns), 5, "ms")
    yield at_most("a word of the agent's to the screen, p50", min(words), 20, "ms")
    for what, count in (("much", 100_000), ("code", 40_000), ("block", 40_000)):
        answers = []
        for nvim in begun(what):
            nvim.open_ms()
            nvim.answer(f"{what} 100")
            answers.append(nvim.answer(f"{what} {count}"))
        yield at_most(f"{count:,} pieces of an answer ({what}), all", min(answers)[0], 3000, "ms")
        yield at_most(f"the longest of it at once, {WORST}", max(longest for _, longest in answers), 16, "ms")
    for what in ("words", "lines"):
        answers = []
        for nvim in begun(f"huge-{what}"):
            nvim.open_acp()
            answers.append(nvim.answer(f"BIG 10000000 {what}"))
        yield at_most(f"10 MB in one message of another agent ({what}), all", min(answers)[0], 3000, "ms")
        yield at_most(f"the longest of it at once, {WORST}", max(longest for _, longest in answers), 16, "ms")
    for what in ("command", "content"):
        call = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "", "rawInput": {what: "BIG 10000000 lines"}}
        answers = []
        for nvim in begun(f"call-{what}"):
            nvim.open_acp()
            answers.append(nvim.answer(f"UPDATE {json.dumps({**call, 'status': 'completed'})}\nSAY done"))
        name = f"10 MB in an argument ({what}), at once, {WORST}"
        yield at_most(name, max(longest for _, longest in answers), 16, "ms")
    times, alone = [], []
    for turn in ("one", "two"):  # in turns: a quotient of two figures needs more runs than one figure
        times += [nvim.resume_ms() for nvim in begun(f"resume-{turn}", huge)]
        for place in places(directory, f"alone-{turn}-"):
            with transcript.Reader(place, version, huge) as reader:
                alone.append(reader.open_ms())
    yield at_most("a chat of 100 MB goes on", min(times), 300, "ms")
    yield at_most("the same, beside its transcript alone", min(times) / min(alone), 1.4, "×")


def heavy_use(directory: Path, version: str):
    """Large repositories, diffs, lines, lists."""
    for row in heavy.measure(directory, version, RUNS):
        yield at_most(*row)


def kernels(directory: Path, version: str):
    """Code in a kernel, beside jupyter_client's own time for it."""
    figures = [(notebook.round_trip_ms(place, version), notebook.own_ms()) for place in places(directory)]
    ours, own = min(figures)
    limit = max(10, own)
    yield Row(
        "executeCode of 1+1, p50",
        f"{ours:.1f} ms",
        f"≤ {limit:.1f} ms (jupyter_client's own: {own:.1f} ms, ours minus that: {ours - own:+.1f} ms)",
        ours <= limit,
    )


def costs(directory: Path, version: str):
    """What the plugin costs while installed, and at startup."""
    startup = min(editor.plugin_startup_ms(directory, version) for _ in range(5 * RUNS))
    yield at_most("what plugin/ adds to startup", startup, 0.3, "ms")
    connect, idle, served = [], [], []
    for place in places(directory):
        with editor.Editor(place, version, files={"a.txt": "one\n"}, start=False) as nvim:
            nvim.edit("a.txt")
            before = nvim.private_kib()
            connect.append(nvim.time_connect_ms())
            nvim.wait_until_all_is_kept()
            idle.append((nvim.private_kib() - before) / 1024)
            with nvim.connected():
                wire.run("tool", nvim.port, nvim.token, "50", "getOpenEditors", "{}")
                served.append((nvim.private_kib() - before) / 1024)
    ahead = []
    for place in places(directory, "ahead-"):
        with editor.Editor(place, version, start=False) as nvim:
            ahead.append(nvim.read_ahead_ms())
    yield at_most(":ClaudeConnect, with loading the library", min(connect), 10, "ms")
    yield at_most("all modules are cached for later, processor time", min(ahead), 100, "ms")
    yield at_most("private memory, idle", min(idle), 4, "MiB", "≤ +4 MiB")
    yield at_most("private memory, after 50 calls of one client", min(served), 4, "MiB", "≤ +4 MiB")
    yield at_most("size of the library", editor.library_bytes() / 1e6, 8, "MB")


def idle(directory: Path, version: str):
    """How often threads of an idle Neovim are woken, with a client, a followed transcript and a watched file."""
    with editor.Editor(directory, version, files={"a.txt": "one\n"}) as nvim:
        nvim.edit("a.txt")
        with nvim.connected():
            nvim.settle()
            wake_ups = min(nvim.wake_ups(5) for _ in range(RUNS))
    yield at_most("idle for 5 s beside a client: threads are woken", wake_ups, 0, "times")


if __name__ == "__main__":
    sys.exit(main())
