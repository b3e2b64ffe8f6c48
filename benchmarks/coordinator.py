#!/usr/bin/env python3
"""coordinator.py BIN: runs campaign_bench and tunnel_bench and prints one table. Called by
coordinator.sh."""
import json
import statistics
import subprocess
import sys
from pathlib import Path

from table import table_text

REPETITIONS = 3


def result_of(program, *options):
    """The JSON line of one run."""
    print("…", program.name, *options, file=sys.stderr, flush=True)
    return json.loads(subprocess.run([program, *options], text=True, stdout=subprocess.PIPE,
                                     timeout=600, check=True).stdout)


def figures_of(bin_dir, *options):
    """The median of each figure over some runs of campaign_bench."""
    runs = [result_of(bin_dir / "campaign_bench", *options) for _ in range(REPETITIONS)]
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def main():
    bin_dir = Path(sys.argv[1])
    few = figures_of(bin_dir, "--workers", "10")
    many = figures_of(bin_dir, "--workers", "1000", "--steps", "25")
    # Steps of some seconds, as those of real campaigns are at least.
    steady = figures_of(bin_dir, "--workers", "64", "--steps", "4", "--rollouts", "1024",
                        "--verdicts-per-s", "400")
    tunnel = result_of(bin_dir / "tunnel_bench")
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
    add("idle between steps caused by the coordinator",
        f"{100 * steady['idle_share']:.2f} % of the step", "< 1 %", steady["idle_share"] < 0.01)
    for way in ("download", "upload"):
        figures = tunnel[f"{way}_mib_s"]
        add(f"tunnel, {way} on loopback ÷ ssh -L",
            f"{figures['beside_ssh']:.2f} ({figures['libssh']:.0f} ÷ {figures['ssh']:.0f} MiB/s)",
            "≥ 0.9", figures["beside_ssh"] >= 0.9)
    calls = tunnel["call_ms"]
    add("tunnel, p50 of a small call − without a tunnel",
        f"{calls['beside_none']:.3f} ms ({calls['libssh']:.3f} − {calls['none']:.3f})", "≤ 0.3 ms",
        calls["beside_none"] <= 0.3)
    add("  … − by ssh -L", f"{calls['beside_ssh']:.3f} ms ({calls['libssh']:.3f} − {calls['ssh']:.3f})",
        "≤ 0", calls["beside_ssh"] <= 0)
    print(table_text(table))


main()
