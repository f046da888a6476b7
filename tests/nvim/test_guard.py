"""The input guard (`lua/claude-ide/ui/guard`): nothing opens during a begun command, and no key acts on unseen content."""

import random

import pytest
from changeset_steps import Changesets
from diff_steps import Diffs
from held_timers import pass_clock

from harness.nvim import COLLECT

pytestmark = pytest.mark.dealt

FILES = {"a.txt": "".join(f"line {i}\n" for i in range(1, 21)), "b.txt": "b\n", "c.txt": "c\n"}


# ── the rule, told at random ──

STORY = """
local times, window = Ide.guard_times, Ide.guard_window
local buf, clock = vim.api.nvim_get_current_buf(), vim.uv.hrtime
at = at or 0
vim.uv.hrtime = function() return at * 1e6 end
local function pass(ms)
  window.check_stall()
  for _ = 1, ms / 50 do
    at = at + 50
    window.check_stall()
  end
end
local decided
local takes = { opened = window.accepts_key, proposal = window.proposal_accepts_key }
local events = {
  opened = function() window.opened(buf) end,
  proposal = function() window.proposal_opens(buf) end,
  typing = function() window.proposal_opened_while_typing({ buf }) end,
  draw = function() vim.cmd("redraw!") end,
  decide = window.decided,
  pass = pass,
  stall = function(ms) at = at + ms end,
}
local kind, story = ...
local results = {}
vim.keymap.set("n", "K", function() decided = takes[kind](buf) end, { buffer = buf })
for _, event in ipairs(story) do
  local name, argument = unpack(event)
  if name == "key" then
    decided = false
    vim.api.nvim_feedkeys(argument, "xt", false)
    results[#results + 1] = decided
  else
    events[name](argument)
  end
end
window.forget(buf)
pass(2000) -- nothing is watched any more when the clock is the real one again
vim.uv.hrtime = clock
return results
"""


class Rule:
    """The rule of `doc/dev/edits.md`, for one window."""

    def __init__(self, kind):
        self.kind, self.now, self.decided_at = kind, 0, -1e9
        self.unread, self.at, self.key_at = None, None, -1e9

    def settled_at(self):
        after, gap = (600, 300) if self.unread == "typing" else (250, 250)
        return max(self.at + after, self.key_at + gap)

    def opened(self, _):
        self.unread, self.at, self.key_at = "typing", self.now, -1e9

    def proposal(self, _):
        is_unread = self.unread == "typing" and (self.at is None or self.now < self.settled_at())
        self.unread, self.at, self.key_at = "typing" if is_unread else None, None, -1e9

    def typing(self, _):
        if self.now - self.decided_at >= 1000:
            self.unread, self.at, self.key_at = "typing", self.at and self.now, -1e9

    def draw(self, _):
        if self.at is None:
            self.at = self.now
            if not self.unread and self.now - self.decided_at < 600:
                self.unread = "decision"

    def decide(self, _):
        self.decided_at = self.now

    def stall(self, ms):
        began = self.now
        self.now += ms
        if began - self.decided_at < 600:
            self.decided_at += ms
        if self.unread and self.at is not None and began < self.settled_at():
            self.at = self.now

    def pass_(self, ms):
        self.now += ms

    def key(self, key):
        is_drawn = self.at is not None
        is_settled = is_drawn and self.now >= self.settled_at()
        if self.unread == "typing" or (self.unread == "decision" and key == "K"):
            if is_settled:
                self.unread = None
            else:
                self.key_at = self.now
        return key == "K" and is_drawn and self.unread is None


