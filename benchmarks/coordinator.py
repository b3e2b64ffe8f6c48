#!/usr/bin/env python3
"""coordinator.py BIN: runs campaign_bench and prints one table. Called by coordinator.sh."""
import json
import statistics
import subprocess
import sys
from pathlib import Path

from table import table_text

REPETITIONS = 3


def figures_of(bin_dir, *options):
    """The median of each figure over some runs."""
    print("… campaign_bench", *options, file=sys.stderr, flush=True)
    runs = [json.loads(subprocess.run([bin_dir / "campaign_bench", *options], text=True,
                                      stdout=subprocess.PIPE, timeout=600, check=True).stdout)
            for _ in range(REPETITIONS)]
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def main():
    bin_dir = Path(sys.argv[1])
    few = figures_of(bin_dir, "--workers", "10")
    many = figures_of(bin_dir, "--workers", "1000", "--steps", "25")
    table = [("work", "figure", "bar", "")]

    def add(work, figure, bar, met):
        table.append((work, figure, bar, "" if not bar else "met" if met else "missed"))

    add("1,000 workers: verdicts journaled on disk", f"{many['verdicts_per_s']:.0f} /s", "≥ 5000 /s",
        many["verdicts_per_s"] >= 5000)
    add("  peak of resident memory", f"{many['peak_mib']:.0f} MiB", "< 500 MB",
        many["peak_mib"] * 1.048576 < 500)
    ratio = many["cpu_us_per_verdict"] / few["cpu_us_per_verdict"]
    add("  processor time of a verdict", f"{many['cpu_us_per_verdict']:.0f} µs", "", True)
    add("  … ÷ that with 10 workers", f"{ratio:.2f}", "≤ 1.25", ratio <= 1.25)
    add(f"resume of {many['verdicts']:.0f} rollouts, to the first action",
        f"{many['resume_s']:.2f} s", "≤ 5 s", many["resume_s"] <= 5)
    print(table_text(table))


main()
