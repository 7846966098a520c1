"""The agents that a client has registered, and how they are registered again on a new connection."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Dict, List, Optional, Set

from .connection import Connection
from .errors import DISCONNECTED, NAME_TAKEN, OVERLOADED, TIMED_OUT, ConnectionLost, HubError
from .outbound import Call, Calls
from .pause import FIRST_SECONDS, Pauses

__all__ = ["Registrations"]

ANSWER_SECONDS = 10.0
PASSING = (NAME_TAKEN, OVERLOADED, DISCONNECTED, TIMED_OUT)  # errors that a later try may not meet

logger = logging.getLogger("patchbay")


class Registrations:
    """Params of `agent/register`, by agentId, in the order in which they were registered first."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._params: Dict[str, Dict[str, Any]] = {}
        self._held: Set[str] = set()  # those that the hub has on this connection
        self._retries: List[asyncio.Task[None]] = []

    @property
    def first(self) -> Optional[str]:
        """The first one that the hub has."""
        return next((name for name in self._params if name in self._held), None)

    def names(self) -> List[str]:
        return list(self._params)

    def ask(self, connection: Connection, params: Dict[str, Any]) -> Call:
        """Sends a registration, which is made again on each later connection once the hub has made it. Raises as `begin`.

        `hub/replaced` may come right behind the result: so the result is noted before anything else is read.
        """
        call = self._calls.begin(connection, "agent/register", params)
        call.on_result = lambda: self._add(params)
        return call

    def _ask_again(self, connection: Connection, params: Dict[str, Any]) -> Call:
        """Sends a registration that the hub had made before. The program may unregister its agent before the result comes."""
        call = self._calls.begin(connection, "agent/register", params)
        call.on_result = lambda: self._hold(params)
        return call

    def remove(self, agent_id: Any) -> bool:
        """Has an agent not registered again. False: it was none."""
        if not isinstance(agent_id, str):
            return False
        self._held.discard(agent_id)
        return self._params.pop(agent_id, None) is not None

    def restore(self, connection: Connection) -> Dict[str, Call]:
        """Sends all registrations."""
        calls = {}
        for name, params in self._params.items():
            try:
                calls[name] = self._ask_again(connection, params)
            except HubError as error:  # it is more than this hub takes
                self._refused(connection, name, error)
        return calls

    async def settle(self, calls: Dict[str, Call]) -> None:
        """Waits for the answers. A name that another connection holds is asked for again, in the background."""
        answers = await asyncio.gather(*(self._calls.wait(call, ANSWER_SECONDS) for call in calls.values()), return_exceptions=True)
        for (name, call), answer in zip(calls.items(), answers):
            if isinstance(answer, HubError) and not call.connection.is_lost:
                self._refused(call.connection, name, answer)

    def stop(self) -> None:
        """Gives up what is asked for again: its connection is lost, or the client closes."""
        for task in self._retries:
            task.cancel()
        self._retries.clear()

    def lose(self) -> None:
        """The connection is lost."""
        self.stop()
        self._held.clear()

    def _add(self, params: Dict[str, Any]) -> None:
        self._params[params["agentId"]] = params
        self._held.add(params["agentId"])

    def _hold(self, params: Dict[str, Any]) -> None:
        if self._params.get(params["agentId"]) is params:
            self._held.add(params["agentId"])

    def _refused(self, connection: Connection, name: str, error: HubError) -> None:
        if error.code in PASSING:
            self._retries.append(asyncio.get_running_loop().create_task(self._retry(connection, name)))
        else:
            logger.error("agent %s is not registered again: %s", name, error)

    async def _retry(self, connection: Connection, name: str) -> None:
        pauses = Pauses(FIRST_SECONDS)
        while True:
            await asyncio.sleep(pauses.next())
            params = self._params.get(name)
            if params is None or connection.is_lost:
                return
            try:
                await self._calls.wait(self._ask_again(connection, params), ANSWER_SECONDS)
                return
            except ConnectionLost:
                return
            except HubError as error:
                if error.code not in PASSING:
                    logger.error("agent %s is not registered again: %s", name, error)
                    return
