"""Random stories: Claude edits, makes, moves and removes files by its tools and by shell commands; the user edits and
decides in between, whatever git makes of the files. After undoing all of it, the tree is the original, byte for byte,
except for the user's edits.
"""

import contextlib
import os
import random
import subprocess

import pytest
from test_journal_shell import Session, git

pytestmark = pytest.mark.slow

KNOWN = """
local store, file = Ide.journal_store, Ide.file
for _, path in ipairs(...) do
  local found = store.find(path)
  if not found or not store.is_last(found.id, (file.read_now(path, 1e8))) then
    return false
  end
end
return true
"""

TEXTS = {
  "unix.txt": b"".join(b"line %d\n" % i for i in range(30)),
  "dos.txt": b"".join(b"line %d\r\n" % i for i in range(30)),
  "unended.txt": b"\n".join(b"line %d" % i for i in range(30)),
  "mixed.txt": b"".join(b"line %d" % i + (b"\r\n" if i % 3 else b"\n") for i in range(30)),
}  # fmt: skip
"""Edited in place, by both."""

OTHERS = {
  "some.py": b"def f():\n    return 1\n", "deep/er/other.py": b"x = 1\n", "empty.txt": b"", "run.sh": b"#!/bin/sh\necho hi\n",
  "image.bin": bytes(range(256)) * 9, "bom.txt": b"\xef\xbb\xbfone\ntwo\n", "latin.txt": "ä\nö\n".encode("latin-1"),
  "odd name é.txt": b"odd\n", "newline": b"\n", "nul.txt": b"a\0b\n",
}  # fmt: skip
"""Claude's alone, for any operation."""


ATTRIBUTES = [
    "", "* text=auto\n", "* text=auto eol=crlf\n", "*.txt text eol=lf\n* ident\n", "*.py filter=loud\n*.txt filter=loud\n",
    "*.txt working-tree-encoding=UTF-16\n",
]  # fmt: skip
"""What git makes of the files, which is not to matter."""


SETTINGS = {
    "core.autocrlf": ["false", "true", "input"], "core.safecrlf": ["false"], "core.fileMode": ["true", "false"],
    "index.version": ["2", "4"], "filter.loud.clean": ["tr a-z A-Z"],
}  # fmt: skip


class Story:
    def __init__(self, seed, session):
        self.random = random.Random(seed)
        self.session, self.nvim, self.project = session, session.nvim, session.project
        self.expected = {**TEXTS, **OTHERS}
        self.made = 0
        self.tale = [f"seed {seed}"]

    def tree(self):
        found = {}
        for path in self.project.rglob("*"):
            name = str(path.relative_to(self.project))
            if path.is_file() and not name.startswith(".git/"):
                found[name] = path.read_bytes()
        return found

    def some_bytes(self):
        kinds = [
            b"",
            b"one\n",
            b"no end",
            b"a\r\nb\r\n",
            self.random.randbytes(50),
            b"\0",
            b"\n\n",
            b"x" * 5000 + b"\n",
        ]
        return self.random.choice(kinds)

    def place(self):
        self.made += 1
        return self.random.choice(["", "deep/", "new/er/", "new/"]) + f"made {self.made}.txt"

    def in_place(self, content):
        """Changes the first half of a text, which the user leaves alone."""
        lines = content.splitlines(keepends=True)
        at, count = self.random.randrange(0, 10), self.random.randrange(0, 4)
        self.made += 1
        lines[at : at + count] = [b"claude %d.%d\n" % (self.made, i) for i in range(self.random.randrange(0, 4))]
        return b"".join(lines)

    def claude(self):
        """One change: (path, bytes or None) pairs."""
        mine = [name for name in self.tree() if name not in TEXTS]
        what = self.random.choice(["text", "text", "text", "make", "write", "write", "remove", "move", "chmod"])
        if what == "text" or not mine:
            name = self.random.choice(list(TEXTS))
            return [(name, self.in_place((self.project / name).read_bytes()))]
        if what == "make":
            return [(self.place(), self.some_bytes())]
        name = self.random.choice(mine)
        if what == "write":
            return [(name, self.some_bytes())]
        if what == "remove":
            return [(name, None)]
        if what == "move":
            return [(self.place(), (self.project / name).read_bytes()), (name, None)]
        (self.project / name).chmod(self.random.choice([0o644, 0o755]))
        return []

    def turn(self):
        before = self.tree()
        self.session.prompt()
        for _ in range(self.random.randrange(1, 6)):
            announced = self.random.random() < 0.5
            for name, content in self.claude():
                if content is not None and before.get(name) is not None and self.random.random() < 0.3:
                    content = before[name]  # undoes an earlier change of the turn
                self.tale.append(
                    f"claude {'tool' if announced and content is not None else 'shell'} {name} {content and content[:30]!r}"
                )
                path = self.project / name
                if announced and content is not None:  # no tool removes a file
                    self.session.client.call("getDiagnostics", uri=f"file://{path}")
                if content is None:
                    path.unlink()
                else:
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(content)
        self.session.status("idle")
        after = self.tree()
        changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        paths = [str(self.project / name) for name in changed]
        self.nvim.wait("taken == before + 2 and compared == taken / 2", what="the checkpoints to be compared")
        self.nvim.wait(lambda: self.nvim.lua(KNOWN, paths), what=f"{changed} to be known: {self.tale}")
        self.nvim.wait("local turns = Ide.journal.turns() return turns[#turns].ended ~= nil")
        self.nvim.lua("known = nil Ide.journal.when_known(function() known = true end)")
        self.nvim.wait("known", what="all that the turn did")

    def user(self):
        """Writes lines of their own into the second half of a text, in Neovim."""
        name = self.random.choice(list(TEXTS))
        self.made += 1
        word = f"mine {self.made}"
        self.tale.append(f"user {name} {word}")
        self.nvim.cmd(f"edit {name}")
        self.nvim.wait("not vim.bo.modified")
        content = (self.project / name).read_bytes()
        old = b"line %d" % self.random.randrange(20, 28)
        if content.count(old) != 1:
            return
        self.nvim.lua(
            """
            local old, new = ...
            for i, line in ipairs(vim.api.nvim_buf_get_lines(0, 0, -1, true)) do
              if line:gsub("\\r$", "") == old then vim.api.nvim_buf_set_text(0, i - 1, 0, i - 1, #old, { new }) end
            end
            vim.cmd("silent write!")
            """,
            old.decode(),
            word,
        )
        self.expected[name] = self.expected[name].replace(old, word.encode())
        assert (self.project / name).read_bytes() == content.replace(old, word.encode())

    def decide(self):
        """Keeps or undoes something, or leaves it."""
        done = self.nvim.lua(
            """
            local journal, action, pick, whole = Ide.journal, ...
            local changes = journal.changes()
            local change = changes[pick % math.max(#changes, 1) + 1]
            if change then
              Ide.journal_undo[action](change.path, not whole and change.hunks[pick % #change.hunks + 1] or nil)
              return change.path
            end
            """,
            self.random.choice(["keep", "keep", "undo"]),
            self.random.randrange(100),
            self.random.random() < 0.5,
        )
        self.tale.append(f"decided on {done}")

    def undo_all(self):
        for turn in reversed(self.nvim.lua("return Ide.journal.turns()")):
            results = self.nvim.undo_turn(turn["id"])
            self.tale.append(f"undo {turn['id']}: {results}")


