"""The face for asyncio, on each store."""

import asyncio
import contextlib
import gc
import os
import resource
import select
import threading
import time

import holdfast_locks
import pytest
from holdfast_locks import LeaseLost, Loss, NotOwner, Timeout, aio

if os.environ.get("HOLDFAST_PYTHON_LOOP") == "uvloop":
    asyncio.set_event_loop_policy(__import__("uvloop").EventLoopPolicy())


@pytest.fixture
def run(url):
    """Runs a test with a client of its own."""

    def run(test):
        async def with_client():
            async with aio.Client(url, ttl=10) as locks:
                await asyncio.wait_for(test(locks), 60)

        asyncio.run(with_client(), debug=True)

    return run


async def wait_until(condition):
    deadline = time.monotonic() + 30
    while not await condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


async def queued(locks, name, count):
    async def are():
        return len((await locks.inspect(name)).waiters) == count

    await wait_until(are)


def test_both_forms_of_acquire(run, name):
    async def test(locks):
        async with locks.mutex(name).acquire(timeout=30) as first:
            assert first and await locks.mutex(name).locked()
            assert not await locks.mutex(name).acquire(blocking=False)
            with pytest.raises(Timeout):
                async with locks.mutex(name).acquire(timeout=1):
                    pytest.fail("the body ran")
        lock = locks.mutex(name)
        second = await lock.acquire()
        assert second.token > first.token
        await lock.release()
        with pytest.raises(NotOwner, match="this task has not acquired"):
            await lock.release()
        async with lock as third:
            assert third.token > second.token
        with pytest.raises(NotOwner):
            await third.release()

    run(test)


def test_an_acquisition_that_is_not_awaited_is_refused_and_reported(run, name):
    async def test(locks):
        with pytest.warns(RuntimeWarning, match="never awaited"), pytest.raises(TypeError, match="has to be awaited"):
            if locks.mutex(name).acquire(blocking=False):
                pytest.fail("it counts as acquired")

    run(test)


def test_an_acquisition_is_a_coroutine_and_belongs_to_the_task_that_has_called_for_it(run, name):
    async def test(locks):
        first, second = locks.mutex(f"{name}/1"), locks.mutex(f"{name}/2")
        assert await asyncio.wait_for(first.acquire(), 30)
        await first.release()
        assert all(await asyncio.gather(first.acquire(), second.acquire()))
        await first.release()
        await second.release()
        for start in (asyncio.create_task, asyncio.ensure_future):
            acquisition = first.acquire()
            lease = await start(acquisition)
            with pytest.raises(RuntimeError, match="already awaited"):
                await acquisition
            await first.release()
            assert not lease

        async def acquire():
            return await second.acquire()

        lease = await asyncio.create_task(acquire())
        with pytest.raises(NotOwner):
            await second.release()
        await lease.release()

    run(test)


def test_a_lease_is_entered_once_and_only_while_it_is_held(run, name):
    async def test(locks):
        lease = await locks.mutex(name).acquire()
        async with lease:
            with pytest.raises(RuntimeError, match="entered already"):
                async with lease:
                    pytest.fail("the body ran")
            assert lease
        with pytest.raises(NotOwner, match="was released"):
            async with lease:
                pytest.fail("the body ran")
        lost = await locks.mutex(name).acquire()
        await locks.force_release(name)
        await lost.lost.wait()
        with pytest.raises(LeaseLost, match="lost: the store no longer has it"):
            async with lost:
                pytest.fail("the body ran")

    run(test)


def test_tasks_exclude_each_other_in_their_order(run, name):
    async def test(locks):
        lock = locks.mutex(name)
        order = []

        async def work(number):
            async with lock:
                order.append(number)

        async with asyncio.TaskGroup() as group, lock:
            for number in range(4):
                group.create_task(work(number))
                await queued(locks, name, number + 1)
            assert order == []
        assert order == [0, 1, 2, 3]

    run(test)


