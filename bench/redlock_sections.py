"""Sections of one name by contenders of another library, in one or two processes, bounded in time.

A driver of bench/libraries is a process of it. It prints "ready", reads a line "END LIMIT" (ns of the clock that all
processes share), begins at once, and ends at END; if it has no section by then, with its first one or at LIMIT. It
prints {"sections": [[contender, requested, granted, released, done], ...], "errors": N, "problem": "..."}: when the
call of lock began and returned, and when that of unlock began and returned.
"""

import contextlib
import json
import subprocess
import time

WARM_UP_S = 1
GRACE_S = 10  # for printing what there is


class Failure(Exception):
    """There are no figures, and this is why."""


def share_of(values, share):
    """In the order of their size; none of none."""
    return sorted(values)[int(len(values) * share)] if values else None


def spread_over(contenders):
    """How many contenders each process has: a hand-over is between two processes."""
    return [1] if contenders == 1 else [contenders - contenders // 2, contenders // 2]


@contextlib.contextmanager
def processes(commands):
    started = []
    try:
        for each in commands:
            started.append(subprocess.Popen([str(word) for word in each], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True))
        yield started
    finally:
        for each in started:
            each.kill()
            each.communicate()


def run(command, hosts, name, contenders, length_s, limit_s):
    """Sections [requested, granted, released, done, (process, contender)] in the order of grants; how many errors, one of
    them; when the time that counts began and ended."""
    shares = spread_over(contenders)
    commands = [[*command, "sections", ",".join(hosts), name, share] for share in shares]
    with processes(commands) as started:
        for each in started:
            if each.stdout.readline() != "ready\n":
                each.kill()
                raise Failure(each.stderr.read().strip() or "a contending process failed")
        start = time.monotonic_ns()
        end = start + round((WARM_UP_S + length_s) * 1e9)
        limit = start + round((WARM_UP_S + limit_s) * 1e9)
        for each in started:
            each.stdin.write(f"{end} {limit}\n")
            each.stdin.flush()
        reports = []
        for each in started:
            try:
                said, problem = each.communicate(timeout=WARM_UP_S + limit_s + GRACE_S)
                reports.append(json.loads(said))
            except subprocess.TimeoutExpired:
                raise Failure("it did not end in time") from None
            except ValueError:
                raise Failure((problem.strip() or "a contending process printed nothing").splitlines()[-1]) from None
    sections = sorted((times[1:] + [(n, times[0])] for n, report in enumerate(reports) for times in report["sections"]),
                      key=lambda each: each[1])
    problem = next((report["problem"] for report in reports if report["problem"]), "")
    return sections, sum(report["errors"] for report in reports), problem, start + round(WARM_UP_S * 1e9), end


def figures(command, hosts, name, contenders, length_s, limit_s):
    """As `holdfast bench` has them: of one contender `pair`, else `handoff`. `sections_all`: with the warm-up."""
    sections, errors, problem, begin, end = run(command, hosts, name, contenders, length_s, limit_s)
    counted = [each for each in sections if each[0] >= begin] or sections[-1:]  # slower than the warm-up: the last one
    overlaps = sum(after[1] < before[2] for before, after in zip(sections, sections[1:]))
    found = {"sections": len(counted), "sections_all": len(sections), "errors": errors,
             "problem": problem.split("\n")[0], "overlaps": overlaps}
    if contenders == 1:
        took_us = [(done - requested) / 1e3 for requested, _, _, done, _ in counted]
        per_s = 1e6 * len(took_us) / sum(took_us) if took_us else 0
        return found | {"p50_us": share_of(took_us, 0.5), "p99_us": share_of(took_us, 0.99), "per_s": per_s,
                        "limit_s": limit_s}
    counted = [each for each in sections if begin <= each[1] < end]
    hops_us = [(after[1] - before[2]) / 1e3 for before, after in zip(counted, counted[1:])
               if before[4][0] != after[4][0]]
    grants = {each[4]: 0 for each in counted}
    for each in counted:
        grants[each[4]] += 1
    everybody = [*grants.values(), *[0] * (contenders - len(grants))]
    return found | {"sections": len(counted), "per_s": len(counted) / length_s, "p50_us": share_of(hops_us, 0.5),
                    "p99_us": share_of(hops_us, 0.99), "handovers": len(hops_us),
                    "handovers_per_s": len(hops_us) / length_s, "grants_min": min(everybody),
                    "grants_max": max(everybody)}
