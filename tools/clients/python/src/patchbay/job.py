"""A message that a handler handles, or will."""

from __future__ import annotations

import asyncio
from typing import Any, Optional, Union

from . import body
from .connection import Connection
from .errors import CANCELLED, INTERNAL_ERROR, ConnectionLost, HubError
from .handlers import Handler
from .request import Request

__all__ = ["Job"]


class Job(Request):
    """A request, or a notification, until its handler is done. A request is answered once, or never if its connection is lost."""

    __slots__ = ("_handler", "_text", "is_cancelled", "task", "waiting_bytes")

    def __init__(
        self, handler: Handler, connection: Connection, method: str, number: Union[int, str, None], params: Any, fields: bytes
    ) -> None:
        super().__init__(connection, method, number, params, fields)
        self._handler = handler
        self.task: Optional[asyncio.Task[None]] = None  # the task that runs the handler; None: the job waits
        self.is_cancelled = False
        self.waiting_bytes = 0  # what the job counts among the bytes that wait; 0: it never waited behind others
        self._text: Optional[bytes] = None  # the body, kept in the place of the params
        if number is not None:
            connection.owed[number] = self

    def keep(self, text: bytes) -> None:
        """Keeps the body in the place of its params, which take several times its length."""
        self._text, self._params = text, None

    def came_by(self, connection: Connection) -> bool:
        return self._connection is connection

    def cancel(self) -> None:
        """Cancels the task, once. The job answers when its task ends."""
        if self.task is not None and not self.is_cancelled:
            self.task.cancel()
        self.is_cancelled = True

    def release(self) -> None:
        """Has the job answer nothing from now on."""
        self.is_owed = False

    async def handle(self) -> None:
        """Runs the handler, and puts the answer. The caller calls `flush` then. Waits while the hub does not read."""
        try:
            if self._text is not None:
                self._params, self._text = body.decode(self._text).get("params"), None
            value = self._handler(self._params, self)
            if hasattr(value, "__await__"):
                value = await value
            answer = b"" if self.id is None else self._result(value)
        except HubError as error:
            answer = self.error(error)
        except asyncio.CancelledError:
            answer = self.cancelled()
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise  # the program ends, or its loop has
        except BaseException as error:  # also what frameworks for tests raise
            answer = self.failed(error)
        if self._settle():
            self._connection.put(self.cancelled() if self.is_cancelled else answer)
        if not self._connection.is_writable:
            try:
                await self._connection.drained()
            except ConnectionLost:
                pass  # nothing is owed any more

    def flush(self, now: bool) -> None:
        """Hands the answer to the socket, or has that done with others that follow in this turn."""
        if now:
            self._connection.flush()
        else:
            self._connection.flush_many()

    def answer(self, answer: bytes) -> None:
        """Sends an answer, if an answer is owed still."""
        if self._settle():
            self._connection.send(answer)

    def _settle(self) -> bool:
        """Takes the job out of those that owe an answer. False: the job owed none."""
        if not self.is_owed:
            return False
        self.is_owed = False
        owed = self._connection.owed
        if owed.get(self.id) is self:
            del owed[self.id]
        return True

    def _result(self, value: Any) -> bytes:
        answer = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (_digits(self.id), body.encode(value))
        self._connection.check(answer)
        return answer

    def error(self, error: HubError) -> bytes:
        try:
            answer = self._error(error)
            self._connection.check(answer)
            return answer
        except HubError as fault:
            return self._error(fault)
        except Exception as fault:
            return self.failed(fault)

    def _error(self, error: HubError) -> bytes:
        value = {"code": error.code, "message": error.message}
        if error.data is not None:
            value["data"] = error.data
        return body.encode({"jsonrpc": "2.0", "id": self.id, "error": value})

    def failed(self, error: BaseException) -> bytes:
        """Returns an answer with an exception's text, or with its class's name where the text is empty or fails."""
        try:
            text = str(error)
        except Exception:
            text = ""
        return self.error(HubError(INTERNAL_ERROR, text or type(error).__name__))

    def cancelled(self) -> bytes:
        return self.error(HubError(CANCELLED, "cancelled"))


def _digits(number: Union[int, str, None]) -> bytes:
    return b"%d" % number if isinstance(number, int) else body.encode(number)