@pytest.mark.parametrize("kind", ["opened", "proposal"])
@pytest.mark.parametrize("seed", range(4))
def test_a_key_decides_as_the_rule_says_however_keys_stalls_and_windows_follow_one_another(start_nvim, kind, seed):
    rng = random.Random(seed)
    nvim = start_nvim(files=FILES, args=["a.txt"])
    for _ in range(100):
        story = [[kind, 0]]
        if kind == "proposal":
            story = [*rng.choice([[], [["decide", 0], ["pass", rng.choice([50, 700])]]]), *story, ["draw", 0]]
            story += rng.choice([[], [["typing", 0]]])
        for _ in range(12):
            name = rng.choice(["key", "key", "key", "pass", "pass", "stall", "again"])
            if name == "again":
                story += [[kind, 0], ["draw", 0]] if rng.random() < 0.3 else [["decide", 0]]
            else:
                ms = rng.choice([50, 100, 150, 300, 600])
                story.append([name, rng.choice("jK") if name == "key" else max(ms, 250) if name == "stall" else ms])
        rule = Rule(kind)
        expected = []
        for name, argument in story:
            reported = getattr(rule, "pass_" if name == "pass" else name)(argument)
            if name == "key":
                expected.append(reported)
        assert nvim.lua(STORY, kind, story) == expected, repr(story)


# ── when something may open ──

OPENS = """
opened = {}
function open(id, asks_here)
  local function show() opened[#opened + 1] = id end
  Ide.guard.when_idle(id, "b.txt", show, nil, function() return asks_here or false end)
end
"""


@pytest.fixture
def nvim(start_nvim):
    nvim = start_nvim(files=FILES, args=["a.txt"])
    nvim.lua(OPENS + "Ide.guard_typing.listen()")
    return nvim


def opened(nvim):
    return nvim.lua("return opened") or []


BUSY = {
    "insert": ("ihello", "vim.api.nvim_get_mode().mode == 'i'", "<Esc>"),
    "replace": ("Rhello", "vim.api.nvim_get_mode().mode == 'R'", "<Esc>"),
    "the command line": (":echo 'hello", 'vim.fn.getcmdline() == "echo \'hello"', "<C-c>"),
    "a search": ("/hello", "vim.fn.getcmdline() == 'hello'", "<C-c>"),
    "visual": ("v", "vim.api.nvim_get_mode().mode == 'v'", "<Esc>"),
    "an operator": ("d", "vim.api.nvim_get_mode().mode == 'no'", "<Esc>"),
    "one command out of insert": ("i<C-o>", "vim.api.nvim_get_mode().mode == 'niI'", "<Esc><Esc>"),
    "recording a macro": ("qq", "vim.fn.reg_recording() == 'q'", "q"),
    "select": ("gh", "vim.api.nvim_get_mode().mode == 's'", "<Esc>"),
    "a block": ("<C-v>j", "vim.api.nvim_get_mode().mode == '\\22'", "<Esc>"),
    "virtual replace": ("gR", "vim.api.nvim_get_mode().mode == 'Rv'", "<Esc>"),
    "a menu of completions": ("o<C-x><C-f>", "vim.fn.pumvisible() == 1", "<C-e><Esc>"),
    "a register for insert mode": ("i<C-r>=1", "vim.fn.getcmdline() == '1'", "<CR><Esc>"),
    "a question of a script": (":call input('What? ')<CR>", "vim.fn.getcmdtype() == '@'", "x<CR>"),
    "the menu of the command line": (":b<Tab>", "vim.fn.wildmenumode() == 1", "<C-e><C-c>"),
    "Ex mode": ("gQ", "vim.api.nvim_get_mode().mode == 'cv'", "visual<CR>"),
    "the command-line window": ("q:", "vim.fn.getcmdwintype() == ':'", ":q<CR>"),
}


@pytest.mark.every_nvim
def test_waits_while_the_user_is_busy_and_says_so(nvim):
    for name, (keys, is_busy, back) in BUSY.items():
        nvim.keys(keys)
        nvim.wait(is_busy)
        mode = nvim.mode()
        nvim.lua("open(...)", name)
        nvim.wait_screen("Claude proposes a change to b.txt · opens when")
        assert name not in opened(nvim) and nvim.mode() == mode
        nvim.keys(back)
        nvim.wait(
            lambda name=name: opened(nvim)[-1:] == [name], what=f"what waited while the user was busy with {name}"
        )
    nvim.wait(lambda: "opens when" not in "\n".join(nvim.screen()), what="the line of it to go")


