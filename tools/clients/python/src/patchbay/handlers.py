"""Which function answers which method or task."""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, Optional, TypeVar, Union

from .request import Request

__all__ = ["Handler", "Handlers"]

Handler = Callable[[Any, Request], Union[Awaitable[Any], Any]]
H = TypeVar("H", bound=Handler)

TASK_METHOD = "agent/request"
TASK_SHOWN_MAX = 256  # characters of a task that an error names


class Handlers:
    """The handlers of a client. A later one of the same name replaces the earlier one."""

    def __init__(self) -> None:
        self._methods: Dict[str, Handler] = {}
        self._tasks: Dict[str, Handler] = {}

    def add_method(self, name: str) -> Callable[[H], H]:
        return _decorator(self._methods, name)

    def add_task(self, name: str) -> Callable[[H], H]:
        return _decorator(self._tasks, name)

    def find(self, method: str, params: Any) -> Optional[Handler]:
        """Returns the handler of a message: of `agent/request` that of its task, else that of the method; or None."""
        if method == TASK_METHOD and self._tasks and isinstance(params, dict):
            task = params.get("task")
            handler = self._tasks.get(task) if isinstance(task, str) else None
            if handler is not None:
                return handler
        return self._methods.get(method)


def missing(method: str, params: Any) -> Dict[str, str]:
    """Returns the data of an error that says which handler is missing: the method, and of `agent/request` the task."""
    task = params.get("task") if method == TASK_METHOD and isinstance(params, dict) else None
    return {"method": method, "task": task} if isinstance(task, str) and len(task) <= TASK_SHOWN_MAX else {"method": method}


def _decorator(table: Dict[str, Handler], name: str) -> Callable[[H], H]:
    """Returns a decorator that puts a handler in a table. Raises TypeError, as does the decorator for what can't be called."""
    if not isinstance(name, str):  # such as a handler, where the decorator stands without a name
        raise TypeError(f"the name of a handler is a str, not {type(name).__name__}")

    def add(handler: H) -> H:
        if not callable(handler):
            raise TypeError(f"a handler is a function, not {type(handler).__name__}")
        table[name] = handler
        return handler

    return add
