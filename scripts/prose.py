"""Words a sentence in README, SECURITY, CONTRIBUTING and the help. Fails where a file has more than 12 on average, or where
a phrase is used for which CONTRIBUTING has a usual one (single words are in typos.toml).

Left out: blocks of code, tables, headings, pictures. An item of a list is a sentence; `code` is one word. With names of
files: their sentences, the longest first.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 12.0
FILES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "doc/claude-ide.txt.in")
PHRASES = {
    r"go(es)? on": "continue",
    r"(take|takes|taken|took) (\w+ )?back": "undo, cancel, withdraw",
    r"by (itself|themselves)": "automatically",
    r"elsewhere(?![|*])": "in another terminal, folder, …",
    r"of yours": "your …",
    r"so many": "this many",
}
PHRASES_IN = ("README.md", "SECURITY.md", "doc/claude-ide.txt")

NO_PROSE = re.compile(r"[|#=!<{*]|    |vim:")
"""A row of a table, a heading, a picture, a tag, a table of the help, which is indented."""
BEGINS_PROSE = re.compile(r"\*\*|\|\S+\|")
"""But: a bold beginning, a link of the help."""


def paragraphs(text: str) -> list[str]:
    """The paragraphs and items of a text in Markdown or in Neovim's help."""
    found: list[str] = []
    code, fenced, new = False, False, True
    for line in text.splitlines():
        if line.startswith("```"):
            fenced, new = not fenced, True
        elif fenced or (code and (not line or line.startswith(" "))):
            continue
        elif not line.strip() or (NO_PROSE.match(line) and not BEGINS_PROSE.match(line)):
            code, new = False, True
        else:
            code = bool(re.search(r"(^| )>[a-z]*$", line))
            line = re.sub(r"(^| )>[a-z]*$", "", line).strip()
            item = re.match(r"([-*•]|\d+\.) +", line)
            if new or item:
                found.append("")
            found[-1] += " " + (line[item.end() :] if item else line)
            new = False
    return found


def sentences(text: str) -> list[str]:
    """Its sentences, each with its `code` as one word."""
    found = []
    for paragraph in paragraphs(text):
        plain = re.sub(r"`[^`]*`", "CODE", paragraph)
        plain = re.sub(r"\[([^]]*)\](\([^)]*\))", r"\1", plain)
        plain = plain.replace("**", "")
        found += [part.strip() for part in re.split(r"(?<=[.!?])[)\"”]?\s+(?=[^a-z])", plain)]
    return [sentence for sentence in found if words(sentence) > 1]


def words(sentence: str) -> int:
    """How many of its pieces have a letter or a digit."""
    return sum(bool(re.search(r"\w", piece)) for piece in sentence.split())


def main() -> int:
    """Measures the files, or lists the sentences of one."""
    for name in sys.argv[1:]:
        for sentence in sorted(sentences((ROOT / name).read_text()), key=words, reverse=True):
            print(f"{words(sentence):3} {sentence}")
    if sys.argv[1:]:
        return 0
    failed = False
    for name in FILES:
        lengths = [words(sentence) for sentence in sentences((ROOT / name).read_text())]
        mean = sum(lengths) / len(lengths)
        failed |= mean > MOST
        print(f"{name}: {mean:.1f} words a sentence, {len(lengths)} sentences")
    for name in PHRASES_IN:
        text = (ROOT / name).read_text()
        for phrase, usual in PHRASES.items():
            for found in re.finditer(rf"\b{phrase}\b", text):
                failed = True
                print(f"{name}:{text.count(chr(10), 0, found.start()) + 1}: “{found[0]}”: say {usual}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