QUESTIONS = {
    "a dialog": (":let g:sure = confirm('Sure?')<CR>", "[O]k", "<CR>"),
    "each match": (":%s/line/lime/gc<CR>", "replace with lime", "q"),
}


@pytest.mark.every_nvim
def test_a_question_on_the_screen_stays_there(nvim):
    for name, (keys, question, answer) in QUESTIONS.items():
        nvim.keys(keys)
        nvim.wait_screen(question)
        nvim.notify("open(...)", name)
        if nvim.version != "0.10":  # which runs nothing until there is an answer
            nvim.wait(f"Ide.guard.is_waiting('{name}')")
        assert question in "\n".join(nvim.screen())
        nvim.keys(answer)
        nvim.wait(lambda name=name: opened(nvim)[-1:] == [name], what="what waited")
    assert nvim.lua("return { vim.g.sure, vim.fn.getline(1) }") == [1, "line 1"]


WAITS_FOR_A_KEY = {
    "a motion of a plugin": "vim.keymap.set('n', 'gz', function() _G.asks = 1 _G.got = vim.fn.getcharstr() end)",
    "a function of Vim script": "vim.cmd([[nnoremap gz :call execute(['lua _G.asks = 1', 'let g:got = getchar()'])<CR>]])",
    "an expression": """
      vim.keymap.set('n', 'gz', function() _G.asks = 1 _G.got = vim.fn.getcharstr() return '' end, { expr = true })""",
    "Lua that waits": """
      vim.keymap.set('n', 'gz', function() _G.asks = 1 vim.wait(60000, function() return _G.got end, 5) end)""",
}


@pytest.mark.every_nvim
@pytest.mark.parametrize("mapping", WAITS_FOR_A_KEY.values(), ids=WAITS_FOR_A_KEY)
def test_waits_while_something_waits_for_the_users_next_key(nvim, mapping):
    nvim.lua(mapping)
    nvim.input("gz")  # at once: behind an expression whose keys came apart Neovim runs nothing until the next key
    # Before the key arrives, the time since the last key is unlimited, too.
    nvim.wait("_G.asks == 1 and Ide.guard_typing.quiet_for() > 200")
    nvim.lua("open(1)")
    assert nvim.lua("return Ide.guard.is_waiting(1)")
    if "getchar" in mapping:
        nvim.keys("x")
        nvim.wait("_G.got == 'x' or vim.g.got == 120")
    else:
        nvim.lua("_G.got = true")
    nvim.wait(lambda: opened(nvim) == [1], what="what waited")


@pytest.mark.every_nvim
def test_waits_for_a_pause_in_typing(nvim):
    nvim.keys("j")
    nvim.wait(lambda: nvim.cursor() == (2, 0))
    nvim.lua("keys = Ide.guard_typing assert(keys.quiet_for() < math.huge)")
    nvim.lua("quiet_for, keys.quiet_for = keys.quiet_for, function() return 0 end")  # as if a key were just pressed
    nvim.lua("open(1)")
    assert nvim.lua("return Ide.guard.is_waiting(1)") and opened(nvim) == []
    nvim.lua("keys.quiet_for = quiet_for")
    nvim.wait(lambda: opened(nvim) == [1], what="what waited")


@pytest.mark.every_nvim
def test_a_line_that_is_typed_in_the_terminal_of_who_asks_is_not_broken_off(nvim):
    nvim.cmd("vsplit | terminal cat")
    nvim.keys("i1")  # a digit that answers a question begins no line
    nvim.wait_screen("1")
    nvim.lua("open(1, true)")
    nvim.wait(lambda: opened(nvim) == [1], what="what waited for a pause")
    nvim.keys("2 words")  # that one begins a line
    nvim.wait_screen("2 words")
    nvim.lua("open(2, true)")
    nvim.wait_screen("opens when you have sent this line")
    nvim.keys(" more")
    nvim.wait_screen("2 words more")
    assert nvim.mode() == "t" and opened(nvim) == [1]
    nvim.keys("<CR>")
    nvim.wait(lambda: opened(nvim) == [1, 2], what="what waited for the end of the line")


