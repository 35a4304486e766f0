#!/usr/bin/env python3
"""Shows what the failed tests of a JUnit report said: of each, the parts around its findings, and its end.

usage: scripts/failures.py REPORT.xml
"""

import pathlib
import re
import sys

from junit import parse

# Of one test: little, because a long log is cut off where it is shown.
LINES_MOST = 24
AFTER_A_FINDING = 8
AT_THE_END = 4

FINDING = re.compile(
    r": Failure$|: error:|runtime error:|terminate called|\b(Address|Leak|Thread|UndefinedBehavior)?Sanitizer\b"
    r"|: Assertion .* failed|^\[  FAILED  \]|Traceback"
)


def telling(lines):
    """Those of the lines that tell the most, with '...' for what is left out."""
    shown = set()
    for at, line in enumerate(lines):
        if FINDING.search(line):
            shown.update(range(at, min(at + AFTER_A_FINDING, len(lines))))
        if len(shown) >= LINES_MOST - AT_THE_END:
            break
    shown.update(range(max(0, len(lines) - AT_THE_END), len(lines)))
    last = -1
    for at in sorted(shown):
        if at != last + 1:
            yield "..."
        yield lines[at]
        last = at


BEGUN = re.compile(r"^\[ RUN      \] (\S+)")
ENDED = re.compile(r"^\[       OK \] |^\[  SKIPPED \] ")
FAILED = re.compile(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)")


def failed_cases(said):
    """The cases that failed, of a program that ran many; the one that ran when the program ended is the last of them."""
    failed = []
    running = None
    for line in said:
        if begun := BEGUN.match(line):
            running = begun.group(1)
        elif case := FAILED.match(line):
            running = None
            if case.group(1) not in failed:
                failed.append(case.group(1))
        elif ENDED.match(line):
            running = None
    if running:
        failed.append(running + " (not ended)")
    return failed


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for case in parse(pathlib.Path(sys.argv[1])).iter("testcase"):
        if case.find("failure") is None:
            continue
        print(f"{case.get('name')} failed after {float(case.get('time') or 0):.0f} s")
        said = (case.findtext("system-out") or "").rstrip().splitlines()
        for name in failed_cases(said):
            print(f"  failed: {name}")
        for line in telling(said):
            print(f"  {line[:240]}")


main()
