"""The tables of bench/results/redis.md, from the figures of bench/compare_redis."""

from statistics import median

from pages import aligned

GROUPS = {"server": "one server", "sentinel": "Sentinel", "cluster": "Cluster"}


def spread(values, digits=0):
    """median (least..most), of those that there are"""
    values = [each for each in values if each is not None]
    if not values:
        return "none"
    low, middle, high = (f"{each:.{digits}f}" for each in (min(values), median(values), max(values)))
    return f"{middle} ({low}..{high})"


def ratio(runs, floor, scenario):
    """Of p50 to Holdfast's, within each round."""
    pairs = [(run["p50_us"], base["p50_us"]) for run, base in zip(runs[scenario], floor[scenario]) if run["p50_us"]]
    return f"{median(mine / base for mine, base in pairs):.2f}" if pairs else ""


def costs(groups):
    rows = [("servers", "library", "lock + unlock, p50 µs", "/ Holdfast", "p99 µs", "hand-over, p50 µs", "/ Holdfast",
             "hand-overs a second", "processor µs a pair: client", "servers")]
    for kind, group in groups.items():
        for name, runs in group["costs"].items():
            base = group["costs"]["Holdfast"]
            rows.append((GROUPS[kind], name, spread([run["p50_us"] for run in runs["pair"]]), ratio(runs, base, "pair"),
                         spread([run["p99_us"] for run in runs["pair"]]),
                         spread([run["p50_us"] for run in runs["handoff"]]), ratio(runs, base, "handoff"),
                         spread([run["handovers"] / run["duration_s"] for run in runs["handoff"]]),
                         *(spread([run[key] for run in runs["pair"]]) for key in ("client_us", "server_us"))))
    return aligned(rows)


def caught_up(groups):
    rows = [("servers", "library", "death to the next grant, s", "holds lost", "of them told")]
    for kind, group in groups.items():
        for name in (group["caught_up"] or [{}])[0]:
            runs = [run[name] for run in group["caught_up"]]
            lost, told, holders = (sum(run[key] for run in runs) for key in ("lost", "told", "holders"))
            late = sum(run["grant_s"] is None for run in runs)
            grants = spread([run["grant_s"] for run in runs], 1) + (f"; {late} without" if late else "")
            rows.append((GROUPS[kind], name, grants, f"{lost} of {holders}", str(told) if lost else ""))
    return aligned(rows)


def held_back(groups):
    rows = [("servers", "library", "granted before the death", "then two held", "for, s", "first one told")]
    for kind, group in groups.items():
        for name in (group["held_back"] or [{}])[0]:
            runs = [run[name] for run in group["held_back"]]
            granted = [run for run in runs if run["granted"]]
            both = [run for run in granted if run["both_s"] > 0]
            rows.append((GROUPS[kind], name, f"{len(granted)} of {len(runs)}",
                         f"{len(both)} of {len(granted)}" if granted else "",
                         spread([run["both_s"] for run in both], 1) if both else "",
                         f"{sum(run['told'] for run in granted)} of {len(granted)}" if granted else ""))
    return aligned(rows)


def section(figures):
    """What the page says between BEGIN and END."""
    groups, loads = figures["groups"], figures["loads"]
    rounds = max(len(runs["pair"]) for group in groups.values() for runs in group["costs"].values())
    deaths = max(len(group["caught_up"]) for group in groups.values())
    missing = "".join(f" {name} could not be had: {why}." for name, why in figures["missing"].items())
    ttl_s = {name: ms // 1000 for name, ms in figures["ttl_ms"].items()}
    return f"""
Measured on {figures['date']}: Linux on {figures['machine']}, {figures['cores']} cores, servers and clients on one machine,
over the loopback. The machine was shared: its load average was {median(loads):.1f} (median; {min(loads):.1f} to {max(loads):.1f}).
Figures are median (least..most) of {rounds} rounds; in each round the libraries ran in turn.{missing}

## Costs

{costs(groups)}

## A primary dies, its replicas are up to date

{deaths} deaths on each group of servers. ttl {ttl_s['caught_up']} s, `failover_guard={ttl_s['caught_up']}s`.

{caught_up({kind: group for kind, group in groups.items() if group['caught_up']})}

## A primary dies, its replicas miss one grant

{deaths} deaths on each group of servers. ttl {ttl_s['held_back']} s, `failover_guard={ttl_s['held_back']}s`.

{held_back({kind: group for kind, group in groups.items() if group['held_back']})}

"""
