"""The screen of a terminal as an SVG, or several of them as one that moves, and that of a browser as a PNG that has its words along, for
the README."""

import re
import struct
import zlib
from collections.abc import Sequence
from html import escape
from itertools import groupby
from pathlib import Path

from harness.terminal import Terminal

Drawing = tuple[str, list[str]]
"""The opening tag of an SVG, and what is in it."""

CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 12
BACKGROUND, FOREGROUND = "#14161b", "#e0e2ea"
NAMED = {
    "black": "#07080d",
    "red": "#ffc0b9",
    "green": "#b3f6c0",
    "brown": "#fce094",
    "blue": "#a6dbff",
    "magenta": "#ffcaff",
    "cyan": "#8cf8f7",
    "white": "#eef1f8",
}

DRAWN = {"⧉": "M1 7h5v5h-5zM3 7v-2h5v5h-2", "⏸": "M2.5 5v7M5.5 5v7", "⎿": "M3 2v7h4"}
"""Characters of the CLI that many fonts lack: lines within a cell, from its upper left corner."""


def write_svg(terminal: Terminal, path: Path) -> None:
    """Writes the screen as a picture."""
    head, parts = draw(terminal)
    path.write_text("\n".join([head, *parts, "</svg>\n"]))


def write_film(frames: Sequence[tuple[float, Drawing]], still: int, path: Path) -> None:
    """Writes screens of one size that follow each other for ever, each with its seconds, by CSS alone. Who wants no motion sees one of
    them, `still`."""
    total, begin = sum(seconds for seconds, _ in frames), 0.0
    styles, groups = [], []
    for number, (seconds, (_, parts)) in enumerate(frames):
        first, last, begin = 100 * begin / total, 100 * (begin + seconds) / total, begin + seconds
        before = f"0%{{visibility:{'hidden' if number else 'visible'}}}"
        styles += [
            f"@keyframes k{number}{{{before}{first:.2f}%{{visibility:visible}}{last:.2f}%{{visibility:hidden}}}}",
            f"#f{number}{{visibility:hidden;animation:k{number} {total:.1f}s step-end infinite}}",
        ]
        groups += [f'<g id="f{number}">', *parts, "</g>"]
    quiet = f"g{{animation:none!important}}#f{still}{{visibility:visible!important}}"
    styles.append(f"@media (prefers-reduced-motion:reduce){{{quiet}}}")
    head = frames[0][1][0]
    path.write_text("\n".join([head, "<style>", *styles, "</style>", *groups, "</svg>\n"]))


def draw(terminal: Terminal) -> Drawing:
    """Draws every cell of the screen: its background, then its text, runs of one style together."""
    rows = terminal.cells()
    width, height = len(rows[0]) * CELL_WIDTH + 2 * MARGIN, len(rows) * CELL_HEIGHT + 2 * MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-size="14" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace">'
    )
    parts = [f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>']
    for number, row in enumerate(rows):
        top, column = MARGIN + number * CELL_HEIGHT, 0
        for style, run in groupby(row, key=_style):
            text = "".join(cell.data for cell in run)
            parts += _run(text, style, MARGIN + column * CELL_WIDTH, top, len(text))
            column += len(text)
    return head, parts


def _style(cell) -> tuple[str, str, bool, bool]:
    foreground, background = _colour(cell.fg, FOREGROUND), _colour(cell.bg, BACKGROUND)
    if cell.reverse:
        foreground, background = background, foreground
    return foreground, background, cell.bold, cell.italics


def _run(text: str, style: tuple[str, str, bool, bool], left: float, top: float, cells: int) -> list[str]:
    foreground, background, bold, italic = style
    parts = []
    if background != BACKGROUND:
        parts.append(
            f'<rect x="{left:.1f}" y="{top}" width="{cells * CELL_WIDTH:.1f}" height="{CELL_HEIGHT}" fill="{background}"/>'
        )
    for at, char in enumerate(text):
        if char in DRAWN:
            corner = f"{left + at * CELL_WIDTH:.1f} {top}"
            parts.append(f'<path transform="translate({corner})" d="{DRAWN[char]}" fill="none" stroke="{foreground}"/>')
    text = "".join(" " if char in DRAWN else char for char in text)
    if text.strip():
        extra = ' font-weight="bold"' * bold + ' font-style="italic"' * italic
        parts.append(
            f'<text x="{left:.1f}" y="{top + 13.5}" textLength="{cells * CELL_WIDTH:.1f}" xml:space="preserve" '
            f'fill="{foreground}"{extra}>{escape(text)}</text>'
        )
    return parts


def _colour(value: str, default: str) -> str:
    if value == "default":
        return default
    return NAMED.get(value.removeprefix("bright"), f"#{value}")


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_HEADER = len(_SIGNATURE) + 25  # the first chunk has one size


def write_png(picture: bytes, words: str, path: Path) -> None:
    """Writes a PNG with the words that it shows, in a text chunk (PNG specification, iTXt)."""
    data = b"iTXtDescription\0\0\0\0\0" + words.encode()
    chunk = struct.pack(">I", len(data) - 4) + data + struct.pack(">I", zlib.crc32(data))
    path.write_bytes(picture[:_HEADER] + chunk + picture[_HEADER:])


def _without_cli(frame: re.Match[str]) -> str:
    """A frame of a film, unless it shows the CLI: that moves by itself, and gives hints for as long as it likes."""
    return "CLI" if "Claude (terminal) [-]" in frame[0] else frame[0]


def shown(path: Path) -> str:
    """What a picture shows, without what differs from run to run: times, durations and ids. To compare two of them."""
    if path.suffix == ".png":
        data = path.read_bytes()[_HEADER:]
        kind, text = data[4:8], data[8 : 8 + struct.unpack(">I", data[:4])[0]]
        shows = text.split(b"\0", 5)[-1].decode() if kind == b"iTXt" else ""
    else:
        shows = re.sub(r"<g .*?</g>", _without_cli, path.read_text(), flags=re.DOTALL)
    shows = re.sub(r"claude-ide-picture-\w+", "FOLDER", shows)
    shows = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|Claude [0-9a-f]{8}\b", "ID", shows)
    shows = re.sub(r"\b\d\d:\d\d(\s[AP]M)?\b", "TIME", shows)
    shows = re.sub(r"\b\d{1,2}/\d{1,2}/\d{4}\b", "DATE", shows)
    shows = re.sub(r"\b[\d.]+ (ms|s|min|seconds?|minutes?)( ago)?\b|\bnow\b", "DURATION", shows)
    return re.sub(r"[ \t]+", " ", shows)
