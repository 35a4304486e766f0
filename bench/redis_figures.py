"""The Redis store beside a bare socket, and beside other libraries that share locks with us, on one server."""

import os
import pathlib
import shutil
import subprocess
import sys

import redis_server
from figures import PERIOD_S, TTL_S as COUNTED_TTL_S, Table, growth, measured, median, steady, tell

folder = pathlib.Path(__file__).resolve().parent
LEASES = 100_000
WAITERS = 1_000
TTL_S = 30
# Three periods of renewal: whatever happens once in ttl/3 happens three times in it.
WINDOW_S = TTL_S


def foreign_libraries():
    """Name -> command, of those that are installed."""
    found = {}
    for python in (sys.executable, "/usr/bin/python3"):  # apt's packages are for the system's own
        if subprocess.run([python, "-c", "import redis"], capture_output=True).returncode == 0:
            found["redis-py"] = [python, folder / "libraries" / "redis_py_bench.py"]
            break
    packages = pathlib.Path(os.environ.get("HOLDFAST_NODE", folder.parent / ".deps" / "node"))
    if shutil.which("node") and (packages / "node_modules" / "redlock").is_dir():
        found["redlock"] = ["node", folder / "libraries" / "redlock_bench.mjs"]
    return found


class Comparison:
    """One figure of ours and its floor, round by round; the floor before and after, for a machine that changes."""

    def __init__(self, floor, ours, key):
        self.floor, self.ours, self.key = floor, ours, key
        self.floors, self.figures = [], []

    def round(self):
        before = self.floor()[self.key]
        if self.ours:
            self.figures.append(self.ours()[self.key])
        self.floors.append((before + self.floor()[self.key]) / 2)

    @property
    def ratio(self):
        return median(mine / raw for mine, raw in zip(self.figures, self.floors))


def judge_commands(table, server, run, unit, most, most_calls):
    """Adds the commands for one `unit`, by the server's own counters: a client's count of them is no evidence.

    Returns those that were sent.
    """
    sent, more = growth(server.commands, run)
    each = sent / more(unit)
    table.judge("  commands at the server, each", each, f"{each:.3f}", most=most)
    carried_out, more = growth(server.calls, run)
    each_calls = carried_out / more(unit)
    table.judge("  carried out there, in scripts too", each_calls, f"{each_calls:.3f}", most=most_calls)
    return each

def compare(table, server, floor, ours, foreign, rounds):
    """Everything that has a floor or is done by others too, where server and clients have been placed."""
    def scenario(*arguments):
        return ours and (lambda: ours(*arguments))

    pair = Comparison(lambda: floor("pair"), scenario("pair", "--count", 20000), "p50_us")
    flight = Comparison(lambda: floor("pipelined", 100000), scenario("spread", "--count", 100000), "per_s")
    hop = Comparison(lambda: floor("hop"), scenario("handoff", "--processes", 2, "--concurrency", 1, "--duration", "2s"),
                     "p50_us")
    others = {name: [] for name in foreign}
    for n in range(rounds):
        tell(f"Redis, {table.rows[-1][0]}: round {n + 1} of {rounds}")
        for each in (pair, flight, hop):
            each.round()
        for name, command in foreign.items():
            others[name].append(measured(*command, "pair", server.where, 3000)["p50_us"])

    table.add("raw SET NX PX + EVALSHA, p50", f"{median(pair.floors):.1f} us")
    if ours:
        table.add("lock + unlock, p50", f"{median(pair.figures):.1f} us")
        table.judge("  / raw", pair.ratio, f"{pair.ratio:.2f}", most=0.8)
        judge_commands(table, server, lambda *options: ours("pair", *options), "count", 2.01, 8.01)
    for name, figures in others.items():
        table.add(f"acquire + release of {name}, p50", f"{median(figures):.1f} us")
    table.add("raw, 256 in flight", f"{median(flight.floors):.0f} pairs/s")
    if ours:
        table.add("256 claims in flight", f"{median(flight.figures):.0f} pairs/s")
        table.judge("  / raw", flight.ratio, f"{flight.ratio:.2f}", least=0.55)
    table.add("raw hop from PUBLISH to message, p50", f"{median(hop.floors):.1f} us")
    if ours:
        table.add("hand-over between 2 processes, p50", f"{median(hop.figures):.1f} us")
        table.judge("  / hop", hop.ratio, f"{hop.ratio:.2f}", most=2.2)
        judge_commands(table, server, lambda *options: ours("handoff", "--processes", 2, "--concurrency", 1, *options),
                       "grants", 3.01, 20)


