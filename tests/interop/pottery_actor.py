"""pottery's Redlock, told what to do by lines on standard input, as tests/actor is; it ends with its input.

open SOCKET...                       -> open        servers of which a majority decides
hold NAME ttl=MS [within=0]          -> held | refused
release                              -> released | failed TEXT
contend NAME WITNESS MILLISECONDS [sections=N]   -> contended TURNS [overdue=N]   lock, visit, unlock; until it was inside
                                                    three times, for as long as this at least, and until all were inside
                                                    N times. Overdue: so often it was inside when its lock expired

Its keys are "redlock:NAME"; a NAME here has that prefix already.
"""
import contextlib
import logging
import random
import sys
import time
import types

import redis

sys.modules["mmh3"] = types.ModuleType("mmh3")  # a compiled package that only its Bloom filters call
from pottery import Redlock, ReleaseUnlockedLock
from witness import Witness

logging.disable()


def option(args, key):
    for arg in args:
        if arg.startswith(key + "="):
            return int(arg[len(key) + 1 :])
    return None


class Actor:
    def open(self, *sockets):
        self.masters = {redis.Redis(unix_socket_path=each) for each in sockets}
        for each in self.masters:
            each.ping()
        return "open"

    def lock_of(self, name, ttl_ms):
        return Redlock(key=name.removeprefix("redlock:"), masters=self.masters, auto_release_time=ttl_ms / 1000)

    def hold(self, name, *options):
        self.lock = self.lock_of(name, option(options, "ttl"))
        return "held" if self.lock.acquire(blocking=option(options, "within") != 0) else "refused"

    def release(self):
        try:
            self.lock.release()
        except ReleaseUnlockedLock as refused:
            return f"failed {refused}"
        return "released"

    def contend(self, name, witness, milliseconds, *options):
        place = Witness(witness)
        sections = option(options, "sections") or 0
        # It releases before all servers have answered to its acquire: what comes later stays for a ttl.
        ttl = 5
        lock = self.lock_of(name, 1000 * ttl)
        turns = overdue = 0
        end = time.monotonic() + int(milliseconds) / 1000
        while turns < 3 or time.monotonic() < end or place.sections() < sections:
            begun = time.monotonic()
            if not lock.acquire(blocking=False):
                time.sleep(random.uniform(0, 0.2))  # as it waits by itself
                continue
            place.visit()
            overdue += time.monotonic() - begun > ttl
            # It throws where its own acquire is still on the way to a server, and where the lock has expired.
            with contextlib.suppress(ReleaseUnlockedLock):
                lock.release()
            turns += 1
        return f"contended {turns}" + (f" overdue={overdue}" if overdue else "")


actor = Actor()
for line in sys.stdin:
    verb, *args = line.split()
    print(getattr(actor, verb)(*args), flush=True)
