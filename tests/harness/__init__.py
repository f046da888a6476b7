import itertools
import os
import time

PATIENCE = float(os.environ.get("CLAUDE_IDE_PATIENCE", "20"))
"""Seconds that anything may take on an idle machine before a test fails. A wait ends with its condition; `left`
stretches it. `make memcheck` has more, since Neovim is slow in it.
"""

LONGEST = 6 * PATIENCE
"""The same for a library that waits by itself and cannot be stretched."""

_MOST = LONGEST / PATIENCE  # what takes 10 ms elsewhere has taken 20 s on a loaded machine


def left(began: float, timeout: float = PATIENCE) -> float:
    """Seconds left of a wait that `began` at that time.monotonic(); longer while programs wait for a processor."""
    return began + timeout * stretched() - time.monotonic()


def stretched() -> float:
    """How much longer than on an idle machine anything takes now."""
    return min(max(os.getloadavg()[0] / (os.cpu_count() or 1), 1), _MOST)


def pairs(*options: list) -> list[tuple]:
    """A small subset of the options' product in which each pair of two options occurs."""

    def of(product: tuple[int, ...]) -> set:
        return set(itertools.combinations(enumerate(product), 2))

    products = list(itertools.product(*(range(len(values)) for values in options)))
    missing, chosen = set().union(*map(of, products)), []
    while missing:
        best = max(products, key=lambda product: len(of(product) & missing))
        missing -= of(best)
        chosen.append(tuple(values[at] for values, at in zip(options, best, strict=True)))
    return chosen
