"""Errors that calls end with, and the codes that the client itself answers with.

The codes are those of router/PROTOCOL.md.
"""

from __future__ import annotations

from typing import Any, Tuple

__all__ = ["ConnectionLost", "HubError"]

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_ALLOWED = -32001
DISCONNECTED = -32050
TIMED_OUT = -32051
OVERLOADED = -32052
NAME_TAKEN = -32053
NOT_INITIALIZED = -32054
TOO_LARGE = -32055
CANCELLED = -32800


class HubError(Exception):
    """An error of JSON-RPC: `code`, `message` and `data` (any JSON value, or None).

    A call raises the error of its answer. A handler that raises one is answered with exactly that one. A code that is no
    int, or a message that is no str, is a TypeError.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        if not isinstance(code, int) or isinstance(code, bool) or not isinstance(message, str):
            raise TypeError("the code of a HubError is an int, and its message a str")
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class ConnectionLost(HubError):
    """The client's own connection ended before the call's answer came. Its code is -32050.

    Nobody knows whether the target was asked. The client sends nothing a second time.
    """

    def __init__(self, message: str = "the connection to the hub is lost", data: Any = None) -> None:
        super().__init__(DISCONNECTED, message, data)

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.message, self.data)


def error_from(value: Any) -> HubError:
    """Reads the `error` of a response. One that JSON-RPC does not allow becomes -32603 with `value` as its data."""
    if isinstance(value, dict):
        code, message = value.get("code"), value.get("message")
        if isinstance(code, int) and not isinstance(code, bool) and isinstance(message, str):
            return HubError(code, message, value.get("data"))
    return HubError(INTERNAL_ERROR, "the error of the response cannot be read", value)


def copy_of(error: HubError) -> HubError:
    """Returns an equal error, so that one that is raised several times does not gather tracebacks."""
    if isinstance(error, ConnectionLost):
        return ConnectionLost(error.message, error.data)
    return HubError(error.code, error.message, error.data)
