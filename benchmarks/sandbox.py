#!/usr/bin/env python3
"""sandbox.py BIN: runs sandbox_bench and screen_bench and prints one table. Called by sandbox.sh."""
import json
import statistics
import subprocess
import sys
from pathlib import Path

from table import table_text

REPETITIONS = 5


def rows_of(program):
    """Benchmark name → counter → median over the repetitions; errors by name."""
    print("…", program, file=sys.stderr, flush=True)
    run = subprocess.run([program, "--benchmark_format=json",
                          f"--benchmark_repetitions={REPETITIONS}",
                          "--benchmark_enable_random_interleaving=true"],
                         stdout=subprocess.PIPE, text=True, timeout=1200, check=True)
    rows = {}
    for row in json.loads(run.stdout)["benchmarks"]:
        if row["run_type"] != "iteration":
            continue
        name = row["name"].split("/iterations")[0]
        if row.get("error_occurred"):
            print(f"{name}: {row['error_message']}", file=sys.stderr)
            continue
        for key, value in row.items():
            if key.endswith("_ms") or key == "inside_over_outside":
                rows.setdefault(name, {}).setdefault(key, []).append(value)
    return {name: {key: statistics.median(values) for key, values in counters.items()}
            for name, counters in rows.items()}


def main():
    bin_dir = Path(sys.argv[1])
    sandbox, screen = rows_of(bin_dir / "sandbox_bench"), rows_of(bin_dir / "screen_bench")
    table = [("work", "figure", "bar", "")]

    def add(work, value, unit, bar=None, met=None):
        met = value <= bar if bar is not None and met is None else met
        table.append((work, f"{value:.2f} {unit}".strip(), "" if bar is None else f"≤ {bar:g}",
                      "" if met is None else "met" if met else "missed"))

    for name, what, bars in [("WhetstoneRun", "start of an empty program to its result", (3, 10)),
                             ("WhetstoneCompile", "… as a compiler runs", (3, 10)),
                             ("Bubblewrap", "… bubblewrap", (None, None)),
                             ("Isolate", "… isolate", (None, None)),
                             ("NoSandbox", "… no sandbox", (None, None))]:
        if name not in sandbox:
            continue
        add(f"{what}, p50", sandbox[name]["p50_ms"], "ms", bars[0])
        add(f"{what}, p99", sandbox[name]["p99_ms"], "ms", bars[1])
        if name in ("WhetstoneRun", "WhetstoneCompile", "Isolate"):
            add("  clean-up after it, p50", sandbox[name]["clean_up_p50_ms"], "ms")
    for kind in ("compute", "memory", "calls"):
        ratio = sandbox[f"Inside/{kind}"]["inside_over_outside"]
        add(f"time inside ÷ outside, {kind}", ratio, "", 1.01, abs(ratio - 1) <= 0.01)
        table[-1] = (table[-1][0], f"{ratio:.4f}", "1 ± 0.01", table[-1][3])
    add("screen of a 60-line candidate, p50", screen["Screen/correct"]["p50_ms"], "ms", 40)
    add("screen of one that does not parse, p50", screen["Screen/does_not_parse"]["p50_ms"], "ms")
    print(table_text(table))


main()
