"""Threads of an asyncio client."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from ._call import Call

T = TypeVar("T")

# Maximum number of concurrent requests of an AsyncClient.
WORKERS = 32

Jobs = SimpleQueue[Any]


class Workers:
    """Daemon threads that perform requests, so that they do not block the event loop.

    The threads end when the client is closed or dropped. They are daemon threads, so a request in
    progress does not delay the end of the program.
    """

    def __init__(self) -> None:
        self._jobs: Jobs = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._lock = threading.Lock()
        self._count = 0
        self._end = weakref.finalize(self, self._jobs.put, None)
        self._end.atexit = False

    async def run(self, call: Call, send: Callable[[], T]) -> T:
        """Sends a request on a thread. If the task is cancelled, the request is aborted."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            # The waiting task may have been cancelled.
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        def job() -> None:
            result, error = None, None
            if future.cancelled():
                return
            try:
                result = send()
            except BaseException as raised:
                error = raised
            try:
                loop.call_soon_threadsafe(settle, result, error)
            except RuntimeError:
                # The event loop is closed, so no task is waiting.
                pass
            # An exception refers to this frame: do not keep both.
            result, error = None, None

        self._submit(job)
        try:
            return await future
        except BaseException:
            # The task was cancelled, or its event loop was closed.
            call.abort()
            raise

    def end(self) -> None:
        """Lets the threads end after the queued requests."""
        with self._lock:
            self._end()

    def _submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            # After the end, no thread would take the job.
            if not self._end.alive:
                raise ValueError("the client is closed")
            self._jobs.put(job)
            if not self._idle.acquire(blocking=False) and self._count < WORKERS:
                self._count += 1
                threading.Thread(
                    target=_work, args=(self._jobs, self._idle), name="secrets-client", daemon=True
                ).start()


def _work(jobs: Jobs, idle: threading.Semaphore) -> None:
    while True:
        try:
            job = jobs.get_nowait()
        except Empty:
            idle.release()
            job = jobs.get()
        if job is None:
            # For the next thread.
            jobs.put(None)
            return
        job()
        # A finished request must not keep its client.
        del job
