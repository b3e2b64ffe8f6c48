#!/usr/bin/env python3
"""Counts test cases: count_results.py JUNIT.xml GTEST_DIR [FAILURES.txt]

JUNIT.xml is what ctest wrote about its tests, GTEST_DIR holds what each GoogleTest program wrote
about its cases (NAME.xml). Prints "PASSED FAILED"; appends the names of failures to FAILURES.txt,
with what a case expected or what a program printed last. A program that crashed, timed out or ran
no case counts as one failure whatever it wrote, so a test cannot vanish from the count. A ctest
test that is not a GoogleTest program is one case.
"""
import os
import sys
import textwrap
import xml.etree.ElementTree as ET

LINES_SHOWN = 20


def failure_text(name, why, lines):
    return "\n".join([f"{name}: {why}", textwrap.indent("\n".join(lines), "    ")]).rstrip()


def gtest_cases(path):
    """(passed names, failures) of one GoogleTest report."""
    passed, failures = [], []
    for case in ET.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        failed = case.find("failure")
        if failed is not None:
            lines = failed.get("message").splitlines()
            failures.append(failure_text(name, "failed", lines[:LINES_SHOWN]))
        elif (case.get("status"), case.get("result")) == ("run", "completed"):
            passed.append(name)
        else:
            failures.append(f"{name}: {case.get('result')}")
    return passed, failures


def count(junit, gtest_dir):
    passed, failures = 0, []
    for test in ET.parse(junit).getroot().iter("testcase"):
        name, ok = test.get("name"), test.get("status") == "run"
        report = os.path.join(gtest_dir, name + ".xml")
        cases_passed, cases_failed = [], []
        if os.path.exists(report):
            try:
                cases_passed, cases_failed = gtest_cases(report)
            except ET.ParseError:
                ok = False
            if not cases_passed and not cases_failed:
                ok = False
        elif ok:
            cases_passed = [name]
        passed += len(cases_passed)
        failures += [f"{name}: {case}" for case in cases_failed]
        if not ok and not cases_failed:
            lines = (test.findtext("system-out") or "").splitlines()
            failures.append(failure_text(name, test.get("status"), lines[-LINES_SHOWN:]))
    return passed, failures


def main():
    passed, failures = count(sys.argv[1], sys.argv[2])
    if len(sys.argv) > 3:
        with open(sys.argv[3], "a", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in failures)
    print(passed, len(failures))


if __name__ == "__main__":
    main()
