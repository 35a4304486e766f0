"""The ZooKeeper store beside the C client alone, and beside other libraries that share locks with us, on one server."""

import pathlib
import shutil
import subprocess
import sys

import zookeeper_server
from figures import Table, measured, median, tell

folder = pathlib.Path(__file__).resolve().parent
JARS = "/usr/share/java/curator-recipes.jar:/usr/share/java/slf4j-nop.jar"
WAITERS = (10, 100, 1000)
PROCESSES = 2
SHORT_S, LONG_S = 3, 9


def foreign_libraries():
    """Name -> command, of those that are installed."""
    found = {}
    if shutil.which("javac") and pathlib.Path(JARS.split(":")[0]).exists():  # java compiles the source as it starts
        found["Curator"] = ["java", "-cp", JARS, folder / "libraries" / "curator_bench.java"]
    for python in (sys.executable, "/usr/bin/python3"):  # apt's packages are for the system's own
        if subprocess.run([python, "-c", "import kazoo"], capture_output=True).returncode == 0:
            found["kazoo"] = [python, folder / "libraries" / "kazoo_bench.py"]
            break
    return found


def pairs(table, floor, ours, others, rounds):
    """One free name. The floor before and after, for a machine that changes; ratios within a round."""
    ratios = {name: [] for name in ("floor", "Curator")}
    awaited, floors, mine = [], [], []
    theirs = {name: [] for name in others}
    floor("unawaited")  # the server's own warm-up
    for n in range(rounds):
        tell(f"ZooKeeper, one free name: round {n + 1} of {rounds}")
        awaited.append(floor("pair"))
        before = floor("unawaited")
        if ours:
            mine.append(ours("pair", "--count", 10000)["p50_us"])
        floors.append((before + floor("unawaited")) / 2)
        for name, run in others.items():
            theirs[name].append(run("pair", 5000)["p50_us"])
        if ours:
            ratios["floor"].append(mine[-1] / floors[-1])
        if ours and "Curator" in others:
            ratios["Curator"].append(mine[-1] / theirs["Curator"][-1])
    table.add("raw create + list, then delete, p50", f"{median(awaited):.0f} us")
    table.add("the same, delete not awaited", f"{median(floors):.0f} us")
    for name, figures in theirs.items():
        table.add(f"acquire + release of {name}, p50", f"{median(figures):.0f} us")
    if ours:
        table.add("lock + unlock, p50", f"{median(mine):.0f} us")
        table.judge("  / raw, delete not awaited", median(ratios["floor"]), f"{median(ratios['floor']):.2f}", most=1.15)
    if ratios["Curator"]:
        table.judge("  / Curator", median(ratios["Curator"]), f"{median(ratios['Curator']):.2f}", most=0.8)


def two_contenders(table, floor, ours, others, rounds):
    hops = [floor("hop") for _ in range(rounds)]
    table.add("raw hop from delete to watch event, p50", f"{median(hops):.0f} us")
    runs = {"ours": lambda: ours("handoff", "--processes", 2, "--concurrency", 1)} if ours else {}
    runs |= {name: (lambda run=run: run("handoff", 5, 2)) for name, run in others.items()}
    for name, run in runs.items():
        tell(f"ZooKeeper: two processes of {name}")
        figures = run()
        table.add(f"hand-over between 2 processes, {name}", f"p50 {figures['p50_us']:.0f} us, {figures['per_s']:.0f}/s")


def steady(server, run):
    """Hand-overs a second, and packets at the server for each: of a long run less a short one, so that what it costs
    to begin and to end with so many waiters falls out."""
    grants, seconds, packets = [], [], []
    for duration_s in (SHORT_S, LONG_S):
        before = server.packets()
        figures = run(duration_s)
        packets.append(server.packets() - before)
        grants.append(figures["grants"])
        seconds.append(figures["duration_s"])
    more = max(1, grants[1] - grants[0])
    return more / (seconds[1] - seconds[0]), (packets[1] - packets[0]) / more


def contended(table, server, ours, others):
    """The waiters of a process share one client, and so a session, with all of them."""
    table.heading(f"one name, waiters in {PROCESSES} processes")
    runs = {}
    if ours:
        runs["ours"] = lambda waiters, seconds: ours("handoff", "--processes", PROCESSES, "--concurrency",
                                                     waiters // PROCESSES, "--one-client", "--duration",
                                                     f"{seconds}s")
    runs |= {name: (lambda waiters, seconds, run=run: run("handoff", seconds, waiters)) for name, run in others.items()}
    rates, packets = {}, {}
    for waiters in WAITERS:
        for name, run in runs.items():
            tell(f"ZooKeeper: {waiters} waiters of {name}")
            rates[name, waiters], packets[name, waiters] = steady(server, lambda seconds: run(waiters, seconds))
            table.add(f"{waiters} waiters, {name}",
                      f"{rates[name, waiters]:.0f} hand-overs/s, {packets[name, waiters]:.1f} packets each")
        if ours and "Curator" in others:
            ratio = rates["ours", waiters] / rates["Curator", waiters]
            table.judge("  / Curator", ratio, f"{ratio:.2f}", least=1)
    if ours:
        few, many = WAITERS[0], WAITERS[-1]
        ratio = rates["ours", many] / rates["ours", few]
        table.judge(f"hand-overs/s with {many} waiters / {few}", ratio, f"{ratio:.2f}", least=0.8)
        ratio = packets["ours", many] / packets["ours", few]
        table.judge("  packets each, the same", ratio, f"{ratio:.2f}", most=1.1)


def measure(build, rounds, stores):
    holdfast, raw = build / "cli" / "holdfast", build / "bench" / "zookeeper_floor"
    with zookeeper_server.running() as server:
        def floor(scenario, count=5000):
            return measured(raw, server.where, scenario, count)["p50_us"]

        def ours(scenario, *options):
            return measured(holdfast, "bench", scenario, "--json", "--store", server.url, *options)

        others = {name: (lambda scenario, *size, command=command: measured(*command, scenario, server.where, *size))
                  for name, command in foreign_libraries().items()}
        built = "zk" in stores
        table = Table("ZooKeeper, writes not forced to the disk" if built else
                      "ZooKeeper: only the floor and other libraries, this build has no zk store")
        table.heading("one client")
        pairs(table, floor, ours if built else None, others, rounds)
        two_contenders(table, floor, ours if built else None, others, rounds)
        contended(table, server, ours if built else None, others)
    return table
