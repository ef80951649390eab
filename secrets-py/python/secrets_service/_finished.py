"""Results of other threads for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Done:
    """Callback for a result or an error, called on another thread."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self._loop.create_future()

    def __call__(self, result: Any, error: BaseException | None) -> None:
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
    """Starts work that calls back on another thread, and awaits its result."""
    done = Done()
    begin(done)
    return await done.future
