#!/usr/bin/env python3
"""Tests of the stages that make worked examples: what is wrong is found, what is varied stays right."""
import dataclasses
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import augment
import build
import families
import harness
import overlap
import ruler
import rules
from example import Example, ExampleError, without_hints

REWRITER = pathlib.Path(os.environ.get("WHET_REWRITER", build.ROOT / "build/release/bin/whet-rewriter"))

COLUMNS = Example(
    family="columns", techniques=["interchange"],
    reference="""void columns(const float* a, const float* x, float* c, int n) {
    for (int j = 0; j < n; j++) {
        float s = 0.0f;
        for (int i = 0; i < n; i++) {
            s += a[i * n + j] * x[i];
        }
        c[j] = s;
    }
}""",
    rewrite="""void columns(const float* __restrict a, const float* __restrict x, float* __restrict c, int n) {
    for (int j = 0; j < n; j++) {
        c[j] = 0.0f;
    }
    for (int i = 0; i < n; i++) {
        float t = x[i] * 1.0f;
        for (int j = 0; j < n; j++) {
            c[j] += a[i * n + j] * t;
        }
    }
}""",
    args={"a": "{type: f32, shape: [n, n], fill: uniform(0, 1)}", "x": "{type: f32, shape: [n], fill: uniform(0, 1)}",
          "c": "{type: f32, shape: [n], out: true}", "n": "{size: n}"},
    sizes={"check": "[1, 3, 17]", "timed": "[64]"})

ABOVE = Example(
    family="above", techniques=["accumulators", "branch-free"],
    reference="""int above(const float* x, float limit, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (x[i] > limit) {
            count++;
        }
    }
    return count;
}""",
    rewrite="""int above(const float* x, float limit, int n) {
    int c0 = 0;
    int c1 = 0;
    int i = 0;
    for (; i + 2 <= n; i += 2) {
        c0 += x[i] > limit;
        c1 += x[i + 1] > limit;
    }
    for (; i < n; i++) {
        c0 += x[i] > limit;
    }
    return c0 + c1;
}""",
    args={"x": "{type: f32, shape: [n], fill: uniform(-1, 1)}", "limit": "{type: f32, fill: uniform(-1, 1)}", "n": "{size: n}"},
    sizes={"check": "[1, 2, 17, 64]", "timed": "[1000]"})

PRODUCTS = Example(
    family="products", techniques=["interchange"],
    reference="""void products(const float* x, const float* y, float* c, int n) {
    for (int j = 0; j < n; j++) {
        for (int i = 0; i < n; i++) {
            c[i * n + j] = 2.0f + y[j] * x[i];
        }
    }
}""",
    rewrite="""void products(const float* x, const float* y, float* c, int n) {
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            c[i * n + j] = x[i] * y[j] + 2.0f;
        }
    }
}""",
    args={"x": "{type: f32, shape: [n], fill: uniform(0, 1)}", "y": "{type: f32, shape: [n], fill: uniform(0, 1)}",
          "c": "{type: f32, shape: [n, n], out: true}", "n": "{size: n}"},
    sizes={"check": "[1, 3, 17]", "timed": "[64]"})


def changed(example, old, new):
    assert old in example.rewrite
    return dataclasses.replace(example, rewrite=example.rewrite.replace(old, new))


