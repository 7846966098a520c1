"""Header fields that the client says."""

from __future__ import annotations

import math
from typing import Optional

__all__ = ["check_level", "write_fields"]

LEVELS = ("autonomous", "supervised", "human-in-the-loop", "manual")
TIMEOUT_MS_MAX = 3_600_000


def check_level(level: str) -> None:
    """Raises ValueError for a level that is none."""
    if level not in LEVELS:
        raise ValueError(f"a governance level is one of {', '.join(LEVELS)}")


def write_fields(has_fields: bool, level: Optional[str], seconds: Optional[float]) -> bytes:
    """Returns header lines for a level and a time. Raises ValueError for a level or a time that is none, or has no place.

    A time has no place where there are no fields: the client alone counts it then.
    """
    if seconds is not None and math.isnan(seconds):
        raise ValueError("a time is a number of seconds")
    if level is not None:
        check_level(level)
        if not has_fields:
            raise ValueError("lines have no header block, so that no message can require a level")
    if not has_fields:
        return b""
    fields = b"" if level is None else b"Governance-Level: %b\r\n" % level.encode()
    if seconds is not None:
        fields += b"Custom-Timeout-Ms: %d\r\n" % max(1, math.ceil(min(seconds * 1000, TIMEOUT_MS_MAX)))
    return fields
