"""The screen as a reviewable text: its characters, and the highlight groups that colour them.

A special colour scheme gives every group its own colour, so that colours map back to names. Three blocks of the same
shape: the text, the groups of the backgrounds, the groups of the foregrounds; each group is one character, explained by
the legend below.
"""

from collections.abc import Iterable, Mapping

import pyte.graphics

from .nvim import Nvim

# Plain text has neither.
BACKGROUNDS = {
    "+": "DiffAdd",
    "~": "DiffChange",
    "-": "DiffDelete",
    "=": "DiffText",
    "A": "ClaudeDiffAddedLine",
    "a": "ClaudeDiffAddedWord",
    "R": "ClaudeDiffRemovedLine",
    "r": "ClaudeDiffRemovedWord",
    "f": "Folded",
    "s": "StatusLine",
    "n": "StatusLineNC",
    "t": "TabLine",
    "T": "TabLineSel",
    "_": "TabLineFill",
    "L": "CursorLine",
}
FOREGROUNDS = {
    "F": "ClaudeDiffFile",
    "s": "ClaudeDiffSide",
    "k": "ClaudeDiffKey",
    "h": "ClaudeDiffHint",
    "+": "ClaudeDiffAdded",
    "-": "ClaudeDiffRemoved",
    "!": "ClaudeDiffWarning",
    "n": "ClaudeDiffNote",
    "~": "Changed",
    "p": "Added",
    "m": "Removed",
    "v": "ClaudeReviewShown",
    "f": "ClaudeReviewFile",
    "d": "ClaudeReviewFolder",
    "x": "ClaudeReviewDone",
    "c": "Comment",
    "q": "String",
    "0": "Number",
    "|": "WinSeparator",
    "o": "FoldColumn",
    "z": "NonText",
    "e": "EndOfBuffer",
    "T": "FloatTitle",
    "Y": "ClaudeTranscriptYou",
    "C": "ClaudeTranscriptClaude",
    "t": "ClaudeTranscriptTime",
    "W": "ClaudeTranscriptTool",
    "O": "ClaudeTranscriptOk",
    "X": "ClaudeTranscriptFailed",
    "D": "ClaudeTranscriptDim",
    "P": "ClaudeTranscriptPreview",
    "H": "ClaudeTranscriptHunk",
    "A": "ClaudeTranscriptAgent",
    "`": "ClaudeTranscriptFence",
    "I": "ClaudeTranscriptTitle",
    "i": "ClaudeTranscriptFact",
    "K": "ClaudeTranscriptKey",
    "w": "ClaudeTranscriptWorking",
    "u": "ClaudeTranscriptWaiting",
}
# Other groups are drawn as plain text, so that one snapshot serves all versions of Neovim.
_PLAIN = ("Normal", "NormalFloat", "FloatBorder", "WinBar", "WinBarNC", "SignColumn", "MsgArea", "Directory", "Title")
_LINKS = {"@comment": "Comment", "@string": "String", "@number": "Number", "ClaudeReviewConflict": "ClaudeDiffWarning"}

_FIRST = 17
"""Colours from here on are distinct; those below are the terminal's choice."""


def _colours(groups: Mapping[str, str], first: int) -> dict[str, int]:
    return {group: first + at for at, group in enumerate(groups.values())}


_BACK = _colours(BACKGROUNDS, _FIRST)
_FORE = _colours(FOREGROUNDS, _FIRST + len(BACKGROUNDS))


def colour_scheme() -> str:
    """Lua that gives each group its colour; for the end of an init.lua."""
    lines = ["vim.cmd('highlight clear') vim.o.termguicolors = false"]
    lines.append("for name in pairs(vim.api.nvim_get_hl(0, {})) do vim.api.nvim_set_hl(0, name, {}) end")
    lines += [f"vim.api.nvim_set_hl(0, '{group}', {{}})" for group in _PLAIN]
    lines += [f"vim.api.nvim_set_hl(0, '{group}', {{ ctermbg = {colour} }})" for group, colour in _BACK.items()]
    lines += [f"vim.api.nvim_set_hl(0, '{group}', {{ ctermfg = {colour} }})" for group, colour in _FORE.items()]
    lines += [f"vim.api.nvim_set_hl(0, '{group}', {{ link = '{to}' }})" for group, to in _LINKS.items()]
    return "\n".join(lines)


def _letters(groups: Mapping[str, str], colours: Mapping[str, int]) -> dict[str, str]:
    return {pyte.graphics.FG_BG_256[colours[group]]: letter for letter, group in groups.items()}


_BACK_LETTERS = _letters(BACKGROUNDS, _BACK)
_FORE_LETTERS = _letters(FOREGROUNDS, _FORE)


def take(nvim: Nvim, title: str, rows: int, columns: int) -> str:
    """The upper left part of the screen, as a snapshot."""
    text, back, fore = [], [], []
    for row in nvim.terminal.cells()[:rows]:
        line, backs, fores, width = "", "", "", 0
        for cell in row:
            if width >= columns:
                break
            wide = 2 if _is_wide(cell.data) else 1
            line += cell.data
            backs += _letter(cell.bg, _BACK_LETTERS) * wide
            fores += (" " if cell.data == " " else _letter(cell.fg, _FORE_LETTERS)) * wide
            width += wide
        text.append(line.rstrip())
        back.append(backs.rstrip())
        fore.append(fores.rstrip())
    parts = [title, *_framed("text", text, columns)]
    parts += _framed("background", back, columns) + _legend(back, BACKGROUNDS)
    parts += _framed("foreground", fore, columns) + _legend(fore, FOREGROUNDS)
    return "\n".join(parts) + "\n"


def _letter(colour: str, letters: Mapping[str, str]) -> str:
    return " " if colour == "default" else letters.get(colour, "?")


def _is_wide(data: str) -> bool:
    return pyte.screens.wcwidth(data[0]) == 2


def _framed(name: str, lines: Iterable[str], columns: int) -> list[str]:
    return ["", f"{name} ".ljust(columns, "─"), *lines, "─" * columns]


def _legend(lines: Iterable[str], groups: Mapping[str, str]) -> list[str]:
    used = set("".join(lines))
    return [f"  {letter} {group}" for letter, group in groups.items() if letter in used]
