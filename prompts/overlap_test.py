#!/usr/bin/env python3
"""Tests of overlap.py: renamed and retyped copies are found, programs of another kind are not."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import overlap

DOT_OF_ANOTHER_HAND = """
double inner_product(const double* __restrict left, const double* right, long count)
{
    // Adds up the products.
    double total = 0;
    for (long at = 0; at < count; ++at) total += left[at] * right[at];
    return total;
}
"""

MATRIX_PRODUCT_OF_ANOTHER_HAND = """
void mix(const double* p, const double* q, double* out, unsigned size) {
    for (unsigned r = 0; r < size; r += 1)
        for (unsigned s = 0; s < size; s += 1) {
            double t = 0.0;
            for (unsigned u = 0; u < size; u += 1) {
                t += p[r * size + u] * q[u * size + s];
            }
            out[r * size + s] = t;
        }
}
"""

SQUARES = """
void squares(const float* x, float* y, int n) {
    for (int i = 0; i < n; i++) {
        y[i] = x[i] * x[i];
    }
}
"""

SUM_OF_DISTANCES = """
float distances(const float* a, const float* b, int n) {
    float s = 0.0f;
    for (int i = 0; i < n; i++) {
        float d = a[i] - b[i];
        s += d < 0.0f ? -d : d;
    }
    return s;
}
"""

PROGRAMS = overlap.problems()


def found(reference, rewrite=SQUARES):
    return overlap.given_away({"prompt_code": reference, "rewrite": rewrite}, PROGRAMS)


class OverlapTest(unittest.TestCase):
    def test_renamed_retyped_and_restyled_code_is_the_same(self):
        self.assertIn("dot_f32's reference (1.00)", found(DOT_OF_ANOTHER_HAND))
        self.assertIn("matmul_f32's reference", found(MATRIX_PRODUCT_OF_ANOTHER_HAND))

    def test_a_rewrite_gives_away_as_much_as_a_reference(self):
        self.assertIn("dot_f32's reference", found(SQUARES, DOT_OF_ANOTHER_HAND))

    def test_every_program_of_every_problem_is_found_under_other_names_and_types(self):
        self.assertGreater(len(PROGRAMS), 60)
        for problem, section, code in overlap.codes():
            renamed = re.sub(r"\b(?!_mm)([A-Za-z_]\w*)\b", self.another_name, code)
            program = overlap.ngrams(code)
            self.assertEqual(overlap.overlap(program, overlap.ngrams(renamed)), 1,
                             f"{problem}'s {section}")

    @staticmethod
    def another_name(match):
        word = match[1]
        if word in ("float", "double", "int"):
            return {"float": "double", "double": "float", "int": "long"}[word]
        return f"another_{word}" if overlap.is_name(word) and word not in overlap.TYPES else word

    def test_loops_of_another_kind_are_not_found(self):
        self.assertIsNone(found(SQUARES))
        self.assertIsNone(found(SUM_OF_DISTANCES))

    def test_no_program_of_one_split_gives_away_a_held_out_problem_of_another(self):
        splits = {problem: split for split, problem, _, _ in overlap.codes_by_split()}
        self.assertEqual(set(splits.values()), {"train", "valid", "test"})
        found_here = list(overlap.across_splits())
        self.assertEqual({problem for _, problem, _, _ in found_here},
                         {problem for problem, split in splits.items() if split != "train"})
        for share, problem, section, nearest in found_here:
            self.assertLess(share, overlap.THRESHOLD, f"{problem}'s {section} is given away by {nearest}")

    def test_no_worked_example_gives_a_problem_away(self):
        here = pathlib.Path(__file__).resolve().parent
        result = subprocess.run([sys.executable, here / "overlap.py"], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        with tempfile.TemporaryDirectory() as folder:
            planted = pathlib.Path(folder, "planted.jsonl")
            line = {"id": "planted", "prompt_code": SQUARES, "rewrite": DOT_OF_ANOTHER_HAND}
            planted.write_text(json.dumps(line) + "\n")
            result = subprocess.run([sys.executable, here / "overlap.py", "--examples", planted],
                                    capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("dot_f32's reference is given away by the example planted (1.00)", result.stderr)

    def test_a_planted_copy_of_a_problem_in_another_split_is_found(self):
        for split, planted in (("valid", DOT_OF_ANOTHER_HAND), ("test", MATRIX_PRODUCT_OF_ANOTHER_HAND)):
            result = self.printed_with(f"---\nid: planted\nsplit: {split}\n---\n## reference\n\n```cpp{planted}```\n",
                                       f"{split}/planted.md")
            self.assertEqual(result.returncode, 1, result.stderr)
            self.assertRegex(result.stderr, r"planted's reference is given away by \w+'s reference, train")

    def test_a_file_copied_into_another_split_is_found(self):
        here = pathlib.Path(__file__).resolve().parent
        copied = (here / "dot_f32.md").read_text().replace("sizes:", "split: valid\nsizes:", 1)
        result = self.printed_with(copied, "valid/dot_f32.md")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("dot_f32's reference is given away by dot_f32's reference, train (1.00)", result.stderr)

    def test_a_valid_problem_again_in_test_is_found_in_both(self):
        here = pathlib.Path(__file__).resolve().parent
        copied = (here / "valid" / "row_min_f32.md").read_text().replace("split: valid", "split: test")
        result = self.printed_with(copied, "test/planted.md")
        self.assertEqual(result.returncode, 1, result.stderr)
        for line in ("planted's expert is given away by row_min_f32's expert, valid (1.00)",
                     "row_min_f32's expert is given away by planted's expert, test (1.00)"):
            self.assertIn(line, result.stderr)

    @staticmethod
    def printed_with(problem, path):
        """What overlap.py says of a copy of this folder with one more problem."""
        here = pathlib.Path(__file__).resolve().parent
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "prompts")
            subprocess.run(["cp", "-r", here, copy], check=True)
            (copy / path).write_text(problem)
            return subprocess.run([sys.executable, copy / "overlap.py"], capture_output=True, text=True,
                                  check=False)


if __name__ == "__main__":
    unittest.main()
