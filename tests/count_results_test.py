#!/usr/bin/env python3
"""Tests count_results.py: whatever goes wrong in a test program, the count must show it."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import count_results  # noqa: E402

GTEST = """<testsuites><testsuite name="A">
<testcase name="passes" classname="A" status="run" result="completed"/>
{more}</testsuite></testsuites>"""
FAILURE = ('<testcase name="fails" classname="A" status="run" result="completed">'
           '<failure message="a.cc:7&#x0A;1 is not 2"/></testcase>')
SKIPPED = '<testcase name="skips" classname="A" status="run" result="skipped"/>'


class CountTest(unittest.TestCase):
    def count(self, status, report, output=""):
        with tempfile.TemporaryDirectory() as folder:
            junit = os.path.join(folder, "junit.xml")
            with open(junit, "w", encoding="utf-8") as file:
                file.write(f'<testsuite><testcase name="a_test" status="{status}"><system-out>'
                           f'{output}</system-out></testcase></testsuite>')
            if report is not None:
                with open(os.path.join(folder, "a_test.xml"), "w", encoding="utf-8") as file:
                    file.write(report)
            return count_results.count(junit, folder)

    def test_cases_are_counted(self):
        self.assertEqual(self.count("run", GTEST.format(more="")), (1, []))
        self.assertEqual(self.count("fail", GTEST.format(more=FAILURE)),
                         (1, ["a_test: A.fails: failed\n    a.cc:7\n    1 is not 2"]))

    def test_a_skipped_case_is_a_failure(self):
        self.assertEqual(self.count("run", GTEST.format(more=SKIPPED)),
                         (1, ["a_test: A.skips: skipped"]))

    def test_a_program_that_dies_is_a_failure(self):
        for report in (None, "", "<testsuites/>", GTEST.format(more="")):
            self.assertEqual(len(self.count("fail", report)[1]), 1, report)

    def test_what_a_dead_program_printed_last_is_kept(self):
        output = "".join(f"line {i}\n" for i in range(99)) + "terminate called"
        (failure,) = self.count("fail", None, output)[1]
        self.assertTrue(failure.endswith("    line 98\n    terminate called"), failure)
        self.assertNotIn("line 70", failure)

    def test_a_program_that_runs_nothing_is_a_failure(self):
        self.assertEqual(len(self.count("run", "<testsuites/>")[1]), 1)

    def test_other_programs_are_one_case(self):
        self.assertEqual(self.count("run", None), (1, []))


if __name__ == "__main__":
    unittest.main()
