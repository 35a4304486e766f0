"""The C library, as both faces of the package use it: calls, options, requests, ends of operations, states."""

from __future__ import annotations

import math
import numbers
import operator
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple, TypedDict

from ._errors import HoldfastError, InvalidArgument, InvalidName, InvalidURL, error_of
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


LOSS_TEXTS = {  # in the words of the library, as in the error of a release
    Loss.ENDED_AT_STORE: "the store no longer has it",
    Loss.NOT_RENEWED: "no renewal was confirmed before the deadline",
    Loss.SESSION_ENDED: "the client's session was not confirmed before the deadline",
    Loss.CLIENT_CLOSED: "the client was closed",
}


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
        raise error_of(code, taken(message))


def opened(kind: str, free: Callable[[Any], None], function: Callable[..., int], *args: Any) -> Any:
    """An object that a function of C hands out in front of its message, as the only item of its owner.

    It is freed with the last reference to the owner, which has it from the moment when the library has written it there:
    no exception, not even one of a signal, can come between the two.
    """
    owner = ffi.gc(ffi.new(kind), free)
    call(function, *args, owner)
    return owner


def taken(text: Any) -> str:
    """A text that a function of C has handed out, which is freed."""
    owner = ffi.gc(text, lib.free_text)  # alive during the call
    return text_of(owner[0])


def text_of(text: Any) -> str:
    """A text of C. That of a stranger may be damaged."""
    return "" if text == ffi.NULL else ffi.string(text).decode("utf-8", "backslashreplace")


