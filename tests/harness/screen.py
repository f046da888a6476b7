"""The screen of a terminal, computed from a program's output.

A `pyte` screen with fast paths for nearly all output: text of narrow characters, and common control sequences. They
save the tests a third of their processor time and give the same cells (`test_harness.py` compares).
"""

import re

import pyte
from pyte.screens import wcwidth

_SEQUENCE = re.compile(
    r"""
    \x1b\][^\x07\x1b]*(?:\x07|\x1b\\)             # OSC: titles, colours, hyperlinks
  | \x1b[P_^X][^\x1b]*(?:\x1b\\)                  # DCS, APC, PM, SOS
  | \x1b\[(?P<private>[<>=?!]?)(?P<numbers>[0-9;:]*)(?P<between>[ $"'*]?)(?P<last>[@-~])  # CSI
""",
    re.VERBOSE,
)
_COLONS = re.compile(r":[0-9:]*")
_INCOMPLETE = re.compile(r"\x1b(?:\][^\x07\x1b]*\x1b?|[P_^X][^\x1b]*\x1b?|\[[<>=?!]?[0-9;:]*[ $\"'*]?)?\Z")
_LONGEST = 65536


def split_incomplete(text: str) -> tuple[str, str]:
    """The text up to an incomplete sequence, and the rest."""
    cut = _INCOMPLETE.search(text)
    if not cut or len(text) - cut.start() >= _LONGEST:
        return text, ""
    return text[: cut.start()], text[cut.start() :]


class _Glyphs(dict[str, pyte.screens.Char]):
    """Cells of one colour, by character; only for characters one cell wide."""

    def __init__(self, attributes: pyte.screens.Char) -> None:
        self._attributes = attributes

    def __missing__(self, char: str) -> pyte.screens.Char:
        if wcwidth(char) != 1:
            raise KeyError(char)
        cell = self[char] = self._attributes._replace(data=char)
        return cell


class Screen(pyte.Screen):
    """A screen that ignores sequences for which pyte would raise."""

    def __init__(self, columns: int, rows: int) -> None:
        self._glyphs: dict[pyte.screens.Char, _Glyphs] = {}
        self._rows: list[str] = []
        super().__init__(columns, rows)
        self._stream = pyte.Stream(self)
        self._sequences = {
            last: getattr(self, name)
            for last, name in pyte.Stream.csi.items()
            if name not in ("report_device_attributes", "report_device_status")
        }

    def feed(self, text: str) -> None:
        """Draws text that does not end within a sequence."""
        position = 0
        for match in _SEQUENCE.finditer(text):
            if match.start() > position:
                self._stream.feed(text[position : match.start()])
            position = match.end()
            private, between, last = match["private"], match["between"], match["last"]
            if not last or between or not (private == "" or private == "?" and last in "hl"):
                continue
            if perform := self._sequences.get(last):
                numbers = match["numbers"]
                if ":" in numbers:
                    numbers = _COLONS.sub("", numbers)
                values = [min(int(number or 0), 9999) for number in numbers.split(";")]
                if private:
                    perform(*values, private=True)
                else:
                    perform(*values)
        if position < len(text):
            self._stream.feed(text[position:])

    def rows(self) -> list[str]:
        """The lines, without trailing blanks."""
        if not self._rows:
            self._rows = [""] * self.lines
            self.dirty.update(range(self.lines))
        for y in self.dirty.intersection(range(self.lines)):
            self._rows[y] = self._row(y)
        self.dirty.clear()
        return list(self._rows)

    def cells(self) -> list[list[pyte.screens.Char]]:
        """The cells with their colours, without the second halves of wide characters."""
        rows = [[self.buffer[y][x] for x in range(self.columns)] for y in range(self.lines)]
        return [[cell for cell in row if cell.data] for row in rows]

    def draw(self, data: str) -> None:
        cursor, columns = self.cursor, self.columns
        glyphs = self._glyphs.get(cursor.attrs)
        if glyphs is None:
            glyphs = self._glyphs[cursor.attrs] = _Glyphs(cursor.attrs)
        try:
            while data and pyte.modes.IRM not in self.mode:
                if cursor.x == columns:
                    if pyte.modes.DECAWM not in self.mode:
                        break
                    self.carriage_return()
                    self.linefeed()
                begin, end = cursor.x, min(cursor.x + len(data), columns)
                cells = [glyphs[char] for char in data[: end - begin]]
                self.buffer[cursor.y].update(zip(range(begin, end), cells, strict=True))
                self.dirty.add(cursor.y)
                data, cursor.x = data[end - begin :], end
        except KeyError:
            pass
        if data:
            if cursor.y:
                self.dirty.add(cursor.y - 1)  # a combining character may belong to its last cell
            super().draw(data)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        super().resize(lines, columns)
        self._rows = []

    def delete_lines(self, count: int | None = None) -> None:
        for y in range(self.lines):
            _ = self.buffer[y]  # creates the line: pyte does not replace a line by an empty one
        super().delete_lines(count)

    def write_process_input(self, data: str) -> None:
        """`Terminal` answers queries."""

    def _row(self, y: int) -> str:
        line = self.buffer[y]
        chars = [line[x].data for x in range(self.columns)]
        text = "".join(chars)
        if not text.isascii():
            text, is_half = "", False
            for char in chars:
                if is_half:
                    is_half = False
                    continue
                is_half = wcwidth(char[:1]) == 2
                text += char
        return text.rstrip()