@pytest.fixture
def story(start_nvim, connect):
    def begin(seed):
        nvim = start_nvim(init_lua="vim.o.fixendofline = false", opts={"log": {"level": "debug"}})
        for name, content in {**TEXTS, **OTHERS}.items():
            path = nvim.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        git(nvim.project, "init", "-q")
        chance = random.Random(f"git {seed}")
        for setting, values in SETTINGS.items():
            git(nvim.project, "config", setting, chance.choice(values))
        # Some are committed as git converts them, and some then converted otherwise.
        attributes = [chance.choice(ATTRIBUTES), chance.choice(ATTRIBUTES)]
        (nvim.project / ".git" / "info" / "attributes").write_text(attributes[0])
        for name in chance.sample([*TEXTS, *OTHERS], 8):
            with contextlib.suppress(subprocess.CalledProcessError):  # not in the encoding that it should have
                git(nvim.project, "add", name)
        git(nvim.project, "commit", "-qm", "first", "--allow-empty")
        (nvim.project / ".git" / "info" / "attributes").write_text(chance.choice(attributes))
        bit = chance.choice(["--assume-unchanged", "--skip-worktree", "--split-index", "--refresh"])
        with contextlib.suppress(subprocess.CalledProcessError):
            git(
                nvim.project,
                "update-index",
                bit,
                *(["unix.txt"] if bit in ("--assume-unchanged", "--skip-worktree") else []),
            )
        story = Story(seed, Session(nvim, connect))
        story.tale.append(f"attributes {attributes}, {bit}")
        return story

    return begin


SEEDS = os.environ.get("STORIES", "7 9").split()
"""More: `STORIES="$(seq -s' ' 1 80)" scripts/test.sh tests/nvim/test_journal_stories.py`."""


@pytest.mark.one_nvim
@pytest.mark.parametrize("seed", SEEDS)
def test_when_all_is_undone_the_tree_is_what_it_was_but_for_the_users_edits(story, seed):
    story = story(seed)
    for _ in range(4):
        story.turn()
        for _ in range(story.random.randrange(0, 3)):
            story.random.choice([story.user, story.decide])()
    story.undo_all()
    tree = story.tree()
    wrong = {name: (tree.get(name), story.expected.get(name)) for name in {**tree, **story.expected}
             if tree.get(name) != story.expected.get(name)}  # fmt: skip
    assert not wrong, "\n".join([*story.tale, repr(wrong)])
    assert story.nvim.lua("return #vim.fn.getbufinfo({ bufmodified = 1 })") == 0
