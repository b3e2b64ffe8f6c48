"""Markdown tables of the rows in results/, with seeds and 95 % intervals."""
import math
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import figures  # noqa: E402
from table import table_text  # noqa: E402

DRAWS = 4000
# 97.5 % quantiles of Student's distribution, by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
           10: 2.228, 11: 2.201}
EVAL_FIGURES = ["pass@1", "pass@16", "fast_1.5@1", "fast_1.5@16", "best@16"]


def line(row):
    """One row for the terminal."""
    text = f"  {row['cell']}, {row['stage']} {row['piece']}: {row['seconds']:.0f} s, {row['ended'] or 'goes on'}"
    if "steps" in row:
        text += f", {row['steps']} steps, right {percent(row['right_last3'])}"
    if "proved_speedup" in row:
        text += f", proved {row['proved_speedup']:.2f}×"
    if "final" in row:
        text += f", {row['final']:.2f}× of {row['candidates']} candidates"
    return text


def percent(share):
    return "–" if share is None or math.isnan(share) else f"{100 * share:.0f} %"


def ended_rows(rows, stage):
    """The last row of each cell's stage that has ended, by (commit, variant)."""
    last = {(r["commit"], r["variant"], r["cell"]): r for r in rows if r["stage"] == stage and r["ended"]}
    groups = {}
    for (commit, variant, _), row in last.items():
        groups.setdefault((commit, variant), []).append(row)
    return groups


def over_problems(values_by_problem, average=lambda v: sum(v) / len(v)):
    """(mean, low, high): problems are drawn with replacement, a problem's seeds stay together. An interval needs two
    problems, and its percentiles are expanded as those of docs/evaluation.md, or it would be too narrow."""
    problems = sorted(values_by_problem)
    if len(problems) < 2:
        return average([v for p in problems for v in values_by_problem[p]]), math.nan, math.nan
    count = len(problems)
    student = STUDENT.get(count - 1, 1.96)
    tail = 0.5 * math.erfc(math.sqrt(count / (count - 1)) * student / math.sqrt(2))
    generator = random.Random(17)
    draws = sorted(average([v for p in generator.choices(problems, k=len(problems))
                            for v in values_by_problem[p]]) for _ in range(DRAWS))
    return (average([v for p in problems for v in values_by_problem[p]]),
            draws[int(tail * DRAWS)], draws[min(DRAWS - 1, int((1 - tail) * DRAWS))])


def over_seeds(values):
    """(mean, low, high) by Student's distribution; an interval needs two seeds."""
    mean = sum(values) / len(values)
    if len(values) < 2:
        return mean, math.nan, math.nan
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))
    half = STUDENT.get(len(values) - 1, 1.96) * deviation / math.sqrt(len(values))
    return mean, mean - half, mean + half


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def proved(row):
    """Older rows have it by another rule; all have what it is made of."""
    return figures.proved_speedup(row["best"]) if "best" in row else row["proved_speedup"]


def half_of_expert(row):
    """Half of the expert's speedup, in logarithm."""
    expert = row["expert_speedup"]
    return expert is not None and proved(row) >= math.sqrt(expert)


def seconds_of(row, rows):
    """Of all pieces of the stage that this row ends."""
    return sum(r["seconds"] for r in rows
               if (r["stage"], r["commit"], r["settings"]) == (row["stage"], row["commit"], row["settings"]))


def by_problem(rows, value):
    values = {}
    for row in rows:
        values.setdefault(row["problem"], []).append(value(row))
    return values


def own_problem(rows):
    text = []
    for (commit, variant), group in sorted(ended_rows(rows, "train").items()):
        seeds = sorted({r["seed"] for r in group})
        by_rules = {(r["problem"], r["seed"]): r["rules_speedup"]
                    for r in ended_rows(rows, "rewrite").get((commit, variant), [])}
        head = ["problem", "expert", "rules alone"] + [f"{what}, seed {s}" for s in seeds
                                        for what in ("right in the last 3", "proved")] + ["steps", "seconds"]
        lines = [tuple(head)]
        for problem in sorted({r["problem"] for r in group}):
            of = {r["seed"]: r for r in group if r["problem"] == problem}
            expert = next(iter(of.values()))["expert_speedup"]
            found = [f"{by_rules[problem, s]:.2f}×" for s in seeds if (problem, s) in by_rules]
            cells = [problem, f"{expert:.1f}×" if expert else "–", ", ".join(found) or "–"]
            for seed in seeds:
                cells += [percent(of[seed]["right_last3"]), f"{proved(of[seed]):.2f}×"] \
                    if seed in of else ["", ""]
            lines.append((*cells, ", ".join(f"{r['steps']} of {r['steps_total']}" for r in of.values()),
                          ", ".join(f"{seconds_of(r, rows):.0f}" for r in of.values())))
        text += [f"### {variant} ({commit})", "", table_text(lines), "", own_problem_summary(group, seeds), ""]
    return "\n".join(text) or "no cell has ended"


