"""A client of the model: claims, holds, renews and releases, as src/stores/quorum/protocol/coordinator and the core do."""
from fair_quorum_claim import LOOK_AGAIN, SILENCE, Contender
from fair_quorum_server import MARGIN, TTL

AHEAD = 20_000  # microseconds: see place_in_time.cpp
SAMPLE_LIFE = 10.0


class Client:
    def __init__(self, world, place):
        self.world, self.place = world, place
        self.life, self.paused_until = 0, 0.0
        self.begin_life()

    def begin_life(self):
        self.is_alive, self.owner, self.claim, self.deadline = True, None, None, -1.0
        self.samples, self.last_number = {}, 0

    # ---- the process

    def later(self, delay, action):
        """In this life of the process, and when it is not paused."""
        life = self.life
        self.world.at(self.world.now + delay, lambda: self.when_awake(life, action))

    def when_awake(self, life, action):
        if life != self.life or not self.is_alive:
            return
        if self.world.now < self.paused_until:
            self.world.at(self.paused_until, lambda: self.when_awake(life, action))
        else:
            action()

    def die(self):
        if not self.is_alive:
            return
        self.is_alive, self.deadline = False, -1.0
        self.life += 1
        self.world.at(self.world.now + self.world.random.random() * 3, self.live_again)

    def live_again(self):
        self.begin_life()
        self.paused_until = 0.0
        self.start()

    # ---- numbers: place_in_time.cpp

    def hear_clock(self, server, clock, sent):
        now, known = self.world.now, self.samples.get(server)
        offset = clock - int(now * 1e6)
        was_set_back = known and clock - int(sent * 1e6) < known[0]
        if not known or was_set_back or now - known[1] > SAMPLE_LIFE or offset >= known[0]:
            self.samples[server] = (offset, now)

    def next_number(self):
        offsets = sorted(offset for offset, _ in self.samples.values())
        estimate = int(self.world.now * 1e6) + offsets[(len(offsets) - 1) // 2] + AHEAD
        self.last_number = max(self.last_number + 1, estimate)
        return self.last_number

    # ---- a claim

    def start(self):
        """Asks for the servers' clocks first, if it does not know a majority of them."""
        if len(self.samples) >= self.world.majority:
            self.begin_claim()
            return
        for server in self.world.servers:
            self.world.send(self, server, "try_claim", None, None, None, self.clock_heard(server, self.world.now))
        self.later(SILENCE, self.start)

    def clock_heard(self, server, sent):
        return lambda clock: self.hear_clock(server, clock, sent) if clock is not None else None

    def begin_claim(self):
        w = self.world
        self.owner = f"{w.random.getrandbits(40):010x}-{self.place}"
        w.owners[self.owner] = self
        owner, waits = self.owner, w.random.random() < 0.8
        self.begun_at = w.now
        self.patience = w.random.choice([0.3, 1.0, 3.0]) if w.random.random() < 0.1 else None
        self.claim = Contender(w, self.next_number(), waits, self.request, self.hold, self.give_up)
        self.claim.ask()
        self.beat(owner, w.now)

    def waits(self):
        return self.claim is not None and not self.claim.holds

    def request(self, server, task, number, grant):
        claim, sent = self.claim, self.world.now

        def came(vote):
            if vote is not None:
                self.hear_clock(server, vote.clock, sent)
            if self.claim is claim:
                claim.hear(server, vote)
        self.world.send(self, server, task, self.owner, number, grant, came)

    def notified(self, server, owner, is_granted):
        if owner == self.owner and self.waits():
            self.claim.hint(server, is_granted)

    def beat(self, owner, asked_at):
        """What the core does for a claim that waits: it asks every third of a ttl, and when a holder's time is up."""
        if owner != self.owner or not self.waits():
            return
        w = self.world
        if self.patience and w.now > self.begun_at + self.patience:
            self.give_up()
            return
        lefts = [s.since + s.left for s in self.claim.seats.values() if s.left is not None and not s.granted]
        if w.now >= asked_at + TTL / 3 or any(asked_at < each <= w.now for each in lefts):
            asked_at = w.now
            self.claim.ask()
        if owner == self.owner and self.waits():
            self.claim.wake()
        pause = LOOK_AGAIN if self.claim and self.claim.is_split else 0.1
        self.later(pause, lambda: self.beat(owner, asked_at))

    # ---- a hold

    def hold(self, token, since):
        w = self.world
        self.deadline = since + TTL - MARGIN
        if self.deadline <= w.now + MARGIN:
            self.give_up()  # nothing is left of it
            return
        self.held_from = w.now
        w.began_to_hold(self, token)
        owner = self.owner
        self.later(w.work(), lambda: self.give_up() if self.owner == owner else None)
        self.later(TTL / 3, lambda: self.renew(owner))
        self.expire(owner)

    def believes(self):
        return self.deadline > self.world.now

    def expire(self, owner):
        """A hold whose deadline has passed is let go before anything else is heard of it."""
        if owner != self.owner:
            return
        if not self.believes():
            self.world.lost_hold(self)
            self.give_up()
            return
        self.later(self.deadline - self.world.now + 1e-6, lambda: self.expire(owner))

    def renew(self, owner):
        """A round is kept if a majority has kept it, and the hold is lost if a majority cannot be reached any more. A
        grant that is being given back is no vote: the yield may come late, and end it."""
        if owner != self.owner:
            return
        w, sent, said, spread = self.world, self.world.now, {}, set()

        def answered(server, kept):
            if kept is None or owner != self.owner or not self.believes():
                return
            is_vain = kept and self.claim.seats[server].yielding is not None
            said[server] = "vain" if is_vain else "yes" if kept else "no"
            words = list(said.values())
            if words.count("no") > len(w.servers) - w.majority:
                w.lost_hold(self)
                self.give_up()
                return
            is_kept = words.count("yes") >= w.majority
            if is_kept:
                self.deadline = max(self.deadline, sent + TTL - MARGIN)
            for each, word in said.items():
                if each not in spread and (word == "vain" or word == "no" and is_kept):
                    spread.add(each)
                    if w.mutant != "no-reclaim":
                        self.claim.spread(each)
        for server in w.servers:
            w.send(self, server, "renew", owner, None, None, lambda kept, at=server: answered(at, kept))
        self.later(TTL / 3, lambda: self.renew(owner))

    # ---- its end

    def give_up(self):
        """Releases, withdraws, or has lost: all servers are told until each has confirmed it, or the ttl is over."""
        w, owner = self.world, self.owner
        self.owner, self.claim, self.deadline = None, None, -1.0
        until = w.now + TTL
        for server in w.servers:
            self.release(owner, server, 0.2, until)
        if w.goes_on():
            self.later(w.random.random() * w.random.choice([0.001, 0.02, 0.3]), self.start_again)

    def start_again(self):
        if self.owner is None:
            self.start()

    def release(self, owner, server, pause, until):
        def came(answer):
            if answer is None and self.world.now + pause <= until:
                self.later(pause, lambda: self.release(owner, server, min(2 * pause, 0.8), until))
        self.world.send(self, server, "release", owner, None, None, came)
