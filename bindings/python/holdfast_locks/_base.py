"""What threads and asyncio have in common: clients, locks, leases and signals, without what waits."""

from __future__ import annotations

import atexit
import os
import select
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Generic, NoReturn, TypeVar, Unpack

from . import _core
from ._core import Claim, Loss, Mode, Operation, Options, Request, Spec, State
from ._errors import Closed, HoldfastError, InvalidArgument, LeaseLost, NotOwner, Timeout
from ._native import ffi, lib

LockT = TypeVar("LockT", bound="LockBase")
ElectionT = TypeVar("ElectionT", bound="ElectionBase")
WatchT = TypeVar("WatchT", bound="WatchBase")
LeaseT = TypeVar("LeaseT", bound="LeaseBase")

# A process that ends does not free its objects, and what it holds would stay held until its ttl.
_open_clients: weakref.WeakSet[ClientBase[Any, Any, Any]] = weakref.WeakSet()


@atexit.register
def _close_clients() -> None:
    for client in list(_open_clients):
        _close_client(client._owner)


def _close_client(owner: Any) -> None:
    lib.holdfast_client_close(owner[0])


class Local:
    """What belongs to this process, and has no copy."""

    def __reduce__(self) -> NoReturn:
        kind = type(self)
        raise TypeError(f"cannot pickle or copy {kind.__module__}.{kind.__qualname__}: it belongs to one process")


class ClientBase(Local, Generic[LockT, ElectionT, WatchT]):
    """A client, without what waits."""

    _lock: ClassVar[type[Any]]
    _election: ClassVar[type[Any]]
    _watch: ClassVar[type[Any]]

    def __init__(
        self,
        url: str | None = None,
        *,
        password: str | None = None,
        program: str | None = None,
        flush_limit: float | None = None,
        **options: Unpack[Options],
    ) -> None:
        self._options = options
        self._process = os.getpid()
        self._is_closed = False
        self._owner = _core.open_client(url, password, program, flush_limit, options)
        self.url = _core.text_of(lib.holdfast_client_url(self._owner[0]))
        """The URL with its password masked."""
        _open_clients.add(self)
        multiprocessing = sys.modules.get("multiprocessing")
        if multiprocessing is not None and multiprocessing.parent_process() is not None:  # it may end without atexit
            multiprocessing.util.Finalize(self, _close_client, (self._owner,), exitpriority=-100)

    def mutex(self, name: str, **options: Unpack[Options]) -> LockT:
        """A name that one holder has at a time.

        :param name: 1 to 512 bytes of UTF-8 without control characters.
        :param options: in place of the client's, see `Options`.
        """
        return self._made([Spec(name, Mode.EXCLUSIVE)], options)

    def reader(self, name: str, **options: Unpack[Options]) -> LockT:
        """A name that any number of readers have at a time, and no writer: the reading side of a shared lock."""
        return self._made([Spec(name, Mode.SHARED)], options)

    def writer(self, name: str, **options: Unpack[Options]) -> LockT:
        """The writing side of a shared lock. It excludes as `mutex` does; readers of other libraries on ZooKeeper heed it,
        too."""
        return self._made([Spec(name, Mode.WRITER)], options)

    def semaphore(self, name: str, capacity: int, permits: int = 1, **options: Unpack[Options]) -> LockT:
        """A name with ``capacity`` permits, the same number for all users, of which each acquisition takes ``permits``."""
        number = _core.whole("permits", permits, "int64_t")
        most = _core.whole("capacity", capacity, "int64_t")
        return self._made([Spec(name, Mode.PERMITS, number, most)], options)

    def lock_set(self, *locks: str | LockBase, **options: Unpack[Options]) -> LockT:
        """Several names, acquired together or not at all, without deadlock.

        :param locks: names of mutexes, or locks of this client, whose own options do not count.
        """
        specs: list[Spec] = []
        for lock in locks:
            if isinstance(lock, str):
                specs.append(Spec(lock, Mode.EXCLUSIVE))
            elif not isinstance(lock, LockBase):
                raise _core.wrong_type("each lock of a set", "str or a lock", lock)
            elif lock.client is not self:
                raise InvalidArgument(f"{lock!r} is a lock of another client")
            else:
                specs += lock._request.specs
        return self._made(specs, options)

    def election(self, name: str, **options: Unpack[Options]) -> ElectionT:
        """An election: one of those who campaign for the name leads."""
        election: ElectionT = self._election(self, [Spec(name, Mode.EXCLUSIVE)], options)
        return election

    def watch(self, name: str | None = None) -> WatchT:
        """Tells of changes of a name, or of any.

        :raises Closed: also `InvalidName`, `Exhausted`.
        """
        watch: WatchT = self._watch(self, name)
        return watch

    def _made(self, specs: Iterable[Spec], options: Options) -> LockT:
        lock: LockT = self._lock(self, specs, options)
        return lock

    @property
    def _is_of_parent(self) -> bool:
        return self._process != os.getpid()

    def _enter(self) -> None:
        if self._is_closed or self._is_of_parent:
            raise Closed(f"{self!r}: open a client in this process")

    def _close(self) -> None:
        self._is_closed = True
        _close_client(self._owner)

    def _inspect(self, name: str, most_waiters: int | None) -> State:
        all_of_them = 2 ** (8 * ffi.sizeof("size_t")) - 1
        most = all_of_them if most_waiters is None else _core.whole("most_waiters", most_waiters, "size_t")
        return _core.inspect(lib.holdfast_inspect, self._owner[0], _core.name_of(name), most)

    def _request_release(self, name: str, reason: str, token: int) -> int:
        count = ffi.new("size_t *")
        number = _core.whole("token", token, "uint64_t")
        text = _core.utf8("reason", reason)
        _core.call(lib.holdfast_request_release, self._owner[0], _core.name_of(name), number, text, count)
        return int(count[0])

    def _force_release(self, name: str, token: int) -> int:
        count = ffi.new("size_t *")
        number = _core.whole("token", token, "uint64_t")
        _core.call(lib.holdfast_force_release, self._owner[0], _core.name_of(name), number, count)
        return int(count[0])

    def __repr__(self) -> str:
        state = ", of the parent process" if self._is_of_parent else ", closed" if self._is_closed else ""
        return f"<{type(self).__qualname__} {self.url}{state}>"


