"""redis-py's Lock, told what to do by lines on standard input, as tests/actor is; it ends with its input.

open SOCKET                          -> open
hold NAME [ttl=MS] [within=MS]       -> held | refused          without ttl: a key that never expires
release                              -> released | failed TEXT
contend NAME WITNESS MILLISECONDS [every=MS]   -> contended TURNS   lock, visit, unlock; until it was inside three
                                                                 times, and for as long as this at least
"""
import sys
import time

import redis
from witness import Witness


def seconds(args, key):
    for arg in args:
        if arg.startswith(key + "="):
            return int(arg[len(key) + 1 :]) / 1000
    return None


class Actor:
    def open(self, socket):
        self.redis = redis.Redis(unix_socket_path=socket)
        self.redis.ping()
        return "open"

    def hold(self, name, *options):
        within = seconds(options, "within")
        self.lock = self.redis.lock(name, timeout=seconds(options, "ttl"), sleep=0.01)
        held = self.lock.acquire(blocking=within != 0, blocking_timeout=within)
        return "held" if held else "refused"

    def release(self):
        try:
            self.lock.release()
        except redis.exceptions.LockError as refused:
            return f"failed {refused}"
        return "released"

    def contend(self, name, witness, milliseconds, *options):
        place = Witness(witness)
        lock = self.redis.lock(name, timeout=30, sleep=seconds(options, "every") or 0.02)
        turns = 0
        end = time.monotonic() + int(milliseconds) / 1000
        while turns < 3 or time.monotonic() < end:
            with lock:
                place.visit()
            turns += 1
        return f"contended {turns}"


actor = Actor()
for line in sys.stdin:
    verb, *args = line.split()
    print(getattr(actor, verb)(*args), flush=True)
