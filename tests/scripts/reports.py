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
<testcase name="contract.on_redis" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/></testcase>
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

    def test_a_program_that_is_not_there_is_a_failure(self):
        self.report.write_text('<testsuite><testcase name="cli.absent" status="notrun"><skipped message='
                               '"Unable to find executable"/></testcase></testsuite>')
        self.assertEqual(output_of("count", self.report, self.folder).strip(), "0 1 0")

    def test_a_program_that_ends_well_in_the_middle_of_its_cases_is_a_failure(self):
        self.assertEqual(self.counts("run", None), "1 1 1")


class Settling(unittest.TestCase):
    """Of tests that failed, and that run again now: with the status in the file `status`, and a report if all of it runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.cases = self.folder / "test/reports"
        for each in (self.cases, self.folder / "logs"):
            each.mkdir(parents=True)
        self.program = self.folder / "program"
        self.program.write_text(f"""#!/bin/sh
echo "$@" >>{self.folder}/runs
case $1 in
  --gtest_filter=*) echo '[  PASSED  ] 1 test.' ;;
  *) cp {self.folder}/after {self.cases}/unit.all.0.xml ;;
esac
exit "$(cat {self.folder}/status)"
""")
        self.program.chmod(0o755)

    def settled(self, label="contract", status=0, output="", before=CASES.format(more=BAD), after=CASES.format(more="")):
        (self.folder / "status").write_text(str(status))
        (self.folder / "after").write_text(after)
        (self.folder / "test/CTestTestfile.cmake").write_text(
            f'add_test(unit.all.0 {self.program})\nset_tests_properties(unit.all.0 PROPERTIES LABELS {label})\n')
        (self.folder / "ctest.xml").write_text(
            f'<testsuite><testcase name="unit.all.0" status="fail" time="3"><failure/><system-out>{output}</system-out>'
            '</testcase></testsuite>')
        if before:
            (self.cases / "unit.all.0.xml").write_text(before)
        said = subprocess.run([SCRIPT, "settle", self.folder / "ctest.xml", self.cases, self.folder / "test"], check=True,
                              capture_output=True, text=True)
        return said.stdout.strip(), said.stderr.splitlines()

    def runs(self):
        return len((self.folder / "runs").read_text().splitlines()) if (self.folder / "runs").exists() else 0

    FAILED_CASE = "[  FAILED  ] stores/names.bad/2, where GetParam() = 2"

    def test_a_case_that_passes_alone_and_in_its_program_is_unsteady_and_listed(self):
        counts, said = self.settled(output=self.FAILED_CASE)
        self.assertEqual(counts, "1 0 1")  # as the program has reported last
        self.assertEqual(said, ["UNSTEADY: test unit.all.0 stores/names.bad/2"])
        self.assertEqual((self.folder / "logs/unsteady").read_text(), "test unit.all.0 stores/names.bad/2\n")
        self.assertEqual(self.runs(), 6)

    def test_a_program_that_ended_during_a_case_is_unsteady_if_all_of_it_passes(self):
        counts, said = self.settled(output="[ RUN      ] names.endless", before=None)
        self.assertEqual((counts, said), ("1 0 1", ["UNSTEADY: test unit.all.0 names.endless"]))

    def stays_failed(self, runs, **how):
        counts, said = self.settled(**how)
        self.assertEqual((counts.split()[1], said, self.runs()), ("1", [], runs))

    def test_a_case_that_fails_again_has_failed(self):
        self.stays_failed(1, status=1, output=self.FAILED_CASE)

    def test_a_case_that_fails_behind_others_has_failed(self):
        self.stays_failed(6, output=self.FAILED_CASE, after=CASES.format(more=BAD))

    def test_a_program_that_runs_no_case_again_has_failed(self):
        self.stays_failed(6, output=self.FAILED_CASE, after="<testsuites/>")

    def test_a_case_that_is_not_in_the_output_has_failed(self):
        self.stays_failed(0, output="")

    def test_a_program_that_failed_after_its_cases_has_failed(self):
        self.stays_failed(0, output="", before=CASES.format(more=""))

    def test_what_a_sanitizer_has_found_has_failed(self):
        self.stays_failed(0, output=self.FAILED_CASE + "\nWARNING: ThreadSanitizer: data race")

    def test_what_computes_is_not_run_again(self):
        self.stays_failed(0, label="core", output=self.FAILED_CASE)


unittest.main()
