#!/usr/bin/env python3
"""Measures every problem and writes the table of docs/problems.md.

    python3 docs/problem_table.py                   # whet problem check of every split, then the table
    python3 docs/problem_table.py --from CHECK.json # from an earlier `whet problem check … --json`
    python3 docs/problem_table.py --check           # measures nothing: has every problem its row?
"""
import argparse
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = [os.path.join(ROOT, "prompts", *split) for split in ([], ["valid"], ["test"])]
PAGE = os.path.join(ROOT, "docs", "problems.md")
BEGIN = "<!-- begin: written by docs/problem_table.py -->\n"
END = "<!-- end -->\n"


def measure(whet):
    """Runs the whole check; its exit code says more than this table needs."""
    command = [whet, "problem", "check", *FOLDERS, "--json"]
    return subprocess.run(command, stdout=subprocess.PIPE, check=False, text=True).stdout


def percent(share):
    if not share:
        return ""
    return f"{100 * share:.0f} %" if share >= 0.01 else "below 1 %"


def row(problem):
    path = os.path.relpath(problem["file"], os.path.join(ROOT, "docs"))
    link = f"[{os.path.basename(path)[:-3]}]({path})"
    if not problem.get("expert_speedup"):
        return f"| {link} | {problem.get('split', '')} | | | | | | not measured |"
    return (f"| {link} | {problem['split']} | {problem['difficulty']} "
            f"| {problem['reference_ns'] / 1000:.0f} µs | {problem['expert_speedup']:.1f}× "
            f"| {percent(problem['roofline_share'])} "
            f"| {problem['reference_reward']:.2f} | {problem['expert_reward']:.2f} |")


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        found = re.search(r"^model name\s*: (.*)$", info.read(), re.M)
    return found.group(1) if found else "unknown processor"


def table(result):
    lines = [f"Measured on: {processor()}, {os.cpu_count()} cores.", "",
             "| problem | split | difficulty | reference | expert | of the roofline "
             "| reward of the reference | of the expert |",
             "|---|---|---|---|---|---|---|---|"]
    lines += [row(p) for p in sorted(result["problems"], key=lambda p: os.path.basename(p["file"]))]
    return "\n".join(lines) + "\n"


def front_matter(path):
    with open(path, encoding="utf-8") as file:
        return file.read().split("\n---\n")[0]


def missing_rows(page):
    """Problems without a row, rows without a problem, and rows of the wrong split."""
    rows = dict(re.findall(r"^\| \[(\w+)\]\(\.\./prompts/[\w/]+\.md\) \| (\w+) ", page, re.M))
    wrong = []
    names = {}
    for folder in FOLDERS:
        for file in os.listdir(folder):
            if file.endswith(".md") and file != "README.md":
                split = re.search(r"^split: (\w+)", front_matter(os.path.join(folder, file)), re.M)
                names[file[:-3]] = split[1] if split else "train"
    for name in sorted({*names, *rows}):
        if name not in names:
            wrong.append(f"{name} is no problem")
        elif name not in rows:
            wrong.append(f"{name} has no row")
        elif names[name] != rows[name]:
            wrong.append(f"{name} has another split")
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--whet", default=os.path.join(ROOT, "build", "dev", "bin", "whet"))
    parser.add_argument("--from", dest="source")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    if options.check:
        wrong = missing_rows(page)
        for line in wrong:
            print(f"docs/problems.md: {line}; run docs/problem_table.py", file=sys.stderr)
        return 1 if wrong else 0
    if options.source:
        with open(options.source, encoding="utf-8") as file:
            text = file.read()
    else:
        text = measure(options.whet)
    result = json.loads(text.strip().splitlines()[-1])
    if "problems" not in result:
        print(f"the check did not end: {result}", file=sys.stderr)
        return 1
    before, rest = page.split(BEGIN)
    new = before + BEGIN + table(result) + END + rest.split(END)[1]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(new)
    print(table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
