"""A program with the types that the package promises; test_package.py has mypy check it, and nothing runs it."""

import asyncio
from typing import assert_type

import holdfast_locks
from holdfast_locks import Claim, HoldfastError, Lease, Lock, Loss, State, Term, aio


def threads() -> None:
    with holdfast_locks.Client("sqlite:", ttl=5, label="x") as locks:
        mutex = locks.mutex("a", grace=1.5)
        assert_type(mutex, Lock)
        with mutex.acquire(timeout=2) as lease:
            assert_type(lease, Lease)
            assert_type(lease.token, int)
            assert_type(lease.loss, Loss | None)
        with locks.lock_set("a", locks.semaphore("b", 3)) as lease:
            assert_type(lease.tokens["a"], int)
        with locks.election("e").campaign("me") as term:
            assert_type(term, Term)
            term.proclaim(b"")
        assert_type(locks.election("e").leader(), Claim | None)
        assert_type(locks.inspect("a"), State)
        locks.mutex("a", tll=1)  # type: ignore[call-arg]
        locks.mutex("a", ttl="1")  # type: ignore[arg-type]
        locks.mutex(b"a")  # type: ignore[arg-type]
    assert_type(HoldfastError.code, int)


async def tasks() -> None:
    async with aio.Client() as locks:
        async with locks.reader("a").acquire(timeout=2) as lease:
            assert_type(lease, aio.Lease)
        assert_type(await locks.mutex("a").acquire(), aio.Lease)
        assert_type(await asyncio.wait_for(locks.mutex("a").acquire(), 1), aio.Lease)
        assert_type(asyncio.create_task(locks.mutex("a").acquire()), asyncio.Task[aio.Lease])
        async with locks.election("e").campaign() as term:
            assert_type(term, aio.Term)
        assert_type(await locks.inspect("a"), State)


asyncio.run(tasks())
