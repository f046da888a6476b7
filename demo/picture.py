"""The screen of a terminal as an SVG, for the README."""

from html import escape
from itertools import groupby
from pathlib import Path

from harness.terminal import Terminal

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


def write_svg(terminal: Terminal, path: Path) -> None:
    """Draws every cell of the screen: its background, then its text, runs of one style together."""
    rows = terminal.cells()
    width, height = len(rows[0]) * CELL_WIDTH + 2 * MARGIN, len(rows) * CELL_HEIGHT + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-size="14" '
        'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace">',
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
    ]
    for number, row in enumerate(rows):
        top, column = MARGIN + number * CELL_HEIGHT, 0
        for style, run in groupby(row, key=_style):
            text = "".join(cell.data for cell in run)
            parts += _run(text, style, MARGIN + column * CELL_WIDTH, top, len(text))
            column += len(text)
    path.write_text("\n".join([*parts, "</svg>\n"]))


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
