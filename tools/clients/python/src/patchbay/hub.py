"""A client of a hub: what programs use."""

from __future__ import annotations

import asyncio
import copy
import os
import ssl
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Type, TypeVar

from . import body
from .callbacks import Callbacks
from .dispatch import Dispatch
from .errors import INTERNAL_ERROR, ConnectionLost, HubError
from .events import Events, Queue, Subscriptions
from .fields import check_level, write_fields
from .handlers import H, Handlers
from .inbound import CONCURRENCY, Inbound
from .outbound import Calls, Progress, timed_out
from .registrations import Registrations
from .secret import Secret
from .session import Session, Settings
from .uri import DEFAULT_URI, parse
from .version import __version__
from .wire import MAX_FRAME

__all__ = ["Hub", "connect"]

CLOSE_SECONDS = 5.0
CANCEL_SECONDS = 1.0

F = TypeVar("F", bound=Callable[[str], Any])


async def connect(
    uri: Optional[str] = None,
    token: Optional[str] = None,
    *,
    tls_ca: Optional[str] = None,
    tls_certificate: Optional[str] = None,
    tls_key: Optional[str] = None,
    governance_level: str = "autonomous",
    concurrency: int = CONCURRENCY,
    max_frame: int = MAX_FRAME,
) -> Hub:
    """Connects to a hub, and says who this is.

    `uri` is `tcp://HOST:PORT`, `tls://HOST:PORT` or `unix:///PATH`, each also with `-lines` behind the scheme: else
    PATCHBAY_HUB, else tcp://127.0.0.1:7411. `token` is the user's: else PATCHBAY_TOKEN. `tls_ca` is a file of authorities
    in PEM: else PATCHBAY_TLS_CA, else the system's. `tls_certificate` and `tls_key` are files in PEM that the client shows.
    `governance_level` is the strictest that events to this client may require. At most `concurrency` handlers run at a
    time. A message of the hub has at most `max_frame` bytes.

    Raises ValueError or TypeError where the URI is none or is not spoken, or an option is none; OSError where nobody
    listens, or TLS fails; HubError where the hub refuses the token, or ends the connection.
    """
    secret = _secret(token)
    token = None  # no traceback shows it
    address = parse(uri or os.environ.get("PATCHBAY_HUB") or DEFAULT_URI)
    check_level(governance_level)
    _check_count("concurrency", concurrency)
    _check_count("max_frame", max_frame)
    if tls_key is not None and tls_certificate is None:
        raise ValueError("tls_key needs tls_certificate")
    tls = _tls(tls_ca or os.environ.get("PATCHBAY_TLS_CA"), tls_certificate, tls_key) if address.secure else None
    hub = Hub(Settings(address, tls, secret, governance_level, max_frame, __version__), concurrency)
    await hub._session.open()
    return hub


def _check_count(name: str, count: int) -> None:
    if not isinstance(count, int):
        raise TypeError(f"{name} is an int, not {type(count).__name__}")
    if count < 1:
        raise ValueError(f"{name} is at least 1")


def _secret(token: Optional[str]) -> Optional[Secret]:
    if token is None:
        token = os.environ.get("PATCHBAY_TOKEN") or None
    if not (token is None or isinstance(token, str)):
        kind = type(token).__name__
        token = None
        raise TypeError(f"token is a str, not {kind}")
    return None if token is None else Secret(token)


def _tls(authorities: Optional[str], certificate: Optional[str], key: Optional[str]) -> ssl.SSLContext:
    for path in (authorities, certificate, key):
        if path is not None:
            open(path, "rb").close()  # whose error names the file, as that of ssl does not
    context = ssl.create_default_context(cafile=authorities)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT  # Python 3.13 refuses certificates that other clients of a hub take
    if certificate is not None:
        context.load_cert_chain(certificate, key)
    return context