class HarnessTest(unittest.TestCase):
    BROKEN = [changed(COLUMNS, "c[j] += a[i * n + j] * t", "c[j] += a[i * n + j] * t * 1.001f"),
              changed(ABOVE, "return c0 + c1", "return c0 + c1 + (n == 64)"),
              changed(COLUMNS, "float t = x[i] * 1.0f;", "float t = x[i] * 1.0f; c[n] = t;"),
              changed(ABOVE, "return c0 + c1;", "((float*)x)[0] = 3.0f; return c0 + c1;"),
              changed(ABOVE, "int i = 0;", "int i = nobody;"),
              changed(ABOVE, "int i = 0;", "int i = 0; int idle;"),
              changed(ABOVE, "int c0 = 0;", "int c0 = 2147483647; c0++;")]
    WORDS = ["wrong at size", "wrong at size 3: the result", "", "changes the input x", "does not compile cleanly: error",
             "does not compile cleanly: warning", ""]

    def test_what_a_program_said_before_it_hung_stands(self):
        with unittest.mock.patch.object(harness, "TIMEOUT_S", 1):
            ran = harness.run(["sh", "-c", "echo 0 right; exec tail -f /dev/null"])
        self.assertEqual((ran.returncode, ran.stdout), (-1, "0 right\n"))
        self.assertIn("took longer", ran.stderr)

    def test_what_is_wrong_is_found_and_named_beside_what_is_right(self):
        mixed = [COLUMNS, *self.BROKEN, ABOVE]
        for flags in (harness.SANITIZED, harness.PLAIN):
            first, *problems, last = harness.verify(mixed, flags)
            self.assertEqual((first, last), (None, None))
            for problem, expected, example in zip(problems, self.WORDS, self.BROKEN):
                self.assertIsNotNone(problem, example.rewrite)
                self.assertIn(expected, problem)
            if flags is harness.SANITIZED:
                self.assertIn("overflow", problems[2])
                self.assertIn("signed integer overflow", problems[6])
            else:
                self.assertIn("writes behind c", problems[2])

    def test_entries_are_read_as_in_a_prompt_file(self):
        self.assertEqual(harness.mapping("{type: f32, shape: [n, max(m, 2)]}"), {"type": "f32", "shape": "[n, max(m, 2)]"})
        self.assertEqual(harness.evaluate("max(n / 2, 1) * (n % 3)", {"n": 5}), 4)
        for wrong in ("n +", "__import__('os')", "m", "1 / 0"):
            with self.assertRaises(harness.EntryError):
                harness.evaluate(wrong, {"n": 5})


class AugmentTest(unittest.TestCase):
    def test_every_rule_applies_somewhere_and_keeps_the_pair_right(self):
        found = {}
        for name, rule in augment.RULES.items():
            for example in (COLUMNS, ABOVE, PRODUCTS):
                for seed in range(4):
                    other = rule(example, random.Random(seed))
                    if other is not None:
                        self.assertNotEqual((other.reference, other.rewrite), (example.reference, example.rewrite), name)
                        found.setdefault(name, other)
        self.assertEqual(set(found), set(augment.RULES))
        for name, problem in zip(found, harness.verify(list(found.values()))):
            self.assertIsNone(problem, name)
        self.assertLess(found["interchanged"].rewrite.index("int i"), found["interchanged"].rewrite.index("int j"))
        self.assertGreater(found["interchanged"].reference.index("int i"), found["interchanged"].reference.index("int j"))
        self.assertNotIn("i += 2", found["rolled"].reference)
        self.assertNotIn("c1", found["rolled"].reference)
        self.assertIn("(x[i] * 1.0f)", found["unhoisted"].reference)
        self.assertIn("if (x[i] > limit) {", found["branchy"].reference)
        self.assertIn("const double*", found["f64"].rewrite)

    def test_infilling_masks_whole_lines(self):
        for seed in range(10):
            shown, prose = augment.infill(COLUMNS, random.Random(seed))
            self.assertEqual(shown.count(augment.MASK), 1)
            self.assertEqual(shown.count("{"), shown.count("}"))
            self.assertIn("missing", prose)


