#!/usr/bin/env python3
"""What scripts/report.py says of a run with one program of many cases."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/report.py"

CTEST = """<testsuite>
<testcase name="unit.all.0" status="{status}" time="3"><failure/><system-out>[ RUN      ] names.good
[       OK ] names.good (1 ms)
[ RUN      ] stores/names.bad/2
names.cpp:3: Failure
[  FAILED  ] stores/names.bad/2, where GetParam() = 2
[ RUN      ] names.endless
\x01hostile</system-out></testcase>
<testcase name="sim.redis" status="run"/>
<testcase name="contract.on_redis" status="notrun"/>
</testsuite>"""
CASES = """<testsuites><testsuite>
<testcase name="good" status="run" result="completed"/>
<testcase name="left_out" status="run" result="skipped"><skipped/></testcase>
<testcase name="of_another_portion" status="notrun" result="suppressed"/>
{more}</testsuite></testsuites>"""
BAD = '<testcase name="bad" status="run" result="completed"><failure/></testcase>'


def output_of(*arguments):
    return subprocess.run([SCRIPT, *arguments], check=True, capture_output=True, text=True).stdout


class Reports(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.report = self.folder / "ctest.xml"

    def counts(self, status, cases):
        self.report.write_text(CTEST.format(status=status))
        if cases is not None:
            (self.folder / "unit.all.0.xml").write_text(cases)
        return output_of("count", self.report, self.folder).strip()

    def test_cases_are_counted_one_by_one(self):
        self.assertEqual(self.counts("fail", CASES.format(more=BAD)), "2 1 2")

    def test_a_program_that_fails_after_its_cases_is_a_failure(self):
        self.assertEqual(self.counts("fail", CASES.format(more="")), "2 1 2")

    def test_a_program_that_ends_before_it_reports_is_a_failure(self):
        self.assertEqual(self.counts("fail", None), "1 1 1")

    def test_a_program_that_runs_no_case_is_a_failure(self):
        self.assertEqual(self.counts("run", "<testsuites/>"), "1 1 1")

    def test_failed_cases_have_their_names(self):
        self.report.write_text(CTEST.format(status="fail"))
        said = output_of("failures", self.report)
        self.assertIn("failed: stores/names.bad/2\n", said)
        self.assertIn("failed: names.endless (not ended)\n", said)
        self.assertNotIn("failed: names.good", said)



class Settling(unittest.TestCase):
    """Of tests that failed, and that end now as their program does: with the status in the file `status`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cases = self.folder / "test/reports"
        for each in (self.cases, self.folder / "logs"):
            each.mkdir(parents=True)
        self.program = self.folder / "program"
        self.program.write_text(f"""#!/bin/sh
echo run >>{self.folder}/runs
echo '[  PASSED  ] 1 test.'
exit "$(cat {self.folder}/status)"
""")
        self.program.chmod(0o755)

    def settled(self, label, status, cases=None):
        (self.folder / "status").write_text(str(status))
        (self.folder / "test/CTestTestfile.cmake").write_text(
            f'add_test(unit.all.0 {self.program})\nset_tests_properties(unit.all.0 PROPERTIES LABELS {label})\n')
        (self.folder / "ctest.xml").write_text(CTEST.format(status="fail"))
        if cases is not None:
            (self.cases / "unit.all.0.xml").write_text(cases)
        said = subprocess.run([SCRIPT, "settle", self.folder / "ctest.xml", self.cases, self.folder / "test"], check=True,
                              capture_output=True, text=True)
        return said.stdout.strip(), said.stderr.splitlines()

    def runs(self):
        return len((self.folder / "runs").read_text().splitlines()) if (self.folder / "runs").exists() else 0

    def test_a_case_that_passes_alone_is_unsteady_and_listed(self):
        counts, said = self.settled("contract", 0, CASES.format(more=BAD))
        self.assertEqual(counts, "3 0 2")
        lines = ["unit.all.0 stores/names.bad/2", "unit.all.0 names.endless"]
        self.assertEqual(said, ["UNSTEADY: " + each for each in lines])
        self.assertEqual((self.folder / "logs/unsteady").read_text().splitlines(), lines)
        self.assertEqual(self.runs(), 11)  # each case five times, and all of the program that one of them ended

    def test_a_case_that_fails_again_has_failed(self):
        self.assertEqual(self.settled("contract", 1, CASES.format(more=BAD)), ("2 1 2", []))
        self.assertEqual(self.runs(), 1)

    def test_what_computes_is_not_run_again(self):
        self.assertEqual(self.settled("core", 0, CASES.format(more=BAD)), ("2 1 2", []))
        self.assertEqual(self.runs(), 0)


unittest.main()
