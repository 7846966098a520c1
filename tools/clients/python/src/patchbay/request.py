"""What a handler is told of the message that it handles, besides the params."""

from __future__ import annotations

from typing import Any, Dict, Optional, Union

from . import body
from .connection import Connection
from .wire import read_fields

__all__ = ["Request"]


class Request:
    """A request, or a notification, that a handler handles.

    `method` is its method, `id` the hub's id of it, or None for a notification.
    """

    __slots__ = ("_connection", "_fields", "_params", "id", "is_owed", "method")

    def __init__(self, connection: Connection, method: str, number: Union[int, str, None], params: Any, fields: bytes) -> None:
        self.method = method
        self.id = number
        self.is_owed = number is not None  # the source waits for an answer
        self._connection = connection
        self._params = params
        self._fields = fields

    @property
    def fields(self) -> Dict[str, str]:
        """The header fields that came with the message, by their names in lower case. Lines have none."""
        return read_fields(self._fields)

    @property
    def level(self) -> str:
        """The governance level that the message requires."""
        return self.fields.get("governance-level", "autonomous")

    async def progress(self, value: Any) -> None:
        """Tells the source how far the request is. Does nothing where no source asked for progress, or the answer has gone.

        `value` is JSON: an object with `progress` (and `total`, `message`) where an MCP client asked. Waits while 1 MiB
        or more waits for the socket. Raises ConnectionLost; HubError -32055 for more than the hub takes.
        """
        message = self._progress_message(value) if self.is_owed else None
        if message is not None:
            text = body.encode(message)
            self._connection.check(text)
            self._connection.send(text)
            if not self._connection.is_writable:
                await self._connection.drained()

    def _progress_message(self, value: Any) -> Optional[Dict[str, Any]]:
        params = self._params if isinstance(self._params, dict) else {}
        for key in ("workDoneToken", "partialResultToken"):
            if params.get(key) is not None:
                return {"jsonrpc": "2.0", "method": "$/progress", "params": {"token": params[key], "value": value}}
        meta = params.get("_meta")
        if isinstance(meta, dict) and "progressToken" in meta:
            values = value if isinstance(value, dict) else {"progress": value}
            told = {**values, "progressToken": meta["progressToken"]}
            return {"jsonrpc": "2.0", "method": "notifications/progress", "params": told}
        return None

    def __repr__(self) -> str:
        return f"<patchbay.Request {self.method} id={self.id}>"