@pytest.mark.every_nvim
def test_nothing_takes_the_focus_from_the_terminal_of_another_program(nvim):
    nvim.cmd("vsplit | terminal cat")
    nvim.keys("i")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'")
    nvim.lua("open(1)")
    nvim.wait_screen("opens when you leave the terminal")
    nvim.keys("yes<CR>")  # no line is begun afterwards
    nvim.wait("Ide.guard_typing.quiet_for() > 400", what="a pause")
    assert opened(nvim) == [] and nvim.mode() == "t"
    nvim.keys("<C-\\><C-n>")
    nvim.wait(lambda: opened(nvim) == [1], what="what waited")
    nvim.wait(lambda: "opens when" not in "\n".join(nvim.screen()), what="the line of it to go")


@pytest.mark.every_nvim
def test_nothing_takes_the_focus_from_a_window_that_was_just_entered(nvim):
    nvim.lua("Ide.guard_times.entered = 1e6")
    nvim.cmd("split b.txt")
    nvim.lua("open(1)")
    nvim.wait(lambda: opened(nvim) == [1], what="what is shown where no key has moved the focus")
    nvim.keys("<C-w>w")
    nvim.wait("vim.fn.expand('%:t') == 'a.txt'")
    nvim.lua("open(2)")
    nvim.wait("Ide.guard_typing.quiet_for() > 400", what="a pause")
    assert opened(nvim) == [1]
    nvim.lua("Ide.guard_times.entered = 400 vim.cmd('doautocmd BufEnter')")
    nvim.wait(lambda: opened(nvim) == [1, 2], what="what waited")
    nvim.lua("Ide.guard_times.entered = 1e6")
    nvim.keys("<C-w>w:q<CR>")
    nvim.wait("vim.fn.winnr('$') == 1")
    nvim.lua("open(3)")
    nvim.wait(lambda: opened(nvim) == [1, 2, 3], what="what is shown to who is back from a window that is closed")


# ── every window that opens unprompted holds to it ──

REQUESTER = """
answers = {}
function requester()
  return Ide.requests.requester({
    name = "Claude", writes = "agent", tell = function() end, cannot_hear = function() end,
    answer = function(_, answer) answers[#answers + 1] = answer and answer.outcome or "none" end,
    asks_here = function() return vim.bo.buftype == "terminal" end,
  })
end
"""
CARD = """
Ide.card_window.open({
  request = { id = 1000, state = "pending", handle = {}, requester = requester() },
  text = function()
    local run = function() answers[#answers + 1] = "y" end
    return { title = "Ask", lines = { { "make it" } }, actions = { { keys = { "y" }, desc = "yes", run = run } } }
  end,
})
"""
PLAN = """
Ide.card_plan.ask({ ask = { plan = "make it" }, requester = requester() })
"""
CODE = """
Ide.notebook_document.wanted = function(_, done) done({ language = "r" }) end
local kernel, run = { name = "R", notebook = "/a.ipynb" }, { code = "one" }
Ide.notebook_confirm.ask(kernel, run, function(may) answers[#answers + 1] = tostring(may) end)
"""
FLOAT = """
Ide.text_float.show_in_time("words", "Claude", "Claude answers")
vim.api.nvim_create_autocmd("WinClosed", { callback = function() answers[#answers + 1] = "closed" end })
"""
LIST = """
Ide.guard.when_idle("list", "a list", function()
  local options = { prompt = "Which", is_unasked = true }
  Ide.choose.select({ "one", "two" }, options, function(item) answers[#answers + 1] = item end)
end, "A list")
"""
RENAME = """{ changes = { [uri("b.txt")] = { edit(0, 0, 0, 1, "B") }, [uri("c.txt")] = { edit(0, 0, 0, 1, "C") } } }"""