def wrong_type(name: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{name} must be {expected}, not {type(value).__qualname__}")


def utf8(name: str, text: str, error: type[HoldfastError] = InvalidArgument) -> Any:
    """A text for C. A zero byte would end it, so that another text would be meant."""
    if not isinstance(text, str):
        raise wrong_type(name, "str", text)
    try:
        encoded = text.encode()
    except UnicodeEncodeError as failed:
        raise error(f"{name}: {failed}") from None
    if b"\0" in encoded:
        raise error(f"{name}: byte {encoded.index(0) + 1} is the control character 0x00")
    return ffi.new("char[]", encoded)


def utf8_or_null(name: str, text: str | None, error: type[HoldfastError] = InvalidArgument) -> Any:
    return ffi.NULL if text is None else utf8(name, text, error)


def name_of(text: str) -> Any:
    """The name of a lock, or of a resource, for C."""
    return utf8("name", text, InvalidName)


def value_of(value: str | bytes) -> Any:
    """What an election shows of a candidate, for C."""
    if not isinstance(value, str | bytes | bytearray | memoryview):
        raise wrong_type("value", "str or bytes", value)
    return ffi.from_buffer(value.encode() if isinstance(value, str) else value)


def whole(name: str, number: int, kind: str) -> int:
    """A whole number for C, of one of its types."""
    if isinstance(number, bool):
        raise wrong_type(name, "int", number)
    try:
        return int(ffi.new(kind + " *", operator.index(number))[0])
    except TypeError:
        raise wrong_type(name, "int", number) from None
    except OverflowError:
        raise InvalidArgument(f"{name}: {number} is {'negative' if number < 0 else 'too large'}") from None


def time_ms(name: str, seconds: float, allowed: str = "a number of seconds from 0 on") -> int:
    """Milliseconds for C, rounded up. More than it can count are for ever."""
    if isinstance(seconds, bool) or not isinstance(seconds, numbers.Real):
        raise wrong_type(name, allowed, seconds)
    if not seconds >= 0:
        raise InvalidArgument(f"{name} must be {allowed}, not {seconds}")
    ms = seconds * 1000
    return int(lib.HOLDFAST_FOREVER) if ms >= 2**63 else math.ceil(ms)


def wait_ms(timeout: float) -> int:
    """Milliseconds of a wait, for ever if it is -1, as that of `threading.Lock.acquire`."""
    if timeout == -1:
        return int(lib.HOLDFAST_FOREVER)
    return time_ms("timeout", timeout, "a number of seconds from 0 on, or -1 for no limit")


def acquire_ms(blocking: bool, timeout: float) -> int:
    """The parameters of `threading.Lock.acquire`."""
    if not truth("blocking", blocking) and timeout != -1:
        raise ValueError("can't specify a timeout for a non-blocking call")
    return wait_ms(timeout) if blocking else 0


def truth(name: str, value: bool) -> bool:
    """No number is one: it would be a time in the wrong place."""
    if not isinstance(value, bool):
        raise wrong_type(name, "bool", value)
    return value


def option_ms(name: str, seconds: float) -> int:
    """Milliseconds of an option, where 0 in C means its default."""
    return time_ms(name, seconds) or int(lib.HOLDFAST_NONE)


def lock_options(options: Options) -> tuple[Any, Any]:
    """The options in C, and what has to live as long."""
    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:
        raise TypeError(f"unknown option {', '.join(sorted(unknown))}")
    label = utf8("label", options.get("label", ""))
    known = ffi.new("holdfast_lock_options *", {"struct_size": ffi.sizeof("holdfast_lock_options"), "label": label})
    for name in ("ttl", "drift_margin", "grace", "at_least", "retry_limit"):
        if name in options:
            setattr(known, f"{name}_ms", option_ms(name, options[name]))
    known.is_fixed = not truth("renewal", options.get("renewal", True))
    return known, label


def program_name() -> str | None:
    """The script, or the module of ``-m``. None, which is the interpreter, if there is none, or if nobody could see it."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    name = spec.name.removesuffix(".__main__") if spec is not None else "__main__"
    if name == "__main__":  # a script, a folder or an archive
        name = os.path.basename((getattr(sys, "argv", None) or [""])[0])
    return name if name not in ("", "-", "-c") and name.isprintable() and len(name.encode()) <= 256 else None


def open_client(
    url: str | None, password: str | None, program: str | None, flush_limit: float | None, options: Options
) -> Any:
    locks, _label = lock_options(options)  # alive during the call
    program = program_name() if program is None else program
    texts = [utf8_or_null("url", url, InvalidURL), utf8_or_null("password", password), utf8_or_null("program", program)]
    known = ffi.new("holdfast_client_options *", {"struct_size": ffi.sizeof("holdfast_client_options"), "locks": locks})
    if flush_limit is not None:
        known.flush_limit_ms = option_ms("flush_limit", flush_limit)
    known.password, known.program = texts[1:]
    return opened("holdfast_client **", lib.free_client, lib.holdfast_client_open, texts[0], known)


class Request:
    """A wish to hold, which can be started any number of times, from any thread."""

    def __init__(self, client: Any, specs: Sequence[Spec], options: Options) -> None:
        self.specs = tuple(specs)
        self.names = tuple(spec.name for spec in specs)
        self._client = client
        self._names = [name_of(spec.name) for spec in specs]
        self._specs = ffi.new("holdfast_spec[]", [(n, *spec[1:]) for n, spec in zip(self._names, specs, strict=True)])
        self._options, self._label = lock_options(options)

    def _request(self, wait: int, stop: Any) -> Any:
        size = ffi.sizeof("holdfast_request")
        return ffi.new("holdfast_request *", (size, self._specs, len(self._specs), wait, stop, self._options))

    def acquire(self, wait: int) -> Operation:
        stop = new_stop()
        return Operation(
            stop,
            lambda queue, tag: call(lib.holdfast_acquire_start, self._client[0], self._request(wait, stop[0]), queue, tag),
        )

    def campaign(self, wait: int, value: Any) -> Operation:
        stop = new_stop()
        return Operation(
            stop,
            lambda queue, tag: call(
                lib.holdfast_campaign_start,
                self._client[0],
                self._request(wait, stop[0]),
                value,
                len(value),
                queue,
                tag,
            ),
        )


class Operation(NamedTuple):
    """What is started with a queue and a tag, and how it is given up: by the item of ``stop``."""

    stop: Any
    start: Callable[[Any, int], None]


def new_stop() -> Any:
    return opened("holdfast_stop **", lib.free_stop, lib.holdfast_stop_create)


class Queue:
    """Ends of operations.

    A completion owns its lease from the moment when the library has written it there: no exception, not even one of a
    signal, can come between the two.
    """

    def __init__(self, patience_ms: int = 0) -> None:
        self._owner = opened("holdfast_queue **", lib.free_queue, lib.holdfast_queue_open, patience_ms)
        self.handle = self._owner[0]
        self.fd: int = lib.holdfast_queue_fd(self.handle)

    def close(self) -> None:
        """Ends it: what its operations acquire is released."""
        ffi.release(self._owner)

    def next(self) -> Any | None:
        completion = ffi.gc(ffi.new("holdfast_completion *"), lib.free_completion)
        return completion if lib.holdfast_queue_next(self.handle, completion) else None


def check(completion: Any) -> None:
    """Raises the error with which an operation has ended."""
    if completion.code:
        raise error_of(completion.code, text_of(completion.message))


def inspect(function: Callable[..., int], *args: Any) -> State:
    owner = opened("holdfast_state **", lib.free_state, function, *args)
    handle = owner[0]
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
