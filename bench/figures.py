"""What all measurements share: running a program that prints JSON, and the table of figures and targets."""

import json
import statistics
import subprocess
import sys

median = statistics.median


def measured(*command, timeout_s=300):
    """The JSON object that a program prints."""
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout_s)
    if run.returncode != 0:
        sys.exit(f"{' '.join(str(word) for word in command)}: status {run.returncode}\n{run.stderr}")
    return json.loads(run.stdout)


def tell(state, always=False):
    """On a terminal, how far it has come; with `always` in a log, too, a line each."""
    if sys.stderr.isatty():
        print(f"\r\033[K{state}", end="", file=sys.stderr, flush=True)
    elif always:
        print(state, file=sys.stderr, flush=True)


# For what a server counts by itself: leases of this ttl, and two runs that are three periods of renewal apart.
TTL_S = 12
PERIOD_S = TTL_S / 3
RUNS_S = (2 * PERIOD_S, 5 * PERIOD_S)


def steady(sent_so_far, run):
    """What a server is sent a second: in a long run less in a short one, so that what it takes to begin and to end
    falls out."""
    sent, took_s = [], []
    for duration_s in RUNS_S:
        before = sent_so_far()
        took_s.append(run("--duration", f"{duration_s:g}s", "--ttl", f"{TTL_S}s")["duration_s"])
        sent.append(sent_so_far() - before)
    return (sent[1] - sent[0]) / (took_s[1] - took_s[0])


class Table:
    """Rows of what, figure, target; knows whether a target was missed."""

    def __init__(self, title):
        self.title = title
        self.rows = []

    def heading(self, text):
        self.rows.append((text, "", "", None))

    def add(self, what, figure):
        self.rows.append((f"  {what}", figure, "", None))

    def judge(self, what, value, shown, *, most=None, least=None):
        met = value <= most if least is None else value >= least
        target = f"<= {most:g}" if least is None else f">= {least:g}"
        self.rows.append((f"  {what}", shown, target, met))

    def compare(self, what, ratio, *, most=None):
        """Judged where there is a target."""
        if most is None:
            self.add(what, f"{ratio:.2f}")
        else:
            self.judge(what, ratio, f"{ratio:.2f}", most=most)

    @property
    def missed(self):
        return any(met is False for *_, met in self.rows)

    def print(self):
        tell("")
        print(self.title)
        widths = [max(len(row[column]) for row in self.rows) for column in range(3)]
        for what, figure, target, met in self.rows:
            verdict = "" if met is None else "met" if met else "MISSED"
            print(f"{what:<{widths[0]}}  {figure:>{widths[1]}}  {target:<{widths[2]}}  {verdict}".rstrip())
        print()
