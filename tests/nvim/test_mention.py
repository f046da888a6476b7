"""Mentions of files and lines: their content, their receiver, and their wait."""

import pytest
from held_timers import hold_timers, let_timer_go

from harness.fake_server import FakeServer

pytestmark = pytest.mark.dealt

FILES = {
    "a.txt": "one\ntwo\nthree\n",
    "b.txt": "bee\n",
    ".env": "SECRET=1\n",
    "sub/c.txt": "sea\n",
    "with space.txt": "x\n",
}


@pytest.fixture
def editor(start_nvim):
    """A Neovim in a.txt; one client listens, unless `clients=0`."""

    def start(clients=1, **kwargs):
        nvim = start_nvim(["a.txt"], files=FILES, notices=True, **kwargs)
        nvim.keep_events("ClaudeMentionSent")
        nvim.server = FakeServer(nvim, "mention")
        if clients:
            nvim.server.connect(roots=[nvim.project])
            wait_listening(nvim, 1)
        return nvim

    return start


# The pause before a client counts as listening.
PAUSE = "send to a new client"


def wait_listening(nvim, id):
    nvim.wait(f"Ide.server_listening.is_listening({{ id = {id} }})")


def mentioned(nvim):
    """The mentions sent, as (file name or path inside the project, first line, last line, client); lines from 0."""
    found = []
    for message in nvim.server.messages("at_mentioned"):
        params = message["params"]
        path = params["filePath"].removeprefix(f"{nvim.project}/")
        assert set(params) in ({"filePath"}, {"filePath", "lineStart", "lineEnd"}), params
        found.append((path, params.get("lineStart"), params.get("lineEnd"), message["client"]))
    return found


def wait_mentioned(nvim, count):
    return nvim.wait(lambda: mentioned(nvim) if len(mentioned(nvim)) >= count else None, what=f"{count} mentions")


def notices(nvim):
    """All notices, including scheduled ones: Neovim runs scheduled functions in order."""
    nvim.lua("_G.all_said = false vim.schedule(function() _G.all_said = true end)")
    nvim.wait("_G.all_said")
    return nvim.notices()


def send(nvim, call):
    return nvim.lua(f"return {{ Ide.mention.{call} }}")


# --- what is sent


def test_a_file_is_mentioned_with_its_lines_or_as_a_whole(editor):
    nvim = editor()
    for number, (call, expected, said) in enumerate(
        [
            ("send_range(2, 3)", ("a.txt", 1, 2), "a.txt:2-3"),  # zero-based, inclusive
            ("from_here()", ("a.txt", None, None), "a.txt"),
            ('send_file("sub/", 1, 2)', ("sub", None, None), "sub"),  # a folder has no lines and no final slash
            ('send_file("with space.txt", 1)', ("with space.txt", 0, 0), "with space.txt:1"),
        ]
    ):
        assert send(nvim, call) == [True]
        assert mentioned(nvim)[number:] == [(*expected, 1)]
        assert notices(nvim)[number:] == [f"Sent to Claude: {said}"]
        ((_, event),) = nvim.events()[number:]
        path, first, last = expected
        assert event["path"] == str(nvim.project / path)
        assert [event.get("first"), event.get("last")] == [None if line is None else line + 1 for line in (first, last)]
        assert event["client"]["id"] == 1


@pytest.mark.every_nvim
def test_the_command_uses_the_range_that_was_given(editor):
    nvim = editor()
    for number, (keys, first, last) in enumerate(
        [
            ("Vj:ClaudeSend<CR>", 0, 1),
            (":2ClaudeSend<CR>", 1, 1),
            (":ClaudeSend<CR>", None, None),
            (":%ClaudeSend<CR>", 0, 2),
            (":2ClaudeSend | echo 1<CR>", 1, 1),  # another command may follow
        ],
        1,
    ):
        nvim.keys(keys)
        assert wait_mentioned(nvim, number)[-1] == ("a.txt", first, last, 1)


def test_several_files_are_sent_in_order_and_spoken_of_once(editor):
    nvim = editor()
    nvim.cmd("Claude add b.txt with\\ space.txt sub")
    assert [path for path, *_ in wait_mentioned(nvim, 3)] == ["b.txt", "with space.txt", "sub"]
    assert notices(nvim) == ["Sent to Claude: 3 mentions"]


def test_one_command_for_many_lines_mentions_a_file_once(editor):
    nvim = editor()
    nvim.keys(":g/./ClaudeSend<CR>")
    wait_mentioned(nvim, 1)
    nvim.keys(":ClaudeSend<CR>")
    assert wait_mentioned(nvim, 2) == [("a.txt", None, None, 1)] * 2


