"""What the arms of `discovery` found: figures of a cell's directory, and their table."""
import base64
import math
import sqlite3

import figures
import tables
from cells import CANDIDATES
from reward_noise import double_of
from table import table_text

ARMS = ["best-of-n", "grpo", "discover"]
SPEEDUP = 7  # its field of Verdict (proto/whetstone/v1/verdict.proto)
NEARLY = 0.9  # of the best that any arm found, in logarithm


def run_of(directory):
    """The campaign's, in that of whet discover where the cell is one."""
    found = directory / "found"
    return (found if found.exists() else directory) / "run"


def speedups(directory):
    """Those of all candidates in the order in which they were measured, 0 of what is not right: of rules, then of the
    campaign."""
    log, journal = directory / "found" / "rules.log", run_of(directory) / "journal.db"
    values = []
    if log.exists():
        values += [double_of(base64.b64decode(line.split()[2]), SPEEDUP) for line in log.read_text().splitlines()]
    if journal.exists():
        rows = sqlite3.connect(f"file:{journal}?mode=ro", uri=True)
        values += [speedup or 0.0 for (speedup,) in rows.execute("SELECT speedup FROM verdicts ORDER BY seq")]
        rows.close()
    return values


def curve(values):
    """[number of the candidate, its speedup] of each that was faster than all before it and than the reference."""
    best, steps = 1.0, []
    for number, value in enumerate(values, 1):
        if value > best:
            best = value
            steps.append([number, round(value, 4)])
    return steps


def halves(metrics):
    """Means of what is told of the first half of the steps and of the second: programs that differ, groups with a parent and
    those that came out better, failed programs that were shown and those that were mended."""
    rows = figures.grpo_rows(metrics)
    told = {}
    for key, weight in (("completions/distinct", None), ("search/parents", None), ("search/better", "search/parents"),
                        ("search/repairs", None), ("search/repaired", "search/repairs")):
        for half in (rows[:len(rows) // 2], rows[len(rows) // 2:]):
            known = [(row[key], row[weight] if weight else 1) for row in half if key in row]
            total = sum(w for _, w in known)
            told.setdefault(key, []).append(round(sum(v * w for v, w in known) / total, 4) if total else None)
    return told


def candidate_file(cell, directory):
    """The fastest program's source; it is not there where nothing is faster than the reference."""
    best = directory / "found" / "best" if cell.variant not in ("best-of-n", "grpo") else \
        directory / "run" / "best" / cell.problem
    return best / "candidate.cc"


def of_cell(whet, cell, directory):
    """The fastest program is measured again, on the idle machine: what a search says itself is the luckiest of many."""
    values, program = speedups(directory), candidate_file(cell, directory)
    row = {"candidates": len(values), "right": sum(v > 0 for v in values), "curve": curve(values), "final": 1.0,
           "halves": halves(run_of(directory) / "metrics.jsonl")}
    if program.exists():
        again = figures.last_json([whet, "measure", directory / cell.own.name, program, "--json"])
        row.update(final=max(1.0, again["speedup"] or 1.0), final_low=again["speedup_low"], final_high=again["speedup_high"],
                   outcome=again["outcome"], expert_speedup=again["expert_speedup"], program=program.read_text())
    else:
        row["expert_speedup"] = figures.expert_speedup(cell.problem)
    return row


def until_nearly(row, best):
    """(candidates until NEARLY of `best`, whether it came to that)."""
    bar = best ** NEARLY
    reached = [number for number, speedup in row["curve"] if speedup >= bar]
    return (reached[0], True) if reached else (max(CANDIDATES, row["candidates"]), False)


def log_rank(one, other):
    """p of the two-sided log-rank test (Mantel 1966) of two lists of (time, whether the event came)."""
    observed = expected = variance = 0.0
    for time in sorted({t for t, came in one + other if came}):
        at_risk = [sum(t >= time for t, _ in group) for group in (one, other)]
        events = [sum(t == time and came for t, came in group) for group in (one, other)]
        total, died = sum(at_risk), sum(events)
        observed += events[0]
        expected += died * at_risk[0] / total
        if total > 1:
            variance += died * at_risk[0] * at_risk[1] * (total - died) / (total * total * (total - 1))
    return math.erfc(abs(observed - expected) / math.sqrt(2 * variance)) if variance > 0 else 1.0


def ratio_text(arms, of, than):
    """Geometric mean of the ratio of two arms' final speedups over the problems and seeds that both have."""
    pairs = {}
    for key, row in arms[of].items():
        if key in arms[than]:
            pairs.setdefault(key[0], []).append(row["final"] / arms[than][key]["final"])
    value, low, high = tables.over_problems(pairs, tables.geometric)
    return f"{of} ÷ {than}: {value:.2f}× [{low:.2f}, {high:.2f}]"


def summary(arms, best):
    """What the arms are compared by."""
    lines = []
    for arm in arms:
        value, low, high = tables.over_problems(tables.by_problem(arms[arm].values(), lambda r: r["final"]), tables.geometric)
        rows = arms[arm].values()
        beaten = sum(r["expert_speedup"] is not None and r["final"] > 1.03 * r["expert_speedup"] for r in rows)
        times = [until_nearly(r, best[r["problem"]]) for r in rows]
        lines.append((arm, f"{value:.2f}× [{low:.2f}, {high:.2f}]", f"{beaten} of {len(rows)}",
                      f"{sum(came for _, came in times)} of {len(rows)}"))
    text = [table_text([("arm", "geometric mean", "beats the expert by 3 %", "comes to 90 % of the best"), *lines])]
    for arm in arms:
        if arm not in ("best-of-n", "grpo"):
            for other in ("best-of-n", "grpo"):
                if not arms.get(other):
                    continue
                times = [[until_nearly(r, best[r["problem"]]) for r in arms[a].values()] for a in (arm, other)]
                text.append(f"{ratio_text(arms, arm, other)}; candidates until 90 % of the best (log-rank): "
                            f"p = {log_rank(*times):.3g}")
    return "\n\n".join(text)


def table(rows):
    """Of the newest row of each cell: arms may be of several commits, which are named."""
    last = {}
    for row in rows:
        if row["ended"] and "final" in row:
            last[row["variant"], row["problem"], row["seed"]] = row
    if not last:
        return "no cell has ended"
    arms, best = {}, {}
    for (arm, problem, seed), row in last.items():
        arms.setdefault(arm, {})[problem, seed] = row
        best[problem] = max(best.get(problem, 1.0), row["final"])
    arms = {a: arms[a] for a in sorted(arms, key=lambda a: (ARMS + [a]).index(a))}
    lines = [("problem", "seed", "expert", *arms)]
    for problem, seed in sorted({key for rows_of in arms.values() for key in rows_of}):
        of = {arm: arms[arm].get((problem, seed)) for arm in arms}
        expert = next((r["expert_speedup"] for r in of.values() if r and r["expert_speedup"]), None)
        lines.append((problem, str(seed), f"{expert:.1f}×" if expert else "–",
                      *(f"{r['final']:.2f}× ({until_nearly(r, best[problem])[0]})" if r else "" for r in of.values())))
    commits = sorted({r["commit"] for r in last.values()})
    return (f"{table_text(lines)}\n\nIn brackets: candidates until 90 % of the best that any arm found, in logarithm.\n\n"
            f"{summary(arms, best)}\n\nCommits: {', '.join(commits)}.")
