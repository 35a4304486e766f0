"""The same for asyncio: what waits is awaited, and a loss cancels the body of ``async with``.

::

    async with aio.Client("redis://localhost") as locks:
        async with locks.mutex("stock/sku-42").acquire(timeout=2) as lease:
            ...

A task that is cancelled while it waits gives up its place in the queue. Objects may be used by any task of any loop.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import warnings
import weakref
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import Any, TypeVar

from . import _base, _core
from ._core import Claim, Operation, Queue, State
from ._errors import HoldfastError
from ._native import ffi, lib

__all__ = ["Acquisition", "Client", "Election", "Lease", "Lock", "Signal", "Term", "Watch"]


class _Ends:
    """The queue of a loop, and the futures of what it will tell of.

    The loop alone has it, as its reader. A loop that is closed drops it, and what ends later is released with the queue.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._queue = Queue()
        self._futures: dict[int, asyncio.Future[Any]] = {}
        self._tags = itertools.count()
        loop.add_reader(self._queue.fd, self._take)

    def start(self, operation: Operation) -> asyncio.Future[Any]:
        tag = next(self._tags)
        operation.start(self._queue.handle, tag)
        future = self._futures[tag] = asyncio.get_running_loop().create_future()
        return future

    def _take(self) -> None:
        while (completion := self._queue.next()) is not None:
            future = self._futures.pop(completion.tag)
            if future.done():
                ffi.release(completion)  # what nobody waits for any more is released
            else:
                future.set_result(completion)


_loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, weakref.ref[_Ends]] = weakref.WeakKeyDictionary()


def _ends() -> _Ends:
    loop = asyncio.get_running_loop()
    known = _loops.get(loop)
    ends = known() if known is not None else None
    if ends is None:
        ends = _Ends(loop)
        _loops[loop] = weakref.ref(ends)
    return ends


async def _run(operation: Operation) -> Any:
    future = _ends().start(operation)
    try:
        return await future
    except BaseException:
        lib.holdfast_stop_request(operation.stop[0])
        if future.done() and not future.cancelled():  # the end came in the moment before the cancellation
            ffi.release(future.result())
        raise


class _Reader:
    """Calls a function when a descriptor becomes readable. It has a copy of it, which others may have, too.

    :param abandoned: called if the loop is closed before, and nothing else refers to the reader.
    """

    _fd = -1

    def __init__(self, fd: int, function: Callable[[], object], abandoned: Callable[[], object] | None = None) -> None:
        self._abandoned = abandoned
        self._loop = asyncio.get_running_loop()
        self._fd = os.dup(fd)
        self._loop.add_reader(self._fd, self._call, function)

    def _call(self, function: Callable[[], object]) -> None:
        self.close()
        function()

    def close(self) -> None:
        if self._fd != -1:
            if not self._loop.is_closed():
                self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if self._fd != -1:
            os.close(self._fd)
            if self._abandoned is not None:
                self._abandoned()


async def _readable(fd: int) -> None:
    future = asyncio.get_running_loop().create_future()
    reader = _Reader(fd, lambda: future.set_result(None))
    try:
        await future
    finally:
        reader.close()


class Signal(_base.SignalBase):
    """Set when something has happened to a lease, as `asyncio.Event`. It stays set."""

    async def wait(self) -> None:
        """Waits until it has happened, as `asyncio.Event`; `asyncio.timeout` limits it. A release of the lease does not end
        the wait.

        :raises NotOwner: after a release.
        """
        await _readable(self.fileno())


class Lease(_base.LeaseBase):
    """What is held of one name or of several, or a wish that has timed out; as `holdfast_locks.Lease`.

    ``async with`` begins with `check`, and releases at the end of the block. If the lease is lost before, the block is
    cancelled, as by `asyncio.timeout`, and `LeaseLost` is raised behind it.
    """

    _reader: Callable[[], _Reader | None] = staticmethod(lambda: None)

    @property
    def lost(self) -> Signal:
        """Set when the first name is lost, as `holdfast_locks.Lease.lost`."""
        return Signal("lost", self, self._lost_fd, lambda: self.loss is not None)

    @property
    def release_requested(self) -> Signal:
        """Set when somebody asks for the release. It stays held until it is released."""
        return Signal("release_requested", self, self._request_fd, lambda: self.release_request is not None)

    async def renew(self) -> None:
        """Renews now, as `holdfast_locks.Lease.renew`."""
        await asyncio.to_thread(self._renew)

    async def downgrade(self) -> None:
        """Changes an exclusive hold to a shared one, as `holdfast_locks.Lease.downgrade`."""
        await asyncio.to_thread(self._downgrade)

    async def release(self) -> None:
        """Releases all names, and waits for the store's confirmation, as `holdfast_locks.Lease.release`.

        If the task is cancelled meanwhile, the release goes on in the background.
        """
        try:
            completion = await _run(self._release())
        except BaseException:
            self._release_unawaited()
            raise
        _core.check(completion)

    async def __aenter__(self: _L) -> _L:
        self._enter()
        if self._reader() is not None:
            raise RuntimeError(f"{self!r} has been entered already")
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self._is_cancelled = False
        try:
            self._reader = weakref.ref(_Reader(self._lost_fd(), self._cancel, self._abandon))  # the loop has it
        except BaseException:  # no descriptor is left: nothing would release it
            self._drop()
            raise
        return self

    def _cancel(self) -> None:
        self._is_cancelled = True
        self._task.cancel()

    def _abandon(self) -> None:
        """The loop was closed in the middle of the body, which will not end."""
        warnings.warn(f"{self!r} was not released when its loop was closed", ResourceWarning, stacklevel=2)
        self._drop()

    async def __aexit__(
        self, kind: type[BaseException] | None, body: BaseException | None, trace: TracebackType | None
    ) -> None:
        if (reader := self._reader()) is not None:
            reader.close()
        loss = None
        if self._is_cancelled and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            loss, body = body, None  # that cancellation was ours, and no other is under way
        try:
            if not self._released:
                await self.release()
            if loss is not None:
                self.check()
        except HoldfastError as failed:
            if loss is not None:
                raise failed from loss
            self._failed_at_exit(failed, body)


