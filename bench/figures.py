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


def tell(state):
    """On a terminal, how far it has come."""
    if sys.stderr.isatty():
        print(f"\r\033[K{state}", end="", file=sys.stderr, flush=True)


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