def diff(nvim):
    Diffs(nvim).propose(1, "b.txt", "B\n")
    return "vim.tbl_map(function(answer) return answer[1].outcome end, answers)"


def later_diff(nvim):
    """A diff that comes forward when others end the one before it, while the user writes elsewhere."""
    diffs = Diffs(nvim)
    nvim.keys("<Esc>")
    diffs.open(1, "b.txt", "B\n")
    diffs.propose(2, "c.txt", "C\n", client=2)
    nvim.wait("(Ide.proposal.list()[2] or {}).against", what="the second one to be ready")
    nvim.cmd("tabnew")
    nvim.keys("i")
    nvim.wait("vim.fn.mode() == 'i'")
    nvim.lua("Ide.claude_client.prompt_submitted(1)")
    pass_clock(nvim, 5000)  # the decision was not just made
    return "answers[2] and { answers[2][1].outcome } or {}"


def changeset(nvim):
    Changesets(nvim).propose(RENAME)
    return "vim.tbl_map(function(answer) return answer.outcome end, answers)"


def other(code):
    def open(nvim):
        nvim.lua(REQUESTER)
        nvim.lua(code)
        return "answers"

    return open


CURRENT, IN_FLOAT = ({"diff": {"open_in": place}} for place in ("current", "float"))
WINDOWS = {
    "a diff, written": (diff, ":w<CR>", "saved", {}),
    "a diff": (diff, "ZZ", "saved", {}),
    "a diff, its other key": (diff, "gA", "saved", {}),
    "the next diff, here": (later_diff, "ZZ", "saved", CURRENT),
    "the next diff, written": (later_diff, ":w<CR>", "saved", IN_FLOAT),
    "a changeset": (changeset, "ZZ", "accepted", {}),
    "a changeset, rejected": (changeset, "ZQ", "rejected", {}),
    "a question": (other(CARD), "y", "y", {}),
    "a plan": (other(PLAN), "<CR>", "accepted", {}),
    "code to be run": (other(CODE), "ZZ", "true", {}),
    "an answer": (other(FLOAT), "q", "closed", {}),
    "an answer, its other key": (other(FLOAT), "<Esc>", "closed", {}),
    "a list": (other(LIST), "<CR>", "one", {}),
}


@pytest.mark.every_nvim
@pytest.mark.parametrize(("show", "keys", "outcome", "opts"), WINDOWS.values(), ids=WINDOWS)
def test_what_a_user_goes_on_typing_decides_nothing_in_what_opens_meanwhile(start_nvim, show, keys, outcome, opts):
    """`<Esc>`, then `:w`: the window opens in between, and was not meant."""
    nvim = start_nvim(files=FILES, args=["a.txt"], opts=opts)
    nvim.lua("require('claude-ide').connect() Ide.guard_times.unread = 1e9")
    nvim.keys("ihello")
    nvim.wait("vim.fn.mode() == 'i'")
    answers = show(nvim)
    nvim.wait_screen("opens when you leave insert mode")
    before = nvim.lua("return vim.fn.bufnr()")
    nvim.keys("<Esc>")
    nvim.wait(lambda: nvim.lua("return vim.fn.bufnr()") != before, what="the focus in the window")
    nvim.keys(f"{keys}:let g:typed = 1<CR>")
    nvim.wait("vim.g.typed == 1")
    assert nvim.lua(f"return {answers}") in ([], {})
    nvim.keys(keys, counts=True)
    nvim.wait(lambda: nvim.lua(f"return {answers}") == [outcome], what="the answer")