def test_a_handler_that_mentions_more_does_not_repeat_the_first(editor):
    nvim = editor()
    nvim.lua(
        """
        local done = false
        vim.api.nvim_create_autocmd("User", { pattern = "ClaudeMentionSent", callback = function()
          if not done then
            done = true
            Ide.mention.send_file("b.txt")
          end
        end })
        """
    )
    send(nvim, "from_here()")
    assert [path for path, *_ in wait_mentioned(nvim, 2)] == ["a.txt", "b.txt"]


# --- what cannot be sent, and what the user should know


def test_what_claude_could_not_read_is_refused(editor):
    nvim = editor()
    for command, why in {
        "enew": "Save it first",
        "terminal cat": "not a file",
        "edit new.txt": "not on disk",
        "enew | file fugitive://x//1": "not a file",
    }.items():
        nvim.cmd(command)
        sent, said = nvim.lua("local ok, err = Ide.mention.from_here() return { ok or false, err }")
        assert (sent, mentioned(nvim)) == (False, []), command
        assert why in said


def test_the_folder_that_claude_works_in_is_not_mentioned(editor):
    nvim = editor()
    nvim.cmd("Claude add . a.txt")
    assert [path for path, *_ in wait_mentioned(nvim, 1)] == ["a.txt"]
    assert nvim.wait_notice("Claude works in this folder")
    assert not any("2 mentions" in text for text in notices(nvim))


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (["a.txt"], "a.txt has unsaved changes; Claude reads the file on disk."),
        ([".env"], ".env is private; this mention lets Claude read it."),
        (["a.txt", ".env", "b.txt"], "2 of these are private or have unsaved changes."),
    ],
)
def test_what_is_pointed_out_stays_on_a_narrow_screen_and_needs_no_key(start_nvim, files, expected):
    nvim = start_nvim(["a.txt"], files=FILES)
    nvim.cmd("set columns=80 noshowcmd")
    FakeServer(nvim, "mention")
    nvim.keys("x")
    nvim.wait("vim.bo.modified")
    nvim.keys(f":Claude add {' '.join(files)}<CR>")
    nvim.wait_screen(expected)
    nvim.keys("l")
    nvim.wait("vim.fn.col('.') == 2")
    assert expected in nvim.screen()[-1]


# --- waiting


def test_without_a_client_mentions_wait_and_go_out_in_order_once(editor):
    nvim = editor(clients=0)
    send(nvim, "send_range(1, 1)")
    send(nvim, 'send_file("b.txt")')
    assert nvim.lua("return Ide.mention.pending()") == 2
    assert notices(nvim)[-1] == "Queued for Claude: 2 mentions. Sent when a CLI connects."
    nvim.server.connect(1, state="connected")
    assert mentioned(nvim) == []
    nvim.server.ready(1)
    assert [path for path, *_ in wait_mentioned(nvim, 2)] == ["a.txt", "b.txt"]
    nvim.server.connect(2)
    wait_listening(nvim, 2)
    assert len(mentioned(nvim)) == 2
    assert nvim.lua("return Ide.mention.pending()") == 0
    assert notices(nvim)[-1] == "Sent to Claude: 2 mentions"


def test_a_client_that_has_just_come_gets_nothing_before_it_listens(editor):
    nvim = editor(clients=0)
    hold_timers(nvim, PAUSE)
    nvim.server.connect()
    send(nvim, "from_here()")
    assert mentioned(nvim) == []
    assert notices(nvim) == []
    let_timer_go(nvim, 1)
    wait_mentioned(nvim, 1)


def test_no_more_wait_than_is_configured(editor):
    nvim = editor(clients=0, opts={"mention": {"max_pending": 2}})
    for _ in range(2):
        assert send(nvim, "from_here()") == [True]
    err = nvim.lua("return select(2, Ide.mention.from_here())")
    assert err == "Not queued: 2 mentions are waiting already (`mention.max_pending`)."
    assert nvim.lua("return Ide.mention.pending()") == 2


def test_a_client_that_could_not_take_a_mention_gets_it_later(editor):
    nvim = editor()
    nvim.server.refuse(1)
    send(nvim, "from_here()")
    send(nvim, 'send_file("b.txt")')
    assert mentioned(nvim) == []
    nvim.server.refuse(1, False)
    assert [path for path, *_ in wait_mentioned(nvim, 2)] == ["a.txt", "b.txt"]


def test_mentions_outlive_a_restart_of_the_server(editor):
    nvim = editor(clients=0)
    send(nvim, "from_here()")
    nvim.lua("local server = Ide.server server.stop() server.start()")
    nvim.server.connect()
    assert len(wait_mentioned(nvim, 1)) == 1


# --- several clients


