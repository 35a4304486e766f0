#!/usr/bin/env python3
"""The lock of several independent Redis servers (docs/adr/0029), as a model on virtual time in random worlds.

    fair_quorum.py WORLDS [--first N] [--mutant NAME] [--lost-writes]

Each world is made from its number: 1, 3 or 5 servers, 2 to 6 clients, 40 s of bad weather (messages lost, late and carried
out late, clients paused and killed, servers stopped and restarted, clocks apart), then fair weather. Checked: no
two believe at once, tokens rise, everybody is served in the end. One world in four is calm: its servers stop one at a time
and nothing else happens; there no hold may be lost that has been renewed before.

Status 1: a world has a fault. With a mutant, worlds run until one has, and status 1 means that none had.

--lost-writes: a restart may lose the writes of the last second, and keep all before them.

Mutants: no-yield (split votes stay split), no-guard (a server that may have forgotten grants at once), stale-votes (a vote
counts for ever), no-serial (a yield names no grant), weak-serial (a refused yield makes no new number), hint-believed (a
notification is a vote), no-reclaim (a holder does not claim the servers that lack its hold), old-numbers (a server that was
restarted accepts numbers from before), guard-votes (one in its guard says that it has granted what it knows). What is modelled, and what
is not, stands in docs/adr/0029.
"""
import argparse
import heapq
import random
import sys

from fair_quorum_client import Client
from fair_quorum_server import TTL, Server

BAD_UNTIL, CLAIMS_UNTIL, END = 40.0, 62.0, 150.0
MUTANTS = ("no-yield", "no-guard", "stale-votes", "no-serial", "weak-serial", "hint-believed", "no-reclaim",
           "old-numbers", "guard-votes")


