#!/usr/bin/env python3
"""What scripts/count_tests.py and scripts/failures.py say of a run with one program of many cases."""

import pathlib
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

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


def output_of(script, *arguments):
    return subprocess.run([SCRIPTS / script, *arguments], check=True, capture_output=True, text=True).stdout


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
        return output_of("count_tests.py", self.report, self.folder).strip()

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
        said = output_of("failures.py", self.report)
        self.assertIn("failed: stores/names.bad/2\n", said)
        self.assertIn("failed: names.endless (not ended)\n", said)
        self.assertNotIn("failed: names.good", said)


unittest.main()
