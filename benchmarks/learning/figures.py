"""What a cell's directory says when a piece of it has ended."""
import json
import re
import subprocess
from pathlib import Path

from cells import ROOT

LAST_STEPS = 3
# Building and timing one stand-alone benchmark takes a minute or two on a loaded machine.
QUERY_LIMIT_S = 1800


class Failed(Exception):
    """whet could not do it; the text says where to look."""


def last_json(command, accepted=(0,)):
    """The last line of `command`'s stdout, which --json makes an object."""
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, timeout=QUERY_LIMIT_S, check=False)
    if run.returncode in accepted:
        try:
            return json.loads(run.stdout.strip().splitlines()[-1])
        except (IndexError, json.JSONDecodeError):
            pass
    raise Failed(f"{' '.join(map(str, command))} ended with {run.returncode}, without the JSON object "
                 f"that was expected: {(run.stderr or run.stdout).strip()[-500:]}")


def grpo_rows(metrics):
    """The rows of GRPO's steps, in order; none where the file is not there."""
    rows = [json.loads(line) for line in metrics.read_text().splitlines()] if metrics.exists() else []
    return [row for row in rows if row["phase"] == "grpo"]


def right_share(metrics, steps=LAST_STEPS):
    """The share of right programs among those of the last steps; None without a step."""
    rows = grpo_rows(metrics)[-steps:]
    count = sum(row["num_completions"] for row in rows)
    return sum(row["outcome/correct"] * row["num_completions"] for row in rows) / count if count else None


def spread(metrics):
    """What the last half of the steps had of it: of the groups, the share whose programs earn the same, within their errors; of
    the programs, the share that differs; entropy of a token. Rewards are those of the last ten steps, in which most problems are
    met. None without a step."""
    rows = grpo_rows(metrics)
    if not rows:
        return None

    def mean(key, of):
        return sum(row[key] for row in of) / len(of)

    half = rows[len(rows) // 2:]
    return {"no_spread": mean("frac_reward_zero_std", half), "distinct": mean("completions/distinct", half),
            "entropy": mean("entropy", half), "reward_last10": mean("reward", rows[-10:])}


def expert_speedup(problem):
    """As docs/problems.md has it; None where it has none."""
    page = (ROOT / "docs" / "problems.md").read_text()
    found = re.search(rf"^\| \[{re.escape(problem)}\]\([^|]*\|[^|]*\|[^|]*\|[^|]*\| ([\d.]+)× ", page, re.M)
    return float(found[1]) if found else None


def progress(row):
    return row["warmup_updates"], row["steps"], row["rollouts"]


def proved_speedup(best):
    """What both the run and the stand-alone benchmark say, whichever is less, so that neither a lucky record
    nor a lucky proof counts; 1, the reference's own, where no program is faster. (A proof may be slower or
    faster than the record by more than a tenth, and then does not confirm it: kernels of a microsecond
    whose memory lies otherwise in the next process.)"""
    return max([1.0, *(min(b["recorded"], b["speedup"]) for b in best.values())])


def of_training(whet, cell, directory, ended):
    run = directory / "run"
    status = last_json([whet, "status", run, "--json"])
    row = {"steps": status["steps_done"], "steps_total": status["steps_total"],
           "warmup_updates": status["warmup_done"], "rollouts": status["rollouts"],
           "outcomes": status["outcomes"], "reward_first": status["reward_first"],
           "reward_last": status["reward_last"], "health": [h["kind"] for h in status["health"]],
           "right_last3": right_share(run / "metrics.jsonl")}
    if cell.experiment == "exploration":
        row["spread"] = spread(run / "metrics.jsonl")
    elif ended and cell.experiment != "discovery":
        # 2: a program was not confirmed.
        best = last_json([whet, "best", run, "--verify", "--json"], accepted=(0, 2))["best"]
        row["best"] = {b["problem"]: {"recorded": b["speedup"], **b["verification"]} for b in best}
        row["proved_speedup"] = proved_speedup(row["best"])
        row["expert_speedup"] = expert_speedup(cell.problem)
    return row


def of_evaluation(output):
    """Estimates over all problems, and by problem; `output` is what `whet eval --json` ended with."""
    models = {m["name"]: m for m in output["models"]}
    return {"split": output["split"], "samples": output["samples"],
            "problems_compared": output["problems_compared"],
            "models": {name: m["estimates"] for name, m in models.items()},
            "counts": {name: m["counts"] for name, m in models.items()},
            "problems": {name: {p["id"]: p["estimates"] for p in m["problems"]}
                         for name, m in models.items()},
            "pairs": [{k: p[k] for k in ("model", "baseline", "estimates")} for p in output["pairs"]]}


def of_rewrites(output):
    """What rules alone find, 1 where nothing is faster: the speedup of the fastest program, and of the fastest that a policy
    is taught."""
    [found] = output["problems"]
    best = max(found["kept"], key=lambda kept: kept["speedup"], default={"speedup": 1.0, "rules": []})
    return {"fastest": found["fastest"], "rules_speedup": best["speedup"], "rules": best["rules"], "measured": found["measured"],
            "right": found["right"]}


def of_stage(whet, cell, stage, directory, ended, log):
    if stage.name == "train":
        return of_training(whet, cell, directory, ended)
    if ended != "finished" or stage.name == "discover":
        return {}
    lines = Path(log).read_text().strip().splitlines()
    try:
        output = json.loads(lines[-1])
        return of_rewrites(output) if stage.name == "rewrite" else of_evaluation(output)
    except (IndexError, json.JSONDecodeError, KeyError) as error:
        raise Failed(f"{log} does not end with figures of {stage.name} ({error!r})") from error
