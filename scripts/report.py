#!/usr/bin/env python3
"""Reads the JUnit report of a CTest run.

    scripts/report.py count REPORT CASES            prints "PASSED FAILED SKIPPED"
    scripts/report.py failures REPORT               shows what the failed tests said
    scripts/report.py settle REPORT CASES BUILD     runs the failed cases again, then prints "PASSED FAILED SKIPPED"

CASES is the folder with GoogleTest's own report, NAME.xml, of each CTest test NAME that runs many cases. Those are counted
one by one. A test that ran no case at all, or that failed though none of its cases did, counts as one failed.

`settle` is for tests with real servers and processes, on machines that stand still at times: those labelled contract,
faults, cli or page. It runs each of their failed cases five times, alone. A case that passes each time counts as passed,
and is printed as "UNSTEADY: test case" on standard error and appended to build/logs/unsteady. All other tests compute the
same each time: their failures stay.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

TIMES = 5
MAY_BE_UNSTEADY = {"contract", "faults", "cli", "page"}

# Of one failed test: little is shown, because a long log is cut off.
LINES_MOST = 24
AFTER_A_FINDING = 8
AT_THE_END = 4

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
FINDING = re.compile(
    r": Failure$|: error:|runtime error:|terminate called|\b(Address|Leak|Thread|UndefinedBehavior)?Sanitizer\b"
    r"|: Assertion .* failed|^\[  FAILED  \]|Traceback"
)
BEGUN = re.compile(r"^\[ RUN      \] (\S+)")
ENDED = re.compile(r"^\[       OK \] |^\[  SKIPPED \] ")
FAILED = re.compile(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)")


def tests_of(report):
    """The test cases of a report, in which tests may have printed hostile bytes."""
    text = NOT_XML.sub("?", report.read_bytes().decode(errors="replace"))
    return list(xml.fromstring(text.encode()).iter("testcase"))


def counts_of_cases(report):
    """Passed, failed and skipped of a program's own report."""
    passed = failed = skipped = 0
    for case in tests_of(report):
        if case.find("failure") is not None:
            failed += 1
        elif case.get("status") == "notrun":
            continue  # of another portion
        elif case.get("result") == "skipped" or case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def counts_of(test, folder, status=None):
    """Of a test that ended with this status, in place of the reported one if it ran again."""
    status = status or test.get("status")
    report = folder / (test.get("name") + ".xml")
    if not report.is_file():
        return {"run": (1, 0, 0), "fail": (0, 1, 0)}.get(status, (0, 0, 1))
    passed, failed, skipped = counts_of_cases(report)
    if failed == 0 and (status != "run" or passed == 0):
        failed = 1
    return passed, failed, skipped


def output_of(test):
    return (test.findtext("system-out") or "").rstrip().splitlines()


def telling(lines):
    """The lines that tell the most, with '...' for each gap."""
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


def failed_cases(lines):
    """The failed cases of a program that ran many, and the one during which the program ended, if any."""
    failed = []
    running = None
    for line in lines:
        if begun := BEGUN.match(line):
            running = begun.group(1)
        elif case := FAILED.match(line):
            running = None
            if case.group(1) not in failed:
                failed.append(case.group(1))
        elif ENDED.match(line):
            running = None
    return failed, running


def count(report, folder):
    print(*(sum(column) for column in zip((0, 0, 0), *(counts_of(test, folder) for test in tests_of(report)))))


def failures(report):
    for test in tests_of(report):
        if test.find("failure") is None:
            continue
        print(f"{test.get('name')} failed after {float(test.get('time') or 0):.0f} s")
        lines = output_of(test)
        failed, running = failed_cases(lines)
        for name in failed + ([running + " (not ended)"] if running else []):
            print(f"  failed: {name}")
        for line in telling(lines):
            print(f"  {line[:240]}")


class known_test:
    """A test as CTest would run it."""

    def __init__(self, description):
        self.command = description.get("command", [])
        properties = {each["name"]: each["value"] for each in description.get("properties", [])}
        self.labels = set(properties.get("LABELS", []))
        self.environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
        self.folder = properties.get("WORKING_DIRECTORY")
        self.limit = properties.get("TIMEOUT", 900)

    def passes(self, case=None):
        """Whether it passes now: as a whole, or with this one of its cases."""
        command, environment = self.command, os.environ | self.environment
        if case:
            command = [each for each in command if not each.startswith("--gtest_filter=")] + ["--gtest_filter=" + case]
            for variable in ("GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX", "GTEST_OUTPUT"):
                environment.pop(variable, None)
        try:
            ended = subprocess.run(command, cwd=self.folder, env=environment, timeout=self.limit,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except (OSError, subprocess.TimeoutExpired):
            return False
        # A filter that names no case runs none, and ends with 0.
        return ended.returncode == 0 and (not case or b"[  PASSED  ] 1 test." in ended.stdout)


def is_unsteady(test, known, folder):
    """Whether the failed test passes when it is alone; its failed cases are printed then."""
    if not known or not known.labels & MAY_BE_UNSTEADY:
        return False
    failed, running = failed_cases(output_of(test))
    cases = failed + ([running] if running else []) or [None]
    if not all(known.passes(case) for case in cases for _ in range(TIMES)):
        return False
    # Those behind a case that ended the program have not run.
    has_all = cases != [None] and (folder / (test.get("name") + ".xml")).is_file() and not running
    if not has_all and cases != [None] and not known.passes():
        return False
    with open(folder.parent.parent / "logs/unsteady", "a", encoding="utf-8") as log:
        for case in cases:
            line = f"{test.get('name')} {case or ''}".rstrip()
            print("UNSTEADY: " + line, file=sys.stderr)
            print(line, file=log)
    return True


def settle(report, folder, build):
    said = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True).stdout
    known = {each["name"]: known_test(each) for each in json.loads(said)["tests"]}
    sums = [0, 0, 0]
    for test in tests_of(report):
        counts = counts_of(test, folder)
        if counts[1] and is_unsteady(test, known.get(test.get("name")), folder):
            passed, failed, skipped = counts_of(test, folder, "run")
            counts = (passed + failed, 0, skipped)
        sums = [a + b for a, b in zip(sums, counts)]
    print(*sums)


def main():
    verb, *arguments = sys.argv[1:] or [""]
    paths = [pathlib.Path(each) for each in arguments]
    verbs = {"count": (count, 2), "failures": (failures, 1), "settle": (settle, 3)}
    if verb not in verbs or len(paths) != verbs[verb][1]:
        sys.exit(__doc__)
    verbs[verb][0](*paths)


if __name__ == "__main__":
    main()
