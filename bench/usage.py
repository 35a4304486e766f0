"""What clients and servers need beside time: the processor, and context switches."""

import pathlib
import resource

KEYS = ("client_us", "switches", "server_us")


def used(servers):
    """So far, by the processes of this one that have ended, and by the servers with those process ids."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running_ns = sum(int(pathlib.Path(f"/proc/{each}/schedstat").read_text().split()[0]) for each in servers)
    return {"client_us": (ended.ru_utime + ended.ru_stime) * 1e6, "switches": ended.ru_nvcsw + ended.ru_nivcsw,
            "server_us": running_ns / 1e3}


def with_usage(run, servers, unit, short, long):
    """The figures of `run(long)`, and what each `unit` took beyond `run(short)`: starting and ending count for nothing."""
    runs, taken = [], []
    for length in (short, long):
        before = used(servers)
        runs.append(run(length))
        taken.append({key: value - before[key] for key, value in used(servers).items()})
    units = runs[1][unit] - runs[0][unit]
    return runs[1] | {key: (taken[1][key] - taken[0][key]) / units for key in KEYS}
