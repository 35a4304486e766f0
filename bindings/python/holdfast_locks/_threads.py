"""The blocking face: it waits without the GIL, and signals such as Ctrl-C end the wait."""

from __future__ import annotations

import os
import select
import threading
from types import BuiltinFunctionType, TracebackType
from typing import Any, TypeVar

from . import _base, _core
from ._base import is_readable
from ._core import Claim, Operation, Queue, State
from ._errors import Closed, HoldfastError
from ._native import ffi, lib

# How long a call waits in C, where it reads the answer itself. No signal is handled meanwhile.
_PATIENCE_MS = 5

# Queues that no call waits with at this moment, few of them, since each has a descriptor. A signal handler may acquire a
# lock while its thread waits for another, so that a thread does not have one of its own.
_idle: list[tuple[Queue, Any]] = []
_MOST_IDLE = 8
os.register_at_fork(after_in_child=_idle.clear)


def _patience_ms() -> int:
    """0 where gevent has put its own poll in place of the kernel's: a wait in C would stop all greenlets."""
    return _PATIENCE_MS if isinstance(select.poll, BuiltinFunctionType) else 0


def _run(operation: Operation) -> Any:
    """Waits for an operation. An exception, as that of Ctrl-C, gives it up: what it acquires later is released."""
    try:
        queue, poll = _idle.pop()
    except IndexError:
        queue, poll = Queue(_patience_ms()), select.poll()
        poll.register(queue.fd, select.POLLIN)
    completion = None
    try:
        operation.start(queue.handle, 0)
        while (completion := queue.next()) is None:
            poll.poll()
    except BaseException:
        lib.holdfast_stop_request(operation.stop[0])
        queue.close()
        if completion is not None:
            ffi.release(completion)
        raise
    if len(_idle) < _MOST_IDLE:
        _idle.append((queue, poll))
    return completion


