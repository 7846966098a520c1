"""The wait of a task between two messages. The next message ends it without a new task and without a turn of the event loop.

`Inbound` has one task handle short messages one after the other, and that task awaits a `Rest` when none is left. A task of
asyncio may await any object that acts as a future. In that order, and by these names, the task

1. takes what `__await__` yields, requires that `_asyncio_future_blocking` is True there, and sets it to False;
2. requires that `get_loop` returns the loop of the task;
3. hands its wakeup function and its context to `add_done_callback`;
4. calls `cancel` when somebody cancels the task;
5. calls `result` in its wakeup function, and raises what `result` raises.

`end` calls the wakeup function itself, where a future would leave that to the loop's next turn. These rules must hold:

- No task is running when `end` is called, because asyncio lets no task begin a step within a step of another.
- The wakeup function is called once for each wait: `end` and `cancel` both take the function away before they use it.
- A task rests only as it was made: `Inbound._work` ends a task whose variables, callbacks or cancellations have changed.

`tests/clients/python/test_tasks.py` has a test for each of them.
"""

from __future__ import annotations

import asyncio
from contextvars import Context, copy_context
from typing import Any, Callable, Generator, Optional

__all__ = ["Rest"]


class Rest:
    """What one task awaits, time after time."""

    def __init__(self, task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop) -> None:
        """Must be called by the task itself, so that the context which is copied is the task's."""
        self.task = task
        self.context = copy_context()  # of the task, before a handler has set a variable
        self._loop = loop
        self._go_on: Optional[Callable[[Any], object]] = None  # the task's wakeup function; None: the task does not rest
        self._go_on_context: Optional[Context] = None
        self._is_cancelled = False
        self._asyncio_future_blocking = False  # True: a task may wait for this object

    def __await__(self) -> Generator[Any, None, None]:
        self._asyncio_future_blocking = True
        # A program that never closes its client destroys the task while it rests, and asyncio would write an error of that.
        self.task._log_destroy_pending = False  # type: ignore[attr-defined]
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
        """Has the task go on in the loop's next turn, with CancelledError. The task's own `cancel` calls this.

        False: the task does not rest, and asyncio cancels the task at its next wait.
        """
        if self._go_on is None:
            return False
        function, self._go_on = self._go_on, None
        self._is_cancelled = True
        self._loop.call_soon(function, self, context=self._go_on_context)
        return True

    def end(self) -> bool:
        """Runs the task until it waits again or ends. No task may be running. False: the task was cancelled, or does not rest."""
        function, self._go_on = self._go_on, None
        if function is None or self._go_on_context is None:
            return False
        self._go_on_context.run(function, self)
        return True
