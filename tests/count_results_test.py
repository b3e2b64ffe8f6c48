#!/usr/bin/env python3
"""Tests count_results.py: whatever goes wrong in a test program, the count must show it."""
import os
import subprocess
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
SKIPPED = ('<testcase name="skips" classname="A" status="run" result="skipped">'
           '<skipped message="a.cc:7&#x0A;this machine has&#x0A;no GPU&#x0A;"/></testcase>')
SKIPPED_SILENTLY = ('<testcase name="skips" classname="A" status="run" result="skipped">'
                    '<skipped message="a.cc:7&#x0A;"/></testcase>')


class CountTest(unittest.TestCase):
    def count(self, status, report, output="", more=""):
        with tempfile.TemporaryDirectory() as folder:
            junit = os.path.join(folder, "junit.xml")
            with open(junit, "w", encoding="utf-8") as file:
                file.write(f'<testsuite><testcase name="a_test" status="{status}"><system-out>'
                           f'{output}</system-out>{more}</testcase></testsuite>')
            if report is not None:
                with open(os.path.join(folder, "a_test.xml"), "w", encoding="utf-8") as file:
                    file.write(report)
            return count_results.count(junit, folder)

    def test_cases_are_counted(self):
        self.assertEqual(self.count("run", GTEST.format(more="")), (1, [], []))
        self.assertEqual(self.count("fail", GTEST.format(more=FAILURE)),
                         (1, ["a_test: A.fails: failed\n    a.cc:7\n    1 is not 2"], []))

    def test_a_failure_may_have_its_words_inside(self):
        bare = FAILURE.replace(' message="a.cc:7&#x0A;1 is not 2"/>', ">AssertionError: 3</failure>")
        self.assertEqual(self.count("fail", GTEST.format(more=bare)), (1, ["a_test: A.fails: failed\n    AssertionError: 3"], []))

    def test_a_skipped_case_is_counted_apart_with_its_reason(self):
        self.assertEqual(self.count("run", GTEST.format(more=SKIPPED)),
                         (1, [], [("this machine has no GPU", "a_test: A.skips")]))
        self.assertEqual(self.count("fail", GTEST.format(more=FAILURE + SKIPPED))[0], 1)
        only = "<testsuites><testsuite>" + SKIPPED + "</testsuite></testsuites>"
        passed, failures, skipped = self.count("run", only)
        self.assertEqual((passed, failures, len(skipped)), (0, [], 1))

    def test_a_case_skipped_without_a_reason_is_a_failure(self):
        self.assertEqual(self.count("run", GTEST.format(more=SKIPPED_SILENTLY)),
                         (1, ["a_test: A.skips: skipped, and no reason given"], []))

    def test_what_ctest_leaves_out_is_skipped_unless_it_is_missing(self):
        def left_out(status, message):
            return self.count(status, None, more=f'<skipped message="{message}"/>')
        self.assertEqual(left_out("notrun", "SKIP_RETURN_CODE=77"),
                         (0, [], [("SKIP_RETURN_CODE=77", "a_test")]))
        self.assertEqual(left_out("disabled", "Disabled"),
                         (0, [], [("switched off in CMakeLists.txt", "a_test")]))
        for message in ("Unable to find executable", "Fixture dependency failed"):
            self.assertEqual(left_out("notrun", message), (0, ["a_test: notrun"], []))

    def test_the_program_prints_three_numbers_and_writes_two_lists(self):
        with tempfile.TemporaryDirectory() as folder:
            def path(name):
                return os.path.join(folder, name)
            with open(path("junit.xml"), "w", encoding="utf-8") as file:
                file.write('<testsuite><testcase name="a_test" status="fail"/></testsuite>')
            with open(path("a_test.xml"), "w", encoding="utf-8") as file:
                file.write(GTEST.format(more=FAILURE + SKIPPED))
            printed = subprocess.run(
                [sys.executable, count_results.__file__, path("junit.xml"), folder, path("failed"),
                 path("skipped")], check=True, capture_output=True, text=True).stdout
            self.assertEqual(printed, "1 1 1\n")
            with open(path("failed"), encoding="utf-8") as file:
                self.assertTrue(file.read().startswith("a_test: A.fails: failed\n"))
            with open(path("skipped"), encoding="utf-8") as file:
                self.assertEqual(file.read(), "this machine has no GPU\ta_test: A.skips\n")

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
        self.assertEqual(self.count("run", None), (1, [], []))


if __name__ == "__main__":
    unittest.main()