class LockBase(Local):
    """What is locked: one name or several, in a mode."""

    _user: ClassVar[str] = "thread"

    def __init__(self, client: ClientBase[Any, Any, Any], specs: Iterable[Spec], options: Options) -> None:
        self.client = client
        merged: Options = {**client._options, **options}
        self._request = Request(client._owner, list(specs), merged)
        self._held: dict[LeaseBase, object] = {}  # with the thread or task that has acquired each

    @property
    def names(self) -> tuple[str, ...]:
        """What is locked."""
        return self._request.names

    @property
    def _list(self) -> str:
        return ", ".join(map(repr, self.names))

    def _granted(self, kind: type[LeaseT], completion: Any, owner: object) -> LeaseT:
        lease = kind(self, completion)
        if lease._timeout is None:
            self._held[lease] = owner  # last: from here to the caller no exception of a signal comes
        return lease

    def _newest(self, owner: object) -> Any:
        """What this thread or task has acquired last and not released. That of another is not released by mistake."""
        for lease, holder in reversed(list(self._held.items())):
            if holder == owner:
                return lease
        raise NotOwner(f"this {self._user} has not acquired {self._list} through this object; use lease.release()")

    def _is_locked(self) -> bool:
        return any(self._is_taken(spec) for spec in self._request.specs)

    def _is_taken(self, spec: Spec) -> bool:
        holders = self.client._inspect(spec.name, 0).holders
        if spec.mode is Mode.SHARED:
            return any(holder.mode is not Mode.SHARED for holder in holders)
        if spec.mode is Mode.PERMITS:
            return sum(holder.permits for holder in holders) + spec.permits > spec.capacity
        return bool(holders)

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__} {self._list}>"


class ElectionBase(LockBase):
    """An election, see `Client.election`."""

    @property
    def name(self) -> str:
        """The name of the election."""
        return self.names[0]

    def _participants(self) -> tuple[Claim, ...]:
        state = self._state()
        return state.holders + state.waiters

    def _leader(self) -> Claim | None:
        return next(iter(self._state().holders), None)

    def _state(self) -> State:
        return _core.inspect(lib.holdfast_inspect_election, self.client._owner[0], _core.name_of(self.name))


