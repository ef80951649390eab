"""Threads that send the requests of an asyncio client."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar, cast

from ._call import Call
from ._finished import Done, finished

T = TypeVar("T")

# Maximum number of concurrent requests of an AsyncClient.
WORKERS = 32


class Workers:
    """Worker threads that send the requests of an :class:`AsyncClient`, so that the requests do not
    block the event loop.

    The threads end when the client is closed or dropped. They are daemon threads, so a request in
    progress does not delay the end of the program.
    """

    def __init__(self) -> None:
        self._queue = Queue()
        self._lock = threading.Lock()
        self._count = 0
        self._end = weakref.finalize(self, self._queue.jobs.put, None)
        self._end.atexit = False

    async def run(self, call: Call, send: Callable[[], T]) -> T:
        """Sends a request on one of the worker threads. If the asyncio task that awaits the request
        is cancelled, aborts the request."""
        queue = self._queue

        def begin(done: Done) -> None:
            def job() -> None:
                result, error = None, None
                if not done.future.cancelled():
                    try:
                        result = send()
                    except BaseException as raised:
                        error = raised
                # Before the result is set, so that the next request finds this thread idle.
                queue.add_idle(1)
                done(result, error)
                # Breaks a reference cycle: the traceback of the error refers to this frame.
                result, error = None, None

            self._submit(job)

        try:
            return cast(T, await finished(begin))
        except BaseException:
            # The task was cancelled, or its event loop was closed.
            call.abort()
            raise

    def end(self) -> None:
        """Ends the worker threads once all queued requests are completed. Later calls of
        :meth:`run` raise ``ValueError``."""
        with self._lock:
            self._end()

    def _submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            # After the end, no thread would take the job.
            if not self._end.alive:
                raise ValueError("the client is closed")
            if not self._queue.has_idle() and self._count < WORKERS:
                # Before the job is queued: if the thread cannot start, the request is not sent.
                threading.Thread(
                    target=_work, args=(self._queue,), name="secrets-client", daemon=True
                ).start()
                self._count += 1
                self._queue.add_idle(1)
            self._queue.add_idle(-1)
            self._queue.jobs.put(job)


class Queue:
    """Queue of jobs for the worker threads, with a counter: the number of idle threads minus the
    number of queued jobs."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Any] = SimpleQueue()
        self._lock = threading.Lock()
        # Negative if there are more queued jobs than idle threads.
        self._idle = 0

    def has_idle(self) -> bool:
        """Returns True if there are more idle threads than queued jobs, so that another job needs
        no new thread."""
        with self._lock:
            return self._idle > 0

    def add_idle(self, change: int) -> None:
        """Adds ``change`` to the counter: 1 when a thread becomes idle, -1 when a job is queued."""
        with self._lock:
            self._idle += change


def _work(queue: Queue) -> None:
    while True:
        job = queue.jobs.get()
        if job is None:
            # Ends the next thread too.
            queue.jobs.put(None)
            return
        job()
        # A finished request must not keep its client.
        del job
