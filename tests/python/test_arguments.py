"""Arguments that are not allowed, in both faces: the class of the error, and a text in the words of Python."""

import asyncio
import copy
import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction

import holdfast_locks
import pytest
from holdfast_locks import Closed, InvalidArgument, InvalidName, InvalidURL, aio

HUGE = 10**30
LONG = "x" * 513

# What is called with a client, the error, and a part of its text.
WRONG = [
    (lambda locks: locks.mutex(5), TypeError, "name must be str, not int"),
    (lambda locks: locks.mutex(b"x"), TypeError, "name must be str, not bytes"),
    (lambda locks: locks.mutex(None), TypeError, "name must be str, not NoneType"),
    (lambda locks: locks.mutex("").acquire(), InvalidName, "the name is empty; a lock's name has 1 to 512 bytes"),
    (lambda locks: locks.mutex(LONG).acquire(), InvalidName, "it has 513 bytes, and 512 are allowed"),
    (lambda locks: locks.mutex("\u00e9" * 257).acquire(), InvalidName, "it has 514 bytes, and 512 are allowed"),
    (lambda locks: locks.mutex("a\nb").acquire(), InvalidName, "byte 2 is the control character 0x0a"),
    (lambda locks: locks.mutex("a\0b"), InvalidName, "name: byte 2 is the control character 0x00"),
    (lambda locks: locks.mutex("\ud800"), InvalidName, "name: 'utf-8' codec can't encode character"),
    (lambda locks: locks.mutex("x", ttl="5"), TypeError, "ttl must be a number of seconds from 0 on, not str"),
    (lambda locks: locks.mutex("x", ttl=True), TypeError, "ttl must be a number of seconds from 0 on, not bool"),
    (lambda locks: locks.mutex("x", renewal="no"), TypeError, "renewal must be bool, not str"),
    (lambda locks: locks.mutex("x").acquire("x"), TypeError, "blocking must be bool, not str"),
    (lambda locks: locks.mutex("x").acquire(None), TypeError, "blocking must be bool, not NoneType"),
    (lambda locks: locks.mutex("x").acquire(5), TypeError, "blocking must be bool, not int"),
    (lambda locks: locks.semaphore("x", True), TypeError, "capacity must be int, not bool"),
    (lambda locks: locks.mutex("x", ttl=None), TypeError, "ttl must be a number of seconds from 0 on, not NoneType"),
    (lambda locks: locks.mutex("x", ttl=Decimal(1)), TypeError, "ttl must be a number of seconds from 0 on, not Dec"),
    (lambda locks: locks.mutex("x", ttl=-1), InvalidArgument, "ttl must be a number of seconds from 0 on, not -1"),
    (lambda locks: locks.mutex("x", ttl=math.nan), InvalidArgument, "ttl must be a number of seconds from 0 on, not nan"),
    (lambda locks: locks.mutex("x", ttl=0).acquire(), InvalidArgument, "ttl: 0 ms is not between 100 ms and 24 h"),
    (lambda locks: locks.mutex("x", ttl=1e9).acquire(), InvalidArgument, "ttl: 1000000000000 ms is not between 100 ms"),
    (lambda locks: locks.mutex("x", ttl=1e308).acquire(), InvalidArgument, "ttl: no limit is not between 100"),
    (lambda locks: locks.mutex("x", ttl=HUGE).acquire(), InvalidArgument, "ttl: no limit is not between 100"),
    (lambda locks: locks.mutex("x", ttl=math.inf).acquire(), InvalidArgument, "ttl: no limit is not between"),
    (lambda locks: locks.mutex("x", drift_margin=20).acquire(), InvalidArgument, "drift_margin: 20000 ms is not less than"),
    (lambda locks: locks.mutex("x", grace=3601).acquire(), InvalidArgument, "grace: 3601000 ms is not between 0 and 1 h"),
    (lambda locks: locks.mutex("x", at_least=1e6).acquire(), InvalidArgument, "at_least: 1000000000 ms is not between 0"),
    (lambda locks: locks.mutex("x", retry_limit=-1), InvalidArgument, "retry_limit must be a number of seconds from 0 on"),
    (lambda locks: locks.mutex("x", label=5), TypeError, "label must be str, not int"),
    (lambda locks: locks.mutex("x", label="\0"), InvalidArgument, "label: byte 1 is the control character 0x00"),
    (lambda locks: locks.mutex("x", label=LONG).acquire(), InvalidArgument, "label: it has 513 bytes, and 256 are allowed"),
    (lambda locks: locks.mutex("x", tll=5), TypeError, "unknown option tll"),
    (lambda locks: locks.semaphore("x", "4"), TypeError, "capacity must be int, not str"),
    (lambda locks: locks.semaphore("x", 4, 1.5), TypeError, "permits must be int, not float"),
    (lambda locks: locks.semaphore("x", HUGE), InvalidArgument, f"capacity: {HUGE} is too large"),
    (lambda locks: locks.semaphore("x", 0).acquire(), InvalidArgument, "the capacity 0 is not between 1 and 1000000000"),
    (lambda locks: locks.semaphore("x", 4, 0).acquire(), InvalidArgument, "0 permits of 'x': a holder has at least one"),
    (lambda locks: locks.semaphore("x", 4, -1).acquire(), InvalidArgument, "-1 permits of 'x': a holder has at least one"),
    (lambda locks: locks.semaphore("x", 4, 5).acquire(), InvalidArgument, "5 permits of 'x': its capacity is 4"),
    (lambda locks: locks.lock_set(["a", "b"]), TypeError, "each lock of a set must be str or a lock, not list"),
    (lambda locks: locks.lock_set().acquire(), InvalidArgument, "0 names; a request has 1 to 256"),
    (lambda locks: locks.lock_set(*map(str, range(257))).acquire(), InvalidArgument, "257 names; a request has 1 to 256"),
    (lambda locks: locks.lock_set("a", "a").acquire(), InvalidArgument, "the name 'a' comes twice"),
    (lambda locks: locks.mutex("x").acquire(timeout="2"), TypeError, "timeout must be a number of seconds from 0 on, or -1"),
    (lambda locks: locks.mutex("x").acquire(timeout=None), TypeError, "or -1 for no limit, not NoneType"),
    (lambda locks: locks.mutex("x").acquire(timeout=-2), InvalidArgument, "from 0 on, or -1 for no limit, not -2"),
    (lambda locks: locks.mutex("x").acquire(timeout=math.nan), InvalidArgument, "or -1 for no limit, not nan"),
    (lambda locks: locks.mutex("x").acquire(False, 1), ValueError, "can't specify a timeout for a non-blocking call"),
    (lambda locks: locks.election("x").campaign(5), TypeError, "value must be str or bytes, not int"),
    (lambda locks: locks.election("x").campaign("v" * 4097), InvalidArgument, "the value has 4097 bytes, and 4096 are"),
    (lambda locks: locks.election("x").campaign(timeout=-2), InvalidArgument, "or -1 for no limit, not -2"),
    (lambda locks: locks.election("x", at_least=1).campaign(), InvalidArgument, "an election has no at_least"),
    (lambda locks: locks.inspect(5), TypeError, "name must be str, not int"),
    (lambda locks: locks.inspect(None), TypeError, "name must be str, not NoneType"),
    (lambda locks: locks.inspect("x", -1), InvalidArgument, "most_waiters: -1 is negative"),
    (lambda locks: locks.inspect("x", "all"), TypeError, "most_waiters must be int, not str"),
    (lambda locks: locks.request_release("x", 5), TypeError, "reason must be str, not int"),
    (lambda locks: locks.request_release("x", LONG), InvalidArgument, "it has 513 bytes, and 200 are allowed"),
    (lambda locks: locks.force_release("x", -1), InvalidArgument, "token: -1 is negative"),
    (lambda locks: locks.force_release("x", "1"), TypeError, "token must be int, not str"),
    (lambda locks: locks.watch(5), TypeError, "name must be str, not int"),
]  # fmt: skip


