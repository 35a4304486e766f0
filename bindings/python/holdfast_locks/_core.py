"""The C library, as both faces of the package use it: calls, options, requests, ends of operations, states."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple, TypedDict

from ._errors import HoldfastError, InvalidArgument, InvalidName, error_of
from ._native import ffi, lib


class Mode(IntEnum):
    """How a name is held."""

    EXCLUSIVE = lib.HOLDFAST_EXCLUSIVE
    SHARED = lib.HOLDFAST_SHARED
    PERMITS = lib.HOLDFAST_PERMITS
    WRITER = lib.HOLDFAST_WRITER


class Loss(StrEnum):
    """Why a lease was lost."""

    ENDED_AT_STORE = "ended_at_store"
    """By force, or its ttl ended there, or the store lost it."""
    NOT_RENEWED = "not_renewed"
    """No renewal was confirmed before the deadline."""
    SESSION_ENDED = "session_ended"
    """The client's session was not confirmed before the deadline."""
    CLIENT_CLOSED = "client_closed"
    """The client was closed."""


class Options(TypedDict, total=False):
    """How a name is waited for and held. Times are seconds; what is left out has its default.

    Of a client they are for all its locks, of a lock in place of those of the client.

    - ``ttl``: how long a grant lives at the store without renewal: 0.1 to 86 400; default 30.
    - ``drift_margin``: taken off every deadline for clocks of different rates; default 1 % of the ttl + 2 ms.
    - ``grace``: how long the name rests after a loss; default 0.
    - ``at_least``: the least time for which the name stays locked from its grant; default 0.
    - ``retry_limit``: a store that does not answer is given up after this time; default 10; math.inf: never.
    - ``label``: for people who look; default: empty.
    - ``renewal``: False: not renewed in the background, so that it ends unless ``Lease.renew`` is called. Default: True.
    """

    ttl: float
    drift_margin: float
    grace: float
    at_least: float
    retry_limit: float
    label: str
    renewal: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """A holder or a waiter. Its process chose the texts and the value: never trust them. Times are seconds."""

    owner: str
    """The claim's random id; empty for a candidate."""
    mode: Mode
    permits: int
    token: int
    """Zero for a holder of another library."""
    age: float
    """Since it was granted, or queued."""
    expires_in: float
    """Until it ends unless it is renewed."""
    host: str
    pid: int
    """On its host; zero where it is not known."""
    program: str
    label: str
    job: str
    """The ``holdfast run`` that it is part of; empty otherwise."""
    release_request: str | None
    """The reason for which somebody has asked it to release; None if nobody has."""
    value: bytes | None
    """Of a candidate of an election; None otherwise."""
    is_released: bool
    """The name rests, see ``Options.at_least``."""


@dataclass(frozen=True, slots=True)
class Note:
    """What one of several servers says: it differs from the majority, or is not heard."""

    server: str
    text: str
    answers: bool


@dataclass(frozen=True, slots=True)
class State:
    """A name as the store has it: it reflects every operation acknowledged before the question."""

    name: str
    capacity: int
    """Of a semaphore; zero for every other lock."""
    last_token: int
    """The largest ever drawn; zero if the store does not know the name."""
    holders: tuple[Claim, ...]
    """In the order of their grants."""
    waiters: tuple[Claim, ...]
    """In the order in which they will be served."""
    paused_for: float
    """How many seconds the store still grants nothing to anybody; zero: it grants."""
    pause_reason: str
    notes: tuple[Note, ...]
    """Only on Redlock: without a majority the rest may lack holders."""


class Spec(NamedTuple):
    """One name of a request."""

    name: str
    mode: Mode
    permits: int = 0
    capacity: int = 0


def call(function: Callable[..., int], *args: Any) -> None:
    """Calls a function of C whose last parameter is the message of its error, and raises that error."""
    message = ffi.new("char **")
    code = function(*args, message)
    if code:
        try:
            raise error_of(code, text_of(message[0]))
        finally:
            lib.holdfast_free(message[0])


def opened(kind: str, function: Callable[..., int], free: Callable[[Any], None], *args: Any) -> Any:
    """An object that a function of C hands out in front of its message; it is freed with the last reference to it."""
    out = ffi.new(kind + " **")
    call(function, *args, out)
    return ffi.gc(out[0], free)


def text_of(text: Any) -> str:
    """A text of C. That of a stranger may be damaged."""
    return "" if text == ffi.NULL else ffi.string(text).decode("utf-8", "backslashreplace")


def utf8(text: str, error: type[HoldfastError] = InvalidArgument) -> Any:
    """A text for C. A zero byte would end it, so that another text would be meant."""
    try:
        encoded = text.encode()
    except UnicodeEncodeError as failed:
        raise error(str(failed)) from None
    if b"\0" in encoded:
        raise error(f"a zero byte in {text!r}")
    return ffi.new("char[]", encoded)


def utf8_or_null(text: str | None) -> Any:
    return ffi.NULL if text is None else utf8(text)


def name_or_null(name: str | None) -> Any:
    return ffi.NULL if name is None else utf8(name, InvalidName)


def wait_ms(timeout: float | None, forever: float | None = None) -> int:
    """Milliseconds of a wait, rounded up."""
    if timeout == forever or timeout == math.inf:
        return int(lib.HOLDFAST_FOREVER)
    if timeout is None or not timeout >= 0:
        raise ValueError(f"a timeout is a number of seconds from 0 on, not {timeout}")
    return math.ceil(timeout * 1000)


def acquire_ms(blocking: bool, timeout: float) -> int:
    """The parameters of `threading.Lock.acquire`."""
    if not blocking and timeout != -1:
        raise ValueError("can't specify a timeout for a non-blocking call")
    return wait_ms(timeout, -1) if blocking else 0