class Term(Lease):
    """The lease of a leader, see `Election.campaign`."""

    async def proclaim(self, value: str | bytes) -> None:
        """Replaces the value that others see of this leader, as `holdfast_locks.Term.proclaim`."""
        await asyncio.to_thread(self._proclaim, value)


_L = TypeVar("_L", bound=Lease)


def _current_task() -> object:
    """None outside of a loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class Acquisition(_base.Local, Coroutine[Any, Any, _L]):
    """What `Lock.acquire` returns: a coroutine to be awaited, for a lease, or for ``async with``, which awaits it and
    enters."""

    def __init__(self, lock: _base.LockBase, coroutine: Coroutine[Any, Any, _L]) -> None:
        self._lock = lock
        self._coroutine = coroutine

    def __repr__(self) -> str:
        return f"<Acquisition of {self._lock!r}>"

    def __await__(self) -> Generator[Any, Any, _L]:
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        """As that of each coroutine."""
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        """As that of each coroutine."""
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """As that of each coroutine."""
        self._coroutine.close()

    def __bool__(self) -> bool:
        raise TypeError("nothing is acquired yet: an acquisition has to be awaited")

    async def __aenter__(self) -> _L:
        self._lease = await self
        return await self._lease.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, body: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._lease.__aexit__(kind, body, trace)


class Lock(_base.LockBase):
    """One name or several, in a mode, as `holdfast_locks.Lock`."""

    _user = "task"

    def acquire(self, blocking: bool = True, timeout: float = -1) -> Acquisition[Lease]:
        """Waits in the queue until all names are held.

        Both forms are right::

            async with lock.acquire(timeout=2) as lease: ...   # raises Timeout
            if await lock.acquire(timeout=2): ...              # then await lock.release()

        The parameters and the errors are those of `holdfast_locks.Lock.acquire`.
        """
        return Acquisition(self, self._acquire(_core.acquire_ms(blocking, timeout), _current_task()))

    async def _acquire(self, wait: int, owner: object) -> Lease:
        return self._granted(Lease, await _run(self._request.acquire(wait)), owner or _current_task())

    async def release(self) -> None:
        """Releases what this task has acquired last through this object: the task that has called `acquire`, also if
        another one, as that of `asyncio.wait_for`, has awaited it.

        :raises NotOwner: this task has acquired nothing, or has released it.
        """
        await self._newest(asyncio.current_task()).release()

    async def locked(self) -> bool:
        """Asks the store whether an acquisition would have to wait, for holders of any process."""
        return await asyncio.to_thread(self._is_locked)

    async def __aenter__(self) -> Lease:
        return await self.acquire().__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, body: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._newest(asyncio.current_task()).__aexit__(kind, body, trace)


class Election(_base.ElectionBase):
    """One of those who campaign for the name leads, as `holdfast_locks.Election`."""

    _user = "task"

    def campaign(self, value: str | bytes = b"", timeout: float = -1) -> Acquisition[Term]:
        """Stands by until this candidate is elected, as `holdfast_locks.Election.campaign`."""
        return Acquisition(self, self._elect(_core.value_of(value), _core.wait_ms(timeout)))

    async def _elect(self, value: Any, wait: int) -> Term:
        return self._granted(Term, await _run(self._request.campaign(wait, value)), None)

    async def leader(self) -> Claim | None:
        """Asks the store for the leader."""
        return await asyncio.to_thread(self._leader)

    async def participants(self) -> tuple[Claim, ...]:
        """Asks the store for the leader and those who stand by, in their order."""
        return await asyncio.to_thread(self._participants)


class Watch(_base.WatchBase):
    """Tells of changes of a name, or of any, as `holdfast_locks.Watch`."""

    async def wait(self) -> None:
        """Waits for a change since the last call; `asyncio.timeout` limits it. The first call returns soon."""
        await _readable(self.fileno())
        self.clear()

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class Client(_base.ClientBase[Lock, Election, Watch]):
    """One store, its connections, and the keeper of its leases, as `holdfast_locks.Client`."""

    _lock, _election, _watch = Lock, Election, Watch

    async def close(self) -> None:
        """Ends it, as `holdfast_locks.Client.close`."""
        await asyncio.to_thread(self._close)

    async def inspect(self, name: str, most_waiters: int | None = None) -> State:
        """The state of a name, as `holdfast_locks.Client.inspect`."""
        return await asyncio.to_thread(self._inspect, name, most_waiters)

    async def request_release(self, name: str, reason: str = "", token: int = 0) -> int:
        """Asks holders to release a name, as `holdfast_locks.Client.request_release`."""
        return await asyncio.to_thread(self._request_release, name, reason, token)

    async def force_release(self, name: str, token: int = 0) -> int:
        """Ends holds, as `holdfast_locks.Client.force_release`."""
        return await asyncio.to_thread(self._force_release, name, token)

    async def __aenter__(self) -> Client:
        self._enter()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
