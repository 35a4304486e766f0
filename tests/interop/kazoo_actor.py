"""kazoo's locks, told what to do by lines on standard input, as tests/actor is; it ends with its input.
curator/Actor.java takes the same lines.

open HOST:PORT[,HOST:PORT]… [timeout=MS]    -> open                   auth=USER:PASSWORD: logged in by digest
lock KIND PATH [within=MS]                  -> locked | refused       KIND: exclusive, read, write, permit/CAPACITY,
                                                                       election
unlock                                      -> unlocked | failed TEXT      the lock that was taken last
participants KIND PATH                      -> participants DATA…     in their order; of locks, not of permits
contend KIND PATH WITNESS MILLISECONDS        -> contended TURNS          lock, visit, unlock; until it was inside three
                                                                       times, and for as long as this at least
                                                                       KIND: exclusive, write, election
tree PATH                                   -> tree PATH=DATA… | tree none     all below it too, by name
create PATH [DATA]                          -> created                with an ACL for us alone: private
container PATH                              -> created
"""
import logging
import sys
import time
import urllib.parse

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, LockTimeout, NoNodeError
from kazoo.protocol.serialization import Create2
from kazoo.security import CREATOR_ALL_ACL, OPEN_ACL_UNSAFE
from witness import Witness


def option(args, key):
    for arg in args:
        if arg.startswith(key + "="):
            return arg[len(key) + 1 :]
    return None


class CreateContainer(Create2):
    type = 19


class Actor:
    def open(self, servers, *options):
        auth = option(options, "auth")
        self.zk = KazooClient(
            servers, timeout=int(option(options, "timeout") or 10000) / 1000, auth_data=[("digest", auth)] if auth else None
        )
        self.zk.start(timeout=60)
        return "open"

    def made(self, kind, path):
        kind, _, capacity = kind.partition("/")
        if kind == "permit":
            return self.zk.Semaphore(path, max_leases=int(capacity))
        if kind == "election":
            return self.zk.Election(path, "kazoo").lock
        return {"exclusive": self.zk.Lock, "read": self.zk.ReadLock, "write": self.zk.WriteLock}[kind](path, "kazoo")

    def lock(self, kind, path, *options):
        within = option(options, "within")
        lock = self.made(kind, path)
        try:
            if not lock.acquire(blocking=within != "0", timeout=int(within) / 1000 if within else None):
                return "refused"
        except LockTimeout:
            return "refused"
        self.held = lock
        return "locked"

    def unlock(self):
        return "unlocked" if self.held.release() else "failed not held"

    def participants(self, kind, path):
        return " ".join(["participants", *map(urllib.parse.quote, self.made(kind, path).contenders())])

    def contend(self, kind, path, witness, milliseconds):
        place = Witness(witness)
        lock = self.made(kind, path)
        turns = 0
        end = time.monotonic() + int(milliseconds) / 1000
        while turns < 3 or time.monotonic() < end:
            with lock:
                place.visit()
            turns += 1
        return f"contended {turns}"

    def below(self, path):
        data, _ = self.zk.retry(self.zk.get, path)
        yield f"{path}={urllib.parse.quote(data or b'')}"
        for child in sorted(self.zk.retry(self.zk.get_children, path)):
            try:
                yield from self.below(path.rstrip("/") + "/" + child)
            except NoNodeError:
                pass  # it went meanwhile

    def tree(self, path):
        try:
            return " ".join(["tree", *self.below(path)])
        except NoNodeError:
            return "tree none"

    def create(self, path, data="", acl="open"):
        self.zk.create(path, data.encode(), acl=CREATOR_ALL_ACL if acl == "private" else OPEN_ACL_UNSAFE)
        return "created"

    def container(self, path):
        # kazoo knows no containers: this is what other clients send, 4 being their flag.
        created = self.zk.handler.async_result()
        self.zk._call(CreateContainer(path, b"", OPEN_ACL_UNSAFE, 4), created)
        created.get(timeout=60)
        return "created"


logging.disable()  # that connections end is part of the tests
actor = Actor()
for line in sys.stdin:
    verb, *args = line.split()
    try:
        answer = getattr(actor, verb)(*args)
    except KazooException as refused:
        answer = f"failed {type(refused).__name__} {refused}"
    print(answer, flush=True)
actor.zk.stop()