class LeaseBase(Local):
    """A lease, without what waits."""

    def __init__(self, lock: LockBase, completion: Any) -> None:
        self._timeout: str | None = None
        self._released = False
        self._loss: Loss | None = None  # as it was before the release, after which the library no longer says
        self._completion = completion
        self._lock = weakref.ref(lock)  # a lease that nobody has is freed, and with it what it holds
        self._client = lock.client
        self.names = lock.names
        """The names, in the order of the request."""
        try:
            _core.check(completion)
        except Timeout as timeout:
            self._timeout = str(timeout)

    @property
    def _handle(self) -> Any:
        if self._timeout is not None:
            raise Timeout(self._timeout)
        return self._completion.lease

    @property
    def held(self) -> bool:
        """Whether all names are held now. Reads the clock: false from the deadline on. Does not ask the store."""
        return self._timeout is None and bool(lib.holdfast_lease_is_held(self._handle))

    def __bool__(self) -> bool:
        return self.held

    @property
    def token(self) -> int:
        """The fencing token: larger than that of every earlier grant of the name.

        Pass it to the resource that the name protects, which refuses a smaller one than it has seen. Also of a lease that
        is lost or released. Of several names each has its own: `tokens`.
        """
        if len(self.names) != 1:
            raise ValueError("a lease of several names has a token of each: see tokens")
        return int(lib.holdfast_lease_token(self._handle, 0))

    @property
    def tokens(self) -> Mapping[str, int]:
        """The fencing token of each name."""
        return {name: lib.holdfast_lease_token(self._handle, index) for index, name in enumerate(self.names)}

    @property
    def remaining(self) -> float:
        """The seconds until the deadline; zero when it is lost or released."""
        return float(lib.holdfast_lease_remaining_ms(self._handle)) / 1000

    @property
    def loss(self) -> Loss | None:
        """Why it was lost; None if it was not. `held` may be false a moment earlier."""
        self._check_process()
        for index in range(len(self.names)):
            loss = lib.holdfast_lease_loss(self._handle, index)
            if loss:
                return Loss(_core.text_of(lib.holdfast_loss_text(loss)))
        return self._loss

    @property
    def release_request(self) -> str | None:
        """The reason for which somebody has asked for the release first; None if nobody has. Never trust it.

        :raises NotOwner: after a release.
        """
        reason = ffi.new("char **")
        _core.call(lib.holdfast_lease_release_request, self._handle, reason)
        return None if reason[0] == ffi.NULL else _core.taken(reason)

    def _check_process(self) -> None:
        """A child knows neither that it is held nor that it is not."""
        if self._client._is_of_parent:
            raise Closed(f"the lease of {self._list} belongs to the parent process")

    def check(self) -> None:
        """Raises `LeaseLost` if it is no longer held, `NotOwner` after a release. Does not ask the store."""
        self._check_process()
        if self.held:
            return
        if self._timeout is not None:
            raise Timeout(self._timeout)
        if self._released:
            raise NotOwner(f"the lease of {self._list} was released")
        raise LeaseLost(f"the lease of {self._list} was {self._state}")

    def _enter(self) -> None:
        """As `check`. After a loss what is left of several names is released, because no end of a block does it."""
        try:
            self.check()
        except LeaseLost:
            self._release_unawaited()
            raise

    def _descriptor(self, function: Callable[..., int]) -> int:
        fd = ffi.new("int *")
        _core.call(function, self._handle, fd)
        return int(fd[0])

    def _lost_fd(self) -> int:
        return self._descriptor(lib.holdfast_lease_lost_fd)

    def _request_fd(self) -> int:
        return self._descriptor(lib.holdfast_lease_release_request_fd)

    def _renew(self) -> None:
        _core.call(lib.holdfast_lease_renew, self._handle)

    def _downgrade(self) -> None:
        _core.call(lib.holdfast_lease_downgrade, self._handle)

    def _proclaim(self, value: str | bytes) -> None:
        data = _core.value_of(value)
        _core.call(lib.holdfast_lease_proclaim, self._handle, data, len(data))

    def _release(self) -> Operation:
        self._loss = self.loss

        def start(queue: Any, tag: int) -> None:
            _core.call(lib.holdfast_lease_release_start, self._handle, queue, tag)
            self._forget()

        return Operation([ffi.NULL], start)

    def _release_unawaited(self) -> None:
        """Without waiting for the store; also after an exception in a release, which may have begun."""
        if self._client._is_of_parent:
            return
        self._loss = self.loss
        queue = _core.Queue()
        lib.holdfast_lease_release_start(self._handle, queue.handle, 0, ffi.NULL)
        self._forget()

    def _drop(self) -> None:
        """Releases it without waiting."""
        self._forget()
        self._completion = ffi.new("holdfast_completion *")

    def _forget(self) -> None:
        self._released = True
        lock = self._lock()
        if lock is not None:
            lock._held.pop(self, None)

    def _failed_at_exit(self, failed: HoldfastError, body: BaseException | None) -> None:
        """The body's own exception is the one that goes on."""
        if body is None:
            raise failed
        body.add_note(str(failed))

    @property
    def _list(self) -> str:
        return ", ".join(map(repr, self.names))

    @property
    def _state(self) -> str:
        if self._client._is_of_parent:
            return "of the parent process"
        if self._timeout is not None:
            return "timed out"
        if self._released:
            return "released"
        if self.held:
            return "held"
        loss = self.loss
        return f"lost: {_core.LOSS_TEXTS[loss] if loss else 'its deadline has passed'}"

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__} of {self._list}, {self._state}>"

    def __del__(self) -> None:
        if getattr(self, "_timeout", self) is None and not self._released and self.held:
            warnings.warn(f"{self!r} was never released", ResourceWarning, stacklevel=2)