class StagesTest(unittest.TestCase):
    def test_what_gives_a_problem_away_is_dropped(self):
        problem, _, code = next(c for c in overlap.codes() if c[0] == "dot_f32")
        args = {"x": "{type: f32, shape: [n], fill: uniform(0, 1)}", "y": "{type: f32, shape: [n], fill: uniform(0, 1)}",
                "n": "{size: n}"}
        planted = Example(family="planted", techniques=["accumulators"], reference=code, rewrite=code + "\n// again",
                          args=args, sizes=COLUMNS.sizes)
        counts = build.Counts()
        candidates = [build.Candidate(f"{e.family}/0", e, e.reference, "", e) for e in (planted, ABOVE)]
        left = build.unseen(candidates, counts)
        self.assertEqual([c.id for c in left], ["above/0"], problem)
        self.assertEqual(counts.stages["overlap and duplicates"]["dropped"], {"gives a problem away": 1})

    def test_examples_that_are_alike_but_for_names_are_few(self):
        renamed = [augment.rename(ABOVE, random.Random(seed)) for seed in range(8)]
        candidates = [build.Candidate(f"above/{k}", e, e.reference, "", e) for k, e in enumerate(renamed)]
        self.assertEqual(len(build.unseen(candidates, build.Counts())), build.ALIKE_MAX)

    def test_equal_seeds_draw_equal_examples(self):
        def once(seed):
            drawn = build.draw(seed, 1, build.Counts())
            return [(c.id, c.shown, c.example.rewrite) for c in build.augmented(drawn, seed, build.Counts())]
        self.assertEqual(once(1), once(1))
        self.assertNotEqual(once(1), once(2))

    @unittest.skipUnless(REWRITER.exists(), f"{REWRITER} is not built")
    def test_rules_rewrite_what_was_drawn(self):
        for example, techniques in ((COLUMNS, {"accumulators", "blocking", "interchange"}), (ABOVE, {"accumulators"})):
            [forms] = rules.by_rules([example], REWRITER, 1)
            self.assertTrue({tag for form in forms for tag in form.techniques} <= techniques, forms)
            self.assertEqual({form.reference for form in forms}, {example.reference})
            self.assertEqual(len({form.rewrite for form in [example, *forms]}), 1 + len(forms))
            self.assertTrue(0 < len(forms) <= rules.FORMS)
            self.assertEqual(forms, rules.by_rules([example], REWRITER, 1)[0])

    @unittest.skipUnless(REWRITER.exists(), f"{REWRITER} is not built")
    def test_hints_are_told_about_a_copy(self):
        for example in COLUMNS, ABOVE:
            [forms] = rules.by_hints([example], REWRITER, 1)
            one, two = [form.rewrite for form in forms]
            self.assertEqual([form.techniques for form in forms], [["hints"], ["hints"]])
            for form in one, two:
                self.assertEqual(without_hints(form).split(), example.reference.split())
            self.assertGreater(two.count("#pragma"), one.count("#pragma"))
            self.assertEqual(forms, rules.by_hints([example], REWRITER, 1)[0])

    def test_hints_are_lines_of_their_own(self):
        body = "void f(int n) {\n    while (n > 3) n--;\n}"
        hinted = '#pragma GCC optimize("O2")\n' + body.replace("    while", "    #pragma GCC unroll 8\n    while")
        self.assertEqual(without_hints(hinted), body)
        self.assertIn("#pragma omp simd", without_hints("#pragma omp simd\n" + body))

    def test_what_rules_made_is_held_against_what_was_drawn(self):
        drawn = build.draw(1, 1, build.Counts())[:1]
        example = dataclasses.replace(drawn[0].example, techniques=["blocking"],
                                      rewrite=drawn[0].example.rewrite + "\n// by a rule")
        ruled = build.Candidate(f"{drawn[0].id}/rules/2", example, example.reference, example.prose, example)
        self.assertEqual(ruled.kind, "rules")
        lines = list(build.lines_of([(ruled, 2.0)], None))
        stats = {"seed": 1, "draws": 1, **build.summary(lines)}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "w.jsonl")

            def check():
                path.write_text(json.dumps(lines[0]) + "\n")
                return build.check_lines(path, stats, overlap.problems())
            self.assertEqual([found.rewrite for _, found in check().values()], [example.rewrite])
            lines[0]["prompt_code"] += " "
            with self.assertRaises(SystemExit) as raised:
                check()
            self.assertIn("is drawn otherwise today", str(raised.exception))

    def test_the_balance_takes_families_in_turn(self):
        candidates = [build.Candidate(f"{name}/{k}", dataclasses.replace(ABOVE, family=name), "", "", ABOVE)
                      for name, count in (("many", 50), ("few", 3), ("some", 9)) for k in range(count)]
        balance = build.Balance(candidates, target=15)
        taken = [c.example.family for c in balance.batch(15)]
        self.assertEqual((taken.count("few"), taken.count("some"), taken.count("many")), (3, 6, 6))

    def test_difficulty_grows_with_length_and_gain(self):
        pairs = [(build.Candidate("a/0", ABOVE, "", "", ABOVE), 1.3), (build.Candidate("b/0", COLUMNS, "", "", COLUMNS), 9.0)]
        easy, hard = build.lines_of(pairs, None)
        self.assertLess(easy["difficulty"], hard["difficulty"])
        harder, _ = build.lines_of(pairs, {"a/0": 3.0, "b/0": 1.0})
        self.assertGreater(harder["difficulty"], easy["difficulty"])

    def test_a_broken_line_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "w.jsonl")
            for text, words in (("{", "not valid JSON"), ('{"id": "a"}', "lacks ['prompt_code'")):
                path.write_text(text + "\n")
                with self.assertRaises(SystemExit) as raised:
                    build.read_lines(path)
                self.assertIn(f"{path}:1: {words}", str(raised.exception))

    def test_the_check_knows_what_was_drawn_from_what_was_edited(self):
        drawn = build.augmented(build.draw(1, 1, build.Counts()), 1, build.Counts())
        lines = list(build.lines_of([(candidate, 2.0) for candidate in drawn[:20]], None))
        stats = {"seed": 1, "draws": 1, **build.summary(lines)}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "w.jsonl")

            def check():
                path.write_text("".join(json.dumps(line) + "\n" for line in lines))
                return build.check_lines(path, stats, overlap.problems())
            self.assertLessEqual({where.split(": ")[1] for where, _ in check().values()}, {line["id"] for line in lines})
            lines[7]["rewrite"] += "\n"
            with self.assertRaises(SystemExit) as raised:
                check()
            self.assertIn(f"{path}:8: {lines[7]['id']} is drawn otherwise today", str(raised.exception))
            del lines[7]
            with self.assertRaises(SystemExit) as raised:
                check()
            self.assertIn("is not what its counts tell of", str(raised.exception))

    def test_a_family_that_breaks_the_rules_is_an_error(self):
        with self.assertRaisesRegex(ExampleError, "family above: techniques"):
            dataclasses.replace(ABOVE, techniques=["magic"])
        with self.assertRaisesRegex(ExampleError, "are not the parameters"):
            dataclasses.replace(ABOVE, args={"x": "{size: n}"})
        with self.assertRaisesRegex(ExampleError, "at most|more than 1200"):
            dataclasses.replace(ABOVE, rewrite=ABOVE.rewrite + " " * 2000 + "//")
        self.assertGreaterEqual(len(families.load()), 80)


