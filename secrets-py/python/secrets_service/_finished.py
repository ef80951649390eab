"""Futures of asyncio whose results come from other threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from threading import get_ident
from typing import Any


class Done:
    """Callback that sets the result or the error of an asyncio future. Any thread may call it."""

    def __init__(self) -> None:
        self._loop, self._thread = asyncio.get_running_loop(), get_ident()
        self.future: asyncio.Future[Any] = self._loop.create_future()

    def __call__(self, result: Any, error: BaseException | None) -> None:
        if get_ident() == self._thread:
            self._settle(result, error)
            return
        try:
            self._loop.call_soon_threadsafe(self._settle, result, error)
        except RuntimeError:
            # The event loop is closed, so no task is waiting.
            pass

    def _settle(self, result: Any, error: BaseException | None) -> None:
        # The waiting task may have been cancelled.
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


async def finished(begin: Callable[[Done], Any]) -> Any:
    """Calls ``begin``, and awaits the result that ``begin`` reports through its callback.

    ``begin`` gets a :class:`Done` as the callback. It may call the callback before it returns, or
    later on another thread.
    """
    done = Done()
    begin(done)
    if done.future.done():
        # Marks an error as retrieved: asyncio would log it if the task is cancelled below.
        done.future.exception()
        # Lets other tasks run, as an operation that completes later does.
        await asyncio.sleep(0)
    return await done.future
