"""The tables of bench/results/redlock.md and the chart, from the figures of bench/compare_redlock."""

from statistics import median

from pages import aligned
from redis_comparison import spread

CONDITIONS = {"up": "all five up", "stopped": "one stopped", "dead": "one dead", "slow": "two slow"}
ONE = "one server"


def of(runs, key):
    return [run[key] for run in runs if run.get(key) is not None]


def limit_of(runs):
    """What was not reached in any run."""
    return f"> {max(run['limit_s'] for run in runs if 'limit_s' in run):g} s"


def time_us(runs, key):
    """Median (least..most), in a unit that fits; or that nothing was over in time; or that it failed."""
    values = of(runs, key)
    if not values:
        return limit_of(runs) if any("limit_s" in run for run in runs) else "failed" if of(runs, "failed") else "none"
    if median(values) >= 1e6:
        return f"{spread([each / 1e6 for each in values], 1)} s"
    return spread(values)


def count_of(runs, key, digits=0):
    values = of([run for run in runs if run.get("sections", 1)], key) if key == "commands" else of(runs, key)
    return spread(values, digits) if values else ""


def ratio(runs, floor, key="p50_us"):
    values = of(runs, key)
    share = median(values) / floor if values else 0
    return f"{share:.{0 if share >= 100 else 1}f}" if values else ""


def errors_of(runs):
    total = sum(of(runs, "errors")) + len(of(runs, "failed"))
    return f"{total}" if total else "0"


def median_of(runs):
    return median(of(runs, "p50_us"))


def rows_of(figures):
    """Condition, library, its cells: one server first."""
    for name, cells in figures["one_server"].items():
        yield ONE, name, cells
    for condition, libraries in figures["cells"].items():
        for name, cells in libraries.items():
            yield CONDITIONS[condition], name, cells


def pairs(figures):
    floors = figures["floors"]
    floor, majority = median_of(floors["pair"]), median_of(floors["up"]) if "up" in floors else None
    rows = [("servers", "library", "p50 µs", "/ raw", "/ raw majority", "p99 µs", "pairs a second",
             "commands a pair and server", "errors")]

    def share(runs):
        return ratio(runs, floor), ratio(runs, majority) if majority else ""

    def raw(kind, name):
        runs = floors[kind]
        rows.append((CONDITIONS.get(kind, ONE), name, time_us(runs, "p50_us"), *share(runs), time_us(runs, "p99_us"),
                     count_of(runs, "per_s"), "2.0", "0"))

    raw("pair", "raw socket")
    last = ONE
    for condition, name, cells in rows_of(figures):
        runs = cells["1"]
        if condition != last:
            last = condition
            kind = next(key for key, shown in CONDITIONS.items() if shown == condition)
            if kind in floors:
                raw(kind, "raw sockets, a majority")
        rows.append((condition, name, time_us(runs, "p50_us"), *share(runs), time_us(runs, "p99_us"),
                     count_of(runs, "per_s", 0 if median(of(runs, "per_s") or [0]) >= 10 else 2),
                     count_of(runs, "commands", 1), errors_of(runs)))
    return aligned(rows)


def contended(figures):
    hops = figures["floors"]["hop"]
    floor = median_of(hops)
    rows = [("servers", "contenders", "library", "sections a second", "hand-overs a second", "hand-over, p50 µs",
             "/ raw hop", "p99 µs", "commands a section and server", "sections of one contender", "errors"),
            (ONE, "2", "raw hop: PUBLISH to message", "", "", time_us(hops, "p50_us"), "1.0", time_us(hops, "p99_us"),
             "", "", "0")]
    found = [(condition, int(count), name, runs) for condition, name, cells in rows_of(figures)
             for count, runs in cells.items() if count != "1"]
    places = list(dict.fromkeys(condition for condition, *_ in found))
    for condition, count, name, runs in sorted(found, key=lambda each: (places.index(each[0]), each[1])):  # stable
        fewest, most = of(runs, "grants_min"), of(runs, "grants_max")
        rows.append((condition, str(count), name, count_of(runs, "per_s"), count_of(runs, "handovers_per_s"),
                     time_us(runs, "p50_us"), ratio(runs, floor), time_us(runs, "p99_us"), count_of(runs, "commands", 1),
                     f"{min(fewest)}..{max(most)}" if fewest else "", errors_of(runs)))
    return aligned(rows)


def failures(figures):
    """What libraries said where they gave no figures, and who granted a held lock."""
    said = set()
    for condition, name, cells in rows_of(figures):
        for count, runs in cells.items():
            said |= {f"Failed: {condition}, {name}, {count}: {run['failed']}." for run in runs if "failed" in run}
            if overlaps := sum(of(runs, "overlaps")):
                said.add(f"MUTUAL EXCLUSION WAS VIOLATED: {condition}, {name}, {count}: {overlaps} grants of a held "
                         "lock.")
    return "".join(f"\n{each}\n" for each in sorted(said))


def section(figures):
    """What the page says between BEGIN and END."""
    loads, lengths = figures["loads"], figures["lengths"]
    missing = "".join(f" {name} could not be had: {why}." for name, why in figures["missing"].items())
    kind = " This was a short run, to see that all works: its figures say little." if figures["quick"] else ""
    if median(loads) > 2 * figures["cores"]:
        kind += " **The machine was busy with other work: the figures are preliminary.**"
    return f"""
Measured on {figures['date']}: Linux on {figures['machine']}, {figures['cores']} cores, all on one machine,
over the loopback; {figures['regime']}. The load average was {median(loads):.1f} (median; {min(loads):.1f} to {max(loads):.1f}).
Figures are median (least..most) of {figures['rounds']} rounds; in each round the libraries ran in turn.
A pair was measured for {lengths['pair_s']} s, or until the first one was over, at most {lengths['limit_s']} s; contenders
for {lengths['contended_s']} s.{missing}{kind}

## Five servers: lock and unlock of a free name

{pairs(figures)}

## Five servers: contenders of one name

{contended(figures)}
{failures(figures)}
"""


def chart(figures):
    """What bench/plot.py draws: p50 of a pair, in each condition, of each library."""
    names = list(dict.fromkeys(name for libraries in figures["cells"].values() for name in libraries))
    bars = {}
    for condition, libraries in figures["cells"].items():
        for name, cells in libraries.items():
            values = of(cells["1"], "p50_us")
            bars[CONDITIONS[condition], name] = median(values) if values else None
    one = [(name, median_of(cells["1"])) for name, cells in figures["one_server"].items() if of(cells["1"], "p50_us")]
    raw = median_of(figures["floors"]["pair"])
    limit_s = figures["lengths"]["limit_s"]
    return {"title": "Lock + unlock of a free name on five servers, p50",
            "groups": [CONDITIONS[each] for each in figures["cells"]],
            "series": [name.replace("`", "") for name in names],
            "values": {(group, name.replace("`", "")): value for (group, name), value in bars.items()},
            "lines": [("raw pair, one server", raw), *one], "absent": f"> {limit_s:g} s", "most": limit_s * 1e6}
