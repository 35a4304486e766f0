#!/usr/bin/env python3
"""What kazoo's Lock costs: the figures of `holdfast bench`, for a library that shares locks with us.

    kazoo_bench.py pair HOST:PORT [COUNT]                 one thread, one free path: acquire + release
    kazoo_bench.py handoff HOST:PORT [SECONDS [WAITERS]]  two processes with half of the waiters each, one path

Prints one JSON object. All defaults of the library are kept; a process has one client, and so one session, as its
users have it, and each waiter is a thread.
"""

import json
import multiprocessing
import os
import statistics
import sys
import threading
import time

import kazoo
from kazoo.client import KazooClient

PROCESSES = 2


def client(where):
    zk = KazooClient(where)
    zk.start()
    return zk


def p99(samples):
    return sorted(samples)[len(samples) * 99 // 100] if samples else None


def pair(where, count):
    zk = client(where)
    lock = zk.Lock(f"/bench-{os.getpid()}-pair")
    samples_us = []
    for n in range(-500, count):
        start = time.perf_counter_ns()
        if not lock.acquire():
            sys.exit("kazoo did not get a free lock")
        lock.release()
        if n >= 0:
            samples_us.append((time.perf_counter_ns() - start) / 1e3)
    zk.stop()
    return {"scenario": "pair", "count": count, "p50_us": statistics.median(samples_us), "p99_us": p99(samples_us),
            "per_s": 1e6 * count / sum(samples_us)}


def contend(where, name, waiters, begin, report):
    """Each hold: from when acquire returned until release was called, on the clock that all processes share."""
    zk = client(where)
    holds = [[] for _ in range(waiters)]
    report.put(None)
    begin.wait()
    start_ns, end_ns = begin.times

    def wait(mine):
        lock = zk.Lock(name)
        time.sleep(max(0, start_ns.value - time.monotonic_ns()) / 1e9)
        while time.monotonic_ns() < end_ns.value:
            lock.acquire()
            granted = time.monotonic_ns()
            released = time.monotonic_ns()
            lock.release()
            if granted < end_ns.value:
                mine.append((granted, released))

    threads = [threading.Thread(target=wait, args=(mine,)) for mine in holds]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    report.put((os.getpid(), holds))
    zk.stop()


class Begin:
    """What all processes wait for: the times between which they contend."""

    def __init__(self):
        self._begun = multiprocessing.Event()
        self.times = multiprocessing.Value("q"), multiprocessing.Value("q")

    def wait(self):
        self._begun.wait()

    def tell(self, seconds):
        start_ns, end_ns = self.times
        start_ns.value = time.monotonic_ns() + 500_000_000
        end_ns.value = start_ns.value + round(seconds * 1e9)
        self._begun.set()


def handoff(where, seconds, waiters):
    report = multiprocessing.Queue()
    begin = Begin()
    name = f"/bench-{os.getpid()}-handoff"
    contenders = [multiprocessing.Process(target=contend, args=(where, name, waiters // PROCESSES, begin, report))
                  for _ in range(PROCESSES)]
    for each in contenders:
        each.start()
    for _ in contenders:
        report.get(timeout=60)
    begin.tell(seconds)
    reports = [report.get(timeout=seconds + 240) for _ in contenders]
    for each in contenders:
        each.join()
    holds = sorted((granted, released, process) for process, its in reports for mine in its
                   for granted, released in mine)
    grants = [len(mine) for _, its in reports for mine in its]
    samples_us = []
    for (_, released, before), (granted, _, after) in zip(holds, holds[1:]):
        if granted < released:
            sys.exit("MUTUAL EXCLUSION WAS VIOLATED: kazoo granted a held lock")
        if before != after:
            samples_us.append((granted - released) / 1e3)
    return {"scenario": "handoff", "processes": PROCESSES, "concurrency": waiters // PROCESSES, "duration_s": seconds,
            "per_s": len(holds) / seconds, "grants": len(holds), "grants_min": min(grants), "grants_max": max(grants),
            "handovers": len(samples_us), "p50_us": statistics.median(samples_us) if samples_us else None,
            "p99_us": p99(samples_us)}


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("pair", "handoff"):
        sys.exit(__doc__)
    scenario, where, *size = sys.argv[1:]
    if scenario == "pair":
        figures = pair(where, int(size[0]) if size else 5000)
    else:
        figures = handoff(where, float(size[0]) if size else 5.0, int(size[1]) if len(size) > 1 else 4)
    print(json.dumps({"store": f"kazoo {kazoo.__version__}", **figures}))


if __name__ == "__main__":
    main()
