"""The connection of a client over time: opened, greeted, lost and opened again.

A new connection says `initialize`, then registers and subscribes again, and only then carries calls. The pauses between
tries begin anew once the hub has answered.
"""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional

from .connection import Connection, Receive, dial
from .errors import INVALID_PARAMS, NOT_ALLOWED, NOT_INITIALIZED, OVERLOADED, ConnectionLost, HubError, copy_of
from .events import Subscriptions
from .outbound import Call, Calls, timed_out
from .pause import FIRST_SECONDS, Pauses
from .registrations import Registrations
from .secret import Secret
from .uri import Address

__all__ = ["Session", "Settings"]

ANSWER_SECONDS = 10.0
REFUSALS = (NOT_ALLOWED, NOT_INITIALIZED, INVALID_PARAMS)  # of `initialize`: trying again does not help

logger = logging.getLogger("patchbay")


@dataclass(frozen=True)
class Settings:
    """How a client reaches its hub."""

    address: Address
    tls: Optional[ssl.SSLContext]
    token: Optional[Secret]
    governance_level: str
    max_frame: int
    version: str


class Session:
    """The current connection, or the next one.

    `tell_state` gets `connected`, `lost` and `refused`; `receive` each message; `lost` each connection that is lost.
    `work` is called after what came in one read.
    """

    def __init__(
        self,
        settings: Settings,
        calls: Calls,
        registrations: Registrations,
        subscriptions: Subscriptions,
        receive: Receive,
        work: Callable[[], None],
        lost: Callable[[Connection], None],
        tell_state: Callable[[str], None],
    ) -> None:
        self._settings = settings
        self._calls = calls
        self._registrations = registrations
        self._subscriptions = subscriptions
        self._receive = receive
        self._work = work
        self._tell_lost = lost
        self._tell_state = tell_state
        self._loop = asyncio.get_running_loop()
        self._connection: Optional[Connection] = None  # that carries calls
        self._restoring: Optional[Connection] = None  # that has been asked for all registrations and subscriptions
        self._waiters: List[asyncio.Future[None]] = []
        self._pauses = Pauses()
        self._reopening: Optional[asyncio.Task[None]] = None
        self._is_closing = False
        self._later: Dict[str, asyncio.TimerHandle] = {}  # subscriptions that are asked for again
        self._end: Optional[HubError] = None  # what calls end with from now on
        self._ended = asyncio.Event()

    @property
    def connection(self) -> Optional[Connection]:
        """The connection that carries calls; None while there is none."""
        return self._connection

    @property
    def subscribing(self) -> Optional[Connection]:
        """The connection that a new subscription has to be sent to now; None: the next one sends all."""
        return self._connection or self._restoring

    @property
    def end(self) -> Optional[HubError]:
        """What calls end with from now on: the hub's refusal, or ConnectionLost once the client is closed; or None."""
        return self._end

    async def ended(self) -> None:
        """Waits until the client is closed. Raises the hub's refusal."""
        await self._ended.wait()
        if self._end is not None and not isinstance(self._end, ConnectionLost):
            raise copy_of(self._end)

    async def open(self) -> None:
        """Opens a connection. Raises OSError, or HubError: ConnectionLost, or the hub's refusal."""
        settings = self._settings
        connection = await dial(settings.address, settings.tls, settings.max_frame, self._receive, self._work, self._lost)
        try:
            await self._greet(connection)
            self._pauses.reset()
            await self._restore(connection)
            if connection.is_lost:
                raise connection.loss()
        except BaseException:
            await connection.close()
            raise
        finally:
            self._restoring = None
        self._connection = connection
        self._wake()
        self._tell_state("connected")

    async def ready(self, method: str, deadline: Optional[float]) -> Connection:
        """Waits for a connection that carries calls, until a time of the loop. Raises HubError."""
        while self._connection is None:
            if self._end is not None:
                raise copy_of(self._end)
            waiter = self._loop.create_future()
            timer = None if deadline is None else self._loop.call_at(deadline, _fail, waiter, timed_out(method))
            self._waiters.append(waiter)
            try:
                await waiter
            finally:
                if timer is not None:
                    timer.cancel()
                if waiter in self._waiters:
                    self._waiters.remove(waiter)
        return self._connection

    def begin_closing(self) -> None:
        """Has a connection that is lost from now on not opened again."""
        self._is_closing = True
        self._registrations.stop()

    async def close(self) -> None:
        """Ends the connection. Calls end with ConnectionLost."""
        self.begin_closing()
        self._finish(ConnectionLost("the client is closed"))
        if self._reopening is not None:
            self._reopening.cancel()
            await asyncio.wait({self._reopening})
        if self._connection is not None:
            await self._connection.close()

    async def _greet(self, connection: Connection) -> None:
        """Tells the hub who this is. A token that the hub repeats in its error is not shown."""
        token = self._settings.token
        call = self._calls.begin(connection, "initialize", self._greeting())
        try:
            connection.body_bytes_max = _frame_bytes_max(await self._calls.wait(call, ANSWER_SECONDS))
            return
        except ConnectionLost:
            raise
        except HubError as error:
            if token is None:
                raise
            refusal = HubError(error.code, token.scrub(error.message), token.scrub(error.data))
        raise refusal  # here, so that the hub's own error is not its context

    def _greeting(self) -> Dict[str, Any]:
        params = {
            "processId": os.getpid(),
            "agentId": "patchbay-python",
            "capabilities": {},
            "governanceLevel": self._settings.governance_level,
            "clientInfo": {"name": "patchbay-python", "version": self._settings.version},
        }
        if self._settings.token is not None:
            params["token"] = self._settings.token.reveal()
        return params

    async def _restore(self, connection: Connection) -> None:
        """Registers and subscribes again. All of that is sent at once, before anything else."""
        registrations = self._registrations.restore(connection)
        subscriptions = [self.subscribe(connection, pattern) for pattern in self._subscriptions.begin()]
        self._restoring = connection
        await self._registrations.settle(registrations)
        waits = [call.future for call in subscriptions if call is not None]
        if waits:
            await asyncio.wait(waits, timeout=ANSWER_SECONDS)

    def subscribe(self, connection: Connection, pattern: str, pauses: Optional[Pauses] = None) -> Optional[Call]:
        """Sends a subscription. Its answer goes to the queues of the pattern. None: it is more than the hub takes.

        A hub that is overloaded is asked again, with pauses, for a pattern that it has confirmed before. An answer counts no
        more once its pattern was unsubscribed, also where the same text is subscribed to again.
        """
        asked = self._subscriptions.find(pattern)
        try:
            call = self._calls.begin(connection, "hub/subscribe", {"events": [pattern]})
        except HubError as error:
            self._subscriptions.refuse(pattern, error)
            return None

        def settle(future: asyncio.Future[Any]) -> None:
            error = future.exception()
            if self._subscriptions.find(pattern) is not asked:
                return
            if error is None:
                self._subscriptions.confirm(pattern)
            elif not isinstance(error, HubError) or isinstance(error, ConnectionLost) or connection.is_lost:
                return
            elif error.code == OVERLOADED and self._subscriptions.has_stood(pattern):
                self._subscribe_later(connection, pattern, pauses or Pauses(FIRST_SECONDS))
            else:
                self._subscriptions.refuse(pattern, error)

        call.future.add_done_callback(settle)
        return call

    def _subscribe_later(self, connection: Connection, pattern: str, pauses: Pauses) -> None:
        def again() -> None:
            del self._later[pattern]
            self.subscribe(connection, pattern, pauses)

        self._later[pattern] = self._loop.call_later(pauses.next(), again)

    def _stop_subscribing(self, pattern: str) -> None:
        timer = self._later.pop(pattern, None)
        if timer is not None:
            timer.cancel()

    def unsubscribe(self, connection: Connection, pattern: str) -> None:
        """Sends the end of a subscription. Nobody waits for its answer."""
        self._stop_subscribing(pattern)
        call = self._calls.begin(connection, "hub/unsubscribe", {"events": [pattern]})
        call.future.add_done_callback(lambda future: future.exception())

    def _lost(self, connection: Connection) -> None:
        self._calls.lose(connection)
        self._tell_lost(connection)
        self._registrations.lose()
        for pattern in list(self._later):
            self._stop_subscribing(pattern)
        if connection is not self._connection:
            return  # `open` sees to it
        self._connection = None
        if self._is_closing:
            return
        logger.info("the connection to %s is lost%s", self._settings.address, f": {connection.fault}" if connection.fault else "")
        self._reopening = self._loop.create_task(self._reopen())
        self._tell_state("lost")

    async def _reopen(self) -> None:
        while not self._is_closing:
            await asyncio.sleep(self._pauses.next())
            try:
                await self.open()
                return
            except HubError as error:
                logger.info("no connection to %s: %s", self._settings.address, error)
                if error.code in REFUSALS:
                    self._finish(error)
                    self._tell_state("refused")
                    return
            except OSError as error:
                logger.info("no connection to %s: %s", self._settings.address, error)

    def _finish(self, error: HubError) -> None:
        """Has all that waits, and comes, end with an error."""
        self._end = self._end or error
        self._ended.set()
        self._wake()
        self._subscriptions.end(None if isinstance(error, ConnectionLost) else error)

    def _wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()


def _frame_bytes_max(greeting: Any) -> int:
    """Returns the bytes of the longest body that the hub takes, as it tells; 0: it does not."""
    capabilities = greeting.get("capabilities") if isinstance(greeting, dict) else None
    most = capabilities.get("maxFrame") if isinstance(capabilities, dict) else None
    return most if type(most) is int and most > 0 else 0


def _fail(waiter: asyncio.Future[None], error: HubError) -> None:
    if not waiter.done():
        waiter.set_exception(error)
