"""Messages that come in for handlers: at most `concurrency` handlers run at a time, and 4 MiB of messages wait behind them.

Past that a request is answered -32052, and a notification is dropped and counted.

A handler that waits for anything has a task of its own. Handlers that end without waiting run one after the other in one
task, as long as they leave the task as it was: most of what a short handler costs is its task. Such a task rests when no
message is left (rest.py). The next message has that task go on at once: a turn of the event loop costs more than a short
handler.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from contextvars import Context, copy_context
from typing import Any, Callable, Dict, Optional, Set

from . import body
from .connection import Connection
from .errors import METHOD_NOT_FOUND, OVERLOADED
from .handlers import Handlers, missing
from .job import Job
from .rest import Rest

__all__ = ["CONCURRENCY", "Inbound"]

CONCURRENCY = 64
WAITING_BYTES_MAX = 4 * 1024 * 1024
READ_BYTES = 256 * 1024  # so much of the waiting messages is kept as values, and the rest as the texts that came
TURN_JOBS_MAX = 256  # so many jobs one task does before others have their turn

_cancelling: Callable[[asyncio.Task[None]], int] = getattr(asyncio.Task, "cancelling", lambda task: 0)  # of Python 3.11

logger = logging.getLogger("patchbay")


class Inbound:
    """The requests and notifications of a client that are not done."""

    def __init__(self, handlers: Handlers, concurrency: int) -> None:
        self._handlers = handlers
        self._concurrency = concurrency
        self._loop = asyncio.get_running_loop()
        self._waiting: OrderedDict[Job, None] = OrderedDict()
        self._waiting_bytes = 0
        self._running: Set[Job] = set()
        self._tasks: Set[asyncio.Task[None]] = set()
        self._next_tasks: Set[asyncio.Task[None]] = set()  # that have not begun
        # Grows with each message, each task that begins, and each job for which no task is free. A handler has waited if
        # this number grew while the handler ran. The handler's task ends then.
        self._turn = 0
        self._current: Optional[Job] = None  # the job whose handler was entered last; None: that job is done
        self._rest: Optional[Rest] = None  # of the one task that rests
        self._is_at_once = False  # that task goes on within `work`
        self._is_ending = False  # no task may rest any more
        self._handlers_wait = False  # the last handler waited, and so each job gets a task of its own
        self.dropped = 0  # notifications that found no place

    def take(self, connection: Connection, message: Dict[str, Any], fields: bytes, text: bytes) -> None:
        """Takes a message with a method. `text` is its body."""
        method, number, params = message["method"], message.get("id"), message.get("params")
        handler = self._handlers.find(method, params)
        if handler is None:
            if number is not None:
                _refuse(connection, number, METHOD_NOT_FOUND, "method not found", missing(method, params))
            return
        count = 0
        if len(self._waiting) + len(self._running) >= self._concurrency:
            count = len(fields) + len(text)
            if self._waiting_bytes + count > WAITING_BYTES_MAX:
                self._overloaded(connection, number)
                return
        job = Job(handler, connection, method, number, params, fields)
        if count > 0:
            job.waiting_bytes = count
            self._waiting_bytes += count
            if self._waiting_bytes > READ_BYTES:
                job.keep(text)
        self._waiting[job] = None
        self._turn += 1

    def work(self) -> None:
        """Begins the jobs that were taken: the task that rests at once, other tasks in the loop's next turn."""
        if not self._waiting or self._next_tasks:
            return
        rest = self._rest
        if rest is not None and len(self._tasks) < self._concurrency and asyncio.current_task() is None:
            self._is_at_once = True
            try:
                rest.end()
            finally:
                self._is_at_once = False
        if self._waiting and not self._next_tasks:
            self._start()

    def cancel(self, connection: Connection, number: Any) -> None:
        """Cancels a request. A waiting request is answered now, a running one when its task ends, an unknown one never."""
        job = connection.owed.get(number) if isinstance(number, (int, str)) else None
        if isinstance(job, Job):
            job.cancel()
            if job.task is None:
                self._forget(job)
                job.answer(job.cancelled())

    def lose(self, connection: Connection) -> None:
        """Ends all jobs that came by a connection. None of them is answered."""
        connection.owed.clear()
        for job in [one for one in self._waiting if one.came_by(connection)]:
            self._forget(job)
        for job in [one for one in self._running if one.came_by(connection)]:
            job.release()
            if job.task is not asyncio.current_task():  # a handler may close the client
                job.cancel()

    async def finish(self, seconds: float) -> None:
        """Waits until no task runs, or for that many seconds. The task that calls this may be one of them, and is left out."""
        deadline = self._loop.time() + seconds
        while self._others() and self._loop.time() < deadline:
            await asyncio.wait(self._others(), timeout=deadline - self._loop.time())

    def end(self) -> None:
        """Has the task that rests end, in the loop's next turn, and no other rest. `finish` waits for it."""
        self._is_ending = True
        if self._rest is not None and self._rest.cancel():
            self._tasks.add(self._rest.task)

    def stop(self) -> None:
        """Cancels all jobs, except the one whose task calls this."""
        for job in list(self._waiting):
            self._forget(job)
            job.answer(job.cancelled())
        for job in list(self._running):
            if job.task is not asyncio.current_task():
                job.cancel()

    def give_up(self) -> None:
        """Answers for handlers that go on although they are cancelled, except the one whose task calls this."""
        for job in list(self._running):
            if job.task is not asyncio.current_task():
                job.answer(job.cancelled())

    def _others(self) -> Set[asyncio.Task[None]]:
        """Returns the tasks that run, except the one that calls this."""
        return {task for task in self._tasks if not task.done()} - {asyncio.current_task()}

    def _overloaded(self, connection: Connection, number: Any) -> None:
        if number is not None:
            _refuse(connection, number, OVERLOADED, "overloaded", {"limit": WAITING_BYTES_MAX})
            return
        if self.dropped == 0:
            logger.warning("notifications are dropped from here on: handlers are too slow")
        self.dropped += 1

    def _forget(self, job: Job) -> None:
        """Takes a job out of those that wait."""
        del self._waiting[job]
        self._waiting_bytes -= job.waiting_bytes

    def _start(self) -> None:
        """Makes tasks for the waiting jobs, as far as more may run: one for each job where handlers wait, else one for all."""
        free = self._concurrency - len(self._tasks)
        if free == 0:
            self._turn += 1
        for _ in range(min(free, len(self._waiting) if self._handlers_wait else 1)):
            # The loop's factory may begin a task at once. Then jobs would run within each other, in disorder.
            task = asyncio.Task(self._run(), loop=self._loop)
            self._tasks.add(task)
            self._next_tasks.add(task)

    async def _run(self) -> None:
        """Does the waiting jobs, and rests, in turn. Ends once a handler has waited, or another task rests."""
        task = asyncio.current_task()
        assert task is not None
        self._next_tasks.discard(task)
        rest = Rest(task, self._loop)
        try:
            while await self._work(task, rest.context):
                if self._waiting or self._rest is not None or self._is_ending:
                    break
                self._tasks.discard(task)
                self._rest = rest
                try:
                    await rest
                except asyncio.CancelledError:
                    if self._is_ending:
                        break
                    raise
                finally:
                    self._rest = None
                self._tasks.add(task)
        finally:
            self._tasks.discard(task)
            if self._waiting and not self._next_tasks and not self._is_at_once:
                self._start()

    async def _work(self, task: asyncio.Task[None], context: Context) -> bool:
        """Does one job after the other. False: a handler has waited, was cancelled, or has left its mark on the task."""
        if self._current is not None:
            self._handlers_wait = True
        self._turn += 1
        turn = self._turn
        for _ in range(TURN_JOBS_MAX):
            if not self._waiting:
                break
            job = self._waiting.popitem(last=False)[0]
            self._waiting_bytes -= job.waiting_bytes
            job.task = task
            self._running.add(job)
            if self._waiting and not self._next_tasks and not self._is_at_once:
                self._start()
            self._current = job
            try:
                await job.handle()
            finally:
                self._running.discard(job)
                self._current = None
                job.flush(now=not self._waiting)
            self._handlers_wait = self._turn != turn
            if self._handlers_wait or job.is_cancelled or not _is_as_new(task, context):
                return False
        return True


def _is_as_new(task: asyncio.Task[None], context: Context) -> bool:
    """Whether no handler has left its mark on a task: in its variables, as a callback for its end, or by cancelling it."""
    return (
        copy_context() == context
        and not getattr(task, "_callbacks", None)
        and not getattr(task, "_must_cancel", False)
        and not _cancelling(task)
    )


def _refuse(connection: Connection, number: Any, code: int, message: str, data: Any) -> None:
    error = {"code": code, "message": message, "data": data}
    connection.refuse(body.encode({"jsonrpc": "2.0", "id": number, "error": error}))
