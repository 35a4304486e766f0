#!/usr/bin/env python3
"""Counts the tests of a CTest run: prints "PASSED FAILED SKIPPED".

usage: scripts/count_tests.py REPORT.xml FOLDER

REPORT.xml is CTest's JUnit report. FOLDER has GoogleTest's own report, NAME.xml, of each CTest test NAME that runs many
cases; those are counted one by one. A test that ran no case at all, or that failed though none of its cases did, counts
as one failed.
"""

import pathlib
import sys

from junit import parse


def counts_of_cases(report):
    """Passed, failed and skipped of a program's own report."""
    passed = failed = skipped = 0
    for case in parse(report).iter("testcase"):
        if case.find("failure") is not None:
            failed += 1
        elif case.get("status") == "notrun":
            continue  # of another portion
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def counts_of(test, folder):
    status = test.get("status")
    report = folder / (test.get("name") + ".xml")
    if not report.is_file():
        return {"run": (1, 0, 0), "fail": (0, 1, 0)}.get(status, (0, 0, 1))
    passed, failed, skipped = counts_of_cases(report)
    if failed == 0 and (status != "run" or passed == 0):
        failed = 1
    return passed, failed, skipped


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[2])
    tests = parse(pathlib.Path(sys.argv[1])).iter("testcase")
    print(*(sum(column) for column in zip((0, 0, 0), *(counts_of(test, folder) for test in tests))))


main()
