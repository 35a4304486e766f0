"""One server of the model: what src/stores/redis/protocol/lua/quorum does for exclusive claims, one request at a time."""
import copy
import math

TTL, MARGIN, GUARD = 2.0, 0.03, 4.0
FURTHEST = 1_000_000  # microseconds by which a token may be ahead of a server's clock; less than any guard
OLDEST = int(GUARD * 1e6) - FURTHEST  # by which it may be behind
ABSENT, QUEUED, GRANTED, REFUSED, PAUSED = "absent", "queued", "granted", "refused", "paused"


class Claim:
    """What stands at a server of one owner: `since` numbers its grants, `accepted` is the token, or 0."""

    def __init__(self, number, owner, since):
        self.number, self.owner, self.since, self.accepted, self.expires = number, owner, since, 0, 0.0

    def order(self):
        return self.number, self.owner


class Vote:
    """An answer: where a claim stands, and of a grant its number, its token, and whether another claim goes first."""

    def __init__(self, word, clock, claim=None, fence=0, is_overtaken=False, is_head=False, left=None, blocker=None):
        self.word, self.clock, self.fence, self.is_overtaken = word, clock, fence, is_overtaken
        self.accepted, self.grant = (claim.accepted, claim.since) if claim else (0, 0)
        self.is_head, self.left, self.blocker = is_head, left, blocker


class Memory:
    """All that a server may forget. `fence` is the largest token that it has accepted, None if it knows of none."""

    def __init__(self):
        self.holder, self.waiting, self.fence = None, {}, None


