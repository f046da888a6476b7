"""Options: merged from all sources, checked once, and never fatal to an init.lua."""

import pytest

pytestmark = pytest.mark.one_nvim


def config(nvim, path):
    return nvim.lua("return vim.tbl_get(Ide.config.get(), unpack(vim.split(..., '.', {plain=true})))", path)


def problems(nvim):
    return nvim.lua("return Ide.config.problems()")


def test_without_setup_the_defaults_hold_and_each_passes_its_own_check(start_nvim):
    nvim = start_nvim(opts=None)
    assert config(nvim, "server.host") == "127.0.0.1"
    assert config(nvim, "terminal.command") == ["claude"]
    assert config(nvim, "auto_start") is True
    assert problems(nvim) == []
    nvim.lua("local config = Ide.config config.setup(config.defaults())")
    assert problems(nvim) == []


def test_setup_wins_over_the_global_variable_which_wins_over_the_defaults(start_nvim):
    nvim = start_nvim(
        opts=None,
        init_lua="""
        vim.g.claude_ide = { auto_start = false, server = { port = 41000, max_connections = 3 } }
        require("claude-ide").setup({ server = { port = 42000 } })
        """,
    )
    assert config(nvim, "server.port") == 42000
    assert config(nvim, "server.max_connections") == 3
    assert config(nvim, "server.handshake_timeout_ms") == 5000
    nvim.lua("require('claude-ide').setup({ terminal = { side = 'left' } })")
    assert (config(nvim, "server.port"), config(nvim, "terminal.side")) == (41000, "left"), "a second one replaces it"


def test_the_global_variable_may_be_a_function_and_a_list_replaces_the_default_list(start_nvim):
    given = "{ terminal = { side = 'left' }, selection = { deny = {} }, workspace = { root_markers = { 'x' } } }"
    nvim = start_nvim(opts=None, init_lua=f"vim.g.claude_ide = function() return {given} end")
    assert config(nvim, "terminal.side") == "left"
    assert config(nvim, "selection.deny") == []
    assert config(nvim, "workspace.root_markers") == ["x"]
    assert problems(nvim) == []


PORT = "server.port: expected a whole number from 0 to 65535, got"
WRONG = [
    ({"server": {"prot": 1}}, "server.prot: no such option, did you mean server.port?"),
    ({"sever": {}}, "sever: no such option, did you mean server?"),
    ({"wholly_new": 1}, "wholly_new: no such option"),
    ({"server": {"port": "x", "max_connections": 2}}, f'{PORT} "x"; using 0'),
    ({"server": {"port": 70000, "max_connections": 2}}, f"{PORT} 70000; using 0"),
    ({"server": {"port": 1.5, "max_connections": 2}}, f"{PORT} 1.5; using 0"),
    (
        {"terminal": {"permission_mode": "ask"}},
        'terminal.permission_mode: expected one of "default", "manual", "acceptEdits", "plan", "auto", "dontAsk", '
        '"bypassPermissions", got "ask"; ignored',
    ),
    ({"server": 3}, "server: expected a table of options, got 3"),
    (
        {"server": {"port_range": [5, 4]}},
        "server.port_range: expected two ports such as { 40000, 40100 }, the lower one first, got { 5, 4 }; ignored",
    ),
    (
        {"terminal": {"command": "claude --verbose"}},
        'terminal.command: expected a list such as { "claude", "--verbose" }, got "claude --verbose"; using { "claude" }',
    ),
    (
        {"terminal": {"side": "middle"}},
        'terminal.side: expected one of "left", "right", "top", "bottom", got "middle"; using "right"',
    ),
    (
        {"diff": {"keymaps": {"accept": True}}},
        'diff.keymaps.accept: expected keys such as "<leader>a", a list of them, or false, got true; using { "ZZ", "gA" }',
    ),
    (
        {"terminal": {"env": {"A": 1}}},
        "terminal.env: expected a table of names, each value a string, got { A = 1 }; using {}",
    ),
]


def test_a_wrong_option_is_named_with_what_was_expected_and_those_beside_it_count(nvim):
    for opts, problem in WRONG:
        nvim.lua("require('claude-ide').setup(...)", {"auto_start": False, **opts})
        assert problems(nvim) == [problem]
        if problem.startswith(PORT):
            assert (config(nvim, "server.port"), config(nvim, "server.max_connections")) == (0, 2)