class RulerTest(unittest.TestCase):
    def test_only_what_is_right_and_clearly_faster_is_kept(self):
        right = {"outcome": "CORRECT", "gain": 1.5, "low": 1.2}
        self.assertIsNone(ruler.wrong_with(right))
        self.assertEqual(ruler.wrong_with({**right, "gain": 1.19}), "gain below 1.2")
        self.assertEqual(ruler.wrong_with({**right, "low": 0.9}), "gain not clear of 1")
        self.assertEqual(ruler.wrong_with({"outcome": "FORBIDDEN"}), "the ruler finds FORBIDDEN")

    def test_verdicts_outlive_a_killed_build(self):
        with tempfile.TemporaryDirectory() as folder:
            ruler.Cache(folder, "measured").put("a", 1)
            with open(f"{folder}/measured.jsonl", "a", encoding="utf-8") as file:
                file.write('{"key": "b", "ver')
            self.assertEqual(ruler.Cache(folder, "measured").verdicts, {"a": 1})

    def test_a_verdict_hangs_on_all_that_it_depends_on(self):
        keys = {ruler.key_of(e) for e in (
            ABOVE, changed(ABOVE, "int i = 0;", "int i = 0 ;"), dataclasses.replace(ABOVE, sizes=COLUMNS.sizes),
            dataclasses.replace(ABOVE, compare="{rule: exact}"))}
        self.assertEqual(len(keys), 4)

    def test_a_missing_whet_is_named(self):
        result = subprocess.run([sys.executable, build.__file__, "build", "--whet", "/nowhere/whet", "--draws", "0"],
                                capture_output=True, text=True, check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("/nowhere/whet is missing", result.stderr)


if __name__ == "__main__":
    unittest.main()