class Hub:
    """A client. `connect` makes one; `async with` closes it.

    All of its methods belong to the event loop in which it was made.
    """

    def __init__(self, settings: Settings, concurrency: int) -> None:
        self._settings = settings
        self._loop = asyncio.get_running_loop()
        self._callbacks = Callbacks()
        self._states: List[Callable[[str], Any]] = []
        self._handlers = Handlers()
        self._inbound = Inbound(self._handlers, concurrency)
        self._calls = Calls(self._callbacks.tell)
        self._registrations = Registrations(self._calls)
        self._subscriptions = Subscriptions()
        dispatch = Dispatch(self._calls, self._inbound, self._subscriptions, self._registrations, self._tell_state)
        self._session = Session(
            settings,
            self._calls,
            self._registrations,
            self._subscriptions,
            dispatch.receive,
            self._inbound.work,
            self._inbound.lose,
            self._tell_state,
        )
        self._is_closing = False
        self._closed = asyncio.Event()

    async def register(
        self, agent_id: str, capabilities: Any = None, governance_level: Optional[str] = None, **more: Any
    ) -> Dict[str, Any]:
        """Makes an agentId addressable at this client, now and on each later connection. Returns the hub's result.

        `capabilities` is an object or an array of names, and all that is offered: decorators offer nothing.
        `governance_level` is the strictest level that the agent supports (autonomous). `more` are further params, such as
        `version`. Raises HubError: -32053 where another connection holds the name.
        """
        params = copy.deepcopy({"agentId": agent_id, "capabilities": {} if capabilities is None else capabilities, **more})
        if governance_level is not None or not (isinstance(capabilities, dict) and "governanceLevel" in capabilities):
            params["governanceLevel"] = governance_level or "autonomous"
        connection = self._session.connection or await self._session.ready("agent/register", None)
        result: Dict[str, Any] = await self._calls.wait(self._registrations.ask(connection, params))
        return result

    async def unregister(self, agent_id: str) -> Dict[str, Any]:
        """Ends a registration. Returns the hub's result. Raises HubError: -32010 where the agent is not this client's."""
        self._registrations.remove(agent_id)
        result: Dict[str, Any] = await self.call("agent/unregister", {"agentId": agent_id})
        return result

    def method(self, name: str) -> Callable[[H], H]:
        """Decorates the handler of a method: `async def handler(params, request)`, whose value is the result.

        Raises TypeError where `name` is no str, as where the decorator stands without one.
        """
        return self._handlers.add_method(name)

    def task(self, name: str) -> Callable[[H], H]:
        """Decorates the handler of a task of `agent/request`. The handler gets the whole params. Raises TypeError."""
        return self._handlers.add_task(name)

    async def request(
        self,
        agent: str,
        task: str,
        *,
        context: Any = None,
        priority: Optional[str] = None,
        level: Optional[str] = None,
        timeout: Optional[float] = None,
        on_progress: Optional[Progress] = None,
    ) -> Any:
        """Has an agent do a task. Returns the result. `agent` is an agentId, or `@NAME` of a capability.

        `context` is JSON; `priority` is low, medium, high or critical. The rest, and the errors, are as of `call`.
        """
        params = {"targetAgent": agent, "task": task}
        source = self._registrations.first
        if source is not None:
            params["sourceAgent"] = source
        if context is not None:
            params["context"] = context
        if priority is not None:
            params["priority"] = priority
        return await self.call("agent/request", params, level=level, timeout=timeout, on_progress=on_progress)

    async def call(
        self,
        method: str,
        params: Any = None,
        *,
        level: Optional[str] = None,
        timeout: Optional[float] = None,
        on_progress: Optional[Progress] = None,
    ) -> Any:
        """Sends a request, and returns the result. While there is no connection, it waits for one.

        `level` is the governance level that the request requires; `timeout` is in seconds. `on_progress` is called with
        each value that the target tells; `params` must be an object then.

        Raises HubError: the target's error, or the hub's; -32051 when the time is up; -32055 for more than the hub takes;
        ConnectionLost when the connection is lost. Raises TypeError where `method` is no str; TypeError, ValueError or
        RecursionError where `params` are not JSON; ValueError where the transport has no header block for a level. A call
        that is cancelled, or whose time is up, is cancelled at its target.
        """
        _check_method(method)
        fields = self._fields(level, timeout)
        deadline = None if timeout is None else self._loop.time() + timeout
        connection = self._session.connection
        if connection is None:
            connection = await self._session.ready(method, deadline)
            timeout = None if deadline is None else deadline - self._loop.time()
            fields = self._fields(level, timeout)
        if timeout is not None and timeout <= 0:
            raise timed_out(method)
        return await self._calls.wait(self._calls.begin(connection, method, params, fields, on_progress), timeout)

    async def notify(self, method: str, params: Any = None, *, level: Optional[str] = None) -> None:
        """Sends a notification. Returns once less than 1 MiB waits for the socket.

        Raises ConnectionLost where the connection is lost before; else as `call`.
        """
        _check_method(method)
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        text, fields = body.encode(message), self._fields(level, None)
        connection = self._session.connection or await self._session.ready(method, None)
        connection.check(text)
        connection.send(text, fields)
        if not connection.is_writable:
            await connection.drained()

    async def publish(self, event: str, data: Any = None, *, level: Optional[str] = None, timeout: Optional[float] = None) -> int:
        """Publishes an event. Returns how many connections got it. `data` is JSON. The rest is as of `call`."""
        params = {"event": event} if data is None else {"event": event, "data": data}
        result = await self.call("event", params, level=level, timeout=timeout)
        delivered = result.get("delivered") if isinstance(result, dict) else None
        if type(delivered) is not int:
            raise HubError(INTERNAL_ERROR, "the hub does not tell how many got the event", result)
        return delivered

    def events(self, pattern: str) -> Events:
        """Subscribes to events: a name, or a prefix and `*`. Returns an asynchronous iterator over them. Raises TypeError.

        The subscription is sent at once; `async with` waits until the hub has confirmed it. It is made again on each
        later connection.
        """
        queue, is_new = self._subscriptions.add(pattern)
        connection = self._session.subscribing
        if connection is not None and is_new:
            self._session.subscribe(connection, pattern)
        end = self._session.end
        if end is not None:
            queue.end(None if isinstance(end, ConnectionLost) else end)
        return Events(queue, self._release, self._loop)

    @property
    def dropped(self) -> int:
        """How many notifications found no place, because 4 MiB waited for handlers."""
        return self._inbound.dropped

    def on_state(self, function: F) -> F:
        """Has a function called with `connected`, `lost`, `replaced` or `refused` when the connection becomes so.

        `replaced`: another connection has taken an agentId, which this client does not register again. `refused`: the hub
        does not take the token (any more), and calls end with its error.
        """
        self._states.append(function)
        return function

    async def wait_closed(self) -> None:
        """Waits until the client is closed. Raises HubError when the hub refuses the token."""
        await self._session.ended()
        await self._closed.wait()

    async def close(self) -> None:
        """Unregisters, gives handlers 5 s, and ends the connection. Calls in flight end with ConnectionLost."""
        if self._is_closing:
            await self._closed.wait()
            return
        self._is_closing = True
        self._session.begin_closing()
        self._inbound.end()
        try:
            deadline = self._loop.time() + CLOSE_SECONDS
            await self._unregister()
            await self._inbound.finish(deadline - self._loop.time())
            self._inbound.stop()
            await self._inbound.finish(CANCEL_SECONDS)
            self._inbound.give_up()
        finally:
            await self._session.close()
            await self._callbacks.close()
            self._closed.set()

    async def __aenter__(self) -> Hub:
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "closed" if self._is_closing else "connected" if self._session.connection else "not connected"
        return f"<patchbay.Hub {self._settings.address} {state}>"

    def _fields(self, level: Optional[str], seconds: Optional[float]) -> bytes:
        return write_fields(not self._settings.address.lines, level, seconds)

    async def _unregister(self) -> None:
        """Has the hub send nothing more, for up to 5 s."""
        connection, names = self._session.connection, self._registrations.names()
        for name in names:
            self._registrations.remove(name)
        if connection is not None and names:
            calls = [self._calls.begin(connection, "agent/unregister", {"agentId": name}) for name in names]
            await asyncio.gather(*(self._calls.wait(call, CLOSE_SECONDS) for call in calls), return_exceptions=True)

    def _release(self, queue: Queue) -> None:
        """Ends an iterator, and the subscription of the last one of its pattern."""
        connection = self._session.subscribing
        if self._subscriptions.remove(queue) and connection is not None:
            self._session.unsubscribe(connection, queue.pattern)

    def _tell_state(self, state: str) -> None:
        for function in list(self._states):
            self._callbacks.tell(function, state)


def _check_method(method: str) -> None:
    """Raises TypeError: a hub refuses such a request without telling its id."""
    if not isinstance(method, str):
        raise TypeError(f"a method is a str, not {type(method).__name__}")
