#!/usr/bin/env python3
"""One process of bench/redlock_sections.py, for pottery's Redlock:

    pottery_bench.py sections HOST:PORT,… NAME CONTENDERS
    pottery_bench.py --version                              whether all that it needs is there

The package comes from .deps/python, or the folder that HOLDFAST_PYTHON names; its redis-py is Debian's. All defaults of
the library are kept: it looks for a held lock after up to 200 ms, as long as it takes.
"""

import json
import logging
import os
import pathlib
import sys
import threading
import time
import types

packages = os.environ.get("HOLDFAST_PYTHON") or pathlib.Path(__file__).resolve().parents[2] / ".deps" / "python"
sys.path.insert(0, str(packages))
sys.dont_write_bytecode = True
sys.modules["mmh3"] = types.ModuleType("mmh3")  # a compiled package that only its Bloom filters call

import redis
from pottery import Redlock

TTL_S = 30
TICK_S = 0.001

logging.disable()


class Report:
    def __init__(self):
        self.sections, self.errors, self.problem = [], 0, ""

    def contend(self, contender, name, servers, limit_ns):
        lock = Redlock(key=name, masters=servers, auto_release_time=TTL_S)
        while (requested := time.monotonic_ns()) < limit_ns:
            try:
                lock.acquire()
                granted = time.monotonic_ns()
                released = time.monotonic_ns()
                lock.release()
                self.sections.append((contender, requested, granted, released, time.monotonic_ns()))
            except Exception as problem:  # whatever it is, it is counted
                self.errors += 1
                self.problem = f"{type(problem).__name__}: {problem}"


def sections(hosts, name, contenders):
    servers = set()
    for each in hosts.split(","):
        host, port = each.split(":")
        servers.add(redis.Redis(host=host, port=int(port)))
    print("ready", flush=True)
    end_ns, limit_ns = map(int, sys.stdin.readline().split())
    report = Report()
    for n in range(contenders):
        threading.Thread(target=report.contend, args=(n, name, servers, limit_ns), daemon=True).start()
    while (now := time.monotonic_ns()) < end_ns or (now < limit_ns and not report.sections):
        time.sleep(TICK_S)
    print(json.dumps(vars(report)), flush=True)
    os._exit(0)  # threads that wait for a silent server do not end


if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        sys.exit(0)
    if len(sys.argv) != 5 or sys.argv[1] != "sections":
        sys.exit(__doc__)
    sections(sys.argv[2], sys.argv[3], int(sys.argv[4]))