@pytest.mark.parametrize(("show", "key"), [(diff, "ZZ"), (other(CARD), "y")])
def test_a_key_that_came_too_soon_is_not_lost_without_a_word(start_nvim, show, key):
    nvim = start_nvim(files=FILES, args=["a.txt"], notices=True)
    nvim.lua("require('claude-ide').connect() Ide.guard_times.unread = 1e9")
    nvim.keys("ihello")
    nvim.wait("vim.fn.mode() == 'i'")
    show(nvim)
    nvim.wait_screen("opens when you leave insert mode")
    before = nvim.lua("return vim.fn.bufnr()")
    nvim.keys("<Esc>")
    nvim.wait(lambda: nvim.lua("return vim.fn.bufnr()") != before, what="the focus in the window")
    nvim.keys(key + key)
    nvim.wait_notice("Press it again")
    nvim.keys(":let g:typed = 1<CR>")
    nvim.wait("vim.g.typed == 1")
    assert len([notice for notice in nvim.notices() if "Press it again" in notice]) == 1


NOTE_SUSPECT = """
vim.api.nvim_create_autocmd("User", { pattern = "ClaudeDiffOpened", callback = vim.schedule_wrap(function()
  is_suspect = Ide.guard_window.is_typed_ahead(vim.api.nvim_get_current_buf())
end) })
"""


def test_keys_that_decided_one_proposal_are_no_typing_into_the_next(start_nvim):
    """Typed less than 1 s before it opens, but more than 1 s before a slow machine shows it."""
    diffs = Diffs(start_nvim(files=FILES, args=["a.txt"]))
    nvim = diffs.nvim
    diffs.open(1, "a.txt", "A\n")
    nvim.lua(NOTE_SUSPECT)
    nvim.keys("ZZ")
    diffs.answer(1)
    pass_clock(nvim, 1500)  # as if the screen took so long
    diffs.propose(2, "b.txt", "B\n")
    nvim.wait("is_suspect ~= nil", what="the second to be shown")
    assert nvim.lua("return is_suspect") is False


def test_what_has_run_holds_nothing_until_the_next_key(start_nvim):
    nvim = start_nvim()
    nvim.lua("""
      held, ran = setmetatable({}, { __mode = "v" }), 0
      local typing = Ide.guard_typing
      typing.listen()
      for only_pressed = 0, 1 do
        local text = { "a diff's text" }
        table.insert(held, text)
        typing.soon(function() ran = ran + #text end, only_pressed == 1)
      end
    """)
    nvim.wait("ran == 2", what="both to run")
    nvim.wait(COLLECT + " return next(held) == nil", what="what they held to be released")


QUESTIONS_IN_A_PROMPT = """
local guard = Ide.guard
Ide.guard_typing.quiet_for = function() return 100000 end
questions = 0
open = function()
  questions = questions + 1
  vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true, { relative = "editor", row = 1, col = 1, width = 9, height = 1 })
  vim.keymap.set("n", "q", vim.cmd.close, { buffer = 0 })
end
ask = function()
  guard.when_idle({}, "a question", open, "a question opens")
end
vim.api.nvim_set_current_buf(Ide.own_buffer.create({ kind = "prompt", name = { "Claude", "test" } }))
"""


@pytest.mark.every_nvim
def test_a_question_that_comes_as_insert_mode_comes_back_gives_it_back_too(nvim):
    nvim.lua(QUESTIONS_IN_A_PROMPT)
    nvim.keys("i")
    nvim.wait("vim.fn.mode() == 'i'")
    nvim.lua("ask()")
    nvim.wait("questions == 1 and vim.fn.mode() == 'n'", what="a question")
    nvim.lua("""
      local start = vim.cmd.startinsert
      vim.cmd.startinsert = function(...)
        vim.cmd.startinsert = start
        start(...)
        ask()
      end
    """)
    nvim.keys("q")
    nvim.wait("questions == 2 and vim.fn.mode() == 'n'", what="another one, before insert mode has begun")
    nvim.keys("q")
    nvim.wait("vim.fn.mode() == 'i' and #vim.api.nvim_list_wins() == 1", what="the prompt to be gone on with")


