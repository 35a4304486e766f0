"""The blocking face, on each store."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import holdfast_locks
import pytest
from conftest import stores
from holdfast_locks import (
    Closed,
    InvalidName,
    LeaseLost,
    Loss,
    Mode,
    NotOwner,
    Timeout,
    Unavailable,
    WrongType,
)


def wait_until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def queued(locks, name, count=1):
    wait_until(lambda: len(locks.inspect(name).waiters) >= count)


def test_a_lease_has_a_growing_token(locks, name):
    with locks.mutex(name).acquire(timeout=30) as first:
        assert first and first.held and first.names == (name,)
        assert 0 < first.remaining <= 10
        first.check()
    assert not first
    with locks.mutex(name).acquire() as second:
        assert second.token > first.token
    with pytest.raises(NotOwner):
        second.check()
    with pytest.raises(NotOwner):
        second.release()


def test_a_timeout_is_a_false_lease_and_with_raises_it(locks, others, name):
    with locks.mutex(name).acquire():
        busy = others.mutex(name)
        assert not busy.acquire(blocking=False)
        refused = busy.acquire(timeout=1)
        assert not refused and not refused.held
        with pytest.raises(TimeoutError), refused:
            pytest.fail("the body ran")
        with pytest.raises(Timeout, match=name):
            _ = refused.token
        with pytest.raises(NotOwner):
            busy.release()


def test_a_lease_shows_its_state_and_is_entered_only_while_it_is_held(locks, others, name):
    lease = locks.mutex(name).acquire()
    assert repr(lease) == f"<Lease of '{name}', held>"
    refused = others.mutex(name).acquire(timeout=0)
    assert repr(refused) == f"<Lease of '{name}', timed out>"
    with pytest.raises(Timeout, match=name):
        refused.check()
    lease.release()
    assert repr(lease) == f"<Lease of '{name}', released>"
    with pytest.raises(NotOwner, match="was released"), lease:
        pytest.fail("the body ran")

    both = locks.lock_set(name, f"{name}/other")
    lost = both.acquire()
    others.force_release(name)
    assert lost.lost.wait(30)
    assert repr(lost) == f"<Lease of '{name}', '{name}/other', lost: the store no longer has it>"
    with pytest.raises(LeaseLost, match="lost: the store no longer has it"), lost:
        pytest.fail("the body ran")
    assert lost.loss is Loss.ENDED_AT_STORE
    others.mutex(f"{name}/other").acquire(timeout=9).release()  # less than the ttl, while the lease and the set live


def test_the_protocol_of_threading_lock(locks, others, name):
    lock = locks.mutex(name)
    assert not lock.locked()
    assert lock.acquire(timeout=30)
    assert lock.locked() and others.mutex(name).locked()
    lock.release()
    assert not lock.locked()
    with lock as lease:
        assert lease.held
    with pytest.raises(RuntimeError):
        lock.release()
    with pytest.raises(ValueError, match="non-blocking"):
        lock.acquire(False, 1)


def test_a_condition_of_threading_takes_it(locks, name):
    condition = threading.Condition(locks.mutex(name))
    ready = []

    def notify():
        with condition:
            ready.append(1)
            condition.notify()

    with condition:
        thread = threading.Thread(target=notify)
        thread.start()
        assert condition.wait_for(lambda: ready, 30)
    thread.join()


def test_threads_exclude_each_other_in_their_order(locks, name):
    lock = locks.mutex(name)
    order = []

    def work(number):
        with lock:
            order.append(number)

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    with lock:
        for number, thread in enumerate(threads):
            thread.start()
            queued(locks, name, number + 1)
        assert order == []
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3]


def test_a_thread_does_not_release_what_another_has(locks, name):
    lock = locks.mutex(name)
    leases = []
    thread = threading.Thread(target=lambda: leases.append(lock.acquire()))
    thread.start()
    thread.join()
    with pytest.raises(NotOwner, match=f"this thread has not acquired '{name}' through this object; use lease.release"):
        lock.release()
    leases.pop().release()


def test_readers_share_and_a_writer_does_not(locks, others, name):
    with locks.reader(name).acquire(), others.reader(name).acquire(timeout=30):
        assert not others.writer(name).acquire(timeout=0)
        assert others.writer(name).locked() and not others.reader(name).locked()
    with locks.writer(name).acquire() as lease:
        assert not others.reader(name).acquire(timeout=0)
        lease.downgrade()
        assert others.reader(name).acquire(timeout=30)


def test_a_semaphore_counts(locks, others, name):
    three = locks.semaphore(name, 4, permits=3)
    with three.acquire():
        assert not others.semaphore(name, 4, permits=2).acquire(timeout=0)
        assert others.semaphore(name, 4, permits=2).locked() and not others.semaphore(name, 4).locked()
        with others.semaphore(name, 4) as lease:
            state = locks.inspect(name)
            assert state.capacity == 4
            assert [(each.mode, each.permits) for each in state.holders] == [(Mode.PERMITS, 3), (Mode.PERMITS, 1)]
            assert state.holders[1].token == lease.token


def test_a_set_is_taken_together(locks, others, name):
    first, second = f"{name}/a", f"{name}/b"
    both = locks.lock_set(second, locks.mutex(first))
    with both.acquire() as lease:
        assert list(lease.tokens) == [second, first]
        with pytest.raises(ValueError, match="tokens"):
            _ = lease.token
        assert not others.mutex(first).acquire(timeout=0)
    with others.mutex(first):
        assert not both.acquire(timeout=0)
        assert not locks.mutex(second).locked()


def test_an_election(locks, others, name):
    election = locks.election(name)
    assert election.leader() is None
    with election.campaign("first", timeout=30) as term:
        assert not others.election(name).campaign(b"second", timeout=0)
        assert election.leader().value == b"first"
        term.proclaim(b"\0changed")
        assert others.election(name).leader().value == b"\0changed"
        assert others.election(name).leader().token == term.token
        terms = []
        thread = threading.Thread(target=lambda: terms.append(others.election(name).campaign("second")))
        thread.start()
        wait_until(lambda: len(election.participants()) == 2)
        assert [each.value for each in election.participants()] == [b"\0changed", b"second"]
    thread.join()
    assert terms[0].token > term.token
    terms[0].release()


def test_a_loss_is_told_and_with_raises_it(locks, others, name):
    with pytest.raises(LeaseLost, match=name), locks.mutex(name).acquire() as lease:
        assert not lease.lost.is_set() and not lease.lost.wait(0)
        assert others.force_release(name, lease.token) == 1
        assert lease.lost.wait(threading.TIMEOUT_MAX) and lease.lost.is_set()
        assert lease.loss is Loss.ENDED_AT_STORE and not lease
        with pytest.raises(LeaseLost, match="the store no longer has it"):
            lease.check()


def test_the_exception_of_the_body_goes_on_after_a_loss(locks, name):
    with pytest.raises(KeyError) as raised, locks.mutex(name).acquire() as lease:
        locks.force_release(name)
        lease.lost.wait(30)
        raise KeyError("body")
    assert "lost" in raised.value.__notes__[0]


def test_a_holder_is_asked_to_release(locks, others, name):
    with locks.mutex(name, label="night run").acquire() as lease:
        assert lease.release_request is None and not lease.release_requested.is_set()
        assert others.request_release(name, "ich warte — bitte") == 1
        assert lease.release_requested.wait(30) and lease.release_requested.is_set()
        assert lease.release_request == "ich warte — bitte"
        holder = others.inspect(name).holders[0]
        assert (holder.label, holder.pid, holder.release_request) == ("night run", os.getpid(), "ich warte — bitte")
        assert lease.held


def test_a_lease_without_renewal_ends_unless_it_is_renewed(locks, name):
    with locks.mutex(name, ttl=1, renewal=False).acquire() as lease:
        lease.renew()
        assert lease.lost.wait(30)
        assert lease.loss is Loss.NOT_RENEWED and lease.remaining == 0
        with pytest.raises(LeaseLost):
            lease.renew()
        words = "no renewal was confirmed before the deadline"
        with pytest.raises(LeaseLost, match=words):
            lease.check()
        with pytest.raises(LeaseLost, match=words):
            lease.release()


def test_a_watch_tells_of_changes(locks, others, name):
    with locks.watch(name) as watch, locks.watch() as all_names:
        assert watch.wait(30) and all_names.wait(30)
        with others.mutex(name):
            while not locks.inspect(name).holders:
                assert watch.wait(30)
            assert all_names.wait(30)
    with pytest.raises(InvalidName):
        locks.watch("")


def test_the_place_in_the_queue_is_shown_and_left(locks, others, name):
    with locks.mutex(name).acquire():
        thread = threading.Thread(target=lambda: others.mutex(name).acquire(timeout=1))
        thread.start()
        queued(locks, name)
        assert locks.inspect(name, 0).waiters == ()
        thread.join()
        wait_until(lambda: not locks.inspect(name).waiters)


def test_what_nobody_has_any_more_is_released(locks, others, name):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        lock = locks.mutex(name)
        lock.acquire()
        gc.collect()
        assert not warned and others.mutex(name).locked()  # the lock has it
        del lock
    assert [(each.category, "never released" in str(each.message)) for each in warned] == [(ResourceWarning, True)]
    others.mutex(name).acquire(timeout=30).release()


def test_closing_ends_waits_and_leases(url, locks, name):
    client = holdfast_locks.Client(url)
    lease = client.mutex(f"{name}/held").acquire()
    raised = []

    def wait():
        try:
            client.mutex(name).acquire()
        except Closed as closed:
            raised.append(closed)

    with locks.mutex(name):
        thread = threading.Thread(target=wait)
        thread.start()
        queued(locks, name)
        client.close()
        thread.join()
    assert raised and lease.loss is Loss.CLIENT_CLOSED
    with pytest.raises(Closed):
        client.inspect(name)
    with pytest.raises(Closed), client:
        pytest.fail("the body ran")
    assert repr(client) == f"<Client {client.url}, closed>"
    with pytest.raises(LeaseLost):
        lease.release()


def test_one_name_is_of_one_kind(locks, name):
    with locks.semaphore(name, 2), pytest.raises(WrongType):
        locks.semaphore(name, 3).acquire(timeout=0)


@pytest.mark.skipif("sqlite" not in stores, reason="one store is enough")
def test_a_holder_is_shown_with_the_name_of_its_script(tmp_path):
    (tmp_path / "night_run.py").write_text(HOLDER)
    (tmp_path / "a\nb").write_text(HOLDER)
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/__main__.py").write_text(HOLDER)
    interpreter = os.path.basename(sys.executable)
    for arguments, program in (
        (["./night_run.py"], "night_run.py"),
        (["-m", "night_run"], "night_run"),
        (["-m", "parts"], "parts"),
        (["parts"], "parts"),
        (["-c", HOLDER], interpreter),
        (["a\nb"], interpreter),
    ):
        run = subprocess.run([sys.executable, *arguments], cwd=tmp_path, check=True, stdout=subprocess.PIPE, text=True)
        assert run.stdout == f"{program}\n"


HOLDER = """
import holdfast_locks
with holdfast_locks.Client("memory:") as locks, locks.mutex("x"):
    print(locks.inspect("x").holders[0].program)
