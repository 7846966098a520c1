"""What a task waits for between two messages, so that the next one needs neither a new task nor a turn of the event loop."""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from typing import Any, Callable, Generator, Optional

__all__ = ["Rest"]


class Rest:
    """Something like a future, which one task awaits, time after time. `end` has that task go on at once, and not in the
    loop's next turn.

    A task takes anything with the methods of a future that it calls: `add_done_callback`, `result` and `cancel`.
    """

    def __init__(self, task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop) -> None:
        """Made by the task itself, in whose context it is."""
        self.task = task
        self.context = copy_context()  # as the task has it before anybody sets a variable
        self._loop = loop
        self._go_on: Optional[Callable[[Any], object]] = None
        self._go_on_context: Optional[Context] = None
        self._is_cancelled = False
        self._asyncio_future_blocking = False  # how a task knows what it may wait for

    def __await__(self) -> Generator[Any, None, None]:
        self._asyncio_future_blocking = True
        self.task._log_destroy_pending = False  # type: ignore[attr-defined]  # where nobody closes the client
        yield self
        self.task._log_destroy_pending = True  # type: ignore[attr-defined]

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def add_done_callback(self, function: Callable[[Any], object], *, context: Optional[Context] = None) -> None:
        self._go_on, self._go_on_context = function, context

    def result(self) -> None:
        """Raises CancelledError where the task was cancelled."""
        if self._is_cancelled:
            raise asyncio.CancelledError

    def cancel(self, msg: Optional[str] = None) -> bool:
        """Has the task go on, in the next turn, with CancelledError. Called by the task's own `cancel`."""
        if self._go_on is None:
            return False
        function, self._go_on = self._go_on, None
        self._is_cancelled = True
        self._loop.call_soon(function, self, context=self._go_on_context)
        return True

    def end(self) -> bool:
        """Has the task go on until it waits again or ends. No task may be running. False: it was cancelled before."""
        function, self._go_on = self._go_on, None
        if function is None or self._go_on_context is None:
            return False
        self._go_on_context.run(function, self)
        return True