@pytest.mark.every_nvim
def test_a_question_that_comes_before_insert_mode_is_resumed_gives_it_back_too(nvim):
    nvim.lua(QUESTIONS_IN_A_PROMPT)
    nvim.keys("i")
    nvim.wait("vim.fn.mode() == 'i'")
    nvim.lua("prompt = vim.api.nvim_get_current_buf() ask()")
    nvim.wait("questions == 1 and vim.fn.mode() == 'n'", what="a question")
    nvim.lua("""
      vim.api.nvim_create_autocmd("SafeState", {
        callback = function()
          if vim.api.nvim_get_current_buf() == prompt then
            open() -- the guard has let it pass while the first one was still there
            return true
          end
        end,
      })
    """)
    nvim.keys("q")
    nvim.wait("questions == 2 and vim.fn.mode() == 'n'", what="another one, as soon as the prompt is returned to")
    nvim.keys("q")
    nvim.wait("vim.fn.mode() == 'i' and #vim.api.nvim_list_wins() == 1", what="the prompt to be gone on with")


# ── a window that others close under the user's typing ──


def typed_into(nvim, open_request, kind, keys):
    """Opens a request from where the user is, and types into it."""
    for mode in "nit":
        nvim.cmd(f"{mode}noremap <F5> <Cmd>let g:typed += 1<CR>")
    nvim.lua("vim.g.typed = 0 Ide.guard_times.closed = 1e6")
    open_request(nvim)
    nvim.wait_kind(kind)
    nvim.keys_count()
    nvim.keys(keys)
    nvim.wait(lambda: nvim.mode()[0] != "n" or nvim.mode() == "no", what="the mode that the keys lead to")


def end_by_others(nvim, then):
    """Ends the request, as its sender does, and types on once its window has gone."""
    win = nvim.lua("return vim.api.nvim_get_current_win()")
    nvim.lua("Ide.requests.cancel(Ide.requests.pending()[1])")
    nvim.wait(f"not vim.api.nvim_win_is_valid({win})", what="the window to go")
    nvim.keys(then + "\x1b[15~")
    nvim.wait("vim.g.typed == 1", what="the keys to be handled")


BEFORE = {"a file": None, "a terminal": "vsplit | terminal cat"}
TYPED_INTO = {
    "a plan": (other(PLAN), "plan", "Gomine", "Your text is in", {}),
    "a plan, at a menu": (other(PLAN), "plan", "Gomine mint mi<C-n>", "Your text is in", {}),
    "a plan, selecting": (other(PLAN), "plan", "Gomine<Esc>V", "Your text is in", {}),
    "a plan, at an operator": (other(PLAN), "plan", "Gomine<Esc>d", "Your text is in", {}),
    "a diff, at an operator": (diff, "proposal", "Gomine<Esc>d", "Your edits to the proposal", {}),
    "a diff": (diff, "proposal", "Gomine", "Your edits to the proposal", {}),
    "a diff, here": (diff, "proposal", "Gomine", "Your edits to the proposal", CURRENT),
    "a diff, in a float": (diff, "proposal", "Gomine", "Your edits to the proposal", IN_FLOAT),
}


@pytest.fixture
def writing(start_nvim):
    def begin(before, opts):
        nvim = start_nvim(files=FILES, args=["a.txt"], opts=opts)
        nvim.lua("require('claude-ide').connect()")
        if before:
            nvim.cmd(before)
            nvim.keys("i")
            nvim.wait("vim.api.nvim_get_mode().mode == 't'")
        return nvim

    return begin


