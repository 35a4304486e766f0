"""Redis near and far: on the loopback, and over a line of 0.3 ms each way; each figure beside its floor at the same place,
with the processor's time and the context switches. And Redlock of five over five such lines, beside one server over one.
A line has the core of its server; those of Redlock have the clients' core, since five servers need one."""

import signal

import redis_groups
from figures import Table, measured, median, tell
from slow_line import behind
from usage import with_usage

LINE_US = 300  # each way
FAR = f"a line of {LINE_US / 1000:g} ms each way"
# Of a short and a long run; what the long one takes beyond the short one counts.
COUNTS = (100, 1600)
LENGTHS = ("200ms", "2s")
GUARDS = {"redis": "?failover_guard=0", "redlock": "?restart_guard=0"}  # the servers have just started


class Place:
    """Where clients find the servers, and the figures of each round there."""

    def __init__(self, build, scheme, hosts, servers):
        self._holdfast, self._raw = build / "cli" / "holdfast", build / "bench" / "redis_floor"
        self._hosts = ",".join(hosts)
        self._url = f"{scheme}://{self._hosts}{GUARDS[scheme]}"
        self._servers = [each.process.pid for each in servers]

    def floor(self, scenario):
        return with_usage(lambda count: measured(self._raw, self._hosts, scenario, count), self._servers, "count", *COUNTS)

    def _ours(self, unit, scenario, *options):
        return with_usage(lambda length: measured(self._holdfast, "bench", scenario, "--json", "--store", self._url,
                                                  "--duration", length, *options), self._servers, unit, *LENGTHS)

    def pair(self):
        return self._ours("count", "pair")

    def handoff(self):
        return self._ours("grants", "handoff", "--processes", 2, "--concurrency", 1)


class Runs:
    """Of what is measured in turns: a list of figures, one of each round, for each name."""

    def __init__(self):
        self._all = {}

    def add(self, name, figures):
        self._all.setdefault(name, []).append(figures)

    def median(self, name, key):
        return median(each[key] for each in self._all[name])

    def ratio(self, name, floor, key="p50_us"):
        """Within each round."""
        return median(mine[key] / raw[key] for mine, raw in zip(self._all[name], self._all[floor]))

    def show(self, table, name, label, units=1):
        """:param units: how many one of its counts stands for"""
        table.add(f"{label}, p50", f"{self.median(name, 'p50_us'):.0f} us")
        clients, servers, switches = (self.median(name, key) / units for key in ("client_us", "server_us", "switches"))
        table.add("  processor: clients, servers", f"{clients:.0f} us, {servers:.0f} us")
        table.add("  context switches", f"{switches:.1f}")


def one_server(build, rounds):
    runs = {}
    with redis_groups.alone() as group:
        node = group.nodes[0]
        regimes = group.regimes()
        server_cpu, clients_cpu = list(regimes.values())[-1]
        with behind(build, [node.port], LINE_US, server_cpu) as far:
            places = {f"the loopback, {regime}": ([node.where], cpus) for regime, cpus in regimes.items()}
            places[FAR] = far, (server_cpu, clients_cpu)
            for n in range(rounds):
                for where, (hosts, cpus) in places.items():
                    tell(f"Redis, {where}: round {n + 1} of {rounds}")
                    own = runs.setdefault(where, Runs())
                    with group.placed(*cpus):
                        place = Place(build, "redis", hosts, group.nodes)
                        own.add("raw pair", place.floor("pair"))
                        own.add("pair", place.pair())
                        own.add("hop", place.floor("hop"))
                        own.add("handoff", place.handoff())
    table = Table("Redis near and far")
    for where, own in runs.items():
        is_far = where == FAR
        table.heading(where)
        own.show(table, "raw pair", "raw SET NX PX + EVALSHA")
        own.show(table, "pair", "lock + unlock")
        table.compare("  / raw", own.ratio("pair", "raw pair"), most=0.6 if is_far else None)
        table.compare("  clients' processor / raw", own.ratio("pair", "raw pair", "client_us"), most=None if is_far else 1.4)
        own.show(table, "hop", "raw hop from PUBLISH to message", 2)  # one count is there and back
        own.show(table, "handoff", "hand-over between 2 processes")
        table.compare("  / hop", own.ratio("handoff", "hop"), most=1.3 if is_far else None)
        table.add("  a second", f"{own.median('handoff', 'per_s'):.0f}")
    near, far = (own.median("raw pair", "p50_us") / 2 for own in list(runs.values())[-2:])
    table.add("a raw round trip, beyond the delays and the loopback's", f"{far - near - 2 * LINE_US:.1f} us")
    return table


def conditions(group):
    """Of five servers, one after another: its name, and those that can answer."""
    last = group.nodes[-1]
    yield "all five up", group.nodes
    last.signal(signal.SIGSTOP)
    yield "one of five stopped", group.nodes[:-1]
    last.signal(signal.SIGCONT)
    last.die()
    yield "one of five dead", group.nodes[:-1]


def five_servers(build, rounds):
    own = Runs()
    for n in range(rounds):
        with redis_groups.alone() as group:
            regime, cpus = list(group.regimes().items())[-1]
            with group.placed(*cpus), behind(build, [group.nodes[0].port], LINE_US, cpus[1]) as far:
                tell(f"Redlock, one server: round {n + 1} of {rounds}")
                place = Place(build, "redis", far, group.nodes)
                own.add("one pair", place.pair())
                own.add("one handoff", place.handoff())
        with redis_groups.quorum() as group:
            with group.placed(*cpus), behind(build, [each.port for each in group.nodes], LINE_US, cpus[1]) as far:
                for condition, answering in conditions(group):
                    tell(f"Redlock, {condition}: round {n + 1} of {rounds}")
                    place = Place(build, "redlock", far, answering)
                    if condition == "all five up":
                        own.add("majority", place.floor("quorum"))
                    own.add(f"{condition} pair", place.pair())
                    own.add(f"{condition} handoff", place.handoff())
    table = Table(f"Redlock over {FAR}: {regime}")
    table.heading("one server")
    own.show(table, "one pair", "lock + unlock")
    own.show(table, "one handoff", "hand-over between 2 processes")
    for condition in ("all five up", "one of five stopped", "one of five dead"):
        table.heading(condition)
        if condition == "all five up":
            own.show(table, "majority", "raw SET NX PX + EVALSHA, a majority")
        for name, label, most in (("pair", "lock + unlock", 1.2), ("handoff", "hand-over between 2 processes", 1.4)):
            own.show(table, f"{condition} {name}", label)
            table.compare("  / one server's", own.ratio(f"{condition} {name}", f"one {name}"), most=most)
            if condition != "all five up":
                table.compare("  / with all five up", own.ratio(f"{condition} {name}", f"all five up {name}"), most=1.2)
    return table