def check(error, text, raised):
    assert type(raised.value) is error
    assert text in str(raised.value)
    # Nothing that a C program or one in C++ calls so.
    assert not re.search(r"::|holdfast_|HOLDFAST_|_ms\b|spec_|NULL|cdata|ctype|attribute", str(raised.value))


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case[2])
def test_a_wrong_argument_is_named_in_the_words_of_python(case, tmp_path):
    call, error, text = case

    async def in_a_task():
        async with aio.Client(f"sqlite:{tmp_path}/locks.db") as locks:
            await call(locks)

    with holdfast_locks.Client(f"sqlite:{tmp_path}/locks.db") as locks, pytest.raises(Exception) as raised:
        call(locks)
    check(error, text, raised)
    with pytest.raises(Exception) as raised:
        asyncio.run(in_a_task())
    check(error, text, raised)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"url": 5}, TypeError, "url must be str, not int"),
        ({"url": ""}, InvalidURL, "it has no scheme"),
        ({"url": "nothing://there"}, InvalidURL, "nothing"),
        ({"url": "memory:\0"}, InvalidURL, "url: byte 8 is the control character 0x00"),
        ({"password": b"x"}, TypeError, "password must be str, not bytes"),
        ({"program": "a\nb"}, InvalidArgument, "program: byte 2 is the control character"),
        ({"flush_limit": -1}, InvalidArgument, "flush_limit must be a number of seconds from 0 on, not -1"),
        ({"flush_limit": "2"}, TypeError, "flush_limit must be a number of seconds from 0 on, not str"),
        ({"ttl": 0.01}, InvalidArgument, "ttl: 10 ms is not between 100 ms and 24 h"),
    ],
)
def test_a_wrong_argument_of_a_client(arguments, error, text):
    for client in (holdfast_locks.Client, aio.Client):
        with pytest.raises(Exception) as raised:
            client(**{"url": "memory:", **arguments})
        check(error, text, raised)