@pytest.mark.every_nvim
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize(("show", "kind", "keys", "said", "opts"), TYPED_INTO.values(), ids=TYPED_INTO)
def test_what_is_typed_on_as_others_close_a_window_is_for_no_other(writing, before, show, kind, keys, said, opts):
    nvim = writing(before, opts)
    here = nvim.lua("return vim.fn.bufnr()")
    typed_into(nvim, show, kind, keys)
    end_by_others(nvim, " more<CR>dd")
    nvim.wait_screen(said)
    assert nvim.lua("return vim.fn.bufnr()") == here
    assert nvim.mode() == ("nt" if before else "n")
    assert nvim.lines(1) == FILES["a.txt"].splitlines()
    assert not before or "more" not in "".join(nvim.lines())
    nvim.lua("Ide.guard_times.closed = 1")
    nvim.keys("d")
    nvim.wait("vim.fn.maparg('d', 'n') == ''", what="the keys to act again")
    nvim.keys("i more")
    nvim.wait_screen(" more")


@pytest.mark.every_nvim
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize(("show", "kind"), [(other(PLAN), "plan"), (diff, "proposal")])
def test_a_comment_that_is_typed_goes_on_as_others_close_its_window(writing, before, show, kind):
    nvim = writing(before, {})
    typed_into(nvim, show, kind, "gcc")
    nvim.wait_kind("comment")
    nvim.keys("half a")
    nvim.wait("#Ide.comments_store.threads(Ide.comments_store.root_of()) == 1", what="the comment to be kept")
    end_by_others(nvim, " thought")
    assert (nvim.lines(), nvim.mode()) == (["half a thought"], "i")
    nvim.keys("<Esc>ZZ")
    nvim.wait("vim.api.nvim_win_get_config(0).relative == ''", what="the comment to be closed")
    assert nvim.lines(1) == FILES["a.txt"].splitlines()
    assert not before or "thought" not in "".join(nvim.lines())


@pytest.mark.every_nvim
@pytest.mark.parametrize("kind", ["question", "proposal", "proposal here"])
def test_what_is_typed_on_as_others_close_a_window_neither_decides_nor_changes_the_next(writing, kind):
    nvim = writing(None, CURRENT if "here" in kind else {})
    if kind == "question":
        other(CARD)(nvim)
        nvim.wait_kind("question")
        nvim.lua("Ide.card_plan.ask({ ask = { plan = 'make it' }, requester = requester() })")
        nvim.lua("vim.schedule(function() Ide.card_plan.focus() end)")
        first = "plan"
    else:
        Diffs(nvim).propose(1, "b.txt", "B\n")
        nvim.wait_kind("proposal")
        Diffs(nvim).propose(2, "c.txt", "C\n", client=2)
        nvim.wait("(Ide.proposal.list()[2] or {}).against", what="the second one to be ready")
        first = "proposal"
    typed_into(nvim, lambda _: None, first, "Gomine")
    end_by_others(nvim, "y<CR>ZZdd")
    nvim.wait_kind(kind.split()[0])
    assert nvim.mode() == "n"
    assert nvim.lua("return vim.iter(answers):flatten():totable()") == []
    assert nvim.lines()[0] == ("make it" if kind == "question" else "C")


@pytest.mark.every_nvim
def test_keys_for_what_others_close_over_a_terminal_are_not_for_its_program(writing):
    nvim = writing(BEFORE["a terminal"], {})
    diff(nvim)
    nvim.wait_kind("proposal")
    nvim.keys_count()
    nvim.lua("vim.g.typed = 0 Ide.guard_times.closed, Ide.guard_times.typing = 1e6, 1e6")
    nvim.cmd("tnoremap <F5> <Cmd>let g:typed += 1<CR>")
    before = nvim.lua("return Ide.guard_typing.count()")
    nvim.keys("jj")
    nvim.wait(f"Ide.guard_typing.count() == {before} + 2", what="the keys in the diff")
    nvim.lua("Ide.requests.cancel(Ide.requests.pending()[1])")
    nvim.wait("vim.api.nvim_get_mode().mode == 't'", what="the terminal to have the focus again")
    nvim.keys("GZZ<CR>\x1b[15~")
    nvim.wait("vim.g.typed == 1", what="the keys to be handled")
    assert nvim.lines()[0] == "" and nvim.mode() == "t"
