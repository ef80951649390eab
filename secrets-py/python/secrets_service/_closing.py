"""What is used in a ``with`` statement, and closed at its end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import TypeVar

C = TypeVar("C", bound="Closing")
A = TypeVar("A", bound="AsyncClosing")


class Closing(ABC):
    """Closed at the end of a ``with`` statement."""

    @abstractmethod
    def close(self) -> None:
        """Ends its use."""

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
    """Closed at the end of an ``async with`` statement."""

    @abstractmethod
    async def close(self) -> None:
        """Ends its use."""

    async def __aenter__(self: A) -> A:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
