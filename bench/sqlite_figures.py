"""The SQLite store beside sqlite3 alone."""

import tempfile

from figures import Table, measured, median, tell


def floor(program, page_size):
    with tempfile.TemporaryDirectory(prefix="holdfast-floor-") as folder:
        return measured(program, f"{folder}/floor.db", 20000, page_size)


def measure(build, rounds):
    holdfast, raw = build / "cli" / "holdfast", build / "bench" / "sqlite_floor"

    def ours(scenario, *options):
        return measured(holdfast, "bench", scenario, "--json", *options)

    ratios, floors, pairs, lean = [], [], [], []
    for n in range(rounds):
        tell(f"SQLite, round {n + 1} of {rounds}")
        before, mine, after = floor(raw, 4096), ours("pair", "--count", 20000), floor(raw, 4096)
        floors.append((before["p50_us"] + after["p50_us"]) / 2)
        lean.append(floor(raw, 1024)["p50_us"])
        pairs.append(mine["p50_us"])
        ratios.append(pairs[-1] / floors[-1])
    tell("SQLite: hand-over, waiters, leases")
    handoff = ours("handoff")
    idle = ours("idle", "--count", 1000, "--duration", "12s")
    spread = ours("spread")
    held = ours("held")

    table = Table("SQLite")
    table.add("raw insert + delete, p50", f"{median(floors):.1f} us")
    table.add("the same with pages of 1 KiB, as ours", f"{median(lean):.1f} us")
    table.add("lock + unlock, p50", f"{median(pairs):.1f} us")
    table.judge("  / raw", median(ratios), f"{median(ratios):.2f}", most=1.5)
    table.judge(f"hand-over between {handoff['processes']} x {handoff['concurrency']}, p50", handoff["p50_us"],
                f"{handoff['p50_us']:.0f} us", most=1000)
    table.add("  longest mean wait / shortest", f"{handoff['max_wait_ratio']:.3f}")
    table.judge("1 000 waiters on one name", idle["cpu_percent"], f"{idle['cpu_percent']:.2f} % of a core", most=2)
    table.add(f"{spread['concurrency']} claims in flight", f"{spread['per_s']:.0f} pairs/s")
    table.add(f"{held['count']} leases renewed, ttl {held['ttl_s']:.0f} s", f"{held['cpu_percent']:.2f} % of a core")
    table.judge("  memory", held["bytes_per_lease"], f"{held['bytes_per_lease']:.0f} B a lease", most=1024)
    return table