class Signal(_base.SignalBase):
    """Set when something has happened to a lease, as `threading.Event`. It stays set."""

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it has happened, at most ``timeout`` seconds. False if it has not.

        A release of the lease does not end the wait.

        :raises NotOwner: after a release.
        """
        return is_readable(self.fileno(), timeout)


class Lease(_base.LeaseBase):
    """What is held of one name or of several, or a wish that has timed out.

    It is true while it is held: from its grant until it is lost or released. If the wait has timed out it is false from
    the beginning, and everything else raises `Timeout`. It may be used from any thread at any time.

    A lease of which no reference is left is released, without waiting for the store; the object through which it was
    acquired has one.

    ``with`` begins with `check`. It releases at the end of the block, and raises `LeaseLost` there if the lease had ended
    before, so that another may have held during the work. A loss does not interrupt the block: see `lost` and `check`.
    """

    @property
    def lost(self) -> Signal:
        """Set when the first name is lost, at or before the deadline, as far as the machine lets the process run then;
        never after a release."""
        return Signal("lost", self, self._lost_fd, lambda: self.loss is not None)

    @property
    def release_requested(self) -> Signal:
        """Set when somebody asks for the release (`Client.request_release`). It stays held until it is released."""
        return Signal("release_requested", self, self._request_fd, lambda: self.release_request is not None)

    def renew(self) -> None:
        """Renews now, and waits for the store's answer until the deadline at most. Needed only with ``renewal=False``.

        :raises LeaseLost: also `NotOwner` after a release; `UnknownOutcome`: no answer, it is held until its unchanged
            deadline.
        """
        self._renew()

    def downgrade(self) -> None:
        """Changes an exclusive hold of one name, on ZooKeeper that of a `Client.writer`, to a shared one without a release.

        :raises LeaseLost: also `Unavailable`, when it is exclusive still; `UnknownOutcome`, when it counts as shared;
            `WrongType` for permits; `InvalidArgument` for several names; `NotOwner` after a release.
        """
        self._downgrade()

    def release(self) -> None:
        """Releases all names, and waits for the store's confirmation; until the ttl has surely ended the hold at most.

        If an exception such as that of Ctrl-C ends the wait, the release goes on in the background.

        :raises LeaseLost: it had ended before, so that another may have held during the work; also `NotOwner` after a
            release; `UnknownOutcome`: the store could not be asked until the ttl had surely ended it.
        """
        try:
            completion = _run(self._release())
        except BaseException:
            self._release_unawaited()
            raise
        _core.check(completion)

    def __enter__(self: _L) -> _L:
        self._enter()
        return self

    def __exit__(self, kind: type[BaseException] | None, body: BaseException | None, trace: TracebackType | None) -> None:
        if self._released:
            return
        try:
            self.release()
        except HoldfastError as failed:
            self._failed_at_exit(failed, body)


class Term(Lease):
    """The lease of a leader, see `Election.campaign`."""

    def proclaim(self, value: str | bytes) -> None:
        """Replaces the value that others see of this leader: at most 4096 bytes.

        :raises LeaseLost: also `UnknownOutcome`, when others may see either; `InvalidArgument`; `NotOwner` after a
            release; `Unavailable` and other refusals of the store.
        """
        self._proclaim(value)


_L = TypeVar("_L", bound=Lease)


class Lock(_base.LockBase):
    """One name or several, in a mode, with the protocol of `threading.Lock`.

    Each acquisition waits in the queue of the store, first come first served, and is a `Lease` of its own. One object may
    be used by any number of threads. It is not recursive.
    """

    def acquire(self, blocking: bool = True, timeout: float = -1) -> Lease:
        """Waits in the queue until all names are held.

        Both forms are right::

            with lock.acquire(timeout=2) as lease: ...   # raises Timeout
            if lock.acquire(timeout=2): ...              # then lock.release()

        :param blocking: False: ask the store once and do not enter the queue.
        :param timeout: seconds to wait at most; -1: as long as it takes.
        :return: the lease; a false one if another held a name for all of that time.
        :raises Unavailable: or `UnknownOutcome`: the store does not answer; a claim that it may have is withdrawn in the
            background; also `InvalidName`, `InvalidArgument`, `WrongType`, `PermissionDenied`, `ForeignStore`,
            `CorruptStore`, `Exhausted`, `Closed`; `LeaseLost`: the answer took longer than the ttl lasts, several times.
        """
        completion = _run(self._request.acquire(_core.acquire_ms(blocking, timeout)))
        return self._granted(Lease, completion, threading.get_ident())

    def release(self) -> None:
        """Releases what this thread has acquired last through this object, as `Lease.release`.

        :raises NotOwner: this thread has acquired nothing, or has released it. Another thread's is released by
            `Lease.release`.
        """
        self._newest(threading.get_ident()).release()

    def locked(self) -> bool:
        """Asks the store whether an acquisition would have to wait, for holders of any process."""
        return self._is_locked()

    def __enter__(self) -> Lease:
        return self.acquire()

    def __exit__(self, kind: type[BaseException] | None, body: BaseException | None, trace: TracebackType | None) -> None:
        self._newest(threading.get_ident()).__exit__(kind, body, trace)


class Election(_base.ElectionBase):
    """One of those who campaign for the name leads; the others stand by, in their order."""

    def campaign(self, value: str | bytes = b"", timeout: float = -1) -> Term:
        """Stands by until this candidate is elected. Once it stands by, it stays so while the store is out of reach.

        :param value: others see it, such as an address: at most 4096 bytes.
        :param timeout: seconds to wait at most; -1: as long as it takes.
        :return: the term, a lease; a false one if it was not elected in that time.
        :raises Unavailable: and the others of `Lock.acquire`.
        """
        operation = self._request.campaign(_core.wait_ms(timeout), _core.value_of(value))
        return self._granted(Term, _run(operation), threading.get_ident())

    def leader(self) -> Claim | None:
        """Asks the store for the leader, of another library's clients, too. Its value is in ``Claim.value``."""
        return self._leader()

    def participants(self) -> tuple[Claim, ...]:
        """Asks the store for the leader and those who stand by, in their order."""
        return self._participants()


