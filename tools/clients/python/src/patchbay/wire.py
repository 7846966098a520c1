"""Bytes to messages and back: header blocks with `Content-Length`, or one JSON text a line.

A codec reads no socket. Its result does not depend on how the input was cut. A fault is WireError: nobody knows
where the next message begins, so the connection has to end.
"""

from __future__ import annotations

from typing import Dict, List, Tuple

__all__ = ["MAX_FRAME", "Framed", "Lines", "Wire", "WireError", "read_fields"]

Message = Tuple[bytes, bytes]  # header lines without Content-Length, each with its CR LF; and the body

HEADER_BYTES_MAX = 64 * 1024
MAX_FRAME = 64 * 1024 * 1024
LENGTH_DIGITS_MAX = 10
_LENGTH = b"Content-Length: "
_END = b"\r\n\r\n"
SHORT_BYTES = len(_LENGTH) + LENGTH_DIGITS_MAX + len(_END)  # of a header block without fields, at most


class WireError(Exception):
    """The hub sent bytes that are no message. `messages` are those that were whole before."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.messages: List[Message] = []


class Wire:
    """A codec of one connection. `has_fields` tells whether messages have header fields."""

    has_fields = False

    def __init__(self, max_frame: int) -> None:
        self._max_frame = max_frame
        self._partial = bytearray()

    def feed(self, data: bytes) -> List[Message]:
        """Takes bytes in, and returns the messages that are whole by now. Raises WireError."""
        raise NotImplementedError

    def frame(self, body: bytes, fields: bytes = b"") -> bytes:
        """Wraps a body that has no line breaks. `fields` are header lines, each with its CR LF."""
        raise NotImplementedError


class Framed(Wire):
    """Header blocks, as the Language Server Protocol has them."""

    has_fields = True

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        super().__init__(max_frame)
        self._needed = 0  # bytes of the partial message before reading it makes sense

    def feed(self, data: bytes) -> List[Message]:
        if self._partial:
            self._partial += data
            if len(self._partial) < self._needed:
                return []
            data = bytes(self._partial)
            self._partial.clear()
        elif data.startswith(_LENGTH):  # most reads are one message without fields
            end_at = data.find(_END, len(_LENGTH), SHORT_BYTES)
            digits, body_at = data[len(_LENGTH) : end_at], end_at + len(_END)
            if end_at >= 0 and digits.isdigit() and 0 < len(data) - body_at == int(digits) <= self._max_frame:
                return [(b"", data[body_at:])]
        messages: List[Message] = []
        try:
            at = self._cut(data, messages)
        except WireError as error:
            error.messages = messages
            raise
        if at < len(data):
            self._partial += data[at:]
        return messages

    def _cut(self, data: bytes, messages: List[Message]) -> int:
        """Adds the messages that are whole. Returns where the first one begins that is not."""
        at, end = 0, len(data)
        while at < end:
            body_at = data.find(_END, at, at + HEADER_BYTES_MAX) + len(_END)
            if body_at < len(_END):
                if end - at >= HEADER_BYTES_MAX:
                    raise WireError("a header block is too long")
                self._needed = 0
                break
            digits = data[at + len(_LENGTH) : body_at - len(_END)]
            if data.startswith(_LENGTH, at) and digits.isdigit() and len(digits) <= LENGTH_DIGITS_MAX:
                length, fields = int(digits), b""
            else:
                length, fields = _read_block(data[at : body_at - 2])
            if not 0 < length <= self._max_frame:
                raise WireError(f"a body of {length} bytes is empty, or over the limit of {self._max_frame}")
            if body_at + length > end:
                self._needed = body_at + length - at
                break
            messages.append((fields, data[body_at : body_at + length]))
            at = body_at + length
        return at

    def frame(self, body: bytes, fields: bytes = b"") -> bytes:
        return b"Content-Length: %d\r\n%b\r\n%b" % (len(body), fields, body)


class Lines(Wire):
    """One JSON text a line. A line of white space alone is nothing."""

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        super().__init__(max_frame)

    def feed(self, data: bytes) -> List[Message]:
        end = data.rfind(b"\n")
        if end < 0:
            self._keep(data)
            return []
        lines = bytes(self._partial) + data[:end] if self._partial else data[:end]
        self._partial.clear()
        self._keep(data[end + 1 :])
        bodies = [line.strip() for line in lines.split(b"\n")]
        if len(lines) > self._max_frame and max(map(len, bodies)) > self._max_frame:
            raise WireError(f"a line is over the limit of {self._max_frame} bytes")
        return [(b"", body) for body in bodies if body]

    def _keep(self, data: bytes) -> None:
        self._partial += data
        if len(self._partial) > self._max_frame:
            raise WireError(f"a line is over the limit of {self._max_frame} bytes")

    def frame(self, body: bytes, fields: bytes = b"") -> bytes:
        return body + b"\n"


def _read_block(block: bytes) -> Tuple[int, bytes]:
    """Reads header lines: the length of the body, and the other lines as they are. Raises WireError."""
    length, others = -1, []
    for line in block.split(b"\r\n")[:-1]:
        name, colon, value = line.partition(b":")
        if not colon or not name or name != name.strip() or b"\n" in line or b"\r" in line:
            raise WireError("a header block has a line that is no field")
        if name.lower() == b"content-length":
            digits = value.strip(b" \t")
            if length >= 0 or not digits.isdigit() or len(digits) > LENGTH_DIGITS_MAX:
                raise WireError("Content-Length is not one number of 1 to 10 digits")
            length = int(digits)
        else:
            others.append(line + b"\r\n")
    if length < 0:
        raise WireError("a header block has no Content-Length")
    return length, b"".join(others)


def read_fields(fields: bytes) -> Dict[str, str]:
    """Reads header lines into a dictionary with names in lower case. Of equal names the last counts."""
    result = {}
    for line in fields.split(b"\r\n")[:-1]:
        name, _, value = line.partition(b":")
        result[name.decode("latin-1").lower()] = value.strip(b" \t").decode("utf-8", "replace")
    return result