def test_a_loss_cancels_the_body(run, others, name):
    async def test(locks):
        with pytest.raises(LeaseLost, match=name) as raised:
            async with locks.mutex(name).acquire() as lease:
                assert await asyncio.to_thread(others.force_release, name) == 1
                await asyncio.sleep(30)
                pytest.fail("the body was not cancelled")
        assert isinstance(raised.value.__cause__, asyncio.CancelledError)
        assert asyncio.current_task().cancelling() == 0
        assert lease.loss is Loss.ENDED_AT_STORE
        await asyncio.sleep(0)  # no cancellation is left

    run(test)


def test_a_loss_beside_a_timeout_and_beside_a_cancellation(run, name):
    async def test(locks):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                async with locks.mutex(name).acquire():
                    await asyncio.sleep(60)
        async with locks.mutex(name).acquire(timeout=9):  # less than the ttl
            pass

        with pytest.raises(LeaseLost):
            async with asyncio.timeout(60), locks.mutex(name).acquire():
                await locks.force_release(name)
                await asyncio.sleep(60)

        async def body(entered):
            async with locks.mutex(name).acquire() as lease:
                entered.set()
                try:
                    await asyncio.sleep(60)
                finally:
                    await locks.force_release(name)
                    await lease.lost.wait()

        entered = asyncio.Event()
        task = asyncio.create_task(body(entered))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    run(test)


def test_a_loss_that_comes_too_late_to_cancel_is_raised(run, name):
    async def test(locks):
        with pytest.raises(LeaseLost):
            async with locks.mutex(name).acquire():
                locks._force_release(name, 0)  # without a moment for the loop
        with pytest.raises(KeyError) as raised:
            async with locks.mutex(name).acquire():
                locks._force_release(name, 0)
                raise KeyError
        assert "lost" in raised.value.__notes__[0]

    run(test)