def test_a_problem_is_reported_once_in_one_line_and_stops_nothing(start_nvim):
    nvim = start_nvim(opts={"sever": 1}, notices=True, init_lua="_G.after = true")
    nvim.wait("#notices == 1")
    nvim.lua("require('claude-ide').setup({ auto_start = false, sever = 1 }) Ide.config.get()")
    nvim.cmd("Claude status")
    notice, status = nvim.notices()
    assert notice == "Option sever: no such option, did you mean server?"
    assert status.startswith("Claude: off")
    assert nvim.lua("return _G.after") is True


@pytest.mark.parametrize(
    ("opts", "notice"),
    [
        ({"sever": 1, "log": 2}, "Invalid options: log, sever (see `:checkhealth claude-ide`)"),
        ({"server": {"port_range": [5, 4]}}, "Option server.port_range is invalid: `:checkhealth claude-ide`"),
    ],
    ids=["several", "a long one, which would make Neovim wait for a key"],
)
def test_problems_are_one_line(start_nvim, opts, notice):
    nvim = start_nvim(opts=opts, notices=True, init_lua="vim.o.columns = 80")
    assert nvim.wait_notice() == notice


NONSENSE = ["3", "'x'", "{ 1, 2, x = 3 }", "{ server = { { } } }", "{ [true] = 1 }"]
NO_OPTIONS = ["3", "function() error('no') end", "function() return 'x' end"]
BESIDE = "{ auto_start = false }"


def test_nonsense_is_survived(start_nvim):
    nvim = start_nvim(opts=None, init_lua=f"vim.g.claude_ide = {BESIDE}", notices=True)
    for of_setup, of_variable in [(value, BESIDE) for value in NONSENSE] + [(BESIDE, value) for value in NO_OPTIONS]:
        nvim.lua(f"notices = {{}} vim.g.claude_ide = {of_variable} require('claude-ide').setup({of_setup})")
        nvim.wait("#notices == 1")
        assert of_variable == BESIDE or nvim.notices()[0].startswith("Option vim.g.claude_ide: ")
        assert config(nvim, "server.port") == 0


def test_what_the_user_does_with_their_table_later_changes_nothing(start_nvim):
    nvim = start_nvim(
        opts=None,
        init_lua="_G.mine = { auto_start = false, terminal = { command = { 'claude' } } } require('claude-ide').setup(_G.mine)",
    )
    nvim.lua("Ide.config.get() _G.mine.terminal.command[1] = 'other'")
    assert config(nvim, "terminal.command") == ["claude"]


# By option: the functions for the keys of windows, and those that are mapped by themselves.
KEYMAPS = """
local function within(value, ...)
  for _, wanted in ipairs({ ... }) do
    local index, name, found = 0, nil, nil
    repeat
      index = index + 1
      name, found = debug.getupvalue(value, index)
    until name == wanted or not name
    value = found
  end
  return value
end
local function names(...)
  return vim.tbl_keys(vim.tbl_extend("error", {}, ...))
end
local diff = { actions = { accept = true, reject = true, reject_with_reason = true }, diff = { files = { 1 } } }
local functions = {
  diff = names(Ide.proposal_view.verbs_of(diff)),
  review = names(within(Ide.review_keys.map_list, "mapped", "RUN")),
  comments = names(Ide.comments.ACTIONS, { comment = true }),
  ask = { "close", "chat" },
  chat = names(within(Ide.chat_prompt.create, "map", "RUN"), { interrupt = true }),
  transcript = names(within(Ide.transcript_keys.map, "KEYS"), within(Ide.transcript_keys.map, "JUMPS")),
  board = names(within(Ide.board_keys.map, "ROW"), within(Ide.board_keys.map, "BOARD")),
  terminal = names(within(Ide.terminal_keymaps.attach, "ACTIONS")),
}
local options = {}
for _, section in ipairs(Ide.config_schema) do
  for _, entry in ipairs(section.fields or {}) do
    if entry[1] == "keymaps" then
      options[section[1]] = vim.tbl_map(function(field) return field[1] end, entry.fields)
    end
  end
end
return { options, functions }
"""


def test_each_option_of_keymaps_has_its_function_and_each_function_its_option(start_nvim):
    options, functions = ({name: sorted(found) for name, found in each.items()} for each in start_nvim().lua(KEYMAPS))
    shared = ["removed", "layout", "help"]
    assert set(shared) <= set(options["diff"])
    options["review"] = sorted(options["review"] + shared)  # the help of `diff.keymaps` says so
    assert functions == options
