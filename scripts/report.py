#!/usr/bin/env python3
"""Reads the JUnit report of a CTest run.

    scripts/report.py count REPORT CASES            prints "PASSED FAILED SKIPPED"
    scripts/report.py failures REPORT               shows what the failed tests said
    scripts/report.py settle REPORT CASES BUILD     runs the failed cases again, then prints "PASSED FAILED SKIPPED"

CASES is the folder with GoogleTest's own report, NAME.xml, of each CTest test NAME that runs many cases. Those are counted
one by one. A test that ran no case at all, that left no report where it has to, or that failed though none of its cases
did, counts as one failed. So does a test whose program is not there.

`settle` is for tests with real servers and processes, on machines that stand still at times: those labelled contract,
faults, cli or page. It runs each of their failed cases five times, alone, and then the program as a whole. If all pass, the
cases are printed as "UNSTEADY: preset test case" on standard error and appended to build/logs/unsteady, and what the whole program
has reported counts. What a sanitizer has found stays a failure. So do failures of other tests, which compute the same each
time, and those of more than ten tests.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

TIMES = 5
TESTS_MOST = 10  # that are run again
PORTION = re.compile(r"\w+[.]\w+[.]\d+")  # the name of a test that leaves a report of its cases
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
SANITIZER = re.compile(r"runtime error:|\w*Sanitizer: ")
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
        skipped = test.find("skipped")
        was_left_out = status == "disabled" or skipped is not None and skipped.get("message", "").startswith("SKIP_")
        if was_left_out:
            return 0, 0, 1
        return (1, 0, 0) if status == "run" and not PORTION.fullmatch(test.get("name")) else (0, 1, 0)
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
        with tempfile.TemporaryFile() as output:  # a pipe would last as long as a child that was left behind
            try:
                ended = subprocess.run(command, cwd=self.folder, env=environment, timeout=self.limit,
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
            except (OSError, subprocess.TimeoutExpired):
                return False
            output.seek(0)
            # A filter that names no case runs none, and ends with 0.
            return ended.returncode == 0 and (not case or b"[  PASSED  ] 1 test." in output.read())


def settled_counts(test, known, folder):
    """The counts of a failed test if it is unsteady, which is printed then; else nothing."""
    report = folder / (test.get("name") + ".xml")
    output = output_of(test)
    failed, running = failed_cases(output)
    cases = failed + ([running] if running else [])
    if not known or not known.labels & MAY_BE_UNSTEADY or any(SANITIZER.search(line) for line in output):
        return None
    if report.is_file() and len(cases) != max(counts_of_cases(report)[1], 1):
        return None  # not all of them are in the output, which CTest cuts off
    if not all(known.passes(case) for case in cases for _ in range(TIMES)):
        return None
    report.unlink(missing_ok=True)
    if not all(known.passes() for _ in range(1 if cases else TIMES)):
        return None
    counts = counts_of(test, folder, "run")
    if counts[1] or not counts[0]:
        return None
    with open(folder.parent.parent / "logs/unsteady", "a", encoding="utf-8") as log:
        for case in cases or [""]:
            line = f"{folder.parent.name} {test.get('name')} {case}".rstrip()
            print("UNSTEADY: " + line, file=sys.stderr)
            print(line, file=log)
    return counts


def settle(report, folder, build):
    said = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True).stdout
    known = {each["name"]: known_test(each) for each in json.loads(said)["tests"]}
    all_counts = [(test, counts_of(test, folder)) for test in tests_of(report)]
    may_settle = sum(counts[1] > 0 for _, counts in all_counts) <= TESTS_MOST
    sums = [0, 0, 0]
    for test, counts in all_counts:
        again = settled_counts(test, known.get(test.get("name")), folder) if counts[1] and may_settle else None
        sums = [a + b for a, b in zip(sums, again or counts)]
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
