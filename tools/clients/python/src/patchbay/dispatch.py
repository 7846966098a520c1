"""What a message of the hub is for: a call, a handler, an iterator of events, or the client itself."""

from __future__ import annotations

from typing import Any, Callable, Dict

from . import body
from .connection import Connection
from .errors import PARSE_ERROR
from .events import Subscriptions
from .inbound import Inbound
from .outbound import Calls
from .registrations import Registrations

__all__ = ["Dispatch"]

CANCELS = ("$/cancelRequest", "$/cancel_request", "notifications/cancelled")


class Dispatch:
    """Takes each message that comes."""

    def __init__(
        self,
        calls: Calls,
        inbound: Inbound,
        subscriptions: Subscriptions,
        registrations: Registrations,
        tell_state: Callable[[str], None],
    ) -> None:
        self._calls = calls
        self._inbound = inbound
        self._subscriptions = subscriptions
        self._registrations = registrations
        self._tell_state = tell_state
        self._own: Dict[str, Callable[[Connection, Dict[str, Any]], bool]] = {
            **dict.fromkeys(CANCELS, self._cancel),
            "$/progress": self._progress,
            "notifications/progress": self._progress,
            "event": self._event,
            "hub/dropped": self._dropped,
            "hub/replaced": self._replaced,
        }

    def receive(self, connection: Connection, fields: bytes, text: bytes) -> None:
        """Takes one message. One that no hub sends ends the connection."""
        try:
            message = body.decode(text)
        except body.Unreadable:
            self._unreadable(connection, text)
            return
        if type(message) is not dict:
            connection.fail("the hub sent a text that is no message")
            return
        method, number = message.get("method"), message.get("id")
        if method is None:
            if "result" in message or "error" in message:
                self._calls.settle(number, message)
        elif type(method) is not str or not (number is None or type(number) is int or type(number) is str):
            connection.fail("the hub sent a method that is no string, or an id that is neither a string nor a number")
        elif number is not None:
            self._request(connection, message, fields, text)
        elif not self._is_own(connection, method, message.get("params")):
            self._inbound.take(connection, message, fields, text)

    def _request(self, connection: Connection, message: Dict[str, Any], fields: bytes, text: bytes) -> None:
        """Takes a request. A cancel may come as a request: the client answers null."""
        if message["method"] in CANCELS:
            self._is_own(connection, message["method"], message.get("params"))
            connection.refuse(body.encode({"jsonrpc": "2.0", "id": message["id"], "result": None}))
        else:
            self._inbound.take(connection, message, fields, text)

    def _is_own(self, connection: Connection, method: str, params: Any) -> bool:
        """Takes a notification that is for the client itself. False: a handler may want it."""
        own = self._own.get(method)
        return own is not None and isinstance(params, dict) and own(connection, params)

    def _unreadable(self, connection: Connection, text: bytes) -> None:
        """Takes a body that the hub forwarded unread and that is not JSON. A request is answered; a call ends with -32603."""
        try:
            members = body.outline(text)
        except body.Unreadable:
            connection.fail("the hub sent a text that is not JSON")
            return
        number = members.get("id")
        if number is None:
            return
        if "method" in members:
            error = {"code": PARSE_ERROR, "message": "parse error"}
            connection.refuse(body.encode({"jsonrpc": "2.0", "id": number, "error": error}))
        else:
            self._calls.spoil(number)

    def _cancel(self, connection: Connection, params: Dict[str, Any]) -> bool:
        self._inbound.cancel(connection, params.get("id", params.get("requestId")))
        return True

    def _progress(self, connection: Connection, params: Dict[str, Any]) -> bool:
        if "token" in params:
            return self._calls.advance(params["token"], params.get("value"))
        value = {key: one for key, one in params.items() if key != "progressToken"}
        return self._calls.advance(params.get("progressToken"), value)

    def _event(self, connection: Connection, params: Dict[str, Any]) -> bool:
        name = params.get("event")
        if isinstance(name, str):
            self._subscriptions.deliver(name, params.get("data"))
        return False

    def _dropped(self, connection: Connection, params: Dict[str, Any]) -> bool:
        count = params.get("count")
        known = count if type(count) is int and count > 0 else 0
        self._subscriptions.miss(known + (1 if params.get("unknown") is True else 0))
        return False

    def _replaced(self, connection: Connection, params: Dict[str, Any]) -> bool:
        if self._registrations.remove(params.get("agentId")):
            self._tell_state("replaced")
        return False
