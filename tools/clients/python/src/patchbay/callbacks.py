"""Functions of the user's that the client calls: they may be coroutine functions, and may fail."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Callable, Set

__all__ = ["Callbacks"]


class Callbacks:
    """Calls functions, and holds the tasks of those that are coroutine functions until they end.

    What one raises goes to the event loop's exception handler.
    """

    def __init__(self) -> None:
        self._tasks: Set[asyncio.Future[Any]] = set()

    def tell(self, function: Callable[..., Any], *values: Any) -> None:
        try:
            outcome = function(*values)
        except Exception as error:
            self._report(error)
            return
        if inspect.isawaitable(outcome):
            task = asyncio.ensure_future(outcome)
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    async def close(self) -> None:
        """Cancels the tasks, but one that calls this itself, and waits for their end."""
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _ended(self, task: asyncio.Future[Any]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._report(error)

    def _report(self, error: BaseException) -> None:
        asyncio.get_running_loop().call_exception_handler(
            {"message": "a function that patchbay called has failed", "exception": error}
        )