"""


def test_a_store_that_does_not_answer():
    with holdfast_locks.Client("redis://127.0.0.1:1", retry_limit=0.2, password="hush") as nowhere:
        with pytest.raises(Unavailable, match=r"'x'.*redis://") as refused:
            nowhere.mutex("x").acquire(timeout=1)
        assert isinstance(refused.value, ConnectionError) and "hush" not in str(refused.value)


@pytest.mark.skipif("postgresql" not in stores, reason="another set of stores")
def test_a_database_that_is_not_there(tmp_path):
    nowhere = holdfast_locks.Client(f"postgresql:///app?host={tmp_path}", retry_limit=0.2)
    with pytest.raises(Unavailable, match=r"'x' on postgresql:///app.*No such file or directory; Is the server running"):
        nowhere.mutex("x").acquire(timeout=1)


@pytest.mark.skipif("sqlite" not in stores, reason="one store is enough")
def test_a_wait_under_gevent_blocks_its_greenlet_alone(tmp_path):
    program = [sys.executable, "-c", GREENLETS, f"sqlite:{tmp_path}/locks.db"]
    run = subprocess.run(program, check=True, stdout=subprocess.PIPE, text=True, timeout=300)
    assert run.stdout == "[0, 1, 2] True True 0\n"


@pytest.mark.skipif("sqlite" not in stores, reason="one store is enough")
def test_waits_at_one_time_leave_few_descriptors(locks, name):
    lock = locks.mutex(name)
    threads = [threading.Thread(target=lambda: lock.acquire().release()) for _ in range(40)]
    with lock:
        for thread in threads:
            thread.start()
        queued(locks, name, len(threads))
    for thread in threads:
        thread.join()
    assert 0 < len(holdfast_locks._threads._idle) <= 8


def test_options_of_a_lock_are_beside_those_of_the_client(url, name):
    with holdfast_locks.Client(url, ttl=7, label="all") as client, client.mutex(name, label="this") as lease:
        assert 5 < lease.remaining <= 7
        assert client.inspect(name).holders[0].label == "this"


def test_a_fence(tmp_path):
    with holdfast_locks.Fence(tmp_path / "fence", most=10) as fence:
        assert fence.admit("table", 5) and fence.admit("table", 5) and not fence.admit("table", 4)
        assert (fence.largest("table"), fence.largest("other")) == (5, 0)
        with pytest.raises(Timeout):
            holdfast_locks.Fence(tmp_path / "fence", timeout=0.01)
    with holdfast_locks.Fence(tmp_path / "fence") as again:
        assert again.largest("table") == 5 and not again.admit("table", 1)
    with holdfast_locks.Fence() as memory:
        assert memory.largest("table") == 0


GREENLETS = """
from gevent import monkey; monkey.patch_all()
import sys, gevent, holdfast_locks