class Watch(_base.WatchBase):
    """Tells of changes of a name, or of any.

    ::

        with locks.watch("stock/sku-42") as watch:
            while watch.wait():
                print(locks.inspect("stock/sku-42"))
    """

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for a change since the last call, at most ``timeout`` seconds. False if there was none. The first call
        returns soon."""
        changed = is_readable(self.fileno(), timeout)
        self.clear()
        return changed

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Client(_base.ClientBase[Lock, Election, Watch]):
    """One store, its connections, and the keeper of its leases.

    Make one per store and process. It connects in the background, so the first request reports a server that does not
    answer. It may be used from any thread at any time.

    In a child after ``fork()`` everything that belongs to a client of the parent raises `Closed`, and touches nothing of
    the parent's; a child opens a client of its own.

    :param url: as docs/stores/README.md lists them; None: HOLDFAST_STORE of the environment, else ``sqlite:``, a file of
        this user.
    :param password: of the store, if it should not stand in the URL.
    :param program: shown to people who look: at most 256 bytes; default: the name of the script, or of the module of
        ``-m``, else of the interpreter.
    :param flush_limit: how many seconds closing waits for releases under way; default 2.
    :param options: of all locks of this client, see `Options`.
    :raises InvalidURL: also `InvalidArgument`, `Unavailable`, `PermissionDenied`, `ForeignStore`, `CorruptStore`,
        `Exhausted`.
    """

    _lock, _election, _watch = Lock, Election, Watch

    def close(self) -> None:
        """Ends it: its waits raise `Closed`, its leases are lost, releases are sent.

        Waits for the store for at most ``flush_limit``. A client that is not closed is closed when the process ends.
        """
        self._close()

    def inspect(self, name: str, most_waiters: int | None = None) -> State:
        """The state of a name.

        :param most_waiters: of them; 0: the holders alone; None: all.
        """
        return self._inspect(name, most_waiters)

    def request_release(self, name: str, reason: str = "", token: int = 0) -> int:
        """Asks holders to release a name, and returns how many were asked. They hear of it, and decide.

        :param reason: for people: at most 200 bytes.
        :param token: that of the holder to ask; 0: all of them.
        """
        return self._request_release(name, reason, token)

    def force_release(self, name: str, token: int = 0) -> int:
        """Ends holds, of any client, at once, and returns how many. Until a holder notices its loss, only the token
        fences what it does.

        :param token: that of the hold to end; 0: all of them.
        """
        return self._force_release(name, token)

    def __enter__(self) -> Client:
        self._enter()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Fence(_base.Local):
    """Refuses holders that act late: for the service, or the owner of a file, that a lock protects.

    It may be used from any thread.

    :param file: where it keeps its tokens, made if it does not exist; None: in memory.
    :param timeout: seconds to wait for another fence that has the file. Signals are not handled meanwhile.
    :param most: how many resources it remembers; 0: 65 536.
    :raises Timeout: also `ForeignStore`, `CorruptStore`, `PermissionDenied`, `Exhausted`, `Unavailable`.
    """

    def __init__(self, file: str | os.PathLike[str] | None = None, timeout: float = 0, most: int = 0) -> None:
        self._file = None if file is None else os.fsdecode(file)
        path = _core.utf8_or_null("file", self._file)
        wait = _core.time_ms("timeout", timeout)
        self._owner: Any = _core.opened(
            "holdfast_fence **", lib.free_fence, lib.holdfast_fence_open, path, wait, _core.whole("most", most, "size_t")
        )

    @property
    def _handle(self) -> Any:
        if self._owner[0] == ffi.NULL:
            raise Closed("the fence was closed")
        return self._owner[0]

    def __repr__(self) -> str:
        place = "in memory" if self._file is None else repr(self._file)
        return f"<Fence {place}{', closed' if self._owner[0] == ffi.NULL else ''}>"

    def admit(self, resource: str, token: int) -> bool:
        """Admits a token that is not older than the largest one of the resource, and remembers it.

        Hold a mutex of the resource over this call and the access. Do not write if it is false, or if it raises.

        :raises InvalidName: also, if the file cannot be written, `Exhausted`, `PermissionDenied`, `Unavailable`;
            `Closed` in a child after fork.
        """
        admitted = ffi.new("bool *")
        number = _core.whole("token", token, "uint64_t")
        _core.call(lib.holdfast_fence_admit, self._handle, _core.name_of(resource), number, admitted)
        return bool(admitted[0])

    def largest(self, resource: str) -> int:
        """The largest token of the resource that was admitted; zero if none is remembered."""
        token = ffi.new("uint64_t *")
        _core.call(lib.holdfast_fence_largest, self._handle, _core.name_of(resource), token)
        return int(token[0])

    def close(self) -> None:
        """Releases its file, once no thread uses it."""
        self._owner = [ffi.NULL]

    def __enter__(self) -> Fence:
        _ = self._handle
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