def option_ms(name: str, seconds: float | None) -> int:
    """Milliseconds of an option, where 0 in C means its default."""
    if seconds is None:
        return 0
    if seconds == math.inf:
        return int(lib.HOLDFAST_FOREVER)
    if not seconds >= 0:
        raise InvalidArgument(f"{name} is a number of seconds from 0 on, not {seconds}")
    return math.ceil(seconds * 1000) or int(lib.HOLDFAST_NONE)


def lock_options(options: Options) -> tuple[Any, Any]:
    """The options in C, and what has to live as long."""
    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:
        raise TypeError(f"unknown option {', '.join(sorted(unknown))}")
    label = utf8_or_null(options.get("label"))
    known = ffi.new("holdfast_lock_options *", {"struct_size": ffi.sizeof("holdfast_lock_options"), "label": label})
    known.ttl_ms = option_ms("ttl", options.get("ttl"))
    known.drift_margin_ms = option_ms("drift_margin", options.get("drift_margin"))
    known.grace_ms = option_ms("grace", options.get("grace"))
    known.at_least_ms = option_ms("at_least", options.get("at_least"))
    known.retry_limit_ms = option_ms("retry_limit", options.get("retry_limit"))
    known.is_fixed = not options.get("renewal", True)
    return known, label


def open_client(
    url: str | None, password: str | None, program: str | None, flush_limit: float | None, options: Options
) -> Any:
    locks, _label = lock_options(options)  # alive during the call
    texts = [utf8_or_null(each) for each in (url, password, program)]
    known = ffi.new("holdfast_client_options *", {"struct_size": ffi.sizeof("holdfast_client_options"), "locks": locks})
    known.flush_limit_ms = option_ms("flush_limit", flush_limit)
    known.password, known.program = texts[1:]
    return opened("holdfast_client", lib.holdfast_client_open, lib.holdfast_client_free, texts[0], known)


class Request:
    """A wish to hold, which can be started any number of times, from any thread."""

    def __init__(self, client: Any, specs: Sequence[Spec], options: Options) -> None:
        self.specs = tuple(specs)
        self._client = client
        self._names = [utf8(spec.name, InvalidName) for spec in specs]
        self._specs = ffi.new("holdfast_spec[]", [(n, *spec[1:]) for n, spec in zip(self._names, specs, strict=True)])
        self._options, self._label = lock_options(options)

    def _request(self, wait: int, stop: Any) -> Any:
        size = ffi.sizeof("holdfast_request")
        return ffi.new("holdfast_request *", (size, self._specs, len(self._specs), wait, stop, self._options))

    def acquire(self, wait: int) -> Operation:
        stop = new_stop()
        return Operation(
            stop,
            lambda queue, tag: call(lib.holdfast_acquire_start, self._client, self._request(wait, stop), queue, tag),
        )

    def campaign(self, wait: int, value: bytes) -> Operation:
        stop = new_stop()
        return Operation(
            stop,
            lambda queue, tag: call(
                lib.holdfast_campaign_start,
                self._client,
                self._request(wait, stop),
                ffi.from_buffer(value),
                len(value),
                queue,
                tag,
            ),
        )


class Operation(NamedTuple):
    """What is started with a queue and a tag, and how it is given up."""

    stop: Any
    start: Callable[[Any, int], None]


def new_stop() -> Any:
    return opened("holdfast_stop", lib.holdfast_stop_create, lib.holdfast_stop_free)


class Queue:
    """Ends of operations.

    A completion owns its lease from the moment when the library has written it there: no exception, not even one of a
    signal, can come between the two.
    """

    def __init__(self) -> None:
        self.handle = opened("holdfast_queue", lib.holdfast_queue_open, lib.holdfast_queue_free)
        self.fd: int = lib.holdfast_queue_fd(self.handle)

    def next(self) -> Any | None:
        completion = ffi.gc(ffi.new("holdfast_completion *"), lib.free_completion)
        return completion if lib.holdfast_queue_next(self.handle, completion) else None


def check(completion: Any) -> None:
    """Raises the error with which an operation has ended."""
    if completion.code:
        raise error_of(completion.code, text_of(completion.message))


def inspect(function: Callable[..., int], *args: Any) -> State:
    handle = opened("holdfast_state", function, lib.holdfast_state_free, *args)
    return State(
        name=text_of(handle.name),
        capacity=handle.capacity,
        last_token=handle.last_token,
        holders=tuple(_claim(handle.holders[i]) for i in range(handle.holder_count)),
        waiters=tuple(_claim(handle.waiters[i]) for i in range(handle.waiter_count)),
        paused_for=handle.paused_for_ms / 1000,
        pause_reason=text_of(handle.pause_reason),
        notes=tuple(_note(handle.notes[i]) for i in range(handle.note_count)),
    )


def _claim(claim: Any) -> Claim:
    return Claim(
        owner=text_of(claim.owner),
        mode=Mode(claim.mode),
        permits=claim.permits,
        token=claim.token,
        age=claim.age_ms / 1000,
        expires_in=claim.expires_in_ms / 1000,
        host=text_of(claim.host),
        pid=claim.pid,
        program=text_of(claim.program),
        label=text_of(claim.label),
        job=text_of(claim.job),
        release_request=None if claim.release_request == ffi.NULL else text_of(claim.release_request),
        value=None if claim.value == ffi.NULL else bytes(ffi.buffer(claim.value, claim.value_size)),
        is_released=claim.is_released,
    )


def _note(note: Any) -> Note:
    return Note(server=text_of(note.server), text=text_of(note.text), answers=note.answers)
