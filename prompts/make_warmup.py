#!/usr/bin/env python3
"""Writes prompts/warmup.jsonl, the worked examples of the supervised warm-up.

    python3 prompts/make_warmup.py --check                        # is every example right?
    python3 prompts/make_warmup.py --check --out prompts/warmup.jsonl [--seed 1] [--generated 385]
    python3 prompts/make_warmup.py --same-as prompts/warmup.jsonl    # is the file up to date?

Two sources. Hand-written examples (worked_examples/*.cpp) show many kinds of kernels and methods,
but alone they are memorised: a small model then answers an unseen function with one it has seen. So
most examples are generated: loop nests over random expressions, each with a correct rewrite. What
is learned from them is the relation between a function and its rewrite.

No example gives a problem of this folder away (overlap.py), so that a campaign shows learning and not
memory. Above all none multiplies a row of one matrix with a column or row of another, in whatever order.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import overlap

HERE = pathlib.Path(__file__).resolve().parent
VERBS = ("scale mix fold blend gather merge score weigh accumulate reduce combine update smooth "
         "energy weighted signed shifted biased cross mean").split()
NOUNS = ("rows cols cube grid table field signal block layer state line pairs image panel mass "
         "norm").split()
PROSE = ["The arrays do not overlap.",
         "Arrays are stored by rows and do not overlap.",
         "Compute this for every output element. The arrays do not overlap.",
         "All arrays hold floats; the order of the additions is free."]


# --- C++ text -----------------------------------------------------------------------------------

def block(head, *body):
    """`head {`, the indented body, `}`. An element of the body is a line or a list of lines."""
    lines = []
    for part in body:
        lines += [part] if isinstance(part, str) else part
    return [head + " {"] + ["    " + line for line in lines] + ["}"]


def loop(variable, end, *body):
    return block(f"for (int {variable} = 0; {variable} < {end}; {variable}++)", *body)


def text(lines):
    return "\n".join(lines)


def shift(expression, variable, by):
    """The expression `by` iterations of `variable` later."""
    if by == 0:
        return expression
    later = re.sub(rf"\b{variable}\b(?= \*)", f"({variable} + {by})", expression)
    return re.sub(rf"\b{variable}\b(?!\s*[*+] (n|{by}\)))(?=\])", f"{variable} + {by}", later)


def restrict(signature):
    return re.sub(r"float\* (\w)", r"float* __restrict \1", signature)


# --- random loop nests --------------------------------------------------------------------------

class Nest:
    """One random function: its name, expression and signature."""

    def __init__(self, rng, operands, lone=0.35, returns=False):
        self.rng = rng
        self.e = self._expression(operands, lone)
        inputs = sorted(set(re.findall(r"\b([a-z])\[", self.e)))
        parameters = [f"const float* {name}" for name in inputs]
        parameters += ([] if returns else ["float* c"]) + ["int n"]
        name = f"{rng.choice(VERBS)}_{rng.choice(NOUNS)}"
        self.signature = f"{'float' if returns else 'void'} {name}({', '.join(parameters)})"

    def _expression(self, operands, lone):
        rng = self.rng
        x = rng.choice(operands)
        if rng.random() < lone:
            factor = rng.choice(["2.0f", "0.5f", "3.0f", "1.5f"])
            return rng.choice([x, f"{x} * {x}", f"{factor} * {x}"])
        y = rng.choice([operand for operand in operands if operand != x])
        return rng.choice([f"{x} * {y}", f"{x} * {y}", f"{x} + {y}", f"{x} - {y}",
                           f"{x} * ({y} + 1.0f)"])

    def maybe_restrict(self, probability):
        return restrict(self.signature) if self.rng.random() < probability else self.signature

    def hoist(self, candidates, probability=0.6):
        """Puts one operand of the expression into a local: (declaration lines, expression)."""
        for operand in candidates:
            if operand in self.e and self.rng.random() < probability:
                return [f"float t = {operand};"], self.e.replace(operand, "t")
        return [], self.e


def reduce_1d(rng):
    nest = Nest(rng, ["a[i]", "b[i]", "x[i]"], returns=True)
    e = nest.e
    reference = block(nest.signature, "float s = 0.0f;", loop("i", "n", f"s += {e};"), "return s;")
    unroll = rng.choice([2, 4, 4, 8])
    head = f"for (; i + {unroll} <= n; i += {unroll})"
    if unroll == 8:
        lane = re.sub(r"\[i\]", "[i + j]", e)
        rewrite = block(nest.signature, "float s[8] = {0};", "int i = 0;",
                        block(head, loop("j", "8", f"s[j] += {lane};")),
                        "float t = 0.0f;", block("for (; i < n; i++)", f"t += {e};"),
                        loop("j", "8", "t += s[j];"), "return t;")
    else:
        sums = [f"s{q}" for q in range(unroll)]
        rewrite = block(nest.signature, [f"float {s} = 0.0f;" for s in sums], "int i = 0;",
                        block(head, [f"{s} += {shift(e, 'i', q)};" for q, s in enumerate(sums)]),
                        block("for (; i < n; i++)", f"s0 += {e};"),
                        f"return {' + '.join(sums)};")
    return reference, rewrite


def reduce_rows(rng):
    nest = Nest(rng, ["a[i * n + j]", "b[i * n + j]", "x[j]", "a[i * n + j]", "y[i]"])
    reference = block(nest.signature, loop(
        "i", "n", "float s = 0.0f;", loop("j", "n", f"s += {nest.e};"), "c[i] = s;"))
    pointer, e = [], nest.e
    if "a[i * n" in e and rng.random() < 0.6:
        pointer, e = ["const float* p = a + i * n;"], e.replace("a[i * n + j]", "p[j]")
    unroll = rng.choice([1, 2, 2, 4])
    if unroll == 1:
        return reference, block(restrict(nest.signature), loop(
            "i", "n", pointer, "float s = 0.0f;", loop("j", "n", f"s += {e};"), "c[i] = s;"))
    sums = [f"s{q}" for q in range(unroll)]
    rewrite = block(nest.signature, loop(
        "i", "n", pointer, [f"float {s} = 0.0f;" for s in sums], "int j = 0;",
        block(f"for (; j + {unroll} <= n; j += {unroll})",
              [f"{s} += {shift(e, 'j', q)};" for q, s in enumerate(sums)]),
        block("for (; j < n; j++)", f"s0 += {e};"), f"c[i] = {' + '.join(sums)};"))
    return reference, rewrite


def reduce_columns(rng):
    nest = Nest(rng, ["a[i * n + j]", "b[i * n + j]", "x[i]", "a[i * n + j]"])
    reference = block(nest.signature, loop(
        "j", "n", "float s = 0.0f;", loop("i", "n", f"s += {nest.e};"), "c[j] = s;"))
    before, e = nest.hoist(["x[i]"], 0.5)
    if not before and "a[i * n" in e and rng.random() < 0.4:
        before, e = ["const float* p = a + i * n;"], e.replace("a[i * n + j]", "p[j]")
    rewrite = block(nest.maybe_restrict(0.5), loop("j", "n", "c[j] = 0.0f;"),
                    loop("i", "n", before, loop("j", "n", f"c[j] += {e};")))
    return reference, rewrite


def map_2d(rng):
    nest = Nest(rng, ["a[i * n + j]", "b[i * n + j]", "x[j]", "y[i]"])
    body = f"c[i * n + j] = {nest.e};"
    reference = block(nest.signature, loop("j", "n", loop("i", "n", body)))
    return reference, block(nest.maybe_restrict(0.5), loop("i", "n", loop("j", "n", body)))


def reduce_3d(rng):
    # Never a row of one matrix and a column or row of another in one expression.
    with_row = ["a[i * n + k]", "x[k]", "y[i]", "z[j]", "a[(k * n + i) * n + j]"]
    with_column = ["b[k * n + j]", "x[k]", "y[i]", "z[j]", "a[(k * n + i) * n + j]", "b[k * n + j]"]
    nest = Nest(rng, with_row if rng.random() < 0.3 else with_column, lone=0.15)

    def plain(signature, e=nest.e, outer=(), middle=(), inner=(), out="c[i * n + j]", order="ij"):
        return block(signature, loop(
            order[0], "n", list(outer), loop(
                order[1], "n", list(middle), "float s = 0.0f;",
                loop("k", "n", f"s += {e};", list(inner)), f"{out} = s;")))

    reference = plain(nest.signature)
    technique = rng.choices([interchange, k_outermost, swap_outer, only_restrict, hoist_pointer,
                             two_sums, two_rows], [3, 1.5, 1, 2, 2, 2, 0.7])[0]
    return reference, technique(nest, plain)


def interchange(nest, _):
    """i, k, j: the inner loop runs along rows."""
    signature = nest.maybe_restrict(0.4)
    before, e = nest.hoist(["x[k]", "a[i * n + k]"])
    pointer, out = [], "c[i * n + j]"
    if nest.rng.random() < 0.3:
        pointer, out = ["float* r = c + i * n;"], "r[j]"
    return block(signature, loop(
        "i", "n", pointer, loop("j", "n", f"{out} = 0.0f;"),
        loop("k", "n", before, loop("j", "n", f"{out} += {e};"))))


def k_outermost(nest, _):
    return block(nest.maybe_restrict(0.4), loop("i", "n * n", "c[i] = 0.0f;"), loop(
        "k", "n", loop("i", "n", loop("j", "n", f"c[i * n + j] += {nest.e};"))))


def swap_outer(nest, plain):
    return plain(nest.maybe_restrict(0.4), order="ji")


def only_restrict(nest, plain):
    return plain(restrict(nest.signature))


def hoist_pointer(nest, plain):
    signature, e = nest.maybe_restrict(0.4), nest.e
    if "a[i * n + k]" in e:
        return plain(signature, e.replace("a[i * n + k]", "p[k]"),
                     outer=["const float* p = a + i * n;"])
    if e.count("b[k * n + j]") == 1:
        return plain(signature, e.replace("b[k * n + j]", "*p"),
                     middle=["const float* p = b + j;"], inner=["p += n;"])
    return plain(signature, outer=["float* r = c + i * n;"], out="r[j]")


def two_sums(nest, _):
    e = nest.e
    return block(nest.signature, loop("i", "n", loop(
        "j", "n", "float s0 = 0.0f;", "float s1 = 0.0f;", "int k = 0;",
        block("for (; k + 2 <= n; k += 2)", f"s0 += {e};", f"s1 += {shift_k(e)};"),
        block("if (k < n)", f"s0 += {e};"), "c[i * n + j] = s0 + s1;")))


def two_rows(nest, plain):
    """i, k, j with two k at a time: half the passes over the output row."""
    if "(k * n + i)" in nest.e:
        return interchange(nest, plain)
    e = nest.e
    return block(nest.maybe_restrict(0.6), loop(
        "i", "n", loop("j", "n", "c[i * n + j] = 0.0f;"), "int k = 0;",
        block("for (; k + 2 <= n; k += 2)",
              loop("j", "n", f"c[i * n + j] += ({e}) + ({shift_k(e)});")),
        block("for (; k < n; k++)", loop("j", "n", f"c[i * n + j] += {e};"))))


def shift_k(e):
    e = re.sub(r"\bk \* n", "(k + 1) * n", e)
    return e.replace("n + k]", "n + k + 1]").replace("x[k]", "x[k + 1]")


KINDS = [(reduce_1d, 2), (reduce_rows, 3), (reduce_columns, 3), (map_2d, 1.5), (reduce_3d, 6)]


def generate(rng):
    kind = rng.choices([k for k, _ in KINDS], [w for _, w in KINDS])[0]
    reference, rewrite = kind(rng)
    prose = rng.choice(PROSE) if rng.random() < 0.5 else ""
    return {"prose": prose, "prompt_code": text(reference), "rewrite": text(rewrite)}


# --- hand-written examples ----------------------------------------------------------------------

def hand_written():
    """worked_examples/NAME.cpp: the reference, then each rewrite below a `// rewrite: …` line."""
    for path in sorted(HERE.glob("worked_examples/*.cpp")):
        reference, *rewrites = re.split(r"^// rewrite: .*\n", path.read_text(), flags=re.M)
        reference = re.sub(r"^// .*\n", "", reference, flags=re.M).strip()
        for number, rewrite in enumerate(rewrites):
            yield {"id": f"{path.stem}/{number}", "prompt_code": reference,
                   "rewrite": rewrite.strip()}


def in_double(example):
    """The same example on doubles; None where it uses float intrinsics."""
    if "_mm" in example["rewrite"] or "float" not in example["prompt_code"]:
        return None

    def convert(code):
        return re.sub(r"\b(\d+\.\d+)f\b", r"\1", code.replace("float", "double"))
    return {**example, "id": example["id"] + "/double",
            "prompt_code": convert(example["prompt_code"]), "rewrite": convert(example["rewrite"])}


def corpus(seed, generated):
    rng = random.Random(seed)
    examples = list(hand_written())
    examples += [example for example in map(in_double, examples) if example]
    seen = set()
    programs = overlap.problems()
    while len(seen) < generated:
        example = generate(rng)
        key = example["prompt_code"] + example["rewrite"]
        if key in seen or overlap.given_away(example, programs):
            continue
        seen.add(key)
        if not example["prose"]:
            del example["prose"]
        examples.append({"id": f"nest/{len(seen)}", **example})
    return examples


# --- check --------------------------------------------------------------------------------------

MAIN = r"""
#include <immintrin.h>
#include <initializer_list>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
constexpr int kElements = 10000;
static int bad;
// One pool for all types; inputs are filled anew for each pair so that both members read the same.
struct Pool {
    alignas(64) unsigned char bytes[8][kElements * 8];
    template <typename T> T* Get(int slot) { return reinterpret_cast<T*>(bytes[slot]); }
};
static Pool first, second;
template <typename T> void Fill(int slot, unsigned seed) {
    unsigned long long state = seed;
    for (int i = 0; i < kElements; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        const unsigned draw = (unsigned)(state >> 40);
        T value = sizeof(T) == 1 ? (T)(draw >> 12) : (T)0;
        if ((T)0.5 != (T)0) value = (T)(draw / 16777216.0 - 0.5);
        else if (sizeof(T) > 1) value = (T)((int)(draw % 2001) - 1000);
        first.Get<T>(slot)[i] = second.Get<T>(slot)[i] = value;
    }
}
template <typename T> void Compare(const char* id, int n, const T* want, const T* got, int count) {
    for (int i = 0; i < count; i++) {
        if (fabs((double)want[i] - (double)got[i]) <= 1e-3 * (1 + fabs((double)want[i]))) continue;
        if (!(want[i] == got[i])) {
            printf("%s: n=%d element %d: %g, not %g\n", id, n, i, (double)got[i], (double)want[i]);
            bad++;
            return;
        }
    }
}
"""


def check(examples):
    """Compiles all examples into one program and compares every rewrite with its reference."""
    functions, calls = [], []
    for number, example in enumerate(examples):
        functions.append(f"namespace r{number} {{\n{example['prompt_code']}\n}}\n"
                         f"namespace w{number} {{\n{example['rewrite']}\n}}\n")
        calls.append(check_call(number, example))
    program = (MAIN + "".join(functions) + "int main() {\nfor (int n : {1, 2, 7, 16, 21}) {\n" +
               "\n".join(calls) + '\n}\nreturn bad != 0;\n}\n')
    with tempfile.TemporaryDirectory() as folder:
        source, binary = f"{folder}/check.cc", f"{folder}/check"
        pathlib.Path(source).write_text(program)
        subprocess.run(["g++", "-std=c++20", "-O1", "-w", "-march=native", "-fsanitize=undefined",
                        "-fno-sanitize-recover", source, "-o", binary], check=True)
        return subprocess.run([binary], check=False).returncode == 0


def check_call(number, example):
    returned, name, parameters = re.match(r"(\w+) (\w+)\((.*?)\)", example["prompt_code"]).groups()
    fills, compares, arguments = [], [], []
    for slot, parameter in enumerate(parameters.split(", ")):
        pointer = re.fullmatch(r"(?:const )?([\w ]+)\* \w+", parameter)
        if pointer:
            kind = pointer[1]
            fills.append(f"Fill<{kind}>({slot}, {number * 8 + slot} + 1000 * n);")
            arguments.append(f"POOL.Get<{kind}>({slot})")
            compares.append(f'Compare<{kind}>("{example["id"]}", n, first.Get<{kind}>({slot}), '
                            f"second.Get<{kind}>({slot}), kElements);")
        else:
            arguments.append("n" if parameter.startswith("int ") else "(float)0.75")
    both = []
    for side, pool in (("r", "first"), ("w", "second")):
        call = f"{side}{number}::{name}({', '.join(arguments)})".replace("POOL", pool)
        both.append(call if returned == "void" else f"const {returned} {pool}_result = {call}")
    if returned != "void":
        compares.append(f'Compare<{returned}>("{example["id"]}", n, &first_result, '
                        "&second_result, 1);")
    return "{ " + " ".join(fills) + " " + "; ".join(both) + "; " + " ".join(compares) + " }"


def multiplies_matrices(code):
    """Whether an expression joins a row of one matrix with a column or row of another by k."""
    for statement in code.split(";"):
        rows = re.findall(r"(\w+)\[\w+ \* \w+ \+ k\]", statement)
        columns = re.findall(r"(\w+)\[\(?k(?: \+ \d\))? \* \w+ \+ \w+\]", statement)
        if rows and (columns or len(set(rows)) > 1):
            return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", help="file to write")
    parser.add_argument("--same-as", help="fail unless this file holds these examples")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--generated", type=int, default=385)
    parser.add_argument("--check", action="store_true", help="compile and compare every example")
    options = parser.parse_args()
    examples = corpus(options.seed, options.generated)
    programs = overlap.problems()
    for example in examples:
        problem = overlap.given_away(example, programs)
        if problem:
            sys.exit(f"{example['id']} gives away {problem}: leave it out, or show the method elsewhere")
        if multiplies_matrices(example["prompt_code"] + example["rewrite"]):
            sys.exit(f"{example['id']} is a matrix product, which must stay unseen")
    if options.check and not check(examples):
        sys.exit("some rewrites are wrong (see above)")
    lines = "".join(json.dumps(example) + "\n" for example in examples)
    if options.out:
        pathlib.Path(options.out).write_text(lines)
    if options.same_as and pathlib.Path(options.same_as).read_text() != lines:
        sys.exit(f"{options.same_as} is out of date: run {sys.argv[0]} --out {options.same_as}")
    print(f"{len(examples)} examples" + (", all correct" if options.check else ""))


if __name__ == "__main__":
    main()
