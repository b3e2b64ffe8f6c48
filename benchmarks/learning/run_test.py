#!/usr/bin/env python3
"""Tests the bookkeeping of run.py with a made-up whet: what is run, resumed, skipped, refused and noted."""
import contextlib
import fcntl
import io
import json
import math
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cells  # noqa: E402
import discovery  # noqa: E402
import figures  # noqa: E402
import reward_noise  # noqa: E402
import run  # noqa: E402
import tables  # noqa: E402

# It notes every call, and does what a file beside it says: `mode` of runs, `commit`, `best`.
WHET = r"""#!/bin/bash
here=$(dirname "$0")
[[ $1 == --version ]] && { echo "0.1.0 (commit $(<"$here/commit"))"; exit; }
echo "$*" >>"$here/calls"
steps() {
  for ((i = 1; i <= $2; ++i)); do
    share=1.0; ((i > 3)) && share=0.5
    echo "{\"step\": $i, \"phase\": \"grpo\", \"outcome/correct\": $share, \"num_completions\": 16, \"reward\": $i," \
      "\"frac_reward_zero_std\": $share, \"completions/distinct\": 0.25, \"entropy\": 0.1}"
  done >"$1/metrics.jsonl"
}
case "$1" in
  run)
    grep -q "${PROBLEM_THAT_FAILS:-none}" <<<"$*" && { echo "no such model" >&2; exit 3; }
    [[ $3 == --run-dir ]] || exit 2
    mkdir -p "$4"; touch "$4/campaign.yaml"; steps "$4" 2
    mkdir -p "$4/checkpoints/warmup"; echo weights >"$4/checkpoints/warmup/model"
    if [[ $(<"$here/mode") != quick ]]; then
      trap 'exit 130' INT
      touch "$here/started"
      while :; do sleep 0.02; done
    fi
    steps "$4" 5 ;;
  resume)
    [[ -f $2/campaign.yaml ]] || exit 2
    mode=$(<"$here/mode")
    [[ $mode == stuck ]] || steps "$2" $(($(wc -l <"$2/metrics.jsonl") + 1))
    if [[ $mode != quick ]]; then trap 'exit 130' INT; while :; do sleep 0.02; done; fi
    steps "$2" 5 ;;
  status)
    echo '{"steps_done": '"$(wc -l <"$2/metrics.jsonl")"', "steps_total": 5, "warmup_done": 3, "rollouts": 80,
      "outcomes": {"CORRECT": 40}, "reward_first": 0.1, "reward_last": 0.5, "health": [{"kind": "flat"}]}' |
      tr -d '\n' ;;
  best) echo '{"run_dir": "r", "best": '"$(<"$here/best")"'}'; exit 2 ;;
  eval) cat "$here/eval" ;;
  discover)
    [[ $3 == --out ]] || exit 2
    mkdir -p "$4/best" "$4/run"
    # Two verdicts whose field 7 is the speedup: 2, and none.
    printf 'k a %s c\nk b %s c\n' "$(printf '\x39\0\0\0\0\0\0\0\x40' | base64)" "$(printf '\x18\x02' | base64)" >"$4/rules.log"
    echo "void f();" >"$4/best/candidate.cc"
    exit 2 ;;
  measure)
    [[ -f $2 && -f $3 ]] || exit 2
    echo '{"outcome": "CORRECT", "speedup": 4.0, "speedup_low": 3.9, "speedup_high": 4.1, "expert_speedup": 5.0}' ;;
  rewrite)
    [[ $3 == --out ]] || exit 2
    touch "$4"
    echo '{"out": "f", "problems": [{"measured": 9, "right": 7, "fastest": 3.5, "kept": [{"speedup": 2.5, "rules": ["a", "b"]}]}]}' ;;
esac
"""
PROVED = {"problem": "a", "speedup": 3.0, "verification": {"confirmed": True, "speedup": 2.9}}
UNPROVED = {"problem": "b", "speedup": 9.0, "verification": {"confirmed": False, "speedup": 1.0}}


def estimates(value):
    return {f: {"value": value, "low": value - 0.1, "high": value + 0.1} for f in ("pass@1", "best@16")}


