"""JSON texts: values to bytes, bytes to values, and what can be told of a text that is not JSON.

The hub passes what it does not read. So a peer can have it forward a text that is not JSON deep inside, or that is
nested too deeply for this parser. Such a text is answered, and does not end the connection.
"""

from __future__ import annotations

import json
import re
from typing import Any, Dict, NoReturn

__all__ = ["Unreadable", "decode", "encode", "outline"]


class Unreadable(ValueError):
    """A text is not JSON, or is nested too deeply."""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# A circular value ends by RecursionError, which costs nothing where there is none.
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode
_decoder = json.JSONDecoder(parse_constant=_refuse)
_raw_decode = _decoder.raw_decode


def encode(value: Any) -> bytes:
    """Returns JSON in ASCII. Raises TypeError, ValueError or RecursionError where the value is not JSON."""
    return _encode(value).encode("ascii")


def decode(body: bytes) -> Any:
    """Reads a body. Raises Unreadable."""
    try:
        text = body.decode()
        try:
            value, end = _raw_decode(text)
            if end == len(text):
                return value
        except ValueError:
            pass
        return _decoder.decode(text)  # white space may stand around the value
    except (ValueError, RecursionError) as error:
        raise Unreadable("the text is not JSON") from error


_TOKEN = re.compile(rb'"[^"]*"|[\[\]{}:,]')
_BRACKETS = re.compile(rb'[^"\[\]{}]*(?:"[^"]*"[^"\[\]{}]*){0,1000}([\[{]+|[\]}]+|)')  # and what stands before them
_OPEN, _CLOSE, _QUOTE = b"[{", b"]}", b'"'


def outline(body: bytes) -> Dict[str, Any]:
    """Reads the top level of a text that `decode` refuses, as the hub does: what lies deeper is stepped over.

    Returns `id`, `method`, `result` and `error`, of those that are there: the value of `id` where it is a string or a
    number, else None. Raises Unreadable where the text is no object. Takes about as long as `decode` of such a text.
    """
    members: Dict[str, Any] = {}
    plain = body.replace(rb"\\", b"__").replace(rb"\"", b"__")  # as long, and each quote begins or ends a string
    at = len(plain) - len(plain.lstrip()) + 1
    key, string, value_at = b"", b"", 0
    if plain[at - 1 : at] != b"{":
        raise Unreadable("the text is no object")
    while True:
        token = _TOKEN.search(plain, at)
        if token is None:
            raise Unreadable("the text has no end")
        at, kind = token.end(), plain[token.start() : token.start() + 1]
        if kind in b",}" and key:
            members[key.decode()] = _scalar(body[value_at : token.start()]) if key == b"id" else None
            key = b""
        if kind in _OPEN:
            at = _step_over(plain, at)
        elif kind in _CLOSE:
            break
        elif kind == _QUOTE:
            string = plain[token.start() + 1 : min(at - 1, token.start() + 8)]
        elif kind == b":" and not key and string in (b"id", b"method", b"result", b"error"):
            key, value_at = string, at
    if not members or kind != b"}" or plain[at:].strip():
        raise Unreadable("the text is no message")
    return members


def _step_over(plain: bytes, at: int) -> int:
    """Returns where the text goes on behind the array or object whose bracket ends at `at`. Raises Unreadable."""
    depth = 1
    for token in _BRACKETS.finditer(plain, at):
        start, end = token.span(1)
        kind = plain[start : start + 1]
        if kind == b"[" or kind == b"{":
            depth += end - start
        elif kind:
            depth -= end - start
            if depth <= 0:
                return end + depth
    raise Unreadable("the text has no end")


def _scalar(text: bytes) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (str, int, float)) and not isinstance(value, bool) else None
