"""The death of a primary, as the clients of several libraries meet it at once, on one group of servers."""

import contextlib
import queue
import signal
import subprocess
import sys
import threading
import time

from redis_groups import GROUPS, PRIMARY, await_that

HOLDERS = 20
LIMIT_S = 65  # for a grant after the death
GRANT_S = 0.7  # for that grant: some libraries ask the replicas before they grant


class Actor:
    """A process that takes the lines of bench/lock_actor.cpp."""

    def __init__(self, library, url, ttl_ms):
        self.library = library
        command = [str(each) for each in (*library.actor, url + library.options, ttl_ms)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                         text=True, bufsize=1)
        self._lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._events = {}  # name -> [(event, ns, text)]

    def _read(self):
        for line in self._process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def await_ready(self, limit_s=60):
        if self._lines.get(timeout=limit_s) != "ready":
            sys.exit(f"{self.library.name}: the client does not start")

    def send(self, verb, name):
        self._process.stdin.write(f"{verb} {name}\n")

    def _take_lines(self, wait_s):
        with contextlib.suppress(queue.Empty):
            while True:
                line = self._lines.get(timeout=wait_s) if wait_s > 0 else self._lines.get_nowait()
                if line is None:
                    self._lines.put(None)
                    return
                if line == "ready":
                    continue
                event, name, ns, *more = line.split(" ", 3)
                self._events.setdefault(name, []).append((event, int(ns), *more))
                wait_s = 0

    def when(self, name, *wanted):
        """(event, ns, text) of the first of these events so far, or None."""
        self._take_lines(0)
        return next((each for each in self._events.get(name, ()) if each[0] in wanted), None)

    def await_event(self, name, *wanted, until):
        """The same, waited for; `until` is of time.monotonic()."""
        while True:
            found = self.when(name, *wanted)
            if found or time.monotonic() > until:
                return found
            self._take_lines(0.02)

    def end(self):
        self._process.kill()
        self._process.wait()


@contextlib.contextmanager
def actors(libraries, url, ttl_ms):
    """One of each library. Started together, because some of them take long."""
    with contextlib.ExitStack() as ending:
        started = [Actor(each, url, ttl_ms) for each in libraries]
        for each in started:
            ending.callback(each.end)
        for each in started:
            each.await_ready()
        yield started


def names_of(library, group, primary, prefix, count):
    """Names whose keys this primary owns; of any, where there is none given."""
    names = (f"{prefix}-{n}" for n in range(10_000))
    mine = (name for name in names if primary is None or group.owner_of(library.key_of(name)) is primary)
    return [next(mine) for _ in range(count)]


def catch_up(group):
    for each in group.primaries:
        offset = each.info("replication")["master_repl_offset"]
        end = time.monotonic() + 10
        while any(int(replica.info("replication")["slave_repl_offset"]) < int(offset)
                  for replica in group.replicas_of(each)):
            if time.monotonic() > end:
                sys.exit("the replicas do not catch up")


def kill(node):
    node.signal(signal.SIGKILL)
    return time.monotonic_ns()


