#!/usr/bin/env python3
"""Counts test cases: count_results.py JUNIT.xml GTEST_DIR [FAILURES.txt [SKIPPED.txt]]

JUNIT.xml is what ctest wrote about its tests, GTEST_DIR holds what each GoogleTest program wrote
about its cases (NAME.xml). Prints "PASSED FAILED SKIPPED"; appends the names of failures to
FAILURES.txt, with what a case expected or what a program printed last, and to SKIPPED.txt a line
for each skipped case: its reason, a tab, its name. A program that crashed, timed out or ran
no case counts as one failure whatever it wrote, so a test cannot vanish from the count. A case that
was skipped without a reason is a failure too. A ctest test that is not a GoogleTest program is one
case.
"""
import os
import sys
import textwrap
import xml.etree.ElementTree as ET

LINES_SHOWN = 20


def failure_text(name, why, lines):
    return "\n".join([f"{name}: {why}", textwrap.indent("\n".join(lines), "    ")]).rstrip()


def skip_reason(case):
    """Why a case was skipped, in one line: what follows the place in GoogleTest's message."""
    skipped = case.find("skipped")
    message = "" if skipped is None else skipped.get("message") or ""
    lines = [line.strip() for line in message.splitlines()]
    return " ".join(line for line in lines[1:] if line)


def gtest_cases(path):
    """(passed names, failures, skipped (reason, name) pairs) of one GoogleTest report."""
    passed, failures, skipped = [], [], []
    for case in ET.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        result = (case.get("status"), case.get("result"))
        failed = case.find("failure")
        reason = skip_reason(case)
        if failed is not None:
            lines = (failed.get("message") or failed.text or "").splitlines()
            failures.append(failure_text(name, "failed", lines[:LINES_SHOWN]))
        elif result == ("run", "completed"):
            passed.append(name)
        elif result == ("run", "skipped") and reason:
            skipped.append((reason, name))
        else:
            failures.append(f"{name}: {case.get('result')}, and no reason given")
    return passed, failures, skipped


def ctest_skip(test):
    """Why ctest itself left a test out, or None. A program that is missing is no reason."""
    skipped = test.find("skipped")
    message = "" if skipped is None else skipped.get("message") or ""
    if test.get("status") == "disabled":
        return "switched off in CMakeLists.txt"
    return message if message.startswith("SKIP_") else None


def count(junit, gtest_dir):
    """(number that passed, failures, skipped (reason, name) pairs)."""
    passed, failures, skipped = 0, [], []
    for test in ET.parse(junit).getroot().iter("testcase"):
        name, ok = test.get("name"), test.get("status") == "run"
        reason = ctest_skip(test)
        if reason is not None:
            skipped.append((reason, name))
            continue
        report = os.path.join(gtest_dir, name + ".xml")
        cases = [], [], []
        if os.path.exists(report):
            try:
                cases = gtest_cases(report)
            except ET.ParseError:
                ok = False
            if not any(cases):
                ok = False
        elif ok:
            cases = [name], [], []
        cases_passed, cases_failed, cases_skipped = cases
        passed += len(cases_passed)
        failures += [f"{name}: {case}" for case in cases_failed]
        skipped += [(why, f"{name}: {case}") for why, case in cases_skipped]
        if not ok and not cases_failed:
            lines = (test.findtext("system-out") or "").splitlines()
            failures.append(failure_text(name, test.get("status"), lines[-LINES_SHOWN:]))
    return passed, failures, skipped


def main():
    passed, failures, skipped = count(sys.argv[1], sys.argv[2])
    if len(sys.argv) > 3:
        with open(sys.argv[3], "a", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in failures)
    if len(sys.argv) > 4:
        with open(sys.argv[4], "a", encoding="utf-8") as file:
            file.writelines(f"{reason}\t{name}\n" for reason, name in skipped)
    print(passed, len(failures), len(skipped))


if __name__ == "__main__":
    main()