EVALUATION = {"split": "test", "samples": 64, "problems_compared": 2,
              "models": [{"name": n, "estimates": estimates(v), "counts": {"samples": 128},
                          "problems": [{"id": "a", "estimates": estimates(v)}]}
                         for n, v in (("raw", 0.25), ("grpo", 0.5))],
              "pairs": [{"model": "grpo", "baseline": "raw", "estimates": estimates(0.25)}]}


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.whet = self.root / "whet"
        self.whet.write_text(WHET)
        self.whet.chmod(0o755)
        self.say(mode="quick", commit="abc123", best=json.dumps([PROVED, UNPROVED]),
                 eval=json.dumps(EVALUATION) + "\n")
        self.proc = self.root / "proc"
        self.proc.mkdir()
        problems = []
        for name in ("alpha", "beta"):
            problems.append(self.root / f"{name}.md")
            problems[-1].write_text(f"---\nid: {name}\nsplit: valid\n---\nsplit: prose\n")
        patch = mock.patch.object(cells, "problem_files", lambda split: problems)
        patch.start()
        self.addCleanup(patch.stop)

    def say(self, **files):
        for name, text in files.items():
            (self.root / name).write_text(text)

    def arguments(self, *words):
        return [*words, "--whet", str(self.whet), "--runs", str(self.root / "runs"), "--results",
                str(self.root / "results")]

    def main(self, *words):
        """(exit code, stdout, stderr)"""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run.main(self.arguments(*words), proc=self.proc)
        return code, out.getvalue(), err.getvalue()

    def calls(self, *commands):
        path = self.root / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.split()[0] in (commands or ("run", "resume", "eval"))]

    def rows(self, name="own-problem", rewrites=False):
        """Those of rewriting, or all the others."""
        rows = run.Results(self.root / "results" / f"{name}.jsonl").rows()
        return [row for row in rows if (row["stage"] == "rewrite") == rewrites]

    def runner(self, **options):
        results = run.Results(self.root / "results" / "own-problem.jsonl")
        return run.Runner(self.whet, results, self.root / "runs", self.proc, **options)

    def one_cell(self, minutes=10):
        return cells.own_problem([("default", [])], [17], minutes)[:1]

    def test_a_row_has_the_figures_of_its_cell(self):
        code, _, err = self.main("own-problem", "--cells", "alpha/*/17")
        self.assertEqual((code, err), (0, ""))
        [row] = self.rows()
        self.assertEqual((row["cell"], row["commit"], row["ended"], row["steps"], row["health"]),
                         ("alpha/default/17", "abc123", "finished", 5, ["flat"]))
        # Steps 3 to 5: all, half and half of them right.
        self.assertAlmostEqual(row["right_last3"], 2 / 3)
        # The faster one is not confirmed.
        self.assertEqual(row["proved_speedup"], 2.9)
        self.assertIn("seed=17", self.calls("run")[0])

    def test_rules_go_first_and_the_campaign_is_taught_what_they_found(self):
        self.main("own-problem", "--cells", "alpha/*/17")
        [row] = self.rows(rewrites=True)
        self.assertEqual((row["rules_speedup"], row["rules"], row["right"]), (2.5, ["a", "b"], 7))
        [rewrite], [train] = self.calls("rewrite"), self.calls("run")
        self.assertIn(f"warmup.rewrites={rewrite.split()[3]}", train.split())
        self.assertIn("| alpha   | –      | 2.50×       |", tables.of("own-problem", self.rows() + [row]))

    def test_rules_alone_train_nothing(self):
        code, _, err = self.main("rules", "--cells", "alpha/*", "energy/*")
        self.assertEqual((code, err), (0, ""))
        rows = self.rows("rules", rewrites=True)
        self.assertEqual([(row["problem"], row["rules_speedup"]) for row in rows], [("alpha", 2.5), ("energy", 2.5)])
        self.assertEqual(self.calls("run"), [])
        self.assertIn("--seconds 30 --json", self.calls("rewrite")[0])
        self.assertIn("2 of 2 at least 1.5 × as fast; geometric mean 3.50×", tables.of("rules", rows))

    def test_a_campaign_gets_a_copy_that_is_not_held_out(self):
        self.main("own-problem", "--cells", "alpha/*/17")
        [copy] = (self.root / "runs").rglob("alpha.md")
        self.assertEqual(copy.read_text(), "---\nid: alpha\n---\nsplit: prose\n")
        self.assertIn(f'problems=["{copy}"]', self.calls("run")[0])
        self.assertEqual(list((self.root / "runs").rglob("model")), [], "its policy takes space for nothing")

    def test_without_a_proved_program_the_speedup_is_that_of_the_reference(self):
        self.say(best=json.dumps([UNPROVED]))
        self.main("own-problem", "--cells", "alpha/*/17")
        self.assertEqual(self.rows()[0]["proved_speedup"], 1.0)

    def test_a_proof_and_a_record_count_by_the_lesser(self):
        self.assertEqual(figures.proved_speedup({"a": {"recorded": 3.0, "speedup": 4.0}}), 3.0)
        self.assertEqual(figures.proved_speedup({"a": {"recorded": 4.0, "speedup": 3.0}}), 3.0)
        self.assertEqual(figures.proved_speedup({"a": {"recorded": 4.0, "speedup": 0.5}}), 1.0)
        self.assertEqual(figures.proved_speedup({}), 1.0)

    def test_what_has_ended_is_not_run_again(self):
        self.main("own-problem")
        self.assertEqual(len(self.rows()), 4)
        before = self.calls()
        self.assertEqual(self.main("own-problem")[0], 0)
        self.assertEqual(self.calls(), before)
        self.assertEqual(self.main("own-problem", "--list")[1].count("done"), 4)

    def test_another_commit_setting_or_problem_is_another_cell(self):
        one = ("own-problem", "--cells", "alpha/*/17")
        self.main(*one)
        self.say(commit="def456")
        self.main(*one)
        self.main(*one, "--variant", "default", "train.lr=1e-5")
        self.say(**{"alpha.md": "---\nid: alpha\n---\nanother\n"})
        self.main(*one)
        self.assertEqual(len(self.rows()), 4)
        self.assertEqual(len(self.calls("run")), 4)
        self.assertIn("train.lr=1e-5", self.calls("run")[2])

    def test_a_file_that_a_setting_names_is_part_of_the_cell(self):
        one = ("own-problem", "--cells", "alpha/*/17", "--variant", "data", f"warmup.examples={self.root}/w.jsonl")
        for text in ("a\n", "a\n", "b\n"):
            self.say(**{"w.jsonl": text})
            self.main(*one)
        self.assertEqual(len(self.rows()), 2)

    def test_a_cell_is_cut_into_pieces_and_its_time_ends_it(self):
        self.say(mode="slow")
        with contextlib.redirect_stdout(io.StringIO()):
            self.runner(piece_s=0.4).run(self.one_cell(minutes=1 / 60))
        rows = self.rows()
        self.assertEqual([r["ended"] for r in rows][:-1], [None] * (len(rows) - 1))
        self.assertEqual(rows[-1]["ended"], "time is up")
        self.assertEqual([r["piece"] for r in rows], list(range(1, len(rows) + 1)))
        self.assertGreaterEqual(len(rows), 2)
        self.assertGreaterEqual(sum(r["seconds"] for r in rows), 0.9)
        self.assertEqual([c.split()[0] for c in self.calls()], ["run"] + ["resume"] * (len(rows) - 1))
        # Only the last piece's programs were verified.
        self.assertEqual(len(self.calls("best")), 1)

    def test_pieces_that_come_no_further_are_a_failure(self):
        self.say(mode="stuck")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err, \
                self.assertRaises(figures.Failed):
            self.runner(piece_s=0.4).run(self.one_cell())
        self.assertIn("piece 2 came no further than the one before it", err.getvalue())
        self.assertEqual([(r["piece"], r["ended"]) for r in self.rows()], [(1, None), (2, None)])

    def test_a_stopped_runner_leaves_no_row_and_goes_on(self):
        self.say(mode="slow")
        arguments = self.arguments("own-problem", "--cells", "alpha/*/17")
        script = ("import sys, cells, run; from pathlib import Path\n"
                  f"cells.problem_files = lambda split: [Path({str(self.root / 'alpha.md')!r})]\n"
                  f"sys.exit(run.main({arguments!r}, proc=Path({str(self.proc)!r})))")
        process = subprocess.Popen([sys.executable, "-c", script], cwd=HERE, stderr=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, text=True)
        deadline = time.monotonic() + 30
        while not (self.root / "started").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        self.assertIn("the same command goes on", process.communicate(timeout=30)[1])
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.rows(), [])
        self.say(mode="quick")
        self.assertEqual(self.main("own-problem", "--cells", "alpha/*/17")[0], 0)
        self.assertEqual([c.split()[0] for c in self.calls()], ["run", "resume"])
        self.assertEqual([r["ended"] for r in self.rows()], ["finished"])

    def test_a_piece_counts_the_seconds_of_all_its_starts(self):
        clock = run.Clock(self.root / "clock.json", ["train", 0])
        clock.before = 100
        clock.save()
        self.assertGreaterEqual(run.Clock(self.root / "clock.json", ["train", 0]).seconds, 100)
        self.assertLess(run.Clock(self.root / "clock.json", ["train", 1]).seconds, 100)

    def test_a_cell_that_fails_has_no_row_and_the_others_run(self):
        with mock.patch.dict(os.environ, PROBLEM_THAT_FAILS="alpha"):
            code, _, err = self.main("own-problem", "--seeds", "17")
        self.assertEqual(code, 2)
        self.assertIn("alpha/default/17: whet run ended with 3: no such model; its output is", err)
        self.assertEqual([r["cell"] for r in self.rows()], ["beta/default/17"])

    def test_refuses_beside_a_compiler(self):
        (self.proc / "4711").mkdir()
        (self.proc / "4711" / "comm").write_text("cc1plus\n")
        with contextlib.redirect_stderr(io.StringIO()) as err, self.assertRaises(figures.Failed):
            self.runner(patience_s=0).run(self.one_cell())
        self.assertIn("cc1plus (4711) would share the cores", err.getvalue())
        self.assertEqual(self.calls(), [])

    def test_refuses_beside_another_runner(self):
        (self.root / "runs").mkdir()
        with open(self.root / "runs" / ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            code, _, err = self.main("own-problem")
        self.assertEqual((code, self.calls()), (2, []))
        self.assertIn("another runner works in", err)

    def test_unknown_cells_and_broken_rows_are_named(self):
        self.assertIn("no cell is called gamma/*", self.main("own-problem", "--cells", "gamma/*")[2])
        (self.root / "results").mkdir()
        (self.root / "results" / "own-problem.jsonl").write_text('{"settings": "x", "commit": "y"}\n{"sett\n')
        code, _, err = self.main("own-problem")
        self.assertEqual(code, 2)
        self.assertIn("own-problem.jsonl:2: no JSON object", err)

    def test_general_trains_and_then_evaluates(self):
        self.assertEqual(self.main("general", "--seeds", "17", "18", "--model", "/raw")[0], 0)
        self.assertIn("model=/raw", self.calls("run")[0])
        self.assertIn("raw=/raw", self.calls("eval")[0])
        self.assertEqual([(r["stage"], r["ended"]) for r in self.rows("general")],
                         [("train", "finished"), ("eval", "finished")] * 2)
        self.assertIn("--split test --samples 64", self.calls("eval")[0])
        [warmup] = re.findall(r"warmup=(\S+) grpo=", self.calls("eval")[0])
        shutil.rmtree(Path(warmup).parent / "run" / "checkpoints")
        self.assertEqual((Path(warmup) / "model").read_text(), "weights\n")
        self.assertNotIn("{cell}", self.calls("eval")[0])
        text = tables.of("general", self.rows("general"))
        self.assertIn("grpo − raw", text)
        self.assertIn("25.0 % [15.0, 35.0]", text)
        # Both seeds say the same: their mean's interval is a point.
        self.assertIn("50.0 % [50.0, 50.0]", text)

    def test_exploration_says_how_far_apart_groups_stay_and_evaluates_on_valid(self):
        self.assertEqual(self.main("exploration", "--variant", "hot", "generate.temperature=2")[0], 0)
        self.assertIn("generate.temperature=2", self.calls("run")[0])
        self.assertIn("--split valid --samples 16", self.calls("eval")[0])
        self.assertEqual(self.calls("best"), [], "proving all programs takes longer than learning them")
        row = self.rows("exploration")[0]
        # Steps 3 to 5 of five are the last half.
        self.assertAlmostEqual(row["spread"]["no_spread"], 2 / 3)
        self.assertEqual((row["spread"]["distinct"], row["spread"]["reward_last10"]), (0.25, 3))
        self.assertIn("67 %", tables.of("exploration", [row]))
        self.assertIn("| –", tables.of("exploration", [row | {"spread": None}]))
        self.assertIsNone(figures.spread(self.root / "nowhere"))

    def test_arms_of_a_search_have_as_many_candidates_each(self):
        code, _, err = self.main("discovery", "--cells", "alpha/*")
        self.assertEqual((code, err), (0, ""))
        best_of_n, grpo = self.calls("run")
        self.assertIn("train.steps=1 --set train.prompts_per_step=16", best_of_n)
        self.assertIn("train.steps=16", grpo)
        [search] = self.calls("discover")
        self.assertIn("--budget 256 candidates --yes", search)
        self.assertEqual(self.calls("best"), [])
        found = {row["variant"]: row for row in self.rows("discovery")}
        # Its proof was not confirmed, and it is measured again.
        self.assertEqual([found["discover"][k] for k in ("final", "candidates", "right", "curve", "ended")],
                         [4.0, 2, 1, [[1, 2.0]], "finished"])
        self.assertEqual((found["grpo"]["final"], found["grpo"]["candidates"]), (1.0, 0))
        self.main("discovery", "--cells", "alpha/*", "--variant", "parents", "search.parents=0.5")
        self.assertEqual(len(self.calls("run")), 2, "a variant is one of whet discover")
        self.assertIn("--set search.parents=0.5", self.calls("discover")[1])

    def test_ablation_is_warm_up_only(self):
        self.assertEqual(self.main("ablation", "--variant", "plain", "warmup.epochs=1")[0], 0)
        self.assertIn("train.steps=0", self.calls("run")[0])
        self.assertIn("--split valid --samples 16", self.calls("eval")[0])
        self.assertEqual(self.rows("ablation")[0]["variant"], "plain")


class TablesTest(unittest.TestCase):
    def row(self, problem, seed, right, proved, expert):
        return {"commit": "c", "variant": "default", "cell": f"{problem}/default/{seed}", "stage": "train",
                "problem": problem, "seed": seed, "settings": f"{problem} {seed}", "right_last3": right, "proved_speedup": proved,
                "expert_speedup": expert, "steps": 5, "steps_total": 16, "seconds": 600, "ended": "finished"}

    def test_bars_are_counted_by_seed(self):
        rows = [self.row("a", 17, 0.9, 2.0, 4.0), self.row("a", 18, 0.89, 1.4, 4.0),
                self.row("b", 17, None, 1.0, 9.0), self.row("b", 18, 1.0, 2.9, 9.0)]
        lines = {line.split("|")[1].strip(): [cell.strip() for cell in line.split("|")[2:-1]]
                 for line in tables.of("own-problem", rows).splitlines() if line.startswith("|")}
        self.assertEqual(lines["at least 90 % right in the last 3 steps"], ["1 of 2", "1 of 2"])
        self.assertEqual(lines["a program at least 1.5 × as fast, proved"], ["1 of 2", "1 of 2"])
        self.assertEqual(lines["half of the expert's speedup, in logarithm"], ["1 of 2", "0 of 2"])
        self.assertEqual(lines["b"][:6], ["9.0×", "–", "–", "1.00×", "100 %", "2.90×"])

    def test_the_last_row_of_a_cell_counts(self):
        rows = [self.row("a", 17, 0.2, 1.0, 4.0), self.row("a", 17, 0.7, 1.0, 4.0)]
        self.assertIn("70 %", tables.of("own-problem", rows))
        self.assertNotIn("20 %", tables.of("own-problem", rows))

    def test_intervals(self):
        mean, low, high = tables.over_seeds([1.0, 2.0, 3.0])
        # 4.303 / sqrt(3), by hand.
        self.assertAlmostEqual(mean, 2.0)
        self.assertAlmostEqual(high - mean, 2.4844, places=3)
        self.assertAlmostEqual(mean - low, 2.4844, places=3)
        mean, low, high = tables.over_problems({"a": [0.0, 0.0], "b": [1.0, 1.0]})
        self.assertEqual((mean, low, high), (0.5, 0.0, 1.0))
        mean, low, high = tables.over_problems({"a": [1.0, 2.0]})
        self.assertEqual(mean, 1.5)
        self.assertTrue(math.isnan(low) and math.isnan(high), "one problem says nothing of others")
        # Plain percentiles of these twelve are [0.167, 0.667].
        mean, low, high = tables.over_problems({str(p): [float(p % 12 < 5)] for p in range(12)})
        self.assertLess(low, 0.167)
        self.assertGreater(high, 0.667)

    def test_seconds_are_those_of_all_pieces(self):
        first = {**self.row("a", 17, None, 1.0, 4.0), "ended": "", "seconds": 1200}
        self.assertIn("1800", tables.of("own-problem", [first, self.row("a", 17, 0.7, 1.0, 4.0)]))


class DiscoveryTest(unittest.TestCase):
    def row(self, arm, problem, final, curve, **more):
        return {"variant": arm, "problem": problem, "seed": 17, "final": final, "curve": curve, "candidates": 256,
                "expert_speedup": 4.0, "commit": "c", "ended": "finished"} | more

    def test_the_curve_has_what_was_faster_than_all_before(self):
        self.assertEqual(discovery.curve([0.0, 0.9, 1.5, 1.2, 0.0, 3.0]), [[3, 1.5], [6, 3.0]])

    def test_halves_of_a_campaign_are_told_apart(self):
        with tempfile.TemporaryDirectory() as folder:
            metrics = Path(folder) / "metrics.jsonl"
            rows = [{"phase": "warmup", "loss": 1}, {"completions/distinct": 0.5, "search/repairs": 0.5, "search/repaired": 0.2},
                    {"completions/distinct": 0.3, "search/repairs": 1, "search/repaired": 0.8}, {"completions/distinct": 0.1}]
            metrics.write_text("".join(json.dumps({"phase": "grpo"} | row) + "\n" for row in rows))
            told = discovery.halves(metrics)
        self.assertEqual(told["completions/distinct"], [0.5, 0.2])
        self.assertEqual(told["search/repaired"], [0.2, 0.8])
        self.assertEqual(told["search/better"], [None, None])
        self.assertEqual(discovery.halves(Path("nowhere"))["search/repairs"], [None, None])

    def test_log_rank_is_that_of_the_textbook(self):
        # Remission under 6-MP and placebo (Freireich 1963): chi-squared 16.79.
        drug = [(6, True)] * 3 + [(t, True) for t in (7, 10, 13, 16, 22, 23)] + [
            (t, False) for t in (6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35)]
        placebo = [(t, True) for t in (1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23)]
        self.assertAlmostEqual(discovery.log_rank(drug, placebo), 4.17e-5, places=7)
        self.assertEqual(discovery.log_rank([(5, False)], [(5, False)]), 1.0)

    def test_arms_are_compared_by_problem(self):
        rows = [self.row("best-of-n", "a", 1.0, []), self.row("best-of-n", "b", 2.0, [[40, 2.0]]),
                self.row("discover", "a", 4.2, [[3, 2.0], [9, 4.0]]), self.row("discover", "b", 2.0, [[8, 2.0]]),
                self.row("discover", "a", 9.0, [], ended=None)]
        text = discovery.table(rows)
        self.assertIn("| a       | 17   | 4.0×   | 1.00× (256) | 4.20× (9) |", text)
        self.assertIn("discover ÷ best-of-n: 2.05× [", text)
        lines = {line.split("|")[1].strip(): [c.strip() for c in line.split("|")[3:-1]] for line in text.splitlines()
                 if line.startswith("|")}
        self.assertEqual((lines["discover"], lines["best-of-n"]), (["1 of 2", "2 of 2"], ["0 of 2", "1 of 2"]))
        self.assertEqual(discovery.table([]), "no cell has ended")


class RewardNoiseTest(unittest.TestCase):
    def test_shares_are_those_of_the_learner(self):
        self.assertAlmostEqual(reward_noise.noise_share([(1, 0.5), (2, 1.0), (6, 2.0)]), (0.25 + 1 + 4) / 3 / 7)
        self.assertEqual(reward_noise.noise_share([(1, 3.0), (2, 3.0)]), 1)
        twice = [(0.0, 0.1)] * 3 + [(1.0, 0.1)]
        self.assertAlmostEqual(reward_noise.noise_share(twice), (3 * 0.25 + 0.75) * 0.01 / 0.75)

    def test_a_journal_is_asked(self):
        with tempfile.TemporaryDirectory() as folder:
            journal = sqlite3.connect(Path(folder) / "journal.db")
            journal.execute("CREATE TABLE calibrations (noise_band REAL)")
            journal.execute("INSERT INTO calibrations VALUES (0.00392)")
            journal.execute("CREATE TABLE verdicts (step, grp, reward, outcome, speedup, speedup_low, speedup_high, "
                            "process_pairs, dropped, proto)")
            rows = [(1, 0, 0.3 + math.log(2) / math.log(8), "CORRECT", 2, 1.98, 2.02, 16, 0),
                    (1, 0, 0.3 + math.log(2.001) / math.log(8), "CORRECT", 2.001, 1.98, 2.02, 16, 0),
                    (1, 1, -1.0, "NO_CODE", None, None, None, 0, 0), (1, 1, 0.3, "CORRECT", 1.0, 0.99, 1.01, 16, 0),
                    (1, 2, -1.0, "NO_CODE", None, None, None, 0, 0), (1, 2, -1.0, "NO_CODE", None, None, None, 0, 0),
                    (-5, 0, 0.9, "CORRECT", 3, 2.9, 3.1, 16, 0), (-5, 0, 0.3, "CORRECT", 1, 0.9, 1.1, 16, 0)]
            journal.executemany("INSERT INTO verdicts VALUES (?,?,?,?,?,?,?,?,?,x'')", rows)
            journal.commit()
            text = reward_noise.line(Path(folder))
            # Verdicts with their own error, behind a text and a number, and intervals that are wider by far.
            verdict = b"\x12\x02ab" + b"\x30\x01" + b"\xd9\x01" + struct.pack("<d", 0.1)
            journal.execute("UPDATE verdicts SET proto = ?, speedup_low = speedup / 9.0, speedup_high = speedup * 9.0 "
                            "WHERE step = 1 AND grp = 0", (verdict,))
            journal.commit()
            groups = reward_noise.groups_of(Path(folder))
        self.assertIn("2 groups with different rewards, 1 of them within their errors", text)
        self.assertIn("noise 50.00 % of the variance, 0.00 % of what is learned", text)
        for reward, error in groups[0]:
            self.assertAlmostEqual(error, math.hypot(0.1, 0.00392 / 1.96) / math.log(8), msg="the interval says nothing")

    def test_an_error_is_found_among_other_fields(self):
        message = (b"\x0a\x03abc" + b"\x39" + struct.pack("<d", 2.0) + b"\x15" + struct.pack("<f", 1.0) + b"\xd8\x02\x01" +
                   b"\xd9\x01" + struct.pack("<d", 0.25))
        self.assertEqual(reward_noise.double_of(message, 27), 0.25)
        self.assertEqual(reward_noise.double_of(message, 7), 2.0)
        self.assertEqual(reward_noise.double_of(message, 9), 0.0)
        self.assertEqual(reward_noise.double_of(b"", 27), 0.0)


if __name__ == "__main__":
    unittest.main()