def test_a_cancelled_wait_gives_up_its_place(run, others, name):
    async def test(locks):
        with others.mutex(name):
            task = asyncio.create_task(locks.mutex(name).acquire().__aenter__())
            await queued(locks, name, 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await queued(locks, name, 0)
        async with locks.mutex(name).acquire(timeout=30):
            pass

    run(test)


def test_a_cancellation_at_any_moment_leaks_nothing(run, others, name):
    async def test(locks):
        lock = locks.mutex(name)
        for moment in range(60):
            task = asyncio.create_task(lock.acquire())
            for _ in range(moment % 6):
                await asyncio.sleep(0)
            if moment % 2:
                await asyncio.sleep(moment / 20000)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await (await task).release()
        gc.collect()
        with others.mutex(name).acquire(timeout=9) as lease:  # less than the ttl
            assert lease

    run(test)


def test_a_cancellation_right_after_the_grant_releases_it(run, others, name):
    async def test(locks):
        task = asyncio.create_task(locks.mutex(name).acquire())
        await asyncio.sleep(0)
        ends = aio._ends()
        assert select.select([ends._queue.fd], [], [], 30)[0]
        ends._take()
        task.cancel()  # which keeps its exception, with all frames
        await asyncio.wait([task])
        assert task.cancelled()
        with others.mutex(name).acquire(timeout=9) as lease:  # less than the ttl
            assert lease

    run(test)


def test_signals_and_the_other_calls(run, others, name):
    async def test(locks):
        async with locks.writer(name, label="night run").acquire() as lease:
            waits = [asyncio.create_task(lease.release_requested.wait()) for _ in range(2)]
            await asyncio.sleep(0)
            assert await locks.request_release(name, "please") == 1
            await asyncio.gather(*waits)
            assert lease.release_request == "please"
            await lease.renew()
            await lease.downgrade()
            assert others.reader(name).acquire(timeout=30)
        async with locks.watch(name) as watch:
            await watch.wait()

    run(test)


def test_an_election(run, name):
    async def test(locks):
        election = locks.election(name)
        async with election.campaign("first", timeout=30) as term:
            await term.proclaim("changed")
            assert (await election.leader()).value == b"changed"
            assert not await election.campaign("second", timeout=0)
            assert len(await election.participants()) == 1
        with pytest.raises(LeaseLost):
            async with election.campaign():
                await locks.force_release(name)
                await asyncio.sleep(60)

    run(test)


def test_a_loop_that_ends_leaves_nothing(url, others, name):
    """Also that of a thread, and of several runs with one client."""
    locks = aio.Client(url, ttl=10)

    async def wait_and_leave():
        waiting = asyncio.create_task(locks.mutex(name).acquire())
        await queued(locks, name, 1)
        assert not waiting.done()

    for _ in range(2):
        with others.mutex(name):
            thread = threading.Thread(target=lambda: asyncio.run(wait_and_leave()))
            thread.start()
            thread.join()
        with others.mutex(name).acquire(timeout=9) as lease:
            assert lease

    async def close():
        await locks.close()
        with pytest.raises(holdfast_locks.Closed):
            await locks.mutex(name).acquire()

    asyncio.run(close())


def test_a_thousand_waits_have_one_descriptor(run, name):
    async def test(locks):
        async with locks.mutex(name).acquire() as lease:
            tasks = [asyncio.create_task(locks.mutex(name).acquire(timeout=40)) for _ in range(300)]
            await queued(locks, name, 300)
            assert len(os.listdir("/proc/self/fd")) < 60
            for task in tasks[150:]:
                task.cancel()
            await queued(locks, name, 150)
            await lease.release()
        for task in tasks[:150]:
            await (await task).release()

    run(test)


def test_a_body_without_descriptors_is_not_entered_and_holds_nothing(run, others, name):
    async def test(locks):
        lock = locks.mutex(name)
        async with lock:
            pass
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        lease = await lock.acquire()
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, limit[1]))
        try:
            with pytest.raises((OSError, holdfast_locks.Exhausted)):
                await lease.__aenter__()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        await asyncio.sleep(0)  # until then the loop has the end of the acquisition
        with others.mutex(name).acquire(timeout=9) as free:  # less than the ttl, while the lock object lives
            assert free

    run(test)


def test_a_loop_that_is_closed_with_tasks_leaves_no_hold(url, others, name):
    """Also while the task, which never ends, and the lock live."""
    locks = aio.Client(url, ttl=10)
    lock = locks.mutex(name)
    loop = asyncio.new_event_loop()
    with others.mutex(name):
        waiting = loop.create_task(lock.acquire())
        loop.run_until_complete(queued(locks, name, 1))
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
    with others.mutex(name).acquire(timeout=9):  # less than the ttl
        assert not waiting.done()


def test_a_loop_that_is_closed_in_a_body_releases_it(url, others, name):
    """Also while the task, which never ends, and the lock live."""
    locks = aio.Client(url, ttl=10)
    lock = locks.mutex(name)
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # it says that the task was destroyed
    entered = asyncio.Event()

    async def hold():
        async with lock.acquire():
            entered.set()
            await asyncio.sleep(1000)

    task = loop.create_task(hold())
    loop.run_until_complete(entered.wait())
    descriptors = len(os.listdir("/proc/self/fd"))
    with pytest.warns(ResourceWarning, match=rf"<Lease of '{name}', held> was not released when its loop was closed"):
        loop.close()
        gc.collect()
    assert len(os.listdir("/proc/self/fd")) < descriptors
    with others.mutex(name).acquire(timeout=9):  # less than the ttl
        assert not task.done()


def test_a_wait_that_is_closed_ends_quietly(run, name):
    async def test(locks):
        async with locks.mutex(name).acquire():
            waiting = locks.mutex(name).acquire()
            waiting.send(None)
            waiting.close()
            await queued(locks, name, 0)

    run(test)
