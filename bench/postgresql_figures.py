"""The PostgreSQL store beside libpq alone, on one server."""

import contextlib

import pgbouncer
import postgresql_server
from figures import PERIOD_S, TTL_S, Table, measured, median, steady, tell

LEASES = 10_000
WAITERS = 100
STATEMENTS_MOST = 50


def pairs(table, forced, floor, ours, rounds):
    """One free name. The floor before and after, for a machine that changes; ratios within a round.

    A disk takes ten times as long for one write as for another, and ours waits for it once a pair, the floor twice:
    with forced commits the ratio is shown and not judged.
    """
    awaited, floors, advisory, mine, ratios, last = [], [], [], [], [], None
    floor("unawaited")  # the server's own warm-up
    for n in range(rounds):
        tell(f"PostgreSQL, one free name, fsync {'on' if forced else 'off'}: round {n + 1} of {rounds}")
        awaited.append(floor("pair")["p50_us"])
        advisory.append(floor("advisory")["p50_us"])
        before = floor("unawaited")["p50_us"]
        if ours:
            last = ours("pair", "--count", 1000 if forced else 5000)
            mine.append(last["p50_us"])
        floors.append((before + floor("unawaited")["p50_us"]) / 2)
        if ours:
            ratios.append(mine[-1] / floors[-1])
    table.add("raw advisory lock + unlock, p50", f"{median(advisory):.0f} us")
    table.add("raw insert or update, then update, p50", f"{median(awaited):.0f} us")
    table.add("the same, the second not awaited", f"{median(floors):.0f} us")
    if ours:
        table.add("lock + unlock, p50", f"{median(mine):.0f} us, p99 {last['p99_us']:.0f} us")
        table.compare("  / raw, the second not awaited", median(ratios), most=None if forced else 1.2)


def handovers(table, forced, floor, ours, rounds):
    """A notification alone is not kept; with forced commits the floor is one that comes with a row that is."""
    kind = "row_hop" if forced else "hop"
    hops, mine, ratios = [], [], []
    for n in range(rounds):
        tell(f"PostgreSQL, hand-over, fsync {'on' if forced else 'off'}: round {n + 1} of {rounds}")
        before = floor(kind)["p50_us"]
        if ours:
            mine.append(ours("handoff", "--processes", 2, "--concurrency", 1, "--duration", "2s")["p50_us"])
        hops.append((before + floor(kind)["p50_us"]) / 2)
        if ours:
            ratios.append(mine[-1] / hops[-1])
    table.add(f"raw hop from NOTIFY{' and a row' if forced else ''} to notification, p50", f"{median(hops):.0f} us")
    if ours:
        table.add("hand-over between 2 processes, p50", f"{median(mine):.0f} us")
        table.compare("  / hop", median(ratios), most=None if forced else 3)


def alone(table, ours):
    """What has no floor."""
    for threads in (8, 64):
        tell(f"PostgreSQL: {threads} threads on one client")
        pair = ours("pair", "--concurrency", threads, "--count", 10000)
        table.add(f"lock + unlock on one client by {threads} threads",
                  f"p50 {pair['p50_us']:.0f} us, p99 {pair['p99_us']:.0f} us, {pair['per_s']:.0f} pairs/s")
    tell("PostgreSQL: hand-over among 4 x 4, claims in flight")
    handoff, spread = ours("handoff"), ours("spread")
    table.add(f"hand-over between {handoff['processes']} x {handoff['concurrency']}, p50", f"{handoff['p50_us']:.0f} us")
    table.add("  longest mean wait / shortest", f"{handoff['max_wait_ratio']:.3f}")
    table.add(f"{spread['concurrency']} claims in flight", f"{spread['per_s']:.0f} pairs/s")


def counted(table, server, ours):
    """By the server itself: what a client believes to have sent is no evidence."""
    table.heading(f"statements, as the server counts them; ttl {TTL_S} s")
    tell(f"PostgreSQL: {LEASES} leases")
    # Taking each and giving it back has a statement of its own, and the end does not wait for all of the latter.
    between = lambda: server.statements(apart_from='_(acquire|release)"|pg_stat_statements')
    per_period = steady(between, lambda *options: ours("held", "--count", LEASES, *options)) * PERIOD_S
    table.judge(f"{LEASES} leases renewed, each period", per_period, f"{per_period:.1f}", most=STATEMENTS_MOST)
    tell(f"PostgreSQL: {WAITERS} waiters")
    per_s = steady(server.statements, lambda *options: ours("idle", "--count", WAITERS, *options))
    table.add(f"{WAITERS} waiters on one name", f"{per_s:.1f}/s")


def notified_and_polled(table, server, bench):
    """LISTEN beside notify=poll, on the server itself and through a pooler of transactions."""
    ways = [("notified", server.url), ("polls", f"{server.url}?notify=poll")]
    with contextlib.ExitStack() as stack:
        if pgbouncer.is_there():
            through = stack.enter_context(pgbouncer.before(server))
            ways.append(("polls through PgBouncer", f"{through}?notify=poll"))
        for name, url in ways:
            ours = bench(url)
            table.heading(f"one who waits {name}")
            tell(f"PostgreSQL: {name}")
            handoff = ours("handoff", "--processes", 2, "--concurrency", 1, "--duration", "2s")
            table.add("hand-over between 2 processes, p50", f"{handoff['p50_us']:.0f} us, p99 {handoff['p99_us']:.0f} us")
            for waiters in (1, WAITERS, 10 * WAITERS):
                idle = lambda *options, count=waiters: ours("idle", "--count", count, *options)
                table.add(f"{waiters} waiters of one client, statements", f"{steady(server.statements, idle):.1f}/s")


def measure(build, rounds, stores):
    holdfast, raw = build / "cli" / "holdfast", build / "bench" / "postgresql_floor"
    built = "postgresql" in stores
    table = Table("PostgreSQL" if built else "PostgreSQL: only the floor, this build has no postgresql store")

    def floor_on(server, count):
        return lambda scenario: measured(raw, server.where, scenario, count)

    def ours_on(server):
        return built and (lambda scenario, *options: measured(holdfast, "bench", scenario, "--json", "--store",
                                                              server.url, *options))

    with postgresql_server.running() as server:
        for forced in (True, False):
            server.force_commits(forced)
            table.heading("commits forced to the disk (fsync = on, as it comes)" if forced else
                          "commits not forced to the disk (fsync = off)")
            floor = floor_on(server, 300 if forced else 3000)
            pairs(table, forced, floor, ours_on(server), rounds)
            handovers(table, forced, floor, ours_on(server), rounds)
            if built:
                alone(table, ours_on(server))
    if built:
        with postgresql_server.running(forced=False, counting=True) as server:
            counted(table, server, ours_on(server))
            notified_and_polled(table, server, lambda url: lambda scenario, *options: measured(
                holdfast, "bench", scenario, "--json", "--store", url, *options))
    return table
