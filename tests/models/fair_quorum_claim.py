"""The machine of one claim of the model: what src/stores/quorum/protocol/contender does, from its first request until it
holds or is refused. It returns nothing: it sends by `send(server, task, number, grant)` and says `won()` and `refused()`."""
from fair_quorum_server import ABSENT, FURTHEST, GRANTED, OLDEST, PAUSED, REFUSED, TTL

SILENCE, LOOK_AGAIN, YIELD_AGAIN = 0.5, 0.01, 0.2
ROOM = 20_000  # microseconds, for the way to a server whose clock is a little ahead


class Seat:
    """What the claim knows of one server."""

    def __init__(self):
        self.sent = self.since = 0.0
        self.accepted = self.fence = self.clock = self.grant = 0
        self.yielding = None  # the number of the grant that it gives back
        self.task, self.in_flight, self.again = None, False, False
        self.granted = self.refuses = self.answered = self.problem = self.paused = self.queued = False
        self.blocker = self.left = None


class Contender:
    def __init__(self, world, number, waits, send, won, refused):
        self.world, self.number, self.waits = world, number, waits
        self.send_to, self.won, self.refused = send, won, refused
        self.seats = {server: Seat() for server in world.servers}
        self.proposed, self.asked_at, self.is_asked, self.is_split = 0, 0.0, False, False
        self.holds = self.is_over = False

    # ---- events

    def ask(self):
        """The caller wants to know where the claim stands: every third of a ttl, and at once when there may be news."""
        if self.is_over or self.holds:
            return
        self.is_asked, self.asked_at = True, self.world.now
        since = self.won_since()
        if since is not None and self.world.now - since < TTL / 4:
            self.consider()
            return
        for server, seat in self.seats.items():
            seat.answered = seat.problem = seat.paused = False
            self.claim_at(server)

    def hear(self, server, vote):
        """An answer, or None: the request failed, and may be carried out yet."""
        seat = self.seats[server]
        seat.in_flight = False
        if vote is None:
            seat.problem = True
        else:
            self.take(seat, vote)
        if self.holds or self.is_over:
            return
        gives_way = vote and vote.word == GRANTED and vote.is_overtaken and self.votes() < self.world.majority
        if gives_way and self.world.mutant != "no-yield":
            seat.yielding, seat.granted = seat.grant, False
            self.send(server, "give_back")
        elif vote and vote.word == ABSENT:
            self.claim_at(server)
        self.consider()
        if seat.again and not self.holds and not self.is_over:
            self.claim_at(server)

    def hint(self, server, is_granted):
        if self.holds or self.is_over:
            return
        if is_granted and self.world.mutant == "hint-believed":
            seat = self.seats[server]
            seat.granted, seat.accepted = True, self.number
            self.consider()
        else:
            self.claim_at(server)

    def wake(self):
        """Called again and again: what the machine does when nothing comes."""
        if self.holds or self.is_over:
            return
        now = self.world.now
        for server, seat in self.seats.items():
            if seat.yielding is not None and not seat.in_flight and now >= seat.sent + YIELD_AGAIN:
                self.send(server, "give_back")
            if self.is_asked and seat.in_flight and not seat.answered and now >= self.asked_at + SILENCE:
                seat.problem = True
        if self.is_split:
            self.resolve_split()
        self.consider()

    def spread(self, server):
        """The claim holds, and this server does not have it."""
        self.claim_at(server)
        self.seats[server].again = False

    # ---- requests and answers

    def token(self):
        return self.proposed or self.number

    def take(self, seat, vote):
        seat.answered, seat.problem = True, False
        if seat.task == "give_back":
            seat.yielding = None
        seat.granted, seat.refuses = vote.word == GRANTED, False
        seat.queued, seat.paused = vote.word == "queued", vote.word == PAUSED
        seat.since, seat.clock, seat.blocker = seat.sent, vote.clock, vote.blocker
        seat.left = vote.left if vote.is_head else None
        if vote.word in (REFUSED, PAUSED, ABSENT):
            return
        seat.accepted, seat.fence, seat.grant = vote.accepted, vote.fence, vote.grant
        seat.refuses = seat.task == "accept" and seat.accepted != self.token() and seat.fence < self.token()

    def send(self, server, task):
        seat = self.seats[server]
        seat.in_flight, seat.again, seat.task, seat.sent = True, False, task, self.world.now
        number = self.token() if task == "accept" else self.number
        self.send_to(server, task, number, seat.yielding if task == "give_back" else None)

    def claim_at(self, server):
        """A yield that is not answered goes first: it may have been carried out."""
        seat = self.seats[server]
        if seat.in_flight:
            seat.again = True
        elif seat.yielding is not None:
            self.send(server, "give_back")
        else:
            self.send(server, "claim" if self.waits or self.is_split or self.holds else "try_claim")

    # ---- conclusions

    def is_valid(self, seat):
        in_time = seat.since + TTL > self.world.now or self.world.mutant == "stale-votes"
        return seat.granted and seat.yielding is None and in_time

    def votes(self):
        return sum(self.is_valid(seat) for seat in self.seats.values())

    def won_since(self):
        """When the earliest of the best majority's grants began; None: there is no majority for one token."""
        good = [s.since for s in self.seats.values() if self.is_valid(s) and s.accepted == self.token()]
        need = self.world.majority
        return sorted(good, reverse=True)[need - 1] if len(good) >= need else None

    def consider(self):
        since = self.won_since()
        if since is not None:
            self.holds = True
            self.won(self.token(), since)
            return
        if self.votes() >= self.world.majority:
            self.propose()
        if self.is_asked:
            self.conclude()

    def can_accept(self, seat, token):
        now = self.world.now
        if not self.is_valid(seat) or seat.problem:
            return False
        if seat.accepted == token:
            return True
        if seat.in_flight and now >= seat.sent + SILENCE:
            return False
        clock = self.clock_of(seat)
        return not seat.refuses and clock - OLDEST < token <= clock + FURTHEST and seat.fence < token

    def clock_of(self, seat):
        """It is no further than that."""
        return seat.clock + int((self.world.now - seat.since) * 1e6)

    def acceptors(self, token):
        return sum(self.can_accept(seat, token) for seat in self.seats.values())

    def next_proposal(self):
        """The largest number that follows a fence, or is the time of a server, and that a majority can accept."""
        there = [s for s in self.seats.values() if self.is_valid(s)]
        nexts = [max(s.fence, self.token()) + 1 for s in there]
        nexts += [max(after, self.clock_of(s) + ROOM) for s, after in zip(there, list(nexts))]
        return max([n for n in nexts if self.acceptors(n) >= self.world.majority], default=None)

    def propose(self):
        seats = self.seats.values()
        if any(s.in_flight and s.task == "accept" and self.world.now < s.sent + SILENCE for s in seats):
            return
        if not self.proposed or self.acceptors(self.token()) < self.world.majority:
            following = self.next_proposal()
            if following is None:
                return
            self.proposed = following
        for server, seat in self.seats.items():
            if self.can_accept(seat, self.token()) and not seat.in_flight and seat.accepted != self.token():
                self.send(server, "accept")

    def conclude(self):
        seats, need = list(self.seats.values()), self.world.majority
        if sum(s.problem for s in seats) > len(seats) - need:
            self.is_asked = False
            if not self.waits:
                self.refuse()
        elif self.waits:
            self.is_asked = sum(s.answered and not s.problem for s in seats) < need
        else:
            self.conclude_try()

    def conclude_try(self):
        """A try is refused if a majority names one holder. Where the votes are split it waits for a while."""
        seats, need = list(self.seats.values()), self.world.majority
        is_open = [self.is_valid(s) or not s.answered and not s.problem or s.yielding is not None for s in seats]
        if not self.is_split and sum(is_open) >= need or self.votes() >= need:
            return
        blockers = [s.blocker for s in seats if not s.granted and s.blocker]
        is_blocked = any(blockers.count(each) >= need for each in blockers)
        was_free = self.votes() != 0 or self.is_split
        is_late = self.world.now >= self.asked_at + SILENCE
        if any(s.paused for s in seats) or not was_free or is_blocked or is_late:
            self.refuse()
        elif not self.is_split:
            self.is_split = True
            self.resolve_split()

    def resolve_split(self):
        for server, seat in self.seats.items():
            if not self.is_valid(seat) and not seat.in_flight:
                self.claim_at(server)

    def refuse(self):
        self.is_asked, self.is_over = False, True
        self.refused()
