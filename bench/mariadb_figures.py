"""The MariaDB store beside libmariadb alone, on one server."""

import mariadb_server
from figures import PERIOD_S, TTL_S, Table, measured, median, steady, tell

LEASES = 10_000
WAITERS = 100
STATEMENTS_MOST = 50
HANDOVER_MOST_US = 10_000


def pairs(table, forced, floor, ours, rounds):
    """One free name. The floor before and after, for a machine that changes; ratios within a round. With forced
    commits the ratio is shown and not judged: a disk takes ten times as long for one write as for another."""
    awaited, floors, session, mine, ratios, last = [], [], [], [], [], None
    floor("unawaited")  # the server's own warm-up
    for n in range(rounds):
        tell(f"MariaDB, one free name, commits {'forced' if forced else 'with the system'}: round {n + 1} of {rounds}")
        awaited.append(floor("pair")["p50_us"])
        session.append(floor("get_lock")["p50_us"])
        before = floor("unawaited")["p50_us"]
        last = ours("pair", "--count", 1000 if forced else 5000)
        mine.append(last["p50_us"])
        floors.append((before + floor("unawaited")["p50_us"]) / 2)
        ratios.append(mine[-1] / floors[-1])
    table.add("raw GET_LOCK + RELEASE_LOCK, p50", f"{median(session):.0f} us")
    table.add("raw insert or update, then update, p50", f"{median(awaited):.0f} us")
    table.add("the same, the second not awaited", f"{median(floors):.0f} us")
    table.add("lock + unlock, p50", f"{median(mine):.0f} us, p99 {last['p99_us']:.0f} us")
    table.compare("  / raw, the second not awaited", median(ratios), most=None if forced else 1.2)


def handovers(table, ours):
    """Nothing here tells another client of anything: the target is a time."""
    for processes, concurrency in ((2, 1), (4, 4)):
        tell(f"MariaDB, hand-over among {processes} x {concurrency}")
        handoff = ours("handoff", "--processes", processes, "--concurrency", concurrency)
        table.judge(f"hand-over between {processes} x {concurrency}, p50", handoff["p50_us"],
                    f"{handoff['p50_us']:.0f} us", most=HANDOVER_MOST_US)
    table.add("  longest mean wait / shortest", f"{handoff['max_wait_ratio']:.3f}")
    tell("MariaDB: claims in flight")
    spread = ours("spread")
    table.add(f"{spread['concurrency']} claims in flight", f"{spread['per_s']:.0f} pairs/s")


def counted(table, server, ours):
    """By the server itself: what a client believes to have sent is no evidence."""
    table.heading(f"calls, as the server counts them; ttl {TTL_S} s")
    tell(f"MariaDB: {LEASES} leases")
    with server.logging():
        # Taking each and giving it back has a call of its own, and the end does not wait for all of the latter.
        between = lambda: server.logged_calls(apart_from="_(acquire|release)")
        per_period = steady(between, lambda *options: ours("held", "--count", LEASES, *options)) * PERIOD_S
    table.judge(f"{LEASES} leases renewed, each period", per_period, f"{per_period:.1f}", most=STATEMENTS_MOST)
    tell(f"MariaDB: {WAITERS} waiters")
    per_s = steady(server.calls, lambda *options: ours("idle", "--count", WAITERS, *options))
    table.judge(f"{WAITERS} waiters on one name", per_s, f"{per_s:.1f}/s", most=STATEMENTS_MOST)


def measure(build, rounds, stores):
    holdfast, raw = build / "cli" / "holdfast", build / "bench" / "mariadb_floor"
    table = Table("MariaDB")

    with mariadb_server.running() as server:
        def ours(scenario, *options):
            return measured(holdfast, "bench", scenario, "--json", "--store", server.url, *options)

        for forced in (True, False):
            server.force_commits(forced)
            table.heading("commits forced to the disk, as it comes" if forced else "commits left to the system")

            def floor(scenario):
                return measured(raw, server.where, mariadb_server.USER, mariadb_server.PASSWORD,
                                mariadb_server.DATABASE, scenario, 300 if forced else 3000)

            pairs(table, forced, floor, ours, rounds)
            handovers(table, ours)
        counted(table, server, ours)
    return table