def two_clients(editor, roots1, roots2):
    nvim = editor(clients=0)
    nvim.lua(
        """
        Asked = {}
        vim.ui.select = function(items, opts, choose)
          table.insert(Asked, { labels = vim.tbl_map(opts.format_item, items) })
          Choose = function(index) choose(items[index], index) end
        end
        """
    )
    for id, roots in ((1, roots1), (2, roots2)):
        nvim.server.connect(id, roots=[nvim.project / root for root in roots])
    wait_listening(nvim, 2)
    return nvim


@pytest.mark.parametrize(
    ("roots1", "roots2", "clients"),
    [
        (["."], ["sub"], {"sub/c.txt": 2, "a.txt": 1}),  # the innermost folder
        (["su"], ["."], {"sub/c.txt": 2}),  # a mere prefix of the name does not contain the file
        (["sub"], ["elsewhere"], {"a.txt": 2}),  # in no client's folder: to the one used last
    ],
)
def test_the_client_whose_folder_holds_the_file_gets_the_mention(editor, roots1, roots2, clients):
    nvim = two_clients(editor, roots1, roots2)
    nvim.server.used_last(2)
    for path in clients:
        send(nvim, f'send_file("{path}")')
    assert mentioned(nvim) == [(path, None, None, client) for path, client in clients.items()]


@pytest.mark.parametrize(("event", "client"), [("let_timer_go(2)", 2), ("Ide.server.disconnect(2)", 1)])
def test_the_right_client_is_waited_for_until_it_listens_or_goes(editor, event, client):
    nvim = editor(clients=0)
    hold_timers(nvim, PAUSE)
    nvim.server.connect(1, roots=["/nowhere"])
    let_timer_go(nvim, 1)
    nvim.server.connect(2, roots=[nvim.project])
    send(nvim, "from_here()")
    assert mentioned(nvim) == []
    nvim.lua(event)
    assert wait_mentioned(nvim, 1) == [("a.txt", None, None, client)]


def test_between_two_in_the_same_folder_the_user_is_asked_once_a_command(editor):
    nvim = two_clients(editor, ["."], ["."])
    nvim.server.used_last(1)
    nvim.cmd("vimgrep /e/ a.txt b.txt | copen")
    send(nvim, "send_range(1, 2)")
    assert mentioned(nvim) == []
    assert nvim.lua("return #Asked[1].labels") == 2
    nvim.lua("Choose(2)")
    assert [(path, client) for path, _, _, client in mentioned(nvim)] == [("a.txt", 2), ("a.txt", 2)]
    assert nvim.lua("return #Asked") == 1


def test_not_choosing_sends_nothing_and_a_client_that_leaves_meanwhile_is_not_waited_for(editor):
    nvim = two_clients(editor, ["."], ["."])
    send(nvim, "from_here()")
    nvim.lua("Choose(nil)")
    assert (mentioned(nvim), nvim.lua("return Ide.mention.pending()")) == ([], 0)
    assert notices(nvim)[-1] == "Not sent to Claude."
    send(nvim, "from_here()")
    nvim.server.disconnect(2)
    nvim.lua("Choose(2)")
    assert mentioned(nvim) == [("a.txt", None, None, 1)]


def test_a_picker_that_was_closed_without_a_word_does_not_block_the_next_mention(editor):
    nvim = two_clients(editor, ["."], ["."])
    send(nvim, "from_here()")
    send(nvim, 'send_file("b.txt")')
    nvim.lua("Choose(1)")
    nvim.wait("#Asked == 3")
    nvim.lua("Choose(1)")
    assert [path for path, *_ in mentioned(nvim)] == ["a.txt", "b.txt"]


def test_a_file_reached_by_a_link_is_named_as_the_client_knows_it(editor):
    nvim = editor(clients=0)
    nvim.server.connect(1, roots=[nvim.project])
    wait_listening(nvim, 1)
    (nvim.home / "link").symlink_to(nvim.project)
    send(nvim, f'send_file("{nvim.home}/link/a.txt")')
    assert mentioned(nvim) == [("a.txt", None, None, 1)]


def test_the_terminal_is_entered_after_a_mention_only_when_asked_for(editor):
    nvim = editor()
    nvim.lua(
        """
        Running, Focused = true, 0
        local terminals = Ide.terminal
        terminals.current = function() return Running and {} or nil end
        terminals.show = function() Focused = Focused + 1 end
        """
    )
    for focus, running, calls in ((False, True, 0), (True, False, 0), (True, True, 1)):
        nvim.lua(
            "require('claude-ide').setup({ mention = { focus_terminal = (...) } }) Running = select(2, ...)",
            focus,
            running,
        )
        send(nvim, "from_here()")
        assert nvim.lua("return Focused") == calls
