"""Base classes for objects that a ``with`` statement closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

C = TypeVar("C", bound="Closing")
A = TypeVar("A", bound="AsyncClosing")


class Closing(ABC):
    """Context manager that calls :meth:`close` on exit."""

    @abstractmethod
    def close(self) -> None:
        """Releases the resources that the object holds."""

    def __enter__(self: C) -> C:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClosing(ABC):
    """Asynchronous context manager that awaits :meth:`close` on exit."""

    @abstractmethod
    async def close(self) -> None:
        """Releases the resources that the object holds."""

    async def __aenter__(self: A) -> A:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