holdfast_locks._threads._PATIENCE_MS = 3600000  # a wait in C would keep its holder from running
locks = holdfast_locks.Client(sys.argv[1])
lock = locks.mutex("name")
order = []

def work(number):
    with lock:
        gevent.sleep(0.01)
        order.append(number)

gevent.joinall([gevent.spawn(work, number) for number in range(3)])
holder = holdfast_locks.Client(sys.argv[1]).mutex("name").acquire()
waiting = gevent.spawn(lock.acquire)
while not locks.inspect("name").waiters:
    gevent.sleep(0.01)
waiting.kill()
lost = gevent.spawn(holder.lost.wait)
gevent.sleep(0)
locks.force_release("name")
print(order, isinstance(waiting.value, gevent.GreenletExit), lost.get(timeout=30), len(locks.inspect("name").waiters))
"""


INTERRUPTED = """
import sys, holdfast_locks
locks = holdfast_locks.Client(sys.argv[1])
print("ready", flush=True)
try:
    locks.mutex(sys.argv[2]).acquire()
except KeyboardInterrupt:
    print("interrupted", flush=True)
sys.stdin.read()
"""


def test_ctrl_c_ends_a_wait_and_gives_up_its_place(locks, url, name):
    with (
        locks.mutex(name),
        subprocess.Popen(
            [sys.executable, "-c", INTERRUPTED, url, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        assert process.stdout.readline() == "ready\n"
        queued(locks, name)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        wait_until(lambda: not locks.inspect(name).waiters)  # while the process lives
        process.stdin.close()
        assert process.wait() == 0


def test_a_signal_at_any_moment_ends_a_wait(locks, others, name):
    """While it waits in C, in the moment after, and in poll."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with locks.mutex(name):
            for moment in range(1, 41):
                with pytest.raises(KeyboardInterrupt):
                    signal.setitimer(signal.ITIMER_REAL, moment / 4000)
                    others.mutex(name).acquire()
            wait_until(lambda: not locks.inspect(name).waiters)
    finally:
        signal.signal(signal.SIGALRM, before)
    others.mutex(name).acquire(timeout=9).release()


