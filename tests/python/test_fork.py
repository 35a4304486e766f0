"""A child of fork owns nothing, hangs nowhere, and touches nothing of its parent's."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import holdfast_locks
import pytest
from holdfast_locks import Closed, aio

HOLD = 0.002


def in_child(function):
    """Whether the function returned in a child that then ends as a program does."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.alarm(60)
            function()
            status = 0
        finally:
            sys.stderr.flush()
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_child_owns_nothing(locks, url, name):
    lock = locks.mutex(name)
    lease = lock.acquire()
    free = locks.mutex(f"{name}/free").acquire()
    free.release()
    lost = lease.lost
    lost.fileno()
    watch = locks.watch(name)

    def check():
        with pytest.raises(Closed):
            watch.wait(0)
        assert not lease and not lease.held and lease.remaining == 0
        assert repr(lease) == f"<Lease of '{name}', of the parent process>"
        assert repr(locks) == f"<Client {locks.url}, of the parent process>"
        for use in (
            lease.check,
            lease.__enter__,
            lost.is_set,
            lost.wait,
            lease.release_requested.is_set,
            lambda: lease.loss,
            free.check,
            locks.__enter__,
            lease.renew,
            lease.release,
            lock.acquire,
            lambda: locks.inspect(name),
            lambda: locks.watch(name),
            locks.election(name).campaign,
        ):
            with pytest.raises(Closed):
                use()
        with holdfast_locks.Client(url, ttl=10) as own:
            assert not own.mutex(name).acquire(timeout=0)
            with own.mutex(f"{name}/own") as mine:
                assert mine

    assert in_child(check)
    lease.check()
    assert watch.wait(30)
    lock.release()


def test_a_child_has_queues_of_its_own(locks, url, name):
    with locks.mutex(name):
        pass  # which leaves an idle queue behind

    def use():
        with holdfast_locks.Client(url, ttl=10) as own, own.mutex(f"{name}/own"):
            pass

    assert in_child(use)


def test_what_a_child_collects_stays_with_the_parent(locks, url, name):
    kept = {"client": holdfast_locks.Client(url, ttl=10)}
    kept["lock"] = kept["client"].mutex(name)
    kept["lease"] = kept["lock"].acquire()
    kept["watch"] = kept["client"].watch(name)

    def collect():
        kept.clear()
        __import__("gc").collect()
        holdfast_locks._base._close_clients()

    assert in_child(collect)
    kept["lease"].check()
    assert locks.mutex(name).locked()
    kept["lease"].release()
    kept["client"].close()


def test_a_fork_beside_threads_that_wait(locks, others, url, name):
    lease = others.mutex(name).acquire()
    threads = [threading.Thread(target=lambda: locks.mutex(name).acquire().release()) for _ in range(4)]
    for thread in threads:
        thread.start()
    while len(others.inspect(name).waiters) < 4:
        time.sleep(0.005)

    def use():
        with holdfast_locks.Client(url, ttl=10) as own, own.mutex(f"{name}/own"):
            pass

    assert all(in_child(use) for _ in range(5))
    lease.release()
    for thread in threads:
        thread.join()


def test_a_child_has_a_loop_of_its_own(url, name):
    async def use():
        async with aio.Client(url, ttl=10) as own, own.mutex(name) as lease:
            return lease.token

    async def parent():
        async with aio.Client(url, ttl=10) as own, own.mutex(f"{name}/parent") as lease:
            assert await asyncio.to_thread(in_child, lambda: asyncio.run(use()))
            lease.check()

    asyncio.run(parent())


def count_up(url, name, path, times):
    with holdfast_locks.Client(url) as locks:
        for _ in range(times):
            with locks.mutex(name):
                value = int(path.read_text())
                time.sleep(HOLD)
                path.write_text(str(value + 1))


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(locks, url, name, tmp_path, method):
    path = tmp_path / "count"
    path.write_text("0")
    context = multiprocessing.get_context(method)
    with locks.mutex(name):
        processes = [context.Process(target=count_up, args=[url, name, path, 10]) for _ in range(3)]
        for process in processes:
            process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    assert path.read_text() == "30"


def test_an_executor_of_processes(url, name, tmp_path):
    from concurrent.futures import ProcessPoolExecutor

    path = tmp_path / "count"
    path.write_text("0")
    with ProcessPoolExecutor(3) as pool:
        list(pool.map(count_up, [url] * 6, [name] * 6, [path] * 6, [5] * 6))
    assert path.read_text() == "30"


APPLICATION = """
import os, pathlib, holdfast_locks
url, count = os.environ["URL"], pathlib.Path(os.environ["COUNT"])
parents = holdfast_locks.Client(url)  # of the process that forks the workers
held = parents.mutex("master").acquire()
locks = None

def application(environ, start_response):
    global locks
    try:
        parents.mutex("stock").acquire()
        start_response("500 the parent's client works", [])
        return []
    except holdfast_locks.Closed:
        pass
    locks = locks or holdfast_locks.Client(url)
    with locks.mutex("stock").acquire(timeout=60) as lease:
        count.write_text(str(int(count.read_text()) + 1))
    start_response("200 OK", [])
    return [f"{os.getpid()} {lease.token}".encode()]
"""


def test_gunicorn_forks_workers_after_loading(url, locks, tmp_path, servers):
    from concurrent.futures import ThreadPoolExecutor
    from http.client import HTTPConnection

    from redis_server import free_port

    (tmp_path / "application.py").write_text(APPLICATION)
    (tmp_path / "count").write_text("0")
    port = free_port()
    environment = {**os.environ, "URL": url, "COUNT": str(tmp_path / "count")}
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--preload",
        "-w",
        "3",
        "-b",
        f"127.0.0.1:{port}",
        "--threads",
        "2",
        "application:application",
    ]

    def get(_):
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.status == 200, answer.reason
        return answer.read().decode().split()

    with (
        open(tmp_path / "log", "w") as log,
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log) as server,
    ):
        try:
            deadline = time.monotonic() + 30
            while "Booting worker" not in (tmp_path / "log").read_text():
                assert server.poll() is None and time.monotonic() < deadline, (tmp_path / "log").read_text()
                time.sleep(0.02)
            with ThreadPoolExecutor(6) as pool:
                answers = list(pool.map(get, range(30)))
            assert locks.mutex("master").locked()
        finally:
            server.terminate()
    assert (tmp_path / "count").read_text() == "30"
    tokens = [int(token) for _, token in answers]
    assert len(set(tokens)) == 30
    assert locks.mutex("master").acquire(timeout=30)


kept = []


def hold(url, name):
    client = holdfast_locks.Client(url)
    kept.append(client.mutex(name).acquire())


@pytest.mark.parametrize("method", ["fork", "forkserver"])
def test_a_process_of_multiprocessing_that_ends_releases_what_it_holds(locks, url, name, method):
    process = multiprocessing.get_context(method).Process(target=hold, args=(url, name))
    process.start()
    process.join()
    assert process.exitcode == 0
    with locks.mutex(name).acquire(timeout=9):  # its ttl was 30
        pass
