"""The agents that a client has registered, and how they are registered again on a new connection."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Dict, List, Optional

from .connection import Connection
from .errors import DISCONNECTED, NAME_TAKEN, OVERLOADED, TIMED_OUT, ConnectionLost, HubError
from .outbound import Call, Calls
from .pause import Pauses

__all__ = ["Registrations"]

ANSWER_SECONDS = 10.0
PASSING = (NAME_TAKEN, OVERLOADED, DISCONNECTED, TIMED_OUT)  # errors that a later try may not meet

logger = logging.getLogger("patchbay")


class Registrations:
    """Params of `agent/register`, by agentId, in the order in which they were registered first."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._params: Dict[str, Dict[str, Any]] = {}
        self._retries: List[asyncio.Task[None]] = []

    @property
    def first(self) -> Optional[str]:
        return next(iter(self._params), None)

    def names(self) -> List[str]:
        return list(self._params)

    def add(self, params: Dict[str, Any]) -> None:
        self._params[params["agentId"]] = params

    def remove(self, agent_id: Any) -> bool:
        """Has an agent not registered again. False: it was none."""
        return isinstance(agent_id, str) and self._params.pop(agent_id, None) is not None

    def begin(self, connection: Connection) -> Dict[str, Call]:
        """Sends all registrations."""
        return {name: self._calls.begin(connection, "agent/register", params) for name, params in self._params.items()}

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

    def _refused(self, connection: Connection, name: str, error: HubError) -> None:
        if error.code in PASSING:
            self._retries.append(asyncio.get_running_loop().create_task(self._retry(connection, name)))
        else:
            logger.error("agent %s is not registered again: %s", name, error)

    async def _retry(self, connection: Connection, name: str) -> None:
        pauses = Pauses()
        pauses.next()  # the try at once was the one that failed
        while True:
            await asyncio.sleep(pauses.next())
            params = self._params.get(name)
            if params is None:
                return
            try:
                await self._calls.wait(self._calls.begin(connection, "agent/register", params), ANSWER_SECONDS)
                return
            except ConnectionLost:
                return
            except HubError as error:
                if error.code not in PASSING:
                    logger.error("agent %s is not registered again: %s", name, error)
                    return
