"""The Redis store on Sentinel and on Cluster, beside a bare socket to the node that owns the key."""

from figures import PERIOD_S, TTL_S, Table, measured, median, steady, tell
from redis_figures import Comparison, judge_commands
from redis_groups import GROUPS

TAG = "floor"  # all keys and channels of the floors are of its slot
LEASES = 10_000
GUARD = "?failover_guard=0"  # the servers have just started
TITLES = {"sentinel": "Redis: a primary, two replicas, three Sentinels",
          "cluster": "Redis Cluster: three primaries, a replica each"}


def compare(table, group, floor, ours, rounds):
    """Everything that has a floor, where servers and clients have been placed. The targets for times are those of one
    server: here the replicas take processor time from the primaries."""
    pair = Comparison(lambda: floor("pair"), lambda: ours("pair", "--count", 20000), "p50_us")
    flight = Comparison(lambda: floor("pipelined", 100000), lambda: ours("spread", "--count", 100000), "per_s")
    hop = Comparison(lambda: floor("sharded" if group.kind == "cluster" else "hop"),
                     lambda: ours("handoff", "--processes", 2, "--concurrency", 1, "--duration", "2s"), "p50_us")
    for n in range(rounds):
        tell(f"{table.title}, {table.rows[-1][0]}: round {n + 1} of {rounds}")
        for each in (pair, flight, hop):
            each.round()
    table.add("raw SET NX PX + EVALSHA, p50", f"{median(pair.floors):.1f} us")
    table.add("lock + unlock, p50", f"{median(pair.figures):.1f} us")
    table.add("  / raw", f"{pair.ratio:.2f}")
    judge_commands(table, group, lambda *options: ours("pair", *options), "count", 2.01, 8.01)
    table.add("raw, 256 in flight on one node", f"{median(flight.floors):.0f} pairs/s")
    table.add("256 claims in flight on all nodes", f"{median(flight.figures):.0f} pairs/s")
    table.add("  / raw", f"{flight.ratio:.2f}")
    table.add("raw hop from PUBLISH to message, p50", f"{median(hop.floors):.1f} us")
    table.add("hand-over between 2 processes, p50", f"{median(hop.figures):.1f} us")
    table.add("  / hop", f"{hop.ratio:.2f}")
    judge_commands(table, group, lambda *options: ours("handoff", "--processes", 2, "--concurrency", 1, *options),
                   "grants", 3.01, 20)


def measure(kind, build, rounds):
    holdfast, raw = build / "cli" / "holdfast", build / "bench" / "redis_floor"
    with GROUPS[kind]() as group:
        where = group.owner_of(f"{{{TAG}}}").where

        def floor(scenario, count=20000):
            return measured(raw, where, scenario, count, TAG)

        def ours(scenario, *options):
            return measured(holdfast, "bench", scenario, "--json", "--store", group.url + GUARD, *options)

        table = Table(TITLES[kind])
        for name, cpus in group.regimes().items():
            table.heading(name)
            with group.placed(*cpus):
                compare(table, group, floor, ours, rounds)
        table.heading("wherever the scheduler puts them")
        tell(f"{table.title}: leases")
        per_s = steady(group.commands, lambda *options: ours("held", "--count", LEASES, *options))
        table.add(f"{LEASES} leases renewed, ttl {TTL_S} s: commands", f"{per_s:.0f}/s, {per_s * PERIOD_S:.0f} a period")
    return table
