#!/usr/bin/env python3
"""What redis-py's Lock costs: the figures of `holdfast bench`, for a library that shares locks with us.

    redis_py_bench.py pair HOST:PORT [COUNT]       one thread, one free name: acquire + release
    redis_py_bench.py handoff HOST:PORT [SECONDS]  four processes, one name; from release to acquire in another

Prints one JSON object. All defaults of the library are kept; it looks for a held lock every 100 ms.
"""

import json
import multiprocessing
import os
import statistics
import sys
import time

import redis

PROCESSES = 4
TTL_S = 30


def client(where):
    host, port = where.rsplit(":", 1)
    return redis.Redis(host=host, port=int(port))


def p99(samples):
    return sorted(samples)[len(samples) * 99 // 100]


def pair(where, count):
    lock = client(where).lock(f"bench/{os.getpid()}/pair", timeout=TTL_S)
    samples_us = []
    for n in range(-500, count):
        start = time.perf_counter_ns()
        if not lock.acquire():
            sys.exit("redis-py did not get a free lock")
        lock.release()
        if n >= 0:
            samples_us.append((time.perf_counter_ns() - start) / 1e3)
    return {"scenario": "pair", "count": count, "p50_us": statistics.median(samples_us), "p99_us": p99(samples_us),
            "per_s": 1e6 * count / sum(samples_us)}


def contend(where, name, start_ns, end_ns, report):
    """Each hold: from when acquire returned until release was called, on the clock that all processes share."""
    lock = client(where).lock(name, timeout=TTL_S)
    holds = []
    time.sleep(max(0, start_ns - time.monotonic_ns()) / 1e9)
    while time.monotonic_ns() < end_ns:
        if not lock.acquire(blocking_timeout=max(0.001, (end_ns - time.monotonic_ns()) / 1e9)):
            break
        granted = time.monotonic_ns()
        holds.append((granted, time.monotonic_ns()))
        lock.release()
    report.put((os.getpid(), holds))


def handoff(where, seconds):
    report = multiprocessing.Queue()
    start = time.monotonic_ns() + 500_000_000
    end = start + round(seconds * 1e9)
    name = f"bench/{os.getpid()}/handoff"
    contenders = [multiprocessing.Process(target=contend, args=(where, name, start, end, report))
                  for _ in range(PROCESSES)]
    for each in contenders:
        each.start()
    reports = [report.get(timeout=seconds + 60) for _ in contenders]
    for each in contenders:
        each.join()
    holds = sorted((granted, released, process) for process, its in reports for granted, released in its)
    grants = [len(its) for _, its in reports]
    samples_us = []
    for (_, released, before), (granted, _, after) in zip(holds, holds[1:]):
        if granted < released:
            sys.exit("MUTUAL EXCLUSION WAS VIOLATED: redis-py granted a held lock")
        if before != after:
            samples_us.append((granted - released) / 1e3)
    return {"scenario": "handoff", "processes": PROCESSES, "duration_s": seconds, "per_s": len(holds) / seconds,
            "grants": len(holds), "grants_min": min(grants), "grants_max": max(grants),
            "handovers": len(samples_us),
            "p50_us": statistics.median(samples_us) if samples_us else None,
            "p99_us": p99(samples_us) if samples_us else None}


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("pair", "handoff"):
        sys.exit(__doc__)
    scenario, where, *size = sys.argv[1:]
    figures = pair(where, int(size[0]) if size else 5000) if scenario == "pair" else \
        handoff(where, float(size[0]) if size else 5.0)
    print(json.dumps({"store": f"redis-py {redis.__version__}", **figures}))


if __name__ == "__main__":
    main()
