"""Calls in flight: each ends once, with a result, the hub's error, its time, or the loss of its connection."""

from __future__ import annotations

import asyncio
from typing import Any, Callable, Dict, Optional

from . import body
from .connection import Connection
from .errors import INTERNAL_ERROR, TIMED_OUT, HubError, error_from

__all__ = ["Call", "Calls"]

Progress = Callable[[Any], Any]


class Call:
    """A request that was sent, until it ends."""

    __slots__ = ("connection", "future", "id", "method", "on_progress", "on_result")

    def __init__(self, number: int, method: str, connection: Connection) -> None:
        self.id = number
        self.method = method
        self.connection = connection
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.on_progress: Optional[Progress] = None
        self.on_result: Optional[Callable[[], None]] = None  # called at the result, before the next message is read


class Calls:
    """The calls of a client, over all of its connections. Ids are never used again."""

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell  # calls a function of the user's, and reports what it raises
        self._last_id = 0
        self._calls: Dict[int, Call] = {}

    def begin(
        self, connection: Connection, method: str, params: Any, fields: bytes = b"", on_progress: Optional[Progress] = None
    ) -> Call:
        """Sends a request, which ends at once where the connection is lost already.

        Raises TypeError, ValueError or RecursionError where `params` are not JSON; HubError -32055 for more than the hub
        takes.
        """
        self._last_id += 1
        call = Call(self._last_id, method, connection)
        if on_progress is not None:
            if not callable(on_progress):
                raise TypeError("on_progress must be a function")
            if not (params is None or isinstance(params, dict)):
                raise TypeError("params must be a dict where on_progress is given")
            params = {**(params or {}), "workDoneToken": call.id}
            call.on_progress = on_progress
        message = {"jsonrpc": "2.0", "id": call.id, "method": method}
        if params is not None:
            message["params"] = params
        text = body.encode(message)
        connection.check(text)
        self._calls[call.id] = call
        if connection.is_lost:
            self._end(call, connection.loss())
        connection.send(text, fields)
        return call

    async def wait(self, call: Call, seconds: Optional[float] = None) -> Any:
        """Waits for a call's end. Raises HubError. A caller that is cancelled, or whose time is up, cancels the call."""
        timer = None
        if seconds is not None:
            timer = asyncio.get_running_loop().call_later(seconds, self._expire, call)
        try:
            return await call.future
        finally:
            if timer is not None:
                timer.cancel()
            if call.id in self._calls:
                self._cancel(call)
            elif not call.future.cancelled():
                call.future.exception()  # else asyncio reports an error that a cancelled caller did not fetch

    def settle(self, number: Any, message: Dict[str, Any]) -> None:
        """Ends the call that a response answers. A response to none is dropped: its call may have ended before."""
        call = self._find(number)
        if call is None:
            return
        error = message.get("error")
        if error is not None:
            self._end(call, error_from(error))
        else:
            self._end(call, None, message.get("result"))

    def spoil(self, number: Any) -> None:
        """Ends the call whose response cannot be read, with -32603."""
        call = self._find(number)
        if call is not None:
            self._end(call, HubError(INTERNAL_ERROR, "the response cannot be read"))

    def advance(self, token: Any, value: Any) -> bool:
        """Tells a call's progress. The token is the call's id. False: no call with this id has asked for progress."""
        call = self._find(token)
        if call is None or call.on_progress is None:
            return False
        self._tell(call.on_progress, value)
        return True

    def lose(self, connection: Connection) -> None:
        """Ends the calls of a connection with ConnectionLost."""
        for call in [one for one in self._calls.values() if one.connection is connection]:
            self._end(call, connection.loss())

    def _find(self, number: Any) -> Optional[Call]:
        return self._calls.get(number) if type(number) is int else None

    def _expire(self, call: Call) -> None:
        if call.id in self._calls:
            self._cancel(call)
            if not call.future.done():
                call.future.set_exception(timed_out(call.method))

    def _cancel(self, call: Call) -> None:
        del self._calls[call.id]
        call.connection.send(body.encode({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": call.id}}))

    def _end(self, call: Call, error: Optional[HubError], result: Any = None) -> None:
        del self._calls[call.id]
        if error is None and call.on_result is not None:
            call.on_result()
        if call.future.done():
            return
        if error is not None:
            call.future.set_exception(error)
        else:
            call.future.set_result(result)


def timed_out(method: str) -> HubError:
    """The error of a call whose time is up at the client."""
    return HubError(TIMED_OUT, "timed out", {"method": method})