def test_a_password_is_in_no_error_of_its_own():
    with pytest.raises(InvalidArgument) as raised:
        holdfast_locks.Client("memory:", password="hush\0")
    assert "hush" not in str(raised.value)


def test_a_lease_and_its_signals_take_no_wrong_time():
    with holdfast_locks.Client("memory:") as locks, locks.election("x").campaign() as term:
        for wait in (term.lost.wait, locks.watch().wait):
            with pytest.raises(TypeError, match="timeout must be a number of seconds from 0 on, not str"):
                wait("1")
            with pytest.raises(InvalidArgument, match="timeout must be a number of seconds from 0 on, not -1"):
                wait(-1)
        with pytest.raises(TypeError, match="value must be str or bytes, not int"):
            term.proclaim(5)
        for value in ("text", b"bytes", bytearray(b"array"), memoryview(b"view")):
            term.proclaim(value)
            assert locks.election("x").leader().value == (value.encode() if isinstance(value, str) else bytes(value))
        with pytest.raises(InvalidArgument, match="it has 4097 bytes, and 4096 are allowed"):
            term.proclaim(b"v" * 4097)


def test_numbers_that_are_not_plain_ones():
    class One:
        def __index__(self):
            return 1

    with holdfast_locks.Client("memory:", ttl=Fraction(3, 2), grace=0) as locks:
        assert locks.mutex("x").acquire(timeout=10**400)
        assert locks.semaphore("y", One()).acquire(timeout=1)


def test_a_set_has_no_lock_of_another_client():
    locks, others = holdfast_locks.Client("memory:"), holdfast_locks.Client("memory:")
    with pytest.raises(InvalidArgument, match=r"<Lock 'x'> is a lock of another client"):
        locks.lock_set(others.mutex("x"))


def test_a_wrong_argument_of_a_fence(tmp_path):
    for arguments, error, text in (
        ({"file": 5}, TypeError, "int"),
        ({"timeout": "1"}, TypeError, "timeout must be a number of seconds from 0 on, not str"),
        ({"timeout": -1}, InvalidArgument, "timeout must be a number of seconds from 0 on, not -1"),
        ({"most": -1}, InvalidArgument, "most: -1 is negative"),
    ):
        with pytest.raises(error, match=text):
            holdfast_locks.Fence(**arguments)
    with holdfast_locks.Fence(bytes(tmp_path / "tokens")) as fence:
        with pytest.raises(TypeError, match="name must be str, not int"):
            fence.admit(5, 1)
        with pytest.raises(TypeError, match="token must be int, not str"):
            fence.admit("x", "1")
        with pytest.raises(InvalidArgument, match="token: -1 is negative"):
            fence.admit("x", -1)
    with pytest.raises(Closed, match="the fence was closed"):
        fence.largest("x")
    with pytest.raises(Closed, match="the fence was closed"), fence:
        pytest.fail("the body ran")
    assert repr(fence) == f"<Fence '{tmp_path}/tokens', closed>"
    assert repr(holdfast_locks.Fence()) == "<Fence in memory>"


def test_what_belongs_to_a_process_is_neither_pickled_nor_copied():
    with holdfast_locks.Client("memory:") as locks, locks.mutex("x").acquire() as lease, locks.watch() as watch:
        loop_client = aio.Client("memory:")
        acquisition = loop_client.mutex("x").acquire()
        assert repr(acquisition) == "<Acquisition of <Lock 'x'>>"
        assert repr(lease.lost) == "<Signal lost of <Lease of 'x', held>>"
        assert (repr(watch), repr(locks.watch("x"))) == ("<Watch of all names>", "<Watch of 'x'>")
        for each in (locks, locks.mutex("x"), locks.election("x"), lease, lease.lost, watch, holdfast_locks.Fence(),
                     loop_client, loop_client.mutex("x"), acquisition):  # fmt: skip
            kind = f"{type(each).__module__}.{type(each).__qualname__}"
            for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
                with pytest.raises(TypeError, match=f"cannot pickle or copy {kind}: it belongs to one process"):
                    duplicate(each)
        acquisition.close()
