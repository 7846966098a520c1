"""Pauses between tries: at once, then after 0.1 s doubling to 5 s, less up to a quarter by chance."""

from __future__ import annotations

import random

__all__ = ["FIRST_SECONDS", "Pauses"]

FIRST_SECONDS = 0.1
LAST_SECONDS = 5.0
LESS_AT_MOST = 0.25


class Pauses:
    """The pauses of one row of tries."""

    def __init__(self, first: float = 0.0) -> None:
        self._next = first

    def next(self) -> float:
        """Returns the seconds to wait before the next try."""
        pause = self._next * (1 - LESS_AT_MOST * random.random())
        self._next = min(self._next * 2, LAST_SECONDS) or FIRST_SECONDS
        return pause

    def reset(self) -> None:
        """Begins anew: the next try is at once."""
        self._next = 0.0