class Server:
    def __init__(self, world, place, skew):
        self.world, self.place, self.skew = world, place, skew
        self.memory, self.life, self.stopped_until, self.guarded_until = Memory(), 0, 0.0, -1.0
        self.kept = []  # (moment, memory) of the last second, in worlds where a restart may lose so much

    def clock(self):
        return int((self.world.now + self.skew + 100) * 1e6)

    def is_paused(self):
        return self.world.now < self.guarded_until and self.world.mutant != "no-guard"

    def restart(self, kind):
        """Whole, empty, or without the writes of up to a second. It grants nothing while the guard lasts."""
        if kind == "empty":
            self.memory = Memory()
        elif kind == "without the last writes" and self.kept:
            self.memory = self.world.random.choice(self.kept)[1]
        self.kept = []
        self.life += 1
        self.guarded_until = self.world.now + GUARD

    def carry_out(self, task, owner, number, grant):
        now, memory = self.world.now, self.memory
        if self.world.loses_writes:
            self.kept = [each for each in self.kept if each[0] > now - 1] + [(now, copy.deepcopy(memory))]
        if memory.holder and memory.holder.expires <= now:
            memory.holder = None
        for each in [each for each in memory.waiting.values() if each.expires <= now]:
            del memory.waiting[each.owner]
        return getattr(self, task)(owner, number, grant)

    # ---- the scripts

    def claim(self, owner, number, _):
        return self.claim_or_try(owner, number, True)

    def try_claim(self, owner, number, _):
        return self.claim_or_try(owner, number, False)

    def claim_or_try(self, owner, number, waits):
        memory, mine = self.memory, self.look_again(owner)
        if mine:
            if mine.word == QUEUED and mine.is_head:
                self.inquire(self.first())
            return mine
        new, first = Claim(number, owner, self.clock()), self.first()
        goes_first = first is None or new.order() < first.order()
        is_free = goes_first and memory.holder is None
        if is_free and not self.is_paused():
            self.begin_hold(new)
            return self.vote_for(owner)
        if not waits:
            return Vote(PAUSED if is_free else REFUSED, self.clock(), blocker=self.blocker_of(owner))
        memory.fence = self.last()
        memory.waiting[owner] = new
        new.expires = self.world.now + TTL
        if goes_first:
            self.inquire(new)
        return self.vote_for(owner)

    def give_back(self, owner, _, grant):
        """Yield. One that comes late names another grant, and a refused one makes a new number."""
        memory, c = self.memory, self.memory.holder
        mutant = self.world.mutant
        if c and c.owner == owner and (c.since == grant or mutant == "no-serial"):
            first = self.first()
            if first and first.order() < c.order():
                memory.fence = self.last()
                memory.holder = None
                memory.waiting[owner] = c
                c.expires = self.world.now + TTL
            elif mutant != "weak-serial":
                c.since += 1
        return self.look_again(owner) or Vote(ABSENT, self.clock())

    def accept(self, owner, number, _):
        c = self.memory.holder
        if c and c.owner == owner and not self.is_paused() and self.is_acceptable(number, c):
            self.memory.fence = c.accepted = number
        return self.look_again(owner) or Vote(ABSENT, self.clock())

    def renew(self, owner, _, __):
        c = self.memory.holder
        if c and c.owner == owner:
            c.expires = self.world.now + TTL
            return True
        return False

    def release(self, owner, _, __):
        memory, first = self.memory, self.first()
        was_first = first is not None and first.owner == owner
        if memory.holder and memory.holder.owner == owner:
            memory.holder = None
        memory.waiting.pop(owner, None)
        self.serve()
        if was_first and self.first():
            self.notify(self.first().owner)
        return True

    # ---- their parts

    def first(self):
        return min(self.memory.waiting.values(), key=Claim.order, default=None)

    def last(self):
        """The fence. One that has forgotten it takes its clock, or the largest number that stands here."""
        if self.memory.fence is not None:
            return self.memory.fence
        there = [each.number for each in self.memory.waiting.values()]
        return max([self.clock()] + there + ([self.memory.holder.number] if self.memory.holder else []))

    def is_acceptable(self, number, c):
        last = self.last()
        clock, oldest = self.clock(), math.inf if self.world.mutant == "old-numbers" else OLDEST
        is_new = number > last or number == last == c.accepted
        return is_new and clock - oldest < number <= clock + FURTHEST

    def begin_hold(self, c):
        memory, is_new = self.memory, self.is_acceptable(c.number, c)
        memory.fence = c.number if is_new else self.last()
        c.accepted = c.number if is_new else 0
        c.since = max(self.clock(), c.since + 1)
        c.expires = self.world.now + TTL
        memory.holder = c

    def serve(self):
        first = self.first()
        if self.is_paused() or self.memory.holder or first is None:
            return
        del self.memory.waiting[first.owner]
        self.begin_hold(first)
        self.notify(first.owner, True)

    def look_again(self, owner):
        """Where a claim stands, after it was kept for one more ttl and the first was served."""
        memory = self.memory
        if memory.holder and memory.holder.owner == owner:
            memory.holder.expires = self.world.now + TTL
            return self.vote_for(owner)
        if owner in memory.waiting:
            memory.waiting[owner].expires = self.world.now + TTL
        self.serve()
        is_there = owner in memory.waiting or memory.holder and memory.holder.owner == owner
        return self.vote_for(owner) if is_there else None

    def vote_for(self, owner):
        c, first = self.memory.holder, self.first()
        is_mine = c is not None and c.owner == owner
        if is_mine and self.is_paused() and self.world.mutant != "guard-votes":
            c.accepted = 0  # its client may have given the grant back, and the server forgotten it
            return Vote(QUEUED, self.clock())
        if is_mine:
            is_overtaken = first is not None and first.order() < c.order()
            return Vote(GRANTED, self.clock(), c, self.last(), is_overtaken)
        left = c.expires - self.world.now if c else None
        return Vote(QUEUED, self.clock(), is_head=first.owner == owner, left=left, blocker=self.blocker_of(owner))

    def blocker_of(self, owner):
        c = self.memory.holder
        return c.owner if c and c.owner != owner else None

    def inquire(self, c):
        if self.memory.holder and c.order() < self.memory.holder.order():
            self.notify(self.memory.holder.owner)

    def notify(self, owner, is_granted=False):
        self.world.notify(self, owner, is_granted)
