#!/usr/bin/env python3
"""Tests of overlap.py: renamed and retyped copies are found, programs of another kind are not."""
import re
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


if __name__ == "__main__":
    unittest.main()