def own_problem_summary(group, seeds):
    bars = [("at least 90 % right in the last 3 steps", lambda r: (r["right_last3"] or 0) >= 0.9),
            ("a program at least 1.5 × as fast, proved", lambda r: proved(r) >= 1.5),
            ("half of the expert's speedup, in logarithm", half_of_expert)]
    lines = [("", *(f"seed {s}" for s in seeds))]
    for name, met in bars:
        counts = [[met(r) for r in group if r["seed"] == s] for s in seeds]
        lines.append((name, *(f"{sum(c)} of {len(c)}" for c in counts)))
    right = over_problems(by_problem(group, lambda r: r["right_last3"] or 0))
    speedup = over_problems(by_problem(group, proved), geometric)
    return (f"{table_text(lines)}\n\nRight: {percent(right[0])} [{percent(right[1])}, {percent(right[2])}]; proved: "
            f"{speedup[0]:.2f}× [{speedup[1]:.2f}, {speedup[2]:.2f}] (geometric mean). Intervals are over problems.")


def figure_text(name, estimate):
    if name.startswith("best"):
        return f"{estimate['value']:.2f}× [{estimate['low']:.2f}, {estimate['high']:.2f}]"
    return f"{100 * estimate['value']:.1f} % [{100 * estimate['low']:.1f}, {100 * estimate['high']:.1f}]"


def evaluations(rows):
    """Every model of every cell and, where there are several seeds, their means."""
    text = []
    for (commit, variant), group in sorted(ended_rows(rows, "eval").items()):
        group = sorted(group, key=lambda r: r["seed"])
        estimates = [(r["seed"], name, e) for r in group for name, e in r["models"].items()]
        estimates += [(r["seed"], f"{p['model']} − {p['baseline']}", p["estimates"])
                      for r in group for p in r["pairs"]]
        known = [f for f in EVAL_FIGURES if any(f in e for _, _, e in estimates)]
        names = list(dict.fromkeys(name for _, name, _ in estimates))
        lines = [("model", "seed", *known)]
        for name in names:
            of = [(seed, e) for seed, n, e in estimates if n == name]
            for seed, e in of:
                lines.append((name, str(seed), *(figure_text(f, e[f]) if f in e else "" for f in known)))
            if len(of) > 1:
                means = {f: over_seeds([e[f]["value"] for _, e in of if f in e]) for f in known
                         if any(f in e for _, e in of)}
                lines.append((name, "mean", *(figure_text(f, dict(zip(("value", "low", "high"), means[f])))
                                              if f in means else "" for f in known)))
        text += [f"### {variant} ({commit}), split {group[0]['split']}, {group[0]['samples']} samples", "",
                 table_text(lines), ""]
    if not text:
        return "no evaluation has ended"
    return "\n".join(text) + ("Intervals of a seed are over problems and samples (docs/evaluation.md), of a "
                              "mean over seeds (Student). A difference of `best` is a ratio.")


def training(rows):
    lines = [("cell", "commit", "steps", "right in the last 3", "proved problems", "seconds")]
    for (commit, _), group in sorted(ended_rows(rows, "train").items()):
        for row in sorted(group, key=lambda r: r["cell"]):
            proved = sum(b["confirmed"] for b in row["best"].values())
            lines.append((row["cell"], commit, f"{row['steps']} of {row['steps_total']}",
                          percent(row["right_last3"]), f"{proved} of {len(row['best'])}",
                          f"{seconds_of(row, rows):.0f}"))
    return table_text(lines) if len(lines) > 1 else "no cell has ended"


def explored(rows):
    lines = [("variant", "commit", "seed", "steps", "groups without spread", "distinct programs", "entropy of a token",
              "reward of the last 10 steps", "right in the last 3")]
    for (commit, variant), group in sorted(ended_rows(rows, "train").items()):
        for row in sorted(group, key=lambda r: r["seed"]):
            had = row["spread"]
            lines.append((variant, commit, str(row["seed"]), str(row["steps"]),
                          *([percent(had["no_spread"]), percent(had["distinct"]), f"{had['entropy']:.3f}",
                             f"{had['reward_last10']:.2f}"] if had else ["–"] * 4), percent(row["right_last3"])))
    return table_text(lines) if len(lines) > 1 else "no cell has ended"


def rules(rows):
    text = []
    for (commit, variant), group in sorted(ended_rows(rows, "rewrite").items()):
        # Rows before commit 1bda793 know only what is short enough to be taught.
        fastest = {r["problem"]: r.get("fastest", r["rules_speedup"]) for r in group}
        lines = [("problem", "fastest", "taught", "by", "measured", "right", "seconds")]
        for row in sorted(group, key=lambda r: -fastest[r["problem"]]):
            lines.append((row["problem"], f"{fastest[row['problem']]:.2f}×", f"{row['rules_speedup']:.2f}×",
                          ", ".join(row["rules"]) or "–",
                          str(row["measured"]), str(row["right"]), f"{row['seconds']:.0f}"))
        found = list(fastest.values())
        text += [f"### {variant} ({commit})", "", table_text(lines), "",
                 f"{sum(s >= 1.5 for s in found)} of {len(found)} at least 1.5 × as fast; geometric mean "
                 f"{geometric(found):.2f}×.", ""]
    return "\n".join(text) or "no cell has ended"


def of(name, rows):
    if name == "rules":
        return rules(rows)
    if name == "exploration":
        return f"{explored(rows)}\n\n{evaluations(rows)}"
    return own_problem(rows) if name == "own-problem" else f"{training(rows)}\n\n{evaluations(rows)}"
