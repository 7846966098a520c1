"""A token that nothing prints."""

from __future__ import annotations

from typing import Any, Callable

__all__ = ["Secret"]


class Secret:
    """Holds a token. Its repr, its str and its pickle do not show the token."""

    __slots__ = ("_reveal",)

    def __init__(self, value: str) -> None:
        self._reveal: Callable[[], str] = lambda: value

    def reveal(self) -> str:
        return self._reveal()

    def scrub(self, value: Any) -> Any:
        """Returns a JSON value with `***` in the place of each token in its texts."""
        if isinstance(value, str):
            return value.replace(self.reveal(), "***") if self.reveal() else value
        if isinstance(value, list):
            return [self.scrub(one) for one in value]
        if isinstance(value, dict):
            return {self.scrub(name): self.scrub(one) for name, one in value.items()}
        return value

    def __repr__(self) -> str:
        return "Secret(***)"

    def __reduce__(self) -> Any:
        raise TypeError("a secret is not pickled")