def test_a_signal_handler_may_take_another_lock_meanwhile(locks, others, name):
    taken = []

    def handler(*_):
        with others.mutex(f"{name}/other"):
            taken.append(1)

    def signal_then_release(lease):
        queued(locks, name)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
        wait_until(lambda: taken)
        lease.release()

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        thread = threading.Thread(target=signal_then_release, args=[locks.mutex(name).acquire()])
        thread.start()
        assert others.mutex(name).acquire(timeout=30)
        thread.join()
    finally:
        signal.signal(signal.SIGUSR1, before)


ENDS = """
import sys, threading, time, holdfast_locks

def hold():  # nobody collects what this thread has
    lock = holdfast_locks.Client(sys.argv[1]).mutex(sys.argv[2])
    assert lock.acquire()
    held.set()
    time.sleep(1000)

held = threading.Event()
threading.Thread(target=hold, daemon=True).start()
held.wait()
"""


def test_an_exception_of_a_signal_leaves_no_hold(locks, others, name, monkeypatch, tmp_path):
    """Before a release has begun, when a lease has just been made, when the library has just handed out an object, and
    while one is freed."""

    def interrupt(*_):
        raise KeyboardInterrupt

    lock = locks.mutex(name)
    lease = lock.acquire()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt), lease:
        patch.setattr(holdfast_locks._threads, "_run", interrupt)
    others.mutex(name).acquire(timeout=9).release()  # less than the ttl, while the lease and the lock live

    made = holdfast_locks.Lease.__init__
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(holdfast_locks.Lease, "__init__", lambda *args: made(*args) or interrupt())
        with lock:
            pytest.fail("the body ran")
    gc.collect()
    others.mutex(name).acquire(timeout=9).release()

    made = holdfast_locks._core.call
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(holdfast_locks._core, "call", lambda *args: made(*args) or interrupt())
        holdfast_locks.Fence(tmp_path / "fence")
    gc.collect()
    holdfast_locks.Fence(tmp_path / "fence").close()

    completion = holdfast_locks._threads._run(lock._request.acquire(-1))
    before = sys.gettrace()
    sys.settrace(interrupt)
    del completion
    sys.settrace(before)
    others.mutex(name).acquire(timeout=9).release()


def test_a_process_that_ends_releases_what_it_holds(locks, url, name):
    subprocess.run([sys.executable, "-c", ENDS, url, name], check=True)
    with locks.mutex(name).acquire(timeout=5):  # its ttl was 30
        pass
