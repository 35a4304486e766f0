"""The plots of bench/results/stores.md, from the figures of bench/compare."""

import plot

PERCENTILES = {"pair_p50_us": "p50", "pair_p90_us": "p90", "pair_p99_us": "p99", "pair_p999_us": "p99.9"}
ENDS = {"ended_s": "holder asked to end (SIGTERM)", "killed_s": "holder killed (SIGKILL)"}


def name_of(row):
    """Of a store, with what a confirmed write is there."""
    return f"{row['store']}, {row['writes']}"


def ranges(title, rows, shown, to_us=1):
    """A line for each store of which they were measured."""
    found = {name_of(row): {name: row[key] * to_us for key, name in shown.items() if row.get(key)} for row in rows}
    found = {name: values for name, values in found.items() if values}
    return plot.ranges(title, found, list(shown.values())) if found else None


def latencies(figures):
    return ranges("Lock + unlock of a free name: the time that it takes", figures["stores"], PERCENTILES)


def waiters(figures):
    series = {name_of(row): {int(count): rate for count, rate in row["handovers_per_s"].items() if rate}
              for row in figures["stores"] if row.get("handovers_per_s")}
    series = {name: points for name, points in series.items() if points}
    if not series:
        return None
    return plot.lines("One name: grants a second, by the number of contenders", "contenders in two processes, on one client each",
                      "grants a second", series)


def recoveries(figures):
    if "ttl_s" not in figures:
        return None
    title = f"From the end of a holder to the next grant, with a ttl of {figures['ttl_s']:g} s"
    return ranges(title, figures["stores"], ENDS, 1e6)


# File beside the page -> what draws it, and what it shows for who cannot see it.
PLOTS = {
    "stores-latency.svg": (latencies, "A line a store: p50, p90, p99 and p99.9 of lock and unlock of a free name"),
    "stores-waiters.svg": (waiters, "A line a store: grants a second of one name, from two contenders to many"),
    "stores-recovery.svg": (recoveries, "A line a store: time from the end of a holder, asked or killed, to the next grant"),
}


def drawn(figures):
    """File -> SVG, of what was measured."""
    drawings = {name: draw(figures) for name, (draw, _) in PLOTS.items()}
    return {name: svg for name, svg in drawings.items() if svg}


def links(drawings):
    """For the page."""
    return "".join(f"\n![{text}]({name})\n" for name, (_, text) in PLOTS.items() if name in drawings)