class World:
    def __init__(self, number, mutant, loses_writes):
        r = self.random = random.Random(number)
        self.mutant, self.now, self.agenda, self.order = mutant, 0.0, [], 0
        self.is_calm = number % 4 == 0
        self.loses_writes = loses_writes and not self.is_calm
        skew = r.choice([0.001, 0.01, 0.4])
        count = 3 if self.is_calm else r.choice([1, 3, 3, 5])
        self.servers = [Server(self, i, r.uniform(-skew, skew)) for i in range(count)]
        self.majority = count // 2 + 1
        self.loss = 0 if self.is_calm else r.choice([0, 0, 0.02, 0.1])
        self.pace = r.choice([0.001, 0.01])
        self.restarts = r.choice([[], ["whole"], ["empty"], ["whole", "empty"]])
        if self.loses_writes:
            self.restarts = ["without the last writes"]
        self.last_arrival, self.owners, self.last_token, self.grants, self.faults = {}, {}, 0, 0, []
        self.stopped_at = 0.0
        self.clients = [Client(self, i) for i in range(r.randint(2, 6))]

    def at(self, when, action):
        self.order += 1
        heapq.heappush(self.agenda, (when, self.order, action))

    def is_bad(self):
        return self.now < BAD_UNTIL

    def goes_on(self):
        return self.now < CLAIMS_UNTIL

    # ---- messages

    def is_lost(self):
        return self.is_bad() and self.random.random() < self.loss

    def travel(self, line, action):
        """Messages of one line arrive in order."""
        delay = self.pace * (0.5 + self.random.random())
        if self.is_bad() and not self.is_calm and self.random.random() < 0.02:
            delay += self.random.random() * 1.5
        when = max(self.last_arrival.get(line, 0), self.now + delay)
        self.last_arrival[line] = when
        self.at(when, action)

    def send(self, client, server, task, owner, number, grant, came):
        """`came` hears the answer, or None: the connection broke, and the request may be carried out yet."""
        client_life, server_life = client.life, server.life

        def carried_out():
            return server.carry_out(task, owner, number, grant) if owner else server.clock()

        def hear(answer):
            client.when_awake(client_life, lambda: came(answer))

        def fail():
            self.at(self.now + 0.01 + self.random.random(), lambda: hear(None))

        def arrive_late():
            if server.life == server_life and self.now >= server.stopped_until:
                carried_out()

        def arrive():
            if server.life != server_life:
                fail()
            elif self.now < server.stopped_until:
                self.at(server.stopped_until, arrive)
            else:
                answer = carried_out()
                if self.is_lost():
                    fail()
                else:
                    self.travel(("down", server.place, client.place), lambda: hear(answer))

        if self.is_lost():
            if self.random.random() < 0.5:
                self.at(self.now + self.random.random() * 3, arrive_late)
            fail()
        else:
            self.travel(("up", server.place, client.place), arrive)

    def notify(self, server, owner, is_granted):
        """On a line of its own: it may be lost, and overtake an answer or come after it."""
        client = self.owners[owner]
        if self.is_lost():
            return
        life = client.life
        self.travel(("hint", server.place, client.place), lambda: client.when_awake(
            life, lambda: client.notified(server, owner, is_granted)))

    # ---- weather

    def weather(self):
        if not self.is_bad():
            return
        r, dice = self.random, self.random.random()
        if dice < 0.35:
            r.choice(self.clients).paused_until = self.now + r.choice([0.1, 1, 3, 5])
        elif dice < 0.5:
            r.choice(self.clients).die()
        elif dice < 0.75 or not self.restarts:
            r.choice(self.servers).stopped_until = self.now + r.choice([0.1, 1, 3])
        else:
            server = r.choice(self.servers)
            server.restart(r.choice(self.restarts))
            server.stopped_until = self.now + r.choice([0.01, 0.1, 1])
        self.at(self.now + r.random() * 4, self.weather)

    def one_at_a_time(self):
        """Each server is away for longer than a ttl, and between two of them is time for a renewal and its reclaim."""
        if self.is_bad():
            self.stopped_at = self.now
            self.random.choice(self.servers).stopped_until = self.now + TTL + 1
            self.at(self.now + 2 * TTL + 2, self.one_at_a_time)

    def run(self):
        for each in self.clients:
            self.at(self.random.random() * 0.01, each.start)
        if self.is_calm:
            self.at(1, self.one_at_a_time)
        elif self.random.random() < 0.9:
            self.at(self.random.random() * 2, self.weather)
        while self.agenda and self.now < END:
            self.now, _, action = heapq.heappop(self.agenda)
            action()
        for each in self.clients:
            if each.waits():
                self.faults.append(("starved", each.place, round(self.now - each.begun_at, 1)))
        return self.faults

    # ---- what is checked

    def work(self):
        """How long a hold is used. In calm weather some outlast two servers."""
        r = self.random
        often = 0.8 if self.is_calm else 0.95
        return r.choice([0.0, 0.005, 0.05]) if r.random() < often else r.choice([3.0, 12.0 if self.is_calm else 7.0])

    def began_to_hold(self, client, token):
        self.grants += 1
        for other in self.clients:
            if other is not client and other.believes():
                self.faults.append(("overlap", round(self.now, 3), client.place, other.place))
        if token <= self.last_token:
            self.faults.append(("token fell", round(self.now, 3), token, self.last_token))
        self.last_token = max(token, self.last_token)

    def lost_hold(self, client):
        """A server that a claim with a smaller number holds, which waits, does not make room for the hold."""
        holders = [each.memory.holder for each in self.servers]
        has_smaller = any(each and each.number < client.claim.number for each in holders)
        if self.is_calm and client.held_from < self.stopped_at - TTL and not has_smaller:
            self.faults.append(("lost in calm weather", round(self.now, 3), client.place))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("worlds", type=int)
    options.add_argument("--first", type=int, default=1)
    options.add_argument("--mutant", choices=MUTANTS)
    options.add_argument("--lost-writes", action="store_true")
    chosen = options.parse_args()
    bad = grants = worlds = 0
    kinds = {}
    for number in range(chosen.first, chosen.first + chosen.worlds):
        world = World(number, chosen.mutant, chosen.lost_writes)
        faults = world.run()
        worlds, grants, bad = worlds + 1, grants + world.grants, bad + bool(faults)
        for kind in {each[0] for each in faults}:
            kinds[kind] = kinds.get(kind, 0) + 1
        if faults and bad <= 5:
            print(f"world {number}, {len(world.servers)} servers: {faults[:3]}", flush=True)
        if faults and chosen.mutant:
            break
    print(f"{worlds} worlds, {grants} grants, {bad} worlds with faults {kinds or ''}")
    sys.exit(bool(bad) != bool(chosen.mutant))


if __name__ == "__main__":
    main()
