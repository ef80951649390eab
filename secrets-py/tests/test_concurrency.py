"""Tests with 32 concurrent threads or asyncio tasks, each of which performs 200 operations. They
must not block each other."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from typing import Any

import pytest
import secrets_service
from conftest import name, sign_in
from program import ISSUER
from secrets_service import AsyncClient, AsyncService, AsyncSession, Service

TASKS, OPERATIONS = 32, 200

# Size of a small thread stack, in bytes. With musl, Python uses twice this size.
STACK = 512 * 1024


@pytest.fixture(params=["memory", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Any) -> str:
    return "memory:" if request.param == "memory" else f"sqlite://{tmp_path}/secrets.db"


def test_threads_do_not_wait_forever(url: str) -> None:
    with Service.open(url, root_key=bytes(32)) as service:
        session = sign_in(service, name())
        slug = session.project.create(name="Shop")["slug"]
        done: list[int] = []

        def work(number: int) -> None:
            key = f"K{number}"
            session.secret.create(project=slug, environment="staging", key=key, value="kvc_1")
            for _ in range(OPERATIONS - 1):
                session.secret.get(project=slug, environment="staging", key=key)
            done.append(number)

        threads = [threading.Thread(target=work, args=(one,), daemon=True) for one in range(TASKS)]
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 120
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

        assert sorted(done) == list(range(TASKS))


async def work(session: AsyncSession, slug: str, number: int) -> None:
    key = f"K{number}"
    await session.secret.create(project=slug, environment="staging", key=key, value="kvc_1")
    for _ in range(OPERATIONS - 1):
        await session.secret.get(project=slug, environment="staging", key=key)


def test_tasks_share_a_service(url: str) -> None:
    async def main() -> None:
        async with await AsyncService.open(url, root_key=bytes(32)) as service:
            session = await signed_in(service)
            slug = (await session.project.create(name="Shop"))["slug"]
            everybody = asyncio.gather(*(work(session, slug, number) for number in range(TASKS)))
            await asyncio.wait_for(everybody, 120)

    asyncio.run(main())


def test_the_loop_goes_on_while_the_service_works() -> None:
    async def main() -> None:
        async with await AsyncService.open("memory:") as service:
            session = await signed_in(service)
            slug = (await session.project.create(name="Shop"))["slug"]
            # Deriving a key from a passphrase takes long.
            recipients = [{"type": "passphrase", "passphrase": "correct horse battery staple"}]
            bundle = asyncio.ensure_future(
                session.secret.bundle(project=slug, environment="staging", recipients=recipients)
            )
            rounds = 0
            while not bundle.done():
                rounds += 1
                await asyncio.sleep(0.001)
            # The event loop would run only a few rounds if the call blocked the loop.
            assert rounds > 10
            await bundle

    asyncio.run(main())


def test_the_loop_goes_on_while_a_client_waits(host: Any) -> None:
    host.silent = True

    async def main() -> None:
        async with AsyncClient(host.url, token="env_test") as client:
            calls = [asyncio.ensure_future(client.project.list()) for _ in range(TASKS)]
            # The host would not receive all requests if a call blocked the event loop.
            await host.receive(TASKS)
            for call in calls:
                call.cancel()
            for ended in await asyncio.gather(*calls, return_exceptions=True):
                assert isinstance(ended, asyncio.CancelledError)

    asyncio.run(asyncio.wait_for(main(), 50))


def test_a_cancelled_operation_is_done_completely_or_not_at_all() -> None:
    async def main() -> None:
        async with await AsyncService.open("memory:") as service:
            session = await signed_in(service)
            slug = (await session.project.create(name="Shop"))["slug"]
            for number in range(50):
                create = asyncio.ensure_future(
                    session.secret.create(
                        project=slug, environment="staging", key=f"K{number}", value="kvc_1"
                    )
                )
                await asyncio.sleep(0)
                create.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await create
            # The operations that have started run to their end.
            for _ in range(200):
                listed = await session.secret.list(project=slug, environment="staging")
                if len(listed) == 50:
                    break
                await asyncio.sleep(0.02)
            assert len(listed) == 50
            for secret in listed:
                got = await session.secret.get(
                    project=slug, environment="staging", key=secret["key"]
                )
                assert got["value"] == "kvc_1"

    asyncio.run(main())


def test_tasks_take_turns() -> None:
    async def main() -> None:
        async with await AsyncService.open("memory:") as service:
            session = await signed_in(service)
            slug = (await session.project.create(name="Shop"))["slug"]
            await session.secret.create(
                project=slug, environment="staging", key="URL", value="kvc_1"
            )
            loop = asyncio.get_running_loop()
            for _ in range(50):
                turns: list[str] = []
                loop.call_soon(turns.append, "another")
                await session.secret.get(project=slug, environment="staging", key="URL")
                turns.append("this")
                # Other callbacks of the loop run during a read, although a read in memory does not
                # wait.
                assert turns == ["another", "this"]

    asyncio.run(main())


def test_a_task_that_is_cancelled_leaves_no_error() -> None:
    unhandled: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unhandled.append(context))
        async with await AsyncService.open("memory:") as service:
            session = await signed_in(service)
            for _ in range(20):
                refused = asyncio.ensure_future(session.project.get(project="nothing"))
                await asyncio.sleep(0)
                refused.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await refused
            gc.collect()

    asyncio.run(main())

    assert unhandled == []


def test_a_thread_with_a_small_stack_calls() -> None:
    with Service.open("memory:") as service:
        session = sign_in(service, name())
        slug = session.project.create(name="Shop")["slug"]
        done: list[str] = []

        def work() -> None:
            at = {"project": slug, "environment": "staging", "key": "URL"}
            session.secret.create(**at, value="kvc_1")
            done.append(session.secret.get(**at)["value"])

        # Programs that start many threads use small stacks.
        before = threading.stack_size(STACK)
        try:
            thread = threading.Thread(target=work)
            thread.start()
        finally:
            threading.stack_size(before)
        thread.join(30)

        assert done == ["kvc_1"]


def test_a_timeout_ends_the_wait() -> None:
    async def main() -> None:
        async with await AsyncService.open("memory:") as service:
            session = await signed_in(service)
            # Deriving a key from a passphrase takes longer than this timeout.
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(
                    session.account.export_secrets(
                        include_secrets=True, passphrase="correct horse battery staple"
                    ),
                    0.001,
                )
            assert (await session.user.me())["auth_type"] == "user"

    asyncio.run(main())


def test_operations_go_on_when_their_loop_ends() -> None:
    service = Service.open("memory:")
    session = sign_in(service, name())
    asynchronous = AsyncSession(session._native)

    async def main() -> None:
        for _ in range(20):
            asyncio.ensure_future(asynchronous.project.create(name="Shop"))
        await asyncio.sleep(0)

    for _ in range(5):
        asyncio.run(main())

    deadline = time.monotonic() + 10
    while len(session.project.list()) < 100 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert len(session.project.list()) == 100
    service.close()


def test_errors_are_the_same_when_awaited() -> None:
    async def main() -> None:
        async with await AsyncService.open("memory:") as service:
            session = await signed_in(service)
            with pytest.raises(secrets_service.NotFound):
                await session.project.get(project="nothing")
            with pytest.raises(secrets_service.Unauthenticated):
                await service.as_token("env_nothing").user.me()
        with pytest.raises(ValueError, match="closed"):
            await session.user.me()
        with pytest.raises(ValueError, match="url"):
            await AsyncService.open("nothing")

    asyncio.run(main())


async def signed_in(service: AsyncService) -> AsyncSession:
    person = name()
    return await service.sign_in(issuer=ISSUER, subject=person, email=f"{person}@example.com")
