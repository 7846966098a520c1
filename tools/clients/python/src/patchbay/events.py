"""Events of the hub, as asynchronous iterators.

An iterator keeps at most 1,000 events. Past that the oldest go, and the next event tells how many.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple, Type

from .errors import HubError, copy_of

__all__ = ["Event", "Events", "Subscriptions"]

EVENTS_MAX = 1000


@dataclass(frozen=True)
class Event:
    """An event. `missed` tells how many events before it this iterator has not seen."""

    name: str
    data: Any
    missed: int = 0


class Queue:
    """The events that wait for one iterator."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.missed = 0
        self.is_ended = False
        self.is_confirmed = False
        self.error: Optional[HubError] = None
        self._events: Deque[Tuple[str, Any]] = deque()
        self._waiters: List[asyncio.Future[None]] = []

    def put(self, name: str, data: Any) -> None:
        if len(self._events) == EVENTS_MAX:
            self._events.popleft()
            self.missed += 1
        self._events.append((name, data))
        self.wake()

    def take(self) -> Optional[Event]:
        if not self._events:
            return None
        name, data = self._events.popleft()
        event = Event(name, data, self.missed)
        self.missed = 0
        return event

    def confirm(self) -> None:
        self.is_confirmed = True
        self.wake()

    def end(self, error: Optional[HubError] = None) -> None:
        self.is_ended = True
        self.error = self.error or error
        self.wake()

    def wake(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def changed(self) -> None:
        """Waits until something has come, or the queue has ended."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)


class Events:
    """An asynchronous iterator over events. `async with` waits until the hub has confirmed the subscription.

    It is unsubscribed when it is closed, or when nothing refers to it any more, as behind a `break`. It ends when the
    client is closed. It raises HubError where the hub refuses the subscription, or the credential.
    """

    def __init__(self, queue: Queue, release: Callable[[Queue], None], loop: asyncio.AbstractEventLoop) -> None:
        self._queue = queue
        self._release = release
        self._loop = loop

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        while True:
            event = self._queue.take()
            if event is not None:
                return event
            if self._queue.error is not None:
                raise copy_of(self._queue.error)
            if self._queue.is_ended:
                raise StopAsyncIteration
            await self._queue.changed()

    async def aclose(self) -> None:
        """Ends the iterator."""
        self._release(self._queue)

    async def __aenter__(self) -> Events:
        while not (self._queue.is_confirmed or self._queue.is_ended):
            await self._queue.changed()
        if self._queue.error is not None:
            raise copy_of(self._queue.error)
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.aclose()

    def __del__(self) -> None:
        if not self._queue.is_ended and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._release, self._queue)  # whatever thread collects it

    def __repr__(self) -> str:
        return f"<patchbay.Events {self._queue.pattern}>"


class Pattern:
    """The queues of one pattern: an event's name, or a prefix and `*`."""

    def __init__(self, text: str) -> None:
        self.prefix = text[:-1] if text.endswith("*") else None
        self.queues: List[Queue] = []
        self.is_confirmed = False
        self.has_stood = False  # it was confirmed once

    def matches(self, name: str) -> bool:
        return self.prefix is not None and name.startswith(self.prefix)


class Subscriptions:
    """The patterns of a client."""

    def __init__(self) -> None:
        self._patterns: Dict[str, Pattern] = {}

    def begin(self) -> List[str]:
        """Returns all patterns, which a new connection has to confirm again."""
        for pattern in self._patterns.values():
            pattern.is_confirmed = False
        return list(self._patterns)

    def add(self, text: str) -> Tuple[Queue, bool]:
        """Returns a new queue, and whether its pattern is new. Raises TypeError where the pattern is no str."""
        if not isinstance(text, str):
            raise TypeError(f"a pattern of events is a str, not {type(text).__name__}")
        queue = Queue(text)
        pattern = self._patterns.setdefault(text, Pattern(text))
        pattern.queues.append(queue)
        if pattern.is_confirmed:
            queue.confirm()
        return queue, len(pattern.queues) == 1

    def remove(self, queue: Queue) -> bool:
        """Ends a queue. True: it was the last one of its pattern."""
        queue.end()
        pattern = self._patterns.get(queue.pattern)
        if pattern is None or queue not in pattern.queues:
            return False
        pattern.queues.remove(queue)
        if not pattern.queues:
            del self._patterns[queue.pattern]
        return not pattern.queues

    def confirm(self, text: str) -> None:
        pattern = self._patterns.get(text)
        if pattern is not None:
            pattern.is_confirmed = pattern.has_stood = True
            for queue in pattern.queues:
                queue.confirm()

    def find(self, text: str) -> Optional[Pattern]:
        return self._patterns.get(text)

    def has_stood(self, text: str) -> bool:
        """Whether the hub has confirmed a pattern before."""
        pattern = self._patterns.get(text)
        return pattern is not None and pattern.has_stood

    def refuse(self, text: str, error: HubError) -> None:
        """Ends the queues of a pattern that the hub refuses."""
        pattern = self._patterns.pop(text, None)
        for queue in pattern.queues if pattern is not None else []:
            queue.end(error)

    def deliver(self, name: str, data: Any) -> None:
        """Gives an event to all whose pattern it matches."""
        for text, pattern in self._patterns.items():
            if text == name or pattern.matches(name):
                for queue in pattern.queues:
                    queue.put(name, data)

    def miss(self, count: int) -> None:
        """Counts events that the hub dropped."""
        for queue in self._queues():
            queue.missed += count

    def end(self, error: Optional[HubError] = None) -> None:
        """Ends all queues."""
        for queue in self._queues():
            queue.end(error)
        self._patterns.clear()

    def _queues(self) -> List[Queue]:
        return [queue for pattern in self._patterns.values() for queue in pattern.queues]
