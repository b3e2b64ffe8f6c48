"""Loop nests over random expressions of vectors, matrices and cubes.

None multiplies a row of one matrix with a column or row of another, in whatever order.
"""
import re

from example import Example, family
from text import block, loop, name, rest, restrict, shift, text, unrolled

PROSE = ["The arrays do not overlap.",
         "Arrays are stored by rows and do not overlap.",
         "Compute this for every output element. The arrays do not overlap.",
         "All arrays hold floats; the order of the additions is free."]
TIMED = {1: "[20011]", 2: "[200]", 3: "[64]"}


class Nest:
    """One random function: its expression and its signature."""

    def __init__(self, rng, operands, out, loops, lone=0.35):
        self.rng, self.out, self.loops = rng, out, loops
        self.e = self._expression(operands, lone)
        self.inputs = sorted(set(re.findall(r"\b([a-z])\[", self.e)))
        parameters = [f"const float* {name}" for name in self.inputs]
        parameters += (["float* c"] if out else []) + ["int n"]
        self.signature = f"{'void' if out else 'float'} {name(rng)}({', '.join(parameters)})"

    def _expression(self, operands, lone):
        rng = self.rng
        x = rng.choice(operands)
        if rng.random() < lone:
            factor = rng.choice(["2.0f", "0.5f", "3.0f", "1.5f", "0.25f", "1.25f"])
            return rng.choice([x, f"{x} * {x}", f"{factor} * {x}"])
        y = rng.choice([operand for operand in operands if operand != x])
        return rng.choice([f"{x} * {y}", f"{x} * {y}", f"{x} + {y}", f"{x} - {y}",
                           f"{x} * ({y} + 1.0f)", f"{x} * {y} + {y}"])

    def maybe_restrict(self, probability):
        return restrict(self.signature) if self.rng.random() < probability else self.signature

    def hoist(self, candidates, probability=0.6):
        """Puts one operand of the expression into a local: (declaration lines, expression)."""
        for operand in candidates:
            if operand in self.e and self.rng.random() < probability:
                return [f"float t = {operand};"], self.e.replace(operand, "t")
        return [], self.e

    def example(self, family_name, techniques, reference, rewrite):
        args = {}
        for array in self.inputs:
            index = " ".join(re.findall(rf"\b{array}\[([^\]]*)\]", self.e))
            extents = 3 if "(k * n + i)" in index else 2 if "*" in index else 1
            # What is subtracted is negative, so that no sum cancels out.
            low, high = ("-1", "0") if f"- {array}[" in self.e else ("0", "1")
            args[array] = (f"{{type: f32, shape: [{', '.join(['n'] * extents)}], "
                           f"fill: uniform({low}, {high})}}")
        if self.out:
            args["c"] = f"{{type: f32, shape: [{self.out}], out: true}}"
        prose = self.rng.choice(PROSE) if self.rng.random() < 0.5 else ""
        return Example(family=family_name, techniques=techniques, reference=text(reference),
                       rewrite=text(rewrite), args={**args, "n": "{size: n}"}, prose=prose,
                       sizes={"check": "[1, 2, 7, 16, 21]", "timed": TIMED[self.loops]})


@family("nest_sum")
def nest_sum(rng):
    nest = Nest(rng, ["a[i]", "b[i]", "x[i]"], "", 1)
    e = nest.e
    reference = block(nest.signature, "float s = 0.0f;", loop("i", "n", f"s += {e};"), "return s;")
    by = rng.choice([2, 4, 4, 8, 16])
    if by >= 8:
        lane = re.sub(r"\[i\]", "[i + j]", e)
        rewrite = block(nest.signature, f"float s[{by}] = {{0}};", "int i = 0;",
                        unrolled("i", "n", by, loop("j", str(by), f"s[j] += {lane};")),
                        "float t = 0.0f;", rest("i", "n", f"t += {e};"),
                        loop("j", str(by), "t += s[j];"), "return t;")
        return nest.example("nest_sum", ["accumulators"], reference, rewrite)
    sums = [f"s{q}" for q in range(by)]
    rewrite = block(nest.signature, [f"float {s} = 0.0f;" for s in sums], "int i = 0;",
                    unrolled("i", "n", by, [f"{s} += {shift(e, 'i', q)};" for q, s in enumerate(sums)]),
                    rest("i", "n", f"s0 += {e};"), f"return {' + '.join(sums)};")
    return nest.example("nest_sum", ["accumulators", "unrolling"], reference, rewrite)


@family("nest_rows")
def nest_rows(rng):
    nest = Nest(rng, ["a[i * n + j]", "b[i * n + j]", "x[j]", "a[i * n + j]", "y[i]"], "n", 2)
    reference = block(nest.signature, loop(
        "i", "n", "float s = 0.0f;", loop("j", "n", f"s += {nest.e};"), "c[i] = s;"))
    pointer, e, tags = [], nest.e, ["accumulators", "unrolling"]
    if "a[i * n" in e and rng.random() < 0.6:
        pointer, e = ["const float* p = a + i * n;"], e.replace("a[i * n + j]", "p[j]")
        tags.append("row-pointers")
    sums = [f"s{q}" for q in range(rng.choice([2, 4, 4, 8]))]
    rewrite = block(nest.signature, loop(
        "i", "n", pointer, [f"float {s} = 0.0f;" for s in sums], "int j = 0;",
        unrolled("j", "n", len(sums), [f"{s} += {shift(e, 'j', q)};" for q, s in enumerate(sums)]),
        rest("j", "n", f"s0 += {e};"), f"c[i] = {' + '.join(sums)};"))
    return nest.example("nest_rows", tags, reference, rewrite)