def await_new_primary(group, victim):
    """Until clients that ask are led to another one."""
    def led_elsewhere():
        if group.kind == "sentinel":
            return all(int(each.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", PRIMARY)[1]) != victim.port
                       for each in group.watching)
        return all("cluster_state:ok" in each.ask("CLUSTER", "INFO")
                   and all(primary[1] != victim.port for _, _, primary, *_ in each.ask("CLUSTER", "SLOTS"))
                   for each in group.nodes if each is not victim)
    await_that(led_elsewhere, "no replica takes over")


def caught_up(kind, libraries, ttl_ms):
    """All holds are replicated, then a primary dies. All clients are connected already.

    Of each library: `grant_s`, until another client has a free name of that shard; of HOLDERS names on all shards
    `lost`, those that another client got; `told` of them, whose holders were told before.
    """
    figures = {}
    with GROUPS[kind]() as group, actors([*libraries, *libraries], group.url, ttl_ms) as started:
        pairs = list(zip(started[:len(libraries)], started[len(libraries):]))
        victim = group.primaries[0]
        held = {}
        for holder, _ in pairs:
            held[holder] = names_of(holder.library, group, None, f"{holder.library.kind}-held", HOLDERS)
            for name in held[holder]:
                holder.send("take", name)
        for holder, names in held.items():
            for name in names:
                if not holder.await_event(name, "granted", until=time.monotonic() + 20):
                    sys.exit(f"{holder.library.name} does not get a free name")
        time.sleep(ttl_ms / 1000 / 6)  # half of the way to the first renewal
        catch_up(group)
        free = {newcomer: names_of(newcomer.library, group, victim, f"{newcomer.library.kind}-free", 1)[0]
                for _, newcomer in pairs}
        died_ns = kill(victim)
        for newcomer, name in free.items():
            newcomer.send("take", name)
        until = time.monotonic() + LIMIT_S
        for newcomer, name in free.items():
            granted = newcomer.await_event(name, "granted", until=until)
            figures[newcomer.library.name] = {"grant_s": granted and (granted[1] - died_ns) / 1e9}
        # A renewal may have failed meanwhile: what nobody renews is free by then.
        time.sleep(max(0, died_ns / 1e9 + 1.5 * ttl_ms / 1000 - time.monotonic()))
        for holder, newcomer in pairs:
            for name in held[holder]:
                newcomer.send("try", name)
        until = time.monotonic() + 15
        for holder, newcomer in pairs:
            lost = told = 0
            for name in held[holder]:
                tried = newcomer.await_event(name, "granted", "refused", until=until)
                was_told = holder.when(name, "lost")
                lost += bool(was_told or tried and tried[0] == "granted")
                told += bool(was_told and (not tried or tried[0] != "granted" or was_told[1] < tried[1]))
            figures[holder.library.name] |= {"holders": len(held[holder]), "lost": lost, "told": told}
    return figures


def held_back(kind, libraries, ttl_ms):
    """The replicas miss one grant, then the primary dies, and a process that is started afterwards asks for the name.

    Of each library, in half a ttl from the death on: `granted`, whether the first client got it; `both_s`, for how long
    two held the name, as far as the first one had been told; 0: never. `told`, whether it was told at all.
    """
    figures = {}
    with GROUPS[kind]() as group, actors(libraries, group.url, ttl_ms) as holders:
        victim = group.primaries[0]
        names = {each: names_of(each.library, group, victim, f"{each.library.kind}-missed", 1)[0] for each in holders}
        catch_up(group)
        for each in group.replicas_of(victim):
            each.signal(signal.SIGSTOP)
        # What was sent to a process that stands still is read when it goes on: the connections have to end, too.
        victim.ask("CLIENT", "KILL", "TYPE", "replica")
        for each, name in names.items():
            each.send("try", name)
        until = time.monotonic() + GRANT_S
        for each, name in names.items():
            each.await_event(name, "granted", "refused", until=until)
        died_ns = kill(victim)
        for each in group.replicas_of(victim):
            each.signal(signal.SIGCONT)
        await_new_primary(group, victim)
        with contextlib.ExitStack() as ending:
            # Of a cluster the living nodes alone: some clients ask a dead one for seconds.
            url = group.url.replace(f"{victim.where},", "")
            newcomers = {each: Actor(each.library, url, ttl_ms) for each in holders}
            for each, newcomer in newcomers.items():
                ending.callback(newcomer.end)
                newcomer.send("take", names[each])
            end_ns = died_ns + ttl_ms * 500_000
            time.sleep(max(0, end_ns / 1e9 - time.monotonic()))
            for each, newcomer in newcomers.items():
                figures[each.library.name] = doubles(*(each.when(names[each], event) for event in ("granted", "lost")),
                                                     newcomer.when(names[each], "granted"), died_ns, end_ns)
    return figures


def doubles(granted, lost, second, died_ns, end_ns):
    both_ns = 0
    if granted and second:
        both_ns = max(0, (lost[1] if lost else end_ns) - max(granted[1], second[1]))
    return {"granted": bool(granted and granted[1] < died_ns), "told": bool(lost),
            "second_s": second and (second[1] - died_ns) / 1e9, "both_s": both_ns / 1e9}
