#!/usr/bin/env python3
"""Shows what the failed tests of a JUnit report said: of each, the parts around its findings, and its end.

usage: scripts/failures.py REPORT.xml
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

LINES_MOST = 40  # of one test
AFTER_A_FINDING = 14
AT_THE_END = 8

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


NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # tests print hostile bytes


def cases(report):
    text = NOT_XML.sub("?", report.read_bytes().decode(errors="replace"))
    return xml.fromstring(text.encode()).iter("testcase")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for case in cases(pathlib.Path(sys.argv[1])):
        if case.find("failure") is None:
            continue
        print(f"{case.get('name')} failed after {float(case.get('time') or 0):.0f} s")
        said = (case.findtext("system-out") or "").rstrip().splitlines()
        for line in telling(said):
            print(f"  {line[:240]}")


main()