@family("nest_columns")
def nest_columns(rng):
    nest = Nest(rng, ["a[i * n + j]", "b[i * n + j]", "x[i]", "a[i * n + j]"], "n", 2)
    reference = block(nest.signature, loop(
        "j", "n", "float s = 0.0f;", loop("i", "n", f"s += {nest.e};"), "c[j] = s;"))
    before, e = nest.hoist(["x[i]"], 0.5)
    tags = ["interchange"] + (["hoisting"] if before else [])
    if not before and "a[i * n" in e and rng.random() < 0.4:
        before, e = ["const float* p = a + i * n;"], e.replace("a[i * n + j]", "p[j]")
        tags.append("row-pointers")
    rewrite = block(nest.maybe_restrict(0.5), loop("j", "n", "c[j] = 0.0f;"),
                    loop("i", "n", before, loop("j", "n", f"c[j] += {e};")))
    return nest.example("nest_columns", tags, reference, rewrite)


@family("nest_map")
def nest_map(rng):
    nest = Nest(rng, ["a[i * n + j]", "b[i * n + j]", "x[j]", "y[i]"], "n, n", 2)
    body = f"c[i * n + j] = {nest.e};"
    reference = block(nest.signature, loop("j", "n", loop("i", "n", body)))
    rewrite = block(nest.maybe_restrict(0.5), loop("i", "n", loop("j", "n", body)))
    return nest.example("nest_map", ["interchange"], reference, rewrite)


@family("nest_planes")
def nest_planes(rng):
    # Never a row of one matrix and a column or row of another in one expression.
    with_row = ["a[i * n + k]", "x[k]", "y[i]", "z[j]", "a[(k * n + i) * n + j]"]
    with_column = ["b[k * n + j]", "x[k]", "y[i]", "z[j]", "a[(k * n + i) * n + j]", "b[k * n + j]"]
    nest = Nest(rng, with_row if rng.random() < 0.3 else with_column, "n, n", 3, lone=0.15)
    reference = sum_of_k(nest.signature, nest.e)
    techniques = [(interchange, 3), (k_outermost, 1.5), (hoist_pointer, 1), (two_sums, 2), (two_rows, 1)]
    technique = rng.choices([t for t, _ in techniques], [w for _, w in techniques])[0]
    tags, rewrite = technique(nest)
    return nest.example("nest_planes", tags, reference, rewrite)


def sum_of_k(signature, e, outer=(), out="c[i * n + j]"):
    return block(signature, loop("i", "n", list(outer), loop(
        "j", "n", "float s = 0.0f;", loop("k", "n", f"s += {e};"), f"{out} = s;")))


def interchange(nest):
    """i, k, j: the inner loop runs along rows."""
    signature = nest.maybe_restrict(0.4)
    before, e = nest.hoist(["x[k]", "a[i * n + k]"])
    pointer, out = [], "c[i * n + j]"
    if nest.rng.random() < 0.3:
        pointer, out = ["float* r = c + i * n;"], "r[j]"
    tags = ["interchange"] + ["hoisting"] * bool(before) + ["row-pointers"] * bool(pointer)
    return tags, block(signature, loop(
        "i", "n", pointer, loop("j", "n", f"{out} = 0.0f;"),
        loop("k", "n", before, loop("j", "n", f"{out} += {e};"))))


def k_outermost(nest):
    return ["interchange"], block(nest.maybe_restrict(0.4), loop("i", "n * n", "c[i] = 0.0f;"), loop(
        "k", "n", loop("i", "n", loop("j", "n", f"c[i * n + j] += {nest.e};"))))


def hoist_pointer(nest):
    signature, e = nest.maybe_restrict(0.4), nest.e
    if "a[i * n + k]" in e:
        return ["row-pointers"], sum_of_k(signature, e.replace("a[i * n + k]", "p[k]"),
                                          outer=["const float* p = a + i * n;"])
    return ["row-pointers"], sum_of_k(signature, e, outer=["float* r = c + i * n;"], out="r[j]")


def two_sums(nest):
    e = nest.e
    return ["accumulators", "unrolling"], block(nest.signature, loop("i", "n", loop(
        "j", "n", "float s0 = 0.0f;", "float s1 = 0.0f;", "int k = 0;",
        unrolled("k", "n", 2, f"s0 += {e};", f"s1 += {shift_k(e)};"),
        block("if (k < n)", f"s0 += {e};"), "c[i * n + j] = s0 + s1;")))


def two_rows(nest):
    """i, k, j with two k at a time: half the passes over the output row."""
    if "(k * n + i)" in nest.e:
        return interchange(nest)
    e = nest.e
    return ["interchange", "blocking"], block(nest.maybe_restrict(0.6), loop(
        "i", "n", loop("j", "n", "c[i * n + j] = 0.0f;"), "int k = 0;",
        unrolled("k", "n", 2, loop("j", "n", f"c[i * n + j] += ({e}) + ({shift_k(e)});")),
        rest("k", "n", loop("j", "n", f"c[i * n + j] += {e};"))))


def shift_k(e):
    e = re.sub(r"\bk \* n", "(k + 1) * n", e)
    return e.replace("n + k]", "n + k + 1]").replace("x[k]", "x[k + 1]")