class SignalBase(Local):
    """What has happened to a lease, or will."""

    def __init__(self, name: str, lease: LeaseBase, fd: Callable[[], int], is_set: Callable[[], bool]) -> None:
        self._name = name
        self._lease = lease
        self._fd = fd
        self._is_set = is_set

    def is_set(self) -> bool:
        """Whether it has happened. Does not wait."""
        return self._is_set()

    def fileno(self) -> int:
        """A descriptor that becomes readable when it happens, for `selectors`. Neither read it nor close it: it is
        valid as long as the lease.

        :raises NotOwner: after a release.
        """
        return self._fd()

    def __repr__(self) -> str:
        return f"<{type(self).__qualname__} {self._name} of {self._lease!r}>"


class WatchBase(Local):
    """Tells of changes of a name. A descriptor is readable soon after the start, and after each burst of changes."""

    def __init__(self, client: ClientBase[Any, Any, Any], name: str | None) -> None:
        self._client = client
        self._name = name
        text = ffi.NULL if name is None else _core.name_of(name)
        self._owner: Any = _core.opened("holdfast_watch **", lib.free_watch, lib.holdfast_watch_open, client._owner[0], text)

    def fileno(self) -> int:
        """The descriptor, for `selectors`. Neither read it nor close it: it is closed with the watch."""
        fd = int(lib.holdfast_watch_fd(self._owner[0]))
        if fd == -1:
            raise Closed(f"{self!r} was closed, or belongs to the parent of this process")
        return fd

    def clear(self) -> None:
        """Makes the descriptor unreadable until the next change. Clear first and look then, so that no change is
        missed; `wait` does so."""
        lib.holdfast_watch_clear(self._owner[0])

    def close(self) -> None:
        """Ends the watch, once no thread waits with it."""
        self._owner = [ffi.NULL]

    def __repr__(self) -> str:
        state = ", closed" if self._owner[0] == ffi.NULL else ""
        return f"<{type(self).__qualname__} of {'all names' if self._name is None else repr(self._name)}{state}>"


def is_readable(fd: int, timeout: float | None) -> bool:
    """Waits for a descriptor without the GIL; signals are handled meanwhile."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    wait = -1 if timeout is None else _core.time_ms("timeout", timeout)
    return bool(poll.poll(wait if wait < 2**31 else -1))  # it takes 24 days; more are for ever
