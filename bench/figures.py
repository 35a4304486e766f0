"""What all measurements share: running a program that prints JSON, and the table of figures and targets."""

import json
import statistics
import subprocess
import sys

median = statistics.median


def measured(*command, timeout_s=300):
    """The JSON object that a program prints."""
    run = subprocess.run([str(argument) for argument in command], capture_output=True, text=True, timeout=timeout_s)
    if run.returncode != 0:
        sys.exit(f"{' '.join(str(argument) for argument in command)}: status {run.returncode}\n{run.stderr}")
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


def growth(sent_so_far, run, lengths_s=(0.2, 2)):
    """A server's count and the figures of `run`: those of a long run minus those of a short one. The start and the end
    of a run cost the same in both, so the difference is free of them.

    Returns the difference of the count, and a function from the name of a figure to its difference.
    """
    sent, figures = [], []
    for length_s in lengths_s:
        before = sent_so_far()
        figures.append(run("--duration", f"{length_s * 1000:.0f}ms"))
        sent.append(sent_so_far() - before)
    return sent[1] - sent[0], lambda name: figures[1][name] - figures[0][name]


def steady(sent_so_far, run):
    """What a server is sent a second."""
    sent, more = growth(sent_so_far, lambda *options: run(*options, "--ttl", f"{TTL_S}s"), RUNS_S)
    return sent / more("duration_s")


class Table:
    """Rows of label, figure, target; knows whether a target was missed."""

    def __init__(self, title):
        self.title = title
        self.rows = []
        self.shares = {}  # of what is judged: name -> the figure's share of its target, 1 or less where that is met

    def _name_of(self, label):
        """An indented label goes on with the one before it that is not; under the last heading, if there is one."""
        heading = next((text for text, *_ in reversed(self.rows) if not text.startswith(" ")), "")
        whole = label.strip()
        if label.startswith(" "):
            above = next((text for text, *_ in reversed(self.rows) if not text.startswith("   ")), "")
            whole = f"{above.strip()} {whole}"
        return f"{heading}: {whole}" if heading else whole

    def heading(self, text):
        self.rows.append((text, "", "", None))

    def add(self, label, figure):
        self.rows.append((f"  {label}", figure, "", None))

    def judge(self, label, value, shown, *, most=None, least=None):
        met = value <= most if least is None else value >= least
        self.shares[self._name_of(label)] = value / most if least is None else least / max(value, 1e-9)
        target = f"<= {most:g}" if least is None else f">= {least:g}"
        self.rows.append((f"  {label}", shown, target, met))

    def compare(self, label, ratio, *, most=None):
        """Judged where there is a target."""
        if most is None:
            self.add(label, f"{ratio:.2f}")
        else:
            self.judge(label, ratio, f"{ratio:.2f}", most=most)

    @property
    def missed(self):
        return any(met is False for *_, met in self.rows)

    def print(self):
        tell("")
        print(self.title)
        widths = [max(len(row[column]) for row in self.rows) for column in range(3)]
        for label, figure, target, met in self.rows:
            verdict = "" if met is None else "met" if met else "MISSED"
            print(f"{label:<{widths[0]}}  {figure:>{widths[1]}}  {target:<{widths[2]}}  {verdict}".rstrip())
        print()