def contended(table, server, ours, foreign):
    """Four processes for one name. Who polls hands over seldom, and mostly to itself."""
    runs = {"ours": ours("handoff", "--processes", 4, "--concurrency", 1)} if ours else {}
    for name, command in foreign.items():
        tell(f"Redis: four processes of {name}")
        runs[name] = measured(*command, "handoff", server.where, 5)
    for name, run in runs.items():
        p50 = "none" if run["p50_us"] is None else f"p50 {run['p50_us']:.0f} us"
        table.add(f"hand-overs between 4 processes, {name}", f"{run['handovers'] / run['duration_s']:.1f}/s, {p50}")
        table.add("  grants, luckiest / unluckiest", f"{run['grants_max']} / {run['grants_min']}")


def alone(table, server, ours):
    """What has no floor."""
    for threads in (1, 8, 64):
        tell(f"Redis: {threads} threads on one client")
        pair = ours("pair", "--concurrency", threads, "--count", 40000)
        table.add(f"lock + unlock on one client by {threads} thread{'s' if threads > 1 else ''}",
                  f"p50 {pair['p50_us']:.0f} us, p99 {pair['p99_us']:.0f} us, {pair['per_s']:.0f} pairs/s")
    tell("Redis: hand-over among 4 x 4, waiters, leases")
    handoff = ours("handoff")
    table.add(f"hand-over between {handoff['processes']} x {handoff['concurrency']}, p50", f"{handoff['p50_us']:.0f} us")
    table.add("  longest mean wait / shortest", f"{handoff['max_wait_ratio']:.3f}")
    each = judge_commands(table, server, lambda *options: ours("handoff", *options), "grants", 3.01, 20)
    table.add("  commands a second", f"{each * handoff['per_s']:.0f}")
    idle = ours("idle", "--count", WAITERS, "--ttl", f"{TTL_S}s", "--duration", f"{WINDOW_S}s")
    table.add(f"{WAITERS} waiters on one name", f"{idle['cpu_percent']:.2f} % of a core")
    per_s = steady(server.commands, lambda *options: ours("idle", "--count", WAITERS, *options))
    table.judge(f"  commands at the server, ttl {COUNTED_TTL_S} s", per_s, f"{per_s:.1f}/s",
                most=(WAITERS + 1) / PERIOD_S)  # and the holder's renewal
    held = ours("held", "--count", LEASES, "--ttl", f"{TTL_S}s", "--duration", f"{WINDOW_S}s")
    table.judge(f"{LEASES} leases renewed, ttl {TTL_S} s", held["cpu_percent"], f"{held['cpu_percent']:.2f} % of a core",
                most=10)
    table.judge("  memory", held["bytes_per_lease"], f"{held['bytes_per_lease']:.0f} B a lease", most=1024)
    per_s = steady(server.commands, lambda *options: ours("held", "--count", LEASES, *options))
    table.judge(f"  commands at the server, ttl {COUNTED_TTL_S} s", per_s, f"{per_s:.1f}/s",
                most=(-(-LEASES // 256) + 1) / PERIOD_S)  # and the lease that came first, alone


def measure(build, rounds, stores):
    holdfast, raw = build / "cli" / "holdfast", build / "bench" / "redis_floor"
    foreign = foreign_libraries()
    with redis_server.running() as server:
        def floor(scenario, count=20000):
            return measured(raw, server.where, scenario, count)

        def ours(scenario, *options):
            return measured(holdfast, "bench", scenario, "--json", "--store", server.url, *options)

        built = "redis" in stores
        table = Table("Redis" if built else "Redis: only floors and other libraries, this build has no redis store")
        for name, cpus in server.regimes().items():
            table.heading(name)
            with server.placed(*cpus):
                compare(table, server, floor, ours if built else None, foreign, rounds)
        table.heading("wherever the scheduler puts them")
        contended(table, server, ours if built else None, foreign)
        if built:
            alone(table, server, ours)
    return table
