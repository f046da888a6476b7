"""The help file: generated, current, and with valid tags and links on each Neovim."""

import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.dealt

ROOT = Path(__file__).resolve().parents[2]
HELP = ROOT / "doc" / "claude-ide.txt"
TAG = re.compile(r"(?:^|(?<=\s))\*([^*\s|]+)\*(?=\s|$)")
LINK = re.compile(r"(?<!\\)\|([!#-)+-{}~]+)\|")  # like Neovim's help syntax


def prose():
    """The text of the help file without its code."""
    lines, code = [], False
    for line in HELP.read_text().splitlines():
        if code and (line.startswith("<") or (line and not line.startswith(" "))):
            code = False
        if not code:
            lines.append(line)
        if re.search(r"(^| )>[a-z]*$", line):
            code = True
    return "\n".join(lines)


@pytest.fixture
def doc(nvim, tmp_path):
    """The help where Neovim finds it, with its tags."""
    doc = tmp_path / "help" / "doc"
    doc.mkdir(parents=True)
    (doc / HELP.name).write_text(HELP.read_text())
    nvim.cmd(f"helptags {doc} | set runtimepath^={doc.parent}")
    return doc


def test_what_is_generated_is_current(nvim):
    checked = subprocess.run(
        [nvim.lua("return vim.v.progpath"), "-l", "scripts/doc.lua", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert checked.returncode == 0, checked.stderr


def test_its_tags_are_taken_by_neovim_and_each_stands_once(nvim, doc):
    written = [line.split("\t")[0] for line in (doc / "tags").read_text().splitlines()]
    tags = TAG.findall(prose())
    assert len(tags) == len(set(tags))
    assert sorted(tags) == sorted(written)


def test_every_link_leads_somewhere(nvim, doc):
    links = sorted(set(LINK.findall(prose())))
    missing = nvim.lua(
        """
        return vim.tbl_filter(function(link)
          return not vim.tbl_contains(vim.fn.getcompletion(link, "help"), link)
        end, ...)
        """,
        links,
    )
    # Tags of a newer Neovim than this one.
    assert set(missing) <= {"vim.pack"}
    assert len(links) > 30


@pytest.mark.every_nvim
def test_help_opens_and_fits_its_width(nvim, doc):
    nvim.keys(":help claude-ide<CR>")
    nvim.wait_screen("Claude Code inside Neovim")
    too_wide = [line for line in HELP.read_text().splitlines() if len(line) > 78]
    assert too_wide == []


def test_every_subcommand_option_and_function_is_in_the_help(nvim):
    names = nvim.lua(
        """
        local names = {}
        for _, sub in ipairs(Ide.command_registry) do
          names[#names + 1] = ":Claude-" .. sub.name
        end
        local function walk(entries, path)
          for _, entry in ipairs(entries) do
            names[#names + 1] = path .. entry[1]
            walk(entry.fields or {}, path .. entry[1] .. ".")
          end
        end
        walk(Ide.config_schema, "claude-ide.")
        for name in pairs(require("claude-ide")) do
          names[#names + 1] = ("claude-ide.%s()"):format(name)
        end
        return names
        """
    )
    assert set(names) <= set(TAG.findall(prose()))


@pytest.mark.slow
@pytest.mark.one_nvim
def test_every_highlight_group_and_every_plug_is_named(start_nvim):
    """Including those that only a transcript, a review or a diff defines: taken from the sources."""
    help = HELP.read_text()
    sources = "\n".join(path.read_text() for path in (ROOT / "lua").rglob("*.lua"))
    events = {"ClaudeDiffOpened", "ClaudeDiffClosed", "ClaudeReviewed"}
    groups = set(re.findall(r"\bClaude(?:Diff|Review|Sign|Grep|Transcript)[A-Z]\w*", sources)) - events
    assert sorted(group for group in groups if not re.search(rf"\b{group}\b", help)) == []
    plugs = set(re.findall(r"<Plug>\([a-z-]+\)", (ROOT / "plugin/claude-ide.lua").read_text()))
    assert len(plugs) > 10
    assert sorted(plug for plug in plugs if plug not in help) == []


def test_every_tool_of_agents_is_in_the_help():
    source = (ROOT / "crates/server/src/tools/nvim.rs").read_text()
    tools = set(re.findall(r'^        name: "(\w+)"', source, re.MULTILINE))
    help = HELP.read_text()
    named = set(re.findall(r"\b\w+\b", help.partition("*claude-ide-tools*")[2])) | set(re.findall(r"`(\w+)`", help))
    assert len(tools) > 20
    assert tools <= named


def test_every_terminal_program_is_a_value_of_its_option(nvim):
    refused = nvim.lua("""
      local refused = {}
      for name in pairs(Ide.terminal_external.PROGRAMS) do
        local ok, err = pcall(require("claude-ide").setup, { terminal = { provider = name } })
        refused[#refused + 1] = not (ok and Ide.config.get().terminal.provider == name) and (err or name) or nil
      end
      return refused
    """)
    assert refused == []


def test_no_recipe_builds_in_a_way_that_ends_early_or_hides_a_failure():
    """lazy.nvim ends a shell command after two minutes, and `vim.system` does not check the exit code."""
    for text in (HELP.read_text(), (ROOT / "README.md").read_text()):
        assert not re.findall(r"^ *build = .*|^.*vim\.system\(.*build.*", text, re.M)
        assert 'dofile(event.data.path .. "/build.lua")' in text


def test_the_protocol_has_each_tool_and_method(nvim, connect):
    section = HELP.read_text().rpartition("*claude-ide-protocol*")[2]
    tools = {tool["name"] for tool in connect(nvim).request("tools/list")["tools"]}
    sources = (ROOT / "crates" / "server" / "src").glob("**/*.rs")
    methods = {name for path in sources for name in re.findall(r'Method \{ name: "(\w+)"', path.read_text())}
    assert {"openDiff", "getDiagnostics"} <= tools and {"readFile", "writeFile"} <= methods
    named = set(re.findall(r"^    (\w+) \{", section, re.MULTILINE))
    assert tools | methods <= named
    assert named <= tools | methods | {"executeCode"}  # only with a kernel
